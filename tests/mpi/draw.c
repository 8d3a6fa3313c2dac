/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attentions of several chunks, drawn: rows and keys of items of their own or packed, one source or
 * several, terms of every kind and biases, and where ranks cut them: rows anywhere, keys at chunks,
 * some ranks without either.
 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

static uint64_t drawn;

static int64_t below(int64_t n)
{
    drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return n <= 1 ? 0 : (int64_t)(drawn >> 33) % n;
}

void *room(int64_t bytes)
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

/* ---- slots and terms ---- */

/* A constant slot, or one that a run binds. */
static uint32_t slot_add(struct attention *a, heed_tensor t, void *data, bool constant)
{
    a->slots[a->desc.n_slots] = (heed_slot){ t, constant ? data : NULL };
    a->bufs[a->desc.n_slots] = (heed_buf){ constant ? NULL : data, 0 };
    a->desc.slots = a->slots;
    a->desc.slot_size = sizeof *a->slots;
    return ++a->desc.n_slots;
}

/* One number for each item. */
static uint32_t items_add(struct attention *a, int64_t *data)
{
    return slot_add(a, (heed_tensor){ HEED_I64, 1, { a->batch }, { 1 } }, data, true);
}

static void term_add(struct attention *a, int s, heed_term term)
{
    heed_source *source = &a->sources[s];

    a->drawn[s].terms[source->n_terms++] = term;
    source->terms = a->drawn[s].terms;
    source->term_size = sizeof term;
}

static void window_add(struct attention *a, int s)
{
    term_add(a, s,
             (heed_term){ .kind = HEED_TERM_WINDOW,
                          .left = below(900),
                          .right = below(700),
                          .block = (int32_t)below(2) * 128 });
}

static void globals_add(struct attention *a, int s)
{
    struct drawn *d = &a->drawn[s];
    heed_term term = { .kind = HEED_TERM_GLOBAL, .flags = (uint32_t)(1 + below(3)) };

    if (below(2)) {
        term.block = (int32_t)(1 + below(40));
    } else {
        const int64_t least = a->n_q < d->n_k ? a->n_q : d->n_k;
        const int64_t apart = least / (below(2) ? 4 : 4 * a->batch) + 1;

        for (int64_t b = 0; b < a->batch; b++) {
            int64_t entry = -1;

            for (int i = 0; i < 8; i++) {
                entry += 1 + below(apart);
                d->list[b][i] =
                    entry < least && (i == 0 || d->list[b][i - 1] >= 0) ? (int32_t)entry : -1;
            }
        }
        term.slot =
            slot_add(a, (heed_tensor){ HEED_I32, 2, { a->batch, 8 }, { 8, 1 } }, d->list, true);
    }
    term_add(a, s, term);
}

static void segments_add(struct attention *a, int s)
{
    struct drawn *d = &a->drawn[s];
    const int64_t block = 1 + below(100), n = (a->n_q + block - 1) / block;
    const int64_t items = below(2) ? a->batch : 1, keys = d->n_k / (1 + below(a->batch));

    d->ranges = room(items * n * (int64_t)sizeof *d->ranges);
    for (int64_t i = 0; i < items * n; i++) {
        d->ranges[i][0] = (int32_t)below(keys + 1);
        d->ranges[i][1] = d->ranges[i][0] + (int32_t)below(keys + 1 - d->ranges[i][0]) / 3;
    }
    term_add(a, s,
             (heed_term){
                 .kind = HEED_TERM_SEGMENT,
                 .block = (int32_t)block,
                 .slot = slot_add(a, (heed_tensor){ HEED_I32, 3, { items, n, 2 }, { 2 * n, 2, 1 } },
                                  d->ranges, true) });
}

static void strides_add(struct attention *a, int s)
{
    window_add(a, s);
    term_add(a, s,
             (heed_term){ .kind = HEED_TERM_ALL,
                          .step = a->step,
                          .phase = -7,
                          .flags = below(2) ? HEED_TERM_PHASE_HEAD : HEED_TERM_PHASE_QUERY });
}

