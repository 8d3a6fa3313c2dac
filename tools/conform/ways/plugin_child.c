/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a child does with a plug-in: loads it, asks it, runs it on a case, and says how it goes.
 */
#define _DEFAULT_SOURCE

#include "plugin.h"
#include "conform/engine/place.h"

#include "common/text.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the host --------------------------------------------------------------- */

static void *host_alloc(void *context, size_t size, size_t align)
{
    void *pointer = NULL;

    (void)context;
    return posix_memalign(&pointer, align < sizeof pointer ? sizeof pointer : align, size)
               ? NULL
               : pointer;
}

static void host_free(void *context, void *pointer, size_t size, size_t align)
{
    (void)context;
    (void)size;
    (void)align;
    free(pointer);
}

enum { WIDTH = 3 };

static struct workers host_workers;

static void host_line(void *context, uint32_t level, const char *text)
{
    (void)context;
    fprintf(stderr, "plug-in (%u): %s\n", (unsigned)level, text);
}

/* Its width is set before the plug-in is loaded. */
static heed_executor host_executor = { .size = sizeof(heed_executor),
                                       .width = WIDTH,
                                       .context = &host_workers,
                                       .parallel = workers_parallel };

static heed_host_device host_device = { .size = sizeof host_device };

static const heed_host_api host = {
    .size = sizeof host,
    .major = HEED_PLUGIN_MAJOR,
    .minor = HEED_PLUGIN_MINOR,
    .allocator = &(const heed_allocator){ .size = sizeof(heed_allocator),
                                          .alloc = host_alloc,
                                          .free = host_free },
    .executor = &host_executor,
    .logger = &(const heed_logger){ .size = sizeof(heed_logger), .level = 2, .line = host_line },
    .device = &host_device,
};

/* A plug-in of the first version rounds none. */
static uint32_t weights_of(const heed_kernel_api *api)
{
    return api->size < sizeof *api || api->weights == HEED_F32 ? 0 : api->weights;
}

/* 0: the host's. What was reserved before the first minor version says nothing. */
static uint32_t memory_of(const heed_kernel_api *api)
{
    return api->size < sizeof *api || api->minor < 1 || api->memory == HEED_DEVICE_CPU
               ? 0
               : api->memory;
}

/* What it may not be, with what was wanted and got. */
static void wrong(struct control *control, const char *what, uint64_t wanted, uint64_t got)
{
    snprintf(control->why, sizeof control->why, "its %s: wanted %llu, got %llu", what,
             (unsigned long long)wanted, (unsigned long long)got);
}

static bool api_good(const heed_kernel_api *api, struct control *control)
{
    const size_t least = offsetof(heed_kernel_api, weights);
    const char *what = !api->name                      ? "it has no name"
                       : !api->query                   ? "it lacks the function query"
                       : !api->prepare                 ? "it lacks the function prepare"
                       : !api->run                     ? "it lacks the function run"
                       : !api->release                 ? "it lacks the function release"
                       : api->numerics < HEED_NUMERICS_EXACT || api->numerics > HEED_NUMERICS_FAST
                           ? "its numerics: wanted EXACT, REPEAT or FAST"
                       : weights_of(api) > HEED_BF16 ||
                               (weights_of(api) && api->numerics == HEED_NUMERICS_EXACT)
                           ? "it rounds weights as no claim has it"
                       : memory_of(api) && !device_word(memory_of(api))
                           ? "it wants memory of a kind of device that there is not"
                           : NULL;

    if (api->major != HEED_PLUGIN_MAJOR)
        wrong(control, "major version", HEED_PLUGIN_MAJOR, api->major);
    else if (api->size < least)
        wrong(control, "table's size at least", least, api->size);
    else
        snprintf(control->why, sizeof control->why, "%s", what ? what : "");
    return control->why[0] == '\0';
}

static bool load(const struct plugin *plugin, heed_kernel_api *api)
{
    struct control *control = plugin->control;
    heed_kernel_entry_type *entry;
    void *object = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL), *symbol;

    symbol = object ? dlsym(object, HEED_KERNEL_ENTRY) : NULL;
    if (!symbol) {
        snprintf(control->why, sizeof control->why, "%s", dlerror());
        return false;
    }
    memcpy(&entry, &symbol, sizeof entry);
    *api = (heed_kernel_api){ .size = sizeof *api };
    control->stage = STAGE_ENTRY;
    control->status = entry(HEED_PLUGIN_MAJOR, &host, api);
    if (control->status != HEED_OK) {
        snprintf(control->why, sizeof control->why, "this host is of version %d.%d",
                 HEED_PLUGIN_MAJOR, HEED_PLUGIN_MINOR);
        return false;
    }
    if (!api_good(api, control))
        return false;
    control->numerics = api->numerics;
    control->weights = weights_of(api);
    control->memory = memory_of(api);
    snprintf(control->name, sizeof control->name, "%s", api->name);
    snprintf(control->build, sizeof control->build, "%s", api->build ? api->build : "no build");
    text_plain(control->name);
    text_plain(control->build);
    return true;
}

/* ---- a case ----------------------------------------------------------------- */

