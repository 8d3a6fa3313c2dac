/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The golden cases: every step of docs/numerics.md section 3 that is built has one whose digest
 * depends on it. Cases are never changed, only added; a changed digest is a new numerics version.
 */
#include "golden.h"

#include <stdlib.h>
#include <string.h>

static uint64_t next(struct golden *g)
{
    uint64_t z = g->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static size_t size_of(uint32_t dtype)
{
    return dtype == HEED_U8                          ? 1
           : dtype == HEED_F16 || dtype == HEED_BF16 ? 2
           : dtype == HEED_I64                       ? 8
                                                     : 4;
}

static void *array(struct golden *g, uint32_t dtype, int64_t count)
{
    void *data = calloc((size_t)count + 1, size_of(dtype));

    if (data == NULL || g->n_inputs == GOLDEN_ARRAYS)
        abort();
    g->inputs[g->n_inputs++] = (struct golden_array){ data, dtype, count };
    return data;
}

/* Bits of a float in the given format: mantissa in (-2^bits, 2^bits) times 2^exponent, normal. */
static void put(uint32_t dtype, void *data, int64_t at, int64_t mantissa, int exponent)
{
    uint32_t sign = mantissa < 0, m = (uint32_t)(mantissa < 0 ? -mantissa : mantissa), bits = 0;
    int fraction = dtype == HEED_F32 ? 23 : dtype == HEED_F16 ? 10 : 7;
    int bias = dtype == HEED_F16 ? 15 : 127;

    if (m != 0) {
        for (exponent += fraction; m >> (fraction + 1); exponent++)
            m >>= 1; /* cuts what the format cannot hold */
        for (; !(m >> fraction); exponent--)
            m <<= 1;
        bits = (m & ((1u << fraction) - 1)) | (uint32_t)(exponent + bias) << fraction;
    }
    if (dtype == HEED_F32)
        ((uint32_t *)data)[at] = sign << 31 | bits;
    else
        ((uint16_t *)data)[at] = (uint16_t)(sign << 15 | bits);
}

static void put_bits(void *data, int64_t at, uint32_t bits)
{
    ((uint32_t *)data)[at] = bits;
}

/* Full mantissas, magnitude below 2^exponent. */
static void *floats(struct golden *g, uint32_t dtype, int64_t count, int exponent)
{
    void *data = array(g, dtype, count);

    for (int64_t i = 0; i < count; i++) {
        int64_t mantissa = (int64_t)(next(g) >> 39) - (1 << 24);

        put(dtype, data, i, mantissa, exponent - 24);
    }
    return data;
}

static heed_tensor tensor(uint32_t dtype, uint32_t ndim, const int64_t *shape)
{
    heed_tensor t = { .dtype = dtype, .ndim = ndim };
    int64_t size = 1;

    for (uint32_t i = ndim; i-- > 0; size *= shape[i]) {
        t.shape[i] = shape[i];
        t.stride[i] = size;
    }
    return t;
}

static heed_tensor tensor4(uint32_t dtype, int64_t b, int64_t h, int64_t n, int64_t d)
{
    const int64_t shape[4] = { b, h, n, d };

    return tensor(dtype, 4, shape);
}

/* One source more: n_k keys of H_k heads; scores of a few units. */
static heed_source *source(struct golden *g, uint32_t dtype, int64_t b, int64_t h_k, int64_t n_k)
{
    const int64_t d = g->desc.q.shape[3], d_v = g->desc.o.shape[3];
    uint32_t s = g->desc.n_sources++;

    g->sources[s].k = tensor4(dtype, b, h_k, n_k, d);
    g->sources[s].v = tensor4(dtype, b, h_k, n_k, d_v);
    g->sources[s].term_size = sizeof(heed_term);
    g->sources[s].bias_size = sizeof(heed_bias);
    g->sources[s].terms = g->terms[s];
    g->sources[s].biases = g->biases[s];
    g->kv[s].k.handle = floats(g, dtype, b * h_k * n_k * d, 1);
    g->kv[s].v.handle = floats(g, dtype, b * h_k * n_k * d_v, 0);
    return &g->sources[s];
}

/* q, o and lse: dense [b][h][n_q][d or d_v]. */
static void query(struct golden *g, uint32_t dtype, int64_t b, int64_t h, int64_t n_q, int64_t d,
                  int64_t d_v)
{
    g->desc.size = sizeof(g->desc);
    g->desc.flags = HEED_ATTN_ALIGN_START;
    g->desc.numerics = HEED_NUMERICS_EXACT;
    g->desc.q = tensor4(dtype, b, h, n_q, d);
    g->desc.o = tensor4(dtype, b, h, n_q, d_v);
    g->desc.lse = tensor4(HEED_F32, b, h, n_q, 1);
    g->desc.lse.ndim = 3;
    g->desc.lse.shape[3] = g->desc.lse.stride[3] = 0;
    g->desc.sources = g->sources;
    g->desc.source_size = sizeof(heed_source);
    g->desc.slots = g->slots;
    g->desc.slot_size = sizeof(heed_slot);
    g->args.q.handle = floats(g, dtype, b * h * n_q * d, 1);
    g->o_count = b * h * n_q * d_v;
    g->lse_count = b * h * n_q;
}

/* The usual: f32, one source, 2 heads. */
static void base(struct golden *g, int64_t n_q, int64_t n_k, int64_t d, int64_t d_v)
{
    query(g, HEED_F32, 1, 2, n_q, d, d_v);
    source(g, HEED_F32, 1, 2, n_k);
}

static void term(struct golden *g, uint32_t s, heed_term t)
{
    g->terms[s][g->sources[s].n_terms++] = t;
}

static void bias(struct golden *g, uint32_t s, heed_bias b)
{
    g->biases[s][g->sources[s].n_biases++] = b;
}

static uint32_t slot_of(struct golden *g, heed_tensor t, void *data)
{
    uint32_t slot = g->desc.n_slots++;

    g->slots[slot].t = t;
    if (slot % 2 == 0) /* constant and bound ones by turns */
        g->slots[slot].data = data;
    else
        g->slot_bufs[slot].handle = data;
    return slot + 1;
}

static uint32_t slot_i32(struct golden *g, uint32_t ndim, const int64_t *shape,
                         const int32_t *values)
{
    heed_tensor t = tensor(HEED_I32, ndim, shape);
    int64_t count = 1;
    void *data;

    for (uint32_t i = 0; i < ndim; i++)
        count *= shape[i];
    data = array(g, HEED_I32, count);
    memcpy(data, values, (size_t)count * sizeof(*values));
    return slot_of(g, t, data);
}

static uint32_t slot_i64(struct golden *g, int64_t count, const int64_t *values)
{
    int64_t *data = array(g, HEED_I64, count);

    if (count > 0)
        memcpy(data, values, (size_t)count * sizeof(*values));
    return slot_of(g, tensor(HEED_I64, 1, &count), data);
}

static uint32_t slot_floats(struct golden *g, uint32_t dtype, uint32_t ndim, const int64_t *shape,
                            int exponent)
{
    int64_t count = 1;

    for (uint32_t i = 0; i < ndim; i++)
        count *= shape[i];
    return slot_of(g, tensor(dtype, ndim, shape), floats(g, dtype, count, exponent));
}

static void *slot_data(struct golden *g, uint32_t slot)
{
    return g->slots[slot - 1].data ? (void *)(uintptr_t)g->slots[slot - 1].data
                                   : g->slot_bufs[slot - 1].handle;
}

static void sinks(struct golden *g)
{
    int64_t heads = g->desc.q.shape[1];

    g->desc.sinks = tensor(HEED_F32, 1, &heads);
    g->args.sinks.handle = floats(g, HEED_F32, heads, 2);
}

/* ---- steps 1, 3, 5 to 12: dense ------------------------------------------- */

static void one_key(struct golden *g)
{
    base(g, 1, 1, 1, 1);
}

static void dense(struct golden *g)
{
    base(g, 37, 100, 33, 19);
}

static void dense_long(struct golden *g)
{
    base(g, 3, 2100, 16, 9);
}

static void dense_default_scale(struct golden *g)
{
    base(g, 4, 70, 5, 3);
}

static void dense_scale(struct golden *g)
{
    base(g, 4, 70, 7, 3);
    g->desc.scale = -1.25;
}

static void dense_scale_zero(struct golden *g)
{
    base(g, 4, 70, 7, 3);
    g->desc.flags |= HEED_ATTN_SCALE_GIVEN;
}

static void no_channels(struct golden *g)
{
    base(g, 3, 70, 0, 5);
}

static void no_values(struct golden *g)
{
    base(g, 5, 70, 6, 0);
}

static void no_keys(struct golden *g)
{
    base(g, 5, 0, 6, 4);
}

/* Maxima that rise and fall by hundreds: rescales inside a chunk and between chunks. */
static void steep(struct golden *g)
{
    base(g, 6, 3000, 4, 5);
    g->desc.scale = 40;
}

static void huge(struct golden *g)
{
    base(g, 6, 300, 4, 5);
    g->desc.scale = 1e9;
}

static void softcap_small(struct golden *g)
{
    base(g, 5, 200, 8, 5);
    g->desc.softcap = 30;
}

static void softcap_large(struct golden *g)
{
    base(g, 5, 200, 8, 5);
    g->desc.scale = 3;
    g->desc.softcap = 1.5;
}

static void subnormal(struct golden *g)
{
    uint32_t *v;

    base(g, 5, 200, 8, 5);
    v = g->kv[0].v.handle;
    for (int64_t i = 0; i < 2 * 200 * 5; i++)
        v[i] = (v[i] & 0x807fffffu) | ((uint32_t)(i % 5) << 23);
}

static void specials(struct golden *g)
{
    static const uint32_t values[] = { 0x7fc00000u, 0x7f800000u, 0xff800000u, 0xffc12345u,
                                       0x7f7fffffu, 0xff7fffffu, 0x00000001u, 0x80000000u };

    base(g, 8, 90, 3, 4);
    for (int64_t i = 0; i < 8; i++) {
        if (i % 3 == 0) /* one row of q, one key of head 1 in K, one of head 0 in V */
            put_bits(g->args.q.handle, i * 3, values[i]);
        put_bits(g->kv[0].v.handle, 7 * i, values[i]);
    }
    put_bits(g->kv[0].k.handle, (90 + 40) * 3, 0xff800000u);
}

static void nan_scores(struct golden *g)
{
    base(g, 3, 1300, 2, 2);
    for (int64_t i = 1024; i < 1300; i++) /* head 0: a chunk of NaN after one of numbers */
        put_bits(g->kv[0].k.handle, i * 2, 0x7fc00000u);
}

static void sink(struct golden *g)
{
    base(g, 5, 130, 8, 5);
    sinks(g);
}

static void sink_in_lse(struct golden *g)
{
    base(g, 5, 130, 8, 5);
    sinks(g);
    g->desc.flags |= HEED_ATTN_LSE_WITH_SINK;
    put(HEED_F32, g->args.sinks.handle, 1, 90, 0);
}

static void sink_special(struct golden *g)
{
    base(g, 5, 130, 8, 5);
    sinks(g);
    g->desc.flags |= HEED_ATTN_LSE_WITH_SINK;
    put_bits(g->args.sinks.handle, 0, 0xff800000u);
    put_bits(g->args.sinks.handle, 1, 0xffffffffu);
}

static void no_lse(struct golden *g)
{
    base(g, 5, 130, 8, 5);
    memset(&g->desc.lse, 0, sizeof(g->desc.lse));
}

/* ---- storage types and strides --------------------------------------------- */

static void f16(struct golden *g)
{
    query(g, HEED_F16, 1, 2, 9, 20, 13);
    source(g, HEED_F16, 1, 2, 150);
}

static void bf16(struct golden *g)
{
    query(g, HEED_BF16, 1, 2, 9, 20, 13);
    source(g, HEED_BF16, 1, 2, 150);
}

static void mixed_types(struct golden *g)
{
    query(g, HEED_BF16, 1, 2, 9, 20, 13);
    source(g, HEED_F16, 1, 2, 150);
    source(g, HEED_F32, 1, 2, 40);
    g->desc.o.dtype = HEED_F16;
}

static void f16_extremes(struct golden *g)
{
    static const uint16_t values[] = { 0x0001, 0x83ff, 0x0400, 0x7bff,
                                       0xfbff, 0x7c00, 0x8000, 0x7e01 };
    uint16_t *v;

    query(g, HEED_F16, 1, 1, 6, 4, 8);
    source(g, HEED_F16, 1, 1, 70);
    v = g->kv[0].v.handle;
    for (int64_t key = 0; key < 70; key++) {
        for (int64_t t = 0; t < 8; t++)
            v[key * 8 + t] = key % 3 == 0 ? values[t] : (uint16_t)(v[key * 8 + t] & 0x83ff);
    }
}

static void grouped_heads(struct golden *g)
{
    query(g, HEED_F32, 2, 6, 5, 8, 4);
    source(g, HEED_F32, 2, 3, 90);
    source(g, HEED_F32, 1, 1, 20);
}

static void strides(struct golden *g)
{
    heed_tensor *k, *v;

    base(g, 9, 40, 6, 4);
    k = &g->desc.q; /* rows walk back */
    k->stride[2] = -6;
    g->args.q.offset = 8 * 6 * sizeof(float);
    k = &g->sources[0].k; /* heads interleaved, channels walk back */
    k->stride[1] = 6;
    k->stride[2] = 12;
    k->stride[3] = -1;
    g->kv[0].k.offset = 5 * sizeof(float);
    v = &g->sources[0].v; /* one head for both, channel-major */
    v->stride[1] = 0;
    v->stride[2] = 1;
    v->stride[3] = 40;
}

/* ---- step 2: terms ------------------------------------------------------------- */

static void causal(struct golden *g)
{
    base(g, 70, 70, 6, 4);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
}

static void causal_at_end(struct golden *g)
{
    base(g, 20, 300, 6, 4);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
}

static void window(struct golden *g)
{
    base(g, 150, 150, 6, 4);
    term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 20, .right = 7 });
}

