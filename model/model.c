/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model.h"

#include "generate.h"
#include "say.h"
#include "tokenizer.h"
#include "watch.h"

#include <stdlib.h>
#include <string.h>

heed_status model_sized(const void *from, size_t most, void *to, heed_report *report)
{
    uint32_t size;

    memset(to, 0, most);
    if (!from)
        return HEED_OK;
    memcpy(&size, from, sizeof size);
    if (size < most)
        return say(report, HEED_E_SIZE, "options.size", (int64_t)most, size,
                   "options of %u bytes", size);
    for (size_t i = most; i < size; i++)
        if (((const unsigned char *)from)[i])
            return say(report, HEED_E_NEWER, "options.size", (int64_t)most, size,
                       "options that this library does not know");
    memcpy(to, from, most);
    return HEED_OK;
}

/* ---- life ---- */

heed_status heed_model_open(heed_queue *queue, const char *folder,
                            const heed_model_options *given, heed_model **out,
                            heed_report *report)
{
    heed_model_options options;
    struct weights_options weights;
    heed_status status;
    heed_model *model;

    if (!queue || !folder || !out)
        return say(report, HEED_E_NULL, !queue ? "queue" : !folder ? "folder" : "out", 0, 0,
                   "a required pointer is NULL");
    status = model_sized(given, sizeof options, &options, report);
    if (status < 0)
        return status;
    if (options.flags || options.reserved)
        return say(report, options.flags ? HEED_E_FLAG : HEED_E_VALUE, "options", 0,
                   options.flags ? options.flags : options.reserved, "must be 0");
    if (options.weights && !weights_may_be(options.weights))
        return say(report, HEED_E_VALUE, "options.weights", HEED_F32, options.weights,
                   "no type that weights can have");
    model = calloc(1, sizeof *model);
    if (!model)
        return say_no_memory(report, (int64_t)sizeof *model);
    weights = (struct weights_options){ options.weights, options.progress, options.context };
    status = weights_load(queue, folder, &weights, &model->p, report);
    if (status >= 0)
        model_read_tokenizer(model, folder);
    if (status >= 0)
        model_read_pooling(model, folder);
    if (status >= 0 && options.attention)
        status = attention_parse(&model->p, model->tokenizer, options.attention,
                                 &model->attention, report);
    else if (status >= 0)
        status = attention_own(&model->p, &model->attention, report);
    if (status < 0) {
        heed_model_close(model);
        return status;
    }
    *out = model;
    return say_done(report);
}

void heed_model_close(heed_model *model)
{
    if (model && model->p.family)
        weights_free(&model->p);
    if (model)
        tokenizer_destroy(model->tokenizer);
    free(model);
}

heed_status heed_model_info(const heed_model *model, heed_model_props *props)
{
    const struct parameters *const p = model ? &model->p : NULL;
    heed_model_props full = { .size = sizeof full };

    if (!model || !props)
        return HEED_E_NULL;
    if (props->size < sizeof full)
        return HEED_E_SIZE;
    full.size = props->size;
    full.decodes = p->decoder.names != NULL;
    full.layers = p->encoder.n_layers;
    full.decoder_layers = p->decoder.n_layers;
    full.channels = p->config.model;
    full.vocabulary = p->config.vocab;
    full.positions = model->attention.repeated ? TOKENS_MOST : weights_positions(p, &p->encoder);
    full.decoder_positions = full.decodes ? weights_positions(p, &p->decoder) : 0;
    full.bytes = p->bytes;
    full.pad = (int32_t)p->config.pad;
    full.bos = (int32_t)p->config.bos;
    full.eos = (int32_t)p->config.eos;
    full.start = (int32_t)p->config.start;
    strncpy(full.family, p->family->name, sizeof full.family - 1);
    memcpy(props, &full, sizeof full);
    return HEED_OK;
}

/* ---- texts ---- */

