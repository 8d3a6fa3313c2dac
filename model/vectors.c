/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vectors of texts: the mean, or the first, of a text's states. Short texts go through the encoder
 * together, as many as make maps of many rows.
 */
#include "file.h"
#include "json.h"
#include "layer.h"
#include "model.h"
#include "say.h"
#include "tokenizer.h"

#include <heed/pool.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_BYTES = 1 << 20, TOGETHER = 2048 };

/* ---- what the folder says ---- */

static bool ends_with(const struct json_text *text, const char *word)
{
    const size_t n = strlen(word);

    return text->bytes >= n && memcmp(text->at + text->bytes - n, word, n) == 0;
}

/* A map behind the mean would make other vectors. */
static void read_module(struct json *j, struct pooling *pooling)
{
    struct json_text key, value;

    if (!json_object(j))
        return;
    while (json_member(j, &key)) {
        if (!json_is(&key, "type")) {
            json_skip(j);
        } else if (json_string(j, &value) && !ends_with(&value, ".Transformer") &&
                   !ends_with(&value, ".Pooling") && !ends_with(&value, ".Normalize")) {
            (void)say(&pooling->none, HEED_E_UNSUPPORTED, "modules.json", 0, 0,
                      "a module %.*s is not known here",
                      (int)(value.bytes < 100 ? value.bytes : 100), value.at);
        }
    }
}

static void read_modules(struct json *j, struct pooling *pooling)
{
    if (json_array(j))
        while (json_element(j))
            read_module(j, pooling);
}

/* Which rows a vector is made of: a word, or a flag for each way. */
static void read_way(struct json *j, struct pooling *pooling)
{
    static const char front[] = "pooling_mode_";
    const size_t n = sizeof front - 1;
    struct json_text key, value;
    bool first = false, mean = false, other = false, on;

    if (!json_object(j))
        return;
    while (json_member(j, &key)) {
        if (json_is(&key, "pooling_mode") && json_peek(j) == JSON_STRING) {
            if (json_string(j, &value)) {
                first = json_is(&value, "cls");
                mean = json_is(&value, "mean");
                other = !first && !mean;
            }
        } else if (key.bytes > n && memcmp(key.at, front, n) == 0 && json_peek(j) == JSON_BOOL) {
            if (json_bool(j, &on) && on) {
                first = first || json_is(&key, "pooling_mode_cls_token");
                mean = mean || json_is(&key, "pooling_mode_mean_tokens");
                other = other || !(json_is(&key, "pooling_mode_cls_token") ||
                                   json_is(&key, "pooling_mode_mean_tokens"));
            }
        } else {
            json_skip(j);
        }
    }
    if (other || (first && mean))
        (void)say(&pooling->none, HEED_E_UNSUPPORTED, "1_Pooling/config.json", 0, 0,
                  "vectors of neither the mean nor the first row alone");
    pooling->first = first;
}

static void read_length(struct json *j, struct pooling *pooling)
{
    struct json_text key;
    int64_t most;

    if (!json_object(j))
        return;
    while (json_member(j, &key)) {
        if (!json_is(&key, "max_seq_length") || json_peek(j) != JSON_NUMBER)
            json_skip(j);
        else if (json_integer(j, &most) && most > 0)
            pooling->most = most;
    }
}

void model_read_pooling(struct heed_model *model, const char *folder)
{
    static const struct {
        const char *name;
        void (*read)(struct json *j, struct pooling *pooling);
    } files[] = { { "modules.json", read_modules }, { "1_Pooling/config.json", read_way },
                  { "sentence_bert_config.json", read_length } };
    struct pooling *const pooling = &model->pooling;

    *pooling = (struct pooling){ .most = INT64_MAX, .none = { .size = sizeof pooling->none } };
    for (size_t i = 0; i < sizeof files / sizeof *files && pooling->none.status >= 0; i++) {
        heed_report why = { .size = sizeof why };
        struct json j;
        size_t bytes;
        char *text;

        if (file_load(folder, files[i].name, CONFIG_BYTES, &text, &bytes, &why) < 0) {
            if (why.status != HEED_E_NOT_FOUND)
                pooling->none = why;
            continue;
        }
        json_begin(&j, text, bytes);
        files[i].read(&j, pooling);
        if (pooling->none.status >= 0 && !json_end(&j))
            (void)say(&pooling->none, HEED_E_VALUE, files[i].name, 0, json_line(&j),
                      "line %lld: %s", (long long)json_line(&j),
                      j.error ? j.error : "text behind the end");
        free(text);
    }
}

