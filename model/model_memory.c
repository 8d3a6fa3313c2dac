/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model.h"

#include "past.h"
#include "say.h"

#include <stdlib.h>

_Static_assert(PAST_COMPRESSIVE == (int)HEED_MODEL_COMPRESSIVE &&
               PAST_ATTENTIVE == (int)HEED_MODEL_ATTENTIVE &&
               PAST_SALIENT == (int)HEED_MODEL_SALIENT, "kinds are those of heed/model.h");

static heed_status bad(heed_report *report, const char *field, int64_t low, int64_t high,
                       int64_t got)
{
    return say(report, HEED_E_VALUE, field, got < low ? low : high, got,
               "%lld is not in %lld .. %lld", (long long)got, (long long)low, (long long)high);
}

/* The options with their defaults as a memory that has no rows yet. */
static heed_status past_of(const struct parameters *p, const heed_model_memory_options *o,
                           struct past *past, heed_report *report)
{
    const bool ring = o->kind == HEED_MODEL_COMPRESSIVE;
    const int64_t rows = o->rows ? o->rows : PAST_ROWS, all = p->encoder.n_layers;
    const int64_t few = all < PAST_LAYERS ? all : PAST_LAYERS, layers = o->layers ? o->layers : few;
    const int64_t ratio = o->ratio ? o->ratio : PAST_RATIO;

    if (o->flags || o->reserved)
        return say(report, o->flags ? HEED_E_FLAG : HEED_E_VALUE,
                   o->flags ? "options.flags" : "options.reserved", 0,
                   o->flags ? o->flags : o->reserved, "must be 0");
    if (o->kind > HEED_MODEL_SALIENT)
        return bad(report, "options.kind", 0, HEED_MODEL_SALIENT, o->kind);
    if (rows < 2 || rows > PAST_ROWS_MOST)
        return bad(report, "options.rows", 2, PAST_ROWS_MOST, rows);
    if (!ring && o->ratio)
        return bad(report, "options.ratio", 0, 0, o->ratio);
    if (ratio < 1 || ratio > PAST_ROWS_MOST)
        return bad(report, "options.ratio", 1, PAST_ROWS_MOST, ratio);
    if (layers < 1 || layers > all)
        return bad(report, "options.layers", 1, all, layers);
    *past = (struct past){ .kind = (enum past_kind)o->kind,
                           .rows = ring ? rows - rows / 2 : rows, .old = ring ? rows / 2 : 0,
                           .ratio = ratio, .layers = layers };
    return HEED_OK;
}

static heed_status same_device(const heed_model *model, heed_queue *queue, heed_report *report)
{
    return heed_queue_device(queue) == model->p.device
         ? HEED_OK : say(report, HEED_E_MISMATCH, "queue", 0, 0, "a queue of another device");
}

heed_status heed_model_memory_create(const heed_model *model, heed_queue *queue,
                                     const heed_model_memory_options *given,
                                     heed_model_memory **out, heed_report *report)
{
    heed_model_memory_options options;
    heed_model_memory *memory;
    struct past past;
    heed_status status;

    if (!model || !queue || !out)
        return say(report, HEED_E_NULL, !model ? "model" : !queue ? "queue" : "out", 0, 0,
                   "a required pointer is NULL");
    status = same_device(model, queue, report);
    if (status >= 0)
        status = model_sized(given, sizeof options, &options, report);
    if (status >= 0)
        status = past_of(&model->p, &options, &past, report);
    if (status >= 0)
        status = past_check(&model->p, &model->attention, report);
    if (status < 0)
        return status;
    memory = malloc(sizeof *memory);
    if (!memory)
        return say_no_memory(report, (int64_t)sizeof *memory);
    *memory = (heed_model_memory){ model, past };
    status = past_open(&model->p, queue, &memory->past, report);
    if (status < 0) {
        free(memory);
        return status;
    }
    *out = memory;
    return say_done(report);
}

void heed_model_memory_destroy(heed_model_memory *memory)
{
    if (memory)
        past_close(&memory->past);
    free(memory);
}

heed_status heed_model_memory_reset(heed_model_memory *memory, heed_queue *queue,
                                    heed_report *report)
{
    heed_status status;

    if (!memory || !queue)
        return say(report, HEED_E_NULL, !memory ? "memory" : "queue", 0, 0,
                   "a required pointer is NULL");
    status = same_device(memory->model, queue, report);
    return status < 0 ? status : past_clear(&memory->past, queue, report);
}

heed_status heed_model_memory_set(heed_model_memory *memory, heed_queue *queue,
                                  const float *states, int64_t n, heed_report *report)
{
    heed_status status;

    if (!memory || !queue || !states)
        return say(report, HEED_E_NULL, !memory ? "memory" : !queue ? "queue" : "states", 0, 0,
                   "a required pointer is NULL");
    status = same_device(memory->model, queue, report);
    if (status < 0)
        return status;
    if (memory->past.kind != PAST_SALIENT)
        return say(report, HEED_E_UNSUPPORTED, "memory", HEED_MODEL_SALIENT, memory->past.kind,
                   "a memory that only segments change");
    if (n < 0 || n > memory->past.rows)
        return bad(report, "n", 0, memory->past.rows, n);
    return past_set(&memory->past, queue, states, n, report);
}
