/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See cache.h.
 */
#include "cache.h"

#include <stdio.h>
#include <stdlib.h>

static const char *join(char room[CACHE_ROOM], const char *folder, const char *rest)
{
    const int n = snprintf(room, CACHE_ROOM, "%s%s", folder, rest);

    return n > 0 && n < CACHE_ROOM ? room : NULL;
}

/* Relative paths do not count in XDG_CACHE_HOME, nor in HOME. */
const char *cache_folder(char room[CACHE_ROOM])
{
    const char *folder = getenv("HEED_CACHE_DIR");

    if (folder != NULL)
        return join(room, folder, "");
    folder = getenv("XDG_CACHE_HOME");
    if (folder != NULL && folder[0] == '/')
        return join(room, folder, "/heed");
    folder = getenv("HOME");
    return folder != NULL && folder[0] == '/' ? join(room, folder, "/.cache/heed") : NULL;
}
