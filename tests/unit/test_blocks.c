/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Types in blocks: every code as kernels, reference and kit read it, against the formats as
 * heed/heed.h draws them; the error of quantising against its bound in double; rows of q8_0 with
 * one block against bytes beside a scale; and what check answers to a block that is cut.
 */
#include "backends/kernels/attn/blob.h"
#include "backends/kernels/types.h"
#include "common/types.h"
#include "conform/engine/array.h"
#include "reference/blocks.h"
#include "support/opened.h"

#include <heed/attn.h>
#include <heed/memory.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t types[] = { HEED_Q8_0, HEED_Q4_0, HEED_Q4_1,
                                  HEED_Q5_0, HEED_Q5_1, HEED_IQ4_NL };
enum { TYPES = sizeof types / sizeof *types, CHANNELS = 32, MOST = 34 };

static uint64_t state = 7;

static uint64_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 20;
}

/* Element j of a block, by the words of heed/heed.h alone. */
static double number_of(uint32_t dtype, const uint8_t *block, int j)
{
    static const int table[] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113 };
    const bool minimum = dtype == HEED_Q4_1 || dtype == HEED_Q5_1;
    const bool high = dtype == HEED_Q5_0 || dtype == HEED_Q5_1;
    const uint8_t *bits = block + (minimum ? 4 : 2), *bytes = bits + (high ? 4 : 0);
    const int digit = j < 16 ? bytes[j] & 15 : bytes[j - 16] >> 4;
    const int fifth = high ? bits[j / 8] >> j % 8 & 1 : 0;

    switch (dtype) {
    case HEED_Q8_0:
        return (int8_t)block[2 + j];
    case HEED_Q4_0:
        return digit - 8;
    case HEED_Q5_0:
        return digit + 16 * fifth - 16;
    case HEED_IQ4_NL:
        return table[digit];
    default:
        return digit + 16 * fifth;
    }
}

static double half_of(const uint8_t *at)
{
    const int bits = at[0] | at[1] << 8, exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                       : ldexp(fraction, -24);

    return bits & 0x8000 ? -size : size;
}

static float element_of(uint32_t dtype, const uint8_t *block, int j)
{
    const double product = number_of(dtype, block, j) * half_of(block);

    if (dtype == HEED_Q4_1 || dtype == HEED_Q5_1)
        return (float)(product + half_of(block + 2));
    return (float)product;
}

static bool alike(float a, float b)
{
    return a == b ? !signbit(a) == !signbit(b) : isnan(a) && isnan(b);
}

static float kernel_get(uint32_t dtype, const uint8_t *block, int j)
{
    const float z = hk_element(dtype, (const char *)block, j),
                s = hk_block_half((const char *)block, 0);

    return HK_HAS_MINIMA(dtype) ? hk_fma(z, s, hk_block_half((const char *)block, 1))
                                : hk_mul(z, s);
}

LOOP_TEST(all_read_the_same_elements, TYPES)
{
    const uint32_t dtype = types[_i];
    uint16_t halves[MOST];
    uint8_t *const block = (uint8_t *)halves;
    struct array a = { .dtype = dtype, .shape = { 1, 1, 1, CHANNELS }, .data = block };
    struct heed_ref_line line = { .data = block, .stride = 1, .dtype = dtype };

    for (int n = 0; n < 4000; n++) {
        for (int i = 0; i < MOST; i++)
            block[i] = (uint8_t)draw();
        for (int j = 0; j < CHANNELS; j++) {
            const float want = element_of(dtype, block, j);

            ck_assert(alike(heed_ref_line_get(&line, j), want));
            ck_assert(alike(cf_array_value(&a, j), want));
            ck_assert(alike(kernel_get(dtype, block, j), want));
        }
    }
}

/* ---- quantising ------------------------------------------------------------------- */

