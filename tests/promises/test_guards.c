/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Not a byte beyond the arrays: every array of a run lies flush against an inaccessible page, once
 * at its end and once at its start, and keys that no item has lie in inaccessible pages.
 */
#include "golden/build.h"
#include "support/suite.h"
#include "op_work.h"
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ARRAYS = 64 };

/* Arrays between inaccessible pages. */
struct guarded {
    int at_end; /* flush with the page behind, else with the page before */
    int n;
    struct {
        void *start;
        size_t bytes;
    } maps[ARRAYS];
};

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static heed_buf guard(void *context, const void *bytes, size_t n, size_t element)
{
    struct guarded *g = context;
    const size_t page = page_size(), whole = (n + page - 1) / page * page;
    char *start = mmap(NULL, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *at = start + page + (g->at_end ? whole - n : 0);
    heed_buf buf = { .handle = at };

    (void)element;
    ck_assert_ptr_ne(start, MAP_FAILED);
    ck_assert_int_lt(g->n, ARRAYS);
    if (whole != 0)
        ck_assert_int_eq(mprotect(start + page, whole, PROT_READ | PROT_WRITE), 0);
    if (n != 0)
        memcpy(at, bytes, n);
    g->maps[g->n].start = start;
    g->maps[g->n++].bytes = whole + 2 * page;
    return buf;
}

static void guarded_finish(struct guarded *g)
{
    while (g->n-- > 0)
        munmap(g->maps[g->n].start, g->maps[g->n].bytes);
}

/* The workspace is an array as any other. */
static void run_guarded(struct work *w, const struct place *p, int at_end, const char *how)
{
    struct guarded g = { .at_end = at_end };
    struct golden saved = w->g;
    heed_plan *plan = work_plan(w, p, 0);
    struct space space;
    struct space moved;

    work_move(w, guard, &g);
    space_start(&space, plan);
    moved = space;
    if (!at_end || space.bytes % 64 == 0)
        moved.buf = guard(&g, (char *)space.buf.handle + space.buf.offset, (size_t)space.bytes, 1);
    work_run(w, p, plan, &moved, how);
    space_finish(&space);
    guarded_finish(&g);
    heed_plan_drop(plan);
    work_return(w, &saved);
}

static void places_try(struct work *w, struct place *places, const int *open)
{
    for (int i = 0; i < place_count(); i++) {
        for (int at_end = 0; at_end < 2 && open[i]; at_end++)
            run_guarded(w, &places[i], at_end, at_end ? "guard behind" : "guard before");
    }
}

static void places_open(struct place *places, int *open)
{
    const heed_executor e = width_of(2);

    for (int i = 0; i < place_count(); i++)
        open[i] = place_open(&places[i], place_name(i), &e);
}

static void places_close(struct place *places, const int *open)
{
    for (int i = 0; i < place_count(); i++) {
        if (open[i])
            place_close(&places[i]);
    }
}

LOOP_TEST(cases_stay_inside_their_arrays, 4)
{
    struct place places[MAX_PLACES];
    int open[MAX_PLACES];

    places_open(places, open);
    for (size_t c = (size_t)_i; c < work_count; c += 4) {
        struct work w;

        work_start(&w, c);
        places_try(&w, places, open);
        work_finish(&w);
    }
    places_close(places, open);
}

/* ---- extents around the widths of vectors ---- */

static struct {
    uint32_t dtype;
    int64_t n_q, n_k, d, d_v;
} sizes;

/* Bytes or bits of every row; those of keys that are not there are ones. */
static void sized_rows(struct golden *g, bool bits)
{
    const int64_t entries = bits ? (sizes.n_k + 31) / 32 : sizes.n_k,
                  shape[] = { 1, sizes.n_q, entries };
    unsigned char *keep;

    golden_slot_i64(g, 0, NULL);
    keep = golden_array(g, bits ? HEED_I32 : HEED_U8, sizes.n_q * entries);
    for (int64_t i = 0; i < sizes.n_q * entries * (bits ? 4 : 1); i++)
        keep[i] = i % 5 == 2 ? 0 : 0xf7;
    g->sources[0].row_mask_slot =
        golden_slot_of(g, golden_tensor(bits ? HEED_I32 : HEED_U8, 3, shape), keep);
}

static void sized(struct golden *g)
{
    const int64_t mask_shape[] = { 1, 1, sizes.n_k }, bias_shape[] = { 1, sizes.n_q, sizes.n_k };
    uint8_t *mask;

    golden_query(g, sizes.dtype, 1, 1, sizes.n_q, sizes.d, sizes.d_v);
    golden_source(g, sizes.dtype, 1, 1, sizes.n_k);
    golden_slot_i64(g, 0, NULL); /* so that the next slot is a run-time one */
    mask = golden_array(g, HEED_U8, sizes.n_k);
    for (int64_t i = 0; i < sizes.n_k; i++)
        mask[i] = i % 7 != 3;
    g->sources[0].mask_slot = golden_slot_of(g, golden_tensor(HEED_U8, 3, mask_shape), mask);
    golden_slot_i64(g, 0, NULL);
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_DENSE,
                             .t = golden_slot_floats(g, sizes.dtype, 3, bias_shape, 0) });
    if (sizes.d % 2) /* dense, else a bias by turns */
        g->sources[0].n_biases = 0;
    if (sizes.d_v % 3 == 0)
        return;
    g->sources[0].mask_slot = 0; /* in place of the mask of keys one of rows */
    sized_rows(g, sizes.d_v % 3 == 2);
}

