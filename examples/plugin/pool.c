/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pooling kernel as a plug-in: sums, means and maxima over whole windows, f32, with any strides
 * and batch axes. It refuses everything else by name.
 */
#include <heed/plugin.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What run needs of a descriptor, which is gone by then. */
struct state {
    heed_tensor x, y;
    uint32_t kind;
    int64_t kernel, stride;
};

/* The operands that it takes, as heed_pool_args has them. */
enum { X, Y };

static heed_status refuse(heed_report *report, const char *field, const char *message)
{
    report->status = HEED_E_UNSUPPORTED;
    strncpy(report->field, field, sizeof report->field - 1);
    strncpy(report->message, message, sizeof report->message - 1);
    return report->status;
}

static heed_status query(void *self, const char *op, const void *descriptor, heed_report *report)
{
    const heed_pool_desc *desc = descriptor;

    (void)self;
    if (strcmp(op, "pool") != 0)
        return refuse(report, "op", "pool only");
    if (desc->flags & HEED_PLAN_OWN_WORKSPACE)
        return refuse(report, "flags", "no workspace of its own");
    if (desc->kind != HEED_POOL_SUM && desc->kind != HEED_POOL_MEAN && desc->kind != HEED_POOL_MAX)
        return refuse(report, "kind", "sums, means and maxima only");
    if (desc->tail != HEED_TAIL_FLOOR || desc->ranges.ndim)
        return refuse(report, desc->ranges.ndim ? "ranges" : "tail", "whole windows only");
    if (desc->mask.ndim || desc->len.ndim)
        return refuse(report, desc->len.ndim ? "len" : "mask", "all tokens are present");
    if (desc->y_mask.ndim || desc->y_len.ndim)
        return refuse(report, desc->y_len.ndim ? "y_len" : "y_mask", "y is the only output");
    if (desc->x.dtype != HEED_F32 || desc->y.dtype != HEED_F32)
        return refuse(report, desc->x.dtype != HEED_F32 ? "x.dtype" : "y.dtype", "f32 only");
    if (desc->x.ndim != desc->y.ndim)
        return refuse(report, "x.ndim", "as many axes as y");
    return HEED_OK;
}

static heed_status prepare(void *self, const char *op, const void *descriptor, void **out,
                           heed_plan_props *props)
{
    const heed_pool_desc *desc = descriptor;
    struct state *s = calloc(1, sizeof *s);

    (void)self;
    (void)op;
    (void)props; /* no workspace */
    if (!s)
        return HEED_E_NOMEM;
    *s = (struct state){ desc->x, desc->y, desc->kind, desc->kernel, desc->stride };
    *out = s;
    return HEED_OK;
}

static float value(const struct state *s, const float *x, int64_t step)
{
    double sum = 0;
    float most = x[0];

    for (int64_t i = 0; i < s->kernel; i++) {
        const float t = x[i * step];

        sum += (double)t;
        most = isnan(t) || t > most ? t : most; /* NaN stays: nothing is above it */
    }
    if (s->kind == HEED_POOL_MAX)
        sum = (double)most;
    if (s->kind == HEED_POOL_MEAN)
        sum /= (double)s->kernel;
    return isnan(sum) ? NAN : (float)sum + 0.0f; /* NaN and zero have one form in outputs */
}

/* All rows of one item and head. */
static void rows_pool(const struct state *s, const float *x, float *y)
{
    const uint32_t row = s->y.ndim - 2, channel = s->y.ndim - 1;

    for (int64_t j = 0; j < s->y.shape[row]; j++) {
        for (int64_t c = 0; c < s->y.shape[channel]; c++)
            y[j * s->y.stride[row] + c * s->y.stride[channel]] =
                value(s, x + j * s->stride * s->x.stride[row] + c * s->x.stride[channel],
                      s->x.stride[row]);
    }
}

static heed_status run(void *state, const heed_buf *at, uint32_t n, const heed_run *how)
{
    const struct state *s = state;
    int64_t outer = 1;

    (void)n;
    (void)how;
    for (uint32_t axis = 0; axis + 2 < s->y.ndim; axis++)
        outer *= s->y.shape[axis];
    for (int64_t i = 0; i < outer; i++) {
        int64_t rest = i, in_x = 0, in_y = 0;

        for (uint32_t axis = s->y.ndim - 2; axis-- > 0; rest /= s->y.shape[axis]) {
            const int64_t index = rest % s->y.shape[axis];

            in_x += s->x.shape[axis] == 1 ? 0 : index * s->x.stride[axis];
            in_y += index * s->y.stride[axis];
        }
        rows_pool(s, (const float *)((const char *)at[X].handle + at[X].offset) + in_x,
                  (float *)((char *)at[Y].handle + at[Y].offset) + in_y);
    }
    return HEED_OK;
}

heed_status heed_kernel_entry(uint32_t host_major, const heed_host_api *host, heed_kernel_api *out)
{
    const heed_kernel_api api = {
        .size = sizeof api,
        .major = HEED_PLUGIN_MAJOR,
        .minor = HEED_PLUGIN_MINOR,
        .numerics = HEED_NUMERICS_REPEAT,
        .name = "example: pooling of f32",
        .build = __DATE__,
        .query = query,
        .prepare = prepare,
        .run = run,
        .release = free,
    };

    (void)host;
    if (host_major != HEED_PLUGIN_MAJOR)
        return HEED_E_NEWER;
    if (out->size < sizeof api)
        return HEED_E_SIZE;
    *out = api;
    return HEED_OK;
}