/* Numbers of one size, with a few far from it; now and then not finite. */
static void numbers_draw(float *x, int n)
{
    const int exponent = (int)(draw() % 60) - 40;

    for (int i = 0; i < n; i++) {
        x[i] = ldexpf((float)((int)(draw() % 2001) - 1000), exponent - 10);
        if (draw() % 40 == 0)
            x[i] *= draw() & 1 ? 16.0f : 0.0f;
        if (draw() % 4000 == 0)
            x[i] = draw() & 1 ? NAN : -INFINITY;
    }
}

/* The bound of docs/numerics.md, section 5; what a block that is not finite or too large is. */
static void block_judge(uint32_t dtype, const float *x, const uint8_t *block)
{
    const double s = half_of(block), eta = fabs(s) < 0x1p-14 ? 0x1p-25 : 0;
    double most = 0;

    for (int j = 0; j < CHANNELS; j++)
        most = isfinite(x[j]) ? fmax(most, fabs((double)x[j])) : INFINITY;
    if (isnan(s)) {
        ck_assert(most > (dtype == HEED_Q8_0 ? 127.0 : 8.0) * 65500);
        ck_assert_uint_eq((uint32_t)block[0] | (uint32_t)block[1] << 8, 0x7e00);
    }
    ck_assert(isnan(s) || most < INFINITY);
    ck_assert(s != 0 || !signbit(s));
    for (int j = 0; j < CHANNELS; j++) {
        const double z = number_of(dtype, block, j);
        const double bound = dtype == HEED_Q8_0
                                 ? s * (0.5 + 0x1p-15) + 128 * eta
                                 : fabs(s) * ((z == 7 ? 1 : 0.5) + 0x1p-7) + 9 * eta;

        ck_assert(!isnan(s) || z == 0);
        ck_assert(z >= (dtype == HEED_Q8_0 ? -127 : -8));
        ck_assert(isnan(s) || fabs((double)x[j] - z * s) <= bound);
    }
}

static void quantise(uint32_t dtype, float *x, uint8_t *y, int64_t rows, int64_t d)
{
    const heed_array from = heed_array4(HEED_F32, x, 1, 1, rows, d);
    const heed_array to = heed_array4(dtype, y, 1, 1, rows, d);

    ck_assert_int_eq(heed_copy_simple(on.queue, &from, NULL, &to, NULL), HEED_OK);
}

enum { ROWS = 400, WIDTH = 64, BLOCKS = WIDTH / CHANNELS };
static const char *const devices[] = { "reference", "cpu" };

LOOP_TEST(quantising_keeps_its_bound, 4)
{
    static float x[ROWS * WIDTH];
    static uint16_t halves[ROWS * BLOCKS * MOST / 2];
    const uint32_t dtype = types[_i % 2];
    const size_t bytes = type_find(dtype)->bytes;
    const uint8_t *const y = (const uint8_t *)halves;

    for (int i = 0; i < ROWS; i++)
        numbers_draw(x + i * WIDTH, WIDTH);
    memset(x + WIDTH, 0, WIDTH * sizeof *x);    /* zeros, of either sign */
    x[WIDTH + 1] = -0.0f;
    x[0] = -x[1];                               /* a tie: the first one counts */
    device_open(devices[_i / 2]);
    quantise(dtype, x, (uint8_t *)halves, ROWS, WIDTH);
    for (size_t b = 0; b < ROWS * BLOCKS; b++)
        block_judge(dtype, x + b * CHANNELS, y + b * bytes);
    for (int j = 0; j < CHANNELS; j++)
        ck_assert(number_of(dtype, y + BLOCKS * bytes, j) == 0);
    device_close();
}

