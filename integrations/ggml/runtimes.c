/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * By the names of the loaded libraries, as the loader of ELF systems lists them.
 */
#include "runtimes.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

static int count_one(struct dl_phdr_info *info, size_t size, void *count)
{
    static const char *const names[] = { "/libgomp", "/libomp", "/libiomp5" };

    (void)size;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (info->dlpi_name != NULL && strstr(info->dlpi_name, names[i]) != NULL)
            ++*(int *)count;
    }
    return 0;
}

int heed_attend_openmp_runtimes(void)
{
    int count = 0;

    dl_iterate_phdr(count_one, &count);
    return count;
}
