/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints have no weights for memories, so maps of these are the identity, and compression is a
 * mean. The steps are part of the layer's program: a memory is read before it is written.
 */
#include "past.h"

#include "say.h"

#include <heed/memory.h>
#include <stdlib.h>

/* ---- life ---- */

/* The state of a layer: two numbers for each ring, and the rows of both. */
enum { COUNT = 8, COUNTS = 64, APART = 64, PIECE = 1 << 16 };

static uint64_t padded(uint64_t bytes)
{
    return (bytes + APART - 1) / APART * APART;
}

static uint64_t bytes_of(const struct past *past, int64_t rows)
{
    return padded(4 * (uint64_t)rows * (uint64_t)past->model);
}

heed_status past_check(const struct parameters *p, const struct attention *attention,
                       heed_report *report)
{
    const struct stack *const e = &p->encoder;

    if (attention->mechanism != SEES_ALL || (p->family->traits & TRAIT_RELATIVE))
        return say(report, HEED_E_UNSUPPORTED, "model", 0, 0,
                   "a memory of segments beside the attention of this %s, which is not to all keys "
                   "by their content alone", p->family->name);
    if (e->heads * e->head_dim != p->config.model)
        return say(report, HEED_E_UNSUPPORTED, "model", p->config.model, e->heads * e->head_dim,
                   "a memory of segments beside heads that are not parts of a row");
    return HEED_OK;
}

/* Zeros from byte `first` of the state on. */
static heed_status zero(struct past *past, heed_queue *queue, uint64_t first, uint64_t bytes,
                        heed_report *report)
{
    void *const zeros = calloc(1, PIECE);
    heed_status status = zeros ? HEED_OK : say_no_memory(report, PIECE);
    heed_buf to = past->state;

    to.offset += first;
    while (status >= 0 && bytes > 0) {
        const uint64_t piece = bytes < PIECE ? bytes : PIECE;

        status = heed_buf_write(queue, to, zeros, piece, report);
        to.offset += piece;
        bytes -= piece;
    }
    free(zeros);
    return status;
}

heed_status past_open(const struct parameters *p, heed_queue *queue, struct past *past,
                      heed_report *report)
{
    heed_status status;
    uint64_t bytes;

    past->device = p->device;
    past->model = p->config.model;
    past->first = p->encoder.n_layers - past->layers;
    past->filled = 0;
    past->stride = COUNTS + bytes_of(past, past->rows) + bytes_of(past, past->old);
    bytes = past->stride * (past->kind == PAST_SALIENT ? 1 : (uint64_t)past->layers);
    past->stride = past->kind == PAST_SALIENT ? 0 : past->stride;
    status = heed_buf_create(p->device, bytes, &past->state, report);
    if (status < 0)
        return status;
    status = zero(past, queue, 0, bytes, report);
    if (status < 0)
        past_close(past);
    return status;
}

heed_status past_clear(struct past *past, heed_queue *queue, heed_report *report)
{
    heed_status status = HEED_OK;

    for (int64_t i = 0; i < past->layers && status >= 0; i++)
        status = zero(past, queue, (uint64_t)i * past->stride, COUNTS, report);
    past->filled = 0;
    return status;
}

heed_status past_set(struct past *past, heed_queue *queue, const float *rows, int64_t n,
                     heed_report *report)
{
    heed_buf to = past->state;
    heed_status status = HEED_OK;

    to.offset += COUNTS;
    if (n > 0)
        status = heed_buf_write(queue, to, rows, 4 * (uint64_t)n * (uint64_t)past->model, report);
    past->filled = status >= 0 ? n : 0;
    return status;
}

void past_close(struct past *past)
{
    heed_buf_destroy(past->device, past->state);
    past->state = (heed_buf){ NULL, 0 };
}

bool past_has(const struct past *past, int64_t which)
{
    return past && which >= past->first;
}

void past_bind(const struct past *past, int64_t which, heed_buf at[ARGS])
{
    heed_buf buf = past->state;

    buf.offset += (uint64_t)(which - past->first) * past->stride;
    for (int i = ARG_KEPT_HEAD; i <= ARG_OLD_LEN; i++) {
        at[i] = buf;
        at[i].offset += COUNT * (uint64_t)(i - ARG_KEPT_HEAD);
    }
    buf.offset += COUNTS;
    at[ARG_KEPT] = buf;
    at[ARG_OLD] = buf;
    at[ARG_OLD].offset += bytes_of(past, past->rows);
}

/* ---- compressive ---- */

static struct view count_of(uint32_t array)
{
    const int64_t one = 1;

    return (struct view){ array, 0, heed_array_dense(HEED_I64, NULL, 1, &one).t };
}

static heed_buf place(struct view view)
{
    return heed_program_array(view.array, view.offset);
}

/* Rows that go into a ring; `out` and its number, which may be absent, take what falls out. */
static void push(struct sketch *s, struct view rows, uint32_t head, uint32_t len, struct view x,
                 struct view x_len, struct view out, struct view out_len)
{
    heed_push_desc *desc = draft_memory(&s->draft, sizeof *desc);
    heed_push_args *args = draft_memory(&s->draft, sizeof *args);

