/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Top-down and bottom-up inference (Pang et al. 2022): windows over tokens, units pooled from them
 * with four kinds of weights, attention among units, and tokens that see the units; with one coarse
 * level and with two.
 */
#include "chain.h"

WORLD_OPERATION(pool)

enum { B = 2, H = 2, N = 53, D = 4, W = 11, REACH = 5 }; /* a row: q in 0.., k in D.., v all W */

/* How a level is pooled from the one below. */
struct pooling {
    uint32_t kind;
    int64_t kernel, stride;
};

/* The rows of a level, and which of them exist: mask [B][1][n], length i64 [B]. */
struct level {
    heed_array rows, mask, len;
};

struct model {
    int n_levels;                       /* coarse ones */
    bool labels;                        /* the weights are an oracle's */
    struct pooling how[2];
    struct level token, pooled[2], own[2]; /* of a coarse level: before and after its attention */
    heed_array weights, bottom, mid, out;  /* mid: units of level 0 that have seen level 1 */
};

/* ---- the calls ---- */

/* Rows of q, from `from`'s rows or another level's, over `to`. */
struct pair_of_levels {
    const struct level *from, *to;
};

static heed_keys level_keys(const struct level *to)
{
    return (heed_keys){
        .k = array_cut(&to->rows, D, D).t,
        .v = to->rows.t,
        .len = { to->len.t, NULL },
        .mask = { to->mask.t, NULL },
    };
}

static void level_attend(heed_mechanism *m, const struct pair_of_levels *p, const heed_array *o)
{
    const heed_array q = array_cut(&p->from->rows, 0, D), k = array_cut(&p->to->rows, D, D);
    const heed_kv_bufs pair = { k.buf, p->to->rows.buf };
    heed_buf slots[HEED_MECHANISM_SLOTS] = { { 0 } };

    slots[HEED_MECHANISM_LEN - 1] = p->to->len.buf;
    slots[HEED_MECHANISM_MASK - 1] = p->to->mask.buf;
    slots[HEED_MECHANISM_LEN_2 - 1] = p->from->len.buf;
    chain_attend(m, &q, o, &pair, slots);
}

static void attend_near(const struct level *at, const heed_array *o)
{
    const struct pair_of_levels p = { at, at };
    heed_mechanism m = { .size = sizeof(m) };
    const heed_longformer_desc desc = {
        .size = sizeof(desc),
        .q = array_cut(&at->rows, 0, D).t,
        .o = o->t,
        .text = level_keys(at),
        .window = REACH,
    };

    ck_assert_int_eq(heed_longformer(&desc, &m, &world.why), HEED_OK);
    level_attend(&m, &p, o);
}

static void attend_all(const struct level *from, const struct level *to, const heed_array *o)
{
    const struct pair_of_levels p = { from, to };
    heed_mechanism m = { .size = sizeof(m) };
    const heed_top_down_desc desc = {
        .size = sizeof(desc),
        .q = array_cut(&from->rows, 0, D).t,
        .o = o->t,
        .top = level_keys(to),
        .rows = { from->len.t, NULL },
    };

    ck_assert_int_eq(heed_top_down(&desc, &m, &world.why), HEED_OK);
    level_attend(&m, &p, o);
}

static void pool_up(const struct pooling *how, const struct level *from, const heed_array *weights,
                    const struct level *to)
{
    struct pool_call call = pool_call();

    call.desc.kind = how->kind;
    call.desc.tail = HEED_TAIL_CEIL;
    call.desc.kernel = how->kernel;
    call.desc.stride = how->stride;
    GIVE(&call, x, from->rows);
    GIVE(&call, mask, from->mask);
    GIVE(&call, len, from->len);
    if (how->kind != HEED_POOL_MEAN)
        GIVE(&call, weights, *weights);
    GIVE(&call, y, to->rows);
    GIVE(&call, y_mask, to->mask);
    GIVE(&call, y_len, to->len);
    pool_run(&call);
}

