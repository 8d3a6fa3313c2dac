/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What systems do in different ways. os_posix.c or os_windows.c is compiled, whichever the build's
 * host is; nothing else of lib and backends/device asks for a system.
 */
#ifndef HEED_LIB_OS_H
#define HEED_LIB_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory whose alignment, a power of two, is larger than malloc's. NULL: there is none. */
void *heed_os_alloc(size_t size, size_t align);
void heed_os_free(void *pointer);

/* The number of this process: a forked child has another one. */
int64_t heed_os_process(void);

/* Processors that this process may run on, at least 1. */
uint32_t heed_os_processors(void);

/* A thread that takes no signal: those are for the program's own threads. */
bool heed_os_thread_create(pthread_t *thread, void *(*body)(void *arg), void *arg);

/* A file with code, by its name; it stays open until it is closed. NULL: it cannot be opened. */
void *heed_os_library_open(const char *file);
/* NULL: it has no such name. */
void *heed_os_library_symbol(void *library, const char *name);
void heed_os_library_close(void *library);

#endif
