/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows that copy and push quantise: the error that heed/memory.h promises, in double; what is said
 * of rows that are not ordinary; and attention over a cache that was quantised against one that was
 * not.
 */
#include "operation_world.h"

WORLD_OPERATION(copy)
WORLD_OPERATION(push)
WORLD_OPERATION(attn)

static float half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 0    ? ldexpf((float)fraction, -24)
                       : exponent == 31 ? (fraction ? NAN : INFINITY)
                                        : ldexpf((float)(1024 + fraction), exponent - 25);

    return bits >> 15 ? -size : size;
}

static double element(const heed_array *a, int64_t at)
{
    const uint16_t *halves = a->buf.handle;

    if (a->t.dtype == HEED_F32)
        return world_f32(a)[at];
    return a->t.dtype == HEED_F16 ? half_value(halves[at])
                                  : float_of((uint32_t)halves[at] << 16);
}

struct bytes {
    heed_array rows, scale;
};

static struct bytes bytes_make(uint32_t scale, int64_t b, int64_t h, int64_t n, int64_t d)
{
    struct bytes out = { world_array(HEED_U8, b, h, n, d, -1), world_array(scale, b, h, n, -1, 0) };

    out.rows.t.dtype = HEED_I8;
    return out;
}

static struct bytes quantised(const heed_array *x, uint32_t scale)
{
    const int64_t *s = x->t.shape;
    const struct bytes out = bytes_make(scale, s[0], s[1], s[2], s[3]);
    struct copy_call call = copy_call();

    GIVE(&call, x, *x);
    GIVE(&call, y, out.rows);
    GIVE(&call, y_scale, out.scale);
    copy_run(&call);
    return out;
}

/* ---- the bound ---- */

enum { ROWS = 700, D = 37 };

/* Rows whose largest magnitude is anything from 2^-149 to 2^127, or of the halves' range; some have
 * numbers near the middle between two bytes. */
static heed_array rows_draw(uint32_t dtype)
{
    static const int low[] = { -149, -26, -133 }, high[] = { 127, 15, 127 };
    const int type = (int)dtype - 1;
    heed_array x = world_array(dtype, 1, 1, ROWS, D, -1);

    for (int64_t i = 0; i < ROWS * D; i++) {
        const int exponent = low[type] + (int)(i / D) % (high[type] - low[type] + 1);
        const double size = i / D % 3 ? (double)world_float() / 8
                                      : ((double)world_range(-127, 126) + 0.5) / 127;
        const double wanted = ldexp(size, exponent);

        if (dtype == HEED_F32)
            world_f32(&x)[i] = (float)wanted;
        else if (dtype == HEED_BF16)
            ((uint16_t *)x.buf.handle)[i] = (uint16_t)(bits_of((float)wanted) >> 16);
        else
            ((uint16_t *)x.buf.handle)[i] =
                (uint16_t)((world_next() & 0x83ff) | (uint64_t)(i / D % 31) << 10);
    }
    return x;
}

/* The scale's rounding goes astray by more than a part where it is subnormal. */
static double bound_of(double scale, uint32_t dtype)
{
    const bool small = scale < (dtype == HEED_F32 ? 0x1p-126 : 0x1p-14);

    return scale * (0.5 + 0x1p-15) + (small ? dtype == HEED_F32 ? 0x1p-143 : 0x1p-18 : 0);
}

