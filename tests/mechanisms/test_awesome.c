/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * AWESOME, compressive memory (Cao and Wang 2023, section 3.1, equations 1 to 8): segment after
 * segment reads both memories and is pushed to them. The oracle keeps all rows there ever were. A
 * stream of a million rows takes no memory.
 */
#include "chain.h"

WORLD_OPERATION(push)
WORLD_OPERATION(pool)

/* A row of a layer's input: q in channels 0.., k in D.., v all W of them. */
enum { B = 2, H = 2, D = 4, W = 10, L = 13, C_U = 8, C_C = 4, RATIO = 5, STEPS = 9 };

/* A ring as push has it. */
struct ring {
    heed_array rows, head, len;
};

struct stream {
    bool causal, in_order;              /* in_order: memories begin with their oldest row */
    struct ring memory, compressed;
    heed_array x[STEPS], x_len[STEPS], o[STEPS];
    heed_array fallen, fallen_len, packed, packed_len;
};

static struct ring ring_new(int64_t capacity, int64_t d)
{
    struct ring r = {
        .rows = world_array(HEED_F32, B, H, capacity, d, -1),
        .head = world_array(HEED_I64, B, -1, -1, -1, -1),
        .len = world_array(HEED_I64, B, -1, -1, -1, -1),
    };

    /* what no push has written is never read: NaN */
    memset(r.rows.buf.handle, 0xff, (size_t)world_count(&r.rows) * sizeof(float));
    return r;
}

static void ring_clear(const struct ring *r)
{
    memset(r->head.buf.handle, 0, (size_t)world_count(&r->head) * 8);
    memset(r->len.buf.handle, 0, (size_t)world_count(&r->len) * 8);
}

/* ---- the calls ---- */

static heed_keys keys_of(const heed_array *rows, const heed_array *len)
{
    return (heed_keys){
        .k = array_cut(rows, D, D).t, .v = rows->t, .len = { len->t, NULL }
    };
}

/* Equations 7 and 8: the memories are read before they are written. */
static void segment_attend(const struct stream *s, int t)
{
    const heed_array q = array_cut(&s->x[t], 0, D);
    heed_mechanism m = { .size = sizeof(m) };
    heed_awesome_desc desc = {
        .size = sizeof(desc),
        .flags = s->causal ? HEED_AWESOME_CAUSAL : 0,
        .q = q.t,
        .o = s->o[t].t,
        .text = keys_of(&s->x[t], &s->x_len[t]),
        .memory = keys_of(&s->memory.rows, &s->memory.len),
        .compressed = keys_of(&s->compressed.rows, &s->compressed.len),
        .memory_head = { s->memory.head.t, NULL },
        .compressed_head = { s->compressed.head.t, NULL },
    };
    const heed_kv_bufs pairs[3] = {
        { array_cut(&s->x[t], D, D).buf, s->x[t].buf },
        { array_cut(&s->memory.rows, D, D).buf, s->memory.rows.buf },
        { array_cut(&s->compressed.rows, D, D).buf, s->compressed.rows.buf },
    };
    heed_buf slots[HEED_MECHANISM_SLOTS] = { { 0 } };

    if (s->in_order)
        desc.memory_head = desc.compressed_head = (heed_slot){ .data = NULL };
    slots[HEED_MECHANISM_LEN - 1] = s->x_len[t].buf;
    slots[HEED_MECHANISM_LEN_2 - 1] = s->memory.len.buf;
    slots[HEED_MECHANISM_LEN_3 - 1] = s->compressed.len.buf;
    slots[HEED_MECHANISM_HEAD - 1] = s->memory.head.buf;
    slots[HEED_MECHANISM_HEAD_2 - 1] = s->compressed.head.buf;
    ck_assert_int_eq(heed_awesome(&desc, &m, &world.why), HEED_OK);
    chain_attend(&m, &q, &s->o[t], pairs, slots);
}

static struct push_call push_of(const struct ring *r, const heed_array *x, const heed_array *x_len)
{
    struct push_call call = push_call();

