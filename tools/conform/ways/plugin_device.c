/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of a case in memory of a device. The pages that child and parent share are their images,
 * with a guard at either end: the child copies them to buffers of the device as they are, runs the
 * plug-in, and copies the buffers back, so that the parent judges them as it judges arrays that lie
 * in the pages themselves. What only the child can see, it says by a reason to fail.
 */
#define _DEFAULT_SOURCE

#include "plugin.h"
#include "vendor.h"

#include "conform/engine/place.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static const struct vendor *const vendors[] = { &vendor_opencl, &vendor_cuda };
enum { N_VENDORS = sizeof vendors / sizeof *vendors };

enum { WORKSPACE_GUARD = 1 << 12, MOST_DIGITS = 6 };

/* Of this process, which runs one case. */
static struct {
    const struct vendor *vendor;
    struct control *control;
    void *array[JOB_OPERANDS];
    void *workspace;
    unsigned char *workspace_image;
    uint64_t workspace_most; /* bytes; 0: any */
    size_t workspace_bytes, workspace_at, workspace_size;
} own;

/* ---- words ------------------------------------------------------------------------ */

static const struct vendor *vendor_of(uint32_t kind)
{
    for (int i = 0; i < N_VENDORS; i++) {
        if (vendors[i]->kind == kind)
            return vendors[i];
    }
    return NULL;
}

const char *device_word(uint32_t kind)
{
    const struct vendor *const vendor = vendor_of(kind);

    return vendor ? vendor->word : NULL;
}

uint32_t device_named(const char *name, int64_t *ordinal)
{
    for (int i = 0; i < N_VENDORS; i++) {
        const size_t n = strlen(vendors[i]->word);
        const size_t digits = strncmp(name, vendors[i]->word, n) == 0 && name[n] == ':'
                                  ? strspn(name + n + 1, "0123456789")
                                  : 0;

        if (digits == 0 || digits > MOST_DIGITS || name[n + 1 + digits])
            continue;
        *ordinal = strtoll(name + n + 1, NULL, 10);
        return vendors[i]->kind;
    }
    return 0;
}

/* The first reason counts. */
__attribute__((format(printf, 1, 2))) static void wrong(const char *format, ...)
{
    char *const why = own.control->device;
    va_list list;

    if (why[0])
        return;
    va_start(list, format);
    vsnprintf(why, sizeof own.control->device, format, list);
    va_end(list);
}

static bool good(int code, const char *what)
{
    if (code)
        wrong("crash: %s ended with error %d of %s", what, code, own.vendor->name);
    return code == 0;
}

/* ---- a device ----------------------------------------------------------------------- */

bool vendor_load(const char *const *files, const char *const *names, size_t n, size_t optional,
                 void *table)
{
    void *object = NULL;
    bool all = true;

    while (*files && !object)
        object = dlopen(*files++, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < n && object; i++) {
        void *const function = dlsym(object, names[i]);

        all = all && (function || i + optional >= n);
        memcpy((char *)table + i * sizeof function, &function, sizeof function);
    }
    return object && all;
}

bool device_open(const struct plugin *plugin, heed_host_device *out)
{
    struct control *const control = plugin->control;
    const struct vendor *const vendor = vendor_of(plugin->memory);
    char description[96] = "";
    const char *const why = vendor->open(plugin->ordinal, out, description, sizeof description);

    own.vendor = vendor;
    own.control = control;
    own.workspace_most = (uint64_t)plugin->mebibytes << 20;
    control->device_there = !why;
    snprintf(control->why, sizeof control->why, "%s", why ? why : description);
    if (why)
        wrong("load: %s", why);
    return !why;
}

/* ---- memory ---------------------------------------------------------------------------- */

static bool on_device(const struct region *r)
{
    return r->role != CONSTANT;
}

static bool arrays_make(struct trial *t)
{
    for (int i = 0; i < t->memory.n; i++) {
        const struct region *r = &t->memory.region[i];

        if (on_device(r) && own.vendor->make(r->bytes, &own.array[i])) {
            wrong("memory: the device has none for %s", r->x->name);
            return false;
        }
    }
    for (int i = 0; i < t->n_at; i++) {
        if (t->order[i] >= 0)
            t->at[i].handle = own.array[t->order[i]];
    }
    return true;
}

/* Of a cl_mem the address is not known: the offset is a multiple. */
static void workspace_place(struct trial *t, uint64_t size, uint64_t align)
{
    const uint64_t address = own.vendor->kind == HEED_DEVICE_CUDA ? (uintptr_t)own.workspace : 0,
                   first = (address + WORKSPACE_GUARD + align - 1) / align * align - address;

    own.workspace_at = (size_t)first;
    t->run = (heed_run){ .workspace = { own.workspace, first }, .workspace_size = size };
}

bool device_make(struct trial *t, const heed_plan_props *props)
{
    const uint64_t align = props->workspace_align ? props->workspace_align : 1,
                   size = props->workspace_size;

    own.workspace_size = (size_t)size;
    if (!arrays_make(t) || size == 0)
        return true; /* or the reason is said */
    if (own.workspace_most && size + align > own.workspace_most)
        return false;
    own.workspace_bytes = (size_t)(size + align + 2 * WORKSPACE_GUARD);
    own.workspace_image = malloc(own.workspace_bytes);
    if (!own.workspace_image || own.vendor->make(own.workspace_bytes, &own.workspace))
        return false;
    workspace_place(t, size, align);
    return true;
}

