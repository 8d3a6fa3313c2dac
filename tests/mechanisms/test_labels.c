/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attentions whose scores are more than products of rows: labels of relations between tokens and
 * sentences (Ainslie et al. 2020, ETC, section 3), and a softmax for every channel (Shen et al.
 * 2018, Bi-BloSAN, section 3.1), each by plain calls and against the formulas in double.
 */
#include "chain.h"

#include <heed/nn.h>

WORLD_OPERATION(linear)

enum { B = 2, H = 2, N = 24, D = 6, V = 5, SENTENCE = 5, GLOBALS = 5, RADIUS = 4, CLIP = 3 };

static const double unit = 0x1p-24;

/* ---- ETC ---- */

/* Labels of long tokens: by clipped distance, and by whether the global token is that of their
 * sentence; of global tokens likewise. [1][entries][D], rows that are added to keys. */
enum { LONG_LONG, LONG_GLOBAL, GLOBAL_LONG, GLOBAL_GLOBAL, PIECES };

struct etc {
    heed_array q[2], k[2], v[2], o[2]; /* long, global */
    heed_array labels[PIECES];
};

/* Slots of a piece: labels, coordinates of rows and of keys, which are sentences. */
enum { LABELS = 1, OF_ROWS, OF_KEYS, SLOTS = 3 };

static int64_t sentence(int of_globals, int64_t i)
{
    return of_globals ? i : i / SENTENCE;
}

static heed_array coordinates(int of_globals)
{
    const int64_t n = of_globals ? GLOBALS : N;
    const heed_array a = world_array(HEED_I32, B, n, -1, -1, -1);

    for (int64_t i = 0; i < B * n; i++)
        ((int32_t *)a.buf.handle)[i] = (int32_t)sentence(of_globals, i % n);
    return a;
}

/* Entry of the labels of a piece. With a sentence of its own as coordinate, a member's difference
 * is 0, and all others are clamped to one of its sides, which say the same. */
static int64_t label(int piece, int64_t i, int64_t j)
{
    const bool distance = piece == LONG_LONG || piece == GLOBAL_GLOBAL;
    const int64_t delta = distance ? j - i
                                   : sentence(piece == LONG_GLOBAL, j) -
                                         sentence(piece == GLOBAL_LONG, i);
    const int64_t most = distance ? CLIP : 1;

    return (delta < -most ? -most : delta > most ? most : delta) + most;
}

static bool sees(int piece, int64_t i, int64_t j)
{
    return piece != LONG_LONG || (j >= i - RADIUS && j <= i + RADIUS);
}

static heed_slot constant(const heed_array *a)
{
    return (heed_slot){ .t = a->t, .data = a->buf.handle };
}

/* Rows of one kind see the long keys and the global ones. */
static void etc_rows(const struct etc *e, int of)
{
    const heed_term window[] = { { .kind = HEED_TERM_WINDOW, .left = RADIUS, .right = RADIUS } };
    const heed_array of_rows = coordinates(of);
    heed_bias bias[2][1];
    heed_array of_keys[2];
    heed_slot slots[2 * SLOTS];
    heed_source sources[2];
    heed_kv_bufs kv[2];
    heed_attn_desc desc = { .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE,
                            .q = e->q[of].t, .o = e->o[of].t, .sources = HEED_ARRAY(sources),
                            .slots = HEED_ARRAY(slots) };
    const heed_attn_args args = { .size = sizeof(args), .kv_size = sizeof(kv[0]),
                                  .q = e->q[of].buf, .o = e->o[of].buf, .kv = kv,
                                  .slots = (heed_buf[2 * SLOTS]){ { 0 } },
                                  .n_slots = 2 * SLOTS };

    for (uint32_t s = 0; s < 2; s++) {
        of_keys[s] = coordinates((int)s);
        slots[SLOTS * s] = constant(&e->labels[2 * of + (int)s]);
        slots[SLOTS * s + 1] = constant(&of_rows);
        slots[SLOTS * s + 2] = constant(&of_keys[s]);
        bias[s][0] = (heed_bias){ .kind = HEED_BIAS_DOT, .t = SLOTS * s + LABELS, .zero = CLIP };
        if ((int)s != of) {
            bias[s][0].zero = 1;
            bias[s][0].q_coord = SLOTS * s + OF_ROWS;
            bias[s][0].k_coord = SLOTS * s + OF_KEYS;
        }
        sources[s] = (heed_source){ .k = e->k[s].t, .v = e->v[s].t, .biases = HEED_ARRAY(bias[s]) };
        kv[s] = (heed_kv_bufs){ e->k[s].buf, e->v[s].buf };
    }
    if (of == 0) {
        sources[0].terms = window;
        sources[0].n_terms = 1;
        sources[0].term_size = sizeof(window[0]);
    }
    desc.flags |= HEED_ATTN_ALIGN_START;
    world_attend(&desc, &args);
}

