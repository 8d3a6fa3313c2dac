/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * POSIX systems: os.h.
 */
#if !defined _GNU_SOURCE
#define _GNU_SOURCE             /* pthread_sigmask in strict C */
#endif
#include "os.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* aligned_alloc wants a size that is a multiple of the alignment on some systems. */
void *heed_os_alloc(size_t size, size_t align)
{
    if (size > SIZE_MAX - (align - 1))
        return NULL;
    return aligned_alloc(align, (size + align - 1) & ~(align - 1));
}

void heed_os_free(void *pointer)
{
    free(pointer);
}

int64_t heed_os_process(void)
{
    return getpid();
}

bool heed_os_thread_create(pthread_t *thread, void *(*body)(void *arg), void *arg)
{
    sigset_t all, before;
    bool made;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    made = pthread_create(thread, NULL, body, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

void *heed_os_library_open(const char *file)
{
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

void *heed_os_library_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

void heed_os_library_close(void *library)
{
    dlclose(library);
}
