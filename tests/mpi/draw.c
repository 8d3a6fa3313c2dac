/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attentions of several chunks, drawn, and the parts of them that ranks hold: rows cut anywhere,
 * keys cut at chunks, some ranks without either.
 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

enum { LEAVES = 3 }; /* channels between rows of k, where these have gaps */

static uint64_t drawn;

static int64_t below(int64_t n)
{
    drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return n <= 1 ? 0 : (int64_t)(drawn >> 33) % n;
}

static void *room(int64_t bytes)
{
    void *p = calloc(1, (size_t)bytes + 1);

    if (!p)
        MPI_Abort(MPI_COMM_WORLD, 2);
    return p;
}

static char *numbers(int64_t n, int64_t size)
{
    char *to = room(n * size);

    for (int64_t i = 0; i < n; i++) {
        const float x = (float)(below(4096) - 2048) / 700;
        uint32_t bits;

        memcpy(&bits, &x, sizeof bits);
        if (size == 2)
            memcpy(to + i * 2, &(uint16_t){ (uint16_t)(bits >> 16) }, 2);
        else
            memcpy(to + i * 4, &bits, 4);
    }
    return to;
}

/* ---- the whole ---- */

static uint32_t term_add(struct attention *a, heed_term term)
{
    a->terms[a->source.n_terms] = term;
    a->source.terms = a->terms;
    a->source.term_size = sizeof *a->terms;
    return a->source.n_terms++;
}

static uint32_t slot_add(struct attention *a, heed_tensor t, const void *data)
{
    a->slots[a->desc.n_slots] = (heed_slot){ t, data };
    a->desc.slots = a->slots;
    a->desc.slot_size = sizeof *a->slots;
    return ++a->desc.n_slots;
}

static void window_add(struct attention *a)
{
    term_add(a, (heed_term){ .kind = HEED_TERM_WINDOW,
                             .left = below(900),
                             .right = below(700),
                             .block = (int32_t)below(2) * 128 });
}

static void globals_add(struct attention *a)
{
    const uint32_t flags = (uint32_t)(1 + below(3));
    heed_term term = { .kind = HEED_TERM_GLOBAL, .flags = flags };

    if (below(2)) {
        term.block = (int32_t)(1 + below(40));
    } else {
        const int64_t least = a->n_q < a->n_k ? a->n_q : a->n_k;

        for (int b = 0; b < 2; b++) {
            int64_t entry = -1;

            for (int i = 0; i < 8; i++) {
                entry += 1 + below(least / 4 + 1);
                a->list[b][i] =
                    entry < least && (i == 0 || a->list[b][i - 1] >= 0) ? (int32_t)entry : -1;
            }
        }
        term.slot = slot_add(a, (heed_tensor){ HEED_I32, 2, { a->batch, 8 }, { 8, 1 } }, a->list);
    }
    term_add(a, term);
}

static void segments_add(struct attention *a)
{
    const int64_t block = 1 + below(100), n = (a->n_q + block - 1) / block;

    a->ranges = room(n * (int64_t)sizeof *a->ranges);
    for (int64_t i = 0; i < n; i++) {
        a->ranges[i][0] = (int32_t)below(a->n_k + 1);
        a->ranges[i][1] = a->ranges[i][0] + (int32_t)below(a->n_k + 1 - a->ranges[i][0]) / 3;
    }
    term_add(a, (heed_term){
                    .kind = HEED_TERM_SEGMENT,
                    .block = (int32_t)block,
                    .slot = slot_add(a, (heed_tensor){ HEED_I32, 3, { 1, n, 2 }, { 2 * n, 2, 1 } },
                                     a->ranges) });
}

static void strides_add(struct attention *a)
{
    window_add(a);
    term_add(a, (heed_term){ .kind = HEED_TERM_ALL,
                             .step = 2 + below(60),
                             .phase = -7,
                             .flags = below(2) ? HEED_TERM_PHASE_HEAD : HEED_TERM_PHASE_QUERY });
}

/* Linear biases bound by run, a softcap, sinks, lengths. */
static void trimmings_add(struct attention *a, bool lengths)
{
    for (int i = 0; i < 4; i++) {
        a->slopes[i] = 0.01f * (float)(i + 1);
        a->sinks_data[i] = (float)below(3) - 1;
    }
    a->bias = (heed_bias){ .kind = HEED_BIAS_ALIBI,
                           .t = slot_add(a, (heed_tensor){ HEED_F32, 1, { 4 }, { 1 } }, NULL) };
    a->source.biases = &a->bias;
    a->source.n_biases = 1;
    a->source.bias_size = sizeof a->bias;
    a->desc.softcap = 20;
    a->desc.sinks = (heed_tensor){ HEED_F32, 1, { 4 }, { 1 } };
    for (int b = 0; b < 2; b++)
        a->lengths[b] = below(a->n_k + 1);
    if (lengths)
        a->source.len_slot =
            slot_add(a, (heed_tensor){ HEED_I64, 1, { a->batch }, { 1 } }, a->lengths);
    if (below(2))
        window_add(a);
}