/* ---- biases and what goes with them ---- */

static void bias_add(struct attention *a, int s)
{
    heed_bias *bias = &a->drawn[s].bias;

    for (int i = 0; i < 64; i++)
        a->table[i] = (float)below(200) / 100 - 1;
    for (int64_t i = 0; i < 64 * a->d; i++)
        a->tables[i] = (float)below(200) / 400 - 0.25f;
    switch (below(4)) {
    case 0:
        *bias = (heed_bias){ .kind = HEED_BIAS_TABLE,
                             .zero = 30,
                             .t = slot_add(a, (heed_tensor){ HEED_F32, 2, { 1, 64 }, { 64, 1 } },
                                           a->table, below(2)) };
        break;
    case 1:
        *bias = (heed_bias){
            .kind = HEED_BIAS_DOT,
            .zero = 30,
            .t = slot_add(a, (heed_tensor){ HEED_F32, 3, { 1, 64, a->d }, { 64 * a->d, a->d, 1 } },
                          a->tables, below(2))
        };
        break;
    default:
        *bias = (heed_bias){ .kind = HEED_BIAS_ALIBI,
                             .t = slot_add(a, (heed_tensor){ HEED_F32, 1, { 4 }, { 1 } }, a->slopes,
                                           false) };
        break;
    }
    a->sources[s].biases = bias;
    a->sources[s].n_biases = 1;
    a->sources[s].bias_size = sizeof *bias;
}

/* Biases, a softcap, sinks, lengths. */
static void trimmings_add(struct attention *a, int s, bool lengths)
{
    for (int i = 0; i < 4; i++) {
        a->slopes[i] = 0.01f * (float)(i + 1);
        a->sinks_data[i] = (float)below(3) - 1;
    }
    bias_add(a, s);
    a->desc.softcap = 20;
    a->desc.sinks = (heed_tensor){ HEED_F32, 1, { 4 }, { 1 } };
    if (lengths && !a->sources[s].len_slot) {
        for (int64_t b = 0; b < a->batch; b++)
            a->drawn[s].lengths[b] = below(a->drawn[s].n_k + 1);
        a->sources[s].len_slot = items_add(a, a->drawn[s].lengths);
    }
    if (below(2))
        window_add(a, s);
}

/* Few rows anywhere that look far, as in decoding. */
static void far_add(struct attention *a, int s)
{
    trimmings_add(a, s, false);
    a->sources[s].n_terms = 0;
    term_add(a, s,
             (heed_term){ .kind = HEED_TERM_WINDOW,
                          .left = below(3000),
                          .right = below(3000),
                          .block = below(3) ? 0 : 100,
                          .step = below(5) ? 0 : a->step });
}

static void pattern_draw(struct attention *a, int s, int pattern)
{
    switch (pattern) {
    case 0:
        window_add(a, s);
        break;
    case 1:
        window_add(a, s);
        globals_add(a, s);
        break;
    case 2:
        a->sources[s].flags |= HEED_SOURCE_CAUSAL;
        break;
    case 3:
        break;
    case 4:
        strides_add(a, s);
        break;
    case 5:
        segments_add(a, s);
        break;
    case 6:
        trimmings_add(a, s, true);
        break;
    case 7:
        far_add(a, s);
        break;
    default: /* everything that goes together */
        a->sources[s].flags |= below(2) ? HEED_SOURCE_CAUSAL : 0;
        strides_add(a, s);
        globals_add(a, s);
        break;
    }
}

/* ---- rows and keys ---- */

/* Ascending cuts of [0, n], at multiples of `unit` but for the last one. */
static void cuts_draw(int64_t *cut, int parts, int64_t n, int64_t unit)
{
    for (int r = 1; r < parts; r++) {
        cut[r] = below(n / unit + 1) * unit;
        for (int i = r; i > 1 && cut[i] < cut[i - 1]; i--) {
            const int64_t low = cut[i];

            cut[i] = cut[i - 1];
            cut[i - 1] = low;
        }
    }
    cut[0] = 0;
    cut[parts] = n;
}

