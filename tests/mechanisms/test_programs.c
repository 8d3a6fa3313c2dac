/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs as plans: what check and run refuse, the bits of their stages done by hand, and
 * memory.
 */
#include "faults.h"
#include "program_world.h"

/* ---- descriptors that are refused ---- */

struct planner {
    heed_status (*check)(heed_device *, const void *, heed_report *);
    heed_status (*plan)(heed_device *, const void *, heed_plan **, heed_report *);
    uint32_t size;
};

#define PLANNER(name, type)                                                                        \
    static heed_status name##_check_of(heed_device *device, const void *desc, heed_report *report) \
    {                                                                                              \
        return name##_check(device, desc, report);                                                 \
    }                                                                                              \
    static heed_status name##_plan_of(heed_device *device, const void *desc, heed_plan **out,      \
                                      heed_report *report)                                         \
    {                                                                                              \
        return name##_plan(device, desc, out, report);                                             \
    }                                                                                              \
    static const struct planner name = { name##_check_of, name##_plan_of, sizeof(type) };

PLANNER(heed_lsg_program, heed_lsg_program_desc)
PLANNER(heed_poolingformer_level2, heed_poolingformer_level2_desc)

static void said(const heed_report *why, heed_status status, const struct fault *f)
{
    ck_assert_msg(status == f->status && why->status == status &&
                      strcmp(why->field, f->field) == 0 && why->wanted == f->wanted &&
                      why->got == f->got,
                  "%s is %lld: %s, field %s, wanted %lld, got %lld: %s", f->field,
                  (long long)f->value, heed_status_name(status), why->field,
                  (long long)why->wanted, (long long)why->got, why->message);
    ck_assert_int_gt((int)strlen(why->message), 0);
}

static void planner_refuses(const struct planner *p, const void *desc, const struct fault *f)
{
    heed_report why = { .size = sizeof(why) };
    heed_plan *plan = (void *)&why;

    said(&why, p->check(world.device, desc, &why), f);
    said(&why, p->plan(world.device, desc, &plan, &why), f);
    ck_assert_ptr_eq(plan, &why);
    ck_assert_int_eq(p->check(world.device, desc, NULL), f->status);
}

static void planner_faults(const struct planner *p, const void *right, const struct fault *faults,
                           size_t n)
{
    const struct fault null = { .status = HEED_E_NULL, .field = "desc" };
    _Alignas(8) unsigned char desc[2048] = { 0 };
    struct fault f = { .status = HEED_E_SIZE, .field = "size", .wanted = p->size,
                       .got = p->size - 8 };
    uint32_t size = p->size - 8;

    world_open_name("cpu");
    ck_assert_uint_le(p->size + 8, sizeof(desc));
    ck_assert_int_eq(p->check(world.device, right, &world.why), HEED_OK);
    ck_assert_int_eq(p->plan(world.device, right, NULL, &world.why), HEED_E_NULL);
    ck_assert_int_eq(p->check(NULL, right, &world.why), HEED_E_NULL);
    planner_refuses(p, NULL, &null);
    memcpy(desc, right, p->size);
    memcpy(desc, &size, sizeof(size));
    planner_refuses(p, desc, &f);
    size = p->size + 8;
    memcpy(desc, &size, sizeof(size));
    ck_assert_int_eq(p->check(world.device, desc, &world.why), HEED_OK);
    desc[p->size] = 1;
    f = (struct fault){ .status = HEED_E_NEWER, .field = "size", .wanted = p->size,
                        .got = p->size };
    planner_refuses(p, desc, &f);
    memcpy(desc, right, p->size);
    for (size_t i = 0; i < n; i++) {
        const int32_t narrow = (int32_t)faults[i].value;
        unsigned char saved[128];

        ck_assert_uint_le(faults[i].size, sizeof(saved));
        memcpy(saved, desc + faults[i].at, faults[i].size);
        if (faults[i].size > 8)
            memset(desc + faults[i].at, 0, faults[i].size);
        else
            memcpy(desc + faults[i].at,
                   faults[i].size == 4 ? (const void *)&narrow : &faults[i].value, faults[i].size);
        planner_refuses(p, desc, &faults[i]);
        memcpy(desc + faults[i].at, saved, faults[i].size);
    }
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define KNOWN (HEED_PLAN_ALLOW_COMPOSED | HEED_PLAN_OWN_WORKSPACE | 1)
#define RIGHT .q = small_tensor(20), .o = small_tensor(20), .text = small_keys(20)

#define LSG(member, value, status, field, wanted, got)                                             \
    FAULT(heed_lsg_program_desc, member, value, status, field, wanted, got)

/* What every kind refuses, and NORM. */
TEST(norms_out_of_range)
{
    static const heed_slot constant = { .data = &constant };
    const heed_lsg_program_desc right = {
        .size = sizeof(right), .sparsity = HEED_LSG_NORM, RIGHT, .globals = small_keys(1),
        .block = 8, .factor = 2, .sparse_block = 4,
    };
    const struct fault faults[] = {
        LSG(flags, 2, HEED_E_FLAG, "flags", KNOWN, 2),
        LSG(numerics, 9, HEED_E_VALUE, "numerics", HEED_NUMERICS_FAST, 9),
        LSG(sparsity, HEED_LSG_STRIDE, HEED_E_VALUE, "sparsity", HEED_LSG_NORM, HEED_LSG_STRIDE),
        LSG(sparsity, 7, HEED_E_VALUE, "sparsity", HEED_LSG_BOS_POOLING, 7),
        LSG(q, 0, HEED_E_NULL, "q", 0, 0),
        LSG(text.v, 0, HEED_E_NULL, "text.v", 0, 0),
        LSG(globals.v, 0, HEED_E_NULL, "globals.v", 0, 0),
        LSG(text.k.shape[2], 21, HEED_E_SHAPE, "text.k", 20, 21),
        LSG(text.len.data, (int64_t)(intptr_t)&constant, HEED_E_VALUE, "text.len", 0, 1),
        LSG(globals.mask.data, (int64_t)(intptr_t)&constant, HEED_E_VALUE, "globals.mask", 0, 1),
        LSG(block, -8, HEED_E_VALUE, "block", 1, -8),
        LSG(factor, 9, HEED_E_VALUE, "factor", 8, 9),
        LSG(factor, 3, HEED_E_VALUE, "factor", 8, 3),
        LSG(factor, 8, HEED_E_VALUE, "factor", 4, 8),
        LSG(sparse_block, 3, HEED_E_VALUE, "sparse_block", 8, 3),
        LSG(sparse_block, 10, HEED_E_VALUE, "sparse_block", 4, 10),
        LSG(rounds[2].ndim, 3, HEED_E_VALUE, "rounds[2]", 0, 3),
        /* what only a stage finds */
        LSG(text.k.dtype, HEED_I8, HEED_E_DTYPE, "select.x.dtype", HEED_F32, HEED_I8),
        LSG(text.k.shape[1], -2, HEED_E_VALUE, "select.x.shape[1]", 0, -2),
        LSG(text.k.shape[1], INT64_C(1) << 60, HEED_E_OVERFLOW, "workspace", INT64_C(1) << 59, 0),
        LSG(text.v.shape[2], 19, HEED_E_SHAPE, "attend.sources[1].v.shape[2]", 20, 19),
    };

    planner_faults(&heed_lsg_program, &right, faults, COUNT(faults));
}

TEST(hashes_out_of_range)
{
    const int64_t extents[2] = { 4, 2 };
    const heed_lsg_program_desc right = {
        .size = sizeof(right), .sparsity = HEED_LSG_LSH, RIGHT, .block = 16, .factor = 2,
        .sparse_block = 8, .rounds = { heed_array_dense(HEED_F32, NULL, 2, extents).t },
    };
    const struct fault faults[] = {
        LSG(sparse_block, 3, HEED_E_VALUE, "sparse_block", 16, 3),
        LSG(factor, 8, HEED_E_UNSUPPORTED, "factor", 4, 8),
        LSG(factor, 4, HEED_E_SHAPE, "rounds[0]", 1, 2),
        LSG(rounds[0], 0, HEED_E_NULL, "rounds[0]", 0, 0),
        LSG(rounds[0].shape[1], 3, HEED_E_SHAPE, "rounds[0]", 2, 3),
        /* Twice this is 4 modulo 2^64, and 4 hashes are wanted. */
        LSG(rounds[0].shape[1], INT64_MIN + 2, HEED_E_SHAPE, "rounds[0]", 2, INT64_MIN + 2),
        LSG(rounds[0].shape[0], 3, HEED_E_SHAPE, "select.rounds[0].shape[0]", 4, 3),
    };

    planner_faults(&heed_lsg_program, &right, faults, COUNT(faults));
}

#define POOLED(member, value, status, field, wanted, got)                                          \
    FAULT(heed_poolingformer_level2_desc, member, value, status, field, wanted, got)

TEST(pooled_windows_out_of_range)
{
    const heed_poolingformer_level2_desc right = {
        .size = sizeof(right), RIGHT, .window = 4, .kernel = 5, .stride = 2
    };
    const struct fault faults[] = {
        POOLED(flags, 2, HEED_E_FLAG, "flags", KNOWN, 2),
        POOLED(pooling, 3, HEED_E_VALUE, "pooling", HEED_POOLINGFORMER_LDCONV, 3),
        POOLED(pooling, HEED_POOLINGFORMER_LDCONV, HEED_E_NULL, "taps_k", 0, 0),
        POOLED(taps_v.ndim, 3, HEED_E_VALUE, "taps_v", 0, 3),
        POOLED(window, -1, HEED_E_VALUE, "window", 1, -1),
        POOLED(kernel, -1, HEED_E_VALUE, "kernel", 1, -1),
        POOLED(kernel, 10, HEED_E_VALUE, "kernel", 9, 10),
        POOLED(stride, -1, HEED_E_VALUE, "stride", 1, -1),
        POOLED(text.k.shape[2], 21, HEED_E_SHAPE, "text.k", 20, 21),
        POOLED(text.k.shape[3], 3, HEED_E_SHAPE, "attend.sources[0].k.shape[5]", 4, 3),
    };

    planner_faults(&heed_poolingformer_level2, &right, faults, COUNT(faults));
}

/* ---- runs that are refused ---- */

enum { N = 20 };

struct call {
    heed_plan *plan;
    heed_program_args args;
    heed_array x[4];            /* q, k, v, o */
    heed_array before;
    heed_plan_props props;
    char *scratch;
};

static const heed_lsg_program_desc lsg_20 = {
    .size = sizeof(lsg_20), .sparsity = HEED_LSG_POOLING, .block = 4, .factor = 2
};

static struct call call_make(uint32_t flags)
{
    struct call c = { .args.size = sizeof(c.args), .props.size = sizeof(c.props) };
    heed_lsg_program_desc desc = lsg_20;

    for (int i = 0; i < 4; i++)
        c.x[i] = world_floats(HEED_F32, 1, 2, N, 4);
    desc.flags = flags;
    desc.q = c.x[0].t;
    desc.text = (heed_keys){ .k = c.x[1].t, .v = c.x[2].t };
    desc.o = c.x[3].t;
    ck_assert_int_eq(heed_lsg_program_plan(world.device, &desc, &c.plan, &world.why), HEED_OK);
    ck_assert_int_eq(heed_plan_info(c.plan, &c.props), HEED_OK);
    c.before = world_array(HEED_F32, 1, 2, N, 4, -1);
    memcpy(c.before.buf.handle, c.x[3].buf.handle, (size_t)world_count(&c.before) * sizeof(float));
    c.scratch = world_new(c.props.workspace_size + 4096);
    c.scratch += 4096 - ((uintptr_t)c.scratch & 4095);
    c.args.run = (heed_run){ .workspace = { .handle = c.scratch },
                             .workspace_size = c.props.workspace_size };
    c.args.q = c.x[0].buf;
    c.args.text = (heed_keys_bufs){ .k = c.x[1].buf, .v = c.x[2].buf };
    c.args.o = c.x[3].buf;
    return c;
}

static void run_refused(const struct call *c, const heed_program_args *args, heed_status status,
                        const char *field)
{
    heed_event *event = (void *)&status;

    ck_assert_int_eq(heed_program_run(c->plan, world.queue, args, &event, &world.why), status);
    ck_assert_str_eq(world.why.field, field);
    ck_assert_ptr_eq(event, &status);
    world_same(&c->x[3], &c->before, "o of a run that was refused");
}

LOOP_TEST(runs_are_refused_before_anything_is_written, world_devices())
{
    struct call c;
    heed_program_args a;
    heed_event *none = NULL;

    world_open(_i);
    c = call_make(0);
    ck_assert_uint_gt(c.props.workspace_size, 0);
#define REFUSED(status, field, ...)                                                                \
    a = c.args;                                                                                    \
    __VA_ARGS__;                                                                                   \
    run_refused(&c, &a, status, field)
    REFUSED(HEED_E_SIZE, "args", a.size = 8);
    REFUSED(HEED_E_VALUE, "reserved", a.reserved = 1);
    REFUSED(HEED_E_VALUE, "run.reserved", a.run.reserved = 1);
    REFUSED(HEED_E_NULL, "wait", a.run.n_wait = 1);
    REFUSED(HEED_E_NULL, "wait[0]", a.run.n_wait = 1, a.run.wait = &none);
    REFUSED(HEED_E_NULL, "q", a.q.handle = NULL);
    REFUSED(HEED_E_NULL, "text.v", a.text.v.handle = NULL);
    REFUSED(HEED_E_ALIGN, "text.k", a.text.k.offset = 1);
    REFUSED(HEED_E_ALIAS, "o", a.o = a.text.k);
    REFUSED(HEED_E_WORKSPACE, "workspace", a.run.workspace_size--);
    REFUSED(HEED_E_WORKSPACE, "workspace", a.run.workspace.handle = NULL);
    REFUSED(HEED_E_ALIGN, "workspace", a.run.workspace.offset = 4);
    REFUSED(HEED_E_ALIAS, "workspace", a.run.workspace.handle = c.scratch,
            a.text.k.handle = c.scratch + 64);
#undef REFUSED
    ck_assert_int_eq(heed_attn_run(c.plan, world.queue, (void *)&c.args, NULL, &world.why),
                     HEED_E_MISMATCH);
    ck_assert_str_eq(world.why.field, "plan");
    ck_assert_int_eq(heed_program_run(c.plan, world.queue, &c.args, NULL, &world.why), HEED_OK);
    heed_plan_drop(c.plan);
}

LOOP_TEST(a_workspace_of_its_own, world_devices())
{
    struct call c, own;
    heed_event *done = NULL;

    world_open(_i);
    c = call_make(0);
    own = call_make(HEED_PLAN_OWN_WORKSPACE);
    ck_assert_uint_eq(own.props.workspace_size, 0);
    ck_assert_uint_ge(own.props.host_bytes, c.props.host_bytes + c.props.workspace_size);
    ck_assert_int_eq(heed_program_run(c.plan, world.queue, &c.args, &done, &world.why), HEED_OK);
    ck_assert_int_eq(heed_event_wait(done, &world.why), HEED_OK);
    heed_event_destroy(done);
    c.args.run = (heed_run){ .n_wait = 0 };
    memcpy(own.x[3].buf.handle, c.x[3].buf.handle, (size_t)world_count(&c.x[3]) * sizeof(float));
    ck_assert_int_eq(heed_program_run(own.plan, world.queue, &c.args, NULL, &world.why), HEED_OK);
    world_same(&c.x[3], &own.x[3], "the bits of both workspaces");
    heed_plan_drop(c.plan);
    heed_plan_drop(own.plan);
}

/* All arrays of the program, in the order of its arguments, and no temporary. */
TEST(arrays_are_those_of_the_descriptor)
{
    static const char *const names[] = { "q", "o", "text.k", "text.v" };
    heed_extent extents[8];
    uint32_t n = 0;
    struct call c;

    world_open_name("cpu");
    c = call_make(0);
    ck_assert_int_eq(heed_plan_extents(c.plan, extents, 8, sizeof(extents[0]), &n), HEED_OK);
    ck_assert_uint_eq(n, 4);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_str_eq(extents[i].field, names[i]);
        ck_assert_int_eq(extents[i].end, 2 * N * 4 * 4);
        ck_assert_uint_eq(extents[i].flags, i == 1 ? HEED_EXTENT_WRITTEN : HEED_EXTENT_READ);
    }
    heed_plan_drop(c.plan);
}

/* ---- the bits of the stages by hand ---- */

WORLD_OPERATION(pool)

/* docs/mechanisms.md: pool K, pool V, attention over [pooled][text] in this order. */
LOOP_TEST(the_bits_are_those_of_the_composition, world_devices())
{
    const heed_term windows[3] = {
        { .kind = HEED_TERM_WINDOW, .left = 4 + 4 * 2, .right = -8, .block = 4 },
        { .kind = HEED_TERM_WINDOW, .left = -8, .right = 4 + 1 + 3 * 2, .block = 4 },
        { .kind = HEED_TERM_WINDOW, .left = 4, .right = 4, .block = 4 },
    };
    heed_source sources[2] = {
        { .pos_step = 2, .terms = windows, .n_terms = 2, .term_size = sizeof(heed_term) },
        { .terms = windows + 2, .n_terms = 1, .term_size = sizeof(heed_term) },
    };
    heed_attn_desc desc = {
        .size = sizeof(desc), .flags = HEED_ATTN_ALIGN_START | HEED_PLAN_OWN_WORKSPACE,
        .sources = sources, .n_sources = 2, .source_size = sizeof(heed_source),
    };
    heed_kv_bufs kv[2];
    heed_attn_args args = { .size = sizeof(args), .kv = kv, .kv_size = sizeof(kv[0]) };
    heed_array pooled[2], o;
    heed_plan *plan = NULL;
    struct call c;

    world_open(_i);
    c = call_make(0);
    ck_assert_int_eq(heed_program_run(c.plan, world.queue, &c.args, NULL, &world.why), HEED_OK);
    heed_plan_drop(c.plan);
    for (int i = 0; i < 2; i++) {
        struct pool_call pool = pool_call();

        pooled[i] = world_array(HEED_F32, 1, 2, N / 2, 4, -1);
        pool.desc.kind = HEED_POOL_MEAN;
        pool.desc.kernel = pool.desc.stride = 2;
        GIVE(&pool, x, c.x[1 + i]);
        GIVE(&pool, y, pooled[i]);
        pool_run(&pool);
    }
    o = world_array(HEED_F32, 1, 2, N, 4, -1);
    sources[0].k = pooled[0].t;
    sources[0].v = pooled[1].t;
    sources[1].k = c.x[1].t;
    sources[1].v = c.x[2].t;
    kv[0] = (heed_kv_bufs){ pooled[0].buf, pooled[1].buf };
    kv[1] = (heed_kv_bufs){ c.x[1].buf, c.x[2].buf };
    desc.q = c.x[0].t;
    desc.o = o.t;
    args.q = c.x[0].buf;
    args.o = o.buf;
    ck_assert_msg(heed_attn_plan(world.device, &desc, &plan, &world.why) == HEED_OK, "%s: %s",
                  world.why.field, world.why.message);
    ck_assert_int_eq(heed_attn_run(plan, world.queue, &args, NULL, &world.why), HEED_OK);
    heed_plan_drop(plan);
    world_same(&c.x[3], &o, "pool, pool, attend");
}

/* ---- memory ---- */

LOOP_TEST(runs_allocate_nothing, world_devices())
{
    struct call c;

    world_open(_i);
    c = call_make(0);
    ledger_restart(&world.ledger);
    ck_assert_int_eq(heed_program_run(c.plan, world.queue, &c.args, NULL, &world.why), HEED_OK);
    ck_assert_int_eq(atomic_load(&world.ledger.requests), 0);
    heed_plan_drop(c.plan);
}

/* Each request fails once; what was made before it is given back, as world_close sees. */
LOOP_TEST(plans_without_memory, world_devices() * 4)
{
    const int64_t columns[2] = { 4, 1 };
    heed_lsg_program_desc desc = lsg_20;
    heed_status status = HEED_E_NOMEM;

    world_open(_i / 4);
    desc.sparsity = HEED_LSG_NORM + (uint32_t)_i % 4;
    desc.flags = HEED_PLAN_OWN_WORKSPACE;
    desc.q = desc.o = small_tensor(N);
    desc.text = small_keys(N);
    if (desc.sparsity == HEED_LSG_LSH)
        desc.rounds[0] = heed_array_dense(HEED_F32, NULL, 2, columns).t;
    for (int64_t k = 1; status == HEED_E_NOMEM; k++) {
        heed_plan *plan = NULL;

        ledger_restart(&world.ledger);
        atomic_store(&world.ledger.fail_at, k);
        status = heed_lsg_program_plan(world.device, &desc, &plan, &world.why);
        ck_assert((plan != NULL) == (status == HEED_OK) && (k > 2 || status < 0));
        heed_plan_drop(plan);
    }
    ck_assert_int_eq(status, HEED_OK);
    atomic_store(&world.ledger.fail_at, 0);
}

int main(void)
{
    return suite_run("programs", 120, NULL, world_close);
}