static void window_block(struct golden *g)
{
    base(g, 90, 90, 6, 4);
    term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .block = 8, .left = 8, .right = 8 });
    term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .block = 8, .left = 40, .right = -24 });
    term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = -60, .right = HEED_FAR });
}

static void window_dilated(struct golden *g)
{
    base(g, 90, 90, 6, 4);
    term(g, 0,
         (heed_term){ .kind = HEED_TERM_WINDOW,
                      .left = 30,
                      .right = 30,
                      .step = 3,
                      .flags = HEED_TERM_PHASE_QUERY });
}

static void strided_heads(struct golden *g)
{
    base(g, 20, 400, 6, 4);
    term(g, 0,
         (heed_term){
             .kind = HEED_TERM_ALL, .step = 5, .phase = -1, .flags = HEED_TERM_PHASE_HEAD });
}

static void combs(struct golden *g)
{
    base(g, 60, 200, 6, 4);
    term(g, 0, (heed_term){ .kind = HEED_TERM_ALL, .step = 7, .phase = 2 });
    term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 9, .right = 2 });
    term(g, 0, (heed_term){ .kind = HEED_TERM_ALL, .step = 3, .phase = 1 });
    term(g, 0, (heed_term){ .kind = HEED_TERM_GLOBAL, .block = 5 });
    term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 90, .right = 90, .step = 3 });
    term(g, 0, (heed_term){ .kind = HEED_TERM_SEGMENT, .block = 20 });
    {
        const int64_t shape[2] = { 3, 2 };
        const int32_t ranges[] = { 0, 12, 100, 110, 190, 200 };

        g->terms[0][5].slot = slot_i32(g, 2, shape, ranges);
    }
}

