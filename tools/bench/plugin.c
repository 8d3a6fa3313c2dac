/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A plan is what prepare made. The kernel runs in the process that measures, with heed's own memory
 * and arrays: heed-conform is the tool that mistrusts it.
 */
#define _POSIX_C_SOURCE 200809L
#include "bench/plugin.h"

#include "bench/team.h"

#include "common/text.h"

#include <heed/plugin.h>

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plan {
    void *state;
    heed_plan_props props;
    uint32_t n_sources;
};

static heed_kernel_api api;
static struct team *team; /* NULL: one worker */
static unsigned n_threads;

/* ---- the host ------------------------------------------------------------------------ */

static void *host_alloc(void *context, size_t size, size_t align)
{
    void *at = NULL;

    (void)context;
    return posix_memalign(&at, align < sizeof at ? sizeof at : align, size) ? NULL : at;
}

static void host_free(void *context, void *at, size_t size, size_t align)
{
    (void)context;
    (void)size;
    (void)align;
    free(at);
}

struct job {
    uint32_t width;
    void (*body)(void *arg, uint32_t worker);
    void *arg;
};

static void job_share(void *arg, unsigned worker)
{
    const struct job *job = arg;

    for (uint32_t i = worker; i < job->width; i += n_threads)
        job->body(job->arg, i);
}

static void host_parallel(void *context, uint32_t width, void (*body)(void *arg, uint32_t worker),
                          void *arg)
{
    struct job job = { width, body, arg };

    (void)context;
    if (team != NULL)
        team_run(team, job_share, &job);
    else
        job_share(&job, 0);
}

static void host_line(void *context, uint32_t level, const char *text)
{
    (void)context;
    (void)level;
    fprintf(stderr, "plug-in: %s\n", text);
}

static const heed_allocator allocator = {
    .size = sizeof allocator, .alloc = host_alloc, .free = host_free,
};
static const heed_logger logger = { .size = sizeof logger, .level = 2, .line = host_line };
static heed_executor executor = { .size = sizeof executor, .parallel = host_parallel };
static const heed_host_device no_device = { .size = sizeof no_device };

static const heed_host_api host = {
    .size = sizeof host, .major = HEED_PLUGIN_MAJOR, .minor = HEED_PLUGIN_MINOR,
    .allocator = &allocator, .executor = &executor, .logger = &logger,
    .device = &no_device,
};

/* ---- calls of a library ---------------------------------------------------------------- */

static heed_status describe(const heed_device *device, heed_device_props *props)
{
    const heed_status status = heed_device_info(device, props);

    if (status >= 0) {
        snprintf(props->name, sizeof props->name, "plug-in");
        props->width = n_threads;
    }
    return status;
}

static heed_status refuse(heed_status status, heed_report *report)
{
    report->status = status;
    report->field[sizeof report->field - 1] = '\0';
    report->message[sizeof report->message - 1] = '\0';
    return status;
}

/* A promise that is weaker than the one that was asked for is no answer; BEST asks for none. */
static heed_status refuse_weaker(uint32_t asked, heed_report *report)
{
    *report = (heed_report){ .size = sizeof *report, .wanted = asked, .got = api.numerics };
    snprintf(report->field, sizeof report->field, "numerics");
    snprintf(report->message, sizeof report->message, "the plug-in claims %s only",
             text_numerics(api.numerics));
    return refuse(HEED_E_UNSUPPORTED, report);
}

/* Only what a device of heed takes reaches the kernel. */
static heed_status plan(heed_device *device, const heed_attn_desc *desc, heed_plan **out,
                        heed_report *report)
{
    heed_attn_desc mine = *desc;
    heed_report local = { .size = sizeof local };
    heed_report *const said = report != NULL ? report : &local;
    heed_status status = heed_attn_check(device, desc, said);
    struct plan *made;

    if (status < 0)
        return status;
    if (desc->numerics != HEED_NUMERICS_BEST && api.numerics > desc->numerics)
        return refuse_weaker(desc->numerics, said);
    mine.numerics = api.numerics;
    status = api.query(api.self, "attn", &mine, said);
    if (status != HEED_OK)
        return refuse(status < 0 ? status : HEED_E_INTERNAL, said);
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return refuse(HEED_E_NOMEM, said);
    made->props = (heed_plan_props){ .size = sizeof made->props };
    status = api.prepare(api.self, "attn", &mine, &made->state, &made->props);
    if (status != HEED_OK) {
        free(made);
        return refuse(status < 0 ? status : HEED_E_INTERNAL, said);
    }
    made->n_sources = desc->n_sources;
    made->props.size = sizeof made->props;
    made->props.numerics = api.numerics;
    snprintf(made->props.implementation, sizeof made->props.implementation, "%s", api.name);
    *out = (heed_plan *)(void *)made;
    return HEED_OK;
}

