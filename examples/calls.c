/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Mechanisms that are several calls: top-down inference, AWESOME's memories, retrieval, mixtures of
 * snippets, keys that are made few, and linear attention. The data are noise; what is printed is
 * what the calls say about it. Learnt maps are cuts of the channels here.
 */
#include <heed/mechanisms.h>
#include <heed/memory.h>
#include <heed/nn.h>
#include <heed/pool.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A row of hidden states: q is read from channels 0.., k from DIM.., v is all of it. */
enum { HEADS = 2, DIM = 8, HIDDEN = 2 * DIM, WORDS = 12, MOST_BLOCKS = 64 };

static heed_device *device;
static heed_queue *queue;
static heed_report why = { .size = sizeof why };
static void *blocks[MOST_BLOCKS];
static int n_blocks;

static void must(heed_status status)
{
    if (status >= 0)
        return;
    fprintf(stderr, "%s: %s\n", why.field, why.message);
    exit(EXIT_FAILURE);
}

/* ---- arrays ---- */

static void *room(int64_t count, size_t size)
{
    void *block = calloc((size_t)count + 1, size);

    if (!block || n_blocks == MOST_BLOCKS)
        exit(EXIT_FAILURE);
    return blocks[n_blocks++] = block;
}

/* [1][HEADS][n][d] of noise. */
static heed_array rows(int64_t n, int64_t d)
{
    static uint32_t state = 1;
    float *const data = room(HEADS * n * d, sizeof *data);

    for (int64_t i = 0; i < HEADS * n * d; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
    }
    return heed_array4(HEED_F32, data, 1, HEADS, n, d);
}

static heed_array line(uint32_t dtype, int64_t n, size_t size)
{
    return heed_array_dense(dtype, room(n, size), 1, &n);
}

/* One number for the only item. */
static heed_array number(int64_t value)
{
    const heed_array a = line(HEED_I64, 1, sizeof value);

    *(int64_t *)a.buf.handle = value;
    return a;
}

static int64_t value_of(const heed_array *a)
{
    return *(const int64_t *)a->buf.handle;
}

/* Channels first .. first + d - 1. */
static heed_array cut(const heed_array *a, int64_t first, int64_t d)
{
    heed_array part = *a;

    part.t.shape[part.t.ndim - 1] = d;
    part.buf.handle = (float *)a->buf.handle + first;
    return part;
}

static heed_array q_of(const heed_array *hidden)
{
    return cut(hidden, 0, DIM);
}

static heed_array k_of(const heed_array *hidden)
{
    return cut(hidden, DIM, DIM);
}

static heed_kv_bufs pair_of(const heed_array *hidden)
{
    return (heed_kv_bufs){ k_of(hidden).buf, hidden->buf };
}

static heed_keys keys_of(const heed_array *hidden)
{
    return (heed_keys){ .k = k_of(hidden).t, .v = hidden->t };
}

/* ---- one call: a program that runs it often plans once ---- */

static void attend(heed_mechanism *m, const heed_array *q, const heed_array *o,
                   const heed_kv_bufs *pairs, const heed_buf *slots)
{
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
    const heed_attn_args args = { .size = sizeof args, .kv_size = sizeof *kv, .q = q->buf,
                                  .o = o->buf, .kv = kv, .slots = slots,
                                  .n_slots = HEED_MECHANISM_SLOTS };
    heed_plan *plan = NULL;

    m->desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    heed_mechanism_kv(m, pairs, kv);
    must(heed_attn_plan(device, &m->desc, &plan, &why));
    must(heed_attn_run(plan, queue, &args, NULL, &why));
    heed_plan_drop(plan);
}

static void pool(const heed_pool_desc *desc, const heed_pool_args *args)
{
    heed_plan *plan = NULL;

    must(heed_pool_plan(device, desc, &plan, &why));
    must(heed_pool_run(plan, queue, args, NULL, &why));
    heed_plan_drop(plan);
}

/* ---- top-down inference ---- */

enum { TOKENS = 100, KERNEL = 32, STRIDE = 24, UNITS = 4 };

