/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Poolingformer, level 2.
 */
#include "program_world.h"

enum { HEADS = 4, MOST_KERNEL = 8 };

struct pooled {
    uint32_t pooling, flags;
    int64_t window, kernel, stride;
};

static heed_array taps[2];      /* of K and V */

/* ---- Zhang et al. 2021, the second level ---- */

/* "element ceil((1 + kernel) / 2) of the window", from 1 on: tokens before it. */
static int64_t before_centre(const struct pooled *p)
{
    return (int64_t)ceil((1 + (double)p->kernel) / 2) - 1;
}

/* Computed key j: the token that its pooling window begins with. */
static int64_t first_token(const struct pooled *p, int64_t j)
{
    return p->flags & HEED_POOLINGFORMER_FIXED_GRID ? j * p->stride : j - before_centre(p);
}

/* The window of row i is the tokens i - w .. i + w; pooling windows begin with it, a stride apart,
 * and do not reach beyond it. On the fixed grid they begin with the text. */
static int64_t pooled_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                            int64_t j)
{
    const struct pooled *p = w->p;
    const int64_t first = first_token(p, j), last = first + p->kernel - 1;

    (void)b, (void)h;
    if (set != SPARSE || first < i - p->window || last > i + p->window)
        return 0;
    return p->flags & HEED_POOLINGFORMER_FIXED_GRID || (first - (i - p->window)) % p->stride == 0;
}

/* ---- pooled keys ---- */

struct tokens {
    int64_t n, at[MOST_KERNEL], tap[MOST_KERNEL];
};

static struct tokens tokens_of(const struct world_of *w, int64_t b, int64_t j)
{
    const struct pooled *p = w->p;
    struct tokens t = { 0 };

    for (int64_t x = 0; x < p->kernel; x++) {
        const int64_t token = first_token(p, j) + x;

        if (token < 0 || token >= w->set[0].n || !world_present(w, b, 0, token))
            continue;
        t.at[t.n] = token;
        t.tap[t.n++] = x;
    }
    return t;
}

/* (2.16): weights are softmax(W_p v_centre) over the taps that are there; means have equal ones. */
static void weights_of(const struct world_of *w, const struct tokens *t, int64_t b, int64_t h,
                       int64_t j, int which, double weights[MOST_KERNEL])
{
    double sum = 0;

    for (int64_t x = 0; x < t->n; x++) {
        const struct pooled *p = w->p;

        weights[x] = p->pooling == HEED_POOLINGFORMER_LDCONV
                         ? exp((double)world_row(&taps[which], b, h, j)[t->tap[x]])
                         : 1;
        sum += weights[x];
    }
    for (int64_t x = 0; x < t->n; x++)
        weights[x] /= sum;
}

static void pool_row(const struct world_of *w, int64_t b, int64_t h, int64_t j, int which,
                     float *y, float *size)
{
    const struct pooled *p = w->p;
    const heed_array *x = which ? &w->set[0].v : &w->set[0].k;
    const struct tokens t = tokens_of(w, b, j);
    double weights[MOST_KERNEL];

    weights_of(w, &t, b, h, j, which, weights);
    for (int64_t c = 0; c < x->t.shape[3]; c++) {
        double sum = 0, all = 0, most = -(double)INFINITY;

        for (int64_t i = 0; i < t.n; i++) {
            const double value = (double)world_row(x, b, h, t.at[i])[c];

            sum += weights[i] * value;
            all += weights[i] * fabs(value);
            most = fmax(most, value);
        }
        y[c] = (float)(t.n == 0 ? 0 : p->pooling == HEED_POOLINGFORMER_MAX ? most : sum);
        size[c] = p->pooling == HEED_POOLINGFORMER_MAX ? 0 : (float)all;
    }
}

/* A softmax of taps within (-8, 8): 2 * 8 roundings' worth each way, 4 of an exponential. */
static void pooled_derive(struct world_of *w)
{
    const struct pooled *p = w->p;
    const int64_t heads = world_kv_heads(w);
    struct key_set *set = &w->set[SPARSE];
    float *sizes[2] = {
        world_new((size_t)(w->batch * heads * set->n * w->d) * sizeof(float)),
        world_new((size_t)(w->batch * heads * set->n * w->d_v) * sizeof(float)),
    };

    for (int64_t b = 0; b < w->batch; b++)
        for (int64_t h = 0; h < heads; h++)
            for (int64_t j = 0; j < set->n; j++) {
                const int64_t row = (b * heads + h) * set->n + j,
                              centre = first_token(p, j) + before_centre(p);

                set->mask[b * set->n + j] = world_present(w, b, 0, centre);
                pool_row(w, b, h, j, 0, world_row(&set->k, b, h, j), sizes[0] + row * w->d);
                pool_row(w, b, h, j, 1, world_row(&set->v, b, h, j), sizes[1] + row * w->d_v);
            }
    set->k_size = sizes[0];
    set->v_size = sizes[1];
    set->made = (double)p->kernel + 6 + (p->pooling == HEED_POOLINGFORMER_LDCONV ? 48 : 0);
}

/* ---- the program ---- */