/* The contender asks for all of them. */
static heed_status plan_info(const heed_plan *of, heed_plan_props *props)
{
    assert(props->size == sizeof *props);
    *props = ((const struct plan *)(const void *)of)->props;
    return HEED_OK;
}

/* Attention's operands, in the order of heed_plan_operands(). */
enum { FIXED_OPERANDS = 5, MOST_OPERANDS = 128 };

static heed_status run(const heed_plan *of, heed_queue *queue, const heed_attn_args *args,
                       heed_event **event, heed_report *report)
{
    const struct plan *made = (const struct plan *)(const void *)of;
    const heed_run how = { .workspace = args->workspace, .workspace_size = args->workspace_size };
    heed_buf at[MOST_OPERANDS] = { args->q, args->o, args->lse, args->sinks,
                                    args->state_in };
    uint32_t n = FIXED_OPERANDS;
    heed_status status;

    assert(n + 2 * made->n_sources + args->n_slots <= MOST_OPERANDS);
    for (uint32_t s = 0; s < made->n_sources; s++) {
        at[n++] = args->kv[s].k;
        at[n++] = args->kv[s].v;
    }
    for (uint32_t i = 0; i < args->n_slots; i++)
        at[n++] = args->slots[i];
    status = api.run(made->state, at, n, &how);

    (void)queue;
    (void)event;
    if (report != NULL && status < 0)
        snprintf(report->message, sizeof report->message, "the plug-in's run");
    return status;
}

static void plan_drop(heed_plan *of)
{
    struct plan *const made = (struct plan *)(void *)of;

    if (made != NULL)
        api.release(made->state);
    free(made);
}

/* ---- loading --------------------------------------------------------------------------- */

static const char *load(const char *path)
{
    void *const object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *const symbol = object != NULL ? dlsym(object, HEED_KERNEL_ENTRY) : NULL;
    heed_kernel_entry_type *entry;
    heed_status status;

    if (symbol == NULL)
        return dlerror();
    memcpy(&entry, &symbol, sizeof entry);
    api = (heed_kernel_api){ .size = sizeof api };
    status = entry(HEED_PLUGIN_MAJOR, &host, &api);
    if (status != HEED_OK)
        return heed_status_name(status);
    if (api.major != HEED_PLUGIN_MAJOR || api.size < sizeof api || api.name == NULL ||
        api.query == NULL || api.prepare == NULL || api.run == NULL || api.release == NULL)
        return "its table is not as heed/plugin.h says";
    if (api.minor > 0 && api.memory != 0 && api.memory != HEED_DEVICE_CPU)
        return "its arrays lie in memory of a device, which is not measured";
    return NULL;
}

const char *plugin_open(const char *path, unsigned threads, struct library *out)
{
    const char *why;

    n_threads = threads;
    executor.width = threads;
    if (threads > 1) {
        team = team_create(threads);
        if (team == NULL)
            return "its threads cannot be started";
    }
    why = load(path);
    if (why != NULL)
        return why;
    *out = (struct library){
        .runtime_create = heed_runtime_create, .runtime_destroy = heed_runtime_destroy,
        .device_find = heed_device_find, .device_info = describe,
        .buf_create = heed_buf_create, .buf_destroy = heed_buf_destroy,
        .buf_write = heed_buf_write, .queue_create = heed_queue_create,
        .queue_wait = heed_queue_wait, .queue_destroy = heed_queue_destroy,
        .plan_info = plan_info, .plan_drop = plan_drop, .attn_plan = plan, .attn_run = run,
    };
    return NULL;
}

void plugin_close(void)
{
    team_destroy(team);
    team = NULL;
}

const char *plugin_name(void)
{
    return api.name;
}
