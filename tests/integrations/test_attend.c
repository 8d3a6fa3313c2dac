/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * integrations/ggml/attend.h without an engine: results against binary64, bits against the
 * reference, over threads and over splits; memory, threads, refusals.
 */
#include "attend_world.h"
#include "support/ledger.h"
#include "support/suite.h"

#include <pthread.h>
#include <string.h>

/* What is promised of caches whose numbers heed gets as they are: squared error over squared
 * size. */
static const double NEAR = 1e-9;

static heed_report why;

static void set_up(void)
{
    memset(&why, 0, sizeof why);
    why.size = sizeof why;
}

static struct heed_attend *make(const char *device)
{
    const struct heed_attend_options options = { .device = device };
    struct heed_attend *attend = NULL;

    ck_assert_msg(heed_attend_create(&options, &attend, &why) == HEED_OK, "%s: %s", why.field,
                  why.message);
    return attend;
}

static void run(struct heed_attend *attend, struct drawn *w, uint32_t threads)
{
    heed_report report = { .size = sizeof report };
    heed_status status;

    world_forget(w);
    heed_attend_threads(attend, threads);
    ck_assert_int_eq(heed_attend_check(attend, &w->call, &report), HEED_OK);
    status = heed_attend_run(attend, &w->call, &report);
    ck_assert_msg(status == HEED_OK, "%s: %s: %s", heed_status_name(status), report.field,
                  report.message);
}

/* ---- results ------------------------------------------------------------------- */

/* Batch, heads, key heads, rows, keys, d, d_v; types; mask, max_bias, softcap; sinks, permuted,
 * padded, v_in_k, one_mask, one_kv. */
#define F16 HEED_ATTEND_F16
#define Q8 HEED_ATTEND_Q8_0
#define Q1 HEED_ATTEND_Q1_0
static const struct draw draws[] = {
    { 1, 4, 2, 5, 40, 32, 32, F16, F16, MASK_ABSENT, 0, 0, 0, 0, 0, 0, 0, 0 },
    { 1, 4, 2, 5, 40, 32, 64, F16, F16, MASK_ZEROS, 0, 0, 0, 1, 0, 0, 0, 0 },
    { 2, 6, 3, 7, 300, 64, 64, F16, F16, MASK_CAUSAL, 0, 0, 0, 1, 1, 0, 0, 0 },
    { 1, 4, 4, 9, 130, 40, 24, F16, F16, MASK_WINDOW, 0, 0, 1, 1, 0, 0, 0, 0 },
    { 3, 2, 1, 6, 64, 32, 32, F16, F16, MASK_SEQUENCES, 0, 0, 0, 1, 0, 0, 0, 0 },
    { 3, 2, 1, 6, 64, 32, 32, F16, F16, MASK_HOLES, 0, 0, 0, 1, 1, 0, 1, 0 },
    { 2, 4, 2, 9, 333, 64, 64, F16, F16, MASK_TREE, 0, 0, 1, 1, 0, 0, 0, 0 },
    { 2, 4, 1, 8, 200, 32, 32, Q8, F16, MASK_TREE, 8, 2, 0, 1, 1, 0, 1, 0 },
    { 1, 5, 5, 6, 64, 33, 31, F16, HEED_ATTEND_F32, MASK_VALUES, 8, 0, 1, 0, 1, 0, 0, 0 },
    { 2, 6, 2, 4, 70, 32, 32, F16, F16, MASK_VALUES, 8, 3, 0, 1, 0, 0, 1, 1 },
    { 1, 4, 2, 4, 70, 32, 32, F16, F16, MASK_VALUES, 0, 3, 1, 1, 0, 0, 0, 0 },
    { 2, 4, 2, 7, 70, 32, 32, F16, F16, MASK_EMPTY_ROWS, 0, 0, 1, 1, 0, 0, 1, 0 },
    { 1, 4, 1, 2, 90, 96, 64, F16, F16, MASK_CAUSAL, 0, 0, 0, 0, 1, 1, 0, 0 },
    { 1, 4, 1, 2, 90, 96, 64, Q8, Q8, MASK_CAUSAL, 0, 0, 0, 0, 1, 1, 0, 0 },
    { 1, 4, 1, 2, 90, 256, 128, Q1, Q1, MASK_CAUSAL, 0, 0, 0, 0, 1, 1, 0, 0 },
    { 2, 4, 2, 3, 50, 64, 128, Q8, Q1, MASK_WINDOW, 0, 0, 0, 1, 1, 0, 0, 0 },
    { 2, 4, 2, 3, 50, 64, 32, Q8, HEED_ATTEND_Q4_0, MASK_WINDOW, 0, 0, 0, 1, 1, 0, 0, 0 },
    { 2, 4, 2, 3, 50, 64, 32, F16, HEED_ATTEND_Q5_1, MASK_HOLES, 4, 0, 1, 1, 0, 0, 0, 1 },
    { 1, 8, 2, 1, 600, 128, 128, F16, F16, MASK_CAUSAL, 0, 0, 0, 1, 0, 0, 0, 0 },
};
#undef F16
#undef Q8
#undef Q1
enum { DRAWS = sizeof draws / sizeof *draws, TYPES = sizeof world_types / sizeof *world_types };