/* The units of a text of `len` tokens, and which of them there are. */
static void average(const heed_array *tokens, const heed_array *len, const heed_array *units,
                    const heed_array *there, const heed_array *units_len)
{
    const heed_pool_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE,
                                  .kind = HEED_POOL_MEAN, .tail = HEED_TAIL_CEIL,
                                  .kernel = KERNEL, .stride = STRIDE, .x = tokens->t,
                                  .len = len->t, .y = units->t, .y_mask = there->t,
                                  .y_len = units_len->t };
    const heed_pool_args args = { .size = sizeof args, .x = tokens->buf, .len = len->buf,
                                  .y = units->buf, .y_mask = there->buf,
                                  .y_len = units_len->buf };

    pool(&desc, &args);
}

/* Rows of `from` see every unit of `to`: a level itself, or the one above. */
static void see_all(const heed_array *from, const heed_array *from_len, const heed_array *to,
                    const heed_array *there, const heed_array *to_len, const heed_array *o)
{
    const heed_array q = q_of(from);
    const heed_kv_bufs pair = pair_of(to);
    heed_mechanism m = { .size = sizeof m };
    heed_buf slots[HEED_MECHANISM_SLOTS] = {
        [HEED_MECHANISM_LEN - 1] = to_len->buf,
        [HEED_MECHANISM_MASK - 1] = there->buf,
        [HEED_MECHANISM_LEN_2 - 1] = from_len->buf,
    };
    heed_top_down_desc desc = { .size = sizeof desc, .q = q.t, .o = o->t, .top = keys_of(to),
                                .rows = { from_len->t, NULL } };

    desc.top.len.t = to_len->t;
    desc.top.mask.t = there->t;
    must(heed_top_down(&desc, &m, &why));
    attend(&m, &q, o, &pair, slots);
}

static void top_down(void)
{
    const heed_array tokens = rows(TOKENS, HIDDEN), len = number(90);
    const heed_array units = rows(UNITS, HIDDEN), units_len = number(0);
    const heed_array there = line(HEED_U8, UNITS, 1);
    const heed_array top = rows(UNITS, HIDDEN), out = rows(TOKENS, HIDDEN);

    average(&tokens, &len, &units, &there, &units_len);
    see_all(&units, &units_len, &units, &there, &units_len, &top);
    see_all(&tokens, &len, &top, &there, &units_len, &out);
    printf("top-down: %d tokens, %d units; token 89 has become %.4f, token 90, which is none, %g\n",
           (int)value_of(&len), (int)value_of(&units_len),
           (double)((float *)out.buf.handle)[89 * HIDDEN],
           (double)((float *)out.buf.handle)[90 * HIDDEN]);
}

/* ---- AWESOME, compressive memory ---- */

enum { SEGMENT = 20, MEMORY = 16, RATIO = 5, SEGMENTS = 5 };

/* A ring as heed_push_run() keeps it. */
struct memory {
    heed_array rows, head, len;
};

static struct memory memory_new(void)
{
    return (struct memory){ rows(MEMORY, HIDDEN), number(0), number(0) };
}

/* Equations 7 and 8. */
static void segment_attend(const heed_array *x, const struct memory *memory,
                           const struct memory *compressed, const heed_array *o)
{
    const heed_array q = q_of(x);
    const heed_kv_bufs pairs[3] = {
        pair_of(x), pair_of(&memory->rows), pair_of(&compressed->rows)
    };
    heed_mechanism m = { .size = sizeof m };
    heed_buf slots[HEED_MECHANISM_SLOTS] = {
        [HEED_MECHANISM_LEN_2 - 1] = memory->len.buf,
        [HEED_MECHANISM_LEN_3 - 1] = compressed->len.buf,
        [HEED_MECHANISM_HEAD - 1] = memory->head.buf,
        [HEED_MECHANISM_HEAD_2 - 1] = compressed->head.buf,
    };
    heed_awesome_desc desc = { .size = sizeof desc, .q = q.t, .o = o->t, .text = keys_of(x),
                               .memory = keys_of(&memory->rows),
                               .compressed = keys_of(&compressed->rows),
                               .memory_head = { memory->head.t, NULL },
                               .compressed_head = { compressed->head.t, NULL } };

    desc.memory.len.t = memory->len.t;
    desc.compressed.len.t = compressed->len.t;
    must(heed_awesome(&desc, &m, &why));
    attend(&m, &q, o, pairs, slots);
}

