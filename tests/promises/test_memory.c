/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory that runs out: each allocation of each call fails in turn, alone and with all later ones.
 * The call says so, leaves nothing behind and nothing broken: asked again it succeeds, and what it
 * made gives the same bits.
 */
#include "op_work.h"
#include "work.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

/* What is tried: makes something and takes it down; HEED_OK only if `use` is 0 or it works. */
struct trial {
    struct place *place;
    struct work *work;
    const struct op_work *operation;
    uint32_t flags;
    heed_status (*call)(struct trial *);
};

static void fail_from(struct ledger *ledger, int persists, long long k)
{
    ledger_restart(ledger);
    if (persists)
        atomic_store(&ledger->fail_from, k);
    else
        atomic_store(&ledger->fail_at, k);
}

/* Fails request 1, 2, ... until the call gets by; returns how many there were. */
static long long sweep(struct trial *t, struct ledger *ledger, int persists)
{
    const long long blocks = atomic_load(&ledger->blocks), bytes = atomic_load(&ledger->bytes);
    long long k = 1;

    for (;; k++) {
        heed_status status;

        fail_from(ledger, persists, k);
        status = t->call(t);
        ck_assert_int_eq(atomic_load(&ledger->blocks), blocks);
        ck_assert_int_eq(atomic_load(&ledger->bytes), bytes);
        ck_assert_int_eq(atomic_load(&ledger->mistakes), 0);
        if (status == HEED_OK)
            break;
        ck_assert_msg(status == HEED_E_NOMEM, "request %lld: %s", k, heed_status_name(status));
        ck_assert_int_ge(atomic_load(&ledger->requests), k);
        ck_assert_int_lt(k, 10000);
        ledger_restart(ledger);
        ck_assert_int_eq(t->call(t), HEED_OK);
        ck_assert_int_eq(atomic_load(&ledger->blocks), blocks);
    }
    ck_assert_int_lt(atomic_load(&ledger->requests), k);
    ledger_restart(ledger);
    return k - 1;
}

/* ---- runtime and queue ---- */

static struct ledger runtime_ledger;

static heed_status runtime_call(struct trial *t)
{
    const heed_allocator allocator = ledger_allocator(&runtime_ledger);
    const heed_runtime_desc desc = { .size = sizeof(desc), .allocator = &allocator };
    heed_report why = { .size = sizeof(why) };
    heed_runtime *const untouched = (heed_runtime *)(void *)t;
    heed_runtime *rt = untouched;
    const heed_status status = heed_runtime_create(&desc, &rt, &why);

    ck_assert_int_eq(why.status, status);
    if (status < 0) {
        ck_assert_ptr_eq(rt, untouched);
        ck_assert_str_ne(why.message, "");
        return status;
    }
    ck_assert_ptr_nonnull(heed_device_get(rt, 1));      /* counting would look for others too */
    heed_runtime_destroy(rt);
    return status;
}

LOOP_TEST(runtime_survives_each_failure, 2)
{
    struct trial t = { .call = runtime_call };

    ck_assert_int_ge(sweep(&t, &runtime_ledger, _i), 1);
}

static heed_status queue_call(struct trial *t)
{
    heed_report why = { .size = sizeof(why) };
    heed_queue *const untouched = (heed_queue *)(void *)t;
    heed_queue *queue = untouched;
    const heed_status status = heed_queue_create(t->place->device, 0, &queue, &why);

    ck_assert_int_eq(why.status, status);
    if (status < 0)
        ck_assert_ptr_eq(queue, untouched);
    else
        heed_queue_destroy(queue);
    return status;
}

static heed_status buffer_call(struct trial *t)
{
    heed_buf buf = { .handle = t, .offset = 7 };
    const heed_status status = heed_buf_create(t->place->device, 1000, &buf, NULL);

    if (status < 0)
        ck_assert(buf.handle == t && buf.offset == 7);
    else
        heed_buf_destroy(t->place->device, buf);
    return status;
}

LOOP_TEST(queues_and_buffers_survive_each_failure, 2)
{
    struct place p;
    struct trial t = { .place = &p, .call = queue_call };

    for (int i = 0; i < place_count(); i++) {
        if (!place_open(&p, place_name(i), NULL))
            continue;
        t.call = queue_call;
        ck_assert_int_ge(sweep(&t, &p.ledger, _i), 1);
        t.call = buffer_call;
        ck_assert_int_ge(sweep(&t, &p.ledger, _i), 1);
        place_close(&p);
    }
}

/* ---- check and plan ---- */

static heed_status check_call(struct trial *t)
{
    heed_report why = { .size = sizeof(why) };
    const heed_status status = heed_attn_check(t->place->device, &t->work->g.desc, &why);

    ck_assert_int_eq(why.status, status);
    return status;
}