/* The draws above, then keys and values of every type. */
static struct draw draw_of(int i)
{
    struct draw d = { .batch = 2,
                      .heads = 4,
                      .kv_heads = 2,
                      .rows = 3,
                      .keys = 45,
                      .d = 128,
                      .d_v = 128,
                      .mask = MASK_CAUSAL,
                      .permuted = true };

    if (i < DRAWS)
        return draws[i];
    d.k_type = world_types[i - DRAWS];
    d.v_type = world_types[i - DRAWS];
    return d;
}

static bool same_o(const struct drawn *w, const void *kept)
{
    return memcmp(w->memory[5], kept, w->o_bytes) == 0;
}

/* What o holds, padding with it. */
static void *keep(const struct drawn *w)
{
    void *const kept = malloc(w->o_bytes);

    memcpy(kept, w->memory[5], w->o_bytes);
    return kept;
}

LOOP_TEST(results_are_near_and_have_the_bits_of_the_reference, DRAWS + TYPES)
{
    const struct draw draw = draw_of(_i);
    struct heed_attend *const reference = make("reference"), *const cpu = make(NULL);
    struct drawn w;
    double error;
    void *kept;

    world_make(&w, &draw, (uint64_t)_i + 1);
    run(reference, &w, 1);
    kept = keep(&w);
    error = world_error(&w);
    ck_assert_msg(error <= NEAR, "draw %d: error %g", _i, error);
    for (uint32_t threads = 1; threads <= 7; threads++) {
        run(cpu, &w, threads % 3 + 1);
        ck_assert_msg(same_o(&w, kept), "draw %d: other bits on %d threads", _i, threads % 3 + 1);
    }
    free(kept);
    world_free(&w);
    heed_attend_destroy(reference);
    heed_attend_destroy(cpu);
}

/* The rows of a call one by one: masks become other forms, o must not. */
LOOP_TEST(rows_have_the_same_bits_alone, DRAWS + TYPES)
{
    const struct draw draw = draw_of(_i);
    struct heed_attend *const cpu = make(NULL);
    struct drawn w;
    void *kept;

    world_make(&w, &draw, (uint64_t)_i + 100);
    run(cpu, &w, 2);
    kept = keep(&w);
    world_forget(&w);
    for (int64_t row = 0; row < draw.rows; row++) {
        struct heed_attend_call one = w.call;

        one.q.ne[1] = one.o.ne[1] = 1;
        one.q.data = (char *)one.q.data + row * one.q.nb[1];
        one.o.data = (char *)one.o.data + row * one.o.nb[1];
        if (one.mask.data != NULL)
            one.mask.data = (char *)one.mask.data + row * one.mask.nb[1];
        ck_assert_int_eq(heed_attend_run(cpu, &one, &why), HEED_OK);
    }
    ck_assert_msg(same_o(&w, kept), "draw %d", _i);
    free(kept);
    world_free(&w);
    heed_attend_destroy(cpu);
}

/* ---- memory and plans ------------------------------------------------------------- */

/* The check is left out: it may take memory, and gives it back. */
TEST(a_steady_run_asks_for_no_memory)
{
    struct ledger ledger = { 0 };
    const heed_allocator memory = ledger_allocator(&ledger);
    const struct heed_attend_options options = { .allocator = &memory };
    struct heed_attend *attend = NULL;
    struct heed_attend_usage usage;

    ck_assert_int_eq(heed_attend_create(&options, &attend, &why), HEED_OK);
    for (int i = 0; i < DRAWS + TYPES; i++) {
        const struct draw draw = draw_of(i);
        struct drawn w;

        world_make(&w, &draw, 3);
        run(attend, &w, 3);
        heed_attend_threads(attend, 2);
        ledger_restart(&ledger);
        ck_assert_int_eq(heed_attend_run(attend, &w.call, &why), HEED_OK);
        ck_assert_msg(ledger.requests == 0, "draw %d asks for memory", i);
        world_free(&w);
    }
    heed_attend_used(attend, &usage);
    ck_assert_uint_eq(usage.runs, 2 * (DRAWS + TYPES));
    ck_assert_uint_gt(usage.converted, 0);
    ck_assert_uint_gt(usage.biased, 0);
    ck_assert_uint_le(usage.bytes, (uint64_t)ledger.bytes);
    heed_attend_destroy(attend);
    ck_assert_int_eq(ledger.bytes, 0);
    ck_assert_int_eq(ledger.mistakes, 0);
}

