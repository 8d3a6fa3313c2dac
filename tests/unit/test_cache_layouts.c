/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sources of pages and rings: bit for bit what a DENSE source gives that holds the same keys in
 * their order, those of absent pages masked. What no table names holds NaN.
 */
#include "operation_world.h"

WORLD_OPERATION(attn)

enum { B = 3, H = 4, H_K = 2, D = 20, D_V = 32, KEYS = 330 };

/* A source with its memory, and the DENSE one with the same keys. */
struct cache {
    uint32_t dtype;
    int64_t n_k;
    heed_array k, v, where, length, mask;
    heed_array dense_k, dense_v;
    uint32_t layout;
};

static heed_array nan_rows(uint32_t dtype, int64_t a, int64_t n, int64_t d)
{
    heed_array out = world_array(dtype, a, H_K, n, d, -1);

    memset(out.buf.handle, 0xff, (size_t)world_count(&out) * world_size(dtype));
    return out;
}

static heed_array integers(const int64_t *values, int64_t n)
{
    heed_array out = world_array(HEED_I64, n, -1, 0, 0, 0);

    memcpy(out.buf.handle, values, (size_t)n * sizeof(*values));
    return out;
}

static void *row_of(const heed_array *a, int64_t item, int64_t head, int64_t row)
{
    const int64_t *shape = a->t.shape;
    const int64_t at = ((item * shape[1] + head) * shape[2] + row) * shape[3];

    return (char *)a->buf.handle + (size_t)at * world_size(a->t.dtype);
}

/* Fills row `row` of the cache's k and v if nobody has, and copies it to key `key` of item b. */
static void key_lay(struct cache *c, int64_t b, int64_t key, int64_t item, int64_t row)
{
    const heed_array *const from[] = { &c->k, &c->v }, *const to[] = { &c->dense_k, &c->dense_v };

    for (int i = 0; i < 2; i++) {
        for (int64_t h = 0; h < H_K; h++) {
            const size_t bytes = (size_t)from[i]->t.shape[3] * world_size(c->dtype);
            const heed_array fresh = world_floats(c->dtype, 1, 1, 1, from[i]->t.shape[3]);
            uint16_t *at = row_of(from[i], item, h, row);

            if (at[1] == 0xffff)
                memcpy(at, fresh.buf.handle, bytes);
            memcpy(row_of(to[i], b, h, key), at, bytes);
            free(world.blocks[--world.n_blocks]);
        }
    }
}

static void cache_start(struct cache *c, uint32_t dtype, int64_t items, int64_t rows, int64_t n_k)
{
    const int64_t lengths[B] = { n_k, n_k / 3, n_k - n_k / 5 };

    c->dtype = dtype;
    c->n_k = n_k;
    c->k = nan_rows(dtype, items, rows, D);
    c->v = nan_rows(dtype, items, rows, D_V);
    c->dense_k = nan_rows(dtype, B, n_k, D);
    c->dense_v = nan_rows(dtype, B, n_k, D_V);
    c->length = integers(lengths, B);
    c->mask = world_array(HEED_U8, B, 1, n_k, -1, 0);
    memset(c->mask.buf.handle, 1, (size_t)(B * n_k));
}

/* Fewer pages than the items name, so that they share some. Entries beyond the length are rubbish,
 * too. */
static void paged_make(struct cache *c, uint32_t dtype, int64_t page)
{
    const int64_t entries = KEYS / page + 1, pages = entries * B * 2 / 3 + 1;
    const int32_t none[] = { -1, INT32_MIN, (int32_t)pages, INT32_MAX };
    int32_t *table;

    cache_start(c, dtype, pages, page, entries * page);
    c->layout = HEED_LAYOUT_PAGED;
    c->where = world_array(HEED_I32, B, entries, -1, 0, 0);
    table = c->where.buf.handle;
    for (int64_t i = 0; i < B * entries; i++) {
        const int64_t b = i / entries, first = i % entries * page;
        const int64_t length = ((const int64_t *)c->length.buf.handle)[b];
        const bool there = first < length && world_range(0, 6) != 0;

        table[i] = there ? (int32_t)world_range(0, pages - 1) : none[world_range(0, 3)];
        if (!there)
            memset((char *)c->mask.buf.handle + b * c->n_k + first, 0, (size_t)page);
        for (int64_t t = 0; there && t < page && first + t < length; t++)
            key_lay(c, b, first + t, table[i], t);
    }
}

