/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Reset of a PCI device, so that nothing from its last driver stays enabled. */
#include "pmd_glue/kernel/pci.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define METHODS_MAX 128

static int open_of(const struct roost_pci_places *places, const char *device,
		   const char *what, int flags)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", places->devices, device, what);
	return open(path, flags | O_CLOEXEC);
}

static int write_to(const struct roost_pci_places *places, const char *device,
		    const char *what, const char *text)
{
	int fd = open_of(places, device, what, O_WRONLY | O_APPEND);
	int ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* Read the reset methods, such as "flr bus"; the kernel tries them in this
 * order. Empty: the kernel has no such attribute.
 */
static void read_methods(const struct roost_pci_places *places,
			 const char *device, char methods[METHODS_MAX])
{
	int fd = open_of(places, device, "reset_method", O_RDONLY);
	ssize_t len = 0;

	if (fd >= 0) {
		len = read(fd, methods, METHODS_MAX - 1);
		close(fd);
	}
	methods[len > 0 ? len : 0] = '\0';
	methods[strcspn(methods, "\n")] = '\0';
}

/* Is the first method power management (D3hot), while a reset of the bus is
 * possible, too? Not every device with this method loses its state in D3hot:
 * QEMU's e1000e does not.
 */
static bool is_weak(const char *methods)
{
	return strncmp(methods, "pm ", 3) == 0 && strstr(methods, " bus");
}

int roost_pci_reset(const struct roost_pci_places *places, const char *name)
{
	struct roost_pci_device device;
	char methods[METHODS_MAX];
	bool weak;
	int ret;

	roost_pci_read(places, name, &device);
	/* A driver of the kernel has it, or another process has it open. */
	if (!device.is_uio && (device.group < 0 || device.open_errno))
		return 0;
	read_methods(places, name, methods);
	weak = is_weak(methods);
	/* vfio-pci resets it at open, by the kernel's first method. */
	if (!device.is_uio && !weak)
		return 0;
	if (weak)
		weak = write_to(places, name, "reset_method", "bus") == 0;
	ret = write_to(places, name, "reset", "1");
	if (weak)
		write_to(places, name, "reset_method", methods);
	return ret;
}
