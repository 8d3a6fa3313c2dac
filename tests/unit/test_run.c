/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What run makes of its arguments, on a device that computes nothing.
 */
#include "run_world.h"
#include "support/suite.h"

static heed_event *wait[2];

TEST(run_passes_the_addresses_on)
{
    heed_plan *plan = make_plan(0);
    heed_event *event = NULL;

    args.a.q = (heed_buf){ &memory, offsetof(struct memory, q) };
    kv[0].kv.v = (heed_buf){ &memory, offsetof(struct memory, v) };
    slot_bufs[0] = (heed_buf){ &memory, offsetof(struct memory, mask) };
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, &event, &why), HEED_OK);
    ck_assert_int_eq(why.status, HEED_OK);
    ck_assert_int_eq(fake.runs, 1);
    ck_assert_ptr_eq(heed_address(fake.at[HEED_ATTN_Q]), memory.q);
    ck_assert_ptr_eq(heed_address(fake.at[HEED_ATTN_O]), memory.o);
    ck_assert_ptr_eq(heed_address(fake.at[HEED_ATTN_LSE]), memory.lse);
    ck_assert_ptr_eq(heed_address(fake.at[HEED_ATTN_SINKS]), memory.sinks);
    ck_assert_ptr_eq(heed_address(fake.workspace), memory.workspace);
    ck_assert_ptr_eq(heed_address(fake.at[heed_attn_k(0)]), memory.k);
    ck_assert_ptr_eq(heed_address(fake.at[heed_attn_v(0)]), memory.v);
    ck_assert_ptr_eq(heed_address(fake.at[HEED_ATTN_KV + 2]), memory.mask);
    ck_assert_ptr_eq(heed_address(fake.at[HEED_ATTN_KV + 4]), memory.q_pos);
    ck_assert_ptr_nonnull(event);
    ck_assert_int_eq(heed_event_wait(event, &why), HEED_OK);
    wait[0] = wait[1] = event;
    args.a.wait = wait;
    args.a.n_wait = 2;
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, NULL), HEED_OK);
    ck_assert_int_eq(atomic_load(&done.handed_out), 1);
    heed_event_destroy(event);
    ck_assert_int_eq(atomic_load(&done.handed_out), 0);
    heed_plan_drop(plan);
}

TEST(run_asks_for_no_memory)
{
    heed_plan *plan = make_plan(0);
    heed_event *event = NULL;

    ledger_restart(&ledger);
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, &event, &why), HEED_OK);
    args.a.o.offset = 1;
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, &why), HEED_E_ALIGN);
    ck_assert_int_eq(atomic_load(&ledger.requests), 0);
    heed_event_destroy(event);
    heed_plan_drop(plan);
}

TEST(absent_tensors_are_ignored_and_empty_ones_may_be_null)
{
    heed_plan *plan;

    desc.lse.ndim = 0;
    memset(&desc.lse, 0, sizeof(desc.lse));
    memset(&desc.sinks, 0, sizeof(desc.sinks));
    plan = make_plan(0);
    args.a.lse = (heed_buf){ (char *)memory.o + 1, UINT64_MAX };
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, &why), HEED_OK);
    ck_assert_ptr_null(heed_address(fake.at[HEED_ATTN_LSE]));
    ck_assert_ptr_null(heed_address(fake.at[HEED_ATTN_SINKS]));
    heed_plan_drop(plan);

    desc.q.shape[2] = 0;
    desc.o.shape[2] = 0;
    source.k.shape[2] = 0;
    source.v.shape[2] = 0;
    slots[0].t.shape[2] = 0;
    desc.slots = slots;
    source.len_slot = 0;
    plan = make_plan(0);
    memset(&kv, 0, sizeof(kv));
    args.a.q = args.a.o = slot_bufs[0] = (heed_buf){ NULL, 0 };
    ck_assert_msg(heed_attn_run(plan, queue, &args.a, NULL, &why) == HEED_OK, "%s %s", why.field,
                  why.message);
    heed_plan_drop(plan);
}