static void ring_make(struct cache *c, uint32_t dtype, const int64_t heads[B])
{
    cache_start(c, dtype, B, KEYS, KEYS);
    c->layout = HEED_LAYOUT_RING;
    c->where = integers(heads, B);
    for (int64_t b = 0; b < B; b++) {
        int64_t *length = (int64_t *)c->length.buf.handle + b;

        if (heads[b] < 0 || heads[b] >= KEYS)
            continue;           /* the ring is empty */
        for (int64_t key = 0; key < *length; key++)
            key_lay(c, b, key, b, (heads[b] + key) % KEYS);
    }
}

/* What a row sees. */
static const struct pattern {
    heed_term terms[3];
    uint32_t n, flags;
} patterns[] = {
    { { { 0 } }, 0, 0 },
    { { { .kind = HEED_TERM_WINDOW, .left = 100, .right = 0 } }, 1, HEED_SOURCE_CAUSAL },
    { { { .kind = HEED_TERM_WINDOW, .left = 30, .right = 30 },
        { .kind = HEED_TERM_GLOBAL, .block = 5 },
        { .kind = HEED_TERM_ALL, .step = 3, .phase = 1 } },
      3,
      HEED_SOURCE_END },
};
enum { PATTERNS = sizeof(patterns) / sizeof(*patterns) };

struct outcome {
    heed_array o, lse;
};

static struct outcome attend(const struct cache *c, const struct pattern *pattern,
                             const heed_array *q, bool dense)
{
    const int64_t n_q = q->t.shape[2];
    struct attn_call call = attn_call();
    struct outcome out = { world_array(HEED_F32, B, H, n_q, D_V, -1),
                           world_array(HEED_F32, B, H, n_q, -1, 0) };
    heed_source source = { .layout = dense ? HEED_LAYOUT_DENSE : c->layout,
                           .slot = dense ? 0 : 1,
                           .len_slot = 2,
                           .mask_slot = dense ? 3 : 0,
                           .flags = pattern->flags,
                           .terms = pattern->terms,
                           .n_terms = pattern->n,
                           .term_size = sizeof(heed_term) };
    heed_kv_bufs kv;
    heed_slot slots[3] = { { c->where.t, NULL }, { c->length.t, NULL }, { c->mask.t, NULL } };
    const heed_buf bufs[3] = { c->where.buf, c->length.buf, c->mask.buf };

    heed_array_split(dense ? &c->dense_k : &c->k, &source.k, &kv.k);
    heed_array_split(dense ? &c->dense_v : &c->v, &source.v, &kv.v);
    GIVE(&call, q, *q);
    GIVE(&call, o, out.o);
    GIVE(&call, lse, out.lse);
    call.desc.flags |= HEED_ATTN_ALIGN_END;
    call.desc.sources = &source;
    call.desc.n_sources = 1;
    call.desc.source_size = sizeof(source);
    call.desc.slots = slots;
    call.desc.n_slots = 3;
    call.desc.slot_size = sizeof(slots[0]);
    call.args.kv = &kv;
    call.args.kv_size = sizeof(kv);
    call.args.slots = bufs;
    call.args.n_slots = 3;
    attn_run(&call);
    return out;
}

/* One row, a few and many: other ways through the kernels. The reference has only one, and takes
 * longest. */
static void cache_compare(const struct cache *c, const char *what)
{
    const int64_t rows[] = { 1, 2, 7, strcmp(world_name(), "reference") == 0 ? 40 : 150 };

    for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
        const heed_array q = world_floats(HEED_F32, B, H, rows[r], D);

        for (int i = 0; i < PATTERNS; i++) {
            const struct outcome want = attend(c, &patterns[i], &q, true),
                                 got = attend(c, &patterns[i], &q, false);
            bool some = false;

            for (int64_t at = 0; at < world_count(&want.lse); at++) {
                some = some || world_f32(&want.lse)[at] > -INFINITY;
                ck_assert(!isnan(world_f32(&want.lse)[at]));
            }
            ck_assert(some);
            world_same(&got.o, &want.o, what);
            world_same(&got.lse, &want.lse, what);
        }
    }
}