/* Every RATIO rows that fell out become one. */
static void compress(const heed_array *x, const heed_array *x_len, const heed_array *y,
                     const heed_array *y_len)
{
    const heed_pool_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE,
                                  .kind = HEED_POOL_MEAN, .tail = HEED_TAIL_END,
                                  .kernel = RATIO, .stride = RATIO, .x = x->t, .len = x_len->t,
                                  .y = y->t, .y_len = y_len->t };
    const heed_pool_args args = { .size = sizeof args, .x = x->buf, .len = x_len->buf,
                                  .y = y->buf, .y_len = y_len->buf };

    pool(&desc, &args);
}

/* Of x the first x_len rows; `out`, where it is wanted, receives what falls out. */
static void push(const struct memory *memory, const heed_array *x, const heed_array *x_len,
                 const heed_array *out, const heed_array *out_len)
{
    heed_push_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE };
    heed_push_args args = { .size = sizeof args };
    heed_plan *plan = NULL;

    heed_array_split(&memory->rows, &desc.rows, &args.rows);
    heed_array_split(&memory->head, &desc.head, &args.head);
    heed_array_split(&memory->len, &desc.len, &args.len);
    heed_array_split(x, &desc.x, &args.x);
    heed_array_split(x_len, &desc.x_len, &args.x_len);
    heed_array_split(out, &desc.out, &args.out);
    heed_array_split(out_len, &desc.out_len, &args.out_len);
    must(heed_push_plan(device, &desc, &plan, &why));
    must(heed_push_run(plan, queue, &args, NULL, &why));
    heed_plan_drop(plan);
}

static void awesome(void)
{
    const struct memory memory = memory_new(), compressed = memory_new();
    const heed_array x_len = number(SEGMENT), o = rows(SEGMENT, HIDDEN);
    const heed_array fallen = rows(SEGMENT, HIDDEN), fallen_len = number(0);
    const heed_array packed = rows(SEGMENT / RATIO, HIDDEN), packed_len = number(0);

    printf("AWESOME: rows of both memories");
    for (int t = 0; t < SEGMENTS; t++) {
        const heed_array x = rows(SEGMENT, HIDDEN);

        segment_attend(&x, &memory, &compressed, &o);
        push(&memory, &x, &x_len, &fallen, &fallen_len);
        compress(&fallen, &fallen_len, &packed, &packed_len);
        push(&compressed, &packed, &packed_len, NULL, NULL);
        printf(" %d+%d", (int)value_of(&compressed.len), (int)value_of(&memory.len));
    }
    printf("\n");
}

/* ---- AWESOME, attentive memory ---- */

/* S of equation 12 into `s`: the memory asks the segment. */
static void summarize(const heed_array *memory, const heed_array *h_self, const heed_array *s)
{
    const heed_array q = q_of(memory);
    const heed_kv_bufs pairs[2] = { pair_of(h_self) };
    const heed_buf slots[HEED_MECHANISM_SLOTS] = { { 0 } };
    heed_mechanism m = { .size = sizeof m };
    const heed_global_rows_desc desc = { .size = sizeof desc, .q = q.t, .o = s->t,
                                         .text = keys_of(h_self) };

    must(heed_global_rows(&desc, &m, &why));
    attend(&m, &q, s, pairs, slots);
}

static void attentive(void)
{
    const heed_array memory = rows(MEMORY, HIDDEN), s = rows(MEMORY, HIDDEN);
    float *const m = memory.buf.handle;

    for (int t = 0; t < SEGMENTS; t++) {
        const heed_array h_self = rows(SEGMENT, HIDDEN);

        summarize(&memory, &h_self, &s);
        for (int64_t i = 0; i < HEADS * MEMORY * HIDDEN; i++) {
            const float z = ((const float *)s.buf.handle)[i];
            const float g = 1 / (1 + expf(-(m[i] + z)));

            m[i] = g * tanhf(m[i] + z) + (1 - g) * m[i];
        }
    }
    printf("attentive memory: after %d segments row 0 begins %.4f %.4f\n", SEGMENTS, (double)m[0],
           (double)m[1]);
}

/* ---- retrieval ---- */

enum { LENGTH = 32, OVERLAP = 16, MOST_WINDOWS = 16, ASK = 3, BEST = 5 };

