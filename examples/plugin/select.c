/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A selection kernel as a plug-in: for each query row the tokens with the largest scores, f32, with
 * any strides and batch axes. It refuses everything else by name.
 */
#include <heed/plugin.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What run needs of a descriptor, which is gone by then. */
struct state {
    heed_tensor x, q, y;
    int64_t group; /* heads of q for each of x */
};

/* The operands that it takes, as heed_select_args has them. */
enum { X, Q, Y };

static heed_status refuse(heed_report *report, const char *field, const char *message)
{
    report->status = HEED_E_UNSUPPORTED;
    strncpy(report->field, field, sizeof report->field - 1);
    strncpy(report->message, message, sizeof report->message - 1);
    return report->status;
}

static heed_status query(void *self, const char *op, const void *descriptor, heed_report *report)
{
    const heed_select_desc *desc = descriptor;

    (void)self;
    if (strcmp(op, "select") != 0)
        return refuse(report, "op", "select only");
    if (desc->flags & HEED_PLAN_OWN_WORKSPACE)
        return refuse(report, "flags", "no workspace of its own");
    if (desc->kind != HEED_SELECT_TOPK)
        return refuse(report, "kind", "TOPK only");
    if (desc->mask.ndim || desc->len.ndim)
        return refuse(report, desc->len.ndim ? "len" : "mask", "all tokens are present");
    if (desc->x.dtype != HEED_F32 || desc->q.dtype != HEED_F32)
        return refuse(report, desc->x.dtype != HEED_F32 ? "x.dtype" : "q.dtype", "f32 only");
    if (desc->x.ndim != desc->y.ndim || desc->q.ndim != desc->y.ndim || desc->y.ndim < 3)
        return refuse(report, "y.ndim", "three axes or more, x and q as many");
    return HEED_OK;
}

static heed_status prepare(void *self, const char *op, const void *descriptor, void **out,
                           heed_plan_props *props)
{
    const heed_select_desc *desc = descriptor;
    const uint32_t head = desc->y.ndim - 3;
    struct state *s = calloc(1, sizeof *s);

    (void)self;
    (void)op;
    if (!s)
        return HEED_E_NOMEM;
    *s = (struct state){ desc->x, desc->q, desc->y, 1 };
    if (desc->x.shape[head] > 0)
        s->group = desc->y.shape[head] / desc->x.shape[head];
    props->workspace_size = (uint64_t)desc->x.shape[head + 1] * sizeof(float); /* scores of a row */
    props->workspace_align = sizeof(float);
    *out = s;
    return HEED_OK;
}

/* NaN above everything, then the larger. */
static int above(float a, float b)
{
    return isnan(a) ? !isnan(b) : a > b;
}

/* Is token i among the `count` largest? */
static int is_chosen(const float *score, int64_t n, int64_t count, int64_t i)
{
    int64_t before = 0;

    for (int64_t j = 0; j < n && before < count; j++)
        before += above(score[j], score[i]) || (j < i && !above(score[i], score[j]));
    return before < count;
}

/* One row: the chosen tokens by ascending index, then -1. */
static void row_select(const struct state *s, const float *x, const float *q, int32_t *y,
                       float *score)
{
    const uint32_t row = s->x.ndim - 2, channel = s->x.ndim - 1;
    const int64_t n = s->x.shape[row], count = s->y.shape[channel];
    int64_t used = 0;

    for (int64_t i = 0; i < n; i++) {
        score[i] = 0;
        for (int64_t c = 0; c < s->x.shape[channel]; c++)
            score[i] = fmaf(q[c * s->q.stride[channel]],
                            x[i * s->x.stride[row] + c * s->x.stride[channel]], score[i]);
    }
    for (int64_t i = 0; i < n && used < count; i++) {
        if (is_chosen(score, n, count, i))
            y[used++ * s->y.stride[channel]] = (int32_t)i;
    }
    for (; used < count; used++)
        y[used * s->y.stride[channel]] = -1;
}

static char *address(heed_buf buf)
{
    return (char *)buf.handle + buf.offset;
}

static heed_status run(void *state, const heed_buf *at, uint32_t n, const heed_run *how)
{
    const struct state *s = state;
    const uint32_t head = s->y.ndim - 3;
    int64_t rows = 1;

    (void)n;
    for (uint32_t axis = 0; axis + 1 < s->y.ndim; axis++)
        rows *= s->y.shape[axis];
    for (int64_t i = 0; i < rows; i++) {
        int64_t rest = i, x = 0, q = 0, y = 0;

        for (uint32_t axis = s->y.ndim - 1; axis-- > 0; rest /= s->y.shape[axis]) {
            const int64_t index = rest % s->y.shape[axis];

            y += index * s->y.stride[axis];
            q += s->q.shape[axis] == 1 ? 0 : index * s->q.stride[axis];
            if (axis == head)
                x += index / s->group * s->x.stride[axis];
            else if (axis < head)
                x += s->x.shape[axis] == 1 ? 0 : index * s->x.stride[axis];
        }
        row_select(s, (const float *)(void *)address(at[X]) + x,
                   (const float *)(void *)address(at[Q]) + q,
                   (int32_t *)(void *)address(at[Y]) + y,
                   (float *)(void *)address(how->workspace));
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
        .name = "example: selection of f32",
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
