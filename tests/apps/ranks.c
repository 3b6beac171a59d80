/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * An ordinary MPI program, which looks at every byte that it gets: messages
 * of 1 byte to 4 MiB between all pairs of ranks, collective operations, and
 * one-sided ones. It knows nothing of Roost; mpicc of any MPI-3 compiles it.
 *
 * usage: mpirun -np N ranks [PART...]
 *   PART  messages, unexpected, collectives, window, dynamic, spawn (default:
 *         all but spawn, which not every MPI can)
 *
 * Rank 0 prints a line for each part that is done. The first wrong byte ends
 * all ranks, with a line on stderr.
 */

#include <mpi.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST (4 << 20)
#define GUARD_BYTES 64
#define GUARD 0xa5

static int rank;  /* ours */
static int ranks; /* how many */

/* Around each change of protocol and each path MTU, and odd ones. */
static const int sizes[] = { 1,    2,     3,     8,      63,      64,
			     1023, 1024,  1025,  4095,   4096,    4097,
			     8191, 16384, 65535, 262145, 1 << 20, LARGEST };
#define NB_SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

static _Noreturn void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "ranks: rank %d of %d: ", rank, ranks);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

/* The byte at index of a message; seed: whose, and which. */
static uint8_t pattern(uint32_t seed, size_t index)
{
	uint32_t x = (seed + 1) * 2654435761u + (uint32_t)index * 40503u;

	return (uint8_t)(x >> 24 ^ x >> 11);
}

static uint32_t seed_of(int from, int to, int number)
{
	return (uint32_t)(from << 20 ^ to << 10 ^ number);
}

static void *buffer(size_t bytes)
{
	void *memory = malloc(bytes + GUARD_BYTES);

	if (memory == NULL)
		die("out of memory");
	memset(memory, GUARD, bytes + GUARD_BYTES);
	return memory;
}

static void fill(uint8_t *buf, size_t bytes, uint32_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		buf[i] = pattern(seed, i);
}

/* The message, and that nothing was written behind it. */
static void check(const uint8_t *buf, size_t bytes, uint32_t seed,
		  const char *what)
{
	for (size_t i = 0; i < bytes; i++)
		if (buf[i] != pattern(seed, i))
			die("%s: byte %zu of %zu is %02x, not %02x", what, i,
			    bytes, buf[i], pattern(seed, i));
	for (size_t i = bytes; i < bytes + GUARD_BYTES; i++)
		if (buf[i] != GUARD)
			die("%s: written behind byte %zu", what, bytes);
}

static void check_number(int64_t number, int64_t wanted, const char *what)
{
	if (number != wanted)
		die("%s: %lld, not %lld", what, (long long)number,
		    (long long)wanted);
}

/* ---- messages ----------------------------------------------------------- */

/* All pairs, each size, both directions at once. */
static void messages(void)
{
	uint8_t *out = buffer(LARGEST);

	for (int distance = 1; distance < ranks; distance++) {
		int to = (rank + distance) % ranks;
		int from = (rank + ranks - distance) % ranks;

		for (int i = 0; i < NB_SIZES; i++) {
			uint8_t *in = buffer((size_t)sizes[i]);
			MPI_Status status;
			int got;

			fill(out, (size_t)sizes[i], seed_of(rank, to, i));
			MPI_Sendrecv(out, sizes[i], MPI_BYTE, to, i, in,
				     sizes[i], MPI_BYTE, from, MPI_ANY_TAG,
				     MPI_COMM_WORLD, &status);
			MPI_Get_count(&status, MPI_BYTE, &got);
			check_number(got, sizes[i], "length");
			check_number(status.MPI_SOURCE, from, "source");
			check_number(status.MPI_TAG, i, "tag");
			check(in, (size_t)sizes[i], seed_of(from, rank, i),
			      "sendrecv");
			free(in);
		}
	}
	free(out);
}

#define EARLY 48          /* messages to each rank before it receives one */
#define EARLY_BYTES 20000 /* of the largest */

static size_t early_bytes(int number)
{
	return 1 + (size_t)number * (EARLY_BYTES - 1) / (EARLY - 1);
}