/* K turned: the rows of a page side by side, channel after channel. */
static void cache_turn(struct cache *c)
{
    const heed_array from = c->k;
    const size_t size = world_size(c->dtype);
    const int64_t rows = from.t.shape[2];

    c->k = world_array(c->dtype, from.t.shape[0], H_K, D, rows, -1);
    for (int64_t i = 0; i < from.t.shape[0] * H_K; i++) {
        for (int64_t at = 0; at < rows * D; at++)
            memcpy((char *)c->k.buf.handle + (size_t)((i * D + at % D) * rows + at / D) * size,
                   (char *)from.buf.handle + (size_t)(i * rows * D + at) * size, size);
    }
    c->k.t.shape[2] = rows;
    c->k.t.shape[3] = D;
    c->k.t.stride[2] = 1;
    c->k.t.stride[3] = rows;
}

static const int64_t page_rows[] = { 1, 3, 16, 50, 64, 128, KEYS + 1 };
enum { PAGE_ROWS = sizeof(page_rows) / sizeof(*page_rows) };

LOOP_TEST(pages_are_as_their_gathered_copy, 2 * PAGE_ROWS * world_devices())
{
    const int device = _i / (2 * PAGE_ROWS), which = _i / 2 % PAGE_ROWS;
    struct cache c;
    char what[64];

    world_open(device);
    world.state = (uint64_t)_i + 1;
    paged_make(&c, _i % 2 ? HEED_BF16 : HEED_F32, page_rows[which]);
    snprintf(what, sizeof(what), "pages of %d rows, type %d", (int)page_rows[which], _i % 2);
    cache_compare(&c, what);
}

/* Panels of 16 keys are what caches made for other kernels have. */
LOOP_TEST(panels_are_as_their_gathered_copy, 2 * world_devices())
{
    static const int64_t panel_rows[] = { 16, 64, 40, 7 };

    world_open(_i / 2);
    for (size_t i = 0; i < sizeof(panel_rows) / sizeof(*panel_rows); i++) {
        struct cache c;

        paged_make(&c, _i % 2 ? HEED_BF16 : HEED_F32, panel_rows[i]);
        cache_turn(&c);
        cache_compare(&c, "panels");
    }
}

LOOP_TEST(rings_are_as_their_turned_copy, 2 * world_devices())
{
    static const int64_t heads[][B] = {
        { 0, 1, KEYS - 1 }, { 64, 200, 129 }, { KEYS / 2, 63, 300 },
    };

    world_open(_i / 2);
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        struct cache c;

        ring_make(&c, _i % 2 ? HEED_BF16 : HEED_F32, heads[i]);
        cache_compare(&c, "ring");
    }
}

/* As items of length 0: every row is empty, also where ALIGN_END counts the keys. */
LOOP_TEST(heads_outside_the_ring_empty_the_item, world_devices())
{
    static const int64_t outside[] = { -1, KEYS, INT64_MIN, INT64_MAX, INT64_C(1) << 32 };

    world_open(_i);
    for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
        const int64_t heads[B] = { 5, outside[i], 7 };
        struct cache c;

        ring_make(&c, HEED_F32, heads);
        memset((char *)c.mask.buf.handle + KEYS, 0, KEYS);
        for (int p = 0; p < 2; p++) {
            const heed_array q = world_floats(HEED_F32, B, H, 40, D);
            struct outcome got = attend(&c, &patterns[p], &q, false), want;
            int64_t *length = (int64_t *)c.length.buf.handle + 1;
            const int64_t kept = *length;

            *length = 0;
            want = attend(&c, &patterns[p], &q, true);
            *length = kept;
            world_same(&got.o, &want.o, "head outside the ring");
            world_same(&got.lse, &want.lse, "head outside the ring");
        }
    }
}

/* ---- what check, validate and visible say ---- */

static heed_status ask(const struct cache *c, const heed_source *source, bool constant)
{
    const heed_array q = world_array(HEED_F32, B, H, 4, D, -1);
    const heed_array o = world_array(HEED_F32, B, H, 4, D_V, -1);
    heed_slot slots[2] = { { c->where.t, constant ? c->where.buf.handle : NULL },
                           { c->length.t, NULL } };
    const heed_attn_desc desc = { .size = sizeof(desc),
                                  .q = q.t,
                                  .o = o.t,
                                  .sources = source,
                                  .n_sources = 1,
                                  .source_size = sizeof(*source),
                                  .slots = slots,
                                  .n_slots = 2,
                                  .slot_size = sizeof(slots[0]) };

    return heed_attn_check(world.device, &desc, &world.why);
}