static void global_list(struct golden *g)
{
    const int64_t entries = 5;
    const int32_t keys[] = { 3, 64, 65, 120, 149 }, rows[] = { 0, 7, 40, 41, 79 };

    base(g, 80, 150, 6, 4);
    term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 4, .right = 4 });
    term(g, 0,
         (heed_term){ .kind = HEED_TERM_GLOBAL,
                      .flags = HEED_TERM_KEYS,
                      .slot = slot_i32(g, 1, &entries, keys) });
    term(g, 0,
         (heed_term){ .kind = HEED_TERM_GLOBAL,
                      .flags = HEED_TERM_ROWS,
                      .slot = slot_i32(g, 1, &entries, rows) });
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
}

static void global_first(struct golden *g)
{
    base(g, 80, 150, 6, 4);
    term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 4, .right = 4 });
    term(g, 0,
         (heed_term){
             .kind = HEED_TERM_GLOBAL, .flags = HEED_TERM_KEYS | HEED_TERM_ROWS, .block = 3 });
    term(g, 0, (heed_term){ .kind = HEED_TERM_ALL, .step = 16 });
}

static void listed(struct golden *g)
{
    const int64_t shape[3] = { 1, 3, 6 };
    const int32_t lists[] = { 4, 0, 4, -1, 19, 40, 12, 12, 12, 12, 12, 12, -1, -1, -1, -1, -1, -1 };

    base(g, 23, 100, 6, 4);
    g->sources[0].layout = HEED_LAYOUT_LISTED;
    g->sources[0].run = 5;
    g->sources[0].rows = 8;
    slot_i64(g, 0, NULL); /* so that the list is bound by run: its entry 40 names no key */
    g->sources[0].slot = slot_i32(g, 3, shape, lists);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
}

