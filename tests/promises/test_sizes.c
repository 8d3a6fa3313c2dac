/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sizes: offsets beyond 2^31 and 2^33 elements in memory that is reserved and touched at a few
 * rows, key counts beyond 2^31, and extents whose products are too large.
 */
#include "golden/build.h"
#include "work.h"
#include "support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if !defined MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

enum { WIDE = sizeof(void *) == 8 };

/* Address space for `bytes`, or NULL where the system gives none. */
static char *reserve(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* ---- far strides ---- */

enum { F_B = 2, F_H = 2, F_N = 3, F_D = 2, F_ARRAYS = 7 };
enum { F_Q, F_K, F_V, F_O, F_LSE, F_MASK, F_BIAS };

static const struct far_array {
    const char *name;
    uint32_t dtype, ndim;
    int64_t shape[4];
} far_arrays[F_ARRAYS] = {
    { "q", HEED_F16, 4, { F_B, F_H, F_N, F_D } }, { "k", HEED_BF16, 4, { F_B, F_H, F_N, F_D } },
    { "v", HEED_F16, 4, { F_B, F_H, F_N, F_D } }, { "o", HEED_BF16, 4, { F_B, F_H, F_N, F_D } },
    { "lse", HEED_F32, 3, { F_B, F_H, F_N } },    { "mask", HEED_U8, 3, { F_B, F_H, F_N } },
    { "bias", HEED_F16, 4, { F_B, F_H, F_N, F_N } },
};

/* An array whose axis `axis` has stride `far`, the others being dense. */
struct placed {
    heed_tensor t;
    char *base;
};

static struct placed place_array(const struct far_array *a, char *map, int axis, int64_t far)
{
    struct placed p = { .t = { .dtype = a->dtype, .ndim = a->ndim }, .base = map };
    int64_t size = 1;

    for (uint32_t i = a->ndim; i-- > 0; size *= a->shape[i]) {
        p.t.shape[i] = a->shape[i];
        p.t.stride[i] = (int)i == axis ? far : size;
    }
    if (axis >= 0 && far < 0)
        p.base += (size_t)(-far * (a->shape[axis] - 1)) * golden_size_of(a->dtype);
    return p;
}

/* Copies element by element to, or from, a dense array. */
static void spread(const struct far_array *a, const struct placed *p, char *dense, int back)
{
    const size_t size = golden_size_of(a->dtype);
    int64_t at[4] = { 0 }, n = 1;

    for (uint32_t i = 0; i < a->ndim; i++)
        n *= a->shape[i];
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, offset = 0;

        for (uint32_t x = a->ndim; x-- > 0; rest /= a->shape[x]) {
            at[x] = rest % a->shape[x];
            offset += at[x] * p->t.stride[x];
        }
        if (back)
            memcpy(dense + (size_t)i * size, p->base + offset * (int64_t)size, size);
        else
            memcpy(p->base + offset * (int64_t)size, dense + (size_t)i * size, size);
    }
}

enum { F_BYTES = F_B * F_H * F_N * F_N * 4 };

static void values_fill(char dense[F_ARRAYS][F_BYTES])
{
    for (int a = 0; a < F_ARRAYS; a++) {
        for (size_t i = 0; i < F_BYTES / 2; i++) {
            const uint16_t sign = (uint16_t)((i * 7 + (size_t)a) % 3 == 0 ? 0x8000 : 0);
            const uint16_t bits = far_arrays[a].dtype == HEED_F16
                                      ? (uint16_t)(0x3800 + (i * 37 + 11 * (size_t)a) % 0x400)
                                      : (uint16_t)(0x3f00 + (i * 37 + 11 * (size_t)a) % 0x80);
            const uint16_t value = sign | bits;

            memcpy(dense[a] + 2 * i, &value, 2);
        }
    }
    for (size_t i = 0; i < F_BYTES; i++)
        dense[F_MASK][i] = i % 5 != 2;
}

