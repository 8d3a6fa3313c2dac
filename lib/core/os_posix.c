/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * POSIX systems: os.h.
 */
#if !defined _GNU_SOURCE
#define _GNU_SOURCE             /* pthread_sigmask, processors in strict C */
#endif
#include "os.h"

#include <dlfcn.h>
#include <sched.h>
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

#if defined __linux__
static uint32_t processors_allowed(void)
{
    cpu_set_t set[8];           /* of the 8,192 processors that Linux knows */

    return sched_getaffinity(0, sizeof(set), set) == 0 ? (uint32_t)CPU_COUNT_S(sizeof(set), set)
                                                       : 0;
}
#else
static uint32_t processors_allowed(void)
{
    return 0;
}
#endif

uint32_t heed_os_processors(void)
{
    const uint32_t allowed = processors_allowed();
    const long online = allowed == 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 0;

    return allowed > 0 ? allowed : online > 0 ? (uint32_t)online : 1;
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
