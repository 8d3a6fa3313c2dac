/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an encoder of texts makes of sentences (Reimers and Gurevych 2019), beside their words. All
 * sentences of a document have much in common there, which says nothing of one among them: the mean
 * is taken away (Mu and Viswanath 2018, section 2.2).
 */
#include "progress.h"
#include "summarize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef SUMMARIZE_MODEL

#include <heed/model.h>

enum { TOGETHER = 64 };                    /* sentences at a time */
/* Of the square of a vector, what words have. */
static const double words_share = 0.5;

struct embedding {
    heed_runtime *runtime;
    heed_queue *queue;
    heed_model *model;
    int64_t channels, padded;
    float *mean;                           /* of the document's sentences, [channels] */
    heed_report why;
};

static bool failed(const struct embedding *e, struct failure *why)
{
    const heed_report *const r = &e->why;

    why->usage = r->status != HEED_E_NOMEM && r->status != HEED_E_DEVICE_NOMEM;
    snprintf(why->text, sizeof(why->text), "%s%s%s", r->field, *r->field ? ": " : "", r->message);
    return false;
}

static bool no_memory(struct failure *why)
{
    snprintf(why->text, sizeof(why->text), "not enough memory for the model's vectors");
    return false;
}

struct embedding *embedding_open(const char *folder, const char *device, struct failure *why)
{
    const heed_runtime_desc desc = { .size = sizeof(desc), .logger = progress_logger() };
    struct embedding *const e = calloc(1, sizeof(*e));
    heed_model_props props = { .size = sizeof(props) };
    heed_device *found;
    heed_status status;

    if (!e) {
        no_memory(why);
        return NULL;
    }
    e->why.size = sizeof(e->why);
    status = heed_runtime_create(&desc, &e->runtime, &e->why);
    if (status >= 0)
        status = heed_device_find(e->runtime, device, &found, &e->why);
    if (status >= 0)
        status = heed_queue_create(found, 0, &e->queue, &e->why);
    if (status >= 0)
        status = heed_model_open(e->queue, folder, NULL, &e->model, &e->why);
    if (status >= 0)
        status = heed_model_info(e->model, &props);
    e->channels = props.channels;
    e->padded = (props.channels + VECTOR_STEP - 1) / VECTOR_STEP * VECTOR_STEP;
    if (status < 0) {
        failed(e, why);
    } else if (e->padded > VECTOR_MOST - VECTOR_WIDTH) {
        why->usage = true;
        snprintf(why->text, sizeof(why->text), "the model has %lld channels, at most %d wanted",
                 (long long)e->channels, VECTOR_MOST - VECTOR_WIDTH);
    } else {
        return e;
    }
    embedding_close(e);
    return NULL;
}

void embedding_close(struct embedding *e)
{
    if (!e)
        return;
    heed_model_close(e->model);
    heed_queue_destroy(e->queue);
    heed_runtime_destroy(e->runtime);
    free(e->mean);
    free(e);
}

/* ---- rows of sentences ------------------------------------------------------- */

struct batch {
    const char *texts[TOGETHER];
    uint64_t bytes[TOGETHER];
    int64_t at[TOGETHER];                  /* the sentence of each */
    int64_t n;
};

/* Their rows to where they stand in the document. */
static bool embed(struct embedding *e, const struct batch *b, float *some, float *dense,
                  struct failure *why)
{
    if (heed_model_vectors(e->model, e->queue, b->texts, b->bytes, b->n, some, &e->why) < 0)
        return failed(e, why);
    for (int64_t i = 0; i < b->n; i++)
        memcpy(dense + b->at[i] * e->padded, some + i * e->channels,
               (size_t)e->channels * sizeof(*some));
    return true;
}