static heed_status plan_call(struct trial *t)
{
    heed_report why = { .size = sizeof(why) };
    heed_attn_desc desc = t->work->g.desc;
    heed_plan *const untouched = (heed_plan *)(void *)t;
    heed_plan *plan = untouched;
    struct space space;
    heed_status status;

    desc.flags |= t->flags;
    status = heed_attn_plan(t->place->device, &desc, &plan, &why);
    ck_assert_int_eq(why.status, status);
    if (status < 0) {
        ck_assert_ptr_eq(plan, untouched);
        return status;
    }
    space_start(&space, plan);
    work_run(t->work, t->place, plan, &space, "after a failure");
    space_finish(&space);
    heed_plan_drop(plan);
    return status;
}

static void slots_all(struct work *w, int constant)
{
    for (uint32_t i = 0; i < w->g.desc.n_slots; i++) {
        heed_slot *slot = &w->g.slots[i];

        if (constant && slot->data == NULL)
            slot->data = w->g.slot_bufs[i].handle;
        else if (!constant && slot->data != NULL)
            w->g.slot_bufs[i].handle = (void *)(uintptr_t)slot->data;
        if (!constant)
            slot->data = NULL;
    }
}

/* Every case on every device; constant slots, run-time slots, both flags. */
LOOP_TEST(plans_survive_each_failure, 2)
{
    long long most = 0;

    for (size_t c = 0; c < work_count; c++) {
        struct work w;
        struct place p;
        struct trial t = { .place = &p, .work = &w };

        work_start(&w, c);
        for (int i = 0; i < place_count(); i++) {
            const heed_executor one = width_of(1 + (uint32_t)c % 2);
            long long n;

            if (!suite_turn(c + (size_t)(i + _i), 5) || !place_open(&p, place_name(i), &one))
                continue;
            t.flags = i % 2 ? HEED_PLAN_OWN_WORKSPACE : 0;
            t.call = check_call;
            sweep(&t, &p.ledger, _i);
            t.call = plan_call;
            n = sweep(&t, &p.ledger, _i);
            ck_assert_int_ge(n, i == 0 ? 1 : i % 2 ? 3 : 2);
            most = n > most ? n : most;
            place_close(&p);
        }
        work_finish(&w);
    }
    ck_assert_int_ge(most, 4);
}

/* Constant slots are copied: each of them in turn has no memory. */
LOOP_TEST(plans_of_constant_slots_survive_each_failure, 2)
{
    static const char *const names[] = { "global_list", "listed_heads", "bias_map", "mask",
                                         "many_rows" };

    for (size_t c = 0; c < sizeof(names) / sizeof(names[0]); c++) {
        for (int constant = 0; constant < 2; constant++) {
            struct work w;
            struct place p;
            struct trial t = { .place = &p, .work = &w, .flags = HEED_PLAN_OWN_WORKSPACE };

            work_start(&w, work_find(names[c]));
            slots_all(&w, constant);
            ck_assert(place_open(&p, place_name(1), NULL));
            t.call = plan_call;
            ck_assert_int_ge(sweep(&t, &p.ledger, _i), 3);
            place_close(&p);
            work_finish(&w);
        }
    }
}

/* ---- operations with fixed arrays ---- */

static heed_status operation_check_call(struct trial *t)
{
    return op_work_check(t->operation, t->place->device);
}

static heed_status operation_plan_call(struct trial *t)
{
    heed_plan *const untouched = (heed_plan *)(void *)t;
    heed_plan *plan = untouched;
    heed_status status = op_work_plan(t->operation, t->place->device, t->flags, &plan);
    const long long requests = atomic_load(&t->place->ledger.requests);
    struct op_run *run;

    if (status < 0) {
        ck_assert_ptr_eq(plan, untouched);
        return status;
    }
    ledger_restart(&t->place->ledger); /* the memory of the run is another matter */
    run = op_run_start(t->operation, t->place->device, t->place->queue, plan);
    ck_assert_int_ge(op_run_go(run, plan, NULL), 0);
    ck_assert_msg(op_run_right(run), "%s after a failure", op_work_line(t->operation));
    op_run_finish(run);
    heed_plan_drop(plan);
    atomic_store(&t->place->ledger.requests, requests);
    return status;
}

LOOP_TEST(plans_of_operations_survive_each_failure, 2)
{
    for (int c = 0; c < op_work_count(); c++) {
        struct op_work *w = op_work_start(c);

        for (int i = 0; i < place_count(); i++) {
            const heed_executor e = width_of(1 + (uint32_t)c % 2);
            struct place p;
            struct trial t = { .place = &p, .operation = w };

            if (!suite_turn((size_t)(c + i + _i), 5) || !place_open(&p, place_name(i), &e))
                continue;
            t.flags = i % 2 ? HEED_PLAN_OWN_WORKSPACE : 0;
            t.call = operation_check_call;
            sweep(&t, &p.ledger, _i);
            t.call = operation_plan_call;
            ck_assert_int_ge(sweep(&t, &p.ledger, _i), 1);
            place_close(&p);
        }
        op_work_finish(w);
    }
}

int main(void)
{
    return suite_run("memory", 240, NULL, NULL);
}
