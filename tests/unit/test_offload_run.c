/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plans and runs on devices that are not the host's: what reaches the backend, what is refused,
 * events, the plan's own workspace, slots read back, and memory that runs out anywhere.
 */
#include "fake_offload.h"
#include "small_attn.h"
#include "support/suite.h"

enum { B = 2, H = 2, N_Q = 4, N_K = 6, D = 8, BYTES = 4096, MEMORIES = 9 };

static heed_device *device;
static heed_queue *queue;
static heed_plan *plan;
static heed_kv_bufs kv;
static heed_buf slot_bufs[3], all[MEMORIES];
static heed_attn_args args;

static int handles(void)
{
    return device->backend->offload->handles != 0;
}

/* Lengths lie two apart, positions are walked backwards. */
static void right_desc(void)
{
    small_desc(B, H, N_Q, N_K, D, D);
    slots[1].t.stride[0] = 2;
    slots[2].t.stride[0] = -1;
}

/* A memory each, all of them from offset 0 but the positions, which are walked backwards. */
static void right_args(void)
{
    for (int i = 0; i < MEMORIES; i++)
        ck_assert_int_eq(heed_buf_create(device, BYTES, &all[i], NULL), HEED_OK);
    kv = (heed_kv_bufs){ all[2], all[3] };
    memcpy(slot_bufs, all + 4, sizeof(slot_bufs));
    slot_bufs[2].offset = 8 * (B - 1);
    args = (heed_attn_args){
        .size = sizeof(args),
        .kv_size = sizeof(kv),
        .q = all[0],
        .o = all[1],
        .lse = all[7],
        .workspace = all[8],
        .workspace_size = FAKE_WORKSPACE,
        .kv = &kv,
        .slots = slot_bufs,
        .n_slots = 3,
    };
}

static void open_world(const char *name)
{
    device = find(name);
    queue = make_queue(device);
    right_desc();
    right_args();
}

/* With a plan. */
static void open_plan(const char *name, uint32_t flags)
{
    open_world(name);
    desc.flags |= flags;
    ck_assert_msg(heed_attn_plan(device, &desc, &plan, &why) == HEED_OK, "%s: %s", why.field,
                  why.message);
}

static void drop_plan(void)
{
    heed_plan_drop(plan);
    plan = NULL;
}

/* What a test has left open. */
static void close_world(void)
{
    drop_plan();
    for (int i = 0; i < MEMORIES && queue != NULL; i++)
        heed_buf_destroy(device, all[i]);
    heed_queue_destroy(queue);
    queue = NULL;
    tear_down();
}

static void run_right(heed_event **event)
{
    ck_assert_msg(heed_attn_run(plan, queue, &args, event, &why) == HEED_OK, "%s: %s", why.field,
                  why.message);
}

static void run_wrong(heed_status status, const char *field)
{
    const int runs = fake.runs;
    heed_event *event = NULL;

    ck_assert_int_eq(heed_attn_run(plan, queue, &args, &event, &why), status);
    ck_assert_int_eq(why.status, status);
    ck_assert_str_eq(why.field, field);
    ck_assert_ptr_null(event);
    ck_assert_int_eq(fake.runs, runs);
}

/* ---- binding ---- */

static void place_check(heed_buf got, heed_buf memory, uint64_t offset)
{
    ck_assert_ptr_eq(got.handle, memory.handle);
    ck_assert_uint_eq(got.offset, offset);
}

LOOP_TEST(places_reach_the_backend, 2)
{
    open_plan(kinds[_i], 0);
    args.q.offset = 16;
    run_right(NULL);
    ck_assert_ptr_eq(fake.launch.queue, queue->offload);
    ck_assert_ptr_null(fake.launch.event);
    ck_assert_uint_eq(fake.launch.n_waits, 0);
    place_check(fake.at[HEED_ATTN_Q], all[0], 16);
    place_check(fake.at[HEED_ATTN_O], all[1], 0);
    place_check(fake.at[HEED_ATTN_LSE], all[7], 0);
    ck_assert_ptr_null(fake.at[HEED_ATTN_SINKS].handle);
    place_check(fake.at[heed_attn_k(0)], all[2], 0);
    place_check(fake.at[heed_attn_v(0)], all[3], 0);
    place_check(fake.at[heed_attn_slot(heed_attn_of(plan), 1)], all[4], 0);
    place_check(fake.at[heed_attn_slot(heed_attn_of(plan), 2)], all[5], 0);
    place_check(fake.at[heed_attn_slot(heed_attn_of(plan), 3)], all[6], 8);
    place_check(fake.launch.workspace, all[8], 0);
    drop_plan();
    ck_assert_int_eq(fake.drops, 1);
}