/* What is wrong, the status, field and numbers that say so, and how it comes about. */
#define WRONGS(X)                                                                                  \
    X(short_args, HEED_E_SIZE, "args", 128, 127, args.a.size = HEED_ATTN_ARGS_V1 - 1)              \
    X(newer_args, HEED_E_NEWER, "args", sizeof(heed_attn_args), sizeof(heed_attn_args),            \
      args.tail = 1)                                                                               \
    X(short_kv, HEED_E_SIZE, "kv_size", 32, 31, args.a.kv_size = HEED_KV_BUFS_V1 - 1)              \
    X(newer_kv, HEED_E_NEWER, "kv[0]", 32, 32, kv[0].tail = 1)                                     \
    X(no_kv, HEED_E_NULL, "kv", 1, 0, args.a.kv = NULL)                                            \
    X(few_slots, HEED_E_VALUE, "n_slots", 3, 2, args.a.n_slots = 2)                                \
    X(many_slots, HEED_E_VALUE, "n_slots", 3, 4, args.a.n_slots = 4)                               \
    X(no_slots, HEED_E_NULL, "slots", 3, 0, args.a.slots = NULL)                                   \
    X(null_slot, HEED_E_NULL, "slots[0]", 0, 0, slot_bufs[0].handle = NULL)                        \
    X(null_q, HEED_E_NULL, "q", 0, 0, args.a.q.handle = NULL)                                      \
    X(null_o, HEED_E_NULL, "o", 0, 0, args.a.o.handle = NULL)                                      \
    X(null_lse, HEED_E_NULL, "lse", 0, 0, args.a.lse.handle = NULL)                                \
    X(null_sinks, HEED_E_NULL, "sinks", 0, 0, args.a.sinks.handle = NULL)                          \
    X(null_k, HEED_E_NULL, "kv[0].k", 0, 0, kv[0].kv.k.handle = NULL)                              \
    X(null_v, HEED_E_NULL, "kv[0].v", 0, 0, kv[0].kv.v.handle = NULL)                              \
    X(null_wait, HEED_E_NULL, "wait", 2, 0, args.a.n_wait = 2)                                     \
    X(null_event, HEED_E_NULL, "wait[1]", 0, 0,                                                    \
      args.a.n_wait = 2; args.a.wait = wait; wait[0] = &done; wait[1] = NULL)                      \
    X(other_event, HEED_E_MISMATCH, "wait[0]", 0, 0,                                               \
      args.a.n_wait = 1; args.a.wait = wait; wait[0] = &rt->events[0])                             \
    X(far_q, HEED_E_OVERFLOW, "q", 0, 0, args.a.q.offset = UINT64_MAX - 3)                         \
    X(far_slot, HEED_E_OVERFLOW, "slots[2]", 0, 0, slot_bufs[2].offset = UINT64_MAX - 7)           \
    X(end_q, HEED_E_OVERFLOW, "q", 0, 0, args.a.q.handle = (char *)(uintptr_t)(UINTPTR_MAX - 15))  \
    X(odd_q, HEED_E_ALIGN, "q", 4, 2, args.a.q.offset = 2)                                         \
    X(odd_k, HEED_E_ALIGN, "kv[0].k", 2, 1, kv[0].kv.k.offset = 1)                                 \
    X(odd_slot, HEED_E_ALIGN, "slots[2]", 8, 4, slot_bufs[2].offset = 4)                           \
    X(odd_o, HEED_E_ALIGN, "o", 4, 1, args.a.o.offset = 1)                                         \
    X(o_is_q, HEED_E_ALIAS, "o", 0, 0, args.a.o = args.a.q)                                        \
    X(o_meets_v, HEED_E_ALIAS, "o", 0, 0,                                                          \
      args.a.o = at((char *)((uintptr_t)memory.v & ~(uintptr_t)3) - sizeof(memory.o) + 4))         \
    X(o_is_lse, HEED_E_ALIAS, "o", 0, 0, args.a.lse = args.a.o)                                    \
    X(lse_is_sinks, HEED_E_ALIAS, "lse", 0, 0, args.a.lse = args.a.sinks)                          \
    X(lse_is_slot, HEED_E_ALIAS, "lse", 0, 0, args.a.lse = at(memory.q_pos))                       \
    X(o_meets_mask, HEED_E_ALIAS, "o", 0, 0,                                                       \
      args.a.o = at((void *)((uintptr_t)memory.mask & ~(uintptr_t)3)))                             \
    X(small_workspace, HEED_E_WORKSPACE, "workspace", 256, 255, args.a.workspace_size--)           \
    X(null_workspace, HEED_E_WORKSPACE, "workspace", 256, 0, args.a.workspace.handle = NULL)       \
    X(odd_workspace, HEED_E_ALIGN, "workspace", 128, 64, args.a.workspace.offset = 64)             \
    X(workspace_is_o, HEED_E_ALIAS, "workspace", 0, 0,                                             \
      args.a.o = at(memory.workspace + WORKSPACE - 4))                                             \
    X(workspace_is_k, HEED_E_ALIAS, "workspace", 0, 0, kv[0].kv.k = at(memory.workspace))          \
    X(workspace_far, HEED_E_OVERFLOW, "workspace", 0, 0,                                           \
      args.a.workspace.offset = UINT64_MAX - 127)