static void listed_heads(struct golden *g)
{
    const int64_t shape[3] = { 2, 9, 90 };
    int32_t lists[2 * 9 * 90];

    base(g, 9, 400, 6, 4);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        lists[i] = (int32_t)(next(g) % 400);
    g->sources[0].layout = HEED_LAYOUT_LISTED;
    g->sources[0].slot = slot_i32(g, 3, shape, lists);
}

static void sources_three(struct golden *g)
{
    base(g, 40, 50, 6, 4);
    source(g, HEED_F32, 1, 1, 30);
    source(g, HEED_F32, 1, 2, 40);
    g->sources[0].flags = HEED_SOURCE_END;
    g->sources[1].pos0 = 1;
    g->sources[1].pos_step = 4;
    g->sources[1].pos_span = 3;
    term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 30, .right = 0 });
    term(g, 1, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 10, .right = 10, .block = 4 });
    g->sources[2].flags = HEED_SOURCE_CAUSAL;
}

/* ---- items: lengths, masks, packed sequences, positions ----------------------- */

static void lengths(struct golden *g)
{
    const int64_t keys[] = { 0, 33, 90 }, rows[] = { 12, 5, 0 };

    query(g, HEED_F32, 3, 1, 12, 6, 4);
    source(g, HEED_F32, 3, 1, 90);
    g->sources[0].len_slot = slot_i64(g, 3, keys);
    g->desc.q_len_slot = slot_i64(g, 3, rows);
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
    sinks(g);
    g->desc.flags |= HEED_ATTN_LSE_WITH_SINK;
}

