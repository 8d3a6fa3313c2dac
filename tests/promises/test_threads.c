/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads inside a run change no bit: any width, any executor, any order of workers. Threads
 * around it do no harm: runtimes beside each other, one plan run by many, a plan's own workspace,
 * the last reference dropped in mid-run. Also run under ThreadSanitizer, see scripts/tsan.
 */
#include "crews.h"
#include "op_work.h"
#include "work.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 6 };

/* ---- inside ---- */

static const struct {
    const char *name;
    heed_executor (*make)(uint32_t width);
} crews[] = {
    { "built in", width_of }, { "reverse", crew_reverse }, { "threads", crew_threads },
    { "pair", crew_pair },    { "openmp", crew_openmp },
};
enum { CREWS = sizeof(crews) / sizeof(crews[0]) };

/* Our own cases cut rows into many strips and get every width; the others get two. */
static void widths_try(struct work *w, const char *device, int crew)
{
    static const uint32_t widths[] = { 1, 2, 3, 5, 8 };
    const size_t step = strncmp(w->name, "many_", 5) == 0 ? 1 : 3;

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i += step) {
        const heed_executor e = crews[crew].make(widths[i]);
        heed_plan *plan;
        struct place p;
        struct space space;
        char how[64];

        if (!place_open(&p, device, &e))
            return;
        plan = work_plan(w, &p, 0);
        space_start(&space, plan);
        for (int again = 0; again < 3; again++) {
            if (again == 2)
                space_poison(&space);
            snprintf(how, sizeof(how), "%s, %u workers", crews[crew].name, (unsigned)widths[i]);
            work_run(w, &p, plan, &space, how);
        }
        space_finish(&space);
        heed_plan_drop(plan);
        place_close(&p);
    }
}

LOOP_TEST(lanes_change_no_bit, CREWS)
{
    for (size_t c = 0; c < work_count; c++) {
        struct work w;

        work_start(&w, c);
        for (int i = 1; i < place_count(); i++) {
            if (suite_turn(c + (size_t)(_i + i), 2 * CREWS))
                widths_try(&w, place_name(i), _i);
        }
        work_finish(&w);
    }
}

static uint32_t widest;

static void in_turn(void *context, uint32_t width, void (*body)(void *, uint32_t), void *arg)
{
    (void)context;
    widest = width > widest ? width : widest;
    for (uint32_t worker = 0; worker < width; worker++)
        body(arg, worker);
}

/* More workers than there are tasks want no memory, and no call. */
LOOP_TEST(width_is_what_the_work_can_use, place_count() - 1)
{
    static const uint32_t widths[] = { 4096, UINT32_MAX };
    uint64_t bytes[2] = { 0, 0 };

    for (size_t c = 0; c < work_count; c++) {
        struct work w;

        work_start(&w, c);
        for (int i = 0; i < 2; i++) {
            const heed_executor e = { .size = sizeof(e), .width = widths[i], .parallel = in_turn };
            heed_plan *plan;
            struct place p;
            struct space space;

            if (!place_open(&p, place_name(1 + _i), &e))
                break;
            plan = work_plan(&w, &p, 0);
            space_start(&space, plan);
            bytes[i] = space.bytes;
            widest = 0;
            work_run(&w, &p, plan, &space, "widest");
            ck_assert_uint_le(widest, 4096);
            space_finish(&space);
            heed_plan_drop(plan);
            place_close(&p);
        }
        ck_assert_msg(bytes[0] == bytes[1], "%s: %llu bytes, %llu of 4096 workers", w.name,
                      (unsigned long long)bytes[1], (unsigned long long)bytes[0]);
        work_finish(&w);
    }
}

static void operation_widths_try(const struct op_work *w, const char *device, int crew)
{
    static const uint32_t widths[] = { 1, 2, 5 };

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        const heed_executor e = crews[crew].make(widths[i]);
        struct place p;
        char how[64];

        if (!place_open(&p, device, &e))
            return;
        snprintf(how, sizeof(how), "%s, %u workers", crews[crew].name, (unsigned)widths[i]);
        op_work_try(w, p.device, p.queue, i % 2 ? HEED_PLAN_OWN_WORKSPACE : 0, how);
        place_close(&p);
    }
}

LOOP_TEST(workers_of_operations_change_no_bit, CREWS)
{
    for (int c = 0; c < op_work_count(); c++) {
        struct op_work *w = NULL;

        for (int i = 1; i < place_count(); i++) {
            if (!suite_turn((size_t)(c + _i + i), 4 * CREWS + 1))
                continue;
            if (!w)
                w = op_work_start(c);
            operation_widths_try(w, place_name(i), _i);
        }
        if (w)
            op_work_finish(w);
    }
}