static void windows(void)
{
    heed_window w[MOST_WINDOWS];
    int64_t count = 0;

    must(heed_window_plan(TOKENS, LENGTH, OVERLAP, w, MOST_WINDOWS, &count));
    printf("windows of %d tokens:", TOKENS);
    for (int64_t t = 0; t < count; t++)
        printf(" [%d,%d)", (int)w[t].keep, (int)w[t].keep_end);
    printf("\n");
}

/* Rows of q see the BEST keys of a memory, each row and head its own; and, where there is a text,
 * what of that is not after them. */
static void retrieve(const heed_array *q, const heed_array *memory, const heed_array *text,
                     const heed_array *list, const heed_array *o)
{
    const heed_array k = k_of(memory);
    heed_kv_bufs pairs[2] = { { { 0 }, { 0 } }, pair_of(memory) };
    const heed_buf slots[HEED_MECHANISM_SLOTS] = { [HEED_MECHANISM_LIST - 1] = list->buf };
    heed_mechanism m = { .size = sizeof m };
    heed_retrieval_desc desc = { .size = sizeof desc, .q = q->t, .o = o->t,
                                 .memory = keys_of(memory), .list = { list->t, NULL } };

    if (text) {
        desc.text = keys_of(text);
        pairs[0] = pair_of(text);
    }
    must(heed_select_simple(queue, q, &k, list, &why));
    must(heed_retrieval(&desc, &m, &why));
    attend(&m, q, o, pairs, slots);
}

static void retrieval(void)
{
    const heed_array memory = rows(TOKENS, HIDDEN), text = rows(ASK, HIDDEN);
    const heed_array q = q_of(&text), o = rows(ASK, HIDDEN);
    int32_t list[HEADS][ASK][BEST];
    const heed_array chosen = heed_array4(HEED_I32, list, 1, HEADS, ASK, BEST);

    windows();
    retrieve(&q, &memory, NULL, &chosen, &o);
    retrieve(&q, &memory, &text, &chosen, &o);
    printf("retrieval: row 0 of head 0 sees");
    for (int x = 0; x < BEST; x++)
        printf(" %d", (int)list[0][0][x]);
    printf("\n");
}

/* ---- DYLE ---- */

enum { SNIPPETS = 4 };

/* words[i]: the distribution that snippet i gives; scores: how much each snippet counts. */
static void dyle(void)
{
    static float words[SNIPPETS][WORDS], mixed[WORDS];
    static float scores[SNIPPETS] = { 0.5f, 2, -1, -INFINITY };
    const heed_array parts = heed_array4(HEED_F32, words, SNIPPETS, 1, 1, WORDS);
    const heed_array weights = heed_array_dense(HEED_F32, scores, 3, (int64_t[]){ SNIPPETS, 1, 1 });
    const heed_array o = heed_array_dense(HEED_F32, mixed, 3, (int64_t[]){ 1, 1, WORDS });
    float sum = 0;

    for (int i = 0; i < SNIPPETS; i++)
        for (int c = 0; c < WORDS; c++)
            words[i][c] = c % SNIPPETS == i ? (float)SNIPPETS / WORDS : 0;
    must(heed_merge_simple(queue, &parts, &weights, &o, NULL, &why));
    for (int c = 0; c < WORDS; c++)
        sum += mixed[c];
    printf("DYLE: word 1 has %.4f of %.4f, word 3 %g\n", (double)mixed[1], (double)sum,
           (double)mixed[3]);
}

/* ---- Linformer ---- */

enum { SHORT = 6 };

/* y = E x along the length, E [SHORT][TOKENS]: row i of E is head i of a view that repeats x, and
 * its one window is the text. The heads of the model are items of a batch. */
static void project(const heed_array *e, const heed_array *x, const heed_array *y)
{
    const int64_t d = x->t.shape[3];
    const heed_pool_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE,
                                  .kind = HEED_POOL_LINEAR, .tail = HEED_TAIL_CEIL,
                                  .kernel = TOKENS, .stride = TOKENS,
                                  .x = { HEED_F32, 4, { HEADS, SHORT, TOKENS, d },
                                         { x->t.stride[1], 0, x->t.stride[2], 1 } },
                                  .y = { HEED_F32, 4, { HEADS, SHORT, 1, d },
                                         { y->t.stride[1], y->t.stride[2], d, 1 } },
                                  .weights = e->t };
    const heed_pool_args args = { .size = sizeof args, .x = x->buf, .y = y->buf,
                                  .weights = e->buf };

    pool(&desc, &args);
}