LOOP_TEST(wrong_places_are_refused, 2)
{
    open_plan(kinds[_i], 0);
    args.q.handle = NULL;
    run_wrong(HEED_E_NULL, "q");
    args.q = (heed_buf){ all[0].handle, 2 };
    run_wrong(HEED_E_ALIGN, "q");
    args.q = all[0];
    kv.k.offset = 1;
    run_wrong(HEED_E_ALIGN, "kv[0].k");
    kv.k = all[2];
    slot_bufs[0].handle = NULL;
    run_wrong(HEED_E_NULL, "slots[0]");
    slot_bufs[0] = all[4];
    args.o.offset = handles() ? UINT64_MAX - 63 : UINT64_MAX - 63 - (uintptr_t)all[1].handle;
    run_wrong(HEED_E_OVERFLOW, "o");
    args.o = all[1];
    args.workspace.offset = FAKE_ALIGN / 2;
    run_wrong(HEED_E_ALIGN, "workspace");
    args.workspace.offset = UINT64_MAX - FAKE_ALIGN + 1;
    run_wrong(HEED_E_OVERFLOW, "workspace");
    args.workspace = (heed_buf){ NULL, 0 };
    run_wrong(HEED_E_WORKSPACE, "workspace");
    args.workspace = all[8];
    if (handles()) {            /* before the memory begins; an address has no such place */
        slot_bufs[2].offset = 0;
        run_wrong(HEED_E_OVERFLOW, "slots[2]");
        slot_bufs[2].offset = 8;
    }
    run_right(NULL);
}

/* With handles, offsets are compared within one memory only. */
LOOP_TEST(outputs_share_no_byte_of_one_memory, 2)
{
    const uint64_t o_bytes = B * H * N_Q * D * sizeof(float);

    open_plan(kinds[_i], 0);
    args.o = all[0];
    run_wrong(HEED_E_ALIAS, "o");
    ck_assert_str_eq(why.message, "shares bytes with q");
    args.o.offset = o_bytes;
    run_right(NULL);
    args.lse = args.o;
    run_wrong(HEED_E_ALIAS, "o");
    args.lse = (heed_buf){ all[4].handle, 8 };
    run_wrong(HEED_E_ALIAS, "lse");
    args.lse.offset = 64;
    run_right(NULL);
    args.workspace = all[2];
    run_wrong(HEED_E_ALIAS, "workspace");
    args.workspace.offset = FAKE_WORKSPACE;
    run_right(NULL);
    args.q = kv.v;                                      /* inputs may */
    run_right(NULL);
}

/* ---- events ---- */

LOOP_TEST(events_are_objects_made_when_asked_for, 2)
{
    heed_event *event = NULL;

    open_plan(kinds[_i], 0);
    ledger_restart(&ledger);
    run_right(NULL);
    ck_assert_int_eq(atomic_load(&ledger.requests), 0);
    ck_assert_int_eq(atomic_load(&fake.events), 0);
    run_right(&event);
    ck_assert_int_eq(atomic_load(&ledger.requests), 1);
    ck_assert_int_eq(atomic_load(&fake.events), 1);
    ck_assert_int_eq(heed_context_events(rt), 1);
    ck_assert_int_eq(fake.event_waits, 0);
    ck_assert_int_eq(heed_event_wait(event, &why), HEED_OK);
    ck_assert_int_eq(fake.event_waits, 1);
    fake.wait = HEED_E_DEVICE_LOST;
    fill_detail(-9999, "it went away");
    ck_assert_int_eq(heed_event_wait(event, &why), HEED_E_DEVICE_LOST);
    ck_assert_int_eq(why.native_code, -9999);
    ck_assert_str_eq(why.message, "the run failed: it went away");
    heed_event_destroy(event);
    ck_assert_int_eq(heed_context_events(rt), 0);
    fake.no_event = 1;                                  /* complete when run returned */
    run_right(&event);
    ck_assert_int_eq(heed_event_wait(event, &why), HEED_OK);
    args.wait = &event;
    args.n_wait = 1;
    run_right(NULL);
    ck_assert_uint_eq(fake.launch.n_waits, 0);
    heed_event_destroy(event);
}

