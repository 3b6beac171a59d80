/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A target without libFuzzer: each input of a corpus once, reported in TAP.
 * A corpus is a text file with an input in each line, "NAME HEX"; lines that
 * begin with # are comments. Inputs that are files of their own, as libFuzzer
 * leaves them, are taken too.
 *
 * usage: fuzz_TARGET FILE...
 */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define ALARM_S 60 /* an input that hangs */

static unsigned int nb_run;

/* Memory of just its size, so that a sanitizer sees who reads behind it. */
static void run_one(const char *name, const uint8_t *data, size_t len_bytes)
{
	uint8_t *own = malloc(len_bytes + 1);

	if (own == NULL)
		abort();
	own = realloc(own, len_bytes == 0 ? 1 : len_bytes);
	if (len_bytes > 0)
		memcpy(own, data, len_bytes);
	fprintf(stderr, "# %s\n", name);
	alarm(ALARM_S);
	LLVMFuzzerTestOneInput(own, len_bytes);
	alarm(0);
	free(own);
	printf("ok %u - %s\n", ++nb_run, name);
	fflush(stdout);
}

static int nibble(char c)
{
	return isdigit((unsigned char)c) ? c - '0'
					 : tolower((unsigned char)c) - 'a' + 10;
}

static void run_line(const char *path, char *line)
{
	char *hex = line + strcspn(line, " \n");
	size_t len = 0;

	if (*line == '#' || hex == line)
		return;
	if (*hex != '\0')
		*hex++ = '\0';
	for (; isxdigit((unsigned char)hex[2 * len]) &&
	       isxdigit((unsigned char)hex[2 * len + 1]);
	     len++)
		hex[len] = (char)(nibble(hex[2 * len]) << 4 |
				  nibble(hex[2 * len + 1]));
	if (hex[2 * len] != '\n' && hex[2 * len] != '\0') {
		fprintf(stderr, "%s: %s: not hex\n", path, line);
		exit(EXIT_FAILURE);
	}
	run_one(line, (const uint8_t *)hex, len);
}

static void run_corpus(const char *path, FILE *file)
{
	size_t room = 0;
	char *line = NULL;

	while (getline(&line, &room, file) > 0)
		run_line(path, line);
	free(line);
}

static void run_raw(const char *path, FILE *file)
{
	static uint8_t bytes[1 << 20];

	run_one(path, bytes, fread(bytes, 1, sizeof(bytes), file));
}

__typeof__(LLVMFuzzerInitialize) LLVMFuzzerInitialize __attribute__((weak));

int main(int argc, char **argv)
{
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		const char *end = strrchr(argv[i], '.');
		FILE *file = fopen(argv[i], "re");

		if (file == NULL) {
			perror(argv[i]);
			return EXIT_FAILURE;
		}
		if (end != NULL && strcmp(end, ".corpus") == 0)
			run_corpus(argv[i], file);
		else
			run_raw(argv[i], file);
		fclose(file);
	}
	printf("1..%u\n", nb_run);
	return nb_run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
