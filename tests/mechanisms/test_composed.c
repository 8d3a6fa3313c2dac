/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attentions that no builder has, of one descriptor or two: relative positions of keys and values
 * (Shaw et al. 2018), pooled queries (Funnel Transformer, Dai et al. 2020), streams that predict
 * several tokens (ProphetNet, Qi et al. 2020), and weights made without keys (Synthesizer, Tay et
 * al. 2021). Each against the paper's formula in double.
 */
#include "chain.h"

#include <heed/nn.h>
#include <heed/pool.h>

WORLD_OPERATION(act)
WORLD_OPERATION(linear)
WORLD_OPERATION(pool)

enum { B = 2, H = 2, N = 27, D = 6, V = 5, MOST_SOURCES = 8 };

static heed_slot constant(const heed_array *a)
{
    return (heed_slot){ .t = a->t, .data = a->buf.handle };
}

struct pair {
    const heed_array *k, *v;
};

/* One attention over sources whose keys and values are `pairs`; all positions count from 0. */
static void attend(heed_attn_desc *desc, heed_source *sources, const struct pair *pairs,
                   uint32_t n, const heed_array *q, const heed_array *o)
{
    heed_kv_bufs kv[MOST_SOURCES];
    const heed_buf slots[1] = { { 0 } }; /* the plan has what is constant */
    const heed_attn_args args = { .size = sizeof(args), .kv_size = sizeof(kv[0]), .q = q->buf,
                                  .o = o->buf, .kv = kv, .slots = slots,
                                  .n_slots = desc->n_slots };

    for (uint32_t i = 0; i < n; i++) {
        sources[i].k = pairs[i].k->t;
        sources[i].v = pairs[i].v->t;
        kv[i] = (heed_kv_bufs){ pairs[i].k->buf, pairs[i].v->buf };
    }
    desc->size = sizeof(*desc);
    desc->flags |= HEED_PLAN_OWN_WORKSPACE | HEED_ATTN_ALIGN_START;
    desc->q = q->t;
    desc->o = o->t;
    desc->sources = sources;
    desc->n_sources = n;
    desc->source_size = sizeof(*sources);
    world_attend(desc, &args);
}

/* A score of q over k, times 1 / sqrt(D). */
static void score_add(const float *q, const float *k, struct seen_key *key)
{
    for (int64_t c = 0; c < D; c++) {
        const double product = (double)q[c] * (double)k[c] / sqrt((double)D);

        key->y += product;
        key->size += fabs(product);
    }
}

/* ---- Shaw et al. 2018, equations 3 to 5 ---- */

enum { CLIP = 3, ENTRIES = 2 * CLIP + 1 };

struct shaw {
    heed_array q, k, v, of_keys, of_values, o, more; /* tables: [ENTRIES][D], [ENTRIES][V] */
};

static int64_t clipped(int64_t delta)
{
    return (delta < -CLIP ? -CLIP : delta > CLIP ? CLIP : delta) + CLIP;
}

/* o: the values. more: for each entry a source of its own shows the keys at that distance, and all
 * of its values are the entry, a row with stride 0. The softmax is that of all sources. */
static void shaw_run(const struct shaw *s)
{
    const heed_slot tables[] = { constant(&s->of_keys) };
    const heed_bias bias[] = { { .kind = HEED_BIAS_DOT, .t = 1, .zero = CLIP } };
    heed_source whole[] = { { .biases = HEED_ARRAY(bias) } }, entries[ENTRIES];
    heed_attn_desc desc = { .slots = HEED_ARRAY(tables) };
    heed_term see[ENTRIES];
    heed_array rows[ENTRIES];
    struct pair pairs[ENTRIES];
    struct act_call sum = act_call();

    attend(&desc, whole, &(struct pair){ &s->k, &s->v }, 1, &s->q, &s->o);
    for (int64_t r = -CLIP; r <= CLIP; r++) {
        const int64_t i = r + CLIP;

        see[i] = (heed_term){ .kind = HEED_TERM_WINDOW,
                              .left = r == -CLIP ? HEED_FAR : -r,
                              .right = r == CLIP ? HEED_FAR : r };
        entries[i] = (heed_source){ .biases = HEED_ARRAY(bias), .terms = &see[i], .n_terms = 1,
                                    .term_size = sizeof(see[i]) };
        rows[i] = s->v;
        rows[i].buf.handle = world_f32(&s->of_values) + i * V;
        memset(rows[i].t.stride, 0, sizeof(rows[i].t.stride));
        rows[i].t.stride[3] = 1;
        pairs[i] = (struct pair){ &s->k, &rows[i] };
    }
    attend(&desc, entries, pairs, ENTRIES, &s->q, &s->more);
    GIVE(&sum, x, s->o);
    GIVE(&sum, add, s->more);
    GIVE(&sum, y, s->o);
    act_run(&sum);
}