static unsigned char workspace_around(size_t i)
{
    return (unsigned char)(i & 1 ? 0xff : 0xc0 | (i * 37 & 0x3f)); /* no number, as halves are */
}

static bool workspace_put(const struct trial *t)
{
    if (own.workspace_size == 0)
        return true;
    for (size_t i = 0; i < own.workspace_bytes; i++)
        own.workspace_image[i] = workspace_around(i);
    memset(own.workspace_image + own.workspace_at, t->garbage, own.workspace_size);
    return good(own.vendor->put(own.workspace, own.workspace_image, own.workspace_bytes),
                "a copy to the device");
}

static void workspace_check(void)
{
    const size_t first = own.workspace_at, end = first + own.workspace_size;
    unsigned char *const image = own.workspace_image;

    if (own.workspace_size == 0 ||
        !good(own.vendor->get(own.workspace, image, own.workspace_bytes),
              "a copy from the device"))
        return;
    for (size_t i = 0; i < own.workspace_bytes; i++) {
        if ((i < first || i >= end) && image[i] != workspace_around(i))
            wrong("beside: memory %zu bytes %s the workspace was written: wanted 0x%02x got 0x%02x",
                  i < first ? first - i : i - end + 1, i < first ? "before" : "behind",
                  workspace_around(i), image[i]);
    }
}

static bool arrays_put(const struct trial *t)
{
    for (int i = 0; i < t->memory.n; i++) {
        const struct region *r = &t->memory.region[i];

        if (on_device(r) && !good(own.vendor->put(own.array[i], r->pages, r->bytes),
                                  "a copy to the device"))
            return false;
    }
    return workspace_put(t);
}

/* ---- a queue that waits ---------------------------------------------------------------- */

enum { HOLD_MS = 25 };
static const int looks_ms[] = { 1, 3, 4 }; /* together less */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t told;
    bool over;
} held = { .lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER };

/* A run that waits for the queue waits no longer than this. */
static void hold_until(void)
{
    struct timespec end;

    timespec_get(&end, TIME_UTC);
    end.tv_nsec += HOLD_MS * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_mutex_lock(&held.lock);
    while (!held.over && pthread_cond_timedwait(&held.told, &held.lock, &end) == 0)
        ;
    held.over = true;
    pthread_mutex_unlock(&held.lock);
}

static bool hold_over(bool now)
{
    bool over;

    pthread_mutex_lock(&held.lock);
    over = held.over;
    held.over = over || now;
    pthread_cond_signal(&held.told);
    pthread_mutex_unlock(&held.lock);
    return over;
}

/* The first array whose memory is no longer what the image has; NULL: none. */
static const struct region *changed(const struct trial *t, bool outputs)
{
    const struct region *found = NULL;

    for (int i = 0; i < t->memory.n && !found; i++) {
        const struct region *r = &t->memory.region[i];
        unsigned char *const now = malloc(r->bytes);

        if (on_device(r) && (r->role == OUTPUT || !outputs) && now &&
            good(own.vendor->get(own.array[i], now, r->bytes), "a copy from the device") &&
            memcmp(now, r->pages, r->bytes) != 0)
            found = r;
        free(now);
    }
    return found;
}

/* While the queue waits, nothing that was given to it can have begun. */
static void ahead_check(const struct trial *t)
{
    const struct region *r = NULL;

    for (size_t i = 0; i < sizeof looks_ms / sizeof *looks_ms && !r && !hold_over(false); i++) {
        nanosleep(&(struct timespec){ .tv_nsec = looks_ms[i] * 1000000 }, NULL);
        r = changed(t, true);
    }
    if (r && !hold_over(false))
        wrong("queue: %s was written before the queue had come to it", r->x->name);
}

heed_status device_run(struct trial *t, const heed_kernel_api *api, void *state)
{
    heed_status status;
    bool holds;

    if (!arrays_put(t))
        return HEED_OK;
    held.over = false;
    holds = own.vendor->hold(hold_until);
    status = api->run(state, t->at, (uint32_t)t->n_at, &t->run);
    if (holds) {
        if (status == HEED_OK)
            ahead_check(t);
        hold_over(true);
        own.vendor->release();
    }
    good(own.vendor->finish(), "the work of run");
    return status;
}

/* ---- afterwards ------------------------------------------------------------------------ */

void device_fetch(struct trial *t)
{
    plugin_memory_allow(&t->memory, INPUT, PROT_READ | PROT_WRITE);
    for (int role = OUTPUT, n = 0; n < 2; role = INPUT, n++) { /* outputs first */
        for (int i = 0; i < t->memory.n; i++) {
            const struct region *r = &t->memory.region[i];

            if (r->role == role)
                good(own.vendor->get(own.array[i], r->pages, r->bytes), "a copy from the device");
        }
    }
    plugin_memory_allow(&t->memory, INPUT, PROT_READ);
    workspace_check();
}

void device_fetch_again(struct trial *t)
{
    const struct region *const r = changed(t, false);

    if (r)
        wrong("late: %s was written when the queue was complete", r->x->name);
}
