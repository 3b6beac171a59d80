/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/port/hugepages.h"

#include <dirent.h>
#include <stdio.h>

unsigned long roost_hugepages_free_mb(const char *folder)
{
	unsigned long kb, pages, total_kb = 0;
	struct dirent *entry;
	char path[512];
	FILE *file;
	DIR *dir;

	dir = opendir(folder);
	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		if (sscanf(entry->d_name, "hugepages-%lukB", &kb) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/%s/free_hugepages", folder,
			 entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fscanf(file, "%lu", &pages) == 1)
			total_kb += kb * pages;
		fclose(file);
	}
	closedir(dir);
	return total_kb / 1024;
}
