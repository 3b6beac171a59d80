#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
#
# uncancelled: our libraries import no cancellation point but those that go by
# way of lib/uncancelled.c ($UNCANCELLED has their names; the linker replaces
# every use of them) and those that are meant to be one.
# usage: test_uncancelled.sh LIBRARY...

set -eu
export LC_ALL=C

# What waits for events sleeps in the first two; epoll_wait() is slept in by a
# thread of our own, which nobody cancels; and EAL's interrupt thread, which EAL
# cancels, may wait for a descriptor.
meant='ppoll readv epoll_wait pthread_testcancel'

# Never one as it is used here:
# fcntl		only with F_SETLKW
# the others	POSIX would allow it, and glibc's are none
harmless='fcntl fcntl64 access stat dlopen fdopen'

# POSIX: functions that shall be cancellation points, those that may be, and
# glibc's own, in all spellings of large files and of checked buffers.
points='
accept accept4 aio_suspend clock_nanosleep close connect copy_file_range creat
creat64 epoll_pwait epoll_pwait2 epoll_wait eventfd_read eventfd_write
fallocate fallocate64 fcntl fcntl64 fdatasync fsync getentropy getmsg getpmsg
getrandom lockf lockf64 mq_receive mq_send mq_timedreceive mq_timedsend msgrcv
msgsnd msync nanosleep open open64 openat openat64 pause poll ppoll pread
pread64 preadv preadv2 preadv64 preadv64v2 pselect pthread_clockjoin_np
pthread_cond_clockwait pthread_cond_timedwait pthread_cond_wait pthread_join
pthread_testcancel pthread_timedjoin_np putmsg pwrite pwrite64 pwritev pwritev2
pwritev64 pwritev64v2 read readv recv recvfrom recvmmsg recvmsg select
sem_clockwait sem_timedwait sem_wait send sendfile sendfile64 sendmmsg sendmsg
sendto sigpause sigsuspend sigtimedwait sigwait sigwaitinfo sleep splice
sync_file_range system tcdrain tee thrd_join thrd_sleep cnd_timedwait cnd_wait
usleep vmsplice wait wait3 wait4 waitid waitpid write writev
__open64_2 __open_2 __openat64_2 __openat_2 __poll_chk __ppoll_chk
__pread64_chk __pread_chk __read_chk __recv_chk __recvfrom_chk
access asctime catopen closedir closelog dlopen endgrent endpwent fclose
fdopen fflush fgetc fgets fgetwc fopen fopen64 fputc fputs fprintf fread
freopen freopen64 fscanf fseek fseeko fseeko64 ftell fwrite getaddrinfo getc
getc_unlocked getchar getdelim getgrgid getgrgid_r getgrnam getgrnam_r
gethostbyname getline getlogin getlogin_r getnameinfo getpwnam getpwnam_r
getpwuid getpwuid_r gets glob glob64 ioctl_wait mkstemp mkstemp64 nftw nftw64
opendir openlog pclose perror popen posix_openpt printf putc puts readdir
readdir64 readdir_r rewind rewinddir scandir scandir64 scanf stat syslog
tmpfile tmpfile64 ungetc vdprintf vfprintf vfscanf vprintf vsyslog dprintf
getifaddrs __fgets_chk __fprintf_chk __fread_chk __isoc99_fscanf
__isoc99_vfscanf __printf_chk __vfprintf_chk __dprintf_chk __vdprintf_chk
__syslog_chk __vsyslog_chk'

# What calls from lib/uncancelled.c itself need.
inside='vfprintf __vfprintf_chk __isoc99_vfscanf __isoc23_vfscanf'

status=0
for library in "$@"; do
	imports=$(nm -D --undefined-only "$library" |
		awk '{ sub(/@.*/, "", $2); print $2 }')
	for name in $points; do
		echo "$imports" | grep -qxF "$name" || continue
		case " $meant $harmless $inside $UNCANCELLED " in
		*" $name "*) continue ;;
		esac
		echo "$library: $name() is a cancellation point; see" \
			"lib/uncancelled.c"
		status=1
	done
done

# A list that is not given, or does not match, must not look like success.
for name in read write pthread_cond_wait; do
	case " $UNCANCELLED " in
	*" $name "*) ;;
	*)
		echo "$name is not among the replaced ones"
		status=1
		;;
	esac
done
exit $status
