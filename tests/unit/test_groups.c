/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Scales that lie apart by groups of channels: what they are by types in blocks, which have the
 * same numbers within, and what is refused.
 */
#include "support/opened.h"

#include <heed/attn.h>
#include <heed/memory.h>

#include <math.h>
#include <string.h>

enum { KEYS = 90, QUERIES = 5, CHANNELS = 64, BLOCKS = CHANNELS / 32 };

static const char *const devices[] = { "reference", "cpu" };
/* Of the same numbers: within blocks, and apart. */
static const struct pair {
    uint32_t blocks, apart;
    bool minima;
} pairs[] = {
    { HEED_Q8_0, HEED_I8, false },
    { HEED_Q4_0, HEED_I4, false },
    { HEED_Q4_1, HEED_I8, true },
};

static uint64_t state;

static uint32_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static uint16_t half_draw(void)
{
    return (uint16_t)(0x2000 + draw() % 0x1000 + (draw() & 1) * 0x8000);
}

/* Row after row of the same numbers in both ways. */
struct rows {
    uint8_t blocks[KEYS * BLOCKS * 34], apart[KEYS * CHANNELS];
    uint16_t scales[KEYS * BLOCKS * 2];
};

static void block_draw(const struct pair *pair, uint8_t *block, uint8_t *apart, uint16_t *scales)
{
    const int head = pair->minima ? 4 : 2;

    for (int i = 0; i < head / 2; i++) {
        scales[i] = half_draw();
        block[2 * i] = (uint8_t)scales[i];
        block[2 * i + 1] = (uint8_t)(scales[i] >> 8);
    }
    for (int j = 0; j < 32; j++) {
        const uint32_t x = draw();

        if (pair->blocks == HEED_Q8_0) {
            block[head + j] = apart[j] = (uint8_t)x;
            continue;
        }
        block[head + j % 16] |= (uint8_t)((x & 15) << (j < 16 ? 0 : 4));
        if (pair->minima)
            apart[j] = x & 15;
        else /* less 8, in two's complement */
            apart[j / 2] |= (uint8_t)(((x & 15) ^ 8) << (j % 2 ? 4 : 0));
    }
}

static void rows_draw(const struct pair *pair, struct rows *to)
{
    const int per = pair->minima ? 2 : 1, bytes = pair->blocks == HEED_Q8_0 ? 34 : 16 + 2 * per;
    const int row = pair->apart == HEED_I4 ? 16 : 32;

    memset(to, 0, sizeof *to);
    for (int i = 0; i < KEYS * BLOCKS; i++)
        block_draw(pair, to->blocks + i * bytes, to->apart + i * row, to->scales + i * per);
}

