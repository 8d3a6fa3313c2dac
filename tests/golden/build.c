/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What golden cases are made of: integers from splitmix64 (Steele, Lea and Flood 2014), floats put
 * together from their fields, tensors, slots.
 */
#include "build.h"

#include <stdlib.h>
#include <string.h>

uint64_t golden_next(struct golden *g)
{
    uint64_t z = g->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Bytes of a block, and of those that begin it with numbers of f16: one, or two. */
static const struct blocks {
    uint32_t dtype, bytes, halves;
} blocks[] = {
    { HEED_Q8_0, 34, 1 }, { HEED_Q4_0, 18, 1 }, { HEED_Q4_1, 20, 2 },
    { HEED_Q5_0, 22, 1 }, { HEED_Q5_1, 24, 2 }, { HEED_IQ4_NL, 18, 1 },
};

static const struct blocks *blocks_of(uint32_t dtype)
{
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
        if (blocks[i].dtype == dtype)
            return &blocks[i];
    }
    return NULL;
}

size_t golden_size_of(uint32_t dtype)
{
    if (blocks_of(dtype))
        return blocks_of(dtype)->bytes;
    return dtype == HEED_U8 || dtype == HEED_I8 || dtype == HEED_I4 || dtype == HEED_F8E4M3 ||
                   dtype == HEED_F8E5M2
               ? 1
           : dtype == HEED_F16 || dtype == HEED_BF16 ? 2
           : dtype == HEED_I64                       ? 8
                                                     : 4;
}

void *golden_array(struct golden *g, uint32_t dtype, int64_t count)
{
    void *data = calloc((size_t)count + 1, golden_size_of(dtype));

    if (data == NULL || g->n_inputs == GOLDEN_ARRAYS)
        abort();
    g->inputs[g->n_inputs++] = (struct golden_array){ data, dtype, count };
    return data;
}

/* Bits of a float in the given format: mantissa in (-2^bits, 2^bits) times 2^exponent, normal. */
void golden_put(uint32_t dtype, void *data, int64_t at, int64_t mantissa, int exponent)
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

void golden_put_bits(void *data, int64_t at, uint32_t bits)
{
    ((uint32_t *)data)[at] = bits;
}

void golden_put_half(void *data, int64_t at, uint16_t bits)
{
    ((uint8_t *)data)[2 * at] = (uint8_t)(bits & 0xff);
    ((uint8_t *)data)[2 * at + 1] = (uint8_t)(bits >> 8);
}

/* Any integers, of which those of bytes have smaller scales. */
static void *blocks_make(struct golden *g, uint32_t dtype, int64_t count)
{
    const struct blocks *type = blocks_of(dtype);
    uint8_t *data = golden_array(g, dtype, count / heed_dtype_block(dtype));
    const int exponent = dtype == HEED_Q8_0 || dtype == HEED_IQ4_NL ? -32 : -28;

    for (int64_t i = 0; i < count / heed_dtype_block(dtype); i++) {
        uint8_t *block = data + i * type->bytes;

        for (uint32_t b = 0; b < type->bytes; b++)
            block[b] = (uint8_t)(golden_next(g) >> 56);
        for (uint32_t half = 0; half < type->halves; half++) {
            const uint64_t word = golden_next(g);
            const int64_t mantissa = (int64_t)(word >> 40) + (1 << 24);
            uint16_t bits;

            golden_put(HEED_F16, &bits, 0, word & 1 ? -mantissa : mantissa, exponent);
            golden_put_half(block, half, bits);
        }
    }
    return data;
}

/* Full mantissas, magnitude below 2^exponent. */
void *golden_floats(struct golden *g, uint32_t dtype, int64_t count, int exponent)
{
    void *data;

    if (blocks_of(dtype))
        return blocks_make(g, dtype, count);
    count /= heed_dtype_block(dtype);
    data = golden_array(g, dtype, count);
    if (golden_size_of(dtype) == 1) { /* floats below 2 */
        for (int64_t i = 0; i < count; i++)
            ((uint8_t *)data)[i] = (uint8_t)(golden_next(g) >> 56 &
                                             (dtype == HEED_I8 || dtype == HEED_I4 ? 0xff : 0xbf));
        return data;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t mantissa = (int64_t)(golden_next(g) >> 39) - (1 << 24);

        golden_put(dtype, data, i, mantissa, exponent - 24);
    }
    return data;
}

heed_tensor golden_tensor(uint32_t dtype, uint32_t ndim, const int64_t *shape)
{
    heed_tensor t = { .dtype = dtype, .ndim = ndim };
    int64_t size = 1;

    for (uint32_t i = ndim; i-- > 0;) {
        t.shape[i] = shape[i];
        t.stride[i] = size;
        size *= i + 1 == ndim ? shape[i] / heed_dtype_block(dtype) : shape[i];
    }
    return t;
}

static heed_tensor tensor4(uint32_t dtype, int64_t b, int64_t h, int64_t n, int64_t d)
{
    const int64_t shape[4] = { b, h, n, d };

    return golden_tensor(dtype, 4, shape);
}