/* Runs with array `which` placed far; o and lse come back dense. */
static void far_run(const struct place *p, char dense[F_ARRAYS][F_BYTES], int which, int axis,
                    int64_t far, char *maps[F_ARRAYS])
{
    struct placed at[F_ARRAYS];
    const heed_bias bias = { .kind = HEED_BIAS_DENSE, .t = 2 };
    heed_source source = { .mask_slot = 1, .biases = &bias, .n_biases = 1,
                           .bias_size = sizeof(bias) };
    heed_slot slots[2];
    heed_attn_desc desc = { .size = sizeof(desc), .flags = HEED_ATTN_ALIGN_START,
                            .sources = &source, .n_sources = 1, .source_size = sizeof(source),
                            .slots = slots, .n_slots = 2, .slot_size = sizeof(slots[0]) };
    heed_attn_args args = { .size = sizeof(args), .kv_size = sizeof(heed_kv_bufs), .n_slots = 2 };
    heed_kv_bufs kv;
    heed_buf bufs[2];

    for (int a = 0; a < F_ARRAYS; a++) {
        at[a] = place_array(&far_arrays[a], maps[a], a == which ? axis : -1, far);
        spread(&far_arrays[a], &at[a], dense[a], 0);
    }
    memset(slots, 0, sizeof(slots));
    desc.q = at[F_Q].t;
    desc.o = at[F_O].t;
    desc.lse = at[F_LSE].t;
    source.k = at[F_K].t;
    source.v = at[F_V].t;
    slots[0].t = at[F_MASK].t;
    slots[1].t = at[F_BIAS].t;
    args.q.handle = at[F_Q].base;
    args.o.handle = at[F_O].base;
    args.lse.handle = at[F_LSE].base;
    kv.k = (heed_buf){ at[F_K].base, 0 };
    kv.v = (heed_buf){ at[F_V].base, 0 };
    bufs[0] = (heed_buf){ at[F_MASK].base, 0 };
    bufs[1] = (heed_buf){ at[F_BIAS].base, 0 };
    args.kv = &kv;
    args.slots = bufs;
    place_run(p, &desc, args);
    spread(&far_arrays[F_O], &at[F_O], dense[F_O], 1);
    spread(&far_arrays[F_LSE], &at[F_LSE], dense[F_LSE], 1);
}

LOOP_TEST(strides_beyond_31_and_33_bits, WIDE ? place_count() : 0)
{
    static const int64_t fars[] = { (INT64_C(1) << 31) + 3, -(INT64_C(1) << 31) - 5,
                                    (INT64_C(1) << 33) + 7, -(INT64_C(1) << 33) - 9 };
    const size_t most = (size_t)1 << 37;
    static char want[F_ARRAYS][F_BYTES], got[F_ARRAYS][F_BYTES], small[F_ARRAYS][F_BYTES];
    char *near[F_ARRAYS], *maps[F_ARRAYS];
    struct place p, reference;

    if (!place_open(&p, place_name(_i), NULL))
        return;
    ck_assert(place_open(&reference, "reference", NULL));
    for (int a = 0; a < F_ARRAYS; a++)
        near[a] = small[a];
    values_fill(want);
    memcpy(got, want, sizeof(want));
    far_run(&reference, want, -1, -1, 0, near);
    for (size_t f = 0; f < sizeof(fars) / sizeof(fars[0]); f++) {
        for (int a = 0; a < F_ARRAYS; a++) {
            for (int axis = 0; axis < (int)far_arrays[a].ndim; axis++) {
                char *map = reserve(most);

                ck_assert_msg(map != NULL, "no address space");
                memcpy(maps, near, sizeof(near));
                maps[a] = map;
                memset(got[F_O], 0x55, F_BYTES);
                memset(got[F_LSE], 0x55, F_BYTES);
                far_run(&p, got, a, axis, fars[f], maps);
                ck_assert_msg(memcmp(got[F_O], want[F_O], F_B * F_H * F_N * F_D * 2) == 0 &&
                                  memcmp(got[F_LSE], want[F_LSE], F_B * F_H * F_N * 4) == 0,
                              "%s: %s, axis %d, stride %lld", place_name(_i), far_arrays[a].name,
                              axis, (long long)fars[f]);
                munmap(map, most);
            }
        }
    }
    place_close(&reference);
    place_close(&p);
}

/* ---- many keys ---- */

enum { L_Q = 3, L_SMALL = 2048 + 1003 };