    if (!args)
        return;
    *desc = (heed_push_desc){ .size = sizeof *desc, .rows = rows.t, .head = count_of(head).t,
                              .len = count_of(len).t, .x = x.t, .x_len = x_len.t, .out = out.t,
                              .out_len = out_len.t };
    *args = (heed_push_args){ .size = sizeof *args, .rows = place(rows),
                              .head = heed_program_array(head, 0),
                              .len = heed_program_array(len, 0), .x = place(x),
                              .x_len = place(x_len), .out = place(out),
                              .out_len = place(out_len) };
    draft_step(&s->draft, "push", desc, args);
}

/* Means of `kernel` rows each; numbers of rows may be absent. */
static void means(struct sketch *s, uint32_t tail, int64_t kernel, struct view x, struct view x_len,
                  struct view y, struct view y_len)
{
    heed_pool_desc *desc = draft_memory(&s->draft, sizeof *desc);
    heed_pool_args *args = draft_memory(&s->draft, sizeof *args);

    if (!args)
        return;
    *desc = (heed_pool_desc){ .size = sizeof *desc, .kind = HEED_POOL_MEAN, .tail = tail,
                              .kernel = kernel, .stride = kernel, .x = x.t, .len = x_len.t,
                              .y = y.t, .y_len = y_len.t };
    *args = (heed_pool_args){ .size = sizeof *args, .x = place(x), .len = place(x_len),
                              .y = place(y), .y_len = place(y_len) };
    draft_step(&s->draft, "pool", desc, args);
}

static struct view heads_of(const struct sketch *s, uint32_t array, int64_t n)
{
    return view_heads(view_rows(array, 1, n, s->p->config.model), s->stack->heads);
}

/* Keys and values of a memory's rows. */
static void maps(struct sketch *s, uint32_t from, int64_t n, uint32_t k, uint32_t v)
{
    const int64_t d = s->p->config.model;
    const struct view rows = view_rows(from, 1, n, d);

    layer_map(s, ROLE_K, rows, HEED_ACT_NONE, NO_VIEW, view_rows(k, 1, n, d));
    layer_map(s, ROLE_V, rows, HEED_ACT_NONE, NO_VIEW, view_rows(v, 1, n, d));
}

/* Equations 7 and 8: one softmax over both memories and the segment. */
static void see_compressive(struct sketch *s, const struct past *past, int64_t n)
{
    const int64_t m = past->rows, c = past->old;
    const struct view q = heads_of(s, ARG_Q, n), o = heads_of(s, ARG_O, n);
    const struct view keys[3][2] = {
        { heads_of(s, ARG_K, n), heads_of(s, ARG_V, n) },
        { heads_of(s, T_KEPT_K, m), heads_of(s, T_KEPT_V, m) },
        { heads_of(s, T_OLD_K, c), heads_of(s, T_OLD_V, c) },
    };
    const heed_slot count = { count_of(0).t, NULL };
    const heed_awesome_desc desc = {
        .size = sizeof desc, .q = q.t, .o = o.t,
        .text = { .k = keys[0][0].t, .v = keys[0][1].t },
        .memory = { .k = keys[1][0].t, .v = keys[1][1].t, .len = count },
        .compressed = { .k = keys[2][0].t, .v = keys[2][1].t, .len = count },
        .memory_head = count, .compressed_head = count,
    };
    struct view slots[HEED_MECHANISM_SLOTS + 1] = { NO_VIEW };
    heed_mechanism mechanism = { .size = sizeof mechanism };

    slots[HEED_MECHANISM_LEN_2] = count_of(ARG_KEPT_LEN);
    slots[HEED_MECHANISM_LEN_3] = count_of(ARG_OLD_LEN);
    slots[HEED_MECHANISM_HEAD] = count_of(ARG_KEPT_HEAD);
    slots[HEED_MECHANISM_HEAD_2] = count_of(ARG_OLD_HEAD);
    maps(s, ARG_KEPT, m, T_KEPT_K, T_KEPT_V);
    maps(s, ARG_OLD, c, T_OLD_K, T_OLD_V);
    if (s->draft.status >= 0)
        s->draft.status = heed_awesome(&desc, &mechanism, s->draft.report);
    if (s->draft.status >= 0)
        layer_mechanism(s, &mechanism, q, o, keys, slots);
}

/* Section 3.2, key-value vectors: one softmax over the salient rows and the segment. */
static void see_salient(struct sketch *s, const struct past *past, int64_t n)
{
    const int64_t m = past->filled;
    const struct view q = heads_of(s, ARG_Q, n), o = heads_of(s, ARG_O, n);
    const struct view keys[2][2] = {
        { heads_of(s, ARG_K, n), heads_of(s, ARG_V, n) },
        { heads_of(s, T_KEPT_K, m), heads_of(s, T_KEPT_V, m) },
    };
    const heed_salient_desc desc = {
        .size = sizeof desc, .q = q.t, .o = o.t,
        .text = { .k = keys[0][0].t, .v = keys[0][1].t },
        .prefix = { .k = keys[1][0].t, .v = keys[1][1].t },
    };
    heed_mechanism mechanism = { .size = sizeof mechanism };

    maps(s, ARG_KEPT, m, T_KEPT_K, T_KEPT_V);
    if (s->draft.status >= 0)
        s->draft.status = heed_salient(&desc, &mechanism, s->draft.report);
    if (s->draft.status >= 0)
        layer_mechanism(s, &mechanism, q, o, keys, NULL);
}