/* Items behind each other in any order, with gaps; keys may also lie anywhere. */
static void packed_draw(const struct attention *a, int64_t n, bool apart, int64_t *begins,
                        int64_t *lengths)
{
    int64_t cut[MOST_ITEMS + 1];
    const int64_t first = below(a->batch);

    cuts_draw(cut, (int)a->batch, n, 1);
    for (int64_t b = 0; b < a->batch; b++) {
        const int64_t place = (first + b) % a->batch;

        begins[b] = cut[place];
        lengths[b] = cut[place + 1] - cut[place];
        begins[b] += below(4) ? 0 : below(lengths[b]);
        lengths[b] = cut[place + 1] - begins[b];
        lengths[b] -= below(4) ? 0 : below(lengths[b] + 1);
        if (!apart) {
            begins[b] = below(n + 1);
            lengths[b] = below(n + 1 - begins[b]);
        }
    }
}

static void queries_draw(struct attention *a, bool packed, uint32_t type)
{
    heed_attn_desc *desc = &a->desc;

    a->q_items = packed ? 1 : a->batch;
    desc->q = heed_array4(type, NULL, a->q_items, 4, a->n_q, a->d).t;
    desc->o = desc->q;
    desc->lse = (heed_tensor){ HEED_F32, 3, { a->q_items, 4, a->n_q }, { 4 * a->n_q, a->n_q, 1 } };
    if (packed) {
        packed_draw(a, a->n_q, true, a->q_begins, a->q_lengths);
        desc->q_layout = HEED_LAYOUT_RAGGED;
        desc->q_slot = items_add(a, a->q_begins);
        desc->q_len_slot = items_add(a, a->q_lengths);
    }
    if (below(4) == 0) {
        for (int64_t b = 0; b < a->batch; b++)
            a->shifts[b] = below(200) - 100;
        desc->q_pos_slot = items_add(a, a->shifts);
    }
    a->q = numbers(a->q_items * 4 * a->n_q * a->d, a->size);
    a->o = room(a->q_items * 4 * a->n_q * a->d * a->size);
    a->lse = room(a->q_items * 4 * a->n_q * 4);
    memset(a->o, 0x5a, (size_t)(a->q_items * 4 * a->n_q * a->d * a->size));
    cuts_draw(a->row_cut, world.ranks, a->n_q, 1);
}

static void source_draw(struct attention *a, int s, bool packed, int pattern)
{
    struct drawn *d = &a->drawn[s];
    heed_source *source = &a->sources[s];

    d->items = packed || below(4) == 0 ? 1 : a->batch;
    source->k = heed_array4(a->desc.q.dtype, NULL, d->items, a->key_heads, d->n_k, a->d).t;
    source->v = source->k;
    if (packed) {
        packed_draw(a, d->n_k, below(2), d->begins, d->lengths);
        source->layout = HEED_LAYOUT_RAGGED;
        source->slot = items_add(a, d->begins);
        source->len_slot = items_add(a, d->lengths);
    }
    if (a->desc.n_sources > 1) {
        source->pos0 = below(300) - 150;
        source->flags = below(4) ? 0 : HEED_SOURCE_END;
    }
    pattern_draw(a, s, pattern);
    d->k = numbers(d->items * a->key_heads * d->n_k * a->d, a->size);
    d->v = numbers(d->items * a->key_heads * d->n_k * a->d, a->size);
    d->everywhere = s > 0 && below(3) == 0;
    cuts_draw(d->cut, world.ranks, d->n_k, HEED_CHUNK);
}

/* ---- the whole ---- */