static heed_attn_desc attention_of(heed_source *source, uint32_t dtype)
{
    source->k = heed_array4(dtype, NULL, 1, 1, KEYS, CHANNELS).t;
    source->v = heed_array4(dtype, NULL, 1, 1, KEYS, CHANNELS).t;
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

static void attend(const char *name, const heed_attn_desc *desc, void *q, void *rows, void *scales,
                   float *o)
{
    heed_kv_bufs kv = { { .handle = rows }, { .handle = rows } };
    heed_buf slot = { .handle = scales };
    heed_attn_args args = { .size = sizeof args,
                            .kv_size = sizeof kv,
                            .q.handle = q,
                            .o.handle = o,
                            .kv = &kv,
                            .slots = &slot,
                            .n_slots = scales ? 1 : 0 };
    heed_plan *plan = NULL;

    device_open(name);
    ck_assert_int_eq(heed_attn_plan(on.device, desc, &plan, NULL), HEED_OK);
    ck_assert_int_eq(heed_attn_run(plan, on.queue, &args, NULL, NULL), HEED_OK);
    heed_plan_drop(plan);
    device_close();
}

LOOP_TEST(groups_have_the_bits_of_blocks, 6)
{
    static struct rows rows;
    static float q[QUERIES * CHANNELS], a[QUERIES * CHANNELS], b[QUERIES * CHANNELS];
    const struct pair *pair = &pairs[_i / 2];
    const int64_t shape[] = { KEYS, BLOCKS * (pair->minima ? 2 : 1) };
    const uint32_t groups = HEED_SOURCE_K_GROUPS | HEED_SOURCE_V_GROUPS;
    const uint32_t minima = HEED_SOURCE_K_MINIMA | HEED_SOURCE_V_MINIMA;
    heed_source blocks = { .layout = 0 };
    heed_source apart = { .k_scale_slot = 1,
                          .v_scale_slot = 1,
                          .flags = pair->minima ? minima : groups };
    heed_slot slot = { .t = heed_array_dense(HEED_F16, NULL, 2, shape).t };
    heed_attn_desc one = attention_of(&blocks, pair->blocks);
    heed_attn_desc other = attention_of(&apart, pair->apart);

    state = (uint64_t)_i;
    other.slots = &slot;
    other.n_slots = 1;
    for (int i = 0; i < QUERIES * CHANNELS; i++)
        q[i] = (float)(int)(draw() % 2001) / 1000 - 1;
    rows_draw(pair, &rows);
    attend(devices[_i % 2], &one, q, rows.blocks, NULL, a);
    attend(devices[_i % 2], &other, q, rows.apart, rows.scales, b);
    ck_assert(a[0] != a[1] && isfinite(a[0]));
    ck_assert_mem_eq(a, b, sizeof a);
}

/* ---- check ---------------------------------------------------------------------------- */

static void expect(heed_attn_desc *desc, heed_status status, const char *field, int64_t wanted,
                   int64_t got)
{
    heed_report report = { .size = sizeof report };

    ck_assert_int_eq(heed_attn_check(NULL, desc, &report), status);
    ck_assert_str_eq(report.field, field);
    ck_assert_int_eq(report.wanted, wanted);
    ck_assert_int_eq(report.got, got);
}

/* An array of scales of k with so many entries a row. */
static void entries(heed_slot *slot, int64_t n)
{
    slot->t = heed_array_dense(HEED_F16, NULL, 2, (const int64_t[]){ KEYS, n }).t;
}

TEST(groups_that_cannot_be_are_refused)
{
    heed_slot slot = { .data = NULL };
    heed_source source = { .k_scale_slot = 1, .flags = HEED_SOURCE_K_GROUPS };
    heed_attn_desc desc = attention_of(&source, HEED_I4);

    source.v = heed_array4(HEED_F32, NULL, 1, 1, KEYS, CHANNELS).t;
    desc.slots = &slot;
    desc.n_slots = 1;
    for (int64_t n = 1; n <= 2; n++) {
        entries(&slot, n);
        expect(&desc, HEED_OK, "", 0, 0);
    }
    entries(&slot, 3);
    expect(&desc, HEED_E_SHAPE, "slots[0].t.shape[1]", 1, 3);
    entries(&slot, 0);
    expect(&desc, HEED_E_SHAPE, "slots[0].t.shape[1]", 1, 0);
    entries(&slot, 4); /* of 16 channels */
    expect(&desc, HEED_E_UNSUPPORTED, "slots[0].t.shape[1]", 1, 4);
    source.flags = HEED_SOURCE_K_MINIMA;
    expect(&desc, HEED_OK, "", 0, 0);
    entries(&slot, 3);
    expect(&desc, HEED_E_SHAPE, "slots[0].t.shape[1]", 2, 3);
    source.flags = HEED_SOURCE_V_MINIMA;
    expect(&desc, HEED_E_VALUE, "sources[0].flags", 0, HEED_SOURCE_V_MINIMA);
}

TEST(halves_of_bytes_are_pairs)
{
    heed_slot slot = { .t = heed_array_dense(HEED_F32, NULL, 1, (const int64_t[]){ KEYS }).t };
    heed_source source = { .k_scale_slot = 1, .v_scale_slot = 1 };
    heed_attn_desc desc = attention_of(&source, HEED_I4);
    heed_copy_desc copy = { .size = sizeof copy,
                            .x = heed_array4(HEED_F32, NULL, 1, 1, 3, 32).t,
                            .y = heed_array4(HEED_I4, NULL, 1, 1, 3, 32).t };

    desc.slots = &slot;
    desc.n_slots = 1;
    ck_assert_int_eq(source.k.stride[2], CHANNELS / 2);
    expect(&desc, HEED_OK, "", 0, 0);
    source.k.shape[3] = desc.q.shape[3] = 33;
    expect(&desc, HEED_E_SHAPE, "sources[0].k.shape[3]", 2, 33);
    source.k.shape[3] = desc.q.shape[3] = 32;
    source.v_scale_slot = 0;
    expect(&desc, HEED_E_VALUE, "sources[0].v_scale_slot", 1, 0);
    device_open("reference");
    ck_assert_int_eq(heed_copy_check(on.device, &copy, NULL), HEED_E_DTYPE);
    copy.x = copy.y; /* nor is one moved without its scales */
    ck_assert_int_eq(heed_copy_check(on.device, &copy, NULL), HEED_E_DTYPE);
    device_close();
}

int main(void)
{
    return suite_run("groups", 0, NULL, NULL);
}