LOOP_TEST(runs_wait_for_events_of_their_device, 2)
{
    heed_device *other = find(kinds[1 - _i]), *host = find("reference");
    heed_event *events[HEED_MAX_WAITS + 1], *mine = NULL;
    heed_queue *second;

    open_plan(kinds[_i], 0);
    second = make_queue(device);
    ck_assert_int_eq(heed_attn_run(plan, second, &args, &mine, &why), HEED_OK);
    for (int i = 0; i <= HEED_MAX_WAITS; i++)
        events[i] = mine;
    args.wait = events;
    args.n_wait = 2;
    run_right(NULL);
    ck_assert_uint_eq(fake.launch.n_waits, 2);
    ck_assert_ptr_eq(fake.waits[1], mine->offload);
    args.n_wait = HEED_MAX_WAITS;
    run_right(NULL);
    ck_assert_uint_eq(fake.launch.n_waits, HEED_MAX_WAITS);
    args.n_wait = HEED_MAX_WAITS + 1;
    run_wrong(HEED_E_UNSUPPORTED, "wait");
    ck_assert_int_eq(why.wanted, HEED_MAX_WAITS);
    ck_assert_int_eq(why.got, HEED_MAX_WAITS + 1);
    args.n_wait = 2;
    events[1] = host->done;
    run_wrong(HEED_E_MISMATCH, "wait[1]");
    events[1] = heed_event_new(other);
    run_wrong(HEED_E_MISMATCH, "wait[1]");
    heed_event_release(events[1]);
    events[1] = NULL;
    run_wrong(HEED_E_NULL, "wait[1]");
    args.n_wait = 0;
    ck_assert_int_eq(fake.event_waits, 0);              /* never on the host */
    heed_event_destroy(mine);
    heed_queue_destroy(second);
    second = make_queue(other);
    ck_assert_int_eq(heed_attn_run(plan, second, &args, NULL, &why), HEED_E_MISMATCH);
    ck_assert_ptr_nonnull(strstr(why.message, kinds[_i]));
    heed_queue_destroy(second);
}

/* ---- the plan's own workspace ---- */

LOOP_TEST(own_workspaces_lie_on_the_device, 2)
{
    heed_plan_props p = { .size = sizeof(p) };
    heed_event *first = NULL;
    void *own, *offload;

    open_plan(kinds[_i], HEED_PLAN_OWN_WORKSPACE);
    ck_assert_int_eq(atomic_load(&fake.memories), MEMORIES + 1);
    ck_assert_int_eq(heed_plan_info(plan, &p), HEED_OK);
    ck_assert_uint_eq(p.device_bytes, 1000 + FAKE_WORKSPACE);
    ck_assert_uint_eq(p.host_bytes, plan->owned->arena.bytes + 100);
    ck_assert_uint_eq(p.workspace_size, 0);
    args.workspace = (heed_buf){ NULL, 0 };
    own = plan->owned->workspace;
    run_right(&first);
    ck_assert_ptr_eq(fake.launch.workspace.handle, own);
    ck_assert_uint_eq(fake.launch.workspace.offset, 0);
    ck_assert_uint_eq(fake.launch.n_waits, 0);
    offload = first->offload;
    run_right(NULL);                                    /* waits for the first, on the device */
    ck_assert_uint_eq(fake.launch.n_waits, 1);
    ck_assert_ptr_eq(fake.waits[0], offload);
    heed_event_destroy(first);
    ck_assert_int_eq(atomic_load(&fake.events), 1);
    run_right(&first);
    ck_assert_int_eq(atomic_load(&fake.events), 1);
    ck_assert_int_eq(fake.event_waits + fake.queue_waits, 0);
    drop_plan();                                        /* waits before it gives memory back */
    ck_assert_int_eq(fake.event_waits, 1);
    ck_assert_int_eq(atomic_load(&fake.memories), MEMORIES);
    ck_assert_int_eq(heed_event_wait(first, &why), HEED_OK);
    heed_event_destroy(first);
}