#define FAILS(member, value, wanted, path)                                                         \
    do {                                                                                           \
        heed_source broken_ = right;                                                               \
                                                                                                   \
        broken_.member = (value);                                                                  \
        ck_assert_int_eq(ask(&c, &broken_, false), wanted);                                        \
        ck_assert_str_eq(world.why.field, path);                                                   \
    } while (0)

TEST(pages_are_checked)
{
    struct cache c;
    heed_source right;

    world_open(0);
    paged_make(&c, HEED_F32, 16);
    right = (heed_source){ .k = c.k.t, .v = c.v.t, .layout = HEED_LAYOUT_PAGED, .slot = 1,
                           .len_slot = 2 };
    ck_assert_int_eq(ask(&c, &right, false), HEED_OK);
    right.run = 16;
    ck_assert_int_eq(ask(&c, &right, false), HEED_OK);
    FAILS(run, 15, HEED_E_VALUE, "sources[0].run");
    FAILS(rows, 1, HEED_E_VALUE, "sources[0].rows");
    FAILS(slot, 0, HEED_E_VALUE, "sources[0].slot");
    FAILS(len_slot, 0, HEED_E_VALUE, "sources[0].len_slot");
    FAILS(k.ndim, 3, HEED_E_VALUE, "sources[0].k.ndim");
    FAILS(v.ndim, 5, HEED_E_VALUE, "sources[0].v.ndim");
    FAILS(v.shape[0], c.v.t.shape[0] - 1, HEED_E_SHAPE, "sources[0].v.shape[0]");
    FAILS(v.shape[2], 15, HEED_E_SHAPE, "sources[0].v.shape[2]");
    FAILS(k.shape[1], 3, HEED_E_SHAPE, "sources[0].k.shape[1]");
    /* constant: rubbish is refused, but for -1 */
    ck_assert_int_eq(ask(&c, &right, true), HEED_E_INDEX);
    for (int64_t i = 0; i < world_count(&c.where); i++)
        ((int32_t *)c.where.buf.handle)[i] = i % 3 == 0 ? -1 : (int32_t)i % 7;
    ck_assert_int_eq(ask(&c, &right, true), HEED_OK);
    /* more keys than can be counted */
    right.run = 0;
    right.k.shape[2] = right.v.shape[2] = INT64_C(1) << 60;
    for (int i = 0; i < 4; i++)
        right.k.stride[i] = right.v.stride[i] = 0;
    ck_assert_int_eq(ask(&c, &right, false), HEED_E_OVERFLOW);
}

TEST(rings_are_checked)
{
    const int64_t heads[B] = { 0, 1, KEYS - 1 };
    struct cache c;
    heed_source right;

    world_open(0);
    ring_make(&c, HEED_F32, heads);
    right = (heed_source){ .k = c.k.t, .v = c.v.t, .layout = HEED_LAYOUT_RING, .slot = 1,
                           .len_slot = 2 };
    ck_assert_int_eq(ask(&c, &right, true), HEED_OK);
    FAILS(run, KEYS, HEED_E_VALUE, "sources[0].run");
    FAILS(rows, 1, HEED_E_VALUE, "sources[0].rows");
    FAILS(slot, 0, HEED_E_VALUE, "sources[0].slot");
    FAILS(len_slot, 0, HEED_E_VALUE, "sources[0].len_slot");
    FAILS(k.shape[0], 2, HEED_E_SHAPE, "sources[0].k.shape[0]");
    ((int64_t *)c.where.buf.handle)[2] = KEYS;
    ck_assert_int_eq(ask(&c, &right, true), HEED_E_INDEX);
    ck_assert_int_eq(world.why.wanted, KEYS - 1);
    ck_assert_int_eq(ask(&c, &right, false), HEED_OK);
    ((int64_t *)c.where.buf.handle)[2] = -1;
    ck_assert_int_eq(ask(&c, &right, true), HEED_E_INDEX);
}

int main(void)
{
    return suite_run("cache_layouts", 240, NULL, world_close);
}