static void ragged(struct golden *g)
{
    const int64_t q_begins[] = { 0, 9, 20 }, q_lengths[] = { 7, 11, 4 };
    const int64_t begins[] = { 100, 0, 30 }, sizes[] = { 90, 25, 70 };

    query(g, HEED_F32, 1, 2, 26, 6, 4);
    source(g, HEED_F32, 1, 2, 150);
    g->desc.q_layout = g->sources[0].layout = HEED_LAYOUT_RAGGED;
    g->desc.q_slot = slot_i64(g, 3, q_begins);
    g->sources[0].len_slot = slot_i64(g, 3, sizes); /* bound by run: 90 is cut to 50 */
    g->sources[0].slot = slot_i64(g, 3, begins);
    slot_i64(g, 0, NULL);
    g->desc.q_len_slot = slot_i64(g, 3, q_lengths);
    g->desc.flags = HEED_ATTN_ALIGN_END;
    term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 12, .right = 0 });
}

static void mask(struct golden *g)
{
    const int64_t shape[3] = { 2, 2, 130 };
    uint8_t *bytes;

    query(g, HEED_F32, 2, 2, 6, 6, 4);
    source(g, HEED_F32, 2, 2, 130);
    bytes = array(g, HEED_U8, 2 * 2 * 130);
    for (int64_t i = 0; i < 2 * 2 * 130; i++)
        bytes[i] = (uint8_t)(next(g) % 3);
    memset(bytes + 130, 0, 130); /* item 0, head 1 sees nothing */
    g->sources[0].mask_slot = slot_of(g, tensor(HEED_U8, 3, shape), bytes);
    for (int64_t i = 0; i < 130; i++) {
        if (bytes[i] == 0) /* not consulted */
            put_bits(g->kv[0].v.handle, i * 4, 0x7fc00000u);
    }
}