/* ---- texts that go together ---- */

struct group {
    const heed_model *model;
    heed_queue *queue;
    int32_t *ids, *begins, *lengths, *ranges;
    int64_t n, room, n_ids, room_ids;
    heed_report *report;
};

static bool group_texts(struct group *g)
{
    const int64_t room = g->room ? 2 * g->room : 64;
    int32_t **const all[] = { &g->begins, &g->lengths, &g->ranges };

    for (int i = 0; i < 3; i++) {
        int32_t *const grown = realloc(*all[i], (size_t)room * (i < 2 ? 1 : 2) * sizeof **all);

        if (!grown)
            return false;
        *all[i] = grown;
    }
    g->room = room;
    return true;
}

static bool group_ids(struct group *g, int64_t more)
{
    const int64_t room = g->n_ids + more + 2 * (int64_t)TOGETHER;
    int32_t *grown;

    if (g->n_ids + more <= g->room_ids)
        return true;
    grown = realloc(g->ids, (size_t)room * sizeof *grown);
    if (!grown)
        return false;
    g->ids = grown;
    g->room_ids = room;
    return true;
}

/* The ids of one more text, cut to what the model takes: the last one stays. */
static heed_status group_add(struct group *g, const char *text, uint64_t bytes)
{
    const heed_model *const m = g->model;
    int64_t most = m->attention.repeated ? TOKENS_MOST
                                         : weights_positions(&m->p, &m->p.encoder);
    size_t n_got = 0;
    int32_t *got = NULL;
    int64_t n;
    heed_status status = tokenizer_encode(m->tokenizer, text ? text : "", bytes, true, &got, &n_got,
                                          g->report);

    if (status < 0)
        return status;
    most = m->pooling.most < most ? m->pooling.most : most;
    n = (int64_t)n_got < most ? (int64_t)n_got : most;
    if (n > INT32_MAX - g->n_ids) {
        free(got);
        return say(g->report, HEED_E_OVERFLOW, "texts", INT32_MAX, g->n_ids + n,
                   "%lld tokens at a time", (long long)(g->n_ids + n));
    }
    if (n < (int64_t)n_got)
        got[n - 1] = got[n_got - 1];
    if (!group_ids(g, n) || (g->n == g->room && !group_texts(g))) {
        free(got);
        return say_no_memory(g->report, (g->n_ids + n) * (int64_t)sizeof *got);
    }
    if (n > 0)
        memcpy(g->ids + g->n_ids, got, (size_t)n * sizeof *got);
    free(got);
    g->begins[g->n] = (int32_t)g->n_ids;
    g->lengths[g->n] = (int32_t)n;
    g->ranges[2 * g->n] = (int32_t)g->n_ids;
    g->ranges[2 * g->n + 1] = (int32_t)(g->n_ids + (m->pooling.first && n > 0 ? 1 : n));
    g->n++;
    g->n_ids += n;
    return n > 0 ? encoder_check(&m->p, &m->attention, g->ids + g->n_ids - n, n, g->report)
                 : HEED_OK;
}

/* Means of the ranges of rows, to the host. */
static heed_status pool(const struct group *g, heed_buf states, float *vectors)
{
    heed_device *const device = g->model->p.device;
    const int64_t d = g->model->p.config.model;
    const uint64_t bytes = (uint64_t)g->n * 2 * sizeof *g->ranges;
    const heed_pool_desc desc = {
        .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE, .kind = HEED_POOL_MEAN,
        .x = heed_array4(HEED_F32, NULL, 1, 1, g->n_ids, d).t,
        .y = heed_array4(HEED_F32, NULL, 1, 1, g->n, d).t,
        .ranges = heed_array_dense(HEED_I32, NULL, 3, (const int64_t[]){ 1, g->n, 2 }).t,
    };
    heed_pool_args args = { .size = sizeof args, .x = states };
    heed_plan *plan = NULL;
    heed_status status;

    args.x.offset += 4 * (uint64_t)(encoder_shown(&g->model->attention) * d);
    status = heed_buf_create(device, bytes, &args.ranges, g->report);
    if (status >= 0)
        status = heed_buf_create(device, 4 * (uint64_t)(g->n * d), &args.y, g->report);
    if (status >= 0)
        status = heed_buf_write(g->queue, args.ranges, g->ranges, bytes, g->report);
    if (status >= 0)
        status = heed_pool_plan(device, &desc, &plan, g->report);
    if (status >= 0)
        status = heed_pool_run(plan, g->queue, &args, NULL, g->report);
    if (status >= 0)
        status = heed_buf_read(g->queue, vectors, args.y, 4 * (uint64_t)(g->n * d), g->report);
    heed_plan_drop(plan);
    heed_buf_destroy(device, args.ranges);
    heed_buf_destroy(device, args.y);
    return status;
}