    GIVE(&call, rows, r->rows);
    GIVE(&call, head, r->head);
    GIVE(&call, len, r->len);
    GIVE(&call, x, *x);
    GIVE(&call, x_len, *x_len);
    return call;
}

/* Of the segment into one memory, of what falls out of it, every RATIO rows a mean, into the other:
 * equations 2 to 5. */
static struct push_call push_fresh(const struct stream *s, int t)
{
    struct push_call call = push_of(&s->memory, &s->x[t], &s->x_len[t]);

    GIVE(&call, out, s->fallen);
    GIVE(&call, out_len, s->fallen_len);
    return call;
}

static struct pool_call compress(const struct stream *s)
{
    struct pool_call call = pool_call();

    call.desc.kind = HEED_POOL_MEAN;
    call.desc.tail = HEED_TAIL_END;
    call.desc.kernel = call.desc.stride = RATIO;
    GIVE(&call, x, s->fallen);
    GIVE(&call, len, s->fallen_len);
    GIVE(&call, y, s->packed);
    GIVE(&call, y_len, s->packed_len);
    return call;
}

static void stream_run(struct stream *s)
{
    ring_clear(&s->memory);
    ring_clear(&s->compressed);
    for (int t = 0; t < STEPS; t++) {
        const struct push_call fresh = push_fresh(s, t);
        const struct pool_call pool = compress(s);
        const struct push_call packed = push_of(&s->compressed, &s->packed, &s->packed_len);

        segment_attend(s, t);
        push_run(&fresh);
        pool_run(&pool);
        push_run(&packed);
    }
}

static void stream_new(struct stream *s, int64_t l)
{
    for (int t = 0; t < STEPS; t++) {
        s->x[t] = world_floats(B, H, l, W);
        s->o[t] = world_array(HEED_F32, B, H, l, W, -1);
        s->x_len[t] = world_array(HEED_I64, B, -1, -1, -1, -1);
        for (int64_t i = 0; i < world_count(&s->x[t]); i++)
            world_f32(&s->x[t])[i] *= 0.25f;
        for (int64_t b = 0; b < B; b++)
            ((int64_t *)s->x_len[t].buf.handle)[b] = b == 0 ? l : world_range(0, l);
    }
    s->memory = ring_new(C_U, W);
    s->compressed = ring_new(C_C, W);
    s->fallen = world_array(HEED_F32, B, H, l, W, -1);
    s->fallen_len = world_array(HEED_I64, B, -1, -1, -1, -1);
    s->packed = world_array(HEED_F32, B, H, (l + RATIO - 1) / RATIO, W, -1);
    s->packed_len = world_array(HEED_I64, B, -1, -1, -1, -1);
}

/* ---- the paper ---- */

enum { EVER = STEPS * L };

/* Of one item: all rows that were ever read, the compressed rows that were ever made. */
struct history {
    int64_t n[B], fallen[B], n_c[B];
    struct approx rows, compressed;
};

/* Sets of keys: all rows that were ever compressed, all that were ever read, the segment. */
struct step {
    const struct stream *s;
    const struct history *h;
    int t;
};

static bool step_sees(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    const struct step *at = p;
    const struct history *past = at->h;

    (void)h;
    if (i >= ((int64_t *)at->s->x_len[at->t].buf.handle)[b])
        return false;
    if (set == 0)                       /* M_c: the last rows of all that were compressed */
        return j < past->n_c[b] && j >= past->n_c[b] - C_C;
    if (set == 1)                       /* M_u: the last rows of all */
        return j < past->n[b] && j >= past->n[b] - C_U;
    return j < ((int64_t *)at->s->x_len[at->t].buf.handle)[b] && (!at->s->causal || j <= i);
}

/* Row x of the history becomes that of `from`. */
static void row_take(struct approx *to, int64_t at, const struct approx *from, int64_t row)
{
    memcpy(to->x + at, from->x + row, (size_t)to->d * sizeof(double));
    memcpy(to->e + at, from->e + row, (size_t)to->d * sizeof(double));
}