static void positions(struct golden *g)
{
    const int64_t offsets[] = { -3, 40 };

    query(g, HEED_F32, 2, 1, 12, 6, 4);
    source(g, HEED_F32, 2, 1, 60);
    g->desc.q_pos0 = -5;
    g->desc.q_pos_step = 3;
    g->desc.q_pos_slot = slot_i64(g, 2, offsets);
    g->sources[0].pos0 = -20;
    g->sources[0].pos_step = 2;
    g->sources[0].pos_span = 3;
    g->sources[0].flags = HEED_SOURCE_CAUSAL;
    term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .block = 5, .left = 17, .right = 4 });
}

/* ---- step 4: biases -------------------------------------------------------------- */

static void bias_dense(struct golden *g)
{
    const int64_t shape[4] = { 1, 2, 10, 90 };
    uint32_t slot;

    base(g, 10, 90, 6, 4);
    slot = slot_floats(g, HEED_F32, 4, shape, 2);
    for (int64_t i = 0; i < 2 * 10 * 90; i += 7)
        put_bits(slot_data(g, slot), i, 0xff800000u);
    bias(g, 0, (heed_bias){ .kind = HEED_BIAS_DENSE, .t = slot });
    g->desc.softcap = 5;
}

static void bias_broadcast(struct golden *g)
{
    const int64_t keys[4] = { 1, 1, 1, 90 }, rows[4] = { 1, 2, 10, 1 };

    base(g, 10, 90, 6, 4);
    bias(g, 0, (heed_bias){ .kind = HEED_BIAS_DENSE, .t = slot_floats(g, HEED_F16, 4, keys, 2) });
    bias(g, 0, (heed_bias){ .kind = HEED_BIAS_DENSE, .t = slot_floats(g, HEED_BF16, 4, rows, 2) });
}

static void bias_alibi(struct golden *g)
{
    const int64_t heads = 2;

    base(g, 50, 130, 6, 4);
    bias(g, 0,
         (heed_bias){ .kind = HEED_BIAS_ALIBI, .t = slot_floats(g, HEED_F32, 1, &heads, -4) });
    g->desc.flags = HEED_ATTN_ALIGN_END;
    g->desc.q_pos0 = (int64_t)1 << 30; /* |delta| does not fit a float */
}

static void bias_table(struct golden *g)
{
    const int64_t shape[2] = { 2, 40 };
    uint32_t slot;

    base(g, 50, 130, 6, 4);
    slot = slot_floats(g, HEED_BF16, 2, shape, 2);
    ((uint16_t *)slot_data(g, slot))[13] = 0xff80;
    bias(g, 0, (heed_bias){ .kind = HEED_BIAS_TABLE, .t = slot, .zero = 20 });
}

