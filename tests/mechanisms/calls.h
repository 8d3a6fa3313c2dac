/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Calls of heed on the device "cpu", whose bits the conformance kit compares with those of all
 * others, and data for them:
 *
 *   WORLD_OPERATION(pool)
 *   TEST(name)
 *   {
 *       struct pool_call call = pool_call();
 *
 *       world_open();
 *       GIVE(&call, x, world_floats(1, 2, 30, 8));
 *       call.desc.kernel = 4;
 *       pool_run(&call);
 *   }
 */
#ifndef HEED_TESTS_MECHANISMS_CALLS_H
#define HEED_TESTS_MECHANISMS_CALLS_H

#include "support/ledger.h"
#include "support/suite.h"

#include <heed/attn.h>
#include <heed/memory.h>
#include <heed/pool.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices ---- */

static struct {
    struct ledger ledger;
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
    heed_report why;
    uint64_t state;             /* of world_next */
    void *blocks[256];
    int n_blocks;
} world;

/* Workers one after another, the last one first: what a worker leaves to another is found out, and
 * a test with many small runs does not wait for threads. */
static void world_crew(void *context, uint32_t width, void (*body)(void *arg, uint32_t worker),
                       void *arg)
{
    (void)context;
    while (width-- > 0)
        body(arg, width);
}

static const heed_executor world_executor = {
    .size = sizeof(heed_executor), .width = 3, .parallel = world_crew
};

static void world_open(void)
{
    const heed_allocator allocator = ledger_allocator(&world.ledger);
    const heed_runtime_desc desc = {
        .size = sizeof(desc), .allocator = &allocator, .executor = &world_executor
    };

    world.why.size = sizeof(world.why);
    world.state = 1;
    ck_assert_int_eq(heed_runtime_create(&desc, &world.runtime, &world.why), HEED_OK);
    ck_assert_int_eq(heed_device_find(world.runtime, "cpu", &world.device, &world.why), HEED_OK);
    ck_assert_int_eq(heed_queue_create(world.device, 0, &world.queue, &world.why), HEED_OK);
}

/* For suite_run: nothing of a test is left. */
static void world_close(void)
{
    heed_queue_destroy(world.queue);
    heed_runtime_destroy(world.runtime);
    while (world.n_blocks > 0)
        free(world.blocks[--world.n_blocks]);
    world.queue = NULL;
    world.runtime = NULL;
    ck_assert_int_eq(atomic_load(&world.ledger.blocks), 0);
    ck_assert_int_eq(atomic_load(&world.ledger.mistakes), 0);
}

/* ---- calls ---- */

#define GIVE(call, field, array)                                                                   \
    do {                                                                                           \
        const heed_array given_ = (array);                                                         \
        heed_array_split(&given_, &(call)->desc.field, &(call)->args.field);                       \
    } while (0)

/* Runs a plan that has a workspace of its own. */
static inline void world_attend(const heed_attn_desc *desc, const heed_attn_args *args)
{
    heed_plan *plan = NULL;

    ck_assert_msg(heed_attn_plan(world.device, desc, &plan, &world.why) == HEED_OK, "%s: %s",
                  world.why.field, world.why.message);
    ck_assert_msg(heed_attn_run(plan, world.queue, args, NULL, &world.why) == HEED_OK, "%s: %s",
                  world.why.field, world.why.message);
    heed_plan_drop(plan);
}

/* X_run plans and runs, and fails the test where one of them fails. */
#define WORLD_OPERATION(op)                                                                        \
    struct op##_call {                                                                             \
        heed_##op##_desc desc;                                                                     \
        heed_##op##_args args;                                                                     \
    };                                                                                             \
    static struct op##_call op##_call(void)                                                        \
    {                                                                                              \
        return (struct op##_call){ { .size = sizeof(heed_##op##_desc),                             \
                                     .flags = HEED_PLAN_OWN_WORKSPACE },                           \
                                   { .size = sizeof(heed_##op##_args) } };                         \
    }                                                                                              \
    static heed_plan *op##_plan(const struct op##_call *call)                                      \
    {                                                                                              \
        heed_plan *plan = NULL;                                                                    \
                                                                                                   \
        ck_assert_msg(heed_##op##_plan(world.device, &call->desc, &plan, &world.why) == HEED_OK,   \
                      "%s: %s", world.why.field, world.why.message);                               \
        return plan;                                                                               \
    }                                                                                              \
    static void op##_again(const heed_plan *plan, const struct op##_call *call)                    \
    {                                                                                              \
        ck_assert_msg(heed_##op##_run(plan, world.queue, &call->args, NULL, &world.why) ==         \
                          HEED_OK,                                                                 \
                      "%s: %s", world.why.field, world.why.message);                               \
    }                                                                                              \
    static inline CK_ATTRIBUTE_UNUSED void op##_run(const struct op##_call *call)                  \
    {                                                                                              \
        heed_plan *plan = op##_plan(call);                                                         \
                                                                                                   \
        op##_again(plan, call);                                                                    \
        heed_plan_drop(plan);                                                                      \
    }

/* ---- data ---- */

/* splitmix64 (Steele, Lea and Flood 2014). */
static inline uint64_t world_next(void)
{
    uint64_t z = world.state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Both ends included. */
static inline int64_t world_range(int64_t low, int64_t high)
{
    return low + (int64_t)(world_next() % (uint64_t)(high - low + 1));
}

/* In (-8, 8), 24 bits. */
static inline float world_float(void)
{
    return (float)world_range(-(1 << 23), 1 << 23) * 0x1p-20f;
}

static inline uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Freed by world_close. */
static inline void *world_new(size_t bytes)
{
    void *block = malloc(bytes + 1);

    ck_assert(block != NULL && world.n_blocks < 256);
    memset(block, 0x5a, bytes + 1);
    return world.blocks[world.n_blocks++] = block;
}

static inline size_t world_size(uint32_t dtype)
{
    return dtype == HEED_U8 ? 1 : dtype == HEED_I64 ? 8 : 4;
}

static inline int64_t world_count(const heed_array *a)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < a->t.ndim; i++)
        n *= a->t.shape[i];
    return n;
}

/* A dense array of a pattern that no test takes for an answer; -1 ends the extents. */
static inline heed_array world_array(uint32_t dtype, int64_t a, int64_t b, int64_t c, int64_t d,
                                     int64_t e)
{
    const int64_t extents[5] = { a, b, c, d, e };
    heed_array array;
    uint32_t ndim = 0;

    while (ndim < 5 && extents[ndim] >= 0)
        ndim++;
    array = heed_array_dense(dtype, NULL, ndim, extents);
    array.buf.handle = world_new((size_t)world_count(&array) * world_size(dtype));
    return array;
}

static inline float *world_f32(const heed_array *a)
{
    return a->buf.handle;
}

static inline heed_array world_floats(int64_t b, int64_t h, int64_t n, int64_t d)
{
    heed_array a = world_array(HEED_F32, b, h, n, d, -1);

    for (int64_t i = 0; i < b * h * n * d; i++)
        world_f32(&a)[i] = world_float();
    return a;
}

static inline void world_same(const heed_array *got, const heed_array *want, const char *what)
{
    const size_t size = world_size(got->t.dtype);

    ck_assert_int_eq(world_count(got), world_count(want));
    for (int64_t i = 0; i < world_count(got); i++) {
        if (memcmp((char *)got->buf.handle + (size_t)i * size,
                   (char *)want->buf.handle + (size_t)i * size, size) != 0)
            ck_abort_msg("%s: element %lld", what, (long long)i);
    }
}

#endif
