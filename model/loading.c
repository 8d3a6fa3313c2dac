/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "loading.h"

#include "say.h"

#include <heed/memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

heed_status weights_keep(struct parameters *p, uint64_t bytes, heed_buf *buf, heed_report *report)
{
    heed_status status;

    if (p->n_owned == p->room_owned) {
        const size_t room = p->room_owned ? 2 * p->room_owned : 64;
        heed_buf *grown = realloc(p->owned, room * sizeof *grown);

        if (!grown)
            return say_no_memory(report, (int64_t)(room * sizeof *grown));
        p->owned = grown;
        p->room_owned = room;
    }
    status = heed_buf_create(p->device, bytes, buf, report);
    if (status < 0)
        return status;
    p->owned[p->n_owned++] = *buf;
    p->bytes += bytes;
    return HEED_OK;
}

/* ---- one tensor ---- */

/* Where the bytes of a tensor are read to: the device's memory, or what is copied there. */
static heed_status staged(struct loading *l, int64_t bytes, void **to)
{
    if (bytes > l->stage_bytes) {
        free(l->stage);
        l->stage = malloc((size_t)bytes);
        l->stage_bytes = l->stage ? bytes : 0;
        if (!l->stage)
            return say_no_memory(l->report, bytes);
    }
    *to = l->stage;
    return HEED_OK;
}

/* Are all numbers finite? Exponents of ones alone are those of infinities and NaN. */
static bool finite(const void *data, uint32_t dtype, int64_t bytes)
{
    const uint32_t mask = dtype == HEED_F32 ? 0x7f800000u : dtype == HEED_F16 ? 0x7c00u : 0x7f80u;
    uint32_t bad = 0;

    if (dtype == HEED_F32) {
        const uint32_t *const x = data;

        for (int64_t i = 0; i < bytes / 4; i++)
            bad |= (x[i] & mask) == mask;
    } else {
        const uint16_t *const x = data;

        for (int64_t i = 0; i < bytes / 2; i++)
            bad |= (x[i] & mask) == mask;
    }
    return !bad;
}

static heed_status read_weight(struct loading *l, const struct weight *weight, heed_buf to)
{
    heed_status status = HEED_OK;
    void *at = to.handle;

    if (weight->bytes == 0)
        return HEED_OK;
    if (!l->p->host)
        status = staged(l, weight->bytes, &at);
    if (status >= 0)
        status = checkpoint_read(&l->files, weight, at, l->report);
    if (status >= 0 && !finite(at, weight->dtype, weight->bytes)) {
        char name[CHECKPOINT_NAME];

        snprintf(name, sizeof name, "%.*s", (int)weight->name_bytes, weight->name);
        return say(l->report, HEED_E_VALUE, name, 0, 0, "weights that are not finite");
    }
    if (status >= 0 && !l->p->host)
        status = heed_buf_write(l->queue, to, at, (uint64_t)weight->bytes, l->report);
    return status;
}

/* Rows of another type, by heed's own copy on the device. */
static heed_status convert(struct loading *l, const struct param *from, struct param *to)
{
    const int64_t rows = from->t.shape[0], columns = from->t.shape[1];
    heed_copy_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE };
    heed_copy_args args = { .size = sizeof args, .x = from->buf };
    heed_status status;
    heed_plan *plan;

    desc.x = heed_array4(from->t.dtype, NULL, 1, 1, rows, columns).t;
    desc.y = heed_array4(to->t.dtype, NULL, 1, 1, rows, columns).t;
    args.y = to->buf;
    status = heed_copy_plan(l->p->device, &desc, &plan, l->report);
    if (status < 0)
        return status;
    status = heed_copy_run(plan, l->queue, &args, NULL, l->report);
    if (status >= 0)
        status = heed_queue_wait(l->queue, l->report);
    heed_plan_drop(plan);
    return status;
}

/* Bytes of an element, or of a block of them; 0: no type of weights. */
static uint64_t unit(uint32_t dtype)
{
    static const struct {
        uint32_t dtype, bytes;
    } sizes[] = { { HEED_F32, 4 }, { HEED_F16, 2 }, { HEED_BF16, 2 }, { HEED_Q8_0, 34 },
                  { HEED_Q4_0, 18 }, { HEED_Q4_1, 20 }, { HEED_Q5_0, 22 }, { HEED_Q5_1, 24 },
                  { HEED_IQ4_NL, 18 } };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].dtype == dtype)
            return sizes[i].bytes;
    return 0;
}

bool weights_may_be(uint32_t dtype)
{
    return unit(dtype) != 0;
}

uint64_t bytes_of(const heed_tensor *t)
{
    uint64_t elements = 1;

    for (uint32_t i = 0; i < t->ndim; i++)
        elements *= (uint64_t)t->shape[i];
    return elements / (uint64_t)heed_dtype_block(t->dtype) * unit(t->dtype);
}

