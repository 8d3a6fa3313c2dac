/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Calls of a test on every device there is: on those of the host, whose memory is the test's, or,
 * with HEED_TEST_OFFLOAD in the environment, on others, to which arrays are brought before a run
 * and from which results are taken back after it. The threads of their drivers outlive no fork:
 * CK_FORK=no goes with it.
 *
 *   OFFLOAD_OPERATION(pool, HEED_OP_POOL)
 *   LOOP_TEST(name, offload_devices())
 *   {
 *       offload_open(_i);
 *       ...
 *       offload_pool(&call);
 *   }
 *   int main(void) { return offload_absent() ? 77 : suite_run(...); }
 */
#ifndef HEED_TESTS_MECHANISMS_OFFLOAD_H
#define HEED_TESTS_MECHANISMS_OFFLOAD_H

#include "faults.h"

#include "lib/ops/arrays.h"
#include "lib/plan.h"

enum { MOST_BROUGHT = 48 };

/* ---- devices ---- */

static inline bool offload_wanted(void)
{
    return getenv("HEED_TEST_OFFLOAD") != NULL;
}

static inline bool offload_kind(uint32_t kind)
{
    return kind == HEED_DEVICE_OPENCL || kind == HEED_DEVICE_CUDA;
}

static inline int offload_list(char names[WORLD_DEVICES][64])
{
    heed_runtime *runtime = NULL;
    int n = 0;

    if (heed_runtime_create(NULL, &runtime, NULL) < 0)
        abort();
    for (uint32_t i = 0; n < WORLD_DEVICES; i++) {
        heed_device_props props = { .size = sizeof(props) };

        if (heed_device_info(heed_device_get(runtime, i), &props) < 0)
            break;
        if (props.usable >= 0 && offload_kind(props.kind))
            snprintf(names[n++], 64, "%s", props.name);
    }
    heed_runtime_destroy(runtime);
    return n;
}

static inline int offload_devices(void)
{
    char names[WORLD_DEVICES][64];

    return offload_wanted() ? offload_list(names) : world_devices();
}

/* For tests whose memory is the host's. */
static inline int host_devices(void)
{
    return offload_wanted() ? 0 : world_devices();
}

static inline void offload_open(int device)
{
    char names[WORLD_DEVICES][64];

    if (!offload_wanted()) {
        world_open(device);
        return;
    }
    ck_assert_int_lt(device, offload_list(names));
    world_open_name(names[device]);
}

/* Such devices are asked for, and there is none. */
static inline bool offload_absent(void)
{
    return offload_wanted() && offload_devices() == 0;
}

/* ---- memory ---- */

/* Copies on world.device of arrays that a run has. */
struct brought {
    int n;
    struct {
        heed_buf buf;
        void *host;
        size_t bytes;
        bool back;
    } array[MOST_BROUGHT];
};

/* From element [0]...[0] to the last one. */
static inline size_t tensor_bytes(const heed_tensor *t)
{
    int64_t last = 0;

    for (uint32_t i = 0; i < t->ndim; i++) {
        ck_assert_int_ge(t->stride[i], 0);
        if (t->shape[i] == 0)
            return 0;
        last += (t->shape[i] - 1) * t->stride[i];
    }
    return t->ndim ? (size_t)(last + 1) * world_size(t->dtype) : 0;
}

/* Where world.device has the array: there where it is, or in memory of its own. */
static inline heed_buf bring(struct brought *s, const heed_tensor *t, heed_buf host, bool back)
{
    heed_device_props props = { .size = sizeof(props) };
    const heed_array array = { .t = *t };
    const size_t bytes = tensor_bytes(t);
    heed_buf buf = { 0 };

    ck_assert_int_eq(heed_device_info(world.device, &props), HEED_OK);
    if (bytes == 0 || !host.handle || !offload_kind(props.kind))
        return host;
    /* of a result every byte is written back */
    ck_assert(!back || bytes == (size_t)world_count(&array) * world_size(t->dtype));
    ck_assert_int_lt(s->n, MOST_BROUGHT);
    ck_assert_int_eq(heed_buf_create(world.device, bytes, &buf, &world.why), HEED_OK);
    s->array[s->n].buf = buf;
    s->array[s->n].host = (char *)host.handle + host.offset;
    s->array[s->n].bytes = bytes;
    s->array[s->n].back = back;
    ck_assert_int_eq(heed_buf_write(world.queue, buf, s->array[s->n++].host, bytes, &world.why),
                     HEED_OK);
    return buf;
}