/* One source more: n_k keys of H_k heads; scores of a few units. */
heed_source *golden_source(struct golden *g, uint32_t dtype, int64_t b, int64_t h_k, int64_t n_k)
{
    const int64_t d = g->desc.q.shape[3], d_v = g->desc.o.shape[3];
    uint32_t s = g->desc.n_sources++;

    g->sources[s].k = tensor4(dtype, b, h_k, n_k, d);
    g->sources[s].v = tensor4(dtype, b, h_k, n_k, d_v);
    g->sources[s].term_size = sizeof(heed_term);
    g->sources[s].bias_size = sizeof(heed_bias);
    g->sources[s].terms = g->terms[s];
    g->sources[s].biases = g->biases[s];
    g->kv[s].k.handle = golden_floats(g, dtype, b * h_k * n_k * d, 1);
    g->kv[s].v.handle = golden_floats(g, dtype, b * h_k * n_k * d_v, 0);
    return &g->sources[s];
}

/* q, o and lse: dense [b][h][n_q][d or d_v]. */
void golden_query(struct golden *g, uint32_t dtype, int64_t b, int64_t h, int64_t n_q, int64_t d,
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
    g->args.q.handle = golden_floats(g, dtype, b * h * n_q * d, 1);
    g->o_count = b * h * n_q * d_v;
    g->lse_count = b * h * n_q;
}

/* The usual: f32, one source, 2 heads. */
void golden_base(struct golden *g, int64_t n_q, int64_t n_k, int64_t d, int64_t d_v)
{
    golden_query(g, HEED_F32, 1, 2, n_q, d, d_v);
    golden_source(g, HEED_F32, 1, 2, n_k);
}

void golden_term(struct golden *g, uint32_t s, heed_term t)
{
    g->terms[s][g->sources[s].n_terms++] = t;
}

void golden_bias(struct golden *g, uint32_t s, heed_bias b)
{
    g->biases[s][g->sources[s].n_biases++] = b;
}

uint32_t golden_slot_of(struct golden *g, heed_tensor t, void *data)
{
    uint32_t slot = g->desc.n_slots++;

    g->slots[slot].t = t;
    if (slot % 2 == 0) /* constant and bound ones by turns */
        g->slots[slot].data = data;
    else
        g->slot_bufs[slot].handle = data;
    return slot + 1;
}

uint32_t golden_slot_i32(struct golden *g, uint32_t ndim, const int64_t *shape,
                         const int32_t *values)
{
    heed_tensor t = golden_tensor(HEED_I32, ndim, shape);
    int64_t count = 1;
    void *data;

    for (uint32_t i = 0; i < ndim; i++)
        count *= shape[i];
    data = golden_array(g, HEED_I32, count);
    memcpy(data, values, (size_t)count * sizeof(*values));
    return golden_slot_of(g, t, data);
}

uint32_t golden_slot_i64(struct golden *g, int64_t count, const int64_t *values)
{
    int64_t *data = golden_array(g, HEED_I64, count);

    if (count > 0)
        memcpy(data, values, (size_t)count * sizeof(*values));
    return golden_slot_of(g, golden_tensor(HEED_I64, 1, &count), data);
}

uint32_t golden_slot_floats(struct golden *g, uint32_t dtype, uint32_t ndim, const int64_t *shape,
                            int exponent)
{
    int64_t count = 1;

    for (uint32_t i = 0; i < ndim; i++)
        count *= shape[i];
    return golden_slot_of(g, golden_tensor(dtype, ndim, shape),
                          golden_floats(g, dtype, count, exponent));
}

uint32_t golden_slot_scales(struct golden *g, uint32_t dtype, uint32_t ndim, const int64_t *shape)
{
    int64_t count = 1;
    void *data;

    for (uint32_t i = 0; i < ndim; i++)
        count *= shape[i];
    data = golden_array(g, dtype, count);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t word = golden_next(g);
        const int64_t mantissa = (int64_t)(word >> 40) + (1 << 24);

        golden_put(dtype, data, i, word & 1 ? -mantissa : mantissa, -32);
    }
    return golden_slot_of(g, golden_tensor(dtype, ndim, shape), data);
}

void *golden_slot_data(struct golden *g, uint32_t slot)
{
    return g->slots[slot - 1].data ? (void *)(uintptr_t)g->slots[slot - 1].data
                                   : g->slot_bufs[slot - 1].handle;
}

void golden_sinks(struct golden *g, uint32_t dtype)
{
    int64_t heads = g->desc.q.shape[1];

    g->desc.sinks = golden_tensor(dtype, 1, &heads);
    g->args.sinks.handle = golden_floats(g, dtype, heads, 2);
}

#define GOLDEN_CASE(name) { #name, golden_case_##name },
const struct golden_case golden_cases[] = { GOLDEN_CASES(GOLDEN_CASE) };
#undef GOLDEN_CASE
const size_t golden_n_cases = sizeof(golden_cases) / sizeof(*golden_cases);

void golden_make(struct golden *g, const struct golden_case *c, uint64_t seed)
{
    g->state = seed;
    c->make(g);
    g->o = calloc((size_t)g->o_count + 1, golden_size_of(g->desc.o.dtype));
    g->lse = calloc((size_t)g->lse_count + 1, sizeof(float));
    if (g->o == NULL || g->lse == NULL)
        abort();
    g->args.size = sizeof(g->args);
    g->args.kv_size = sizeof(heed_kv_bufs);
    g->args.o.handle = g->o;
    g->args.lse.handle = g->lse;
    g->args.kv = g->kv;
    g->args.slots = g->slot_bufs;
    g->args.n_slots = g->desc.n_slots;
}

void golden_free(struct golden *g)
{
    while (g->n_inputs > 0)
        free(g->inputs[--g->n_inputs].data);
    free(g->o);
    free(g->lse);
}