/* Brings a tensor to the device, `matrix` in the type that was asked for. */
static heed_status bring(struct loading *l, const struct weight *weight, bool matrix,
                         struct param *to)
{
    const uint32_t wanted = matrix && l->dtype ? l->dtype : weight->dtype;
    struct param raw = {
        .t = heed_array_dense(weight->dtype, NULL, weight->ndim, weight->shape).t
    };
    heed_status status;

    /* Rows that blocks do not divide stay as they are. */
    const bool other = wanted != weight->dtype &&
                       raw.t.shape[raw.t.ndim - 1] % heed_dtype_block(wanted) == 0;

    *to = raw;
    if (other)
        to->t = heed_array_dense(wanted, NULL, weight->ndim, weight->shape).t;
    status = weights_keep(l->p, bytes_of(&to->t), &to->buf, l->report);
    if (status >= 0 && !other)
        status = read_weight(l, weight, to->buf);
    if (status >= 0 && other) {
        status = heed_buf_create(l->p->device, (uint64_t)weight->bytes, &raw.buf, l->report);
        if (status < 0)
            return status;
        status = read_weight(l, weight, raw.buf);
        if (status >= 0)
            status = convert(l, &raw, to);
        heed_buf_destroy(l->p->device, raw.buf);
    }
    l->done += (uint64_t)weight->bytes;
    if (status >= 0 && l->options->progress)
        l->options->progress(l->options->context, l->done, l->all);
    return status;
}

/* ---- names and extents ---- */

const char *name_of(char to[CHECKPOINT_NAME], const char *const *parts)
{
    size_t n = 0;

    for (; *parts; parts++)
        for (const char *c = *parts; *c && n + 1 < CHECKPOINT_NAME; c++)
            to[n++] = *c;
    to[n] = 0;
    return to;
}

const char *layer_name(char to[CHECKPOINT_NAME], const char *form, int64_t which)
{
    const char *const place = strstr(form, "%d");
    char front[32], number[24];
    const size_t n = (size_t)(place - form);

    memcpy(front, form, n);
    front[n] = 0;
    snprintf(number, sizeof number, "%lld", (long long)which);
    return NAME_OF(to, front, number, place + 2);
}

static int64_t extent(const struct loading *l, const struct stack *stack, enum extent of)
{
    const struct config *const c = &l->p->config;

    switch (of) {
        case OF_MODEL: return c->model;
        case OF_INNER: return stack->heads * stack->head_dim;
        case OF_HIDDEN: return stack->hidden;
        case OF_VOCAB: return c->vocab;
        case OF_BUCKETS: return c->buckets;
        case OF_HEADS: return stack->heads;
        case OF_NONE:
        case OF_ANY: break;
    }
    return -1;
}

static heed_status shaped(struct loading *l, const struct weight *weight, const char *name,
                          uint32_t ndim, const int64_t *shape)
{
    if (weight->dtype == 0)
        return say(l->report, HEED_E_DTYPE, name, HEED_F32, 0,
                   "%s is neither F32 nor F16 nor BF16", name);
    if (weight->ndim != ndim)
        return say(l->report, HEED_E_SHAPE, name, ndim, weight->ndim, "%s has %u axes, %u wanted",
                   name, weight->ndim, ndim);
    for (uint32_t i = 0; i < ndim; i++)
        if (shape[i] >= 0 ? weight->shape[i] != shape[i] : weight->shape[i] < 1)
            return say(l->report, HEED_E_SHAPE, name, shape[i], weight->shape[i],
                       "axis %u of %s has %lld elements, %lld wanted", i, name,
                       (long long)weight->shape[i], (long long)shape[i]);
    return HEED_OK;
}

heed_status take(struct loading *l, const char *name, uint32_t ndim, const int64_t *shape,
                 bool wanted, struct param *to)
{
    char whole[CHECKPOINT_NAME];
    const struct weight *weight;
    heed_status status;

    weight = checkpoint_find(&l->files, NAME_OF(whole, l->root, name));
    if (!weight && wanted)
        return say(l->report, HEED_E_VALUE, name, 1, 0, "the files have no tensor %s", whole);
    if (!weight)
        return HEED_OK;
    status = shaped(l, weight, name, ndim, shape);
    return status < 0 ? status : bring(l, weight, ndim == 2, to);
}

/* -2: there is no such axis. */
static void shape_of(const struct loading *l, const struct stack *stack, const struct role *role,
                     int64_t shape[2])
{
    shape[0] = extent(l, stack, role->rows);
    shape[1] = role->columns == OF_NONE ? -2 : extent(l, stack, role->columns);
}

heed_status take_pair(struct loading *l, const struct stack *stack, const struct role *role,
                      const char *name, bool wanted, bool biased, struct pair *to)
{
    char part[CHECKPOINT_NAME];
    heed_status status;
    int64_t shape[2];

    shape_of(l, stack, role, shape);
    NAME_OF(part, name, ".weight");
    status = take(l, part, shape[1] == -2 ? 1 : 2, shape, wanted, &to->weight);
    if (status < 0 || to->weight.t.ndim == 0 || !biased)
        return status;
    NAME_OF(part, name, ".bias");
    return take(l, part, 1, shape, true, &to->bias);
}
