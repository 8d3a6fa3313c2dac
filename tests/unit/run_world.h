/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device of the test's own whose implementation does what the test says and computes nothing,
 * with a descriptor and arguments that are right until a test breaks them. For test_plan.c,
 * test_run.c.
 */
#ifndef HEED_TESTS_UNIT_RUN_WORLD_H
#define HEED_TESTS_UNIT_RUN_WORLD_H

#include "lib/core/context.h"
#include "lib/core/owned.h"
#include "lib/core/sized.h"
#include "small_attn.h"
#include "support/ledger.h"

#include <check.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { B = 1, H = 2, N_Q = 4, N_K = 6, D = 8, D_V = 3, WORKSPACE = 256, WORKSPACE_ALIGN = 128 };

/* ---- a device ---- */

static struct fake {
    const char *refuse, *field;
    heed_status prepare, run;
    struct heed_error_detail detail;
    int runs, drops;
    uint64_t workspace_size;
    void (*during_run)(const struct heed_plan *);
    heed_buf at[HEED_MAX_OPERANDS], workspace;
} fake;

static bool fake_accepts(const struct heed_plan *plan, const struct heed_services *services,
                         struct heed_refusal *why)
{
    (void)plan;
    (void)services;
    *why = (struct heed_refusal){ fake.refuse, fake.field };
    return fake.refuse == NULL;
}

static heed_status fake_prepare(struct heed_plan *plan, const struct heed_services *services,
                             struct heed_error_detail *detail)
{
    *detail = fake.detail;
    if (fake.prepare < 0)
        return fake.prepare;
    plan->state = services->alloc(services->runtime, 100, 32);
    plan->state_bytes = 100;
    plan->workspace_size = fake.workspace_size;
    plan->workspace_align = WORKSPACE_ALIGN;
    return plan->state != NULL ? HEED_OK : HEED_E_NOMEM;
}

static heed_status fake_run(const struct heed_plan *plan, const struct heed_services *services,
                            const struct heed_launch *launch)
{
    ck_assert_uint_ge(services->executor->width, 1);
    *launch->detail = fake.detail;
    fake.runs++;
    fake.workspace = launch->workspace;
    memcpy(fake.at, launch->at, plan->n_operands * sizeof(fake.at[0]));
    if (fake.during_run != NULL)
        fake.during_run(plan);
    ((char *)plan->state)[99] = 1;      /* a plan dropped too early is found out here */
    return fake.run;
}

static void fake_release(struct heed_plan *plan, const struct heed_services *services)
{
    fake.drops++;
    services->free(services->runtime, plan->state, 100, 32);
}

static const struct heed_impl never = {
    .op = HEED_OP_ATTN, .name = "never", .accepts = fake_accepts
};
static const struct heed_impl fake_impl = {
    .op = HEED_OP_ATTN,
    .name = "fake",
    .prepare = fake_prepare,
    .run = fake_run,
    .release = fake_release,
};
static const struct heed_impl *impls[3];
static const struct heed_backend backend = {
    .size = sizeof(backend), .kind = HEED_DEVICE_PLUGIN, .host = 1, .impls = impls
};

/* ---- arguments that are right ---- */

static struct memory {
    _Alignas(128) char workspace[WORKSPACE + WORKSPACE_ALIGN];
    float q[B * H * N_Q * D];
    uint16_t k[N_K * D + 1], v[N_K * D_V];
    float o[B * H * N_Q * D_V], lse[B * H * N_Q], sinks[H];
    uint8_t mask[N_K];
    int64_t q_pos[B + 1];
} memory, memory_before;

static struct ledger ledger;
static heed_runtime *rt;
static struct heed_event done;
static heed_device device;
static heed_queue *queue;
static heed_report why;
static struct wide_kv {
    heed_kv_bufs kv;
    uint64_t tail;
} kv[1];
static heed_buf slot_bufs[3];
static struct wide_args {
    heed_attn_args a;
    uint64_t tail;
} args;

static heed_buf at(void *p)
{
    return (heed_buf){ p, 0 };
}

static void right_desc(void)
{
    static const int32_t length[B] = { 5 };

    small_desc(B, H, N_Q, N_K, D, D_V);
    slots[1].data = length;
    desc.sinks = (heed_tensor){ HEED_F32, 1, { H }, { 1 } };
}

static void right_args(void)
{
    memset(&args, 0, sizeof(args));
    memset(kv, 0, sizeof(kv));
    kv[0].kv = (heed_kv_bufs){ at(memory.k), at(memory.v) };
    slot_bufs[0] = at(memory.mask);
    slot_bufs[1] = (heed_buf){ &args, UINT64_MAX };     /* constant: not looked at */
    slot_bufs[2] = at(memory.q_pos);
    args.a = (heed_attn_args){
        .size = sizeof(args),
        .kv_size = sizeof(kv[0]),
        .q = at(memory.q),
        .o = at(memory.o),
        .lse = at(memory.lse),
        .sinks = at(memory.sinks),
        .workspace = at(memory.workspace),
        .workspace_size = WORKSPACE,
        .kv = &kv[0].kv,
        .slots = slot_bufs,
        .n_slots = 3,
    };
}

static void set_up(void)
{
    const heed_allocator a = ledger_allocator(&ledger);
    const heed_runtime_desc rt_desc = { .size = sizeof(rt_desc), .allocator = &a };

    memset(&why, 0, sizeof(why));
    why.size = sizeof(why);
    ck_assert_int_eq(heed_runtime_create(&rt_desc, &rt, &why), HEED_OK);
    device = (heed_device){
        .backend = &backend, .runtime = rt, .done = &done, .props = { .name = "fake", .exact = 1 }
    };
    done.device = &device;
    fake = (struct fake){ .workspace_size = WORKSPACE };
    impls[0] = &fake_impl;
    ck_assert_int_eq(heed_queue_create(&device, 0, &queue, &why), HEED_OK);
    memset(&memory, 0x5a, sizeof(memory));
    memory_before = memory;
    right_desc();
    right_args();
}

static void tear_down(void)
{
    heed_queue_destroy(queue);
    heed_runtime_destroy(rt);
    ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
    ck_assert_int_eq(atomic_load(&ledger.mistakes), 0);
}

static heed_plan *make_plan(uint32_t flags)
{
    heed_plan *plan = NULL;

    desc.flags |= flags;
    ck_assert_msg(heed_attn_plan(&device, &desc, &plan, &why) == HEED_OK, "%s: %s: %s",
                  heed_status_name(why.status), why.field, why.message);
    ck_assert_int_eq(why.status, HEED_OK);
    return plan;
}

#endif