/* The mean of rows first .. end - 1 of the history. */
static void mean_add(struct history *past, int64_t b, int64_t first, int64_t end)
{
    static struct seen_row row;

    for (int64_t h = 0; h < H; h++) {
        row.n = 0;
        for (int64_t i = first; i < end; i++)
            row.key[row.n++] = (struct seen_key){
                .wide = past->rows.x + approx_at(&past->rows, b, h, i),
                .slack = past->rows.e + approx_at(&past->rows, b, h, i),
            };
        approx_mix(&row, 0, &past->compressed, approx_at(&past->compressed, b, h, past->n_c[b]));
    }
    past->n_c[b]++;
}

/* Equations 2 to 5, for one item. */
static void history_grow(struct history *past, const struct approx *x, int64_t b, int64_t fresh)
{
    int64_t end;

    for (int64_t i = 0; i < fresh; i++, past->n[b]++)
        for (int64_t h = 0; h < H; h++)
            row_take(&past->rows, approx_at(&past->rows, b, h, past->n[b]), x,
                     approx_at(x, b, h, i));
    end = past->n[b] > C_U ? past->n[b] - C_U : 0;
    /* groups of RATIO that end with the newest: a first one may be shorter */
    if ((end - past->fallen[b]) % RATIO > 0) {
        const int64_t first = past->fallen[b] + (end - past->fallen[b]) % RATIO;

        mean_add(past, b, past->fallen[b], first);
        past->fallen[b] = first;
    }
    for (; past->fallen[b] < end; past->fallen[b] += RATIO)
        mean_add(past, b, past->fallen[b], past->fallen[b] + RATIO);
}

static void stream_judge(const struct stream *s)
{
    struct history past = { .rows = approx_new(B, H, EVER, W),
                            .compressed = approx_new(B, H, EVER, W) };

    for (int t = 0; t < STEPS; t++) {
        const struct approx x = approx_of(&s->x[t]), q = approx_cut(&x, 0, D);
        const struct approx_keys sets[3] = {
            { approx_cut(&past.compressed, D, D), past.compressed },
            { approx_cut(&past.rows, D, D), past.rows },
            { approx_cut(&x, D, D), x },
        };
        const struct step at = { s, &past, t };
        const struct approx o = approx_attend(&q, sets, 3, step_sees, &at);

        approx_judge(&s->o[t], &o, 1e-4, "segment");
        for (int64_t b = 0; b < B; b++)
            history_grow(&past, &x, b, ((int64_t *)s->x_len[t].buf.handle)[b]);
    }
    ck_assert_int_gt(past.n_c[0], C_C);
}

/* ---- the tests ---- */

static void stream_prove(bool causal, int64_t l)
{
    struct stream s = { .causal = causal };

    world_open();
    stream_new(&s, l);
    stream_run(&s);
    stream_judge(&s);
}

TEST(encoder)
{
    stream_prove(false, L);
}

TEST(decoder)
{
    stream_prove(true, L);
}

/* Segments that are shorter than the memory: what falls out is less than a group, often nothing. */
TEST(short_segments)
{
    stream_prove(true, 3);
}

/* The rows of a ring in the order of their age. */
static struct ring ring_turned(const struct ring *r, int64_t capacity)
{
    struct ring turned = ring_new(capacity, W);

    turned.len = r->len;
    for (int64_t x = 0; x < B * H * capacity; x++) {
        const int64_t b = x / capacity / H, h = x / capacity % H, g = x % capacity;
        const int64_t head = ((int64_t *)r->head.buf.handle)[b];

        memcpy(world_row(&turned.rows, b, h, g), world_row(&r->rows, b, h, (head + g) % capacity),
               W * sizeof(float));
    }
    return turned;
}