/* Few rows anywhere that look far, as in decoding. */
static void far_add(struct attention *a)
{
    a->desc.flags = HEED_ATTN_ALIGN_START;
    a->desc.q_pos0 = below(a->n_k);
    trimmings_add(a, false);
    a->source.n_terms = 0;
    term_add(a, (heed_term){ .kind = HEED_TERM_WINDOW,
                             .left = below(3000),
                             .right = below(3000),
                             .block = below(3) ? 0 : 100,
                             .step = below(5) ? 0 : 7 });
}

static void pattern_draw(struct attention *a, int pattern)
{
    switch (pattern) {
    case 0:
        window_add(a);
        break;
    case 1:
        window_add(a);
        globals_add(a);
        break;
    case 2:
        a->source.flags = HEED_SOURCE_CAUSAL;
        break;
    case 3:
        break;
    case 4:
        strides_add(a);
        break;
    case 5:
        segments_add(a);
        break;
    case 6:
        trimmings_add(a, true);
        break;
    case 7:
        far_add(a);
        break;
    default: /* everything that goes together */
        a->source.flags = below(2) ? HEED_SOURCE_CAUSAL : 0;
        strides_add(a);
        globals_add(a);
        break;
    }
}

/* Ascending cuts of [0, n], at multiples of `unit` but for the last one. */
static void cuts_draw(int64_t *cut, int64_t n, int64_t unit)
{
    for (int r = 1; r < world.ranks; r++) {
        cut[r] = below(n / unit + 1) * unit;
        for (int i = r; i > 1 && cut[i] < cut[i - 1]; i--) {
            const int64_t low = cut[i];

            cut[i] = cut[i - 1];
            cut[i - 1] = low;
        }
    }
    cut[0] = 0;
    cut[world.ranks] = n;
}

void attention_draw(struct attention *a, uint64_t seed, int pattern)
{
    const bool cheap = pattern == 2 || pattern == 3 || pattern >= 6;

    drawn = seed * 77 + (uint64_t)pattern;
    for (int i = 0; i < 5; i++)
        below(2);
    *a = (struct attention){ .batch = 1 + below(2),
                             .heads = 4,
                             .key_heads = 1 << below(3),
                             .d = 8 + below(3) * 4,
                             .size = below(2) ? 4 : 2 };
    a->n_k = 1 + below(below(3) ? 5200 : 1200);
    if (pattern == 7) /* messages that are not cut, so that rows may travel */
        a->n_k = (a->n_k + 2500) | 1;
    a->n_q = cheap ? 1 + below(pattern == 7 ? 6 : 150) : 1 + below(1500);
    if (!cheap && below(3))
        a->n_q = a->n_k;
    snprintf(a->text, sizeof a->text,
             "seed %llu pattern %d: %lld items, 4/%lld heads, %lld rows, "
             "%lld keys, d %lld, %lld bytes",
             (unsigned long long)seed, pattern, (long long)a->batch, (long long)a->key_heads,
             (long long)a->n_q, (long long)a->n_k, (long long)a->d, (long long)a->size);
    const uint32_t type = a->size == 4 ? HEED_F32 : HEED_BF16;
    const int64_t kv_batch = below(4) ? a->batch : 1;

    a->desc = (heed_attn_desc){
        .size = sizeof a->desc,
        .flags = below(2) ? HEED_ATTN_ALIGN_START : HEED_ATTN_ALIGN_END,
        .q = heed_array4(type, NULL, a->batch, 4, a->n_q, a->d).t,
        .o = heed_array4(type, NULL, a->batch, 4, a->n_q, a->d).t,
        .lse = { HEED_F32, 3, { a->batch, 4, a->n_q }, { 4 * a->n_q, a->n_q, 1 } },
        .q_pos0 = below(400) - 200,
        .sources = &a->source,
        .n_sources = 1,
        .source_size = sizeof a->source,
    };
    a->source.k = heed_array4(type, NULL, kv_batch, a->key_heads, a->n_k, a->d).t;
    a->source.v = a->source.k;
    pattern_draw(a, pattern);
    a->q = numbers(a->batch * 4 * a->n_q * a->d, a->size);
    a->k = numbers(kv_batch * a->key_heads * a->n_k * a->d, a->size);
    a->v = numbers(kv_batch * a->key_heads * a->n_k * a->d, a->size);
    a->o = room(a->batch * 4 * a->n_q * a->d * a->size);
    a->lse = room(a->batch * 4 * a->n_q * 4);
    cuts_draw(a->row_cut, a->n_q, 1);
    cuts_draw(a->key_cut, a->n_k, HEED_CHUNK);
}

