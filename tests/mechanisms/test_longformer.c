/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Longformer, and the rows of global tokens with projections of their own.
 */
#include "faults.h"

#include <heed/memory.h>

/* ---- Beltagy, Peters and Cohan 2020, section 3.1 ---- */

struct longformer {
    uint32_t flags;
    int64_t window, dilation, n_globals;
    int32_t list[2][4];                 /* of each item; ends at -1 */
    bool listed, constant;
};

static bool is_global(const struct longformer *p, int64_t b, int64_t token)
{
    for (int e = 0; p->listed && e < 4 && p->list[b][e] >= 0; e++)
        if (p->list[b][e] == token)
            return true;
    return !p->listed && token < p->n_globals;
}

/* "each token attends to w/2 tokens on each side", with gaps of size dilation - 1; "a token with a
 * global attention attends to all tokens across the sequence, and all tokens attend to it". */
static int64_t longformer_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                                int64_t j)
{
    const struct longformer *p = w->p;
    const int64_t window = p->window ? p->window : 256, gap = p->dilation ? p->dilation : 1;
    bool near = false;

    (void)h;
    (void)set;
    for (int64_t t = -window; t <= window; t++)
        near = near || i + t * gap == j;
    if (is_global(p, b, i) && !(p->flags & HEED_LONGFORMER_KEYS_ONLY))
        return 1;
    return near || is_global(p, b, j);
}

static void longformer_build(struct world_of *w)
{
    const struct longformer *p = w->p;
    heed_longformer_desc desc = {
        .size = sizeof(desc),
        .flags = p->flags,
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .n_globals = p->n_globals,
        .window = p->window,
        .dilation = p->dilation,
    };

    if (p->listed)
        desc.globals =
            world_slot(HEED_I32, 2, w->batch, 4, 1, 1, p->constant ? p->list : NULL);
    if (p->listed && !p->constant)
        w->slot_buf[HEED_MECHANISM_LIST - 1].handle = (void *)p->list;
    ck_assert_int_eq(heed_longformer(&desc, &w->m, &world.why), HEED_OK);
}

static struct world_of longformer_world(const char *name, const struct longformer *p, int64_t n)
{
    return (struct world_of){
        .name = name,
        .batch = 2,
        .heads = 2,
        .n_q = n,
        .d = 8,
        .d_v = 5,
        .n_sets = 1,
        .set = { { .n = n } },
        .build = longformer_build,
        .times = longformer_times,
        .p = p,
    };
}

TEST(a_window)
{
    const struct longformer p = { .window = 5 };
    struct world_of w = longformer_world("longformer", &p, 71);

    mechanism_prove(&w);
    ck_assert_int_eq(w.seen_pairs, 2 * 2 * (71 * 11 - 2 * 15));
}

TEST(a_window_with_global_tokens)
{
    const struct longformer p = { .window = 4, .n_globals = 3 };
    struct world_of w = longformer_world("longformer, 3 globals", &p, 67);

    w.set[0].has_len = w.set[0].has_mask = true;
    mechanism_prove(&w);
}

TEST(global_tokens_from_a_list)
{
    struct longformer p = {
        .window = 3, .listed = true, .list = { { 0, 17, 30, 64 }, { 5, 40, -1, -1 } }
    };
    struct world_of w = longformer_world("longformer, run-time list", &p, 70);

    w.set[0].has_mask = true;
    mechanism_prove(&w);
    p.constant = true;
    p.flags = HEED_LONGFORMER_KEYS_ONLY;
    w = longformer_world("longformer, constant list of keys", &p, 70);
    w.set[0].has_len = true;
    mechanism_prove(&w);
}

TEST(dilated_windows)
{
    const struct longformer p = { .window = 4, .dilation = 3, .n_globals = 2 };
    struct world_of w = longformer_world("longformer, dilation 3", &p, 61);

    w.set[0].has_len = w.set[0].has_mask = true;
    mechanism_prove(&w);
}

TEST(the_default_window)
{
    const struct longformer p = { .window = 0 };
    struct world_of w = longformer_world("longformer, default window", &p, 300);

    w.batch = w.heads = 1;
    mechanism_prove(&w);
    ck_assert_int_eq(w.seen_pairs, 300 * 300 - 43 * 44);
}

/* ---- global rows ---- */

static void rows_build(struct world_of *w)
{
    heed_global_rows_desc desc = {
        .size = sizeof(desc), .q = w->q.t, .o = w->o.t, .text = world_keys(w, 0)
    };

    if (w->n_sets == 2)
        desc.globals = world_keys(w, 1);
    ck_assert_int_eq(heed_global_rows(&desc, &w->m, &world.why), HEED_OK);
}

TEST(rows_of_global_tokens)
{
    struct world_of w = {
        .name = "global rows",
        .batch = 2,
        .heads = 3,
        .n_q = 4,
        .d = 8,
        .d_v = 6,
        .n_sets = 2,
        .cross = true,
        .set = { { .n = 53, .has_len = true, .has_mask = true }, { .n = 4 } },
        .build = rows_build,
        .times = all_times,
    };

    mechanism_prove(&w);
    w.name = "global rows of the text alone";
    w.n_sets = 1;
    mechanism_prove(&w);
}