TEST(rings_are_rows_in_the_order_of_their_age)
{
    struct stream s = { .causal = true }, turned;

    world_open();
    stream_new(&s, L);
    stream_run(&s);
    turned = s;
    turned.in_order = true;
    turned.memory = ring_turned(&s.memory, C_U);
    turned.compressed = ring_turned(&s.compressed, C_C);
    ck_assert_int_ne(((int64_t *)s.memory.head.buf.handle)[0], 0);
    turned.o[0] = world_array(HEED_F32, B, H, L, W, -1);
    segment_attend(&s, 0);
    segment_attend(&turned, 0);
    world_same(&s.o[0], &turned.o[0], "the bits of rows in their order");
}

/* ---- a million rows ---- */

enum { LONG = 4000, MANY = 250, FEW = 16, BIG = 64 };

struct long_stream {
    struct ring memory, compressed;
    heed_array x, x_len, o, fallen, fallen_len, packed, packed_len;
    heed_mechanism m;
    heed_plan *attend, *fresh, *pool, *pack;
    struct push_call fresh_call, pack_call;
    struct pool_call pool_call;
};

static heed_array one(uint32_t dtype, int64_t n, int64_t d)
{
    return world_array(dtype, 1, 1, n, d, -1);
}

static struct ring big_ring(void)
{
    return (struct ring){ one(HEED_F32, BIG, 2), world_array(HEED_I64, 1, -1, -1, -1, -1),
                          world_array(HEED_I64, 1, -1, -1, -1, -1) };
}

/* Only the last rows of a segment ask: the memories are what is tested. */
static void long_attention(struct long_stream *s, heed_attn_args *args, heed_kv_bufs *kv,
                           heed_buf *slots)
{
    const heed_array q = one(HEED_F32, FEW, 2);
    const heed_kv_bufs pairs[3] = { { s->x.buf, s->x.buf },
                                    { s->memory.rows.buf, s->memory.rows.buf },
                                    { s->compressed.rows.buf, s->compressed.rows.buf } };
    const heed_awesome_desc desc = {
        .size = sizeof(desc), .flags = HEED_AWESOME_CAUSAL, .q = q.t, .o = s->o.t,
        .text = { .k = s->x.t, .v = s->x.t },
        .memory = { .k = s->memory.rows.t, .v = s->memory.rows.t,
                    .len = { s->memory.len.t, NULL } },
        .compressed = { .k = s->compressed.rows.t, .v = s->compressed.rows.t,
                        .len = { s->compressed.len.t, NULL } },
        .memory_head = { s->memory.head.t, NULL },
        .compressed_head = { s->compressed.head.t, NULL },
    };

    s->m.size = sizeof(s->m);
    ck_assert_int_eq(heed_awesome(&desc, &s->m, &world.why), HEED_OK);
    s->m.desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    heed_mechanism_kv(&s->m, pairs, kv);
    memset(q.buf.handle, 0, FEW * 2 * sizeof(float));
    slots[HEED_MECHANISM_LEN_2 - 1] = s->memory.len.buf;
    slots[HEED_MECHANISM_LEN_3 - 1] = s->compressed.len.buf;
    slots[HEED_MECHANISM_HEAD - 1] = s->memory.head.buf;
    slots[HEED_MECHANISM_HEAD_2 - 1] = s->compressed.head.buf;
    *args = (heed_attn_args){
        .size = sizeof(*args), .kv_size = sizeof(*kv), .q = q.buf, .o = s->o.buf, .kv = kv,
        .slots = slots, .n_slots = HEED_MECHANISM_SLOTS,
    };
    ck_assert_int_eq(heed_attn_plan(world.device, &s->m.desc, &s->attend, &world.why), HEED_OK);
}

static void long_updates(struct long_stream *s)
{
    s->fresh_call = push_of(&s->memory, &s->x, &s->x_len);
    GIVE(&s->fresh_call, out, s->fallen);
    GIVE(&s->fresh_call, out_len, s->fallen_len);
    s->fresh = push_plan(&s->fresh_call);
    s->pool_call = pool_call();
    s->pool_call.desc.kind = HEED_POOL_MEAN;
    s->pool_call.desc.tail = HEED_TAIL_END;
    s->pool_call.desc.kernel = s->pool_call.desc.stride = RATIO;
    GIVE(&s->pool_call, x, s->fallen);
    GIVE(&s->pool_call, len, s->fallen_len);
    GIVE(&s->pool_call, y, s->packed);
    GIVE(&s->pool_call, y_len, s->packed_len);
    s->pool = pool_plan(&s->pool_call);
    s->pack_call = push_of(&s->compressed, &s->packed, &s->packed_len);
    s->pack = push_plan(&s->pack_call);
}