static struct approx shaw_want(const struct shaw *s)
{
    static struct seen_row row;
    struct approx part[2] = { approx_new(B, H, N, V), approx_new(B, H, N, V) };

    for (int64_t at = 0; at < B * H * N; at++) {
        const int64_t b = at / N / H, h = at / N % H, i = at % N;
        const float *const q = world_row(&s->q, b, h, i);

        for (int of = 0; of < 2; of++) {
            row.n = 0;
            for (int64_t j = 0; j < N; j++) {
                const int64_t r = clipped(j - i);
                struct seen_key key = { .v = of ? world_f32(&s->of_values) + r * V
                                                : world_row(&s->v, b, h, j) };

                score_add(q, world_row(&s->k, b, h, j), &key);
                score_add(q, world_f32(&s->of_keys) + r * D, &key);
                row.key[row.n++] = key;
            }
            approx_mix(&row, 3 * D, &part[of], at * V);
        }
        for (int64_t c = at * V; c < (at + 1) * V; c++) {
            part[0].x[c] += part[1].x[c];
            part[0].e[c] += part[1].e[c] + 0x1p-23 * fabs(part[0].x[c]);
        }
    }
    return part[0];
}

TEST(relative_positions_of_keys_and_values)
{
    struct shaw s;
    struct approx want;

    world_open();
    s.q = world_floats(B, H, N, D);
    s.k = world_floats(B, H, N, D);
    s.v = world_floats(B, H, N, V);
    s.of_keys = world_floats(1, 1, ENTRIES, D);
    s.of_keys.t = heed_array_dense(HEED_F32, NULL, 3, (const int64_t[]){ 1, ENTRIES, D }).t;
    s.of_values = world_floats(1, 1, ENTRIES, V);
    s.o = world_array(HEED_F32, B, H, N, V, -1);
    s.more = world_array(HEED_F32, B, H, N, V, -1);
    shaw_run(&s);
    want = shaw_want(&s);
    approx_judge(&s.o, &want, 1e-3, "Shaw");
}

/* ---- Funnel Transformer, section 2.2: queries are pooled, keys and values are not ---- */

enum { PAIRS = (N + 1) / 2 };

static bool all_seen(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    (void)p, (void)b, (void)h, (void)i, (void)set, (void)j;
    return true;
}

/* Means of two rows; the last window has one. A mean is a sum and a product: three roundings. */
static struct approx pairs_of(const heed_array *x)
{
    struct approx p = approx_new(B, H, PAIRS, D);

    for (int64_t at = 0; at < B * H * PAIRS * D; at++) {
        const int64_t row = at / D, i = row % PAIRS, n = 2 * i + 1 < N ? 2 : 1;
        double size = 0;

        for (int64_t t = 0; t < n; t++) {
            const double value = (double)world_row(x, row / PAIRS / H, row / PAIRS % H,
                                                   2 * i + t)[at % D];

            p.x[at] += value / (double)n;
            size += fabs(value);
        }
        p.e[at] = 4 * 0x1p-24 * size;
    }
    return p;
}

TEST(pooled_queries)
{
    heed_array x, q, v, o;
    heed_attn_desc desc = { 0 };
    heed_source source = { 0 };
    struct pool_call call = pool_call();
    struct approx of_q, want;
    struct approx_keys keys;

    world_open();
    x = world_floats(B, H, N, D);
    v = world_floats(B, H, N, V);
    q = world_array(HEED_F32, B, H, PAIRS, D, -1);
    o = world_array(HEED_F32, B, H, PAIRS, V, -1);
    call.desc.kind = HEED_POOL_MEAN;
    call.desc.tail = HEED_TAIL_CEIL;
    call.desc.kernel = call.desc.stride = 2;
    GIVE(&call, x, x);
    GIVE(&call, y, q);
    pool_run(&call);
    attend(&desc, &source, &(struct pair){ &x, &v }, 1, &q, &o);
    of_q = pairs_of(&x);
    keys = (struct approx_keys){ approx_of(&x), approx_of(&v) };
    want = approx_attend(&of_q, &keys, 1, all_seen, NULL);
    approx_judge(&o, &want, 1e-3, "Funnel");
}

/* ---- ProphetNet, section 2.3: a predicting stream beside the main one ---- */