/* ---- around ---- */

/* One thread's own: queue, workspace, outputs. */
struct caller {
    const struct work *work;
    const heed_plan *plan;
    heed_device *device;
    int own_workspace;
    int right, busy, wrong; /* runs */
};

static int untouched(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != (char)0xab)
            return 0;
    }
    return 1;
}

static void call_once(struct caller *c, heed_queue *queue, heed_attn_args *args)
{
    const struct work *w = c->work;
    heed_status status;

    memset(args->o.handle, 0xab, w->o_bytes);
    memset(args->lse.handle, 0xab, w->lse_bytes);
    status = heed_attn_run(c->plan, queue, args, NULL, NULL);
    if (status == HEED_OK && work_right(w, args->o.handle, args->lse.handle))
        c->right++;
    else if (status == HEED_E_BUSY && c->own_workspace && untouched(args->o.handle, w->o_bytes) &&
             untouched(args->lse.handle, w->lse_bytes))
        c->busy++;
    else
        c->wrong++;
}

static void *call_many(void *argument)
{
    struct caller *c = argument;
    heed_attn_args args = c->work->g.args;
    heed_queue *queue = NULL;
    struct space space;

    space_start(&space, c->plan);
    space_into(&space, &args);
    args.o.handle = malloc(c->work->o_bytes + 1);
    args.lse.handle = malloc(c->work->lse_bytes + 1);
    if (args.o.handle == NULL || args.lse.handle == NULL ||
        heed_queue_create(c->device, 0, &queue, NULL) < 0)
        c->wrong++;
    else
        for (int i = 0; i < ROUNDS; i++)
            call_once(c, queue, &args);
    heed_queue_destroy(queue);
    free(args.o.handle);
    free(args.lse.handle);
    space_finish(&space);
    return NULL;
}

/* Many threads, each its own arguments; the sum of what they found. */
static struct caller call_all(const struct work *w, heed_plan *const *plans,
                              struct place *const *places, int own_workspace)
{
    struct caller callers[THREADS], sum = { 0 };
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){ .work = w,
                                      .plan = plans[i],
                                      .device = places[i]->device,
                                      .own_workspace = own_workspace };
        ck_assert_int_eq(pthread_create(&thread[i], NULL, call_many, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        sum.right += callers[i].right;
        sum.busy += callers[i].busy;
        sum.wrong += callers[i].wrong;
    }
    return sum;
}

static const char *const shared[] = { "many_rows", "many_globals", "many_sequences", "everything" };
enum { SHARED = sizeof(shared) / sizeof(shared[0]) };

/* One plan, many threads; with its own workspace those who come late are told so. */
static void plan_share(const char *device, const char *name, heed_executor e, uint32_t flags)
{
    heed_plan *plans[THREADS];
    struct place p, *places[THREADS];
    struct caller sum;
    struct work w;

    if (!place_open(&p, device, &e))
        return;
    work_start(&w, work_find(name));
    plans[0] = work_plan(&w, &p, flags);
    for (int i = 0; i < THREADS; i++) {
        plans[i] = plans[0];
        places[i] = &p;
    }
    sum = call_all(&w, plans, places, flags != 0);
    ck_assert_msg(sum.wrong == 0, "%s on %s: %d wrong, %d busy, %d right", name, device, sum.wrong,
                  sum.busy, sum.right);
    ck_assert_int_ge(sum.right, flags ? 1 : THREADS * ROUNDS);
    heed_plan_drop(plans[0]);
    work_finish(&w);
    place_close(&p);
}

/* The reference, which comes first, has one. */
static uint32_t most_workers(int place)
{
    return place == 0 ? 1 : 2;
}

LOOP_TEST(one_plan_serves_many_threads, place_count() * SHARED)
{
    if (!suite_turn((size_t)(_i / SHARED + _i), SHARED)) /* each place one, each one a place */
        return;
    for (uint32_t width = 1; width <= most_workers(_i / SHARED); width++) {
        plan_share(place_name(_i / SHARED), shared[_i % SHARED], width_of(width), 0);
        plan_share(place_name(_i / SHARED), shared[_i % SHARED], crew_threads(width), 0);
    }
}

LOOP_TEST(own_workspace_is_busy_or_right, place_count() * SHARED)
{
    for (uint32_t width = 1; width <= most_workers(_i / SHARED); width++)
        plan_share(place_name(_i / SHARED), shared[_i % SHARED], width_of(width),
                   HEED_PLAN_OWN_WORKSPACE);
}

