/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a program's headers cannot be asked for: systems whose programs are always dynamic.
 */
#include "../process.h"

bool heed_process_is_static(void)
{
    return false;
}

void heed_process_file(const void *function, char *to, size_t size)
{
    (void)function;
    if (size > 0)
        to[0] = '\0';
}
