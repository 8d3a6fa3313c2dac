/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Mechanisms that are a few calls and no builder of their own: AWESOME's attentive memory, DYLE,
 * MART and the Recurrent Memory Transformer. Each against the paper in double.
 */
#include "maps.h"

WORLD_OPERATION(gate)
WORLD_OPERATION(merge)
WORLD_OPERATION(copy)

enum { B = 2, H = 2, D = 4, W = 9 };    /* a row: q in channels 0.., k in D.., v all W */

static heed_array quiet(int64_t n, int64_t d)
{
    heed_array a = world_floats(B, H, n, d);

    for (int64_t i = 0; i < world_count(&a); i++)
        world_f32(&a)[i] *= 0.25f;
    return a;
}

static heed_array empty(int64_t n)
{
    return world_array(HEED_F32, B, H, n, W, -1);
}

/* Rows of q see every key: global rows of a text. */
static void attend_all(const heed_array *q_rows, const heed_array *rows, const int32_t *len,
                       const heed_array *o)
{
    const heed_array q = array_cut(q_rows, 0, D), k = array_cut(rows, D, D);
    const heed_kv_bufs pairs[2] = { { k.buf, rows->buf } };
    heed_mechanism m = { .size = sizeof(m) };
    heed_buf slots[HEED_MECHANISM_SLOTS] = { { 0 } };
    heed_global_rows_desc desc = {
        .size = sizeof(desc), .q = q.t, .o = o->t, .text = { .k = k.t, .v = rows->t }
    };

    if (len) {
        desc.text.len = world_slot(HEED_I32, 1, B, 1, 1, 1, NULL);
        slots[HEED_MECHANISM_LEN - 1].handle = (void *)(uintptr_t)len;
    }
    ck_assert_int_eq(heed_global_rows(&desc, &m, &world.why), HEED_OK);
    chain_attend(&m, &q, o, pairs, slots);
}

static bool length_sees(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    const int32_t *len = p;

    (void)h, (void)i, (void)set;
    return !len || j < len[b];
}

static struct approx paper_all(const struct approx *q_rows, const struct approx *rows,
                               const int32_t *len)
{
    const struct approx q = approx_cut(q_rows, 0, D);
    const struct approx_keys keys = { approx_cut(rows, D, D), *rows };

    return approx_attend(&q, &keys, 1, length_sees, len);
}

/* ---- AWESOME, attentive memory: Cao and Wang 2023, equations 9 to 12 ---- */

enum { SLOTS = 6, L = 11, STEPS = 3 };

enum { U_1, U_2, G_1, G_2, MAPS }; /* the learnt maps of equations 10 and 11 */

struct attentive {
    heed_array first, h_self[STEPS], map[MAPS];
    int32_t len[STEPS][B];
    heed_array memory[STEPS + 1], s[STEPS], read[STEPS];
};

/* G U + (1 - G) M. */
static void update(const struct attentive *a, int t)
{
    const heed_array *const m = &a->memory[t], *const s = &a->s[t];
    const heed_array u = empty(SLOTS), g = empty(SLOTS);
    struct gate_call call = gate_call();

    project(m, &a->map[U_1], NULL, HEED_ACT_NONE, &u);
    project(s, &a->map[U_2], &u, HEED_ACT_NONE, &u);
    project(m, &a->map[G_1], NULL, HEED_ACT_NONE, &g);
    project(s, &a->map[G_2], &g, HEED_ACT_NONE, &g);
    GIVE(&call, memory, *m);
    GIVE(&call, update, u);
    GIVE(&call, gate, g);
    GIVE(&call, y, a->memory[t + 1]);
    gate_run(&call);
}

/* A sum of two products of W terms, and how far heed's may be off. */
static double maps_want(const struct attentive *a, int t, int first, int64_t at, double *off)
{
    const float *const m = world_f32(&a->memory[t]) + at / W * W;
    const float *const s = world_f32(&a->s[t]) + at / W * W;
    const float *const of_m = world_f32(&a->map[first]) + at % W * W;
    const float *const of_s = world_f32(&a->map[first + 1]) + at % W * W;
    double sum = 0, size = 0;

    for (int64_t c = 0; c < W; c++) {
        const double x = (double)of_m[c] * (double)m[c], y = (double)of_s[c] * (double)s[c];

        sum += x + y;
        size += fabs(x) + fabs(y);
    }
    *off = 1.01 * (2 * W + 4) * 0x1p-24 * size;
    return sum;
}