static heed_status ready(const heed_model *model, heed_queue *queue, const void *ids,
                         const void *out, bool decodes, heed_report *report)
{
    if (!model || !queue || !ids || !out)
        return say(report, HEED_E_NULL, !model ? "model" : !queue ? "queue" : !ids ? "ids" : "out",
                   0, 0, "a required pointer is NULL");
    if (heed_queue_device(queue) != model->p.device)
        return say(report, HEED_E_MISMATCH, "queue", 0, 0, "a queue of another device");
    if (decodes && !model->p.decoder.names)
        return say(report, HEED_E_UNSUPPORTED, "model", 0, 0, "a %s has no decoder",
                   model->p.family->name);
    return HEED_OK;
}

/* The states of a text on the device, behind those of the encoder's own rows. */
static heed_status encoded(const heed_model *model, heed_queue *queue, heed_model_memory *memory,
                           const int32_t *ids, int64_t n, heed_buf *states, heed_report *report)
{
    const uint64_t row = 4 * (uint64_t)model->p.config.model;
    const int64_t shown = encoder_shown(&model->attention);
    heed_status status;

    if (memory && memory->model != model)
        return say(report, HEED_E_MISMATCH, "memory", 0, 0, "a memory of another model");
    if (n < 1 || (uint64_t)n > INT64_MAX / row)
        return say(report, HEED_E_VALUE, "n", 1, n, "a text of %lld tokens", (long long)n);
    status = encoder_check(&model->p, &model->attention, ids, n, report);
    if (status < 0)
        return status;
    status = heed_buf_create(model->p.device, (uint64_t)(shown + n) * row, states, report);
    if (status < 0)
        return status;
    status = encoder_run(&model->p, queue, &model->attention, memory ? &memory->past : NULL, NULL,
                         ids, n, *states, report);
    if (status < 0)
        heed_buf_destroy(model->p.device, *states);
    return status;
}

heed_status heed_model_encode_with(const heed_model *model, heed_queue *queue,
                                   heed_model_memory *memory, const int32_t *ids, int64_t n,
                                   float *states, heed_report *report)
{
    heed_status status = ready(model, queue, ids, states, false, report);
    heed_buf rows, text;

    if (status >= 0)
        status = encoded(model, queue, memory, ids, n, &rows, report);
    if (status < 0)
        return status;
    text = rows;
    text.offset += 4 * (uint64_t)(encoder_shown(&model->attention) * model->p.config.model);
    status = heed_buf_read(queue, states, text, 4 * (uint64_t)(n * model->p.config.model), report);
    heed_buf_destroy(model->p.device, rows);
    return status;
}

heed_status heed_model_encode(const heed_model *model, heed_queue *queue, const int32_t *ids,
                              int64_t n, float *states, heed_report *report)
{
    return heed_model_encode_with(model, queue, NULL, ids, n, states, report);
}

heed_status heed_model_logits(const heed_model *model, heed_queue *queue, const int32_t *ids,
                              int64_t n, const int32_t *next, int64_t m, float *logits,
                              heed_report *report)
{
    heed_status status = ready(model, queue, ids, logits, true, report);
    struct decoder decoder;
    heed_buf rows;

    if (status < 0)
        return status;
    if (!next)
        return say(report, HEED_E_NULL, "next", 0, 0, "a required pointer is NULL");
    status = decoder_check(&model->p, next, m, report);
    if (status >= 0)
        status = encoded(model, queue, NULL, ids, n, &rows, report);
    if (status < 0)
        return status;
    status = decoder_open(&decoder, &model->p, queue, rows, encoder_shown(&model->attention) + n,
                          1, m, m, NULL, report);
    if (status >= 0)
        status = decoder_step(&decoder, next, 0, logits, report);
    decoder_close(&decoder);
    heed_buf_destroy(model->p.device, rows);
    return status;
}

/* ---- generate ---- */

static bool tell(void *context, int64_t done, int64_t most)
{
    const heed_generate_options *const options = context;

    return options->progress(options->context, done, most) != 0;
}