/* In order and in binary64, so that every machine has the same bits. */
static void scale_to_unit(float *x, int64_t n)
{
    double square = 0;

    for (int64_t i = 0; i < n; i++)
        square += (double)x[i] * (double)x[i];
    for (int64_t i = 0; i < n && square > 0; i++)
        x[i] = (float)((double)x[i] / sqrt(square));
}

static heed_status group_run(struct group *g, float *vectors)
{
    const heed_model *const m = g->model;
    const int64_t d = m->p.config.model;
    const struct texts texts = { g->n, g->begins, g->lengths };
    const uint64_t rows = (uint64_t)(encoder_shown(&m->attention) + g->n_ids);
    heed_buf states = { .handle = NULL };
    heed_status status;

    if (g->n_ids == 0) {
        memset(vectors, 0, (size_t)(g->n * d) * sizeof *vectors);
        g->n = 0;
        return HEED_OK;
    }
    status = heed_buf_create(m->p.device, 4 * rows * (uint64_t)d, &states, g->report);
    if (status < 0)
        return status;
    status = encoder_run(&m->p, g->queue, &m->attention, NULL, g->n > 1 ? &texts : NULL, g->ids,
                         g->n_ids, states, g->report);
    if (status >= 0)
        status = pool(g, states, vectors);
    heed_buf_destroy(m->p.device, states);
    for (int64_t i = 0; i < g->n && status >= 0; i++)
        scale_to_unit(vectors + i * d, d);
    g->n = g->n_ids = 0;
    return status;
}

heed_status heed_model_vectors(const heed_model *model, heed_queue *queue,
                               const char *const *texts, const uint64_t *bytes, int64_t n,
                               float *vectors, heed_report *report)
{
    const heed_report *none = NULL;
    struct group g = { .model = model, .queue = queue, .report = report };
    heed_status status = HEED_OK;
    int64_t done = 0;

    if (!model || !queue || (n > 0 && (!texts || !bytes || !vectors)))
        return say(report, HEED_E_NULL,
                   !model ? "model" : !queue ? "queue" : !texts ? "texts" : !bytes ? "bytes"
                                                                               : "vectors",
                   0, 0, "a required pointer is NULL");
    if (heed_queue_device(queue) != model->p.device)
        return say(report, HEED_E_MISMATCH, "queue", 0, 0, "a queue of another device");
    if (n < 0)
        return say(report, HEED_E_VALUE, "n", 0, n, "a negative number of texts");
    if (!model->tokenizer)
        none = &model->no_tokenizer;
    else if (model->pooling.none.status < 0)
        none = &model->pooling.none;
    if (none)
        return say(report, none->status, none->field, none->wanted, none->got, "%s",
                   none->message);
    for (int64_t i = 0; i < n && status >= 0; i++)
        if (!texts[i] && bytes[i])
            status = say(report, HEED_E_NULL, "texts", 0, i, "text %lld is NULL", (long long)i);
    for (int64_t i = 0; i < n && status >= 0; i++) {
        status = group_add(&g, texts[i], bytes[i]);
        if (status >= 0 &&
            (i + 1 == n || g.n_ids >= TOGETHER || !encoder_joins(&model->attention))) {
            status = group_run(&g, vectors + done * model->p.config.model);
            done = i + 1;
        }
    }
    free(g.ids);
    free(g.begins);
    free(g.lengths);
    free(g.ranges);
    return status < 0 ? status : say_done(report);
}