heed_status plugin_ask(const struct plugin *plugin, const heed_kernel_api *api,
                       const void *desc)
{
    struct control *control = plugin->control;

    control->stage = STAGE_QUERY;
    control->report = (heed_report){ .size = sizeof control->report };
    control->status = api->query(api->self, cf_op->name, desc, &control->report);
    control->report.field[sizeof control->report.field - 1] = 0;
    control->report.message[sizeof control->report.message - 1] = 0;
    return control->status;
}

/* Behind it a page ends. */
static bool workspace_make(struct trial *t, const heed_plan_props *props)
{
    const uint64_t align = props->workspace_align ? props->workspace_align : 1,
                   size = props->workspace_size, page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t room = (size + align + page - 1) / page * page;
    unsigned char *at;

    if (size && ((align & (align - 1)) || size > UINT64_C(1) << 40 || align > UINT64_C(1) << 30))
        return false;
    if (t->memory.imaged)
        return device_make(t, props);
    if (size == 0)
        return true;
    at = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + room, page, PROT_NONE))
        return false;
    at += room - size;
    at -= (uintptr_t)at % align;
    t->run = (heed_run){ .workspace = { at, 0 }, .workspace_size = size };
    return true;
}

/* In the workspace of a run there is garbage. */
static heed_status run_once(struct trial *t, const heed_kernel_api *api, void *state)
{
    if (t->memory.imaged)
        return device_run(t, api, state);
    if (t->run.workspace_size)
        memset(t->run.workspace.handle, t->garbage, (size_t)t->run.workspace_size);
    return api->run(state, t->at, (uint32_t)t->n_at, &t->run);
}

/* The last run is the one that is judged. What a run on other data in the same places leaves must
 * not be seen in it. */
static heed_status compute(struct trial *t, const heed_kernel_api *api, void *state)
{
    const struct conditions *const how = t->how;
    heed_status status;

    host_workers.order = how ? how->order : t->again ? WORKERS_FIRST_FIRST : WORKERS_LAST_FIRST;
    host_workers.seed = how ? how->poison : 0;
    t->garbage = 0xa5;
    if (t->again) {
        if (!plugin_memory_rows(&t->memory, true))
            _exit(1);
        status = run_once(t, api, state);
        if (status != HEED_OK)
            return status;
        if (!plugin_memory_rows(&t->memory, false))
            _exit(1);
        t->garbage = 0x5a;
        plugin_memory_refill(&t->memory);
        host_workers.order = how ? how->order : WORKERS_TOGETHER;
    }
    return run_once(t, api, state);
}

/* A kernel that keeps a pointer to them finds nonsense. */
static void descriptor_spoil(struct trial *t)
{
    memset(t->job->desc, 0xee, t->job->desc_bytes);
    plugin_memory_allow(&t->memory, CONSTANT, PROT_NONE);
}

static void traces_note(struct control *control)
{
    const char *const what = guard_changed();

    if (!guard_float())
        control->float_changed = true;
    if (what && !control->changed[0])
        snprintf(control->changed, sizeof control->changed, "%s", what);
}

void plugin_compute(const struct plugin *plugin, const heed_kernel_api *api, void *arg)
{
    struct trial *t = arg;
    struct control *control = plugin->control;
    heed_plan_props props = { .size = sizeof props };
    void *state = NULL;

    if (!plugin_memory_protect(&t->memory))
        _exit(1);
    if (plugin_ask(plugin, api, t->job->desc) != HEED_OK)
        return;
    control->stage = STAGE_PREPARE;
    control->status = api->prepare(api->self, cf_op->name, t->job->desc, &state, &props);
    if (control->status != HEED_OK)
        return;
    descriptor_spoil(t);
    control->workspace = props.workspace_size;
    control->alignment = props.workspace_align;
    control->bad_workspace = !workspace_make(t, &props);
    if (control->bad_workspace || control->device[0])
        return;
    control->stage = STAGE_RUN;
    control->status = compute(t, api, state);
    if (t->memory.imaged)
        device_fetch(t);
    traces_note(control);
    plugin_memory_allow(&t->memory, OUTPUT, PROT_READ); /* final from now on */
    if (control->status != HEED_OK)
        return;
    control->stage = STAGE_RELEASE;
    api->release(state);
    if (t->memory.imaged)
        device_fetch_again(t);
    traces_note(control);
    /* A driver has threads of its own. */
    control->threads_left = !t->memory.imaged && guard_threads_left();
    control->stage = STAGE_END;
}

/* Kernels with threads of OpenMP have as many as the executor has workers. */
static void workers_set(const struct plugin *plugin)
{
    char width[16];

    if (!plugin->width)
        return;
    host_executor.width = plugin->width;
    snprintf(width, sizeof width, "%u", (unsigned)plugin->width);
    setenv("OMP_NUM_THREADS", width, 1);
}

void plugin_child(const struct plugin *plugin, plugin_work *work, void *arg)
{
    heed_kernel_api api;

    guard_faults(plugin);
    workers_set(plugin);
    if (!load(plugin, &api))
        return;
    if (plugin->memory && !device_open(plugin, &host_device))
        return;
    guard_faults(plugin); /* loading may have put other handlers there */
    guard_note();
    if (work)
        work(plugin, &api, arg);
}

