/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opens the first file of a list that has every function. Half a driver is of no use.
 */
#include "library.h"

#include "lib/core/os.h"
#include "process.h"

#include <stdbool.h>
#include <string.h>

/* The table is written if all is there. Functions are copied as bytes: C has no conversion from
 * void *. */
static bool fill(const struct heed_library *library, void *opened)
{
    char *to = library->table;

    for (size_t i = 0; i + library->n_optional < library->n_names; i++) {
        if (heed_os_library_symbol(opened, library->names[i]) == NULL)
            return false;
    }
    for (size_t i = 0; i < library->n_names; i++) {
        void *const function = heed_os_library_symbol(opened, library->names[i]);

        memcpy(to + i * sizeof(function), &function, sizeof(function));
    }
    return true;
}

/* Takes the file, if it opens and has all; whether it is also the right one. */
static bool take(struct heed_library *library, const char *file)
{
    void *const opened = heed_os_library_open(file);

    if (opened == NULL)
        return false;
    if (fill(library, opened)) {
        library->api = library->table;
        library->reason = NULL;
        return library->suits == NULL || library->suits(library->table) != 0;
    }
    heed_os_library_close(opened);
    if (library->api == NULL)
        library->reason = library->too_old;
    return false;
}

/* Of files of which none suits, the last. */
static void look(struct heed_library *library)
{
    bool taken = false;

    if (heed_process_is_static()) {
        library->reason = "the program is linked statically and can open no vendor's library";
        return;
    }
    library->reason = library->absent;
    for (size_t i = 0; library->files[i] != NULL && !taken; i++)
        taken = take(library, library->files[i]);
}

const void *heed_library_get(struct heed_library *library, const char **reason)
{
    const void *api;

    pthread_mutex_lock(&library->lock);
    if (!library->looked)
        look(library);
    library->looked = 1;
    api = library->api;
    if (reason != NULL)
        *reason = library->reason;
    pthread_mutex_unlock(&library->lock);
    return api;
}

void heed_library_file(struct heed_library *library, char *to, size_t size)
{
    const void *const table = heed_library_get(library, NULL);
    const void *function;

    to[0] = '\0';
    if (table == NULL)
        return;
    memcpy(&function, table, sizeof(function));
    heed_process_file(function, to, size);
}

void heed_library_set(struct heed_library *library, const void *api, const char *reason)
{
    pthread_mutex_lock(&library->lock);
    library->api = api;
    library->reason = reason;
    library->looked = api != NULL || reason != NULL;
    library->generation++;
    pthread_mutex_unlock(&library->lock);
}

uint32_t heed_library_generation(struct heed_library *library)
{
    uint32_t generation;

    pthread_mutex_lock(&library->lock);
    generation = library->generation;
    pthread_mutex_unlock(&library->lock);
    return generation;
}