/* The same few keys at the end of a long source and of a short one, both cut alike into blocks:
 * the same bits. how 0: K and V of stride 0, a window; 1: the same with rows of their own; 2:
 * LISTED runs; 3: a causal window; 4: a length that leaves few of many keys. */
struct long_case {
    int64_t n_k;
    int how;
};

static void long_run(const struct place *p, const struct long_case *c, char *map, int64_t row,
                     uint16_t *o, float *lse)
{
    static uint16_t q[L_Q * 2];
    static const int64_t length[1] = { 2048 + 1003 };
    int32_t list[4] = { (int32_t)((c->n_k - 900) / 4), (int32_t)((c->n_k - 9) / 4), -1,
                        (int32_t)((c->n_k - 600) / 4) };
    const heed_term see[] = { { .kind = HEED_TERM_WINDOW, .left = 700, .right = 2 } };
    heed_source source = { .k = { HEED_F16, 3, { 1, c->n_k, 2 }, { 0, row, 1 } },
                           .terms = see, .n_terms = 1, .term_size = sizeof(see[0]) };
    heed_slot slots[2];
    heed_attn_desc desc = { .size = sizeof(desc), .flags = HEED_ATTN_ALIGN_END, .n_sources = 1,
                            .q = { HEED_F16, 3, { 1, L_Q, 2 }, { 0, 2, 1 } },
                            .o = { HEED_F16, 3, { 1, L_Q, 2 }, { 0, 2, 1 } },
                            .lse = { HEED_F32, 2, { 1, L_Q }, { 0, 1 } },
                            .sources = &source, .source_size = sizeof(source), .slots = slots,
                            .n_slots = 2, .slot_size = sizeof(slots[0]) };
    heed_kv_bufs kv = { { map, 0 }, { map, 2 } };
    heed_buf bufs[2] = { { list, 0 }, { (void *)(uintptr_t)length, 0 } };
    const heed_attn_args args = { .size = sizeof(args), .kv_size = sizeof(kv), .q = { q, 0 },
                            .o = { o, 0 }, .lse = { lse, 0 }, .kv = &kv, .slots = bufs,
                            .n_slots = 2 };

    for (int i = 0; i < L_Q * 2; i++)
        q[i] = (uint16_t)(0x3800 + 71 * i);
    memset(slots, 0, sizeof(slots));
    slots[0].t = (heed_tensor){ HEED_I32, 3, { 1, 1, 4 }, { 0, 0, 1 } };
    slots[1].t = (heed_tensor){ HEED_I64, 1, { 1 }, { 0 } };
    source.v = source.k;
    if (c->how == 2) {
        source.n_terms = 0;
        source.layout = HEED_LAYOUT_LISTED;
        source.slot = 1;
        source.run = 4;
        source.rows = L_Q;
    }
    if (c->how == 3)
        source.flags = HEED_SOURCE_CAUSAL;
    if (c->how == 4) {
        source.len_slot = 2;
        source.n_terms = 0;
    }
    ck_assert_uint_lt(place_run(p, &desc, args), 1 << 24);
}

/* Values of the last keys, counted from a multiple of 1024 near the end. */
static void tail_fill(char *map, int64_t n_k, int64_t row)
{
    for (int64_t key = n_k - 2000; key < n_k; key++) {
        for (int64_t t = 0; t < 3; t++) {
            const uint16_t bits = (uint16_t)(0x3400 + ((key - n_k + 4000) * 29 + t * 311) % 0x800);

            memcpy(map + 2 * (key * row + t), &bits, sizeof(bits));
        }
    }
}

