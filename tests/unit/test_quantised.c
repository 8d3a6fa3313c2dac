/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys and values of i8: bit for bit what f32 rows give that the test has multiplied out itself, in
 * every layout.
 */
#include "operation_world.h"

WORLD_OPERATION(attn)

enum { B = 3, H = 4, H_K = 2, D = 19, D_V = 33, KEYS = 230, PAGE = 24 };

/* Rows of bytes, their scales, and the products. */
struct rows {
    heed_array bytes, scale, wide;
};

struct cache {
    uint32_t layout;
    heed_array where, length;
    struct rows k, v;
    bool constant;              /* the scales are the plan's */
    int64_t n_k;
};

static float half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 0    ? ldexpf((float)fraction, -24)
                       : exponent == 31 ? (fraction ? NAN : INFINITY)
                                        : ldexpf((float)(1024 + fraction), exponent - 25);

    return bits >> 15 ? -size : size;
}

/* The scale of a row; odd: 0, beyond all others, NaN or infinite. */
static void scale_draw(heed_array *scale, int64_t at, bool odd)
{
    static const uint32_t singles[] = { 0, 0x80000000, 0x00000003, 0x7f7fffff, 0xff800000,
                                        0x7fc00000 };
    static const uint16_t halves[] = { 0, 0x8000, 0x8003, 0x7bff, 0x7c00, 0x7e01 };
    const uint16_t half = (uint16_t)(0x1c00 + world_range(0, 0x7ff));
    const uint64_t sign = world_next() >> 63;

    if (scale->t.dtype == HEED_F32)
        world_f32(scale)[at] = odd ? float_of(singles[world_range(0, 5)])
                                   : world_float() * 0x1p-9f;
    else
        ((uint16_t *)scale->buf.handle)[at] =
            odd ? halves[world_range(0, 5)] : (uint16_t)(half | sign << 15);
}

static float scale_value(const heed_array *scale, int64_t at)
{
    return scale->t.dtype == HEED_F32 ? world_f32(scale)[at]
                                      : half_value(((const uint16_t *)scale->buf.handle)[at]);
}

/* [items][H_K][n][d], with a scale for each row, or one for the rows of all heads. */
static struct rows rows_make(uint32_t type, int64_t items, int64_t n, int64_t d, int64_t heads,
                             bool odd)
{
    struct rows out = { world_array(HEED_U8, items, H_K, n, d, -1),
                        world_array(type, items, heads, n, -1, 0),
                        world_array(HEED_F32, items, H_K, n, d, -1) };
    int8_t *bytes = out.bytes.buf.handle;

    out.bytes.t.dtype = HEED_I8;
    for (int64_t i = 0; i < items * heads * n; i++)
        scale_draw(&out.scale, i, odd && world_range(0, 80) == 0);
    for (int64_t i = 0; i < items * H_K * n * d; i++) {
        const int64_t row = i / d % n, head = i / d / n % H_K, item = i / d / n / H_K;
        const float scale =
            scale_value(&out.scale, (item * heads + (heads == 1 ? 0 : head)) * n + row);
        volatile float product;

        bytes[i] = (int8_t)world_range(-128, 127);
        product = (float)bytes[i] * scale;
        world_f32(&out.wide)[i] = product;
    }
    return out;
}

static heed_array integers(uint32_t dtype, int64_t n, int64_t low, int64_t high)
{
    heed_array out = world_array(dtype, B, n, -1, 0, 0);

    for (int64_t i = 0; i < B * n; i++) {
        const int64_t x = world_range(low, high);

        if (dtype == HEED_I64)
            ((int64_t *)out.buf.handle)[i] = x;
        else
            ((int32_t *)out.buf.handle)[i] = (int32_t)x;
    }
    if (n == 1)
        out.t.ndim = 1;
    return out;
}

/* The axis of items, of which there is one: packed rows have none. */
static void item_drop(heed_tensor *t)
{
    t->ndim--;
    memmove(t->shape, t->shape + 1, t->ndim * sizeof(*t->shape));
    memmove(t->stride, t->stride + 1, t->ndim * sizeof(*t->stride));
}

/* how: bits choose the scales' types, whether heads share them, and whether they are constant. */
static struct cache cache_make(uint32_t layout, int how, int64_t n_q)
{
    const int64_t pages = (KEYS + PAGE - 1) / PAGE, heads = how & 2 ? 1 : H_K;
    const int64_t items = layout == HEED_LAYOUT_RAGGED ? 1
                          : layout == HEED_LAYOUT_PAGED ? B * pages - 4
                                                        : B;
    const int64_t n = layout == HEED_LAYOUT_PAGED ? PAGE : KEYS;
    struct cache c = { .layout = layout, .constant = how & 4, .n_k = KEYS };