TEST(plans_are_kept_in_a_bounded_number)
{
    enum { SHAPES = 150 };
    struct heed_attend *const attend = make(NULL);
    struct heed_attend_usage usage, later;

    for (int64_t keys = 1; keys <= SHAPES; keys++) {
        const struct draw draw = { .batch = 1,
                                   .heads = 1,
                                   .kv_heads = 1,
                                   .rows = 1,
                                   .keys = keys,
                                   .d = 8,
                                   .d_v = 8,
                                   .k_type = HEED_ATTEND_F16,
                                   .v_type = HEED_ATTEND_F16 };
        struct drawn w;

        world_make(&w, &draw, 5);
        run(attend, &w, 1);
        ck_assert_double_le(world_error(&w), NEAR);
        heed_attend_used(attend, &later);
        ck_assert_uint_eq(later.plans, (uint64_t)keys);
        run(attend, &w, 1);
        world_free(&w);
        if (keys == SHAPES / 2)
            heed_attend_used(attend, &usage);
    }
    heed_attend_used(attend, &later);
    ck_assert_uint_eq(later.plans, SHAPES);
    ck_assert_uint_lt(later.bytes, 2 * usage.bytes);
    heed_attend_destroy(attend);
}

/* Every request fails once: nothing leaks, and o is whole or as it was. */
LOOP_TEST(failures_of_memory_are_told, 4)
{
    static const int which[] = { 2, 7, 9, 17 };
    const struct draw draw = draw_of(which[_i]);
    struct drawn w;
    bool done = false;

    world_make(&w, &draw, 8);
    for (int64_t fail = 1; !done; fail++) {
        struct ledger ledger = { .fail_at = fail };
        const heed_allocator memory = ledger_allocator(&ledger);
        const struct heed_attend_options options = { .allocator = &memory };
        struct heed_attend *attend = NULL;
        void *const kept = keep(&w);
        heed_status status = heed_attend_create(&options, &attend, &why);

        if (status >= 0) {
            heed_attend_threads(attend, 2);
            status = heed_attend_run(attend, &w.call, &why);
        }
        done = ledger.requests < fail;
        ck_assert_int_eq(status, done ? HEED_OK : HEED_E_NOMEM);
        ck_assert(status == HEED_OK || same_o(&w, kept));
        free(kept);
        heed_attend_destroy(attend);
        ck_assert_int_eq(ledger.bytes, 0);
        ck_assert_int_eq(ledger.mistakes, 0);
    }
    world_free(&w);
}

/* ---- several contexts ---------------------------------------------------------------- */

struct worker {
    struct drawn w;
    int rounds, wrong;
    bool fresh; /* a context for each run: loaded and unloaded all the time */
};

static void *work(void *given)
{
    struct worker *const worker = given;
    const struct heed_attend_options options = { 0 };
    struct heed_attend *attend = NULL;
    void *kept = NULL;

    for (int i = 0; i < worker->rounds; i++) {
        if (attend == NULL)
            worker->wrong += heed_attend_create(&options, &attend, NULL) != HEED_OK;
        heed_attend_threads(attend, (uint32_t)i % 3 + 1);
        world_forget(&worker->w);
        worker->wrong += heed_attend_run(attend, &worker->w.call, NULL) != HEED_OK;
        if (kept == NULL)
            kept = keep(&worker->w);
        worker->wrong += !same_o(&worker->w, kept);
        if (worker->fresh) {
            heed_attend_destroy(attend);
            attend = NULL;
        }
    }
    heed_attend_destroy(attend);
    free(kept);
    return NULL;
}

TEST(contexts_run_and_end_beside_each_other)
{
    enum { WORKERS = 3 };
    static const int which[WORKERS] = { 2, 18, 15 };
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];

    for (int i = 0; i < WORKERS; i++) {
        const struct draw draw = draw_of(which[i]);

        workers[i] = (struct worker){ .rounds = i == 1 ? 12 : 40, .fresh = i == 1 };
        world_make(&workers[i].w, &draw, (uint64_t)i);
    }
    for (int i = 0; i < WORKERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(workers[i].wrong, 0);
        world_free(&workers[i].w);
    }
}