/* Equations 10 to 12; shares of functions as heed/nn.h states them. */
static struct approx update_want(const struct attentive *a, int t)
{
    const double unit = 0x1p-24;
    struct approx want = approx_new(B, H, SLOTS, W);

    for (int64_t at = 0; at < B * H * SLOTS * W; at++) {
        const double m = (double)world_f32(&a->memory[t])[at];
        double off_u, off_g;
        const double u = tanh(maps_want(a, t, U_1, at, &off_u));
        const double g = 1 / (1 + exp(-maps_want(a, t, G_1, at, &off_g)));
        const double off = off_u + 1.8e-7 * fabs(u);
        const double off_of_g = off_g / 4 + 2.2e-7 * g;

        want.x[at] = g * u + (1 - g) * m;
        want.e[at] = 1.01 * (g * off + (fabs(u) + fabs(m)) * off_of_g + 4 * unit * fabs(m) +
                             unit * fabs(want.x[at])) + 0x1p-140;
    }
    return want;
}

static void attentive_run(struct attentive *a)
{
    memcpy(a->memory[0].buf.handle, a->first.buf.handle,
           (size_t)world_count(&a->first) * sizeof(float));
    for (int t = 0; t < STEPS; t++) {
        attend_all(&a->h_self[t], &a->memory[t], NULL, &a->read[t]);
        attend_all(&a->memory[t], &a->h_self[t], a->len[t], &a->s[t]);
        update(a, t);
    }
}

TEST(attentive_memory)
{
    struct attentive a;

    world_open();
    a.first = quiet(SLOTS, W);
    for (int i = 0; i < MAPS; i++) {
        a.map[i] = world_array(HEED_F32, W, W, -1, -1, -1);
        for (int64_t c = 0; c < W * W; c++)
            world_f32(&a.map[i])[c] = world_float() / 16;
    }
    for (int t = 0; t <= STEPS; t++)
        a.memory[t] = empty(SLOTS);
    for (int t = 0; t < STEPS; t++) {
        a.h_self[t] = quiet(L, W);
        a.s[t] = empty(SLOTS);
        a.read[t] = empty(L);
        for (int64_t b = 0; b < B; b++)
            a.len[t][b] = (int32_t)(b ? world_range(0, L) : L);
        for (int64_t h = 0; h < H; h++)         /* padding never enters the memory */
            for (int64_t i = a.len[t][1]; i < L; i++)
                for (int64_t c = D; c < W; c++)
                    world_row(&a.h_self[t], 1, h, i)[c] = NAN;
    }
    attentive_run(&a);
    for (int t = 0; t < STEPS; t++) {
        const struct approx m = approx_of(&a.memory[t]), x = approx_of(&a.h_self[t]),
                            s = paper_all(&m, &x, a.len[t]), read = paper_all(&x, &m, NULL),
                            next = update_want(&a, t);

        approx_judge(&a.s[t], &s, 1e-4, "S of the segment");
        approx_judge(&a.read[t], &read, 1e-4, "the memory, read");
        approx_judge(&a.memory[t + 1], &next, 1e-4, "the memory, gated");
    }
}

/* ---- DYLE: Mao et al. 2022 ---- */

enum { SNIPPETS = 5, ROWS = 7, WORDS = 33 };

struct dyle {
    heed_array words, score, mixed, lse; /* [P][B][n][words], [P][B][n] */
};

static void dyle_run(struct dyle *d)
{
    struct merge_call call = merge_call();

    GIVE(&call, parts, d->words);
    GIVE(&call, parts_lse, d->score);
    GIVE(&call, o, d->mixed);
    GIVE(&call, lse, d->lse);
    merge_run(&call);
}

/* p(word) = sum over snippets i of softmax_i(score) softmax(logits_i)[word]. The softmax over words
 * is the caller's. A snippet with score -Inf is none: nothing of it is read. */
static void dyle_new(struct dyle *d)
{
    const int64_t shape[4] = { SNIPPETS, B, 1, ROWS };

    d->words = world_floats(SNIPPETS, B, ROWS, WORDS);
    d->words.t = heed_array_dense(HEED_F32, NULL, 5,
                                  (int64_t[]){ SNIPPETS, B, 1, ROWS, WORDS }).t;
    d->score = world_floats(SNIPPETS, B, ROWS, 1);
    d->score.t = heed_array_dense(HEED_F32, NULL, 4, shape).t;
    d->mixed = world_array(HEED_F32, B, 1, ROWS, WORDS, -1);
    d->lse = world_array(HEED_F32, B, 1, ROWS, -1, -1);
    for (int64_t x = 0; x < SNIPPETS * B * ROWS; x++) {
        float *const p = world_f32(&d->words) + x * WORDS;
        float sum = 0;

        if (x % 6 == 4)
            world_f32(&d->score)[x] = -INFINITY;
        for (int64_t c = 0; c < WORDS; c++)
            sum += p[c] = expf(p[c]);
        for (int64_t c = 0; c < WORDS; c++)
            p[c] = x % 6 == 4 ? NAN : p[c] / sum;
    }
}