    c.k = rows_make(how & 1 ? HEED_F16 : HEED_F32, items, n, D, heads, how & 8);
    c.v = rows_make(how & 1 ? HEED_F32 : HEED_F16, items, n, D_V, heads, how & 8);
    c.length = integers(HEED_I64, 1, KEYS / 2, KEYS);
    if (layout == HEED_LAYOUT_RAGGED) {
        c.where = integers(HEED_I64, 1, 0, KEYS / 2);
        item_drop(&c.k.scale.t);
        item_drop(&c.v.scale.t);
    } else if (layout == HEED_LAYOUT_PAGED) {
        c.where = integers(HEED_I32, pages, -1, items);
        c.n_k = pages * PAGE;
    } else if (layout == HEED_LAYOUT_RING) {
        c.where = integers(HEED_I64, 1, 1, KEYS - 1);
    } else if (layout == HEED_LAYOUT_LISTED) {
        c.where = integers(HEED_I32, (n_q + 63) / 64 * 50, 0, KEYS / 4);
        c.where.t = heed_array4(HEED_I32, NULL, B, 1, (n_q + 63) / 64, 50).t;
    } else {
        c.where = integers(HEED_I64, 1, 0, 0);
    }
    return c;
}

/* With its slots: where, lengths, scales. */
static heed_source source_of(const struct cache *c, bool wide, const heed_term *window)
{
    const bool listed = c->layout == HEED_LAYOUT_LISTED;

    return (heed_source){ .k = wide ? c->k.wide.t : c->k.bytes.t,
                          .v = wide ? c->v.wide.t : c->v.bytes.t,
                          .layout = c->layout,
                          .slot = c->layout != HEED_LAYOUT_DENSE,
                          .len_slot = 2,
                          .run = listed ? 4 : 0,
                          .rows = listed ? 64 : 0,
                          .terms = window,
                          .n_terms = window && !listed ? 1 : 0,
                          .term_size = sizeof(heed_term),
                          .flags = listed ? 0 : HEED_SOURCE_CAUSAL,
                          .k_scale_slot = wide ? 0 : 3,
                          .v_scale_slot = wide ? 0 : 4 };
}

static heed_array attend(const struct cache *c, const heed_array *q, bool wide,
                         const heed_term *window)
{
    struct attn_call call = attn_call();
    const heed_array o = world_array(HEED_F32, B, H, q->t.shape[2], D_V, -1);
    const heed_source source = source_of(c, wide, window);
    const heed_slot slots[4] = {
        { c->where.t, NULL },
        { c->length.t, NULL },
        { c->k.scale.t, c->constant ? c->k.scale.buf.handle : NULL },
        { c->v.scale.t, c->constant ? c->v.scale.buf.handle : NULL },
    };
    const heed_buf bufs[4] = { c->where.buf, c->length.buf, c->k.scale.buf, c->v.scale.buf };
    const heed_kv_bufs kv = { wide ? c->k.wide.buf : c->k.bytes.buf,
                              wide ? c->v.wide.buf : c->v.bytes.buf };

    GIVE(&call, q, *q);
    GIVE(&call, o, o);
    call.desc.flags |= HEED_ATTN_ALIGN_END;
    call.desc.sources = &source;
    call.desc.n_sources = 1;
    call.desc.source_size = sizeof(source);
    call.desc.slots = slots;
    call.desc.n_slots = 4;
    call.desc.slot_size = sizeof(slots[0]);
    call.args.kv = &kv;
    call.args.kv_size = sizeof(kv);
    call.args.slots = bufs;
    call.args.n_slots = 4;
    attn_run(&call);
    return o;
}

/* One row, a few and many: other ways through the kernels. */
LOOP_TEST(bytes_are_as_their_products, 16 * 5 * world_devices())
{
    static const int64_t rows[] = { 1, 9, 150 };
    static const heed_term window = { .kind = HEED_TERM_WINDOW, .left = 6, .right = 0 };
    const int how = _i % 16, layout = _i / 16 % 5;
    char what[64];

    world_open(_i / 80);
    world.state = (uint64_t)_i + 1;
    snprintf(what, sizeof(what), "layout %d, way %d", layout, how);
    for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
        const struct cache c = cache_make((uint32_t)layout, how, rows[r]);
        const heed_array q = world_floats(HEED_F32, B, H, rows[r], D);
        const heed_array want = attend(&c, &q, true, how & 8 ? &window : NULL),
                         got = attend(&c, &q, false, how & 8 ? &window : NULL);
        int64_t numbers = 0;

        for (int64_t i = 0; i < world_count(&want); i++)
            numbers += isfinite(world_f32(&want)[i]) && world_f32(&want)[i] != 0;
        ck_assert(numbers > 0 || (how & 8));
        world_same(&got, &want, what);
    }
}

/* ---- what check and visible say ---- */