/* ---- refusals ------------------------------------------------------------------------- */

struct broken {
    const char *field;
    void (*breaks)(struct heed_attend_call *);
};

static void of_q_type(struct heed_attend_call *c)
{
    c->q.type = HEED_ATTEND_F16;
}
static void of_q_stride(struct heed_attend_call *c)
{
    c->q.nb[1] += 2;
}
static void of_k_type(struct heed_attend_call *c)
{
    c->k.type = 14;
}
static void of_k_far_type(struct heed_attend_call *c)
{
    c->k.type = 4000000000u;
}
static void of_k_stride(struct heed_attend_call *c)
{
    c->k.nb[1] += 1;
}
static void of_k_channels(struct heed_attend_call *c)
{
    c->k.ne[0] -= 1;
}
static void of_k_heads(struct heed_attend_call *c)
{
    c->k.ne[2] = c->v.ne[2] = 3;
}
static void of_k_batch(struct heed_attend_call *c)
{
    c->k.ne[3] = 3;
}
static void of_v_heads(struct heed_attend_call *c)
{
    c->v.ne[2] = 1;
}
static void of_v_rows(struct heed_attend_call *c)
{
    c->v.ne[1] -= 1;
}
static void of_v_blocks(struct heed_attend_call *c)
{
    c->v.type = HEED_ATTEND_Q8_0;
    c->v.nb[0] = 34;
    c->v.ne[0] = 48;
}
static void of_mask_heads(struct heed_attend_call *c)
{
    c->mask.ne[2] = 2;
}
static void of_mask_type(struct heed_attend_call *c)
{
    c->mask.type = HEED_ATTEND_F32;
}
static void of_mask_keys(struct heed_attend_call *c)
{
    c->mask.ne[0] = c->k.ne[1] - 1;
}
static void of_no_mask(struct heed_attend_call *c)
{
    c->mask.data = NULL;
    c->max_bias = 8;
}
static void of_o(struct heed_attend_call *c)
{
    c->o.ne[1] -= 1;
}
static void of_sinks(struct heed_attend_call *c)
{
    c->sinks.type = HEED_ATTEND_F16;
}
static void of_softcap(struct heed_attend_call *c)
{
    c->softcap = -1;
}

static const struct broken brokens[] = {
    { "q", of_q_type },       { "q", of_q_stride },
    { "k", of_k_type },       { "k", of_k_far_type },
    { "k", of_k_stride },     { "k", of_k_channels },
    { "k", of_k_heads },      { "k", of_k_batch },
    { "v", of_v_heads },      { "v", of_v_rows },
    { "v", of_v_blocks },     { "mask", of_mask_heads },
    { "mask", of_mask_type }, { "mask", of_mask_keys },
    { "mask", of_no_mask },   { "o", of_o },
    { "sinks", of_sinks },    { "softcap", of_softcap },
};

LOOP_TEST(what_cannot_be_done_is_refused, sizeof brokens / sizeof *brokens)
{
    const struct draw draw = {
        2,           4, 2, 4,    70,   64,    64,    HEED_ATTEND_F16, HEED_ATTEND_F16,
        MASK_CAUSAL, 0, 0, true, true, false, false, false,           false
    };
    struct heed_attend *const attend = make(NULL);
    struct heed_attend_call call;
    struct drawn w;
    void *kept;

    world_make(&w, &draw, 1);
    kept = keep(&w);
    call = w.call;
    brokens[_i].breaks(&call);
    ck_assert_int_lt(heed_attend_check(attend, &call, &why), 0);
    ck_assert_str_eq(why.field, brokens[_i].field);
    ck_assert_int_lt(heed_attend_run(attend, &call, &why), 0);
    ck_assert(same_o(&w, kept));
    free(kept);
    world_free(&w);
    heed_attend_destroy(attend);
}

TEST(contexts_that_cannot_be_are_refused)
{
    char name[200];
    struct heed_attend_options options = { .device = "no such device" };
    struct heed_attend *attend = NULL;

    ck_assert_int_eq(heed_attend_create(NULL, NULL, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_attend_create(&options, &attend, &why), HEED_E_NOT_FOUND);
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = 0;
    options.device = name;
    ck_assert_int_eq(heed_attend_create(&options, &attend, &why), HEED_E_NOT_FOUND);
    options = (struct heed_attend_options){ .flags = 4 };
    ck_assert_int_eq(heed_attend_create(&options, &attend, &why), HEED_E_FLAG);
    ck_assert_ptr_null(attend);
    heed_attend_destroy(NULL);
}

int main(void)
{
    return suite_run("attend", 0, set_up, NULL);
}
