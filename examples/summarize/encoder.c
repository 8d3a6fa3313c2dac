/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How sentences look around: mechanisms of heed/mechanisms.h by name, for documents as well as for
 * blocks of long ones. Another mechanism is another row of `encoders`.
 */
#include "attend.h"

#include <heed/mechanisms.h>

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 24, SENTENCES = 16, FACTOR = 4 };   /* a side; a block; a stride */

/* Rows that look and are looked at, what they say, and what they take in. */
struct shapes {
    heed_tensor x, v, o;
};

struct encoder {
    const char *name, *what;
    int64_t reach;                 /* sentences to each side that are not of the block */
    heed_status (*build)(const struct shapes *s, heed_mechanism *m, heed_report *report);
};

static heed_status window(const struct shapes *s, heed_mechanism *m, heed_report *report)
{
    const heed_longformer_desc desc = {
        .size = sizeof(desc), .q = s->x, .o = s->o, .text = { .k = s->x, .v = s->v },
        .window = WINDOW
    };

    return heed_longformer(&desc, m, report);
}

/* The first sentence of a text often says what it is about. */
static heed_status longformer(const struct shapes *s, heed_mechanism *m, heed_report *report)
{
    const heed_longformer_desc desc = {
        .size = sizeof(desc), .q = s->x, .o = s->o, .text = { .k = s->x, .v = s->v },
        .window = WINDOW, .n_globals = 1
    };

    return heed_longformer(&desc, m, report);
}

static heed_status bigbird(const struct shapes *s, heed_mechanism *m, heed_report *report)
{
    const heed_bigbird_desc desc = {
        .size = sizeof(desc), .q = s->x, .o = s->o, .text = { .k = s->x, .v = s->v },
        .block = SENTENCES
    };

    return heed_bigbird(&desc, m, report);
}

static heed_status lsg(const struct shapes *s, heed_mechanism *m, heed_report *report)
{
    const heed_lsg_desc desc = {
        .size = sizeof(desc), .q = s->x, .o = s->o, .text = { .k = s->x, .v = s->v },
        .sparsity = HEED_LSG_STRIDE, .block = SENTENCES, .factor = FACTOR
    };

    return heed_lsg(&desc, m, report);
}

static heed_status pegasus_x(const struct shapes *s, heed_mechanism *m, heed_report *report)
{
    const heed_pegasus_x_desc desc = {
        .size = sizeof(desc), .q = s->x, .o = s->o, .text = { .k = s->x, .v = s->v },
        .block = 2 * SENTENCES
    };

    return heed_pegasus_x(&desc, m, report);
}

static heed_status full(const struct shapes *s, heed_mechanism *m, heed_report *report)
{
    const heed_global_rows_desc desc = {
        .size = sizeof(desc), .q = s->x, .o = s->o, .text = { .k = s->x, .v = s->v }
    };

    return heed_global_rows(&desc, m, report);
}

static const struct encoder encoders[] = {
    { "window", "24 sentences to each side", WINDOW, window },
    { "longformer", "the same, and the first sentence", WINDOW, longformer },
    { "bigbird", "three blocks of 16, the first and the last one", 2 * SENTENCES, bigbird },
    { "lsg", "three blocks of 16, every fourth sentence further on", (2 + FACTOR) * SENTENCES,
      lsg },
    { "pegasus-x", "a block of 32", 0, pegasus_x },
    { "full", "every sentence", 0, full },
};
enum { N_ENCODERS = sizeof(encoders) / sizeof(*encoders) };

const char *encoder_name(size_t index, const char **what)
{
    if (index >= N_ENCODERS)
        return NULL;
    *what = encoders[index].what;
    return encoders[index].name;
}

bool attend_look_by(struct attend *a, const char *name, struct failure *why)
{
    for (size_t i = 0; i < N_ENCODERS; i++) {
        if (strcmp(encoders[i].name, name) == 0) {
            a->encoder = &encoders[i];
            return true;
        }
    }
    why->usage = true;
    snprintf(why->text, sizeof(why->text),
             "--attention: wanted one that --help lists, got \"%.40s\"", name);
    return false;
}

static const struct encoder *encoder_of(const struct attend *a)
{
    return a->encoder ? a->encoder : &encoders[0];
}