#define SPOIL(name, status, field, wanted, got, what)                                              \
    static void name(void)                                                                         \
    {                                                                                              \
        what;                                                                                      \
    }
WRONGS(SPOIL)
#undef SPOIL

static const struct wrong {
    const char *name;
    heed_status status;
    const char *field;
    int64_t wanted, got;
    void (*spoil)(void);
} wrongs[] = {
#define ROW(name, status, field, wanted, got, what) { #name, status, field, wanted, got, name },
    WRONGS(ROW)
#undef ROW
};

LOOP_TEST(wrong_arguments_are_named_and_nothing_happens, sizeof(wrongs) / sizeof(wrongs[0]))
{
    const struct wrong *w = &wrongs[_i];
    heed_plan *plan = make_plan(0);
    heed_event *event = NULL;
    heed_status status;

    w->spoil();
    status = heed_attn_run(plan, queue, &args.a, &event, &why);
    ck_assert_msg(status == w->status, "%s: %s, %s: %s", w->name, heed_status_name(status),
                  why.field, why.message);
    ck_assert_int_eq(why.status, w->status);
    ck_assert_str_eq(why.field, w->field);
    ck_assert_int_eq(why.wanted, w->wanted);
    ck_assert_int_eq(why.got, w->got);
    ck_assert_str_ne(why.message, "");
    ck_assert_int_eq(fake.runs, 0);
    ck_assert_ptr_null(event);
    ck_assert_int_eq(memcmp(&memory, &memory_before, sizeof(memory)), 0);
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, &event, NULL), w->status);
    if (status != HEED_E_ALIAS && strcmp(w->field, "workspace") != 0)
        ck_assert_int_eq(heed_attn_validate(plan, queue, &args.a, &why), w->status);
    right_args();
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, NULL), HEED_OK);
    heed_plan_drop(plan);
}

TEST(run_needs_plan_queue_and_arguments)
{
    heed_plan *plan = make_plan(0);
    heed_queue *other = NULL;

    ck_assert_int_eq(heed_attn_run(NULL, queue, &args.a, NULL, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "plan");
    ck_assert_int_eq(heed_attn_run(plan, NULL, &args.a, NULL, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "queue");
    ck_assert_int_eq(heed_attn_run(plan, queue, NULL, NULL, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "args");
    ck_assert_int_eq(heed_attn_validate(NULL, queue, &args.a, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_attn_validate(plan, NULL, &args.a, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_attn_validate(plan, queue, NULL, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_queue_create(heed_device_get(rt, 0), 0, &other, &why), HEED_OK);
    ck_assert_int_eq(heed_attn_run(plan, other, &args.a, NULL, &why), HEED_E_MISMATCH);
    ck_assert_str_eq(why.field, "queue");
    ck_assert_int_eq(fake.runs, 0);
    heed_queue_destroy(other);
    heed_plan_drop(plan);
}

/* o in every second group of D_V elements, q between: interleaved, no byte shared. */
TEST(interleaved_arrays_are_no_aliases)
{
    static float both[B * H * N_Q * (D + D_V)];
    heed_plan *plan;

    desc.q.stride[2] = desc.o.stride[2] = D + D_V;
    desc.q.stride[1] = desc.o.stride[1] = N_Q * (D + D_V);
    plan = make_plan(0);
    args.a.q = at(both);
    args.a.o = at(both + D);
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, &why), HEED_OK);
    args.a.o = at(both + D - 1);
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, &why), HEED_E_ALIAS);
    ck_assert_ptr_nonnull(strstr(why.message, "q"));
    heed_plan_drop(plan);
}

TEST(inputs_may_share_memory)
{
    static uint16_t shared[N_K * D];
    heed_plan *plan = make_plan(0);

    kv[0].kv.k = kv[0].kv.v = at(shared);
    slot_bufs[0] = at(shared);
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, &why), HEED_OK);
    heed_plan_drop(plan);
}