static heed_status ask(const struct cache *c, const heed_source *source, uint32_t source_size,
                       const heed_tensor *k_scale)
{
    const heed_array q = world_array(HEED_F32, B, H, 4, D, -1);
    const heed_array o = world_array(HEED_F32, B, H, 4, D_V, -1);
    const heed_slot slots[4] = {
        { c->where.t, NULL }, { c->length.t, NULL }, { *k_scale, NULL }, { c->v.scale.t, NULL }
    };
    const heed_attn_desc desc = { .size = sizeof(desc),
                                  .flags = HEED_ATTN_ALIGN_END,
                                  .q = q.t,
                                  .o = o.t,
                                  .sources = source,
                                  .n_sources = 1,
                                  .source_size = source_size,
                                  .slots = slots,
                                  .n_slots = 4,
                                  .slot_size = sizeof(slots[0]) };

    return heed_attn_check(world.device, &desc, &world.why);
}

#define FAILS(wanted, path, call)                                                                  \
    do {                                                                                           \
        ck_assert_int_eq(call, wanted);                                                            \
        ck_assert_str_eq(world.why.field, path);                                                   \
    } while (0)

LOOP_TEST(scales_are_checked, 5)
{
    enum { OLD = offsetof(heed_source, k_scale_slot) };
    struct cache c;
    heed_source right, wrong;
    heed_tensor scale;

    world_open(0);
    c = cache_make((uint32_t)_i, 0, 4);
    right = wrong = source_of(&c, false, NULL);
    scale = c.k.scale.t;
    ck_assert_int_eq(ask(&c, &right, sizeof(right), &scale), HEED_OK);
    wrong.k_scale_slot = 0;
    FAILS(HEED_E_VALUE, "sources[0].k_scale_slot", ask(&c, &wrong, sizeof(wrong), &scale));
    wrong = right;
    wrong.v_scale_slot = 5;
    FAILS(HEED_E_VALUE, "sources[0].v_scale_slot", ask(&c, &wrong, sizeof(wrong), &scale));
    wrong = source_of(&c, true, NULL);
    wrong.v_scale_slot = 4;
    FAILS(HEED_E_VALUE, "sources[0].v_scale_slot", ask(&c, &wrong, sizeof(wrong), &scale));
    /* a caller of before there were scales */
    wrong.v_scale_slot = 0;
    ck_assert_int_eq(ask(&c, &wrong, OLD, &scale), HEED_OK);
    FAILS(HEED_E_VALUE, "sources[0].k_scale_slot", ask(&c, &right, OLD, &scale));
    scale.dtype = HEED_BF16;
    FAILS(HEED_E_DTYPE, "slots[2].t.dtype", ask(&c, &right, sizeof(right), &scale));
    for (uint32_t axis = 0; axis < c.k.scale.t.ndim; axis++) {
        char path[32];

        snprintf(path, sizeof(path), "slots[2].t.shape[%u]", (unsigned)axis);
        scale = c.k.scale.t;
        scale.shape[axis]++;
        FAILS(HEED_E_SHAPE, path, ask(&c, &right, sizeof(right), &scale));
    }
    scale = c.k.scale.t;
    scale.shape[scale.ndim - 2] = 1;        /* one for all heads */
    ck_assert_int_eq(ask(&c, &right, sizeof(right), &scale), HEED_OK);
}

/* A byte an element, and what scales take. */
TEST(bytes_are_counted)
{
    struct attn_call call = attn_call();
    heed_plan_props wide = { .size = sizeof(wide) }, bytes = wide;

    world_open(0);
    for (int i = 0; i < 2; i++) {
        struct cache c = cache_make(HEED_LAYOUT_DENSE, 0, 4);
        const uint64_t k = B * H_K * KEYS * D;
        const heed_source source = source_of(&c, i == 0, NULL);
        const heed_slot slots[4] = {
            { c.where.t, NULL }, { c.length.t, NULL }, { c.k.scale.t, NULL }, { c.v.scale.t, NULL }
        };
        heed_plan *plan;

        GIVE(&call, q, world_array(HEED_F32, B, H, 4, D, -1));
        GIVE(&call, o, world_array(HEED_F32, B, H, 4, D_V, -1));
        call.desc.flags |= HEED_ATTN_ALIGN_END;
        call.desc.sources = &source;
        call.desc.n_sources = 1;
        call.desc.source_size = sizeof(source);
        call.desc.slots = slots;
        call.desc.n_slots = 4;
        call.desc.slot_size = sizeof(slots[0]);
        plan = attn_plan(&call);
        ck_assert_int_eq(heed_plan_info(plan, i ? &bytes : &wide), HEED_OK);
        ck_assert_int_eq(heed_plan_fits(plan, "kv[0].k", 0, i ? k : 4 * k, NULL), HEED_OK);
        ck_assert_int_eq(heed_plan_fits(plan, "kv[0].k", 0, (i ? k : 4 * k) - 1, NULL),
                         HEED_E_VALUE);
        heed_plan_drop(plan);
    }
    ck_assert_uint_eq(wide.flops, bytes.flops);
    ck_assert_uint_eq(wide.bytes - bytes.bytes,
                      (uint64_t)B * H_K * KEYS * (3 * (D + D_V) - 4 - 2));
}

int main(void)
{
    return suite_run("quantised", 240, NULL, world_close);
}
