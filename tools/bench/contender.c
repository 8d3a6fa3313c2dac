/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Through the public interface alone. On devices that work in the host's memory the arrays are the
 * program's own, on the kind of pages that the bandwidth loops have, too.
 */
#include "bench/contender.h"

#include "bench/operation.h"

#include "common/text.h"
#include "peak/peak.h"

#include <stdlib.h>
#include <string.h>

bool contender_kind_is_host(uint32_t kind)
{
    return kind < HEED_DEVICE_OPENCL;
}

bool contender_is_host(const struct contender *c)
{
    return contender_kind_is_host(c->device_props.kind);
}

static heed_status make_memory(struct contender *c, uint64_t bytes, heed_buf *out)
{
    heed_status status = HEED_OK;

    if (contender_is_host(c)) {
        out->handle = bytes <= SIZE_MAX ? contents_memory((size_t)bytes) : NULL;
        status = out->handle != NULL ? HEED_OK : HEED_E_NOMEM;
    } else {
        status = c->lib->buf_create(c->device, bytes, out, NULL);
    }
    if (status >= 0)
        c->made[c->n_made++] = *out;
    return status;
}

static heed_status make_array(struct contender *c, const struct operation_array *array,
                              uint64_t seed)
{
    const uint64_t bytes = contents_bytes(&array->tensor);
    void *host = NULL;
    heed_status status = make_memory(c, bytes, array->at);

    if (status < 0 || array->contents.kind == CONTENTS_NONE)
        return status;
    host = contender_is_host(c) ? array->at->handle : malloc((size_t)bytes);
    if (host == NULL)
        return HEED_E_NOMEM;
    contents_fill(host, &array->tensor, array->contents, seed);
    if (contender_is_host(c))
        return HEED_OK;
    status = c->lib->buf_write(c->queue, *array->at, host, bytes, NULL);
    free(host);
    return status;
}

static heed_status make_arguments(struct contender *c, const struct operation_array *arrays)
{
    const uint64_t bytes = c->plan_props.workspace_size;
    heed_status status = HEED_OK;

    for (size_t i = 0; i < CONTENDER_ARRAYS && status >= 0; i++) {
        if (arrays[i].tensor.ndim > 0)
            status = make_array(c, &arrays[i], i + 1);
    }
    if (status >= 0 && bytes > 0)
        status = make_memory(c, bytes, &c->workspace);
    if (c->run != NULL)
        *c->run = (heed_run){ .workspace = c->workspace, .workspace_size = bytes };
    return status;
}

/* Fills the report itself where the library lacks the operation. */
static heed_status make_plan(struct contender *c, const struct workload *load,
                             struct operation_array *arrays, heed_report *report)
{
    heed_status status;

    if (!library_has(c->lib, c->operation->name,
                     c->operation->runs != NULL ? c->operation->runs : c->operation->name)) {
        snprintf(report->message, sizeof report->message, "this library has no heed_%s_plan",
                 c->operation->name);
        return HEED_E_NOT_BUILT;
    }
    status = c->operation->plan(c, load, arrays, report);
    if (status < 0)
        return status;
    c->plan_props.size = sizeof c->plan_props;
    return c->lib->plan_info(c->plan, &c->plan_props);
}

heed_status contender_open(struct contender *c, const struct library *lib, heed_device *device,
                           const struct workload *load, uint32_t numerics, heed_report *refused)
{
    struct operation_array arrays[CONTENDER_ARRAYS] = { 0 };
    heed_report report = { .size = sizeof report };
    const char *doing = "cannot describe the device";
    heed_status status;

    *c = (struct contender){
        .lib = lib, .device = device, .operation = operation_of(load), .numerics = numerics,
    };
    c->device_props.size = sizeof c->device_props;
    status = c->lib->device_info(device, &c->device_props);
    if (status >= 0) {
        doing = "cannot make a queue";
        status = c->lib->queue_create(device, 0, &c->queue, &report);
    }
    if (status >= 0) {
        doing = load->text;
        status = make_plan(c, load, arrays, &report);
    }
    if (status >= 0) {
        doing = "cannot make the arrays";
        memset(report.message, 0, sizeof report.message);
        status = make_arguments(c, arrays);
    }
    if (status < 0 && refused != NULL && doing == load->text)
        *refused = report;
    else if (status < 0)
        text_failure("heed-bench", doing, status, &report);
    if (status < 0)
        contender_close(c);
    return status;
}

void contender_close(struct contender *c)
{
    if (c->lib == NULL)
        return;
    while (c->n_made > 0) {
        const heed_buf made = c->made[--c->n_made];

        if (contender_is_host(c))
            free(made.handle);
        else
            c->lib->buf_destroy(c->device, made);
    }
    c->lib->plan_drop(c->plan);
    c->lib->queue_destroy(c->queue);
    *c = (struct contender){ 0 };
}

struct workload_cost contender_cost(const struct contender *c, const struct workload *load)
{
    struct workload_cost cost = workload_cost(load);

    if (load->kind == WORKLOAD_MECHANISM || workload_is_program(load))
        cost.flops = (double)c->plan_props.flops;
    return cost;
}

heed_status contender_run(struct contender *c)
{
    heed_report report = { .size = sizeof report };
    heed_status status = c->operation->run(c, &report);

    if (status >= 0)
        status = c->lib->queue_wait(c->queue, NULL);
    if (status < 0)
        text_failure("heed-bench", "run", status, &report);
    return status;
}

/* The best level whose name is in `text`, without regard to case and dashes: "AVX-512" too. */
static const char *isa_in(const char *text)
{
    char plain[192];
    size_t length = 0;
    const char *found = NULL;

    for (; *text != '\0' && length + 1 < sizeof plain; text++) {
        if (*text != '-')
            plain[length++] = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
    }
    plain[length] = '\0';
    for (size_t i = 0; peak_name(i) != NULL; i++) {
        if (strstr(plain, peak_name(i)) != NULL)
            found = peak_name(i);
    }
    return found;
}

const char *contender_isa(const struct contender *c)
{
    const char *const texts[] = {
        c->device_props.name, c->plan_props.implementation, c->device_props.description,
    };

    if (c->device_props.kind == HEED_DEVICE_REFERENCE)
        return "scalar";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *isa = isa_in(texts[i]);

        if (isa != NULL)
            return isa;
    }
    return "unknown";
}
