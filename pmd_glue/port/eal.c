/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/port/eal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>

#include "lib/event/process.h"
#include "pmd_glue/process/fork_guard.h"
#include "pmd_glue/port/hugepages.h"
#include "pmd_glue/quirks/quirk.h"
#include "pmd_glue/process/report.h"

/* The memory that EAL may use; the kernel allocates its pages on first access.
 */
#define MEM_BASE_MB 64u
#define MEM_QUEUE_MB 64u

#define CPU_LIST_MAX 512
#define ARGS_MAX 16

/* ---- DPDK's log -------------------------------------------------------- */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char log_text[256]; /* first line since clear; log_lock */
static bool log_verbose;
static bool log_muted;
static FILE *log_stream; /* never closed */
static pid_t starter;    /* thread that is inside rte_eal_init(), or 0 */

static void log_keep(const char *text, size_t len)
{
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	pthread_mutex_lock(&log_lock);
	if (log_text[0] == '\0')
		snprintf(log_text, sizeof(log_text), "%.*s", (int)len, text);
	pthread_mutex_unlock(&log_lock);
}

static ssize_t log_write(void *cookie __attribute__((unused)), const char *text,
			 size_t len)
{
	log_keep(text, len);
	if (log_verbose && !log_muted)
		return write(STDERR_FILENO, text, len);
	return (ssize_t)len;
}

/* EAL's output on stderr while it starts goes to the log, too. Output of other
 * threads goes to stderr.
 */
static ssize_t stderr_write(void *cookie, const char *text, size_t len)
{
	if (gettid() == starter)
		return log_write(cookie, text, len);
	return write(STDERR_FILENO, text, len);
}

static FILE *open_stream(cookie_write_function_t *fn)
{
	const cookie_io_functions_t io = { .write = fn };
	FILE *stream = fopencookie(NULL, "w", io);

	if (stream)
		setvbuf(stream, NULL, _IOLBF, 512);
	return stream;
}

const char *roost_eal_log_first(void)
{
	static char copy[sizeof(log_text)];

	pthread_mutex_lock(&log_lock);
	memcpy(copy, log_text, sizeof(copy));
	pthread_mutex_unlock(&log_lock);
	return copy;
}

void roost_eal_log_clear(void)
{
	pthread_mutex_lock(&log_lock);
	log_text[0] = '\0';
	pthread_mutex_unlock(&log_lock);
}

void roost_eal_log_mute(bool mute)
{
	log_muted = mute;
}

/* ---- the run-time directory -------------------------------------------- */

/*
 * EAL makes the directories BASE/dpdk/PREFIX, even if it puts no file there.
 * With PREFIX "." there is no lower directory. BASE/dpdk is removed again if it
 * was not there before, or if it is empty and has EAL's mode: then a process
 * was killed while it started. Roost processes that start EAL hold a shared
 * lock on BASE, so that none of them loses the directory during its start.
 */
#define PREFIX "."

static struct {
	int base_fd; /* -1: nothing to remove */
	bool remove_upper;
	char upper[256];
} run_dir = { .base_fd = -1 };

/* BASE, chosen as EAL does. */
static const char *run_base(void)
{
	const char *base = getenv("RUNTIME_DIRECTORY");

	if (base)
		return base;
	if (getuid() == 0)
		return "/var/run";
	base = getenv("XDG_RUNTIME_DIR");
	return base ? base : "/tmp";
}

static void run_dir_prepare(void)
{
	const char *base = run_base();
	struct stat st;

	snprintf(run_dir.upper, sizeof(run_dir.upper), "%s/dpdk", base);
	run_dir.base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (run_dir.base_fd >= 0) {
		flock(run_dir.base_fd, LOCK_SH | LOCK_NB);
		roost_fork_guard_add(run_dir.base_fd);
	}
	if (stat(run_dir.upper, &st) < 0)
		run_dir.remove_upper = errno == ENOENT;
	else
		run_dir.remove_upper =
			st.st_uid == geteuid() && (st.st_mode & 07777) == 0700;
}

bool roost_eal_tidy(void)
{
	if (run_dir.base_fd < 0)
		return true;
	if (run_dir.remove_upper) {
		if (flock(run_dir.base_fd, LOCK_EX | LOCK_NB) < 0 &&
		    errno == EWOULDBLOCK)
			return false;
		rmdir(run_dir.upper); /* fails if others use it, too */
	}
	roost_fork_guard_remove(run_dir.base_fd);
	close(run_dir.base_fd);
	run_dir.base_fd = -1;
	return true;
}

/* ---- arguments --------------------------------------------------------- */

/* Does the kernel tell this process its physical addresses? */
static bool physical_addresses_known(void)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t frame = 0;
	off_t at = (off_t)((uintptr_t)&frame / page_bytes * sizeof(frame));
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = pread(fd, &frame, sizeof(frame), at);
	close(fd);
	/* Bits 0 to 54 are the PFN; zero without CAP_SYS_ADMIN. */
	return got == sizeof(frame) && (frame & ((1ull << 55) - 1)) != 0;
}

/* A command line under construction. */
struct args {
	int argc;
	char *argv[ARGS_MAX];
	char text[1024];
	size_t used;
};

static void arg(struct args *args, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void arg(struct args *args, const char *format, ...)
{
	char *at = args->text + args->used;
	va_list list;

	va_start(list, format);
	args->used += 1 + (size_t)vsnprintf(at, sizeof(args->text) - args->used,
					    format, list);
	va_end(list);
	args->argv[args->argc++] = at;
}

/* Write the CPUs that the application may use: "0-3,7". */
static void format_cpus(char *buf, size_t size)
{
	size_t cpu, first, len = 0;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (cpu = 0; cpu < CPU_SETSIZE && len < size - 24; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		first = cpu;
		while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, &cpus))
			cpu++;
		len += (size_t)snprintf(buf + len, size - len, "%s%zu-%zu",
					len ? "," : "", first, cpu);
	}
}