static void linformer(void)
{
    static float matrix[SHORT][TOKENS];
    const heed_array e = heed_array_dense(HEED_F32, matrix, 2, (int64_t[]){ SHORT, TOKENS });
    const heed_array x = rows(TOKENS, HIDDEN), q = q_of(&x), o = rows(TOKENS, HIDDEN);
    const heed_array few = rows(SHORT, HIDDEN), k = k_of(&few);

    for (int i = 0; i < SHORT * TOKENS; i++)
        matrix[i / TOKENS][i % TOKENS] = i % 7 == 0 ? 0.25f : -0.03125f;
    project(&e, &x, &few);
    must(heed_attn_simple(queue, &q, &k, &few, &o, NULL, 0, 0, &why));
    printf("Linformer: %d keys in place of %d; row 0 begins %.4f\n", SHORT, TOKENS,
           (double)((float *)o.buf.handle)[0]);
}

/* Linear attention. x = f(x), times a factor where one is given. */
static void activate(uint32_t kind, const heed_array *x, const heed_array *factor)
{
    heed_act_desc desc = { .size = sizeof desc, .kind = kind, .x = x->t, .y = x->t };
    heed_act_args args = { .size = sizeof args, .x = x->buf, .y = x->buf };
    heed_plan *plan = NULL;

    if (factor)
        heed_array_split(factor, &desc.factor, &args.factor);
    must(heed_act_plan(device, &desc, &plan, &why));
    must(heed_act_run(plan, queue, &args, NULL, &why));
    heed_plan_drop(plan);
}

static void linear_attention(void)
{
    const heed_array x = rows(TOKENS, HIDDEN), q = q_of(&x), k = k_of(&x);
    const heed_array v = rows(TOKENS, DIM + 1), sums = rows(TOKENS, DIM + 1);
    const heed_array state = heed_array4(HEED_F32, room(HEADS * DIM * (DIM + 1), sizeof(float)),
                                         1, HEADS, DIM, DIM + 1);
    const heed_recur_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE,
                                   .q = q.t, .k = k.t, .v = v.t, .state = state.t, .o = sums.t };
    const heed_recur_args args = { .size = sizeof args, .q = q.buf, .k = k.buf, .v = v.buf,
                                   .state = state.buf, .o = sums.buf };
    heed_array values = sums, weight = sums;
    heed_plan *plan;

    for (int i = DIM; i < HEADS * TOKENS * (DIM + 1); i += DIM + 1)
        ((float *)v.buf.handle)[i] = 1;
    activate(HEED_ACT_ELU_PLUS_ONE, &q, NULL);
    activate(HEED_ACT_ELU_PLUS_ONE, &k, NULL);
    must(heed_recur_plan(device, &desc, &plan, &why));
    must(heed_recur_run(plan, queue, &args, NULL, &why));
    heed_plan_drop(plan);
    values.t.shape[3] = DIM;
    weight.t.shape[3] = 1;
    weight.buf.handle = (float *)sums.buf.handle + DIM;
    activate(HEED_ACT_INVERSE, &weight, NULL);
    weight.t.shape[3] = DIM;
    weight.t.stride[3] = 0;
    activate(HEED_ACT_NONE, &values, &weight);
    printf("linear attention: row 0 begins %.4f\n", (double)*(float *)sums.buf.handle);
}

int main(void)
{
    heed_runtime *runtime = NULL;

    must(heed_runtime_create(NULL, &runtime, &why));
    must(heed_device_find(runtime, NULL, &device, &why));
    must(heed_queue_create(device, 0, &queue, &why));
    top_down();
    awesome();
    attentive();
    retrieval();
    dyle();
    linformer();
    linear_attention();
    heed_queue_destroy(queue);
    heed_runtime_destroy(runtime);
    while (n_blocks > 0)
        free(blocks[--n_blocks]);
    return EXIT_SUCCESS;
}
