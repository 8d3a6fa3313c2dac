/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the tools let heed keep compiled kernels: HEED_CACHE_DIR, or "heed" in XDG_CACHE_HOME or
 * ~/.cache. The library itself asks no environment.
 */
#ifndef HEED_TOOLS_COMMON_CACHE_H
#define HEED_TOOLS_COMMON_CACHE_H

enum { CACHE_ROOM = 1024 };

/* The folder, in `room`; NULL: none, as an empty HEED_CACHE_DIR asks for. */
const char *cache_folder(char room[CACHE_ROOM]);

#endif