static void dyle_judge(const struct dyle *d)
{
    static struct seen_row row;
    struct approx want = approx_new(B, 1, ROWS, WORDS);

    for (int64_t x = 0; x < B * ROWS; x++) {
        double all = 0;

        row.n = 0;
        for (int64_t p = 0; p < SNIPPETS; p++) {
            const double score = (double)world_f32(&d->score)[p * B * ROWS + x];

            if (score > -(double)INFINITY)
                row.key[row.n++] = (struct seen_key){
                    .y = score, .size = fabs(score),
                    .v = world_f32(&d->words) + (p * B * ROWS + x) * WORDS
                };
        }
        approx_mix(&row, 0, &want, x * WORDS);
        for (int64_t c = 0; c < WORDS; c++)
            all += (double)world_f32(&d->mixed)[x * WORDS + c];
        ck_assert(fabs(all - 1) < 1e-5);
    }
    approx_judge(&d->mixed, &want, 1e-4, "DYLE");
}

TEST(dyle)
{
    struct dyle d;

    world_open();
    dyle_new(&d);
    dyle_run(&d);
    dyle_judge(&d);
}

/* ---- MART: Lei et al. 2020 ---- */

enum { VIDEO = 10, TEXT = 8, MEMORY = 3 };

struct mart {
    heed_array memory, rows, o;         /* rows: video, then text */
    int32_t frames[B];
};

/* Rows of the video see the memory and the video, rows of the text also the text before them: it
 * begins behind the video, so that no row of the video is late enough for its keys. */
static void mart_run(struct mart *m)
{
    const heed_array q = array_cut(&m->rows, 0, D), k = array_cut(&m->rows, D, D),
                     memory_k = array_cut(&m->memory, D, D);
    const heed_slot len = world_slot(HEED_I32, 1, B, 1, 1, 1, NULL);
    const heed_buf len_buf = { .handle = m->frames };
    heed_source sources[3] = {
        { .k = memory_k.t, .v = m->memory.t },
        { .k = k.t, .v = m->rows.t, .len_slot = 1 },
        { .k = k.t, .v = m->rows.t, .pos0 = VIDEO, .flags = HEED_SOURCE_CAUSAL },
    };
    const heed_kv_bufs kv[3] = {
        { memory_k.buf, m->memory.buf },
        { k.buf, m->rows.buf },
        { { .handle = world_row(&m->rows, 0, 0, VIDEO) + D },
          { .handle = world_row(&m->rows, 0, 0, VIDEO) } },
    };
    const heed_attn_desc desc = {
        .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE | HEED_ATTN_ALIGN_START,
        .q = q.t, .o = m->o.t, .sources = sources, .n_sources = 3,
        .source_size = sizeof(sources[0]), .slots = &len, .n_slots = 1, .slot_size = sizeof(len),
    };
    const heed_attn_args args = {
        .size = sizeof(args), .kv_size = sizeof(kv[0]), .q = q.buf, .o = m->o.buf, .kv = kv,
        .slots = &len_buf, .n_slots = 1,
    };

    sources[1].k.shape[2] = sources[1].v.shape[2] = VIDEO;
    sources[2].k.shape[2] = sources[2].v.shape[2] = TEXT;
    world_attend(&desc, &args);
}

static bool mart_sees(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    const struct mart *m = p;

    (void)h;
    if (set == 0)
        return true;
    if (j < VIDEO)
        return j < m->frames[b];
    return i >= VIDEO && j <= i;
}

TEST(mart)
{
    struct mart m = { .frames = { VIDEO, 6 } };
    struct approx memory, rows, q, o;

    world_open();
    m.memory = quiet(MEMORY, W);
    m.rows = quiet(VIDEO + TEXT, W);
    m.o = empty(VIDEO + TEXT);
    mart_run(&m);
    memory = approx_of(&m.memory);
    rows = approx_of(&m.rows);
    q = approx_cut(&rows, 0, D);
    o = approx_attend(&q, (struct approx_keys[2]){ { approx_cut(&memory, D, D), memory },
                                                   { approx_cut(&rows, D, D), rows } },
                      2, mart_sees, &m);
    approx_judge(&m.o, &o, 1e-4, "MART");
}