LOOP_TEST(runtimes_beside_each_other, place_count())
{
    for (size_t c = 0; c < SHARED; c++) {
        heed_plan *plans[THREADS];
        struct place p[THREADS], *places[THREADS];
        struct caller sum;
        struct work w;
        int n = 0;

        if (!suite_turn(c + (size_t)_i, 2))
            continue;
        work_start(&w, work_find(shared[c]));
        for (; n < THREADS; n++) {
            const heed_executor e = n % 2 ? crew_pair(2) : width_of(2);

            if (!place_open(&p[n], place_name(_i), &e))
                break;
            plans[n] = work_plan(&w, &p[n], 0);
            places[n] = &p[n];
        }
        if (n == THREADS) {
            sum = call_all(&w, plans, places, 0);
            ck_assert_int_eq(sum.wrong, 0);
            ck_assert_int_eq(sum.right, THREADS * ROUNDS);
        }
        while (n-- > 0) {
            heed_plan_drop(plans[n]);
            place_close(&p[n]);
        }
        work_finish(&w);
    }
}

/* ---- operations with fixed arrays ---- */

struct operation_caller {
    struct op_run *run;
    const heed_plan *plan;
    heed_status status;
};

static void *operation_call(void *argument)
{
    struct operation_caller *caller = argument;

    caller->status = op_run_go(caller->run, caller->plan, NULL);
    return NULL;
}

/* With a workspace of the plan's own those who come late are told so. */
static int operation_is_right(const struct op_work *w, const struct operation_caller *caller)
{
    if (caller->status == HEED_E_BUSY)
        return strstr(op_work_line(w), "ws=own") != NULL;
    return caller->status == HEED_OK && op_run_right(caller->run);
}

/* One plan, many threads with arrays, workspaces and queues of their own. */
static void operation_share(const struct op_work *w, const struct place *p)
{
    struct operation_caller callers[THREADS];
    heed_queue *queues[THREADS] = { NULL };
    pthread_t threads[THREADS];
    heed_plan *plan = NULL;

    ck_assert_int_ge(op_work_plan(w, p->device, 0, &plan), 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_ge(heed_queue_create(p->device, 0, &queues[i], NULL), 0);
        callers[i] = (struct operation_caller){ op_run_start(w, p->device, queues[i], plan), plan,
                                                HEED_E_INTERNAL };
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, operation_call, &callers[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_msg(operation_is_right(w, &callers[i]), "%s on %s, thread %d", op_work_line(w),
                      heed_device_name(p->device), i);
        op_run_finish(callers[i].run);
        heed_queue_destroy(queues[i]);
    }
    heed_plan_drop(plan);
}

LOOP_TEST(one_plan_of_an_operation_serves_many_threads, place_count())
{
    const heed_executor e = crew_threads(2);
    struct place p;

    if (!place_open(&p, place_name(_i), &e))
        return;
    for (int c = 0; c < op_work_count(); c++) {
        struct op_work *w;

        if (!suite_turn((size_t)(c + _i), 5))
            continue;
        w = op_work_start(c);
        operation_share(w, &p);
        op_work_finish(w);
    }
    place_close(&p);
}

/* ---- a plan dropped while it runs ---- */

static heed_plan *dropped;

static void *drop_it(void *argument)
{
    (void)argument;
    heed_plan_drop(dropped);
    dropped = NULL;
    return NULL;
}

static void drop_first(void *context, uint32_t width, void (*body)(void *, uint32_t), void *arg)
{
    pthread_t thread;

    (void)context;
    if (dropped != NULL && pthread_create(&thread, NULL, drop_it, NULL) == 0)
        pthread_join(thread, NULL);
    while (width-- > 0)
        body(arg, width);
}

LOOP_TEST(drop_in_mid_run_is_safe, 2 * (place_count() - 1))
{
    const heed_executor e = { .size = sizeof(e), .width = 3, .parallel = drop_first };
    const uint32_t flags = _i % 2 ? HEED_PLAN_OWN_WORKSPACE : 0;
    heed_attn_args args;
    heed_plan *plan;
    struct place p;
    struct space space;
    struct work w;
    long long held;

    if (!place_open(&p, place_name(1 + _i / 2), &e))
        return;
    held = atomic_load(&p.ledger.bytes);
    work_start(&w, work_find("many_rows"));
    plan = dropped = work_plan(&w, &p, flags);
    space_start(&space, plan);
    args = w.g.args;
    space_into(&space, &args);
    work_poison(&w);
    ck_assert_int_eq(heed_attn_run(plan, p.queue, &args, NULL, NULL), HEED_OK);
    ck_assert_ptr_null(dropped);
    ck_assert_int_eq(atomic_load(&p.ledger.bytes), held);
    work_judge(&w, place_name(1 + _i / 2), "dropped in mid-run");
    space_finish(&space);
    work_finish(&w);
    place_close(&p);
}

int main(void)
{
    return suite_run("threads", 480, NULL, NULL);
}
