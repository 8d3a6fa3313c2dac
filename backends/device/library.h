/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A vendor's library as a table of functions, opened when it is first asked for and kept for the
 * life of the process: drivers have threads of their own that do not survive being unloaded. Every
 * call of a backend goes through its table, so a test can put a driver of its own behind it.
 */
#ifndef HEED_BACKENDS_DEVICE_LIBRARY_H
#define HEED_BACKENDS_DEVICE_LIBRARY_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct heed_library {
    const char *const *files;       /* tried in this order; ends with NULL */
    const char *const *names;       /* of the functions, in the order of the table */
    size_t n_names, n_optional;     /* the last n_optional may be absent */
    void *table;                    /* n_names pointers to functions and nothing else */
    const char *absent, *too_old;   /* why there is no table */
    uint32_t (*suits)(const void *table);   /* 0: another file is better, if there is one; may be
                                             * NULL: all suit. Asks nothing of this library */
    pthread_mutex_t lock;           /* over what follows, which begins as zeros */
    uint32_t looked, generation;
    const void *api;
    const char *reason;
};

/* The table; NULL: *reason (static text, may be NULL) says why there is none. Any thread. */
const void *heed_library_get(struct heed_library *, const char **reason);

/* The name of the file that the library's functions lie in, links followed, as far as the system
 * tells: "libcl.so.1.2". Else "". */
void heed_library_file(struct heed_library *, char *to, size_t size);

/* For tests, while no other thread is in the backend: this table instead; NULL api: as if there
 * were none, for that reason; both NULL: the library again. */
void heed_library_set(struct heed_library *, const void *api, const char *reason);

/* Changes with every heed_library_set. */
uint32_t heed_library_generation(struct heed_library *);

#endif
