/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What systems do in different ways, for all tools. os_posix.c or os_windows.c is compiled,
 * whichever the build's host is.
 */
#ifndef HEED_TOOLS_COMMON_OS_H
#define HEED_TOOLS_COMMON_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* The file that keeps nothing of what is written to it. */
extern const char os_nowhere[];

/* If there is none, its files cannot be written. */
void os_folder_make(const char *path);

/* Memory whose alignment is a power of two. NULL: there is none. */
void *os_memory(size_t size, size_t align);
void os_memory_free(void *memory);

/* ---- the terminal behind stderr, and behind stdout ---------------------------- */

/* Can a line of stderr be drawn over itself? */
bool os_draws(void);
/* What the terminal is wide; 0: nobody knows. */
int os_columns(void);
bool os_stdout_is_terminal(void);
/* Safe in what os_at_end() calls. */
void os_stderr_write(const char *text, size_t n);
/* Before the system ends this process because people want it to, `leave` is called, once; a signal
 * that somebody handles, or ignores, ends nothing. */
void os_at_end(void (*leave)(void));

/* ---- threads that are made to wait, wherever they are --------------------------- */

/* One stirs at a time. false: it cannot be done now. */
bool os_stir_begin(void);
/* The thread was made and is not joined; it waits for about so long, soon. */
enum { OS_STIR_NS = 60000 };
void os_stir(pthread_t thread);
void os_stir_end(void);

#endif