/* What a graph cannot have is refused before anything is enqueued, waited for or made. */
LOOP_TEST(runs_that_are_captured_have_no_events, 2)
{
    heed_event *event = NULL;

    open_plan(kinds[_i], 0);
    fake.captures = 1;
    run_right(NULL);
    ck_assert_int_eq(heed_attn_run(plan, queue, &args, &event, &why), HEED_E_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(why.message, "captured: a run that gives an event"));
    drop_plan();
    desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    ck_assert_int_eq(heed_attn_plan(device, &desc, &plan, &why), HEED_OK);
    ck_assert_int_eq(heed_attn_run(plan, queue, &args, NULL, &why), HEED_E_UNSUPPORTED);
    ck_assert_int_eq(fake.runs, 1);
    ck_assert_int_eq(fake.queue_waits + fake.event_waits + atomic_load(&fake.events), 0);
}

LOOP_TEST(a_failed_run_leaves_nothing_in_the_workspace, 2)
{
    heed_event *event = NULL;

    open_plan(kinds[_i], HEED_PLAN_OWN_WORKSPACE);
    run_right(NULL);
    fake.run = HEED_E_DEVICE;
    fill_detail(-4, "a\x01" "b\r\n");
    ck_assert_int_eq(heed_attn_run(plan, queue, &args, &event, &why), HEED_E_DEVICE);
    ck_assert_int_eq(why.native_code, -4);
    ck_assert_ptr_nonnull(strstr(why.message, "fake failed: a?b"));
    ck_assert_ptr_null(strpbrk(why.message, "\r\n\x01"));
    ck_assert_ptr_null(event);
    ck_assert_int_eq(fake.queue_waits, 1);
    ck_assert_int_eq(atomic_load(&fake.events), 1);     /* of the run before */
    fake.run = HEED_OK;
    run_right(&event);                                  /* not busy */
    heed_event_destroy(event);
}

LOOP_TEST(plans_that_cannot_be_bound_leave_nothing, 2)
{
    long long held;

    open_world(kinds[_i]);
    held = atomic_load(&ledger.blocks);
    fake.prepare = HEED_E_KERNEL_BUILD;
    fill_detail(-11, "line 3: no such thing");
    ck_assert_int_eq(heed_attn_check(device, &desc, &why), HEED_OK);    /* does not bind */
    ck_assert_int_eq(heed_attn_plan(device, &desc, &plan, &why), HEED_E_KERNEL_BUILD);
    ck_assert_int_eq(why.native_code, -11);
    ck_assert_ptr_nonnull(strstr(why.message, ": line 3: no such thing"));
    ck_assert_int_eq(fake.drops, 0);
    fake.prepare = HEED_OK;
    fake.create = HEED_E_DEVICE_NOMEM;
    desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    ck_assert_int_eq(heed_attn_plan(device, &desc, &plan, &why), HEED_E_DEVICE_NOMEM);
    ck_assert_int_eq(why.native_code, -11);
    ck_assert_int_eq(fake.drops, 1);
    ck_assert_ptr_null(plan);
    ck_assert_int_eq(atomic_load(&ledger.blocks), held);
}

LOOP_TEST(exact_plans_want_exact_devices, 2)
{
    open_world(kinds[_i]);
    desc.numerics = HEED_NUMERICS_EXACT;
    device->props.exact = 0;
    ck_assert_int_eq(heed_attn_check(device, &desc, &why), HEED_E_UNSUPPORTED);
    ck_assert_str_eq(why.field, "numerics");
    ck_assert_int_eq(heed_attn_plan(device, &desc, &plan, &why), HEED_E_UNSUPPORTED);
    ck_assert_ptr_null(plan);
    device->props.exact = 1;
    ck_assert_int_eq(heed_attn_check(device, &desc, &why), HEED_OK);
}

/* ---- validate ---- */

/* Lengths lie two apart, positions one before the other. */
static void write_slots(int32_t length0, int32_t length1, int64_t position1)
{
    const int32_t lengths[3] = { length0, 99, length1 };
    const int64_t positions[2] = { position1, 7 };
    const heed_buf back = { slot_bufs[2].handle, 0 };

    ck_assert_int_eq(heed_buf_write(queue, slot_bufs[1], lengths, sizeof(lengths), NULL), HEED_OK);
    ck_assert_int_eq(heed_buf_write(queue, back, positions, sizeof(positions), NULL), HEED_OK);
}

