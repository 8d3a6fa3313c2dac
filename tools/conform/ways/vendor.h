/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the kit needs of a vendor's library to put arrays into the memory of a device, for plug-ins
 * that want them there. A library is opened in the child that runs the plug-in and nowhere else: a
 * process that has forked behind it can use it no more. The kit has tables of functions of its own,
 * as it shares no code with what it judges.
 */
#ifndef HEED_TOOLS_CONFORM_WAYS_VENDOR_H
#define HEED_TOOLS_CONFORM_WAYS_VENDOR_H

#include <heed/plugin.h>

#include <stdbool.h>

/* Functions that return int answer 0, or the vendor's code of what failed. All: for one thread. */
struct vendor {
    uint32_t kind;           /* HEED_DEVICE_* */
    const char *word, *name; /* "opencl", as devices are named; "OpenCL" */

    /* Opens a device and a queue on it. Returns NULL, or why there is none. */
    const char *(*open)(int64_t ordinal, heed_host_device *, char *description, size_t size);
    int (*make)(size_t bytes, void **memory);
    /* put: behind all that is in the queue. get: whatever is in it. Complete on return. */
    int (*put)(void *memory, const void *from, size_t bytes);
    int (*get)(void *memory, void *to, size_t bytes);
    int (*finish)(void); /* the queue is empty on return */
    /* What is given to the queue from now on waits until `until` has returned, which another
     * thread calls. false: that cannot be had. release: the thread is gone on return. */
    bool (*hold)(void (*until)(void));
    void (*release)(void);
};

extern const struct vendor vendor_opencl, vendor_cuda;

/* Opens one of the files, as far as the list goes to NULL, and finds functions in it; the last
 * `optional` of them may be NULL. false: none has all. */
bool vendor_load(const char *const *files, const char *const *names, size_t n, size_t optional,
                 void *table);

#endif