static void model_run(struct model *m)
{
    const struct level bottom = { m->bottom, m->token.mask, m->token.len };

    attend_near(&m->token, &m->bottom);
    pool_up(&m->how[0], &bottom, &m->weights, &m->pooled[0]);
    if (m->n_levels == 1) {
        attend_all(&m->pooled[0], &m->pooled[0], &m->own[0].rows);
        attend_all(&bottom, &m->own[0], &m->out);
        return;
    }
    attend_near(&m->pooled[0], &m->own[0].rows);
    pool_up(&m->how[1], &m->own[0], NULL, &m->pooled[1]);
    attend_all(&m->pooled[1], &m->pooled[1], &m->own[1].rows);
    attend_all(&m->own[0], &m->own[1], &m->mid);
    attend_all(&bottom, &(struct level){ m->mid, m->own[0].mask, m->own[0].len }, &m->out);
}

/* ---- the paper ---- */

/* Units of a level: which exist, whom they are made of. */
struct units {
    int64_t n[B];
    bool there[B][N];
    struct approx rows;
};

static bool near_sees(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    const struct units *u = p;

    (void)h, (void)set;
    return i < u->n[b] && j < u->n[b] && u->there[b][j] && j >= i - REACH && j <= i + REACH;
}

struct crossing {
    const struct units *from, *to;
};

static bool cross_sees(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    const struct crossing *c = p;

    (void)h, (void)set;
    return i < c->from->n[b] && j < c->to->n[b] && c->to->there[b][j];
}

static struct approx paper_attend(const struct units *from, const struct units *to, bool near)
{
    const struct approx q = approx_cut(&from->rows, 0, D);
    const struct approx_keys keys = { approx_cut(&to->rows, D, D), to->rows };
    const struct crossing c = { from, to };

    return near ? approx_attend(&q, &keys, 1, near_sees, from)
                : approx_attend(&q, &keys, 1, cross_sees, &c);
}

/* s_j = sum over the kernel tokens from j * stride on of p_n e_n, with p_n = 1 / how many there are
 * (AvgPool), the softmax of the given weights (AdaPool) or these (LINEAR). */
static void paper_unit(const struct pooling *how, const struct units *from, const float *weights,
                       int64_t b, int64_t h, int64_t j, struct units *to)
{
    static struct seen_row row;
    int64_t token[N], n = 0;
    double p[N];
    const int64_t at = approx_at(&to->rows, b, h, j);

    row.n = 0;
    for (int64_t t = j * how->stride; t < j * how->stride + how->kernel && t < from->n[b]; t++) {
        const double w = weights ? (double)weights[b * N + t] : 0;

        if (!from->there[b][t])
            continue;
        token[n] = approx_at(&from->rows, b, h, t);
        p[n] = w;
        to->there[b][j] = true;
        if (how->kind != HEED_POOL_WEIGHTED || w > -(double)INFINITY)
            row.key[row.n++] = (struct seen_key){
                .y = how->kind == HEED_POOL_WEIGHTED ? w : 0,
                .size = how->kind == HEED_POOL_WEIGHTED ? fabs(w) : 0,
                .wide = from->rows.x + token[n],
                .slack = from->rows.e + token[n],
            };
        n++;
    }
    if (how->kind == HEED_POOL_LINEAR)
        approx_sum(&from->rows, token, p, n, &to->rows, at);
    else
        approx_mix(&row, 0, &to->rows, at);
}

static struct units paper_pool(const struct pooling *how, const struct units *from,
                               const float *weights, int64_t room)
{
    struct units to = { .rows = approx_new(B, H, room, W) };

    for (int64_t b = 0; b < B; b++) {
        /* one window after another, until one reaches the end */
        for (int64_t end = how->kernel; from->n[b] > 0; end += how->stride) {
            to.n[b]++;
            if (end >= from->n[b])
                break;
        }
        for (int64_t h = 0; h < H; h++)
            for (int64_t j = 0; j < to.n[b]; j++)
                paper_unit(how, from, weights, b, h, j, &to);
    }
    return to;
}