static void fill_args(struct args *args, const struct roost_eal_conf *conf)
{
	unsigned int mem_mb = MEM_BASE_MB + MEM_QUEUE_MB * conf->nb_queues;
	bool huge = roost_hugepages_free_mb(ROOST_HUGEPAGES) >= mem_mb;
	bool physical;
	char cpus[CPU_LIST_MAX] = "";

	format_cpus(cpus, sizeof(cpus));
	arg(args, "%s", program_invocation_short_name);
	arg(args, "--lcores=0@(%s)", cpus);
	arg(args, "--file-prefix=" PREFIX);
	arg(args, "--no-telemetry");
	arg(args, "--log-level=%d", conf->verbose ? RTE_LOG_INFO : RTE_LOG_ERR);
	if (huge) {
		arg(args, "--in-memory");
	} else {
		arg(args, "--no-huge");
		arg(args, "--no-shconf");
		arg(args, "-m");
		arg(args, "%u", mem_mb);
	}
	/* An allow list with one impossible device: EAL probes none. */
	if (conf->pci)
		arg(args, "--allow=pci:ffff:ff:1f.7");
	else
		arg(args, "--no-pci");
	/* EAL's own choice depends on all devices of the machine. If a device
	 * needs physical addresses and there are none, the port is refused
	 * later.
	 */
	physical = conf->physical && huge && physical_addresses_known();
	arg(args, "--iova-mode=%s", physical ? "pa" : "va");
}

/* ---- descriptors -------------------------------------------------------- */

/* Descriptors that EAL needs to start, and right after its start. */
#define EAL_FDS 10u

static bool has_descriptors(void)
{
	int fds[EAL_FDS];
	unsigned int nb = 0;

	while (nb < EAL_FDS && (fds[nb] = eventfd(0, EFD_CLOEXEC)) >= 0)
		nb++;
	for (unsigned int i = 0; i < nb; i++)
		close(fds[i]);
	return nb == EAL_FDS;
}

static int prepare_descriptors(void)
{
	if (!has_descriptors())
		return -EMFILE;
	roost_quirks_before_eal();
	return 0;
}

/* Run rte_eal_init() with its stderr redirected to the log. */
static int init(int argc, char **argv)
{
	FILE *saved = stderr;
	FILE *caught = open_stream(stderr_write);
	int ret;

	if (caught) {
		starter = gettid();
		stderr = caught;
	}
	ret = rte_eal_init(argc, argv) < 0 ? -rte_errno : 0;
	/* The stream stays open: another thread may be printing to it. */
	stderr = saved;
	if (caught)
		fflush(caught);
	return ret;
}

static int init_with(const struct roost_eal_conf *conf)
{
	struct args args = { 0 };
	int ret;

	fill_args(&args, conf);
	run_dir_prepare();
	ret = init(args.argc, args.argv);
	roost_eal_tidy();
	return ret;
}

static enum {
	EAL_NOT_STARTED,
	EAL_OURS,
	EAL_THEIRS,
	EAL_BROKEN,
} eal_state;

/* Under roost_process_fork_hold(). */
static bool begun;
/* A process from which this one was forked had set begun. */
static bool inherited;

bool roost_eal_is_ours(void)
{
	return eal_state == EAL_OURS;
}

bool roost_eal_is_inherited(void)
{
	roost_process(); /* it may be new, see inherit() */
	return inherited;
}

/* In a forked child. lcores are counted in the application's EAL, too. */
static void inherit(void)
{
	inherited |= begun || rte_lcore_count() != 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
	static struct roost_process_child child = { .run = inherit };

	roost_process_at_child(&child);
}

static int start(const struct roost_eal_conf *conf)
{
	int ret;

	/* rte_eal_init() counts the lcores first: the application runs EAL. */
	if (rte_lcore_count() != 0) {
		eal_state = EAL_THEIRS;
		return 0;
	}
	ret = prepare_descriptors();
	if (ret)
		return ret;
	roost_process_fork_hold();
	begun = true;
	roost_process_fork_release();
	log_verbose = conf->verbose;
	log_stream = open_stream(log_write);
	if (!log_stream)
		return -ENOMEM;
	rte_openlog_stream(log_stream);
	ret = init_with(conf);
	eal_state = ret ? EAL_BROKEN : EAL_OURS;
	return ret;
}

/* Install the gates of all drivers. An error is only reported: programs that
 * cancel no thread do not need them.
 */
static void guard_drivers(void)
{
	int ret = roost_quirks_after_eal();

	if (ret)
		roost_report("a thread that is cancelled inside a driver of "
			     "DPDK may stop its device: %s; let libraries be "
			     "changed in memory",
			     strerror(-ret));
}

int roost_eal_start(const struct roost_eal_conf *conf)
{
	static int failed; /* the error of the only start; 0: none */

	if (eal_state == EAL_OURS || eal_state == EAL_THEIRS)
		return 0;
	if (eal_state == EAL_NOT_STARTED) {
		failed = start(conf);
		if (!failed)
			guard_drivers();
	}
	if (failed == -EMFILE)
		roost_report("cannot start DPDK: %s; let the process have more "
			     "(ulimit -n)",
			     strerror(EMFILE));
	else if (failed)
		roost_report("cannot start DPDK: %s; run with -v to see its "
			     "log",
			     *roost_eal_log_first() ? roost_eal_log_first()
						    : strerror(-failed));
	return failed;
}