LOOP_TEST(bytes_are_within_the_bound, 6 * world_devices())
{
    const uint32_t dtype = (uint32_t)(_i % 3) + HEED_F32, type = _i / 3 % 2 ? HEED_F16 : HEED_F32;
    heed_array x;
    struct bytes got;
    int64_t rows = 0;
    double worst = 0;

    world_open(_i / 6);
    world.state = (uint64_t)_i + 1;
    x = rows_draw(dtype);
    got = quantised(&x, type);
    for (int64_t row = 0; row < ROWS; row++) {
        const double scale = element(&got.scale, row), bound = bound_of(scale, type);
        int largest = 0;

        if (isnan(scale)) { /* beyond f16 */
            ck_assert(type == HEED_F16 && dtype != HEED_F16);
            continue;
        }
        for (int64_t i = row * D; i < row * D + D; i++) {
            const int byte = ((const int8_t *)got.rows.buf.handle)[i];
            const double error = fabs(element(&x, i) - byte * scale);

            ck_assert_msg(error <= bound, "%s: row %lld, scale %a: %a becomes %d, error/bound %g",
                          world_name(), (long long)row, scale, element(&x, i), byte,
                          error / bound);
            worst = error / bound > worst && bound > 0 ? error / bound : worst;
            largest = abs(byte) > largest ? abs(byte) : largest;
        }
        ck_assert_int_le(largest, 127);
        if (scale >= (type == HEED_F32 ? 0x1p-126 : 0x1p-14))
            ck_assert_int_eq(largest, 127); /* nothing of the range is given away */
        rows++;
    }
    ck_assert_int_gt(rows, ROWS / 16);
    ck_assert(worst > 0.9); /* and the bound is tight */
}

/* ---- rows that are not ordinary ---- */

LOOP_TEST(odd_rows_are_as_said, 2 * world_devices())
{
    enum { N = 10, WIDE = 70 };
    static const struct {
        float odd, rest;
        uint32_t scale, half; /* bits */
        int byte;
    } rows[N] = {
        { 0, -0.0f, 0, 0, 0 },
        { NAN, 1, 0x7fc00000, 0x7e00, 0 },
        { -INFINITY, 1, 0x7fc00000, 0x7e00, 0 },
        { 0x1p-149f, 0, 0, 0, 0 },                      /* a scale of 0 */
        { -127 * 0x1p-20f, 0x1p-20f, 0x35800000, 0x0010, -127 },
        { 0x1.fffffep+127f, 1, 0x7c010203, 0x7e00, 127 }, /* beyond f16 */
        { 127 * 65504.0f, 65504, 0x477fe000, 0x7bff, 127 },
        { 0x1p-143f, 0, 0x00000001, 0, 64 },
        { 127, 0.5f, 0x3f800000, 0x3c00, 127 },
        { 127, 1.5f, 0x3f800000, 0x3c00, 127 },
    };
    const uint32_t type = _i % 2 ? HEED_F16 : HEED_F32;
    heed_array x;
    struct bytes got;

    world_open(_i / 2);
    x = world_array(HEED_F32, 1, 1, N, WIDE, -1);
    for (int i = 0; i < N * WIDE; i++)
        world_f32(&x)[i] = i % WIDE == WIDE - 3 ? rows[i / WIDE].odd : rows[i / WIDE].rest;
    got = quantised(&x, type);
    for (int row = 0; row < N; row++) {
        const uint32_t want = type == HEED_F32 ? rows[row].scale : rows[row].half;
        const uint32_t bits = type == HEED_F32 ? ((uint32_t *)got.scale.buf.handle)[row]
                                               : ((uint16_t *)got.scale.buf.handle)[row];
        const int8_t *bytes = (const int8_t *)got.rows.buf.handle + row * WIDE;
        const bool none = bits == 0 || bits >= (type == HEED_F32 ? 0x7f800000u : 0x7c00u);

        ck_assert_msg(bits == want, "%s: row %d: scale 0x%x, wanted 0x%x", world_name(), row, bits,
                      want);
        ck_assert_int_eq(bytes[WIDE - 3], none ? 0 : rows[row].byte);
        for (int c = 0; none && c < WIDE; c++)
            ck_assert_int_eq(bytes[c], 0);
        if (row >= 8) /* ties go to even */
            ck_assert_int_eq(bytes[0], row == 8 ? 0 : 2);
    }
}

