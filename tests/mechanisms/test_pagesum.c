/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * PageSum: decoder states of pages, averaged for each row.
 */
#include "faults.h"

enum { P = 7, B = 2, N = 11, D = 12 };

static struct {
    heed_array pages, w, o;
    uint8_t mask[B][P];
    bool masked;
    heed_mechanism m;
} run;

static void pagesum_run(void)
{
    heed_pagesum_desc desc = {
        .size = sizeof(desc), .pages = run.pages.t, .w = run.w.t, .o = run.o.t
    };
    const heed_kv_bufs pair = { run.pages.buf, run.pages.buf };
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
    heed_buf slots[HEED_MECHANISM_SLOTS] = { { 0 } };
    heed_attn_args args = {
        .size = sizeof(args),
        .kv_size = sizeof(kv[0]),
        .q = run.w.buf,
        .o = run.o.buf,
        .kv = kv,
        .slots = slots,
        .n_slots = HEED_MECHANISM_SLOTS,
    };

    if (run.masked)
        desc.mask = world_slot(HEED_U8, 2, B, P, 1, 1, NULL);
    slots[HEED_MECHANISM_MASK - 1].handle = run.mask;
    run.m.size = sizeof(run.m);
    ck_assert_int_eq(heed_pagesum(&desc, &run.m, &world.why), HEED_OK);
    run.m.desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    heed_mechanism_kv(&run.m, &pair, kv);
    world_attend(&run.m.desc, &args);
}

static const float *state(int64_t page, int64_t b, int64_t i)
{
    return world_f32(&run.pages) + ((page * B + b) * N + i) * D;
}

/* Liu et al. 2022: a score for each page and step, w . o_p (the linear layer's constant falls out
 * of the softmax over pages), and the mean of the states under these weights. */
static void pagesum_judge(void)
{
    static struct seen_row row;
    const struct world_of sizes = { .d = D };

    for (int64_t b = 0; b < B; b++) {
        for (int64_t i = 0; i < N; i++) {
            row.n = 0;
            for (int64_t p = 0; p < P; p++) {
                struct seen_key key = { .v = state(p, b, i) };

                for (int64_t t = 0; t < D; t++) {
                    key.y += (double)world_f32(&run.w)[t] * (double)key.v[t];
                    key.size += fabs((double)world_f32(&run.w)[t] * (double)key.v[t]);
                }
                if (!run.masked || run.mask[b][p])
                    row.key[row.n++] = key;
            }
            row_bound(&sizes, &row);
            for (int64_t c = 0; c < D; c++) {
                double bound = 0;
                const double want = row.n ? row_value(&row, c, &bound) : 0,
                             got = (double)world_f32(&run.o)[(b * N + i) * D + c];

                ck_assert_msg(fabs(got - want) <= bound, "item %d row %d: %g, wanted %g",
                              (int)b, (int)i, got, want);
            }
        }
    }
}

static void pagesum_make(bool masked)
{
    run.pages = world_floats(P, B, N, D);
    run.w = world_array(HEED_F32, D, -1, -1, -1, -1);
    run.o = world_array(HEED_F32, B, N, D, -1, -1);
    run.masked = masked;
    for (int t = 0; t < D; t++)
        world_f32(&run.w)[t] = world_float() * 0.03f;
    for (int x = 0; x < B * P; x++)
        run.mask[x / P][x % P] = x % 3 != 1;
}

TEST(states_of_pages)
{
    world_open();
    for (int masked = 0; masked < 2; masked++) {
        pagesum_make(masked);
        pagesum_run();
        pagesum_judge();
    }
}

/* Without batch axes: [P][n][d]; and what rows see: pages, one head. */
TEST(every_row_sees_every_page)
{
    const int64_t pages[3] = { 5, 6, 4 }, o[2] = { 6, 4 }, w[1] = { 4 };
    const heed_pagesum_desc desc = {
        .size = sizeof(desc),
        .pages = world_tensor(HEED_F32, 3, pages),
        .w = world_tensor(HEED_F32, 1, w),
        .o = world_tensor(HEED_F32, 2, o),
    };
    heed_mechanism m = { .size = sizeof(m) };

    ck_assert_int_eq(heed_pagesum(&desc, &m, NULL), HEED_OK);
    for (int64_t i = 0; i < 6; i++) {
        uint8_t seen[5] = { 0 };

        ck_assert_int_eq(heed_attn_visible(&m.desc, NULL, i, 0, 0, 0, seen, NULL), HEED_OK);
        for (int p = 0; p < 5; p++)
            ck_assert_int_eq(seen[p], 1);
    }
}

BUILDER(heed_pagesum)

TEST(parameters_out_of_range)
{
    const int64_t pages[4] = { P, B, N, D }, o[3] = { B, N, D }, w[1] = { D };
    const heed_pagesum_desc right = {
        .size = sizeof(right),
        .pages = world_tensor(HEED_F32, 4, pages),
        .w = world_tensor(HEED_F32, 1, w),
        .o = world_tensor(HEED_F32, 3, o),
        .mask = world_slot(HEED_U8, 2, B, P, 1, 1, NULL),
    };
    static const struct fault faults[] = {
        FAULT(heed_pagesum_desc, flags, 1, HEED_E_FLAG, "flags", 0, 1),
        FAULT(heed_pagesum_desc, pages, 0, HEED_E_NULL, "pages", 0, 0),
        FAULT(heed_pagesum_desc, w, 0, HEED_E_NULL, "w", 0, 0),
        FAULT(heed_pagesum_desc, o, 0, HEED_E_NULL, "o", 0, 0),
        FAULT(heed_pagesum_desc, pages.ndim, 2, HEED_E_VALUE, "pages", 3, 2),
        FAULT(heed_pagesum_desc, pages.ndim, 6, HEED_E_VALUE, "pages.ndim", 5, 6),
        FAULT(heed_pagesum_desc, w.ndim, 2, HEED_E_VALUE, "w.ndim", 1, 2),
        FAULT(heed_pagesum_desc, o.ndim, 2, HEED_E_VALUE, "o.ndim", 3, 2),
        FAULT(heed_pagesum_desc, o.ndim, 4, HEED_E_VALUE, "o.ndim", 3, 4),
        FAULT(heed_pagesum_desc, mask.t.ndim, 1, HEED_E_VALUE, "mask.t.ndim", 2, 1),
    };

    FAULTS_REFUSED(heed_pagesum_of, right, faults);
}

int main(void)
{
    return suite_run("pagesum", 120, NULL, world_close);
}
