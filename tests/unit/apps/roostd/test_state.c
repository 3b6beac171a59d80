/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The state file of a port: kept, refused, made anew. */

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/roostd/state.h"
#include "tests/cmocka.h"

static char dir[] = "/tmp/roost-state-XXXXXX";
static char path[ROOSTD_STATE_PATH_MAX];
static struct roostd_state_file file;
static sem_t begun;

static int setup(void **state)
{
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/port.state", dir);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	roostd_state_close(&file, true);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void reopen(void)
{
	roostd_state_close(&file, false);
	assert_int_equal(roostd_state_open(&file, path, "test"), 0);
}

static bool is_kept(void)
{
	return file.fd >= 0;
}

static void state__is_kept(void **state)
{
	struct roostd_state before;
	struct stat info;

	assert_int_equal(roostd_state_open(&file, path, "test"), 0);
	assert_true(is_kept());
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	assert_int_equal(file.state->mac[0], 2);
	file.state->lease.magic = ROOST_LEASE_STATE_MAGIC;
	file.state->lease.epoch = 7;
	file.state->lease.slots[4095].serial = 9;
	before = *file.state;
	reopen();
	assert_true(is_kept());
	assert_memory_equal(file.state, &before, sizeof(before));
	/* Forgotten: the next one has other keys. */
	roostd_state_close(&file, true);
	assert_int_equal(access(path, F_OK), -1);
	reopen();
	assert_true(memcmp(file.state->lease.mac_key, before.lease.mac_key,
			   16) != 0);
	assert_int_equal(file.state->lease.epoch, 0);
}

/* Whatever instruction the daemon was killed at: what it has stored is there.
 */
static void state__survives_a_kill(void **state)
{
	uint32_t *seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (int round = 0; round < 20; round++) {
		pid_t pid;
		int status;

		*seen = 0;
		pid = fork();
		if (pid == 0) {
			if (roostd_state_open(&file, path, "child") != 0)
				_exit(1);
			for (uint32_t i = 1;; i++) {
				file.state->lease.slots[3].issued = i;
				__atomic_store_n(seen, i, __ATOMIC_SEQ_CST);
			}
		}
		while (__atomic_load_n(seen, __ATOMIC_SEQ_CST) < 1000)
			;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		reopen();
		assert_true(is_kept());
		assert_in_range(file.state->lease.slots[3].issued, *seen,
				*seen + 1);
		roostd_state_close(&file, false);
	}
	munmap(seen, 4096);
}

static void overwrite(size_t offset, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY);

	assert_int_equal(pwrite(fd, bytes, len, (off_t)offset), len);
	close(fd);
}

static void state__a_damaged_file_is_replaced(void **state)
{
	static const uint8_t ones[16] = { [0 ... 15] = 0xff };
	static const struct {
		size_t offset, len;
	} damages[] = {
		{ offsetof(struct roostd_state, magic), 4 },
		{ offsetof(struct roostd_state, version), 4 },
		{ offsetof(struct roostd_state, size_bytes), 4 },
		{ offsetof(struct roostd_state, mac), 6 },
		{ offsetof(struct roostd_state, tag), 16 },
		{ offsetof(struct roostd_state, lease.magic), 4 },
		{ offsetof(struct roostd_state, lease.mac_key), 16 },
		{ offsetof(struct roostd_state, lease.qpn_seed), 16 },
		{ offsetof(struct roostd_state, lease.comm_seed), 16 },
		{ offsetof(struct roostd_state, lease.nb_blocks_used), 4 },
		{ offsetof(struct roostd_state, lease.nb_prefixes_used), 4 },
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		uint32_t epoch = 1000 + (uint32_t)i;

		reopen();
		assert_true(is_kept());
		assert_int_equal(file.state->lease.epoch, 0);
		file.state->lease.epoch = epoch;
		roostd_state_close(&file, false);
		overwrite(damages[i].offset, ones, damages[i].len);
	}
	reopen();
	assert_true(is_kept());
	assert_int_equal(file.state->lease.epoch, 0);
}