static inline void take_back(struct brought *s)
{
    ck_assert_int_eq(heed_queue_wait(world.queue, &world.why), HEED_OK);
    while (s->n-- > 0) {
        if (s->array[s->n].back)
            ck_assert_int_eq(heed_buf_read(world.queue, s->array[s->n].host, s->array[s->n].buf,
                                           s->array[s->n].bytes, &world.why),
                             HEED_OK);
        heed_buf_destroy(world.device, s->array[s->n].buf);
    }
}

/* ---- operations ---- */

/* The arguments of an operation with a fixed list of arrays, as its table has them. */
static inline void bring_arguments(struct brought *s, uint32_t op, const void *desc, void *args)
{
    const struct heed_op *const *found = heed_ops;

    while (*found && (*found)->id != op)
        found++;
    ck_assert(*found && (*found)->arrays);
    for (uint32_t i = 0; i < (*found)->arrays->n; i++) {
        const struct heed_array_row *row = &(*found)->arrays->rows[i];
        const heed_tensor *t =
            (const heed_tensor *)(const void *)((const char *)desc + row->desc_at);
        heed_buf *buf = (heed_buf *)(void *)((char *)args + row->args_at);

        *buf = bring(s, t, *buf, row->role != HEED_ROLE_IN);
    }
}

#define OFFLOAD_OPERATION(op, id)                                                                  \
    WORLD_OPERATION(op)                                                                            \
    static inline void offload_##op(const struct op##_call *call)                                  \
    {                                                                                              \
        struct op##_call there = *call;                                                            \
        struct brought s = { .n = 0 };                                                             \
        heed_plan *plan = op##_plan(call);                                                         \
                                                                                                   \
        bring_arguments(&s, id, &there.desc, &there.args);                                         \
        op##_again(plan, &there);                                                                  \
        take_back(&s);                                                                             \
        heed_plan_drop(plan);                                                                      \
    }

static inline void offload_attn(const heed_attn_desc *desc, const heed_attn_args *args)
{
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
    heed_buf slots[HEED_MECHANISM_SLOTS];
    struct brought s = { .n = 0 };
    heed_attn_args there = *args;
    heed_plan *plan = NULL;

    ck_assert(desc->n_sources <= HEED_MECHANISM_SOURCES && desc->n_slots <= HEED_MECHANISM_SLOTS);
    ck_assert_msg(heed_attn_plan(world.device, desc, &plan, &world.why) == HEED_OK,
                  "%s: %s: %s", world_name(), world.why.field, world.why.message);
    there.q = bring(&s, &desc->q, args->q, false);
    there.o = bring(&s, &desc->o, args->o, true);
    for (uint32_t i = 0; i < desc->n_sources; i++) {
        kv[i].k = bring(&s, &desc->sources[i].k, args->kv[i].k, false);
        kv[i].v = bring(&s, &desc->sources[i].v, args->kv[i].v, false);
    }
    for (uint32_t i = 0; i < desc->n_slots; i++)
        slots[i] = bring(&s, &desc->slots[i].t, args->slots[i], false);
    there.kv = kv;
    there.slots = slots;
    ck_assert_msg(heed_attn_run(plan, world.queue, &there, NULL, &world.why) == HEED_OK,
                  "%s: %s: %s", world_name(), world.why.field, world.why.message);
    take_back(&s);
    heed_plan_drop(plan);
}

#endif