static const int64_t extents[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                   13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
                                   26, 27, 28, 29, 30, 31, 32, 33, 63, 64, 65 };
enum { EXTENTS = sizeof(extents) / sizeof(extents[0]) };

static void size_try(struct place *places, const int *open, uint64_t seed)
{
    static const struct golden_case c = { "sized", sized };
    struct work w;
    char how[96];

    work_start_case(&w, &c, seed);
    snprintf(how, sizeof(how), "n_q %d n_k %d d %d d_v %d dtype %u", (int)sizes.n_q,
             (int)sizes.n_k, (int)sizes.d, (int)sizes.d_v, (unsigned)sizes.dtype);
    w.name = how;
    places_try(&w, places, open);
    work_finish(&w);
}

/* Each of n_q, n_k, d, d_v takes every extent, the others being odd ones. */
LOOP_TEST(tails_stay_inside_their_arrays, 4)
{
    struct place places[MAX_PLACES];
    int open[MAX_PLACES];

    places_open(places, open);
    for (uint32_t dtype = HEED_F32; dtype <= HEED_BF16; dtype++) {
        for (int e = 0; e < EXTENTS; e++) {
            int64_t which[4] = { 3, 67, 5, 7 };

            if (!suite_turn((size_t)e + dtype, 2))
                continue;
            which[_i] = extents[e];
            sizes.dtype = dtype;
            sizes.n_q = which[0];
            sizes.n_k = which[1];
            sizes.d = which[2];
            sizes.d_v = which[3];
            size_try(places, open, (uint64_t)e + 1);
            sizes.d = extents[EXTENTS - 1 - e]; /* and against each other */
            size_try(places, open, (uint64_t)e + 1);
        }
    }
    places_close(places, open);
}

/* ---- operations with fixed arrays ---- */

static void op_run_guarded(const struct op_work *w, const struct place *p, int at_end)
{
    struct guarded g = { .at_end = at_end };
    heed_plan *plan = NULL;
    struct op_run *run;

    ck_assert_msg(op_work_plan(w, p->device, 0, &plan) >= 0, "%s", op_work_line(w));
    run = op_run_start(w, p->device, p->queue, plan);
    op_run_move(run, guard, &g);
    ck_assert_msg(op_run_go(run, plan, NULL) >= 0, "%s", op_work_line(w));
    ck_assert_msg(op_run_right(run), "%s on %s, guard %s", op_work_line(w),
                  heed_device_name(p->device), at_end ? "behind" : "before");
    op_run_finish(run);
    guarded_finish(&g);
    heed_plan_drop(plan);
}

LOOP_TEST(operations_stay_inside_their_arrays, 4)
{
    struct place places[MAX_PLACES];
    int open[MAX_PLACES];

    places_open(places, open);
    for (int c = _i; c < op_work_count(); c += 4) {
        struct op_work *w = op_work_start(c);

        for (int i = 0; i < place_count(); i++) {
            for (int at_end = 0; at_end < 2 && open[i]; at_end++)
                if (suite_turn((size_t)(c / 4 + i + at_end), 2))
                    op_run_guarded(w, &places[i], at_end);
        }
        op_work_finish(w);
    }
    places_close(places, open);
}