TEST(failed_run_gives_its_status_and_no_event)
{
    heed_plan *plan = make_plan(0);
    heed_event *event = NULL;

    fake.run = HEED_E_DEVICE;
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, &event, &why), HEED_E_DEVICE);
    ck_assert_int_eq(why.status, HEED_E_DEVICE);
    ck_assert_ptr_null(event);
    heed_plan_drop(plan);
}

static void drop_it(const struct heed_plan *plan)
{
    heed_plan_drop((heed_plan *)(uintptr_t)plan);
    ck_assert_int_eq(fake.drops, 0);
}

TEST(plan_may_be_dropped_while_it_runs)
{
    heed_plan *plan = make_plan(0);
    heed_event *event = NULL;

    fake.during_run = drop_it;
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, &event, &why), HEED_OK);
    ck_assert_int_eq(fake.drops, 1);
    ck_assert_int_eq(heed_event_wait(event, &why), HEED_OK);
    heed_event_destroy(event);
}

static void run_again(const struct heed_plan *plan)
{
    heed_report inner = { .size = sizeof(inner) };

    fake.during_run = NULL;
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, &inner), HEED_E_BUSY);
    ck_assert_int_eq(inner.status, HEED_E_BUSY);
    ck_assert_int_eq(fake.runs, 1);
}

TEST(own_workspace_serves_one_run_at_a_time)
{
    heed_plan *plan = make_plan(HEED_PLAN_OWN_WORKSPACE);

    fake.during_run = run_again;
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, &why), HEED_OK);
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, &why), HEED_OK);
    fake.run = HEED_E_DEVICE;
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, &why), HEED_E_DEVICE);
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, &why), HEED_E_DEVICE);
    heed_plan_drop(plan);
}

TEST(no_workspace_wanted_none_looked_at)
{
    heed_plan *plan;

    fake.workspace_size = 0;
    plan = make_plan(0);
    args.a.workspace = (heed_buf){ memory.o, 3 };
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, &why), HEED_OK);
    ck_assert_ptr_null(heed_address(fake.workspace));
    heed_plan_drop(plan);
}

TEST(visible_wants_a_place_that_exists)
{
    uint8_t seen[N_K];

    memset(seen, 0xee, sizeof(seen));
    ck_assert_int_eq(heed_attn_visible(NULL, &args.a, 0, 0, 0, 0, seen, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_attn_visible(&desc, &args.a, 0, 0, 0, 0, NULL, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_attn_visible(&desc, &args.a, B, 0, 0, 0, seen, &why), HEED_E_VALUE);
    ck_assert_str_eq(why.field, "batch");
    ck_assert_int_eq(heed_attn_visible(&desc, &args.a, 0, -1, 0, 0, seen, &why), HEED_E_VALUE);
    ck_assert_str_eq(why.field, "head");
    ck_assert_int_eq(heed_attn_visible(&desc, &args.a, 0, 0, N_Q, 0, seen, &why), HEED_E_VALUE);
    ck_assert_str_eq(why.field, "row");
    ck_assert_int_eq(why.got, N_Q);
    ck_assert_int_eq(heed_attn_visible(&desc, &args.a, 0, 0, 0, 1, seen, &why), HEED_E_VALUE);
    ck_assert_str_eq(why.field, "source");
    ck_assert_int_eq(heed_attn_visible(&desc, NULL, 0, 0, 0, 0, seen, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "slots");
    slot_bufs[0].handle = NULL;
    ck_assert_int_eq(heed_attn_visible(&desc, &args.a, 0, 0, 0, 0, seen, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "slots[0]");
    slot_bufs[0] = at(memory.mask);
    for (int i = 0; i < N_K; i++)
        ck_assert_uint_eq(seen[i], 0xee);
    memset(memory.mask, 1, sizeof(memory.mask));
    memory.mask[2] = 0;
    memory.q_pos[0] = 0;
    ck_assert_int_eq(heed_attn_visible(&desc, &args.a, 0, 1, 3, 0, seen, &why), HEED_OK);
    for (int i = 0; i < N_K; i++)
        ck_assert_uint_eq(seen[i], i != 2 && i < 5);
}

int main(void)
{
    return suite_run("run", 0, set_up, tear_down);
}