LOOP_TEST(validate_reads_slots_back, 2)
{
    heed_event *event = NULL;
    long long held;

    open_plan(kinds[_i], 0);
    run_right(&event);
    held = atomic_load(&ledger.blocks);
    write_slots(3, N_K, -5);
    args.wait = &event;
    args.n_wait = 1;
    ck_assert_int_eq(heed_attn_validate(plan, queue, &args, &why), HEED_OK);
    ck_assert_int_eq(fake.reads, 2);                    /* not the mask */
    ck_assert_int_eq(fake.event_waits, 1);
    ck_assert_uint_eq(fake.read_bytes, 2 * sizeof(int64_t));
    ck_assert_uint_eq(fake.read_offset, 0);
    write_slots(3, N_K + 1, -5);
    ck_assert_int_eq(heed_attn_validate(plan, queue, &args, &why), HEED_E_INDEX);
    ck_assert_str_eq(why.field, "slots[1]");
    ck_assert_int_eq(why.got, N_K + 1);
    write_slots(3, 0, INT64_MAX);
    ck_assert_int_eq(heed_attn_validate(plan, queue, &args, &why), HEED_E_OVERFLOW);
    ck_assert_str_eq(why.field, "slots[2]");
    write_slots(0, 0, 0);
    fake.transfer = HEED_E_DEVICE;
    ck_assert_int_eq(heed_attn_validate(plan, queue, &args, &why), HEED_E_DEVICE);
    ck_assert_str_eq(why.field, "slots[1]");
    fake.transfer = HEED_OK;
    fake.wait = HEED_E_DEVICE_LOST;
    ck_assert_int_eq(heed_attn_validate(plan, queue, &args, &why), HEED_E_DEVICE_LOST);
    fake.wait = HEED_OK;
    for (long long k = 1; k <= 2; k++) {
        ledger_restart(&ledger);
        atomic_store(&ledger.fail_at, k);
        ck_assert_int_eq(heed_attn_validate(plan, queue, &args, &why), HEED_E_NOMEM);
    }
    ledger_restart(&ledger);
    ck_assert_int_eq(atomic_load(&ledger.blocks), held);
    slot_bufs[1].handle = NULL;
    ck_assert_int_eq(heed_attn_validate(plan, queue, &args, &why), HEED_E_NULL);
    heed_event_destroy(event);
}

/* ---- memory that runs out ---- */

/* From nothing to a result; the first failure ends it. */
static heed_status whole_story(const char *name)
{
    heed_event *event = NULL;
    heed_status status;

    desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    status = heed_device_find(rt, name, &device, &why);
    if (status >= 0)
        status = heed_queue_create(device, 0, &queue, &why);
    if (status >= 0)
        status = heed_attn_check(device, &desc, &why);
    if (status >= 0)
        status = heed_attn_plan(device, &desc, &plan, &why);
    if (status >= 0) {
        right_args();
        write_slots(1, 1, 1);
        status = heed_attn_validate(plan, queue, &args, &why);
        if (status >= 0)
            status = heed_attn_run(plan, queue, &args, &event, &why);
        for (int i = 0; i < MEMORIES; i++)
            heed_buf_destroy(device, all[i]);
    }
    heed_event_destroy(event);
    drop_plan();
    heed_queue_destroy(queue);
    queue = NULL;
    return status;
}

LOOP_TEST(each_allocation_may_fail, 2)
{
    const heed_allocator a = ledger_allocator(&ledger);
    const heed_runtime_desc rt_desc = {
        .size = sizeof(rt_desc), .allocator = &a, .cache_dir = "/nowhere"
    };
    heed_status status = HEED_E_NOMEM;
    long long k = 1;

    right_desc();
    heed_runtime_destroy(rt);
    for (; status < 0; k++) {
        rt = NULL;
        ledger_restart(&ledger);
        atomic_store(&ledger.fail_at, k);
        status = heed_runtime_create(&rt_desc, &rt, &why);
        if (status >= 0)
            status = whole_story(kinds[_i]);
        ck_assert_msg(status == HEED_OK || status == HEED_E_NOMEM, "%lld: %s: %s", k, why.field,
                      why.message);
        ck_assert_int_eq(why.status, status);
        heed_runtime_destroy(rt);
        nothing_left();
    }
    ck_assert_int_gt(k, 10);
    ledger_restart(&ledger);
    rt = make_runtime(NULL, NULL);
}

int main(void)
{
    return suite_run("offload_run", 60, set_up, close_world);
}