static void bias_map(struct golden *g)
{
    const int64_t shape[2] = { 1, 8 }, keys = 130, rows = 50, entries = 30;
    int32_t map[30];
    int64_t k[130], q[50];
    uint32_t slots[4];

    base(g, 50, 130, 6, 4);
    for (int i = 0; i < 30; i++)
        map[i] = i % 11 - 1; /* 8 and 9 lie outside, so does -1 */
    for (int i = 0; i < 130; i++)
        k[i] = (int64_t)(next(g) % 60);
    for (int i = 0; i < 50; i++)
        q[i] = (int64_t)(next(g) % 60);
    slots[0] = slot_i64(g, keys, k);
    slots[1] = slot_i32(g, 1, &entries, map); /* bound by run */
    slots[2] = slot_i64(g, rows, q);
    slots[3] = slot_floats(g, HEED_F32, 2, shape, 2);
    bias(g, 0,
         (heed_bias){ .kind = HEED_BIAS_TABLE,
                      .t = slots[3],
                      .map = slots[1],
                      .zero = 15,
                      .k_coord = slots[0],
                      .q_coord = slots[2] });
    bias(g, 0,
         (heed_bias){ .kind = HEED_BIAS_TABLE, .t = slots[3], .zero = 3, .k_coord = slots[0] });
}

static void everything(struct golden *g)
{
    const int64_t heads = 4, entries = 4, dense_shape[4] = { 2, 1, 30, 200 };
    const int64_t sizes[] = { 180, 70 };
    const int32_t keys[] = { 2, 5, 77, 150 };

    query(g, HEED_BF16, 2, 4, 30, 24, 10);
    source(g, HEED_F16, 2, 2, 200);
    source(g, HEED_BF16, 1, 4, 64);
    sinks(g);
    g->desc.softcap = 12;
    g->desc.scale = 0.75;
    g->desc.flags = HEED_ATTN_ALIGN_END | HEED_ATTN_LSE_WITH_SINK;
    g->sources[0].len_slot = slot_i64(g, 2, sizes);
    term(g, 0,
         (heed_term){ .kind = HEED_TERM_WINDOW,
                      .left = 25,
                      .right = 5,
                      .step = 2,
                      .flags = HEED_TERM_PHASE_QUERY });
    term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 6, .right = 6 });
    term(g, 0, (heed_term){ .kind = HEED_TERM_GLOBAL, .slot = slot_i32(g, 1, &entries, keys) });
    bias(g, 0,
         (heed_bias){ .kind = HEED_BIAS_DENSE, .t = slot_floats(g, HEED_F16, 4, dense_shape, 1) });
    bias(g, 0,
         (heed_bias){ .kind = HEED_BIAS_ALIBI, .t = slot_floats(g, HEED_F32, 1, &heads, -5) });
    g->sources[1].flags = HEED_SOURCE_CAUSAL;
}

#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
const struct golden_case golden_cases[] = {
    CASE(one_key),
    CASE(dense),
    CASE(dense_long),
    CASE(dense_default_scale),
    CASE(dense_scale),
    CASE(dense_scale_zero),
    CASE(no_channels),
    CASE(no_values),
    CASE(no_keys),
    CASE(steep),
    CASE(huge),
    CASE(softcap_small),
    CASE(softcap_large),
    CASE(subnormal),
    CASE(specials),
    CASE(nan_scores),
    CASE(sink),
    CASE(sink_in_lse),
    CASE(sink_special),
    CASE(no_lse),
    CASE(f16),
    CASE(bf16),
    CASE(mixed_types),
    CASE(f16_extremes),
    CASE(grouped_heads),
    CASE(strides),
    CASE(causal),
    CASE(causal_at_end),
    CASE(window),
    CASE(window_block),
    CASE(window_dilated),
    CASE(strided_heads),
    CASE(combs),
    CASE(global_list),
    CASE(global_first),
    CASE(listed),
    CASE(listed_heads),
    CASE(sources_three),
    CASE(lengths),
    CASE(ragged),
    CASE(mask),
    CASE(positions),
    CASE(bias_dense),
    CASE(bias_broadcast),
    CASE(bias_alibi),
    CASE(bias_table),
    CASE(bias_map),
    CASE(everything),
};
#undef CASE
const size_t golden_n_cases = sizeof(golden_cases) / sizeof(*golden_cases);

void golden_free(struct golden *g)
{
    while (g->n_inputs > 0)
        free(g->inputs[--g->n_inputs].data);
    free(g->o);
    free(g->lse);
}