/* How long a sequence becomes of which neither the caller nor the files say anything. */
static int64_t usual_length(const struct parameters *p)
{
    const int64_t room = weights_positions(p, &p->decoder);

    return room < 142 ? room : 142;
}

static struct search search_of(const struct parameters *p, const heed_generate_options *o,
                               int64_t room)
{
    const struct config *const c = &p->config;
    const int64_t own = c->max_new > 0 ? c->max_new + 1 : c->max_length;
    struct search s = {
        .beams = o->beams ? o->beams : c->beams, .early_stopping = c->early_stopping,
        .min_length = o->min_length || (o->flags & HEED_GENERATE_MIN_GIVEN) ? o->min_length
                                                                            : c->min_length,
        .max_length = o->max_length ? o->max_length : own > 0 ? own : usual_length(p),
        .no_repeat = o->no_repeat || (o->flags & HEED_GENERATE_NO_REPEAT_GIVEN) ? o->no_repeat
                                                                                : c->no_repeat,
        .length_penalty = o->length_penalty != 0 || (o->flags & HEED_GENERATE_PENALTY_GIVEN)
                        ? o->length_penalty : c->length_penalty,
        .start = c->start, .eos = c->eos, .forced_bos = c->forced_bos,
        .forced_eos = c->forced_eos,
    };

    if (o->stopping)
        s.early_stopping = o->stopping - HEED_STOP_ESTIMATE;
    if (s.max_length > room)
        s.max_length = room;
    return s;
}

heed_status heed_model_generate_with(const heed_model *model, heed_queue *queue,
                                     heed_model_memory *memory, const int32_t *ids, int64_t n,
                                     const heed_generate_options *given, int32_t *out,
                                     int64_t room, int64_t *n_out, heed_report *report)
{
    heed_status status = ready(model, queue, ids, out, true, report);
    heed_generate_options options;
    struct search search;
    int32_t *best = NULL;
    int64_t n_best = 0;
    heed_buf rows;

    if (status < 0)
        return status;
    if (!n_out)
        return say(report, HEED_E_NULL, "n_out", 0, 0, "a required pointer is NULL");
    status = model_sized(given, sizeof options, &options, report);
    if (status < 0)
        return status;
    if (options.flags & ~7u)
        return say(report, HEED_E_FLAG, "options.flags", 7, options.flags, "an unknown flag");
    if (options.weights && !options.groups)
        return say(report, HEED_E_NULL, "options.groups", 0, 0, "a required pointer is NULL");
    if (options.stopping > HEED_STOP_NEVER)
        return say(report, HEED_E_VALUE, "options.stopping", HEED_STOP_NEVER, options.stopping,
                   "no HEED_STOP_*");
    search = search_of(&model->p, &options, room);
    if (options.progress) {
        search.progress = tell;
        search.context = &options;
    }
    status = generate_check(&model->p, &search, report);
    if (status >= 0 && options.weights)
        status = watch_check(options.groups, n, options.n_groups, report);
    if (status >= 0)
        status = encoded(model, queue, memory, ids, n, &rows, report);
    if (status < 0)
        return status;
    status = generate(&model->p, queue, rows, encoder_shown(&model->attention) + n, &search, &best,
                      &n_best, report);
    if (status >= 0 && options.weights)
        status = watch(&model->p, queue, rows, encoder_shown(&model->attention), n, options.groups,
                       options.n_groups, best, n_best, options.weights, report);
    heed_buf_destroy(model->p.device, rows);
    if (status < 0) {
        free(best);
        return status;
    }
    memcpy(out, best, (size_t)n_best * sizeof *out);
    *n_out = n_best;
    free(best);
    return say_done(report);
}

heed_status heed_model_generate(const heed_model *model, heed_queue *queue, const int32_t *ids,
                                int64_t n, const heed_generate_options *options, int32_t *out,
                                int64_t room, int64_t *n_out, heed_report *report)
{
    return heed_model_generate_with(model, queue, NULL, ids, n, options, out, room, n_out, report);
}