static void state__a_file_of_another_kind_is_replaced(void **state)
{
	static const char *const commands[] = {
		"truncate -s -1 %s",
		"truncate -s +1 %s",
		"truncate -s 0 %s",
		"chmod 0644 %s",
		"chmod 0620 %s",
		"rm %1$s && ln -s /etc/passwd %1$s",
		"rm %1$s && mkfifo -m 0600 %1$s",
		"ln %1$s %1$s.link",
	};
	char command[512];

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		reopen();
		assert_true(is_kept());
		assert_int_equal(file.state->lease.epoch, 0);
		file.state->lease.epoch = 5;
		roostd_state_close(&file, false);
		snprintf(command, sizeof(command), commands[i], path);
		assert_int_equal(system(command), 0);
	}
	reopen();
	assert_true(is_kept());
	assert_int_equal(file.state->lease.epoch, 0);
	assert_int_equal(access("/etc/passwd", R_OK), 0);
}

static void state__of_another_user_is_replaced(void **state)
{
	if (geteuid() != 0)
		skip();
	reopen();
	roostd_state_close(&file, false);
	assert_int_equal(chown(path, 65533, 65533), 0);
	reopen();
	assert_true(is_kept());
}

/* The other daemon goes on with its file. */
static void state__of_another_daemon_stays(void **state)
{
	struct roostd_state_file other;

	reopen();
	file.state->lease.epoch = 5;
	assert_int_equal(roostd_state_open(&other, path, "other"), 0);
	assert_int_equal(other.fd, -1);
	assert_int_equal(other.state->lease.epoch, 0);
	roostd_state_close(&other, true);
	reopen();
	assert_true(is_kept());
	assert_int_equal(file.state->lease.epoch, 5);
}

static void *end_soon(void *arg)
{
	static struct roostd_state_file other;
	const bool *forget = arg;

	assert_int_equal(roostd_state_open(&other, path, "other"), 0);
	other.state->lease.epoch = 5;
	sem_post(&begun);
	usleep(200000);
	roostd_state_close(&other, *forget);
	return NULL;
}

/* A daemon begins while the one before still ends. */
static void state__of_a_daemon_that_ends_is_waited_for(void **state)
{
	for (int i = 0; i < 2; i++) {
		bool forget = i == 1;
		struct stat ours, there;
		pthread_t thread;

		assert_int_equal(sem_init(&begun, 0, 0), 0);
		assert_int_equal(pthread_create(&thread, NULL, end_soon,
						&forget),
				 0);
		sem_wait(&begun);
		assert_int_equal(roostd_state_open(&file, path, "test"), 0);
		pthread_join(thread, NULL);
		assert_true(is_kept());
		assert_int_equal(file.state->lease.epoch, forget ? 0 : 5);
		/* It is the file that the next one finds. */
		assert_int_equal(fstat(file.fd, &ours), 0);
		assert_int_equal(stat(path, &there), 0);
		assert_int_equal(ours.st_ino, there.st_ino);
		roostd_state_close(&file, false);
	}
}

/* No file can be had: a state in memory. */
static void state__without_a_file(void **state)
{
	assert_int_equal(roostd_state_open(&file, NULL, "test"), 0);
	assert_false(is_kept());
	assert_int_equal(file.state->magic, ROOSTD_STATE_MAGIC);
	roostd_state_close(&file, false);
	snprintf(path, sizeof(path), "%s/none/port.state", dir);
	assert_int_equal(roostd_state_open(&file, path, "test"), 0);
	assert_false(is_kept());
}

static void state__path_of_the_hub(void **state)
{
	char buffer[ROOSTD_STATE_PATH_MAX];

	assert_int_equal(setenv("XDG_RUNTIME_DIR", dir, 1), 0);
	assert_ptr_equal(roostd_state_hub_path(buffer), buffer);
	assert_memory_equal(buffer, dir, strlen(dir));
	assert_int_equal(chmod(dir, 0777), 0);
	if (roostd_state_hub_path(buffer))
		assert_memory_equal(buffer, "/run/user/", 10);
	assert_int_equal(chmod(dir, 0700), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(state__is_kept),
		TEST(state__survives_a_kill),
		TEST(state__a_damaged_file_is_replaced),
		TEST(state__a_file_of_another_kind_is_replaced),
		TEST(state__of_another_user_is_replaced),
		TEST(state__of_another_daemon_stays),
		TEST(state__of_a_daemon_that_ends_is_waited_for),
		TEST(state__without_a_file),
		TEST(state__path_of_the_hub),
	};

	file.fd = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
