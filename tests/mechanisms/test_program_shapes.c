/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs over arrays of other shapes and types than the oracle has.
 */
#include "faults.h"

#include <heed/programs.h>

enum { N = 20 };

static const heed_lsg_program_desc lsg_20 = {
    .size = sizeof(lsg_20), .sparsity = HEED_LSG_POOLING, .block = 4, .factor = 2
};

static void run_lsg(const heed_lsg_program_desc *desc, const heed_program_args *args)
{
    heed_plan *plan = NULL;

    ck_assert_msg(heed_lsg_program_plan(world.device, desc, &plan, &world.why) == HEED_OK,
                  "%s: %s", world.why.field, world.why.message);
    ck_assert_int_eq(heed_program_run(plan, world.queue, args, NULL, &world.why), HEED_OK);
    heed_plan_drop(plan);
}

/* Keys that all heads or all items share give the bits of copies of them. */
LOOP_TEST(shared_keys_are_as_copies, world_devices() * 4)
{
    const uint32_t sparsity = HEED_LSG_NORM + (uint32_t)_i % 4;
    const int64_t columns[2] = { 4, 1 };
    const heed_array q = (world_open(_i / 4), world_floats(HEED_F32, 2, 4, N, 4)),
                     k = world_floats(HEED_F32, 1, 2, N, 4), v = world_floats(HEED_F32, 1, 2, N, 4),
                     all_k = world_array(HEED_F32, 2, 4, N, 4, -1),
                     all_v = world_array(HEED_F32, 2, 4, N, 4, -1),
                     round = world_floats(HEED_F32, 1, 1, 4, 1);
    heed_array o[2];
    heed_lsg_program_desc desc = lsg_20;
    heed_program_args args = { .size = sizeof(args) };

    for (int64_t x = 0; x < 8 * N * 4; x++) {
        const int64_t from = x / (N * 4) % 4 / 2 * N * 4 + x % (N * 4);

        world_f32(&all_k)[x] = world_f32(&k)[from];
        world_f32(&all_v)[x] = world_f32(&v)[from];
    }
    desc.sparsity = sparsity;
    desc.flags = HEED_PLAN_OWN_WORKSPACE;
    desc.q = q.t;
    args.q = q.buf;
    if (sparsity == HEED_LSG_LSH) {
        desc.rounds[0] = heed_array_dense(HEED_F32, NULL, 2, columns).t;
        args.rounds[0] = round.buf;
    }
    for (int copied = 0; copied < 2; copied++) {
        o[copied] = world_array(HEED_F32, 2, 4, N, 4, -1);
        desc.o = o[copied].t;
        args.o = o[copied].buf;
        desc.text = (heed_keys){ .k = copied ? all_k.t : k.t, .v = copied ? all_v.t : v.t };
        args.text = (heed_keys_bufs){ .k = copied ? all_k.buf : k.buf,
                                      .v = copied ? all_v.buf : v.buf };
        run_lsg(&desc, &args);
    }
    world_same(&o[0], &o[1], "shared keys");
}

/* Keys and values of bf16 give the bits of f32 arrays with the same numbers. */
LOOP_TEST(narrow_keys_are_widened, world_devices() * 4)
{
    const int64_t columns[2] = { 4, 1 };
    heed_lsg_program_desc desc = lsg_20;
    heed_program_args args = { .size = sizeof(args) };
    heed_array q, narrow[2], wide[2], o[2], round;

    world_open(_i / 4);
    q = world_floats(HEED_F32, 1, 2, N, 4);
    round = world_floats(HEED_F32, 1, 1, 4, 1);
    for (int i = 0; i < 2; i++) {
        narrow[i] = world_floats(HEED_BF16, 1, 2, N, 4);
        wide[i] = world_array(HEED_F32, 1, 2, N, 4, -1);
        for (int64_t x = 0; x < 2 * N * 4; x++)
            world_f32(&wide[i])[x] =
                float_of((uint32_t)((const uint16_t *)narrow[i].buf.handle)[x] << 16);
    }
    desc.sparsity = HEED_LSG_NORM + (uint32_t)_i % 4;
    desc.flags = HEED_PLAN_OWN_WORKSPACE;
    desc.q = q.t;
    args.q = q.buf;
    if (desc.sparsity == HEED_LSG_LSH) {
        desc.rounds[0] = heed_array_dense(HEED_F32, NULL, 2, columns).t;
        args.rounds[0] = round.buf;
    }
    for (int i = 0; i < 2; i++) {
        const heed_array *const kv = i ? wide : narrow;

        o[i] = world_array(HEED_F32, 1, 2, N, 4, -1);
        desc.o = o[i].t;
        args.o = o[i].buf;
        desc.text = (heed_keys){ .k = kv[0].t, .v = kv[1].t };
        args.text = (heed_keys_bufs){ .k = kv[0].buf, .v = kv[1].buf };
        run_lsg(&desc, &args);
    }
    world_same(&o[0], &o[1], "bf16 against f32");
}

/* No token, one token, and tensors without batch axes. */
LOOP_TEST(short_texts, world_devices() * 4)
{
    world_open(_i / 4);
    for (int64_t n = 0; n < 3; n++) {
        const int64_t extents[3] = { 2, n, 4 }, columns[2] = { 4, 1 };
        heed_array q = world_floats(HEED_F32, 1, 2, n, 4), v = world_floats(HEED_F32, 1, 2, n, 4),
                   o = world_array(HEED_F32, 1, 2, n, 4, -1),
                   round = world_floats(HEED_F32, 1, 1, 4, 1);
        const heed_tensor t = heed_array_dense(HEED_F32, NULL, 3, extents).t;
        heed_lsg_program_desc desc = lsg_20;
        const heed_program_args args = {
            .size = sizeof(args), .q = q.buf, .o = o.buf, .text = { .k = q.buf, .v = v.buf },
            .rounds = { round.buf },
        };

        desc.sparsity = HEED_LSG_NORM + (uint32_t)_i % 4;
        desc.flags = HEED_PLAN_OWN_WORKSPACE;
        desc.q = desc.o = t;
        desc.text = (heed_keys){ .k = t, .v = t };
        if (desc.sparsity == HEED_LSG_LSH)
            desc.rounds[0] = heed_array_dense(HEED_F32, NULL, 2, columns).t;
        run_lsg(&desc, &args);
        for (int64_t x = 0; n == 1 && x < world_count(&o); x++)  /* it sees itself */
            ck_assert(fabsf(world_f32(&o)[x] - world_f32(&v)[x]) <=
                      0x1p-22f * fabsf(world_f32(&v)[x]));
    }
}

int main(void)
{
    return suite_run("program-shapes", 120, NULL, world_close);
}
