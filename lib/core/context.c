/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The runtime: the caller's hooks, checked and copied, and its beginning and end.
 */
#include "context.h"

#include "alloc.h"
#include "error.h"
#include "executor.h"
#include "sized.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LOG_LINE = 256 };

void heed_context_log(const struct heed_runtime *runtime, uint32_t level, const char *format, ...)
{
    char text[LOG_LINE];
    va_list list;

    if (runtime == NULL || runtime->logger.line == NULL || level > runtime->logger.level)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    runtime->logger.line(runtime->logger.context, level, text);
}

heed_status heed_allocator_take(heed_allocator *to, const heed_allocator *from, heed_report *report)
{
    heed_status status;

    *to = heed_alloc_default;
    if (from == NULL)
        return HEED_OK;
    status = heed_sized_in(from, HEED_ALLOCATOR_V1, to, sizeof(*to), "allocator", report);
    if (status < 0)
        return status;
    if (to->reserved != 0)
        return heed_report_fill(report, HEED_E_VALUE, "allocator.reserved", 0, to->reserved,
                                "reserved member is not zero");
    if (to->alloc == NULL || to->free == NULL)
        return heed_report_fill(report, HEED_E_NULL,
                                to->alloc == NULL ? "allocator.alloc" : "allocator.free", 0, 0,
                                "an allocator has both functions");
    return HEED_OK;
}

static heed_status take_logger(heed_logger *to, const heed_logger *from, heed_report *report)
{
    heed_status status;

    *to = (heed_logger){ .size = sizeof(*to) };
    if (from == NULL)
        return HEED_OK;
    status = heed_sized_in(from, HEED_LOGGER_V1, to, sizeof(*to), "logger", report);
    if (status < 0)
        return status;
    if (to->line == NULL)
        return heed_report_fill(report, HEED_E_NULL, "logger.line", 0, 0,
                                "a logger has a function");
    return HEED_OK;
}

static heed_status take_hooks(struct heed_runtime *runtime, const heed_runtime_desc *given,
                              heed_report *report)
{
    heed_runtime_desc desc = { .size = sizeof(desc) };
    heed_status status = HEED_OK;

    if (given != NULL)
        status = heed_sized_in(given, HEED_RUNTIME_DESC_V1, &desc, sizeof(desc), "desc", report);
    if (status < 0)
        return status;
    if (desc.flags != 0)
        return heed_report_fill(report, HEED_E_FLAG, "flags", 0, desc.flags,
                                "no flag is known here");
    status = heed_allocator_take(&runtime->allocator, desc.allocator, report);
    if (status < 0)
        return status;
    status = take_logger(&runtime->logger, desc.logger, report);
    if (status < 0)
        return status;
    runtime->services.cache_dir = desc.cache_dir;
    return heed_executor_take(&runtime->executor, &runtime->own, desc.executor,
                              &runtime->allocator, report);
}

/* For backends: lines of theirs may come from a vendor. */
static void log_line(void *runtime, uint32_t level, const char *text)
{
    char line[LOG_LINE];

    snprintf(line, sizeof(line), "%s", text);
    for (char *c = line; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    }
    heed_context_log(runtime, level, "%s", line);
}

/* false: no memory. */
static bool copy_cache_dir(struct heed_runtime *runtime, const char *given)
{
    char *copy;

    if (given == NULL)
        return true;
    copy = heed_arena_take(&runtime->arena, strlen(given) + 1, 1);
    if (copy != NULL)
        memcpy(copy, given, strlen(given) + 1);
    runtime->services.cache_dir = copy;
    return copy != NULL;
}

/* Takes the hooks and fills the rest; false: no memory. */
static bool begin(struct heed_runtime *runtime, const struct heed_runtime *hooks)
{
    memset(runtime, 0, sizeof(*runtime));
    runtime->allocator = hooks->allocator;
    runtime->executor = hooks->executor;
    runtime->own = hooks->own;
    runtime->logger = hooks->logger;
    runtime->services = (struct heed_services){
        .executor = &runtime->executor,
        .runtime = runtime,
        .alloc = heed_alloc,
        .free = heed_free,
        .log = log_line,
        .cache_refused = &runtime->cache_refused,
    };
    atomic_init(&runtime->listed, 0);
    atomic_init(&runtime->cache_refused, false);
    heed_arena_init(&runtime->arena, runtime);
    if (!heed_lock_init(&runtime->lock))
        return false;
    if (copy_cache_dir(runtime, hooks->services.cache_dir) && heed_context_list(runtime))
        return true;
    heed_lock_finish(&runtime->lock);
    return false;
}

/* Its own block goes last. */
static void give_back(struct heed_runtime *runtime)
{
    const heed_allocator allocator = runtime->allocator;

    heed_executor_destroy(runtime->own);
    heed_arena_finish(&runtime->arena);
    allocator.free(allocator.context, runtime, sizeof(*runtime), _Alignof(struct heed_runtime));
}

heed_status heed_runtime_create(const heed_runtime_desc *desc, heed_runtime **out,
                                heed_report *report)
{
    struct heed_runtime hooks = { .n_devices = 0 };
    struct heed_runtime *runtime;
    heed_status status;

    if (out == NULL)
        return heed_report_fill(report, HEED_E_NULL, "runtime", 0, 0, "no place for the result");
    status = take_hooks(&hooks, desc, report);
    if (status < 0)
        return status;
    runtime = heed_alloc(&hooks, sizeof(*runtime), _Alignof(struct heed_runtime));
    if (runtime == NULL) {
        heed_executor_destroy(hooks.own);
        return heed_report_fill(report, HEED_E_NOMEM, NULL, (int64_t)sizeof(*runtime), 0,
                                "no memory for the runtime");
    }
    if (!begin(runtime, &hooks)) {
        give_back(runtime);
        return heed_report_fill(report, HEED_E_NOMEM, NULL, 0, 0, "no memory for the devices");
    }
    *out = runtime;
    return heed_report_ok(report);
}

void heed_runtime_destroy(heed_runtime *runtime)
{
    int64_t events;

    if (runtime == NULL)
        return;
    events = heed_context_events(runtime);
    if (events != 0)
        heed_context_log(runtime, HEED_LOG_WARNING,
                         "runtime destroyed with %lld events not destroyed", (long long)events);
    heed_context_close(runtime);
    heed_lock_finish(&runtime->lock);
    give_back(runtime);
}