/* q . (k + label) / sqrt(D), as heed adds it: two products. */
static void score_add(const float *q, const float *k, struct seen_key *key)
{
    for (int64_t c = 0; c < D; c++) {
        const double product = (double)q[c] * (double)k[c] / sqrt((double)D);

        key->y += product;
        key->size += fabs(product);
    }
}

static struct approx etc_want(const struct etc *e, int of)
{
    static struct seen_row row;
    const int64_t n = e->q[of].t.shape[2];
    struct approx want = approx_new(B, H, n, V);

    for (int64_t at = 0; at < B * H * n; at++) {
        const int64_t b = at / n / H, h = at / n % H, i = at % n;
        const float *const q = world_row(&e->q[of], b, h, i);

        row.n = 0;
        for (int piece = 2 * of; piece < 2 * of + 2; piece++)
            for (int64_t j = 0; j < e->k[piece % 2].t.shape[2]; j++) {
                struct seen_key key = { .v = world_row(&e->v[piece % 2], b, h, j) };

                if (!sees(piece, i, j))
                    continue;
                score_add(q, world_row(&e->k[piece % 2], b, h, j), &key);
                score_add(q, world_f32(&e->labels[piece]) + label(piece, i, j) * D, &key);
                row.key[row.n++] = key;
            }
        approx_mix(&row, 3 * D, &want, at * V);
    }
    return want;
}

TEST(labels_of_relations)
{
    static const char *const names[] = { "ETC, long rows", "ETC, global rows" };
    struct etc e;

    world_open();
    for (int of = 0; of < 2; of++) {
        const int64_t n = of ? GLOBALS : N;

        e.q[of] = world_floats(B, H, n, D);
        e.k[of] = world_floats(B, H, n, D);
        e.v[of] = world_floats(B, H, n, V);
        e.o[of] = world_array(HEED_F32, B, H, n, V, -1);
    }
    for (int piece = 0; piece < PIECES; piece++) {
        const bool distance = piece == LONG_LONG || piece == GLOBAL_GLOBAL;
        const int64_t entries = distance ? 2 * CLIP + 1 : 3;

        e.labels[piece] = world_floats(1, 1, entries, D);
        e.labels[piece].t =
            heed_array_dense(HEED_F32, NULL, 3, (const int64_t[]){ 1, entries, D }).t;
        if (!distance)  /* no member: the same label on both sides */
            memcpy(world_f32(&e.labels[piece]) + (size_t)2 * D, world_f32(&e.labels[piece]),
                   D * sizeof(float));
    }
    for (int of = 0; of < 2; of++) {
        struct approx want;

        etc_rows(&e, of);
        want = etc_want(&e, of);
        approx_judge(&e.o[of], &want, 1e-3, names[of]);
    }
}

/* ---- Bi-BloSAN ---- */

enum { CHANNELS = 7, BLOCK = 8 };

static const double cap = 5, of_tanh = 1.8e-7; /* the paper's c; of tanh, heed/nn.h */

/* [B][CHANNELS][N][2]: in one column 1, in the other W x + bias, channel by channel. */
static heed_array scores_half(const heed_array *x, const heed_array *w, const heed_array *bias,
                              int column)
{
    const heed_array half = world_array(HEED_F32, B, CHANNELS, N, 2, -1);
    heed_array y = half;
    struct linear_call call = linear_call();

    for (int64_t i = 0; i < world_count(&half); i++)
        world_f32(&half)[i] = 1;
    y.t = (heed_tensor){ HEED_F32, 4, { B, 1, N, CHANNELS }, { CHANNELS * N * 2, 0, 2, N * 2 } };
    y.buf.handle = world_f32(&half) + column;
    GIVE(&call, x, *x);
    GIVE(&call, w, *w);
    if (bias)
        GIVE(&call, bias, *bias);
    GIVE(&call, y, y);
    linear_run(&call);
    return half;
}

/* W x + bias of token i in channel c, and by how much it is off. */
static double half_want(const heed_array *x, const heed_array *w, const heed_array *bias,
                        int64_t b, int64_t i, int64_t c, double *off)
{
    double sum = bias ? (double)world_f32(bias)[c] : 0, size = fabs(sum);

    for (int64_t t = 0; t < CHANNELS; t++) {
        const double term = (double)world_f32(w)[c * CHANNELS + t] *
                            (double)world_row(x, b, 0, i)[t];

        sum += term;
        size += fabs(term);
    }
    *off = (CHANNELS + 2) * unit * size;
    return sum;
}