/* Equations 2 to 5. The rows are those before the maps; steps that follow change them. */
static void keep_compressive(struct sketch *s, const struct past *past, struct view x)
{
    const int64_t n = x.t.shape[2], d = past->model, packs = (n + past->ratio - 1) / past->ratio;
    const struct view fallen = view_rows(T_FALLEN, 1, n, d);
    const struct view packed = view_rows(T_PACKED, 1, packs, d);
    const struct view fallen_len = count_of(T_FALLEN_LEN), packed_len = count_of(T_PACKED_LEN);

    push(s, view_rows(ARG_KEPT, 1, past->rows, d), ARG_KEPT_HEAD, ARG_KEPT_LEN, x, NO_VIEW, fallen,
         fallen_len);
    means(s, HEED_TAIL_END, past->ratio, fallen, fallen_len, packed, packed_len);
    push(s, view_rows(ARG_OLD, 1, past->old, d), ARG_OLD_HEAD, ARG_OLD_LEN, packed, packed_len,
         NO_VIEW, NO_VIEW);
}

/* ---- attentive ---- */

static void ask(struct sketch *s, struct view q, struct view keys, struct view o)
{
    const struct seeing seeing = { .q = q, .k = keys, .v = keys, .o = o, .table = NO_VIEW,
                                   .pages = NO_VIEW, .lengths = NO_VIEW };

    layer_attend(s, &seeing);
}

/* How many rows of the segment the first one's memory has one row for. */
static int64_t share(const struct past *past, int64_t n)
{
    return (n + past->rows - 1) / past->rows;
}

static int64_t rows_after(const struct past *past, int64_t n)
{
    return past->filled > 0 ? past->filled : (n + share(past, n) - 1) / share(past, n);
}

void past_read(struct sketch *s, const struct past *past, struct view rows)
{
    const int64_t n = rows.t.shape[2];
    const struct view answer = view_rows(T_ANSWER, 1, n, past->model);

    if (past->kind != PAST_ATTENTIVE || past->filled == 0)
        return;
    ask(s, view_heads(rows, s->stack->heads), heads_of(s, ARG_KEPT, past->filled),
        view_heads(answer, s->stack->heads));
    draft_act(&s->draft, HEED_ACT_NONE, rows, NO_VIEW, answer, rows);
}

static void gate(struct sketch *s, struct view memory, struct view sum)
{
    heed_gate_desc *desc = draft_memory(&s->draft, sizeof *desc);
    heed_gate_args *args = draft_memory(&s->draft, sizeof *args);

    if (!args)
        return;
    *desc = (heed_gate_desc){ .size = sizeof *desc, .memory = memory.t, .update = sum.t,
                              .gate = sum.t, .y = memory.t };
    *args = (heed_gate_args){ .size = sizeof *args, .memory = place(memory),
                              .update = place(sum), .gate = place(sum), .y = place(memory) };
    draft_step(&s->draft, "gate", desc, args);
}

/* Equations 9 to 12. The first segment is what the memory begins with. */
void past_keep(struct sketch *s, const struct past *past, int64_t n)
{
    const int64_t m = rows_after(past, n), d = past->model;
    const struct view memory = view_rows(ARG_KEPT, 1, m, d), sum = view_rows(T_ANSWER, 1, m, d);
    const struct view own = view_rows(T_SELF, 1, n, d);

    if (past->kind != PAST_ATTENTIVE)
        return;
    layer_map(s, ROLE_O, view_rows(ARG_O, 1, n, d), HEED_ACT_NONE, NO_VIEW, own);
    if (past->filled == 0)
        means(s, HEED_TAIL_CEIL, share(past, n), own, NO_VIEW, memory, NO_VIEW);
    ask(s, view_heads(memory, s->stack->heads), view_heads(own, s->stack->heads),
        view_heads(sum, s->stack->heads));
    draft_act(&s->draft, HEED_ACT_NONE, sum, NO_VIEW, memory, sum);
    gate(s, memory, sum);
}

void past_count(struct past *past, int64_t n)
{
    if (past->kind == PAST_ATTENTIVE)
        past->filled = rows_after(past, n);
}

/* ---- all ---- */

void past_see(struct sketch *s, const struct past *past, const struct attention *a, struct view x)
{
    if (past->kind == PAST_COMPRESSIVE) {
        see_compressive(s, past, x.t.shape[2]);
        keep_compressive(s, past, x);
    } else if (past->kind == PAST_SALIENT && past->filled > 0) {
        see_salient(s, past, x.t.shape[2]);
    } else {
        see(s, a, 0, x);
    }
}