/* The extreme of a block, whatever its sign, is -8 in q4_0, and of two the first is. */
TEST(first_extreme_is_minus_eight)
{
    float x[2 * CHANNELS] = { 0 };
    uint16_t halves[18];
    const uint8_t *const y = (const uint8_t *)halves;

    x[3] = 4;
    x[9] = -4;
    x[CHANNELS + 3] = -4;
    x[CHANNELS + 9] = 4;
    device_open("cpu");
    quantise(HEED_Q4_0, x, (uint8_t *)halves, 2, CHANNELS);
    ck_assert(half_of(y) == -0.5 && half_of(y + 18) == 0.5);
    ck_assert(number_of(HEED_Q4_0, y, 3) == -8 && number_of(HEED_Q4_0, y, 9) == 7);
    ck_assert(number_of(HEED_Q4_0, y + 18, 3) == -8 && number_of(HEED_Q4_0, y + 18, 9) == 7);
    device_close();
}

/* ---- attention ---------------------------------------------------------------------- */

enum { KEYS = 90, QUERIES = 5 };

static heed_attn_desc attention_of(heed_source *source, uint32_t k, uint32_t v)
{
    source->k = heed_array4(k, NULL, 1, 1, KEYS, CHANNELS).t;
    source->v = heed_array4(v, NULL, 1, 1, KEYS, CHANNELS).t;
    source->term_size = sizeof(heed_term);
    source->bias_size = sizeof(heed_bias);
    return (heed_attn_desc){
        .size = sizeof(heed_attn_desc),
        .flags = HEED_ATTN_ALIGN_START | HEED_PLAN_OWN_WORKSPACE,
        .source_size = sizeof(heed_source),
        .slot_size = sizeof(heed_slot),
        .n_sources = 1,
        .sources = source,
        .q = heed_array4(HEED_F32, NULL, 1, 1, QUERIES, CHANNELS).t,
        .o = heed_array4(HEED_F32, NULL, 1, 1, QUERIES, CHANNELS).t,
    };
}

static void attend(const heed_attn_desc *desc, void *q, void *rows, void *scales, float *o)
{
    heed_kv_bufs kv = { { .handle = rows }, { .handle = rows } };
    heed_buf slot = { .handle = scales };
    heed_attn_args args = { .size = sizeof args, .kv_size = sizeof kv, .q.handle = q,
                            .o.handle = o, .kv = &kv, .slots = &slot,
                            .n_slots = scales ? 1 : 0 };
    heed_plan *plan = NULL;

    ck_assert_int_eq(heed_attn_plan(on.device, desc, &plan, NULL), HEED_OK);
    ck_assert_int_eq(heed_attn_run(plan, on.queue, &args, NULL, NULL), HEED_OK);
    heed_plan_drop(plan);
}

/* One block a row is one scale a row: the same bits in two formats. */
LOOP_TEST(a_block_a_row_has_the_bits_of_a_scale_a_row, 2)
{
    static uint16_t halves[KEYS * 17], scales[KEYS];
    static int8_t bytes[KEYS * CHANNELS];
    static float q[QUERIES * CHANNELS], a[QUERIES * CHANNELS], b[QUERIES * CHANNELS];
    const int64_t rows = KEYS;
    heed_source blocks = { .layout = 0 }, apart = { .k_scale_slot = 1, .v_scale_slot = 1 };
    heed_slot slot = { .t = heed_array_dense(HEED_F16, NULL, 1, &rows).t };
    heed_attn_desc one = attention_of(&blocks, HEED_Q8_0, HEED_Q8_0);
    heed_attn_desc other = attention_of(&apart, HEED_I8, HEED_I8);

    other.slots = &slot;
    other.n_slots = 1;
    numbers_draw(q, QUERIES * CHANNELS);
    for (int i = 0; i < KEYS; i++) {
        scales[i] = (uint16_t)(0x2000 + draw() % 0x1000);
        halves[i * 17] = scales[i];
        for (int j = 0; j < CHANNELS; j++) {
            bytes[i * CHANNELS + j] = (int8_t)draw();
            ((int8_t *)halves)[i * 34 + 2 + j] = bytes[i * CHANNELS + j];
        }
    }
    device_open(devices[_i]);
    attend(&one, q, halves, NULL, a);
    attend(&other, q, bytes, scales, b);
    ck_assert_mem_eq(a, b, sizeof a);
    device_close();
}

