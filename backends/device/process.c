/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program that is linked dynamically names its loader in its ELF headers, whose place the kernel
 * tells; one that is linked statically names none.
 */
#define _GNU_SOURCE /* dladdr */
#include "process.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

bool heed_process_is_static(void)
{
    const ElfW(Phdr) *const headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    const unsigned long n = getauxval(AT_PHNUM);

    if (headers == NULL)
        return false;
    for (unsigned long i = 0; i < n; i++) {
        if (headers[i].p_type == PT_INTERP)
            return false;
    }
    return true;
}

void heed_process_file(const void *function, char *to, size_t size)
{
    Dl_info info = { .dli_fname = NULL };
    const char *name = "";
    char *whole = NULL;

    if (dladdr(function, &info) != 0 && info.dli_fname != NULL) {
        whole = realpath(info.dli_fname, NULL);
        name = whole != NULL ? whole : info.dli_fname;
    }
    if (strrchr(name, '/') != NULL)
        name = strrchr(name, '/') + 1;
    snprintf(to, size, "%s", name);
    free(whole);
}