static void units_judge(const struct level *got, const struct units *want)
{
    const int64_t room = got->rows.t.shape[2];

    for (int64_t b = 0; b < B; b++) {
        ck_assert_int_eq(((int64_t *)got->len.buf.handle)[b], want->n[b]);
        for (int64_t j = 0; j < room; j++)
            ck_assert_int_eq(((uint8_t *)got->mask.buf.handle)[b * room + j], want->there[b][j]);
    }
    approx_judge(&got->rows, &want->rows, 1e-4, "units");
}

static void model_judge(const struct model *m)
{
    const float *weights = m->how[0].kind == HEED_POOL_MEAN ? NULL : world_f32(&m->weights);
    struct units token = { .rows = approx_of(&m->token.rows) }, e, s, s2, t;

    for (int64_t b = 0; b < B; b++) {
        token.n[b] = ((int64_t *)m->token.len.buf.handle)[b];
        for (int64_t i = 0; i < N; i++)
            token.there[b][i] = ((uint8_t *)m->token.mask.buf.handle)[b * N + i] != 0;
    }
    e = token;
    e.rows = paper_attend(&token, &token, true);
    approx_judge(&m->bottom, &e.rows, 1e-4, "bottom-up");
    s = paper_pool(&m->how[0], &e, weights, m->pooled[0].rows.t.shape[2]);
    units_judge(&m->pooled[0], &s);
    s2 = s;
    s2.rows = paper_attend(&s, &s, m->n_levels == 2);
    approx_judge(&m->own[0].rows, &s2.rows, 1e-3, "segments");
    if (m->n_levels == 2) {
        struct units t2;

        t = paper_pool(&m->how[1], &s2, NULL, m->pooled[1].rows.t.shape[2]);
        units_judge(&m->pooled[1], &t);
        t2 = t;
        t2.rows = paper_attend(&t, &t, false);
        s2.rows = paper_attend(&s2, &t2, false);
        approx_judge(&m->mid, &s2.rows, 1e-3, "segments that have seen the top");
    }
    s.rows = paper_attend(&e, &s2, false);
    approx_judge(&m->out, &s.rows, 1e-3, "top-down");
}

/* ---- the tests ---- */

static struct level level_new(int64_t n)
{
    return (struct level){
        .rows = world_array(HEED_F32, B, H, n, W, -1),
        .mask = world_array(HEED_U8, B, 1, n, -1, -1),
        .len = world_array(HEED_I64, B, -1, -1, -1, -1),
    };
}

static int64_t units_of(int64_t n, const struct pooling *how)
{
    return n <= how->kernel ? 1 : (n - how->kernel + how->stride - 1) / how->stride + 1;
}

/* The second item is shorter, and six tokens of it in a row are masked: a unit of 4 is empty. */
static void model_new(struct model *m)
{
    int64_t n = N;

    m->token = level_new(N);
    m->token.rows = world_floats(B, H, N, W);
    for (int64_t i = 0; i < B * H * N * W; i++)
        world_f32(&m->token.rows)[i] *= 0.25f;
    for (int64_t i = 0; i < B * N; i++)
        ((uint8_t *)m->token.mask.buf.handle)[i] =
            world_range(0, 9) > 0 && (i < N + 8 || i >= N + 14);
    ((int64_t *)m->token.len.buf.handle)[0] = N;
    ((int64_t *)m->token.len.buf.handle)[1] = 38;
    m->weights = world_floats(B, 1, N, 1);
    m->weights.t = heed_array_dense(HEED_F32, NULL, 3, (int64_t[]){ B, 1, N }).t;
    for (int64_t i = 0; i < B * N && m->labels; i++)
        world_f32(&m->weights)[i] = world_range(0, 2) && (i < 12 || i > 20) ? 0.0f : -INFINITY;
    for (int64_t i = 0; i < B * N && m->how[0].kind == HEED_POOL_LINEAR; i++)
        world_f32(&m->weights)[i] *= 0.03125f;
    for (int level = 0; level < m->n_levels; level++) {
        n = units_of(n, &m->how[level]);
        m->pooled[level] = level_new(n);
        m->own[level] = m->pooled[level];
        m->own[level].rows = world_array(HEED_F32, B, H, n, W, -1);
    }
    m->mid = world_array(HEED_F32, B, H, m->own[0].rows.t.shape[2], W, -1);
    m->bottom = world_array(HEED_F32, B, H, N, W, -1);
    m->out = world_array(HEED_F32, B, H, N, W, -1);
}