int64_t encoder_reach(const struct attend *a)
{
    return encoder_of(a)->reach;
}

/* The mechanism over n sentences, which say `width` numbers each. */
static heed_status make(struct attend *a, int64_t n, int64_t width, heed_mechanism *m)
{
    const heed_tensor v = heed_array4(HEED_F32, NULL, 1, 1, n, width).t;
    const struct shapes shapes = {
        .x = heed_array4(HEED_F32, NULL, 1, 1, n, a->width).t, .v = v, .o = v
    };
    heed_status status;

    *m = (heed_mechanism){ .size = sizeof(*m) };
    status = encoder_of(a)->build(&shapes, m, &a->report);
    m->desc.flags |= HEED_ATTN_SCALE_GIVEN | HEED_PLAN_OWN_WORKSPACE;
    m->desc.scale = SHARPNESS;
    return status;
}

bool encoder_run(struct attend *a, const struct matrix *x, const struct matrix *v,
                 const struct matrix *y, const struct matrix *lse, struct failure *why)
{
    const heed_kv_bufs text = { x->buf, v->buf };
    const heed_buf slots[HEED_MECHANISM_SLOTS] = { { .handle = NULL } };
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
    heed_attn_args args = {
        .size = sizeof(args), .q = x->buf, .o = y->buf, .kv = kv, .kv_size = sizeof(*kv),
        .slots = slots
    };
    heed_mechanism m;
    heed_plan *plan = NULL;
    heed_status status = make(a, x->rows, v->width, &m);

    if (lse) {
        args.lse = lse->buf;
        m.desc.lse = heed_array_dense(HEED_F32, NULL, 3, (const int64_t[]){ 1, 1, x->rows }).t;
    }
    if (status >= 0)
        status = heed_attn_plan(a->device, &m.desc, &plan, &a->report);
    if (status >= 0) {
        heed_mechanism_kv(&m, &text, kv);
        args.n_slots = m.desc.n_slots;
        status = heed_attn_run(plan, a->queue, &args, NULL, &a->report);
    }
    if (status >= 0)
        status = heed_queue_wait(a->queue, NULL);
    heed_plan_drop(plan);
    return status >= 0 || attend_failed(a, "local attention", status, why);
}

/* ---- what a sentence looked at ------------------------------------------------ */

static float dot(const float *x, const float *y, int64_t width)
{
    float sum = 0;

    for (int64_t k = 0; k < width; k++)
        sum += x[k] * y[k];
    return sum;
}

/* Takes row j with its score among the best, the best first. */
static void take(int64_t best[LOOKS], float scores[LOOKS], int64_t j, float score)
{
    int at = LOOKS;

    while (at > 0 && (best[at - 1] < 0 || score > scores[at - 1]))
        at--;
    if (at == LOOKS)
        return;
    memmove(best + at + 1, best + at, (size_t)(LOOKS - 1 - at) * sizeof(*best));
    memmove(scores + at + 1, scores + at, (size_t)(LOOKS - 1 - at) * sizeof(*scores));
    best[at] = j;
    scores[at] = score;
}

bool encoder_look(struct attend *a, const float *x, int64_t n, int64_t first, int64_t count,
                  int64_t (*best)[LOOKS], struct failure *why)
{
    uint8_t *const seen = malloc((size_t)n);
    const int64_t w = a->width;
    heed_mechanism m;
    heed_status status = seen ? make(a, n, w, &m) : HEED_E_NOMEM;

    for (int64_t i = 0; i < count && status >= 0; i++) {
        const int64_t row = first + i;
        float scores[LOOKS];

        for (int k = 0; k < LOOKS; k++)
            best[i][k] = -1;
        for (uint32_t s = 0; s < m.desc.n_sources && status >= 0; s++) {
            status = heed_attn_visible(&m.desc, NULL, 0, 0, row, s, seen, &a->report);
            for (int64_t j = 0; j < n && status >= 0; j++) {
                if (seen[j] && j != row)
                    take(best[i], scores, j, dot(x + row * w, x + j * w, w));
            }
        }
    }
    free(seen);
    return status >= 0 || attend_failed(a, "what sentences look at", status, why);
}
