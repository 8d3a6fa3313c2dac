/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a vendor's library must know of the process that it is opened in.
 */
#ifndef HEED_BACKENDS_DEVICE_PROCESS_H
#define HEED_BACKENDS_DEVICE_PROCESS_H

#include <stdbool.h>

/* Is the program linked statically, C library and all? What it opens brings another C library,
 * whose threads and thread-local data do not work beside the first: drivers crash there. */
bool heed_process_is_static(void);

#endif