LOOP_TEST(keys_beyond_31_and_33_bits, WIDE ? place_count() : 0)
{
    static const int64_t shifts[] = { INT64_C(1) << 31, INT64_C(1) << 32, INT64_C(1) << 33 };
    struct place p;

    if (!place_open(&p, place_name(_i), NULL))
        return;
    for (int how = 0; how < 5; how++) {
        for (size_t s = 0; s < sizeof(shifts) / sizeof(shifts[0]); s++) {
            const int64_t row = how == 0 || how == 4 ? 0 : 4;
            const struct long_case c = { .n_k = shifts[s] + L_SMALL, .how = how };
            const struct long_case few = { .n_k = L_SMALL, .how = how };
            const size_t bytes = row ? (size_t)c.n_k * 8 + 8 : 4096;
            char *map, *near = calloc(L_SMALL + 1, 8);
            uint16_t o[2][L_Q * 2];
            float lse[2][L_Q];

            /* Runs are named by 31 bits; the reference asks each key whether it is seen. */
            if ((how == 2 && s == 2) || (_i == 0 && how != 2 && how != 4) ||
                !suite_turn((size_t)(how + _i) + s, 3)) {
                free(near);
                continue;
            }
            map = reserve(bytes);
            ck_assert(map != NULL && near != NULL);
            if (row) {
                tail_fill(map, c.n_k, row);
                tail_fill(near, few.n_k, row);
            } else {
                for (int t = 0; t < 3; t++)
                    ((uint16_t *)(void *)map)[t] = ((uint16_t *)(void *)near)[t] =
                        (uint16_t)(0x3500 + 99 * t);
            }
            long_run(&p, &c, map, row, o[0], lse[0]);
            long_run(&p, &few, near, row, o[1], lse[1]);
            ck_assert_msg(memcmp(o[0], o[1], sizeof(o[0])) == 0 &&
                              memcmp(lse[0], lse[1], sizeof(lse[0])) == 0,
                          "%s: %lld keys, way %d", place_name(_i), (long long)c.n_k, how);
            ck_assert(lse[0][0] == lse[0][0] && lse[0][0] > -INFINITY);
            munmap(map, bytes);
            free(near);
        }
    }
    place_close(&p);
}

/* ---- too large ---- */

/* One head of `rows` rows of d channels; what check and plan answer. */
static heed_status wide_plan(const struct place *p, int64_t rows, int64_t d, heed_plan **plan,
                             heed_report *why)
{
    const heed_tensor wide = { HEED_F32, 3, { 1, rows, d }, { 0, 0, 1 } };
    heed_source source = { .k = wide, .v = wide };
    heed_attn_desc desc = { .size = sizeof(desc), .q = wide, .o = wide, .sources = &source,
                            .n_sources = 1, .source_size = sizeof(source) };
    const heed_status status = heed_attn_plan(p->device, &desc, plan, why);

    ck_assert_int_eq(why->status, status);
    ck_assert_int_eq(status < 0, why->message[0] != 0);
    ck_assert_int_eq(heed_attn_check(p->device, &desc, why), status);
    ck_assert_int_eq(why->status, status);
    return status;
}

/* A device may refuse, by check as by plan, what it cannot number; below that, the plan says what
 * it would need. The reference refuses no size, whether there are rows or not: other devices'
 * answers are compared with its. */
LOOP_TEST(workspace_beyond_the_address_space_is_refused, 2 * place_count())
{
    const char *const name = place_name(_i / 2);
    const bool reference = strcmp(name, "reference") == 0;
    const int64_t rows = _i % 2;
    int planned = 0, refused = 0;
    struct place p;

    if (!place_open(&p, name, NULL))
        return;
    for (int bits = 0; bits <= 60; bits++) {
        heed_plan_props props = { .size = sizeof(props) };
        heed_report why = { .size = sizeof(why) };
        heed_plan *plan = NULL;
        const heed_status status = wide_plan(&p, rows, INT64_C(1) << bits, &plan, &why);

        if (status == HEED_OK) {
            ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
            ck_assert_uint_lt(props.workspace_size, (uint64_t)1 << 63);
            if (reference)
                ck_assert_uint_ge(props.workspace_size, (uint64_t)rows << bits);
            ck_assert_int_eq(refused, 0);
            planned++;
        } else {
            ck_assert_int_eq(status, HEED_E_UNSUPPORTED);
            ck_assert_ptr_nonnull(strstr(why.message, "more than the device can number"));
            ck_assert_ptr_null(plan);
            refused++;
        }
        heed_plan_drop(plan);
    }
    ck_assert_int_ge(planned, 28);
    if (reference)
        ck_assert_int_eq(refused, 0);
    place_close(&p);
}

int main(void)
{
    return suite_run("sizes", 240, NULL, NULL);
}
