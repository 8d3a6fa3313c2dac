/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64, /* bytes; of every array */
    MOST_THREADS = 512
};

heed_status heed_attend_refuse(heed_report *report, heed_status status, const char *field,
                               const char *message)
{
    if (report != NULL && report->size >= sizeof *report) {
        report->status = status;
        report->wanted = report->got = report->native_code = 0;
        snprintf(report->field, sizeof report->field, "%s", field);
        snprintf(report->message, sizeof report->message, "%s", message);
    }
    return status;
}

static void *plain_alloc(void *context, size_t size, size_t align)
{
    (void)context;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void plain_free(void *context, void *pointer, size_t size, size_t align)
{
    (void)context, (void)size, (void)align;
    free(pointer);
}

void *heed_attend_need(struct heed_attend *attend, struct heed_attend_array *array, size_t size)
{
    const size_t larger = (size + size / 4 + ALIGN) / ALIGN * ALIGN;
    const heed_allocator *const memory = &attend->memory;

    if (size <= array->size && array->at != NULL)
        return array->at;
    if (array->at != NULL)
        memory->free(memory->context, array->at, array->size, ALIGN);
    attend->usage.bytes -= array->size;
    array->at = memory->alloc(memory->context, larger, ALIGN);
    array->size = array->at != NULL ? larger : 0;
    attend->usage.bytes += array->size;
    attend->usage.growths++;
    return array->at;
}

static void give_back(struct heed_attend *attend, struct heed_attend_array *array)
{
    if (array->at != NULL)
        attend->memory.free(attend->memory.context, array->at, array->size, ALIGN);
}

static void close_runtime(struct heed_attend *attend)
{
    heed_attend_forget(&attend->plans);
    heed_queue_destroy(attend->queue);
    heed_runtime_destroy(attend->runtime);
    heed_executor_destroy(attend->executor);
    attend->queue = NULL;
    attend->runtime = NULL;
    attend->executor = NULL;
    attend->device = NULL;
    attend->width = 0;
}

static heed_status open_device(struct heed_attend *attend, const heed_executor *executor,
                               heed_report *report)
{
    const heed_runtime_desc desc = { .size = sizeof desc,
                                     .allocator = &attend->memory,
                                     .executor = executor };
    heed_status status = heed_runtime_create(&desc, &attend->runtime, report);

    if (status >= 0)
        status = heed_device_find(attend->runtime, attend->device_name, &attend->device, report);
    if (status >= 0)
        status = heed_queue_create(attend->device, 0, &attend->queue, report);
    return status;
}

/* OpenMP may have fewer threads than are asked for. */
static uint32_t device_width(const struct heed_attend *attend, uint32_t width)
{
    heed_device_props props = { .size = sizeof props };

    if (heed_device_info(attend->device, &props) >= 0 && props.width < width)
        return props.width;
    return width;
}

static heed_status open_runtime(struct heed_attend *attend, uint32_t width, heed_report *report)
{
    heed_status status = HEED_E_NOT_BUILT;

    if ((attend->flags & HEED_ATTEND_OPENMP) != 0)
        status = heed_executor_create(width, HEED_EXECUTOR_OPENMP, &attend->memory,
                                      &attend->executor, report);
    if (status == HEED_E_NOT_BUILT)
        status = heed_executor_create(width, 0, &attend->memory, &attend->executor, report);
    if (status >= 0)
        status = open_device(attend, attend->executor, report);
    if (status < 0) {
        close_runtime(attend);
        return status;
    }
    attend->width = width;
    attend->most = device_width(attend, width);
    return HEED_OK;
}

static heed_status start(struct heed_attend *attend, const struct heed_attend_options *options,
                         const heed_allocator *memory, heed_report *report)
{
    const char *const device = options->device != NULL ? options->device : "cpu";

    memset(attend, 0, sizeof *attend);
    if (strlen(device) >= sizeof attend->device_name)
        return heed_attend_refuse(report, HEED_E_NOT_FOUND, "device",
                                  "no device has so long a name");
    if ((options->flags & ~(uint32_t)HEED_ATTEND_OPENMP) != 0 || options->reserved != 0)
        return heed_attend_refuse(report, HEED_E_FLAG, "flags", "has unknown bits");
    snprintf(attend->device_name, sizeof attend->device_name, "%s", device);
    attend->memory = *memory;
    attend->rows = heed_attend_rows();
    attend->threads = 1;
    attend->flags = options->flags;
    return open_runtime(attend, 1, report);
}

heed_status heed_attend_create(const struct heed_attend_options *options, struct heed_attend **out,
                               heed_report *report)
{
    static const struct heed_attend_options defaults;
    const heed_allocator plain = { .size = sizeof plain, .alloc = plain_alloc, .free = plain_free };
    const heed_allocator *memory = &plain;
    struct heed_attend *attend;
    heed_status status;

    if (out == NULL)
        return heed_attend_refuse(report, HEED_E_NULL, "out", "is NULL");
    if (options != NULL && options->allocator != NULL)
        memory = options->allocator;
    attend = memory->alloc(memory->context, sizeof *attend, ALIGN);
    if (attend == NULL)
        return heed_attend_refuse(report, HEED_E_NOMEM, "memory", "no memory for a context");
    status = start(attend, options != NULL ? options : &defaults, memory, report);
    if (status < 0) {
        memory->free(memory->context, attend, sizeof *attend, ALIGN);
        return status;
    }
    *out = attend;
    return HEED_OK;
}

void heed_attend_destroy(struct heed_attend *attend)
{
    heed_allocator memory;

    if (attend == NULL)
        return;
    close_runtime(attend);
    give_back(attend, &attend->work);
    give_back(attend, &attend->ranges);
    give_back(attend, &attend->bits);
    give_back(attend, &attend->slopes);
    give_back(attend, &attend->k);
    give_back(attend, &attend->v);
    memory = attend->memory;
    memory.free(memory.context, attend, sizeof *attend, ALIGN);
}

void heed_attend_threads(struct heed_attend *attend, uint32_t threads)
{
    attend->threads = threads == 0 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
}

void heed_attend_used(const struct heed_attend *attend, struct heed_attend_usage *usage)
{
    *usage = attend->usage;
    usage->plans = attend->plans.made;
    usage->bytes += attend->plans.bytes + sizeof *attend;
}

/* More threads than there are need a new executor, and plans of its runtime; fewer do not. */
heed_status heed_attend_ready(struct heed_attend *attend, heed_report *report)
{
    if (attend->threads > attend->width) {
        heed_status status;

        close_runtime(attend);
        status = open_runtime(attend, attend->threads, report);
        if (status < 0)
            return status;
    }
    return heed_queue_width(
        attend->queue, attend->threads < attend->most ? attend->threads : attend->most, report);
}