static bool embed_all(struct embedding *e, const struct vectors *v, const struct document *doc,
                      float *dense, struct failure *why)
{
    float *const some = malloc((size_t)(TOGETHER * e->channels) * sizeof(*some));
    struct batch b = { .n = 0 };
    bool good = some || no_memory(why);

    for (int64_t i = 0; i < doc->n && good; i++) {
        const struct sentence *const s = &doc->sentences[i];

        if (vectors_has(v, i)) {
            b.texts[b.n] = doc->text + s->begin;
            b.bytes[b.n] = s->end - s->begin;
            b.at[b.n++] = i;
        }
        if (b.n == TOGETHER || (i + 1 == doc->n && b.n > 0)) {
            good = embed(e, &b, some, dense, why);
            b.n = 0;
            progress_show(NULL, i + 1, doc->n);
        }
    }
    free(some);
    return good;
}

/* ---- what is left of them -------------------------------------------------------- */

/* A row less the mean, with its share of a vector of unit length. */
static void place(const struct embedding *e, float *row)
{
    double square = 0, scale;

    for (int64_t k = 0; k < e->channels; k++) {
        row[k] -= e->mean[k];
        square += (double)row[k] * (double)row[k];
    }
    scale = square > 0 ? sqrt((1 - words_share) / square) : 0;
    for (int64_t k = 0; k < e->channels; k++)
        row[k] = (float)((double)row[k] * scale);
}

static bool find_mean(struct embedding *e, const struct vectors *v, const float *dense)
{
    double *const sum = calloc((size_t)e->channels, sizeof(*sum));
    int64_t n = 0;

    e->mean = calloc((size_t)e->channels, sizeof(*e->mean));
    if (!sum || !e->mean) {
        free(sum);
        return false;
    }
    for (int64_t i = 0; i < v->n; i++) {
        for (int64_t k = 0; k < e->channels && vectors_has(v, i); k++)
            sum[k] += (double)dense[i * e->padded + k];
        n += vectors_has(v, i);
    }
    for (int64_t k = 0; k < e->channels && n > 1; k++)
        e->mean[k] = (float)(sum[k] / (double)n);
    free(sum);
    return true;
}

bool embedding_add(struct embedding *e, struct vectors *v, const struct document *doc,
                   struct failure *why)
{
    float *const dense = calloc((size_t)(doc->n * e->padded) + 1, sizeof(*dense));

    if (!dense || !embed_all(e, v, doc, dense, why) || !find_mean(e, v, dense)) {
        free(dense);
        return dense ? false : no_memory(why);
    }
    for (int64_t i = 0; i < v->n; i++)
        if (vectors_has(v, i))
            place(e, dense + i * e->padded);
    for (int64_t k = 0; k < v->row[v->n]; k++)
        v->value[k] = (float)((double)v->value[k] * sqrt(words_share));
    v->dense = dense;
    v->width = VECTOR_WIDTH + e->padded;
    return true;
}

bool embedding_ask(struct embedding *e, struct asked *asked, const char *text, size_t size,
                   struct failure *why)
{
    float *const row = asked->vector + VECTOR_WIDTH;

    if (heed_model_vectors(e->model, e->queue, &text, &(uint64_t){ size }, 1, row, &e->why) < 0)
        return failed(e, why);
    place(e, row);
    for (int k = 0; k < VECTOR_WIDTH; k++)
        asked->vector[k] = (float)((double)asked->vector[k] * sqrt(words_share));
    return true;
}

#else

struct embedding *embedding_open(const char *folder, const char *device, struct failure *why)
{
    (void)device;
    why->usage = true;
    snprintf(why->text, sizeof(why->text),
             "--embedder %.200s: heed-summarize was built without libheed-model", folder);
    return NULL;
}

void embedding_close(struct embedding *e)
{
    (void)e;
}

bool embedding_add(struct embedding *e, struct vectors *v, const struct document *doc,
                   struct failure *why)
{
    (void)e;
    (void)v;
    (void)doc;
    (void)why;
    return false;
}

bool embedding_ask(struct embedding *e, struct asked *asked, const char *text, size_t size,
                   struct failure *why)
{
    (void)e;
    (void)asked;
    (void)text;
    (void)size;
    (void)why;
    return false;
}

#endif
