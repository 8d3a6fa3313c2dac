/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Constant slots of any strides: overlapping, reversed, repeated, with gaps. They are judged as
 * their dense copies are, and what a constant costs is what is stored of it, not how many indices
 * lead there.
 */
#include "lib/ops/attn/check.h"
#include "support/suite.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { N_Q = 3 };

static heed_tensor tensor(uint32_t dtype, uint32_t ndim, int64_t a, int64_t b, int64_t c)
{
    const int64_t shape[3] = { a, b, c };
    heed_tensor t = { .dtype = dtype, .ndim = ndim };
    int64_t stride = 1;

    for (uint32_t i = ndim; i-- > 0; stride *= shape[i]) {
        t.shape[i] = shape[i];
        t.stride[i] = stride;
    }
    return t;
}

/* splitmix64 (Steele, Lea and Flood 2014). */
static int64_t draw(uint64_t *state, int64_t low, int64_t high)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return low + (int64_t)((z ^ z >> 31) % (uint64_t)(high - low + 1));
}

/* Lists, ranges and runs for 3 items. */
static const struct {
    heed_term term;
    uint32_t layout, ndim;
    int64_t shape[4];
} judged[] = {
    { { .kind = HEED_TERM_GLOBAL, .slot = 1 }, HEED_LAYOUT_DENSE, 2, { 3, 4 } },
    { { .kind = HEED_TERM_GLOBAL, .slot = 1, .flags = HEED_TERM_KEYS | HEED_TERM_ROWS },
      HEED_LAYOUT_DENSE, 2, { 3, 2 } },
    { { .kind = HEED_TERM_SEGMENT, .slot = 1 }, HEED_LAYOUT_DENSE, 3, { 3, N_Q, 2 } },
    { { .kind = HEED_TERM_ALL }, HEED_LAYOUT_LISTED, 4, { 3, 1, N_Q, 3 } },
};
enum { JUDGED = sizeof(judged) / sizeof(*judged) };

static heed_status judge(size_t kind, const heed_slot *slot)
{
    const heed_tensor q = { HEED_F32, 4, { 3, 1, N_Q, 1 }, { N_Q, N_Q, 1, 1 } };
    const heed_tensor k = { HEED_F32, 3, { 1, 9, 1 }, { 9, 1, 1 } };
    const heed_source source = { .k = k, .v = k, .layout = judged[kind].layout,
                                 .slot = judged[kind].layout == HEED_LAYOUT_LISTED,
                                 .terms = &judged[kind].term, .n_terms = 1,
                                 .term_size = sizeof(heed_term) };
    const heed_attn_desc d = { .size = sizeof(d), .q = q, .o = q, .sources = &source,
                               .n_sources = 1, .source_size = sizeof(source), .slots = slot,
                               .n_slots = 1, .slot_size = sizeof(*slot) };
    const struct heed_checked *out = NULL;
    struct heed_arena arena;
    heed_status status;

    heed_arena_init(&arena, NULL);
    status = heed_check_attn(&d, &arena, &out, NULL);
    heed_arena_finish(&arena);
    return status;
}

/* An array that overlaps itself is walked by what is stored: the answer must be that of a dense
 * copy, in which every index has an entry of its own. */
TEST(views_are_judged_like_their_dense_copies)
{
    uint64_t state = 11;
    int met[2] = { 0, 0 };

    for (int n = 0; n < 40000; n++) {
        const size_t kind = (size_t)n % JUDGED;
        int32_t from[64], to[64];
        heed_slot slot = { { .dtype = HEED_I32, .ndim = judged[kind].ndim }, NULL };
        int64_t index[4] = { 0 }, dense[4], size = 1;
        heed_status want;

        for (int i = 0; i < 64; i++)
            from[i] = (int32_t)(draw(&state, 0, 20) == 0 ? draw(&state, -2, 9) : i / 3 - 6);
        for (uint32_t i = judged[kind].ndim; i-- > 0; size *= judged[kind].shape[i]) {
            slot.t.shape[i] = judged[kind].shape[i];
            slot.t.stride[i] = draw(&state, -2, 3);
            dense[i] = size;
        }
        for (int64_t i = 0; i < size; i++) {
            int64_t at = 32;

            for (uint32_t a = 0; a < judged[kind].ndim; a++) {
                index[a] = i / dense[a] % judged[kind].shape[a];
                at += index[a] * slot.t.stride[a];
            }
            to[i] = from[at];
        }
        slot.data = from + 32;
        want = judge(kind, &slot);
        slot.data = to;
        memcpy(slot.t.stride, dense, sizeof(dense));
        ck_assert_msg(judge(kind, &slot) == want, "case %d: %d of the view", n, (int)want);
        met[want < 0]++;
    }
    ck_assert_int_gt(met[0], 4000);
    ck_assert_int_gt(met[1], 4000);
}

