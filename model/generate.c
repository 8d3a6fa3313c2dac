/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "generate.h"

#include "chance.h"
#include "say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float NEVER = -1e9f;      /* The score of what shall not be chosen. */

/* A sequence, all of which have room for the longest one. */
struct sequence {
    int32_t *ids;
    int64_t n;
    float score;
    bool finished;
};

/* What may come next: one token behind one sequence. */
struct candidate {
    float score;               /* Of all its tokens. */
    int32_t parent, id;
    bool ends;
};

struct beams {
    const struct search *search;
    struct decoder decoder;
    int64_t vocab, beams, length;
    float *logits;             /* [beams][vocab] */
    struct sequence *running, *done, *spare;
    struct candidate *candidates; /* 2 beams, the best first. */
    int32_t *ids, *last, *parents;
    bool improvable;
};

/* ---- what the logits of a sequence may become ---- */

/* No sequence of `no_repeat` tokens stands twice. */
static void ban_repeats(float *x, const int32_t *ids, int64_t n, int64_t gram)
{
    if (gram <= 0 || n + 1 < gram)
        return;
    for (int64_t i = 0; i + gram <= n; i++)
        if (memcmp(ids + i, ids + n - gram + 1, (size_t)(gram - 1) * sizeof *ids) == 0)
            x[ids[i + gram - 1]] = -INFINITY;
}

static void force(float *x, int64_t vocab, int64_t id)
{
    for (int64_t i = 0; i < vocab; i++)
        x[i] = -INFINITY;
    x[id] = 0;
}

static void allow(const struct search *s, float *x, int64_t vocab, const int32_t *ids, int64_t n)
{
    ban_repeats(x, ids, n, s->no_repeat);
    if (n < s->min_length && s->eos >= 0)
        x[s->eos] = -INFINITY;
    if (n == 1 && s->forced_bos >= 0)
        force(x, vocab, s->forced_bos);
    if (n == s->max_length - 1 && s->forced_eos >= 0)
        force(x, vocab, s->forced_eos);
}

/* ---- memory ---- */

static void close_beams(struct beams *b)
{
    decoder_close(&b->decoder);
    free(b->logits);
    free(b->running);
    free(b->candidates);
    free(b->ids);
    free(b->last);
}

static heed_status open_beams(struct beams *b, const struct parameters *p,
                              const struct search *search, heed_report *report)
{
    const int64_t k = search->beams, most = search->max_length;
    struct sequence *all;

    *b = (struct beams){ .search = search, .vocab = p->config.vocab, .beams = k, .length = 1,
                         .improvable = true };
    b->logits = malloc((size_t)(k * b->vocab) * sizeof *b->logits);
    b->running = all = calloc((size_t)(4 * k), sizeof *all);
    b->candidates = malloc((size_t)(2 * k) * sizeof *b->candidates);
    b->ids = malloc((size_t)(4 * k * most) * sizeof *b->ids);
    b->last = malloc((size_t)(2 * k) * sizeof *b->last);
    if (!b->logits || !all || !b->candidates || !b->ids || !b->last) {
        close_beams(b);
        return say_no_memory(report, 4 * k * (most + b->vocab));
    }
    b->parents = b->last + k;
    b->done = all + k;
    b->spare = all + 2 * k;
    for (int64_t i = 0; i < 4 * k; i++)
        all[i] = (struct sequence){ .ids = b->ids + i * most, .score = NEVER };
    for (int64_t i = 0; i < k; i++) {
        b->running[i].ids[0] = (int32_t)search->start;
        b->running[i].n = 1;
        b->running[i].score = i == 0 ? 0 : NEVER;
    }
    return HEED_OK;
}

/* ---- one step ---- */

/* The 2 beams best ones of all tokens behind all sequences, the best first; of equal ones the
 * first. */