/* Channel 0 holds a row's number in all the stream, exactly; channel 1 is 1. */
static void segment_number(const struct long_stream *s, int64_t first)
{
    for (int64_t i = 0; i < LONG; i++) {
        world_f32(&s->x)[2 * i] = (float)(first + i);
        world_f32(&s->x)[2 * i + 1] = 1;
    }
}

/* The newest row of a ring is `newest`, and each older one is `step` less. */
static void ring_judge(const struct ring *r, double newest, double step)
{
    const int64_t head = *(int64_t *)r->head.buf.handle, n = *(int64_t *)r->len.buf.handle;

    ck_assert_int_eq(n, BIG);
    for (int64_t g = 0; g < n; g++) {
        const double got = (double)world_f32(&r->rows)[(head + g) % BIG * 2],
                     want = newest - (double)(n - 1 - g) * step;

        ck_assert_msg(fabs(got - want) <= want * 0x1p-22, "row %d: %.9g, wanted %.9g", (int)g, got,
                      want);
    }
}

static long long held(void)
{
    return atomic_load(&world.ledger.bytes);
}

/* After the first step nothing is asked of the allocator, however long the stream is; the memories
 * hold what a stream of a million rows ends with. */
TEST(a_million_rows_take_no_memory)
{
    struct long_stream s = { .memory = { { { 0 }, { 0 } }, { { 0 }, { 0 } }, { { 0 }, { 0 } } } };
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
    heed_buf slots[HEED_MECHANISM_SLOTS] = { { 0 } };
    heed_attn_args args;
    long long bytes = 0, requests = 0;

    world_open();
    s.memory = big_ring();
    s.compressed = big_ring();
    ring_clear(&s.memory);
    ring_clear(&s.compressed);
    s.x = one(HEED_F32, LONG, 2);
    s.o = one(HEED_F32, FEW, 2);
    s.x_len = world_array(HEED_I64, 1, -1, -1, -1, -1);
    *(int64_t *)s.x_len.buf.handle = LONG;
    s.fallen = one(HEED_F32, LONG, 2);
    s.packed = one(HEED_F32, LONG / RATIO, 2);
    s.fallen_len = world_array(HEED_I64, 1, -1, -1, -1, -1);
    s.packed_len = world_array(HEED_I64, 1, -1, -1, -1, -1);
    long_attention(&s, &args, kv, slots);
    long_updates(&s);
    for (int64_t t = 0; t < MANY; t++) {
        segment_number(&s, t * LONG);
        ck_assert_int_eq(heed_attn_run(s.attend, world.queue, &args, NULL, &world.why), HEED_OK);
        push_again(s.fresh, &s.fresh_call);
        pool_again(s.pool, &s.pool_call);
        push_again(s.pack, &s.pack_call);
        if (t == 0) {
            bytes = held();
            requests = atomic_load(&world.ledger.requests);
        }
        ck_assert(held() == bytes && atomic_load(&world.ledger.requests) == requests);
    }
    /* the mean of RATIO numbers on end is their middle one */
    ring_judge(&s.memory, MANY * LONG - 1, 1);
    ring_judge(&s.compressed, MANY * LONG - 1 - BIG - RATIO / 2, RATIO);
    ck_assert(fabsf(world_f32(&s.o)[1] - 1) < 1e-6f);
    printf("# %d rows: %lld bytes held all the time\n", MANY * LONG, bytes);
    heed_plan_drop(s.attend);
    heed_plan_drop(s.fresh);
    heed_plan_drop(s.pool);
    heed_plan_drop(s.pack);
}

int main(void)
{
    return suite_run("awesome", 240, NULL, world_close);
}