/* ---- check ---------------------------------------------------------------------------- */

static void expect(heed_attn_desc *desc, heed_status status, const char *field, int64_t wanted,
                   int64_t got)
{
    heed_report report = { .size = sizeof report };

    ck_assert_int_eq(heed_attn_check(on.device, desc, &report), status);
    ck_assert_str_eq(report.field, field);
    ck_assert_int_eq(report.wanted, wanted);
    ck_assert_int_eq(report.got, got);
}

TEST(cut_blocks_are_refused)
{
    const int64_t rows = KEYS;
    heed_source source = { .layout = 0 };
    heed_attn_desc desc = attention_of(&source, HEED_Q8_0, HEED_Q4_1);
    heed_slot slot = { .t = heed_array_dense(HEED_F16, NULL, 1, &rows).t };

    device_open("reference");
    expect(&desc, HEED_OK, "", 0, 0);
    source.k.shape[3] = desc.q.shape[3] = 40;
    expect(&desc, HEED_E_SHAPE, "sources[0].k.shape[3]", 32, 40);
    source.k.shape[3] = desc.q.shape[3] = 32;
    source.v.stride[3] = 2;
    expect(&desc, HEED_E_STRIDE, "sources[0].v.stride[3]", 1, 2);
    source.v.stride[3] = 1;
    source.v.stride[2] = INT64_MAX / 1000;
    expect(&desc, HEED_E_OVERFLOW, "sources[0].v.stride", INT64_MAX, 0);
    source.v.stride[2] = 1;
    desc.slots = &slot;
    desc.n_slots = 1;
    source.k_scale_slot = 1;
    expect(&desc, HEED_E_VALUE, "sources[0].k_scale_slot", 0, 1);
    source.k_scale_slot = 0;
    desc.n_slots = 0;
    desc.q.dtype = HEED_Q8_0;
    expect(&desc, HEED_E_DTYPE, "q.dtype", HEED_F32, HEED_Q8_0);
    device_close();
}

LOOP_TEST(pairs_of_types_that_copy_takes, TYPES * TYPES)
{
    const uint32_t x = types[_i / TYPES], y = types[_i % TYPES];
    heed_copy_desc desc = { .size = sizeof desc,
                            .x = heed_array4(x, NULL, 1, 1, 3, 32).t,
                            .y = heed_array4(y, NULL, 1, 1, 3, 32).t };

    device_open("reference");
    ck_assert_int_eq(heed_copy_check(on.device, &desc, NULL), x == y ? HEED_OK : HEED_E_DTYPE);
    desc.x.dtype = HEED_F16;
    desc.x.stride[2] = 32;
    ck_assert_int_eq(heed_copy_check(on.device, &desc, NULL),
                     y == HEED_Q8_0 || y == HEED_Q4_0 ? HEED_OK : HEED_E_DTYPE);
    desc.x = heed_array4(x, NULL, 1, 1, 3, 32).t;
    desc.y = heed_array4(HEED_F8E4M3, NULL, 1, 1, 3, 32).t;
    ck_assert_int_eq(heed_copy_check(on.device, &desc, NULL), HEED_E_DTYPE);
    desc.y.dtype = HEED_BF16;
    ck_assert_int_eq(heed_copy_check(on.device, &desc, NULL), HEED_OK);
    device_close();
}

/* What strides count, in places and in bytes. */
TEST(strides_count_blocks)
{
    const heed_array a = heed_array4(HEED_Q4_0, NULL, 2, 3, 5, 96);
    const int64_t shape[] = { 7, 64 };
    const heed_array b = heed_array_dense(HEED_Q8_0, NULL, 2, shape);

    ck_assert(a.t.stride[3] == 1 && a.t.stride[2] == 3 && a.t.stride[1] == 15);
    ck_assert(a.t.stride[0] == 45 && b.t.stride[1] == 1 && b.t.stride[0] == 2);
}

int main(void)
{
    return suite_run("blocks", 0, NULL, NULL);
}