/* ---- Recurrent Memory Transformer: Bulatov et al. 2022, section 3 ---- */

struct recurrent {
    bool causal;
    heed_array first, segment[STEPS], rows, o[STEPS];
};

/* Rows first .. of y become those of x. */
static void rows_copy(const heed_array *x, const heed_array *y, int64_t first)
{
    const int64_t one = 1;
    struct copy_call call = copy_call();

    GIVE(&call, x, *x);
    GIVE(&call, y, *y);
    GIVE(&call, at, heed_array_dense(HEED_I64, &first, 1, &one));
    copy_run(&call);
}

/* Rows [memory; segment], for a decoder [memory; segment; memory] with CAUSAL; what the last memory
 * has become is the next one. */
static void recurrent_run(struct recurrent *r)
{
    const heed_array q = array_cut(&r->rows, 0, D), k = array_cut(&r->rows, D, D);
    const heed_source source = {
        .k = k.t, .v = r->rows.t, .flags = r->causal ? HEED_SOURCE_CAUSAL : 0
    };
    const heed_kv_bufs kv = { k.buf, r->rows.buf };
    const heed_attn_desc desc = {
        .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE, .q = q.t, .o = r->o[0].t,
        .sources = &source, .n_sources = 1, .source_size = sizeof(source),
    };
    heed_attn_args args = { .size = sizeof(args), .kv_size = sizeof(kv), .q = q.buf, .kv = &kv };
    heed_array next[STEPS];

    for (int t = 0; t < STEPS; t++) {
        const heed_array *const memory = t ? &next[t - 1] : &r->first;

        rows_copy(memory, &r->rows, 0);
        rows_copy(&r->segment[t], &r->rows, SLOTS);
        if (r->causal)
            rows_copy(memory, &r->rows, SLOTS + L);
        args.o = r->o[t].buf;
        world_attend(&desc, &args);
        next[t] = r->o[t];                      /* a view of the rows that the memory was */
        next[t].t.shape[2] = SLOTS;
        next[t].buf.handle = world_row(&r->o[t], 0, 0, r->causal ? SLOTS + L : 0);
    }
}

static bool causal_sees(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    (void)b, (void)h, (void)set;
    return !*(const bool *)p || j <= i;
}

/* Rows first .. first + from->n - 1 become those of `from`, beginning with its row `row`. */
static void rows_put(struct approx *to, int64_t first, const struct approx *from, int64_t row,
                     int64_t n)
{
    for (int64_t b = 0; b < B; b++)
        for (int64_t h = 0; h < H; h++) {
            const int64_t x = approx_at(to, b, h, first), y = approx_at(from, b, h, row);

            memcpy(to->x + x, from->x + y, (size_t)(n * W) * sizeof(double));
            memcpy(to->e + x, from->e + y, (size_t)(n * W) * sizeof(double));
        }
}

static void recurrent_judge(const struct recurrent *r)
{
    const int64_t n = r->rows.t.shape[2], last = r->causal ? SLOTS + L : 0;
    struct approx memory = approx_of(&r->first);

    for (int t = 0; t < STEPS; t++) {
        const struct approx segment = approx_of(&r->segment[t]);
        struct approx rows = approx_new(B, H, n, W), q, o;

        rows_put(&rows, 0, &memory, 0, SLOTS);
        rows_put(&rows, SLOTS, &segment, 0, L);
        rows_put(&rows, last, &memory, 0, SLOTS);
        q = approx_cut(&rows, 0, D);
        o = approx_attend(&q, &(struct approx_keys){ approx_cut(&rows, D, D), rows }, 1,
                          causal_sees, &r->causal);
        approx_judge(&r->o[t], &o, 1e-3, "recurrent memory");
        rows_put(&memory, 0, &o, last, SLOTS);
    }
}

TEST(recurrent_memory)
{
    for (int x = 0; x < 2; x++) {
        struct recurrent r = { .causal = x == 1 };
        const int64_t n = r.causal ? L + 2 * SLOTS : L + SLOTS;

        world_open();
        r.first = quiet(SLOTS, W);
        r.rows = empty(n);
        for (int t = 0; t < STEPS; t++) {
            r.segment[t] = quiet(L, W);
            r.o[t] = empty(n);
        }
        recurrent_run(&r);
        recurrent_judge(&r);
        world_close();
    }
}

int main(void)
{
    return suite_run("calls", 240, NULL, world_close);
}