static void receive_early(int from, int number)
{
	size_t bytes = early_bytes(number);
	uint8_t *in = buffer(bytes);
	MPI_Status status;
	int got;

	/* A probe every third time, which tells the length before. */
	if (number % 3 == 0) {
		MPI_Probe(from, number, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_BYTE, &got);
		check_number(got, (int64_t)bytes, "probed length");
	}
	MPI_Recv(in, (int)bytes, MPI_BYTE, from, number, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	check(in, bytes, seed_of(from, rank, number), "early message");
	free(in);
}

/* Messages that nobody waits for yet, received from the last to the first. */
static void unexpected(void)
{
	int nb = EARLY * ranks;
	MPI_Request *requests = buffer((size_t)nb * sizeof(MPI_Request));
	uint8_t **out = buffer((size_t)nb * sizeof(*out));

	for (int i = 0; i < nb; i++) {
		int to = i % ranks, number = i / ranks;
		size_t bytes = early_bytes(number);

		out[i] = buffer(bytes);
		fill(out[i], bytes, seed_of(rank, to, number));
		MPI_Isend(out[i], (int)bytes, MPI_BYTE, to, number,
			  MPI_COMM_WORLD, &requests[i]);
	}
	for (int number = EARLY - 1; number >= 0; number--)
		for (int from = 0; from < ranks; from++)
			receive_early(from, number);
	MPI_Waitall(nb, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < nb; i++)
		free(out[i]);
	free(out);
	free(requests);
}

/* ---- collective operations ---------------------------------------------- */

static void allreduce(int count)
{
	int64_t *mine = buffer((size_t)count * sizeof(int64_t));
	int64_t *sum = buffer((size_t)count * sizeof(int64_t));
	int64_t pairs = (int64_t)ranks * (ranks - 1) / 2;

	for (int i = 0; i < count; i++)
		mine[i] = (int64_t)i * i + rank;
	MPI_Allreduce(mine, sum, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < count; i++)
		check_number(sum[i], (int64_t)i * i * ranks + pairs,
			     "allreduce sum");
	MPI_Allreduce(mine, sum, count, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
	for (int i = 0; i < count; i++)
		check_number(sum[i], (int64_t)i * i + ranks - 1,
			     "allreduce max");
	free(mine);
	free(sum);
}

static void alltoall(int bytes)
{
	size_t all = (size_t)bytes * (size_t)ranks;
	uint8_t *out = buffer(all), *in = buffer(all);
	uint8_t *one = buffer((size_t)bytes);

	for (int to = 0; to < ranks; to++)
		fill(out + (size_t)to * (size_t)bytes, (size_t)bytes,
		     seed_of(rank, to, bytes));
	MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < ranks; from++) {
		memcpy(one, in + (size_t)from * (size_t)bytes, (size_t)bytes);
		check(one, (size_t)bytes, seed_of(from, rank, bytes),
		      "alltoall");
	}
	free(out);
	free(in);
	free(one);
}

static void bcast(int bytes)
{
	for (int root = 0; root < ranks; root++) {
		uint8_t *buf = buffer((size_t)bytes);

		if (rank == root)
			fill(buf, (size_t)bytes, seed_of(root, 0, bytes));
		MPI_Bcast(buf, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
		check(buf, (size_t)bytes, seed_of(root, 0, bytes), "bcast");
		free(buf);
	}
}

static void collectives(void)
{
	static const int counts[] = { 1, 7, 1000, 8193, 100000 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		allreduce(counts[i]);
		alltoall(counts[i]);
		bcast(counts[i]);
	}
	for (int i = 0; i < 50; i++)
		MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- one-sided operations ----------------------------------------------- */

/*
 * A rank's memory in a window: a place for each origin, to which it writes
 * its pattern; then numbers that all add to.
 */
#define PLACE_BYTES 70001
#define NUMBERS 1000
#define ADDS 40 /* times that each rank takes the next ticket */

enum {
	TICKET,
	SWAPPED,
	ADDED,
	FIRST_NUMBER
};

struct memory {
	int64_t numbers[FIRST_NUMBER + NUMBERS];
	uint8_t places[]; /* ranks times PLACE_BYTES */
};

/* MPICH 4.0 gives ranks memory of one piece: the next rank's is aligned. */
static size_t memory_bytes(void)
{
	size_t bytes = sizeof(struct memory) + (size_t)ranks * PLACE_BYTES;

	return (bytes + 63) / 64 * 64;
}

/* Where things are at each rank: 0, or an address in a dynamic window. */
static MPI_Aint *bases;

static MPI_Aint number_at(int target, int number)
{
	return bases[target] + (MPI_Aint)offsetof(struct memory, numbers) +
	       (MPI_Aint)sizeof(int64_t) * number;
}

static MPI_Aint place_at(int target, int origin)
{
	return bases[target] + (MPI_Aint)offsetof(struct memory, places) +
	       (MPI_Aint)PLACE_BYTES * origin;
}

/* Written by everybody to everybody, then read back by somebody else. */
static void put_and_get(MPI_Win win)
{
	uint8_t *out = buffer((size_t)PLACE_BYTES * (size_t)ranks);
	uint8_t *in = buffer(PLACE_BYTES);
	int writer = (rank + 1) % ranks;

	for (int to = 0; to < ranks; to++) {
		uint8_t *message = out + (size_t)to * PLACE_BYTES;

		fill(message, PLACE_BYTES, seed_of(rank, to, 0));
		MPI_Put(message, PLACE_BYTES, MPI_BYTE, to, place_at(to, rank),
			PLACE_BYTES, MPI_BYTE, win);
	}
	MPI_Win_flush_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int target = 0; target < ranks; target++) {
		MPI_Get(in, PLACE_BYTES, MPI_BYTE, target,
			place_at(target, writer), PLACE_BYTES, MPI_BYTE, win);
		MPI_Win_flush(target, win);
		check(in, PLACE_BYTES, seed_of(writer, target, 0), "get");
	}
	free(out);
	free(in);
}

static void accumulate(MPI_Win win)
{
	int64_t *mine = buffer(NUMBERS * sizeof(int64_t));
	int64_t *sum = buffer(NUMBERS * sizeof(int64_t));
	int target = (rank + 1) % ranks;

	for (int i = 0; i < NUMBERS; i++)
		mine[i] = (int64_t)i * (rank + 1);
	for (int to = 0; to < ranks; to++)
		MPI_Accumulate(mine, NUMBERS, MPI_INT64_T, to,
			       number_at(to, FIRST_NUMBER), NUMBERS,
			       MPI_INT64_T, MPI_SUM, win);
	MPI_Win_flush_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Get_accumulate(NULL, 0, MPI_INT64_T, sum, NUMBERS, MPI_INT64_T,
			   target, number_at(target, FIRST_NUMBER), NUMBERS,
			   MPI_INT64_T, MPI_NO_OP, win);
	MPI_Win_flush(target, win);
	for (int i = 0; i < NUMBERS; i++)
		check_number(sum[i], (int64_t)i * ranks * (ranks + 1) / 2,
			     "accumulate");
	free(mine);
	free(sum);
}

/* Tickets of rank 0's number: each once. */
static void tickets(MPI_Win win)
{
	const int64_t one = 1;
	int nb = ADDS * ranks;
	int32_t *mine = buffer((size_t)nb * sizeof(int32_t));
	int32_t *all = buffer((size_t)nb * sizeof(int32_t));
	int64_t ticket, last = -1;

	memset(mine, 0, (size_t)nb * sizeof(int32_t));
	for (int i = 0; i < ADDS; i++) {
		MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0,
				 number_at(0, TICKET), MPI_SUM, win);
		MPI_Win_flush(0, win);
		if (ticket <= last || ticket >= nb)
			die("fetch_and_op: %lld after %lld", (long long)ticket,
			    (long long)last);
		last = ticket;
		mine[ticket]++;
	}
	MPI_Allreduce(mine, all, nb, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < nb; i++)
		check_number(all[i], 1, "fetch_and_op: times of a ticket");
	free(mine);
	free(all);
}

/* An increment made of compare_and_swap, at the last rank. */
static void swaps(MPI_Win win)
{
	int64_t seen = 0, new, old, zero = 0;

	for (int done = 0; done < ADDS / 4;) {
		new = seen + 1;
		MPI_Compare_and_swap(&new, &seen, &old, MPI_INT64_T, ranks - 1,
				     number_at(ranks - 1, SWAPPED), win);
		MPI_Win_flush(ranks - 1, win);
		done += old == seen;
		seen = old == seen ? new : old;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Fetch_and_op(&zero, &old, MPI_INT64_T, ranks - 1,
			 number_at(ranks - 1, SWAPPED), MPI_NO_OP, win);
	MPI_Win_flush(ranks - 1, win);
	check_number(old, (int64_t)(ADDS / 4) * ranks, "compare_and_swap");
}

/* Everything of one side, to a window in which all ranks' memory is. */
static void one_sided(MPI_Win win, const struct memory *memory)
{
	int64_t sum;
	const int64_t one = rank + 1;

	MPI_Win_lock_all(0, win);
	put_and_get(win);
	accumulate(win);
	tickets(win);
	swaps(win);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	/* Under a lock of its own. */
	for (int to = 0; to < ranks; to++) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
		MPI_Get(&sum, 1, MPI_INT64_T, to, number_at(to, ADDED), 1,
			MPI_INT64_T, win);
		MPI_Win_flush(to, win);
		sum += one;
		MPI_Put(&sum, 1, MPI_INT64_T, to, number_at(to, ADDED), 1,
			MPI_INT64_T, win);
		MPI_Win_unlock(to, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
	check_number(memory->numbers[ADDED], (int64_t)ranks * (ranks + 1) / 2,
		     "sum under locks");
	MPI_Win_unlock(rank, win);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Between fences. */
static void fenced(MPI_Win win, struct memory *memory)
{
	int64_t out = 1000 + rank;
	int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;

	memory->numbers[SWAPPED] = 0;
	MPI_Win_fence(0, win);
	MPI_Put(&out, 1, MPI_INT64_T, to, number_at(to, SWAPPED), 1,
		MPI_INT64_T, win);
	MPI_Win_fence(0, win);
	check_number(memory->numbers[SWAPPED], 1000 + from, "put and fence");
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

static void window(void)
{
	struct memory *memory;
	MPI_Win win;

	memset(bases, 0, (size_t)ranks * sizeof(*bases));
	MPI_Win_allocate((MPI_Aint)memory_bytes(), 1, MPI_INFO_NULL,
			 MPI_COMM_WORLD, &memory, &win);
	memset(memory, 0, memory_bytes());
	MPI_Barrier(MPI_COMM_WORLD);
	one_sided(win, memory);
	fenced(win, memory);
	MPI_Win_free(&win);
	/* Memory of the program's own. */
	memory = buffer(memory_bytes());
	memset(memory, 0, memory_bytes());
	MPI_Win_create(memory, (MPI_Aint)memory_bytes(), 1, MPI_INFO_NULL,
		       MPI_COMM_WORLD, &win);
	one_sided(win, memory);
	MPI_Win_free(&win);
	free(memory);
}

/* Memory that comes and goes while the window is there. */
static void dynamic(void)
{
	MPI_Win win;

	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	for (int round = 0; round < 3; round++) {
		struct memory *memory = buffer(memory_bytes());
		MPI_Aint base;

		memset(memory, 0, memory_bytes());
		MPI_Win_attach(win, memory, (MPI_Aint)memory_bytes());
		MPI_Get_address(memory, &base);
		MPI_Allgather(&base, 1, MPI_AINT, bases, 1, MPI_AINT,
			      MPI_COMM_WORLD);
		one_sided(win, memory);
		MPI_Win_detach(win, memory);
		free(memory);
	}
	MPI_Win_free(&win);
}

/* ---- ranks that come later ---------------------------------------------- */

#define CHILDREN 2
#define CHILD_BYTES 300000

static char *program; /* this one's name */

/* Each parent and each child send each other a message, then all count. */
static void meet(MPI_Comm others, int nb_others, int is_child)
{
	uint8_t *out = buffer(CHILD_BYTES);
	MPI_Comm all;
	int sum;

	for (int i = 0; i < nb_others; i++) {
		uint8_t *in = buffer(CHILD_BYTES);

		fill(out, CHILD_BYTES, seed_of(rank, i, is_child));
		MPI_Sendrecv(out, CHILD_BYTES, MPI_BYTE, i, 0, in, CHILD_BYTES,
			     MPI_BYTE, i, 0, others, MPI_STATUS_IGNORE);
		check(in, CHILD_BYTES, seed_of(i, rank, !is_child), "family");
		free(in);
	}
	free(out);
	MPI_Intercomm_merge(others, is_child, &all);
	MPI_Allreduce(&(int){ 1 }, &sum, 1, MPI_INT, MPI_SUM, all);
	check_number(sum, ranks + nb_others, "family");
	MPI_Comm_free(&all);
	MPI_Comm_disconnect(&others);
}

static void spawn(void)
{
	MPI_Comm children;

	MPI_Comm_spawn(program, MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0,
		       MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
	meet(children, CHILDREN, 0);
}

static void be_spawned(MPI_Comm parents)
{
	int nb_parents;

	MPI_Comm_remote_size(parents, &nb_parents);
	meet(parents, nb_parents, 1);
}

/* ---- main --------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "messages", messages },       { "unexpected", unexpected },
	{ "collectives", collectives }, { "window", window },
	{ "dynamic", dynamic },         { "spawn", spawn },
};

static bool is_chosen(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc < 2 && strcmp(name, "spawn") != 0;
}

int main(int argc, char **argv)
{
	MPI_Comm parents;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_get_parent(&parents);
	if (parents != MPI_COMM_NULL) {
		be_spawned(parents);
		MPI_Finalize();
		return 0;
	}
	program = argv[0];
	bases = buffer((size_t)ranks * sizeof(*bases));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		double start_s = MPI_Wtime();

		if (!is_chosen(parts[i].name, argc, argv))
			continue;
		parts[i].run();
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 0)
			printf("%d ranks: %s: right, %.1f s\n", ranks,
			       parts[i].name, MPI_Wtime() - start_s);
		fflush(stdout);
	}
	free(bases);
	MPI_Finalize();
	return 0;
}