/* A sanitizer takes the fault for its own. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* The guard is one: a byte beyond either end is fatal. */
START_TEST(guards_guard)
{
    struct guarded g = { .at_end = _i };
    const char bytes[100] = "x";
    const heed_buf buf = guard(&g, bytes, sizeof(bytes), 1);

    ((volatile char *)buf.handle)[_i ? 100 : -1] = 1;
    guarded_finish(&g);
}
END_TEST

/* ---- keys that no item has ---- */

enum { K_B = 3, K_N = 640, K_D = 64 };

/* The run with protected memory gives what the other one gave. */
static void keys_judge(const float *o, int64_t n_q, float *want, int protect)
{
    const size_t bytes = (size_t)(K_B * n_q * K_D) * sizeof(float);

    if (protect)
        ck_assert_int_eq(memcmp(o, want, bytes), 0);
    else
        memcpy(want, o, bytes);
}

/* Items of 70, 0 and 130 keys; whole blocks of 64 keys beyond are protected: item by item, or where
 * the items share K and V, beyond the longest. */
static void capacity_try(const struct place *p, int shared, int64_t n_q, float *want, int protect)
{
    static const int32_t lengths[K_B] = { 70, 0, 130 };
    const size_t block = 64 * K_D * sizeof(float), item = K_N * K_D * sizeof(float);
    const int items = shared ? 1 : K_B;
    char *kv = mmap(NULL, 2 * K_B * item, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
    float *q = calloc((size_t)(K_B * n_q * K_D) + 1, sizeof(float));
    float *o = calloc((size_t)(K_B * n_q * K_D) + 1, sizeof(float));
    heed_array ka = heed_array4(HEED_F32, kv, items, 1, K_N, K_D);
    heed_array qa = heed_array4(HEED_F32, q, K_B, 1, n_q, K_D);
    heed_source source = { .k = ka.t, .v = ka.t, .len_slot = 1 };
    heed_slot slot = { .t = { HEED_I32, 1, { K_B }, { 1 } } };
    heed_attn_desc desc = { .size = sizeof(desc), .flags = HEED_ATTN_ALIGN_START, .q = qa.t,
                            .o = qa.t, .sources = &source, .n_sources = 1,
                            .source_size = sizeof(source), .slots = &slot, .n_slots = 1,
                            .slot_size = sizeof(slot) };
    heed_kv_bufs bufs = { .k = { kv, 0 }, .v = { kv, (uint64_t)K_B * item } };
    heed_buf len = { .handle = (void *)(uintptr_t)lengths };
    heed_attn_args args = { .size = sizeof(args), .kv_size = sizeof(bufs), .q = { q, 0 },
                            .o = { o, 0 }, .kv = &bufs, .slots = &len, .n_slots = 1 };

    ck_assert(kv != MAP_FAILED && q != NULL && o != NULL);
    for (int64_t i = 0; i < K_B * n_q * K_D; i++)
        q[i] = (float)(i % 31 - 15) / 16.0f;
    for (size_t i = 0; i < 2 * K_B * item / sizeof(float); i++)
        ((float *)(void *)kv)[i] = (float)(i % 127) / 64.0f - 1.0f;
    for (int half = 0; half < 2 && protect; half++) {
        for (int b = 0; b < items; b++) {
            const size_t keys = shared ? 130 : (size_t)lengths[b];
            const size_t from = (keys + 63) / 64 * block;

            ck_assert_int_eq(mprotect(kv + (size_t)(half * K_B + b) * item + from, item - from,
                                      PROT_NONE),
                             0);
        }
    }
    place_run(p, &desc, args);
    keys_judge(o, n_q, want, protect);
    munmap(kv, 2 * K_B * item);
    free(q);
    free(o);
}

LOOP_TEST(keys_beyond_every_length_are_not_touched, 2 * place_count())
{
    static float want[K_B * 400 * K_D];
    static const int64_t rows[] = { 1, 50, 400 };
    const heed_executor e = width_of(1 + (uint32_t)(_i / place_count()));
    struct place p, reference;

    if (!place_open(&p, place_name(_i % place_count()), &e))
        return;
    ck_assert(place_open(&reference, "reference", NULL));
    for (int shared = 0; shared < 2; shared++) {
        for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
            capacity_try(&reference, shared, rows[r], want, 0);
            capacity_try(&p, shared, rows[r], want, 1);
        }
    }
    place_close(&reference);
    place_close(&p);
}

/* ---- pages that nobody names ---- */

enum { HEAP = 24, TABLE = 8 };

/* Tables name every third page of the heap, or rubbish, as they do everywhere beyond the lengths;
 * all other pages are protected, and the tables end where their memory does. */