/* Row i of the stream sees the main stream up to i, and of its own stream itself. */
static bool stream_sees(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    (void)p, (void)b, (void)h;
    return set == 0 ? j <= i : j == i;
}

TEST(streams_that_predict)
{
    const heed_term itself[] = { { .kind = HEED_TERM_WINDOW } };
    heed_source sources[2] = { { .flags = HEED_SOURCE_CAUSAL }, { .terms = HEED_ARRAY(itself) } };
    heed_attn_desc desc = { 0 };
    heed_array q, k[2], v[2], o;
    struct approx of_q, want;
    struct approx_keys keys[2];
    struct pair pairs[2];

    world_open();
    q = world_floats(B, H, N, D);
    for (int i = 0; i < 2; i++) {
        k[i] = world_floats(B, H, N, D);
        v[i] = world_floats(B, H, N, V);
        pairs[i] = (struct pair){ &k[i], &v[i] };
        keys[i] = (struct approx_keys){ approx_of(&k[i]), approx_of(&v[i]) };
    }
    o = world_array(HEED_F32, B, H, N, V, -1);
    attend(&desc, sources, pairs, 2, &q, &o);
    of_q = approx_of(&q);
    want = approx_attend(&of_q, keys, 2, stream_sees, NULL);
    approx_judge(&o, &want, 1e-3, "ProphetNet");
}

/* ---- Synthesizer, section 3.2: softmax(W_2 relu(W_1 x)) v ---- */

static void project(const heed_array *x, const heed_array *w, uint32_t kind, const heed_array *y)
{
    struct linear_call call = linear_call();

    call.desc.act = kind;
    GIVE(&call, x, *x);
    GIVE(&call, w, *w);
    GIVE(&call, y, *y);
    linear_run(&call);
}

/* A logit is a sum over the D hidden numbers, each off by its own sum's roundings. */
static void logit(const float *x, const heed_array *w, int64_t j, struct seen_key *key)
{
    const double u = 0x1p-24;

    for (int64_t c = 0; c < D; c++) {
        const double by = (double)world_f32(&w[1])[j * D + c];
        double hidden = 0, size = 0;

        for (int64_t t = 0; t < D; t++) {
            const double product = (double)world_f32(&w[0])[c * D + t] * (double)x[t];

            hidden += product;
            size += fabs(product);
        }
        hidden = hidden > 0 ? hidden : 0;
        key->y += by * hidden;
        key->size += fabs(by) * (hidden + (D + 2) * u * size);
        key->shift += fabs(by) * (D + 2) * u * size;
    }
}

TEST(weights_without_keys)
{
    static struct seen_row row;
    const heed_bias bias[] = { { .kind = HEED_BIAS_DENSE, .t = 1 } };
    heed_source source = { .biases = HEED_ARRAY(bias) };
    heed_array x, v, o, hidden, weights, w[2], none;
    heed_slot slot;
    heed_attn_desc desc = { 0 };
    struct approx want;

    world_open();
    x = world_floats(B, H, N, D);
    v = world_floats(B, H, N, V);
    o = world_array(HEED_F32, B, H, N, V, -1);
    for (int i = 0; i < 2; i++) {
        w[i] = world_floats(1, 1, i ? N : D, D);
        w[i].t = heed_array_dense(HEED_F32, NULL, 2, (const int64_t[]){ i ? N : D, D }).t;
        for (int64_t c = 0; c < world_count(&w[i]); c++)
            world_f32(&w[i])[c] /= 8;
    }
    hidden = world_array(HEED_F32, B, H, N, D, -1);
    weights = world_array(HEED_F32, B, H, N, N, -1);
    none = world_array(HEED_F32, B, H, N, 0, -1); /* queries and keys have no channels */
    project(&x, &w[0], HEED_ACT_RELU, &hidden);
    project(&hidden, &w[1], HEED_ACT_NONE, &weights);
    slot = constant(&weights);
    desc.slots = &slot;
    desc.n_slots = 1;
    desc.slot_size = sizeof(slot);
    attend(&desc, &source, &(struct pair){ &none, &v }, 1, &none, &o);
    want = approx_new(B, H, N, V);
    for (int64_t at = 0; at < B * H * N; at++) {
        row.n = 0;
        for (int64_t j = 0; j < N; j++) {
            struct seen_key key = { .v = world_row(&v, at / N / H, at / N % H, j) };

            logit(world_f32(&x) + at * D, w, j, &key);
            row.key[row.n++] = key;
        }
        approx_mix(&row, 2 * D, &want, at * V);
    }
    approx_judge(&o, &want, 1e-3, "Synthesizer");
}

int main(void)
{
    return suite_run("composed", 240, NULL, world_close);
}
