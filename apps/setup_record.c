/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/setup_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#define FOLDER "/var/lib/roost-setup"

static int hold_folder(const struct roost_setup *s)
{
	char folder[PATH_MAX];
	int fd, ret;

	snprintf(folder, sizeof(folder), "%s" FOLDER, s->root);
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return -errno;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static struct json_object *old_states(const struct roost_setup_record *r)
{
	return json_object_object_get(r->content, "before");
}

static int read_content(struct roost_setup_record *r)
{
	if (access(r->path, F_OK) != 0) {
		if (errno != ENOENT)
			return -errno;
		r->content = json_object_new_object();
		json_object_object_add(r->content, "before",
				       json_object_new_object());
		return 0;
	}
	r->content = json_object_from_file(r->path);
	return json_object_is_type(old_states(r), json_type_object) ? 0
								    : -EPROTO;
}

int roost_setup_record_open(struct roost_setup_record *r,
			    const struct roost_setup *s, bool write)
{
	int ret = 0;

	*r = (struct roost_setup_record){ .lock_fd = -1 };
	snprintf(r->path, sizeof(r->path), "%s" FOLDER "/%s.json", s->root,
		 s->nic);
	if (write) {
		r->lock_fd = hold_folder(s);
		if (r->lock_fd < 0)
			return r->lock_fd;
	}
	ret = read_content(r);
	if (ret)
		roost_setup_record_close(r);
	return ret;
}

void roost_setup_record_close(struct roost_setup_record *r)
{
	json_object_put(r->content);
	r->content = NULL;
	if (r->lock_fd >= 0)
		close(r->lock_fd);
	r->lock_fd = -1;
}

unsigned int roost_setup_record_pages(const struct roost_setup_record *r)
{
	const int nb = json_object_get_int(
		json_object_object_get(r->content, "pages"));

	return nb > 0 ? (unsigned int)nb : 0;
}

const char *roost_setup_record_get(const struct roost_setup_record *r,
				   const char *step)
{
	return json_object_get_string(
		json_object_object_get(old_states(r), step));
}

/* A new file in place of the old one, on disk before the return. */
static int save(const struct roost_setup_record *r)
{
	char path[PATH_MAX + 8];
	int fd, ret = 0;

	snprintf(path, sizeof(path), "%s.new", r->path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (json_object_to_fd(fd, r->content, JSON_C_TO_STRING_PRETTY) != 0 ||
	    fsync(fd) != 0 || rename(path, r->path) != 0 ||
	    fsync(r->lock_fd) != 0)
		ret = errno ? -errno : -EIO;
	close(fd);
	return ret;
}

int roost_setup_record_add(struct roost_setup_record *r,
			   const struct roost_setup *s, const char *step,
			   const char *before)
{
	if (roost_setup_record_get(r, step))
		return 0;
	json_object_object_add(r->content, "pages",
			       json_object_new_int((int)s->nb_pages));
	json_object_object_add(old_states(r), step,
			       json_object_new_string(before));
	return save(r);
}

int roost_setup_record_drop(struct roost_setup_record *r, const char *step)
{
	json_object_object_del(old_states(r), step);
	if (json_object_object_length(old_states(r)) != 0)
		return save(r);
	return unlink(r->path) == 0 ? 0 : -errno;
}
