/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows: os.h. Processes do not fork there, and signals reach no thread that has not raised them.
 */
#define WIN32_LEAN_AND_MEAN
#include "os.h"

#include <malloc.h>
#include <string.h>
#include <windows.h>

void *heed_os_alloc(size_t size, size_t align)
{
    return _aligned_malloc(size, align);
}

void heed_os_free(void *pointer)
{
    _aligned_free(pointer);
}

int64_t heed_os_process(void)
{
    return GetCurrentProcessId();
}

uint32_t heed_os_processors(void)
{
    DWORD_PTR own = 0, all = 0;
    uint32_t n = 0;

    /* Of the process's group; both are 0 where it has processors of several. */
    if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all)) {
        for (; own != 0; own &= own - 1)
            n++;
    }
    if (n == 0)
        n = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return n > 0 ? n : 1;
}

bool heed_os_thread_create(pthread_t *thread, void *(*body)(void *arg), void *arg)
{
    return pthread_create(thread, NULL, body, arg) == 0;
}

/* Not from the folder that the program happens to stand in, where others may write. */
void *heed_os_library_open(const char *file)
{
    return LoadLibraryExA(file, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
}

/* Copied as bytes: C has no conversion from a function to void *. */
void *heed_os_library_symbol(void *library, const char *name)
{
    const FARPROC function = GetProcAddress(library, name);
    void *address;

    memcpy(&address, &function, sizeof(address));
    return address;
}

void heed_os_library_close(void *library)
{
    FreeLibrary(library);
}