/* Rows and keys of the first source, and those of the others, a memory or a second text. */
static void extents_draw(struct attention *a, int pattern, bool many)
{
    const bool cheap = pattern == 2 || pattern == 3 || pattern >= 6;
    int64_t n_k = 1 + below(below(3) ? 5200 : 1200);

    if (below(3) == 0) /* whole chunks, which may stay where they lie */
        n_k = (n_k / HEED_CHUNK + 1) * HEED_CHUNK;
    if (pattern == 7) /* messages that are not cut, so that rows may travel */
        n_k = (n_k + 2500) | 1;
    a->n_q = cheap ? 1 + below(pattern == 7 ? 6 : 150) : 1 + below(1500);
    if (!cheap && below(3))
        a->n_q = n_k;
    a->drawn[0].n_k = n_k;
    a->desc.n_sources = many ? 2 + (uint32_t)below(2) : 1;
    for (uint32_t s = 1; s < a->desc.n_sources; s++)
        a->drawn[s].n_k = below(2) ? below(40) : below(2600);
}

void attention_draw(struct attention *a, uint64_t seed, int pattern)
{
    bool packed_q, packed_k, many;

    drawn = seed * 77 + (uint64_t)pattern;
    for (int i = 0; i < 5; i++)
        below(2);
    /* Every other attention is one text of items of their own. */
    packed_q = below(2) && below(3) == 0;
    packed_k = below(2) && below(3) > 0;
    many = below(3) == 0;
    *a = (struct attention){ .batch = 1 + below(packed_q || packed_k ? MOST_ITEMS : 2),
                             .key_heads = 1 << below(3),
                             .d = 8 + below(3) * 4,
                             .size = below(2) ? 4 : 2,
                             .step = 2 + below(60) };
    a->desc = (heed_attn_desc){
        .size = sizeof a->desc,
        .flags = below(2) && pattern != 7 ? HEED_ATTN_ALIGN_END : HEED_ATTN_ALIGN_START,
        .sources = a->sources,
        .source_size = sizeof *a->sources,
    };
    extents_draw(a, pattern, many);
    a->desc.q_pos0 = pattern == 7 ? below(a->drawn[0].n_k) : below(400) - 200;
    queries_draw(a, packed_q, a->size == 4 ? HEED_F32 : HEED_BF16);
    for (uint32_t s = 0; s < a->desc.n_sources; s++)
        source_draw(a, (int)s, s == 0 ? packed_k : below(3) == 0,
                    s == 0 ? pattern : (int)below(PATTERNS));
    snprintf(a->text, sizeof a->text,
             "seed %llu pattern %d: %lld items, 4/%lld heads, %lld %s rows, "
             "%lld %s keys of %u sources, d %lld, %lld bytes",
             (unsigned long long)seed, pattern, (long long)a->batch, (long long)a->key_heads,
             (long long)a->n_q, packed_q ? "packed" : "dense", (long long)a->drawn[0].n_k,
             packed_k ? "packed" : "dense", (unsigned)a->desc.n_sources, (long long)a->d,
             (long long)a->size);
}

void attention_free(struct attention *a)
{
    free(a->q);
    free(a->o);
    free(a->lse);
    for (int s = 0; s < MOST_SOURCES; s++) {
        free(a->drawn[s].k);
        free(a->drawn[s].v);
        free(a->drawn[s].ranges);
    }
}

void attention_compute(struct attention *a)
{
    heed_kv_bufs kv[MOST_SOURCES];
    const heed_attn_args args = {
        .size = sizeof args,
        .kv_size = sizeof *kv,
        .q = { a->q, 0 },
        .o = { a->o, 0 },
        .lse = { a->lse, 0 },
        .sinks = { a->sinks_data, 0 },
        .kv = kv,
        .slots = a->bufs,
        .n_slots = a->desc.n_slots,
    };
    heed_report report = { .size = sizeof report };
    heed_plan *plan = NULL;

    for (int s = 0; s < MOST_SOURCES; s++)
        kv[s] = (heed_kv_bufs){ { a->drawn[s].k, 0 }, { a->drawn[s].v, 0 } };
    a->desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    EXPECT(heed_attn_plan(world.device, &a->desc, &plan, &report) >= 0 &&
               heed_attn_run(plan, world.queue, &args, NULL, &report) >= 0,
           "%s: %s: %s", a->text, report.field, report.message);
    heed_plan_drop(plan);
    a->desc.flags &= ~(uint32_t)HEED_PLAN_OWN_WORKSPACE;
}