/* Global tokens with projections of their own: rows of the one call replace those of the other. */
TEST(projections_of_their_own)
{
    static struct seen_row row;
    const struct longformer p = {
        .flags = HEED_LONGFORMER_KEYS_ONLY,
        .window = 3,
        .listed = true,
        .constant = true,
        .list = { { 0, 17, 30, -1 }, { 0, 17, 30, -1 } },
    };
    struct world_of w = longformer_world("own projections", &p, 40), g = w;
    const int32_t to[3] = { 0, 17, 30 };
    heed_copy_desc copy = { .size = sizeof(copy), .flags = HEED_PLAN_OWN_WORKSPACE };
    heed_copy_args args = { .size = sizeof(args) };
    heed_plan *plan = NULL;
    heed_array rows;

    world_open();
    w.set[0].has_mask = true;
    world_make(&w);
    world_run(&w);
    g.n_q = 3;
    g.cross = true;
    g.set[0].has_mask = true;
    g.build = rows_build;
    g.times = all_times;
    world_make(&g);
    memcpy(g.set[0].mask, w.set[0].mask, 2 * 40);
    world_run(&g);

    rows = world_array(HEED_I32, 1, 1, 3, -1, -1);
    memcpy(rows.buf.handle, to, sizeof(to));
    copy.x = g.o.t;
    copy.y = w.o.t;
    copy.to = rows.t;
    args.x = g.o.buf;
    args.y = w.o.buf;
    args.to = rows.buf;
    ck_assert_msg(heed_copy_plan(world.device, &copy, &plan, &world.why) == HEED_OK, "%s: %s",
                  world.why.field, world.why.message);
    ck_assert_int_eq(heed_copy_run(plan, world.queue, &args, NULL, &world.why), HEED_OK);
    heed_plan_drop(plan);
    for (int64_t b = 0; b < 2; b++) {
        for (int64_t h = 0; h < 2; h++) {
            for (int64_t i = 0; i < 40; i++) {
                const int place = i == 0 ? 0 : i == 17 ? 1 : i == 30 ? 2 : -1;

                row_collect(place < 0 ? &w : &g, b, h, place < 0 ? i : place, &row);
                row_bound(&w, &row);
                for (int64_t c = 0; c < w.d_v; c++) {
                    double bound, want = row_value(&row, c, &bound);

                    ck_assert_msg(fabs((double)world_row(&w.o, b, h, i)[c] - want) <= bound,
                                  "row %d", (int)i);
                }
            }
        }
    }
}

/* ---- what a builder refuses, and what it fills ---- */

BUILDER(heed_longformer)
BUILDER(heed_global_rows)

TEST(parameters_out_of_range)
{
    const heed_longformer_desc right = {
        .size = sizeof(right),
        .q = small_tensor(10),
        .o = small_tensor(10),
        .text = small_keys(10),
        .window = 2,
        .n_globals = 1,
    };
    const heed_global_rows_desc rows = {
        .size = sizeof(rows), .q = small_tensor(2), .o = small_tensor(2), .text = small_keys(10)
    };
#define LONG(member, value, status, field, wanted, got)                                            \
    FAULT(heed_longformer_desc, member, value, status, field, wanted, got)
    static const struct fault faults[] = {
        LONG(flags, 2, HEED_E_FLAG, "flags", 1, 2),
        LONG(q, 0, HEED_E_NULL, "q", 0, 0),
        LONG(o, 0, HEED_E_NULL, "o", 0, 0),
        LONG(text.k, 0, HEED_E_NULL, "text.k", 0, 0),
        LONG(text.v, 0, HEED_E_NULL, "text.v", 0, 0),
        LONG(q.ndim, 1, HEED_E_VALUE, "q", 2, 1),
        LONG(text.k.ndim, 7, HEED_E_VALUE, "text.k", 6, 7),
        LONG(text.k.shape[2], 9, HEED_E_SHAPE, "text.k", 10, 9),
        LONG(q.shape[2], -1, HEED_E_VALUE, "q", 0, -1),
        LONG(window, -1, HEED_E_VALUE, "window", 1, -1),
        LONG(window, INT64_MAX, HEED_E_VALUE, "window", INT64_C(1) << 40, INT64_MAX),
        LONG(dilation, -3, HEED_E_VALUE, "dilation", 1, -3),
        LONG(dilation, 1 << 21, HEED_E_VALUE, "dilation", 1 << 20, 1 << 21),
        LONG(n_globals, 11, HEED_E_VALUE, "n_globals", 10, 11),
        LONG(n_globals, -1, HEED_E_VALUE, "n_globals", 0, -1),
        LONG(globals.t.ndim, 2, HEED_E_VALUE, "n_globals", 0, 1),
    };
#undef LONG
    static const struct fault rows_faults[] = {
        FAULT(heed_global_rows_desc, flags, 1, HEED_E_FLAG, "flags", 0, 1),
        FAULT(heed_global_rows_desc, text.k, 0, HEED_E_NULL, "text.k", 0, 0),
    };

    FAULTS_REFUSED(heed_longformer_of, right, faults);
    FAULTS_REFUSED(heed_global_rows_of, rows, rows_faults);
}

/* A copy leads to the original until it is linked. */
TEST(copies_are_linked)
{
    const heed_longformer_desc desc = {
        .size = sizeof(desc), .q = small_tensor(10), .o = small_tensor(10), .text = small_keys(10)
    };
    heed_mechanism m = { .size = sizeof(m) }, copy;

    ck_assert_int_eq(heed_longformer(&desc, &m, NULL), HEED_OK);
    ck_assert_ptr_eq(m.desc.sources, m.sources);
    ck_assert_ptr_eq(m.desc.slots, m.slots);
    ck_assert_ptr_eq(m.sources[0].terms, m.terms);
    ck_assert_int_eq(m.terms[0].left, 256);
    copy = m;
    ck_assert_ptr_eq(copy.desc.sources, m.sources);
    heed_mechanism_link(&copy);
    ck_assert_ptr_eq(copy.desc.sources, copy.sources);
    ck_assert_ptr_eq(copy.desc.slots, copy.slots);
    ck_assert_ptr_eq(copy.sources[0].terms, copy.terms);
}

int main(void)
{
    return suite_run("longformer", 120, NULL, world_close);
}