static void model_prove(struct model *m)
{
    world_open();
    model_new(m);
    model_run(m);
    model_judge(m);
    world_close();
}

TEST(average_pooling)
{
    static const struct pooling poolings[] = {
        { HEED_POOL_MEAN, 8, 6 }, { HEED_POOL_MEAN, 4, 4 }, { HEED_POOL_MEAN, 64, 32 }
    };

    for (size_t x = 0; x < sizeof(poolings) / sizeof(poolings[0]); x++)
        model_prove(&(struct model){ .n_levels = 1, .how = { poolings[x] } });
}

TEST(adaptive_pooling)
{
    model_prove(&(struct model){ .n_levels = 1, .how = { { HEED_POOL_WEIGHTED, 8, 6 } } });
}

/* Labels 1 and 0 of the oracle are weights 0 and -Inf: the mean of the tokens with label 1. */
TEST(oracle_pooling)
{
    model_prove(&(struct model){
        .n_levels = 1, .labels = true, .how = { { HEED_POOL_WEIGHTED, 8, 6 } } });
}

TEST(weights_as_they_are)
{
    model_prove(&(struct model){ .n_levels = 1, .how = { { HEED_POOL_LINEAR, 8, 6 } } });
}

TEST(two_levels)
{
    model_prove(&(struct model){
        .n_levels = 2, .how = { { HEED_POOL_MEAN, 4, 3 }, { HEED_POOL_MEAN, 5, 4 } } });
}

/* ---- the builder ---- */

static void top_down_build(struct world_of *w)
{
    const heed_top_down_desc desc = {
        .size = sizeof(desc), .q = w->q.t, .o = w->o.t, .top = world_keys(w, 0)
    };

    ck_assert_int_eq(heed_top_down(&desc, &w->m, &world.why), HEED_OK);
}

TEST(every_unit_is_seen)
{
    struct world_of w = {
        .name = "top-down", .batch = 2, .heads = 4, .kv_heads = 2, .n_q = 70, .d = 8, .d_v = 5,
        .n_sets = 1, .set = { { .n = 23, .has_len = true, .has_mask = true } },
        .cross = true, .build = top_down_build, .times = all_times,
    };

    mechanism_prove(&w);
}

BUILDER(heed_top_down)

TEST(levels_out_of_range)
{
    static const struct fault faults[] = {
        FAULT(heed_top_down_desc, flags, 1, HEED_E_FLAG, "flags", 0, 1),
        FAULT(heed_top_down_desc, q, 0, HEED_E_NULL, "q", 0, 0),
        FAULT(heed_top_down_desc, o.ndim, 1, HEED_E_VALUE, "o", 2, 1),
        FAULT(heed_top_down_desc, top.k, 0, HEED_E_NULL, "top.k", 0, 0),
        FAULT(heed_top_down_desc, top.v.ndim, 7, HEED_E_VALUE, "top.v", 6, 7),
    };
    const heed_top_down_desc right = {
        .size = sizeof(right), .q = small_tensor(20), .o = small_tensor(20), .top = small_keys(3)
    };

    FAULTS_REFUSED(heed_top_down_of, right, faults);
}

int main(void)
{
    return suite_run("topdown", 240, NULL, world_close);
}