static int64_t choose_candidates(struct beams *b)
{
    const int64_t most = 2 * b->beams;
    int64_t n = 0;

    for (int64_t k = 0; k < b->beams; k++)
        for (int64_t v = 0; v < b->vocab; v++) {
            const float score = b->logits[k * b->vocab + v] + b->running[k].score;
            int64_t at = n;

            if (n == most && !(score > b->candidates[n - 1].score))
                continue;
            if (n < most)
                n++;
            else
                at--;
            for (; at > 0 && score > b->candidates[at - 1].score; at--)
                b->candidates[at] = b->candidates[at - 1];
            b->candidates[at] = (struct candidate){ .score = score, .parent = (int32_t)k,
                                                    .id = (int32_t)v };
        }
    for (int64_t i = 0; i < n; i++)
        b->candidates[i].ends = b->candidates[i].id == b->search->eos ||
                                b->length + 1 >= b->search->max_length;
    return n;
}

static void extend(const struct beams *b, const struct candidate *c, struct sequence *to)
{
    const struct sequence *const from = &b->running[c->parent];

    memcpy(to->ids, from->ids, (size_t)from->n * sizeof *from->ids);
    to->ids[from->n] = c->id;
    to->n = from->n + 1;
}

/* Sequences by their scores, the best first, equal ones as they stood. */
static void put_in_order(struct sequence *sequences, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        for (int64_t j = i; j > 0 && sequences[j].score > sequences[j - 1].score; j--) {
            const struct sequence other = sequences[j];

            sequences[j] = sequences[j - 1];
            sequences[j - 1] = other;
        }
}

static bool all_finished(const struct beams *b)
{
    for (int64_t i = 0; i < b->beams; i++)
        if (!b->done[i].finished)
            return false;
    return true;
}

/* Of the first `beams` candidates those that end compete with the finished sequences. `done` and
 * `spare` lie one behind the other. */
static void finish(struct beams *b, int64_t n)
{
    const float size = (float)power((double)b->length, b->search->length_penalty);
    const bool full = b->search->early_stopping == 1 && all_finished(b);

    for (int64_t i = 0; i < 2 * b->beams; i++) {
        struct sequence *const to = &b->spare[i];
        const struct candidate *const c = &b->candidates[i];

        to->finished = i < n && c->ends && i < b->beams;
        to->score = to->finished ? c->score / size + (full ? NEVER : 0) +
                                       (b->improvable ? 0 : NEVER)
                                 : -INFINITY;
        if (to->finished)
            extend(b, c, to);
    }
    put_in_order(b->done, 3 * b->beams);
}

/* The best that go on become the running ones. */
static void go_on(struct beams *b, int64_t n)
{
    int64_t chosen = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < n && chosen < b->beams; i++) {
            const struct candidate *const c = &b->candidates[i];

            if (c->ends != (pass == 1))
                continue;
            extend(b, c, &b->spare[chosen]);
            b->spare[chosen].score = c->score + (c->ends ? NEVER : 0);
            b->parents[chosen++] = c->parent;
        }
    for (; chosen < b->beams; chosen++) { /* a vocabulary of less than 2 beams tokens */
        extend(b, &b->candidates[0], &b->spare[chosen]);
        b->spare[chosen].score = 2 * NEVER;
        b->parents[chosen] = b->candidates[0].parent;
    }
    for (int64_t i = 0; i < b->beams; i++) {
        const struct sequence other = b->running[i];

        b->running[i] = b->spare[i];
        b->spare[i] = other;
    }
}

/* Can the best running sequence still become better than a finished one? */
static bool improvable(const struct beams *b)
{
    const struct search *const s = b->search;
    const bool longest = s->early_stopping == 2 && s->length_penalty > 0;
    const double length = (double)(longest ? s->max_length : b->length) - 1;
    const float best = b->running[0].score / (float)power(length, s->length_penalty);
    float worst = INFINITY;

    for (int64_t i = 0; i < b->beams; i++)
        worst = b->done[i].score < worst ? b->done[i].score : worst;
    for (int64_t i = 0; i < b->beams; i++)
        if (best > (b->done[i].finished ? worst : NEVER))
            return true;
    return false;
}