/* Not written, zeroed, and callers of before there were scales. */
LOOP_TEST(scales_follow_their_rows, world_devices())
{
    enum { N = 9 };
    struct copy_call call = copy_call();
    struct bytes got;
    heed_array from;
    const uint32_t *scale;

    world_open(_i);
    got = bytes_make(HEED_F32, 1, 1, N, 5);
    from = world_array(HEED_I32, 1, 1, 4, -1, -1);
    memcpy(from.buf.handle, (int32_t[]){ 2, -1, 7, 1 }, 16);
    GIVE(&call, x, world_floats(HEED_F32, 1, 1, 3, 5));
    GIVE(&call, y, got.rows);
    GIVE(&call, y_scale, got.scale);
    GIVE(&call, from, from);
    copy_run(&call);
    scale = got.scale.buf.handle;
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(scale[i] == 0x5a5a5a5au, i != 0 && i != 3);
    call.desc.flags |= HEED_COPY_ZERO;
    copy_run(&call);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(scale[i] == 0, i == 1 || i == 2);
}

#define FAILS(wanted, path, op)                                                                    \
    do {                                                                                           \
        ck_assert_int_eq(heed_##op##_check(world.device, &call.desc, &world.why), wanted);         \
        ck_assert_str_eq(world.why.field, path);                                                   \
    } while (0)

TEST(scales_are_wanted_beside_bytes_alone)
{
    struct copy_call call = copy_call(), old;
    struct bytes got;

    world_open(0);
    got = bytes_make(HEED_F32, 2, 3, 4, 5);
    GIVE(&call, x, world_floats(HEED_F32, 2, 3, 4, 5));
    GIVE(&call, y, got.rows);
    old = call;
    FAILS(HEED_E_NULL, "y_scale.ndim", copy);
    GIVE(&call, y_scale, got.scale);
    ck_assert_int_eq(heed_copy_check(world.device, &call.desc, &world.why), HEED_OK);
    call.desc.size = offsetof(heed_copy_desc, y_scale); /* then it is not read */
    FAILS(HEED_E_NULL, "y_scale.ndim", copy);
    call.desc.size = sizeof(call.desc);
    call.desc.y.dtype = HEED_F16;
    FAILS(HEED_E_VALUE, "y_scale.ndim", copy);
    call.desc.y.dtype = HEED_I8;
    call.desc.x.dtype = HEED_I8;
    FAILS(HEED_E_DTYPE, "x.dtype", copy);
    old.desc.y.dtype = HEED_F16;
    old.desc.size = offsetof(heed_copy_desc, y_scale);
    ck_assert_int_eq(heed_copy_check(world.device, &old.desc, &world.why), HEED_OK);
}

/* A memory that has gone round holds what copy makes of the rows that stayed. */
LOOP_TEST(a_memory_holds_the_rows_of_copy, 2 * world_devices())
{
    enum { CAPACITY = 7, ALL = 23, STEP = 3, WIDE = 40 };
    const uint32_t type = _i % 2 ? HEED_F16 : HEED_F32;
    const size_t size = world_size(type);
    struct push_call call = push_call();
    struct bytes memory, want;
    heed_array x, head, len;

    world_open(_i / 2);
    x = world_floats(HEED_BF16, 1, 1, ALL, WIDE);
    want = quantised(&x, type);
    memory = bytes_make(type, 1, 1, CAPACITY, WIDE);
    head = world_array(HEED_I64, 1, -1, -1, -1, -1);
    len = world_array(HEED_I64, 1, -1, -1, -1, -1);
    *(int64_t *)head.buf.handle = *(int64_t *)len.buf.handle = 0;
    GIVE(&call, rows, memory.rows);
    GIVE(&call, rows_scale, memory.scale);
    GIVE(&call, head, head);
    GIVE(&call, len, len);
    for (int at = 0; at < ALL; at += STEP) {
        heed_array piece = x;

        piece.t.shape[2] = at + STEP < ALL ? STEP : ALL - at;
        piece.buf.offset += (uint64_t)at * WIDE * 2;
        GIVE(&call, x, piece);
        push_run(&call);
    }
    for (int i = 0; i < CAPACITY; i++) {
        const size_t at = (size_t)((*(int64_t *)head.buf.handle + i) % CAPACITY);
        const size_t from = (size_t)(ALL - CAPACITY + i);

        ck_assert_mem_eq((char *)memory.rows.buf.handle + at * WIDE,
                         (char *)want.rows.buf.handle + from * WIDE, WIDE);
        ck_assert_mem_eq((char *)memory.scale.buf.handle + at * size,
                         (char *)want.scale.buf.handle + from * size, size);
    }
}

TEST(memories_of_bytes_have_scales)
{
    struct push_call call = push_call(), old;
    struct bytes memory;

    world_open(0);
    memory = bytes_make(HEED_F32, 2, 3, 4, 5);
    GIVE(&call, rows, memory.rows);
    GIVE(&call, head, world_array(HEED_I64, 2, -1, -1, -1, -1));
    GIVE(&call, len, world_array(HEED_I64, 2, -1, -1, -1, -1));
    GIVE(&call, x, world_floats(HEED_BF16, 2, 3, 4, 5));
    old = call;
    FAILS(HEED_E_NULL, "rows_scale.ndim", push);
    GIVE(&call, rows_scale, memory.scale);
    ck_assert_int_eq(heed_push_check(world.device, &call.desc, &world.why), HEED_OK);
    GIVE(&call, out, memory.rows);
    FAILS(HEED_E_UNSUPPORTED, "out", push);
    call.desc.out.dtype = HEED_BF16;
    FAILS(HEED_E_DTYPE, "out.dtype", push);
    call.desc.rows.dtype = HEED_BF16;
    FAILS(HEED_E_VALUE, "rows_scale.ndim", push);
    call.desc.size = offsetof(heed_push_desc, rows_scale); /* then it is not read */
    ck_assert_int_eq(heed_push_check(world.device, &call.desc, &world.why), HEED_OK);
    old.desc.size = call.desc.size;
    call = old;
    FAILS(HEED_E_NULL, "rows_scale.ndim", push);
}

/* ---- attention over what was appended ---- */

enum { B = 2, H = 4, H_K = 2, KEYS = 96, D_K = 24, NEW = 5 };

static heed_array attend(const heed_array *q, const struct bytes *k, const struct bytes *v)
{
    struct attn_call call = attn_call();
    const heed_array o = world_array(HEED_F32, B, H, q->t.shape[2], D_K, -1);
    const bool scaled = k->rows.t.dtype == HEED_I8;
    const heed_source source = { .k = k->rows.t,
                                 .v = v->rows.t,
                                 .k_scale_slot = scaled ? 1 : 0,
                                 .v_scale_slot = scaled ? 2 : 0 };
    const heed_slot slots[2] = { { k->scale.t, NULL }, { v->scale.t, NULL } };
    const heed_buf bufs[2] = { k->scale.buf, v->scale.buf };
    const heed_kv_bufs kv = { k->rows.buf, v->rows.buf };

    GIVE(&call, q, *q);
    GIVE(&call, o, o);
    call.desc.flags |= HEED_ATTN_ALIGN_END;
    call.desc.sources = &source;
    call.desc.n_sources = 1;
    call.desc.source_size = sizeof(source);
    call.desc.slots = slots;
    call.desc.n_slots = scaled ? 2 : 0;
    call.desc.slot_size = sizeof(slots[0]);
    call.args.kv = &kv;
    call.args.kv_size = sizeof(kv);
    call.args.slots = bufs;
    call.args.n_slots = scaled ? 2 : 0;
    attn_run(&call);
    return o;
}

/* Rows of x go to places at .. at + NEW - 1 of a cache. */
static void append(const struct bytes *cache, const heed_array *x, int64_t at)
{
    struct copy_call call = copy_call();
    heed_array place = world_array(HEED_I64, B, -1, -1, -1, -1);

    for (int b = 0; b < B; b++)
        ((int64_t *)place.buf.handle)[b] = at;
    GIVE(&call, x, *x);
    GIVE(&call, y, cache->rows);
    GIVE(&call, at, place);
    if (cache->rows.t.dtype == HEED_I8)
        GIVE(&call, y_scale, cache->scale);
    copy_run(&call);
}

/* The products of bytes and scales, as attention forms them. */
static struct bytes widened(const struct bytes *a)
{
    struct bytes out = { .rows = world_array(HEED_F32, B, H_K, KEYS, D_K, -1) };

    for (int64_t i = 0; i < B * H_K * KEYS * D_K; i++)
        world_f32(&out.rows)[i] = (float)(((const int8_t *)a->rows.buf.handle)[i] *
                                          element(&a->scale, i / D_K));
    return out;
}

static double largest(const heed_array *a)
{
    double most = 0;

    for (int64_t i = 0; i < world_count(a); i++)
        most = fabs(element(a, i)) > most ? fabs(element(a, i)) : most;
    return most;
}

/* How far the output of a query row may go from that of the rows as they were: scores are off by e
 * at most, so the weights together by exp(2 e) - 1, and each row of v by half a step. The rounding
 * of binary32 is far below. */
static double attend_bound(const heed_array *q, int64_t row, const struct bytes *k,
                           const struct bytes *v)
{
    const double step_k = largest(&k->scale) * (0.5 + 0x1p-15);
    const double step_v = largest(&v->scale) * (0.5 + 0x1p-15);
    double e = 0;

    for (int64_t t = 0; t < D_K; t++)
        e += fabs(element(q, row * D_K + t)) * step_k / sqrt(D_K);
    return step_v + expm1(2 * e) * 127 * largest(&v->scale) + 0x1p-16;
}

/* Appended piece by piece: the bits of the products; and within the bound of what the rows as they
 * were give. */
LOOP_TEST(attention_reads_what_was_appended, 2 * world_devices())
{
    const uint32_t type = _i % 2 ? HEED_F16 : HEED_F32;
    struct bytes k, v, k_wide, v_wide, k_was = { 0 }, v_was = { 0 };
    heed_array q, got, want, was;
    double moved = 0;

    world_open(_i / 2);
    q = world_floats(HEED_F32, B, H, 3, D_K);
    for (int i = 0; i < B * H * 3 * D_K; i++)
        world_f32(&q)[i] *= 0x1p-9f;
    k = bytes_make(type, B, H_K, KEYS, D_K);
    v = bytes_make(type, B, H_K, KEYS, D_K);
    k_was.rows = world_array(HEED_F32, B, H_K, KEYS, D_K, -1);
    v_was.rows = world_array(HEED_F32, B, H_K, KEYS, D_K, -1);
    for (int64_t at = 0; at < KEYS; at += NEW) { /* the last piece goes beyond the cache */
        const heed_array k_new = world_floats(HEED_F32, B, H_K, NEW, D_K);
        const heed_array v_new = world_floats(HEED_F32, B, H_K, NEW, D_K);

        append(&k, &k_new, at);
        append(&v, &v_new, at);
        append(&k_was, &k_new, at);
        append(&v_was, &v_new, at);
    }
    k_wide = widened(&k);
    v_wide = widened(&v);
    got = attend(&q, &k, &v);
    want = attend(&q, &k_wide, &v_wide);
    was = attend(&q, &k_was, &v_was);
    world_same(&got, &want, "the products");
    for (int64_t i = 0; i < world_count(&got); i++) {
        const double error = fabs(element(&got, i) - element(&was, i));

        ck_assert_msg(error <= attend_bound(&q, i / D_K, &k, &v), "%s: element %lld is off by %g",
                      world_name(), (long long)i, error);
        moved = error > moved ? error : moved;
    }
    ck_assert(moved > 0); /* and it was quantised */
}

int main(void)
{
    return suite_run("quantise", 120, NULL, world_close);
}
