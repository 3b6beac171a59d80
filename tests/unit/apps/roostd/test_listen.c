/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The file of the daemon's socket. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/roostd/listen.h"
#include "tests/cmocka.h"

#define STARTERS 8
#define TYPE SOCK_SEQPACKET

static char folder[] = "/tmp/roost-listen-XXXXXX";
static char path[64];

static int setup(void **state)
{
	strcpy(strchr(folder, '\0') - 6, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/sock", folder);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	return rmdir(folder);
}

static unsigned int nb_files(void)
{
	DIR *dir = opendir(folder);
	unsigned int nb = 0;

	while (readdir(dir))
		nb++;
	closedir(dir);
	return nb - 2;
}

static int connect_to(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int ret;

	strcpy(addr.sun_path, path);
	ret = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	close(fd);
	return ret;
}

static void listen__a_socket_for_all(void **state)
{
	struct roostd_listener l;
	struct stat st;

	assert_int_equal(roostd_listen_look(path), 0);
	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &l), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0666);
	assert_int_equal(nb_files(), 1);
	assert_int_equal(connect_to(), 0);
	assert_true(fcntl(l.fd, F_GETFL) & O_NONBLOCK);
	roostd_listen_end(&l);
	assert_int_equal(nb_files(), 0);
	assert_int_equal(roostd_listen_at(path, TYPE, 0600, (gid_t)-1, &l), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0600);
	roostd_listen_end(&l);
}

static void listen__a_living_daemons_stays(void **state)
{
	struct roostd_listener l, second;
	struct stat st, now;

	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &l), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(roostd_listen_look(path), -EADDRINUSE);
	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &second),
			 -EADDRINUSE);
	assert_int_equal(second.fd, -1);
	assert_int_equal(stat(path, &now), 0);
	assert_int_equal(st.st_ino, now.st_ino);
	assert_int_equal(nb_files(), 1);
	roostd_listen_end(&l);
}

static void listen__a_dead_daemons_is_replaced(void **state)
{
	struct roostd_listener l, second;

	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &l), 0);
	close(l.fd);
	assert_int_equal(connect_to(), -ECONNREFUSED);
	assert_int_equal(roostd_listen_look(path), 0);
	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &second),
			 0);
	assert_int_equal(connect_to(), 0);
	/* The first one does not remove the second one's. */
	l.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	roostd_listen_end(&l);
	assert_int_equal(connect_to(), 0);
	roostd_listen_end(&second);
	assert_int_equal(nb_files(), 0);
}

static void listen__what_is_no_socket_stays(void **state)
{
	struct roostd_listener l;
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &l),
			 -EEXIST);
	assert_int_equal(nb_files(), 1);
}

static void listen__places_that_cannot_be(void **state)
{
	struct roostd_listener l;
	char longest[200];

	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[199] = '\0';
	assert_int_equal(roostd_listen_look(longest), -EINVAL);
	assert_int_equal(roostd_listen_at(longest, TYPE, 0666, (gid_t)-1, &l),
			 -EINVAL);
	/* The name that it has at first is longer. */
	longest[107] = '\0';
	assert_int_equal(roostd_listen_at(longest, TYPE, 0666, (gid_t)-1, &l),
			 -EINVAL);
	assert_int_equal(roostd_listen_at("/nonexistent/sock", TYPE, 0666,
					  (gid_t)-1, &l),
			 -ENOENT);
}

/* Of daemons that start at one time, one has it, with a dead one's file there.
 */
static void listen__one_of_many_has_it(void **state)
{
	struct roostd_listener l;
	pid_t pids[STARTERS];
	unsigned int nb = 0;
	int go[2], done[2], status;
	char c;

	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &l), 0);
	close(l.fd);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(done), 0);
	for (unsigned int i = 0; i < STARTERS; i++) {
		pids[i] = fork();
		if (pids[i] != 0)
			continue;
		close(go[1]);
		close(done[1]);
		(void)!read(go[0], &c, 1);
		status = roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &l);
		/* Until all have tried. */
		if (status == 0)
			(void)!read(done[0], &c, 1);
		_exit(status == 0 ? 0 : status == -EADDRINUSE ? 1 : 2);
	}
	close(go[1]);
	for (unsigned int left = STARTERS - 1; left > 0; left--) {
		assert_true(waitpid(-1, &status, 0) > 0);
		assert_int_equal(WEXITSTATUS(status), 1);
		nb++;
	}
	assert_int_equal(connect_to(), 0);
	close(done[1]);
	assert_true(waitpid(-1, &status, 0) > 0);
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(nb, STARTERS - 1);
	assert_int_equal(nb_files(), 1);
	close(go[0]);
	close(done[0]);
}

/* Whoever may read a folder may lock it. */
static void listen__a_locked_folder_stops_nobody(void **state)
{
	struct roostd_listener l;
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	/* A wait without an end is the failure. */
	alarm(10);
	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &l), 0);
	roostd_listen_end(&l);
	alarm(0);
	close(fd);
	assert_int_equal(nb_files(), 0);
}

/* A lock that is held is waited for, but not for good, and so the end comes. */
static void listen__waits_a_second_for_the_lock(void **state)
{
	struct roostd_listener l, second;
	char lock[80];
	int fd;

	snprintf(lock, sizeof(lock), "%s.lock", path);
	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &l), 0);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	alarm(10);
	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &second),
			 -EBUSY);
	roostd_listen_end(&l);
	alarm(0);
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(nb_files(), 0);
	close(fd);
}

static void listen__a_lock_of_others_is_not_used(void **state)
{
	struct roostd_listener l;
	char lock[80], target[80];
	int fd;

	snprintf(lock, sizeof(lock), "%s.lock", path);
	snprintf(target, sizeof(target), "%s/target", folder);
	assert_int_equal(symlink(target, lock), 0);
	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &l),
			 -EINVAL);
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(unlink(lock), 0);
	/* Others could lock it. */
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &l),
			 -EINVAL);
	assert_int_equal(fchmod(fd, 0600), 0);
	close(fd);
	/* One that a killed daemon has left. */
	assert_int_equal(roostd_listen_at(path, TYPE, 0666, (gid_t)-1, &l), 0);
	roostd_listen_end(&l);
	assert_int_equal(nb_files(), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(listen__a_socket_for_all),
		TEST(listen__a_living_daemons_stays),
		TEST(listen__a_dead_daemons_is_replaced),
		TEST(listen__what_is_no_socket_stays),
		TEST(listen__places_that_cannot_be),
		TEST(listen__one_of_many_has_it),
		TEST(listen__a_locked_folder_stops_nobody),
		TEST(listen__waits_a_second_for_the_lock),
		TEST(listen__a_lock_of_others_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