void attention_free(struct attention *a)
{
    free(a->q);
    free(a->k);
    free(a->v);
    free(a->o);
    free(a->lse);
    free(a->ranges);
}

void attention_compute(struct attention *a)
{
    const heed_buf slots[4] = { { a->slopes, 0 } };
    const heed_kv_bufs kv = { { a->k, 0 }, { a->v, 0 } };
    const heed_attn_args args = {
        .size = sizeof args,
        .kv_size = sizeof kv,
        .q = { a->q, 0 },
        .o = { a->o, 0 },
        .lse = { a->lse, 0 },
        .sinks = { a->sinks_data, 0 },
        .kv = &kv,
        .slots = slots,
        .n_slots = a->desc.n_slots,
    };
    heed_report report = { .size = sizeof report };
    heed_plan *plan = NULL;

    a->desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    EXPECT(heed_attn_plan(world.device, &a->desc, &plan, &report) >= 0 &&
               heed_attn_run(plan, world.queue, &args, NULL, &report) >= 0,
           "%s: %s: %s", a->text, report.field, report.message);
    heed_plan_drop(plan);
    a->desc.flags &= ~(uint32_t)HEED_PLAN_OWN_WORKSPACE;
}

/* ---- parts ---- */

/* Rows [first, first + n) of each head of [groups][all][bytes], every row `step` bytes apart. */
static char *slice(const char *from, int64_t groups, int64_t all, int64_t first, int64_t n,
                   int64_t bytes, int64_t step)
{
    char *to = room(groups * n * step);

    for (int64_t g = 0; g < groups; g++) {
        for (int64_t i = 0; i < n; i++)
            memcpy(to + (g * n + i) * step, from + (g * all + first + i) * bytes, (size_t)bytes);
    }
    return to;
}

void part_make(struct part *p, const struct attention *a)
{
    const int64_t first = a->row_cut[world.rank], n = a->row_cut[world.rank + 1] - first;
    const int64_t key = a->key_cut[world.rank], keys = a->key_cut[world.rank + 1] - key;
    const int64_t items = a->source.k.shape[0] * a->key_heads, row = a->d * a->size;
    const bool gaps = a->n_k % 3 == 0;
    const int64_t step = gaps ? row + LEAVES * a->size : row;

    *p = (struct part){
        .keys = { .first = key, .count = keys },
        .parts = { .size = sizeof p->parts,
                   .first_row = first,
                   .n_rows = n,
                   .n_keys = 1,
                   .keys_size = sizeof p->keys,
                   .message_bytes = a->n_k % 2 ? 0 : 20000 },
        .q = slice(a->q, a->batch * 4, a->n_q, first, n, row, row),
        .k = slice(a->k, items, a->n_k, key, keys, row, step),
        .v = slice(a->v, items, a->n_k, key, keys, row, row),
        .o = room(a->batch * 4 * n * row),
        .lse = room(a->batch * 4 * n * 4),
        .slots = { { (void *)(uintptr_t)a->slopes, 0 } },
    };
    if (gaps) {
        p->keys.k = heed_array4(a->source.k.dtype, NULL, a->source.k.shape[0], a->key_heads, keys,
                                a->d + LEAVES)
                        .t;
        p->keys.k.shape[3] = a->d;
    }
    p->parts.keys = &p->keys;
    p->kv = (heed_kv_bufs){ { p->k, 0 }, { p->v, 0 } };
    p->args = (heed_attn_args){
        .size = sizeof p->args,
        .kv_size = sizeof p->kv,
        .q = { p->q, 0 },
        .o = { p->o, 0 },
        .lse = { p->lse, 0 },
        .sinks = { (void *)(uintptr_t)a->sinks_data, 0 },
        .kv = &p->kv,
        .slots = p->slots,
        .n_slots = a->desc.n_slots,
    };
}

void part_free(struct part *p)
{
    free(p->q);
    free(p->k);
    free(p->v);
    free(p->o);
    free(p->lse);
}

bool part_equal(const struct part *p, const struct attention *a)
{
    const int64_t first = p->parts.first_row, n = p->parts.n_rows, row = a->d * a->size;

    for (int64_t g = 0; g < a->batch * 4; g++) {
        if (memcmp(p->o + g * n * row, a->o + (g * a->n_q + first) * row, (size_t)(n * row)) != 0 ||
            memcmp(p->lse + g * n, a->lse + g * a->n_q + first, (size_t)n * 4) != 0)
            return false;
    }
    return true;
}