/* 8 KB that 2^36 indices lead to: each entry is looked at once, and a fault is found wherever it is
 * stored, but not where no index leads. */
TEST(what_is_stored_is_validated_not_every_path_to_it)
{
    enum { LONG = 512, LAST = 4 * (LONG - 1) };
    static int32_t list[2 * LAST + 3];
    const heed_tensor q = { HEED_F32, 6, { LONG, LONG, LONG, 1, 1, 1 },
                            { LONG * LONG, LONG, 1, 1, 1, 1 } };
    const heed_tensor k = tensor(HEED_F32, 3, 1, 2 * LAST + 3, 1);
    const heed_term term = { .kind = HEED_TERM_GLOBAL, .slot = 1 };
    heed_slot slot = { { HEED_I32, 4, { LONG, LONG, LONG, LONG }, { 1, 1, 1, 1 } }, list };
    heed_source source = { .k = k, .v = k, .terms = &term, .n_terms = 1,
                           .term_size = sizeof(term) };
    const heed_attn_desc d = { .size = sizeof(d), .q = q, .o = q, .sources = &source,
                               .n_sources = 1, .source_size = sizeof(source), .slots = &slot,
                               .n_slots = 1, .slot_size = sizeof(slot) };
    heed_report why = { .size = sizeof(why) };
    heed_device *device = NULL;
    heed_runtime *rt = NULL;

    ck_assert_int_eq(heed_runtime_create(NULL, &rt, NULL), HEED_OK);
    ck_assert_int_eq(heed_device_find(rt, "reference", &device, NULL), HEED_OK);
    for (int i = 0; i < 2 * LAST + 3; i++)
        list[i] = i;
    ck_assert_msg(heed_attn_check(device, &d, &why) == HEED_OK, "%s", why.message);
    list[LAST - 1] = LAST - 2;
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_E_INDEX);
    ck_assert_int_eq(why.wanted, LAST - 1);
    ck_assert_int_eq(why.got, LAST - 2);
    list[LAST - 1] = LAST - 1;
    list[LAST + 1] = -7;                    /* no list reaches it */
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_OK);
    list[LAST] = -1;                        /* the last list may end so */
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_OK);
    list[LAST - LONG] = -1;                 /* others may not go on after their end */
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_E_INDEX);
    /* LISTED: even entries are named, backwards; the others may be anything. */
    for (int i = 0; i < 2 * LAST + 3; i++)
        list[i] = i % 2 ? INT32_MAX : i;
    slot.t = (heed_tensor){ HEED_I32, 6, { LONG, LONG, LONG, 1, 1, LONG },
                            { -2, -2, -2, 0, 0, 2 } };
    slot.data = list + 6 * (LONG - 1);
    source.n_terms = 0;
    source.layout = HEED_LAYOUT_LISTED;
    source.slot = 1;
    ck_assert_msg(heed_attn_check(device, &d, &why) == HEED_OK, "%s", why.message);
    list[2 * LAST] = 2 * LAST + 3;          /* the highest one that is reached: no such key */
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_E_INDEX);
    list[2 * LAST] = -1;
    list[0] = -2;
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_E_INDEX);
    /* Sequences pair two arrays, so there is nothing to mark: so many of them are refused. */
    memset(list, 0, sizeof(list));
    slot.data = list;
    slot.t = (heed_tensor){ HEED_I32, 3, { LONG, LONG, LONG }, { 1, 1, 1 } };
    source.layout = HEED_LAYOUT_RAGGED;
    source.len_slot = 1;
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_E_UNSUPPORTED);
    ck_assert_str_eq(why.field, "sources[0].slot");
    slot.t.stride[0] = slot.t.stride[1] = 0;
    ck_assert_msg(heed_attn_check(device, &d, &why) == HEED_OK, "%s", why.message);
    heed_runtime_destroy(rt);
}

int main(void)
{
    return suite_run("constants", 240, NULL, NULL);
}