static heed_status step(struct beams *b, bool *more, heed_report *report)
{
    heed_status status;
    bool all_end = true;
    int64_t n;

    for (int64_t k = 0; k < b->beams; k++)
        b->last[k] = b->running[k].ids[b->length - 1];
    status = decoder_step(&b->decoder, b->last, b->length - 1, b->logits, report);
    if (status < 0)
        return status;
    for (int64_t k = 0; k < b->beams; k++) {
        log_softmax(b->logits + k * b->vocab, b->vocab);
        allow(b->search, b->logits + k * b->vocab, b->vocab, b->running[k].ids, b->length);
    }
    n = choose_candidates(b);
    finish(b, n);
    for (int64_t i = 0; i < n; i++)
        all_end = all_end && b->candidates[i].ends;
    go_on(b, n);
    b->length++;
    b->improvable = b->improvable && improvable(b);
    *more = b->improvable && !(b->search->early_stopping == 1 && all_finished(b)) && !all_end;
    return *more ? decoder_choose(&b->decoder, b->parents, b->length - 1, report) : HEED_OK;
}

/* With one beam the largest logit goes on, and the first end is the end. */
static heed_status greedy(struct beams *b, bool *more, heed_report *report)
{
    struct sequence *const s = &b->running[0];
    int64_t best = 0;
    heed_status status;

    status = decoder_step(&b->decoder, &s->ids[s->n - 1], s->n - 1, b->logits, report);
    if (status < 0)
        return status;
    allow(b->search, b->logits, b->vocab, s->ids, s->n);
    for (int64_t v = 1; v < b->vocab; v++)
        if (b->logits[v] > b->logits[best])
            best = v;
    s->ids[s->n++] = (int32_t)best;
    b->length = s->n;
    *more = best != b->search->eos && s->n < b->search->max_length;
    return HEED_OK;
}

heed_status generate_check(const struct parameters *p, const struct search *s,
                           heed_report *report)
{
    const int64_t room = weights_positions(p, &p->decoder);
    const struct {
        const char *name;
        int64_t id;
    } ids[] = { { "eos_token_id", s->eos }, { "forced_bos_token_id", s->forced_bos },
                { "forced_eos_token_id", s->forced_eos } };

    if (s->max_length < 2 || s->max_length > room)
        return say(report, HEED_E_VALUE, "max_length", room, s->max_length,
                   "summaries of %lld tokens: 2 to %lld", (long long)s->max_length,
                   (long long)room);
    if (s->min_length < 0 || s->no_repeat < 0)
        return say(report, HEED_E_VALUE, s->min_length < 0 ? "min_length" : "no_repeat", 0,
                   s->min_length < 0 ? s->min_length : s->no_repeat, "a negative number of tokens");
    if (!(fabs(s->length_penalty) <= 1000))
        return say(report, HEED_E_VALUE, "length_penalty", 1000, 0,
                   "a penalty of %g: -1000 to 1000", s->length_penalty);
    if (s->beams < 1 || s->beams > 1024)
        return say(report, HEED_E_VALUE, "beams", 1024, s->beams, "%lld beams: 1 to 1024",
                   (long long)s->beams);
    if (s->start < 0 || s->start >= p->config.vocab)
        return say(report, HEED_E_VALUE, "decoder_start_token_id", p->config.vocab, s->start,
                   "no token starts the decoder's sequences");
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i].id >= p->config.vocab)
            return say(report, HEED_E_VALUE, ids[i].name, p->config.vocab, ids[i].id,
                       "no such token");
    return HEED_OK;
}

heed_status generate(const struct parameters *p, heed_queue *queue, heed_buf states, int64_t n,
                     const struct search *search, int32_t **ids, int64_t *n_ids,
                     heed_report *report)
{
    const struct sequence *best;
    heed_status status;
    struct beams b;
    bool more = true;

    status = open_beams(&b, p, search, report);
    if (status < 0)
        return status;
    status = decoder_open(&b.decoder, p, queue, states, n, search->beams, 1, search->max_length,
                          NULL, report);
    while (status >= 0 && more) {
        status = (search->beams == 1 ? greedy : step)(&b, &more, report);
        if (status >= 0 && search->progress &&
            !search->progress(search->context, b.length, search->max_length))
            break;
    }
    best = search->beams > 1 && b.done[0].finished ? &b.done[0] : &b.running[0];
    if (status >= 0) {
        *ids = malloc((size_t)best->n * sizeof **ids);
        status = *ids ? HEED_OK : say_no_memory(report, best->n * (int64_t)sizeof **ids);
    }
    if (status >= 0) {
        memcpy(*ids, best->ids, (size_t)best->n * sizeof **ids);
        *n_ids = best->n;
    }
    close_beams(&b);
    return status;
}
