/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program that is linked dynamically names its loader in its ELF headers, whose place the kernel
 * tells; one that is linked statically names none.
 */
#include "process.h"

#include <link.h>
#include <stddef.h>
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
