/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a vendor's library must know of the process that it is opened in.
 */
#ifndef HEED_BACKENDS_DEVICE_PROCESS_H
#define HEED_BACKENDS_DEVICE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Is the program linked statically, C library and all? What it opens brings another C library,
 * whose threads and thread-local data do not work beside the first: drivers crash there. */
bool heed_process_is_static(void);

/* The name, without its folder and with links followed, of the file that a function's code was
 * loaded from; "": that cannot be told. */
void heed_process_file(const void *function, char *to, size_t size);

#endif