/* Row j sees the tokens of its block before it (forward). */
static heed_array ranges_before(void)
{
    const heed_array ranges = world_array(HEED_I32, N, 2, -1, -1, -1);

    for (int32_t j = 0; j < N; j++) {
        ((int32_t *)ranges.buf.handle)[2 * j] = j / BLOCK * BLOCK;
        ((int32_t *)ranges.buf.handle)[2 * j + 1] = j;
    }
    return ranges;
}

/* x as keys' values: a channel is a head. */
static heed_tensor by_channel(void)
{
    return (heed_tensor){ HEED_F32, 4, { B, CHANNELS, N, 1 }, { N * CHANNELS, 1, CHANNELS, 1 } };
}

static void channels_attend(const heed_array *q, const heed_array *k, const heed_array *x,
                            const heed_array *o)
{
    const heed_array ranges = ranges_before();
    const heed_term see[] = { { .kind = HEED_TERM_SEGMENT, .block = 1, .slot = 1 } };
    const heed_slot slots[] = { constant(&ranges) };
    const heed_source sources[] = { { .k = k->t, .v = by_channel(), .terms = HEED_ARRAY(see) } };
    const heed_attn_desc desc = { .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE,
                                  .q = q->t, .o = by_channel(), .scale = 1, .softcap = cap,
                                  .sources = HEED_ARRAY(sources), .slots = HEED_ARRAY(slots) };
    const heed_kv_bufs kv[] = { { k->buf, x->buf } };
    const heed_attn_args args = { .size = sizeof(args), .kv_size = sizeof(kv[0]), .q = q->buf,
                                  .o = o->buf, .kv = kv, .slots = (heed_buf[1]){ { 0 } },
                                  .n_slots = 1 };

    world_attend(&desc, &args);
}

struct halves {
    heed_array x, w[2], bias;
};

/* c tanh((W1 x_i + W2 x_j + b) / c), and how far off: the halves, four roundings on the way to the
 * function, whose slope is at most 1, and the function. */
static struct seen_key channel_key(const struct halves *s, int64_t b, int64_t i, int64_t j,
                                   int64_t c)
{
    struct seen_key key = { .v = world_row(&s->x, b, 0, i) + c };
    double off[2];
    const double key_half = half_want(&s->x, &s->w[0], NULL, b, i, c, &off[0]);
    const double row_half = half_want(&s->x, &s->w[1], &s->bias, b, j, c, &off[1]);

    key.y = cap * tanh((key_half + row_half) / cap);
    key.shift = off[0] + off[1] + 4 * unit * (fabs(key_half) + fabs(row_half)) +
                of_tanh * fabs(key.y);
    key.size = fabs(key.y);
    return key;
}

TEST(a_softmax_for_every_channel)
{
    static struct seen_row row;
    struct halves s;
    struct approx want = (world_open(), approx_new(B, 1, N, CHANNELS));
    heed_array o, q, k;

    s.x = world_floats(B, 1, N, CHANNELS);
    s.bias = world_floats(1, 1, 1, CHANNELS);
    s.bias.t = heed_array_dense(HEED_F32, NULL, 1, (const int64_t[]){ CHANNELS }).t;
    for (int i = 0; i < 2; i++) {
        s.w[i] = world_floats(1, 1, CHANNELS, CHANNELS);
        s.w[i].t = heed_array_dense(HEED_F32, NULL, 2, (const int64_t[]){ CHANNELS, CHANNELS }).t;
        for (int64_t c = 0; c < CHANNELS * CHANNELS; c++)
            world_f32(&s.w[i])[c] /= 32;
    }
    o = world_array(HEED_F32, B, 1, N, CHANNELS, -1);
    k = scores_half(&s.x, &s.w[0], NULL, 0);
    q = scores_half(&s.x, &s.w[1], &s.bias, 1);
    channels_attend(&q, &k, &s.x, &o);
    for (int64_t at = 0; at < B * N * CHANNELS; at++) {
        const int64_t b = at / CHANNELS / N, j = at / CHANNELS % N, c = at % CHANNELS;
        struct approx one = { 1, 1, 1, 1, want.x + at, want.e + at };

        row.n = 0;
        for (int64_t i = j / BLOCK * BLOCK; i < j; i++)
            row.key[row.n++] = channel_key(&s, b, i, j, c);
        approx_mix(&row, 2, &one, 0);
    }
    approx_judge(&o, &want, 1e-3, "Bi-BloSAN");
}

int main(void)
{
    return suite_run("labels", 240, NULL, world_close);
}