static void pages_try(const struct place *p, int64_t n_q, float *want, int protect)
{
    static const int32_t rubbish[] = { -1, HEAP, INT32_MIN, INT32_MAX };
    static const int64_t lengths[K_B] = { 64 * TABLE, 1, 64 * 5 + 3 };
    const size_t page = 64 * K_D * sizeof(float), heap = HEAP * page;
    struct guarded g = { .at_end = 1 };
    int32_t tables[K_B][TABLE];
    char *kv = mmap(NULL, 2 * heap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    float *q = calloc((size_t)(K_B * n_q * K_D) + 1, sizeof(float));
    float *o = calloc((size_t)(K_B * n_q * K_D) + 1, sizeof(float));
    heed_array ka = heed_array4(HEED_F32, kv, HEAP, 1, 64, K_D);
    heed_array qa = heed_array4(HEED_F32, q, K_B, 1, n_q, K_D);
    heed_source source = { .k = ka.t, .v = ka.t, .layout = HEED_LAYOUT_PAGED, .slot = 2,
                           .len_slot = 1 };
    heed_slot slots[2] = { { .t = { HEED_I64, 1, { K_B }, { 1 } } },
                           { .t = { HEED_I32, 2, { K_B, TABLE }, { TABLE, 1 } } } };
    heed_attn_desc desc = { .size = sizeof(desc), .flags = HEED_ATTN_ALIGN_START, .q = qa.t,
                            .o = qa.t, .sources = &source, .n_sources = 1,
                            .source_size = sizeof(source), .slots = slots, .n_slots = 2,
                            .slot_size = sizeof(slots[0]) };
    heed_kv_bufs bufs = { .k = { kv, 0 }, .v = { kv, heap } };
    heed_buf arrays[2];
    heed_attn_args args = { .size = sizeof(args), .kv_size = sizeof(bufs), .q = { q, 0 },
                            .o = { o, 0 }, .kv = &bufs, .slots = arrays, .n_slots = 2 };

    ck_assert(kv != MAP_FAILED && q != NULL && o != NULL);
    for (int64_t i = 0; i < K_B * n_q * K_D; i++)
        q[i] = (float)(i % 31 - 15) / 16.0f;
    for (size_t i = 0; i < 2 * heap / sizeof(float); i++)
        ((float *)(void *)kv)[i] = (float)(i % 127) / 64.0f - 1.0f;
    for (int i = 0; i < K_B * TABLE; i++)
        tables[i / TABLE][i % TABLE] = i % TABLE * 64 >= lengths[i / TABLE] || i % 7 == 5
                                           ? rubbish[i % 4]
                                           : i * 5 % (HEAP / 3) * 3;
    arrays[0] = guard(&g, lengths, sizeof(lengths), 8);
    arrays[1] = guard(&g, tables, sizeof(tables), 4);
    for (int i = 0; i < 2 * HEAP && protect; i++) {
        if (i % HEAP % 3 != 0)
            ck_assert_int_eq(mprotect(kv + (size_t)i * page, page, PROT_NONE), 0);
    }
    place_run(p, &desc, args);
    keys_judge(o, n_q, want, protect);
    guarded_finish(&g);
    munmap(kv, 2 * heap);
    free(q);
    free(o);
}

LOOP_TEST(pages_that_no_table_names_are_not_touched, 2 * place_count())
{
    static float want[K_B * 400 * K_D];
    static const int64_t rows[] = { 1, 50, 400 };
    const heed_executor e = width_of(1 + (uint32_t)(_i / place_count()));
    struct place p, reference;

    if (!place_open(&p, place_name(_i % place_count()), &e))
        return;
    ck_assert(place_open(&reference, "reference", NULL));
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        pages_try(&reference, rows[r], want, 0);
        pages_try(&p, rows[r], want, 1);
    }
    place_close(&reference);
    place_close(&p);
}

int main(void)
{
    TCase *tests = tcase_create("pages");
    SRunner *runner = srunner_create(NULL);

    if (page_size() > 64 * K_D * sizeof(float)) {
        puts("skipped: pages are larger than a block of keys");
        return 77;
    }
    tcase_set_timeout(tests, 240);
#if !SANITIZED
    if (srunner_fork_status(runner) == CK_FORK)
        tcase_add_loop_test_raise_signal(tests, guards_guard, 11, 0, 2);
#else
    (void)guards_guard;
#endif
    srunner_free(runner);
    return suite_run_case("guards", tests);
}