static heed_status pooled_plan(const struct world_of *w, heed_plan **out)
{
    const struct pooled *p = w->p;
    heed_poolingformer_level2_desc desc = {
        .size = sizeof(desc),
        .flags = p->flags,
        .numerics = HEED_NUMERICS_EXACT,
        .pooling = p->pooling,
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .window = p->window,
        .kernel = p->kernel,
        .stride = p->stride,
    };
    heed_status checked;

    if (p->pooling == HEED_POOLINGFORMER_LDCONV) {
        desc.taps_k = taps[0].t;
        desc.taps_v = taps[1].t;
    }
    checked = heed_poolingformer_level2_check(world.device, &desc, &world.why);
    ck_assert_int_eq(checked,
                     heed_poolingformer_level2_plan(world.device, &desc, out, &world.why));
    return checked;
}

static void taps_give(const struct world_of *w, struct brought *s, heed_program_args *args)
{
    if (((const struct pooled *)w->p)->pooling != HEED_POOLINGFORMER_LDCONV)
        return;
    args->taps_k = bring_array(s, &taps[0]);
    args->taps_v = bring_array(s, &taps[1]);
}

static const struct program pooled = { .plan = pooled_plan, .more = taps_give };

static void pooled_prove(const struct pooled *p, int64_t n, int64_t kv_heads, int device)
{
    const int64_t centre = before_centre(p);
    const bool fixed = p->flags & HEED_POOLINGFORMER_FIXED_GRID;
    static float values[2][2 * HEADS * 64 * MOST_KERNEL];
    struct world_of w = {
        .name = fixed ? "poolingformer 2, fixed" : "poolingformer 2, moving",
        .batch = 2,
        .heads = HEADS,
        .kv_heads = kv_heads,
        .n_q = n,
        .d = 8,
        .d_v = 5,
        .n_sets = 3,
        .set = { { .n = n, .has_len = true, .has_mask = true },
                 { .n = 0 },
                 { .n = fixed ? (n - centre + p->stride - 1) / p->stride : n, .has_mask = true } },
        .times = pooled_times,
        .derive = pooled_derive,
        .p = p,
    };

    for (int which = 0; which < 2; which++) {
        taps[which] = heed_array4(HEED_F32, values[which], 2, kv_heads, w.set[SPARSE].n, p->kernel);
        ck_assert_uint_le((size_t)world_count(&taps[which]) * sizeof(float), sizeof(values[0]));
        for (int64_t x = 0; x < world_count(&taps[which]); x++)
            values[which][x] = world_float();
    }
    program_prove(&w, &pooled, device);
}

static void both_grids(uint32_t pooling, int device)
{
    static const struct pooled cases[] = {
        { 0, 0, 8, 5, 4 },      /* the paper's, in small: centres i +- 2, 6 */
        { 0, 0, 7, 4, 3 },      /* an even kernel, whose centre is its third token */
        { 0, 0, 6, 3, 1 },
        { 0, 0, 2, 5, 4 },      /* one pooling window */
        { 0, 0, 9, 2, 5 },      /* tokens that no window has */
    };

    for (size_t x = 0; x < (program_offload() ? 1 : sizeof(cases) / sizeof(cases[0])); x++)
        for (uint32_t fixed = 0; fixed < 2; fixed++) {
            struct pooled p = cases[x];

            p.pooling = pooling;
            p.flags = fixed ? HEED_POOLINGFORMER_FIXED_GRID : 0;
            pooled_prove(&p, x == 2 ? 30 : 47, x % 2 ? 2 : HEADS, device);
        }
}

LOOP_TEST(means, program_devices())
{
    both_grids(HEED_POOLINGFORMER_MEAN, _i);
}

LOOP_TEST(maxima, program_devices())
{
    both_grids(HEED_POOLINGFORMER_MAX, _i);
}

LOOP_TEST(ldconv, program_devices())
{
    both_grids(HEED_POOLINGFORMER_LDCONV, _i);
}

/* "(1025 - 5) / 4 + 1 = 256 pooled keys": the pairs of a row in the middle of a long text. */
TEST(as_many_keys_as_the_paper_has)
{
    enum { N = 1 << 16 };
    const heed_tensor t = heed_array4(HEED_F32, NULL, 1, 1, N, 8).t;
    const heed_poolingformer_level2_desc desc = {
        .size = sizeof(desc), .q = t, .o = t, .text = { .k = t, .v = t }
    };
    heed_plan_props props = { .size = sizeof(props) };
    heed_plan *plan = NULL;
    double keys;

    world_open_name("cpu");
    ck_assert_int_eq(heed_poolingformer_level2_plan(world.device, &desc, &plan, &world.why), 0);
    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    heed_plan_drop(plan);
    keys = ((double)props.flops - 2 * 2 * 5.0 * 8 * N) / (32.0 * N);    /* less both poolings */
    ck_assert_msg(keys > 254 && keys <= 256, "%g keys", keys);
}

int main(void)
{
    if (program_offload() && program_devices() == 0)
        return 77;              /* no vendor has a device here */
    return suite_run("poolingformer", 240, NULL, world_close);
}
