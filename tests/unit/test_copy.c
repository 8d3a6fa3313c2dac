/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * copy: round trips, caches that equal a list, types, and indices that make no sense. Rows of y
 * that nobody names must hold what they held.
 */
#include "operation_world.h"

WORLD_OPERATION(copy)

enum { B = 2, H = 3, N = 40, D = 19 };

/* Any bits: payloads of NaN, -0 and subnormals among them. */
static heed_array any_bits(uint32_t dtype, int64_t b, int64_t h, int64_t n, int64_t d)
{
    heed_array a = world_array(dtype, b, h, n, d, -1);
    const size_t size = world_size(dtype);

    for (int64_t i = 0; i < world_count(&a); i++) {
        const uint64_t bits = world_range(0, 3) == 0 ? world_next() | UINT64_C(0x7f807f807f807c00)
                                                     : world_next();

        memcpy((char *)a.buf.handle + (size_t)i * size, &bits, size);
    }
    return a;
}

static heed_array same_bytes(const heed_array *a)
{
    heed_array to = *a;
    const size_t bytes = (size_t)world_count(a) * world_size(a->t.dtype);

    to.buf.handle = world_new(bytes);
    memcpy(to.buf.handle, a->buf.handle, bytes);
    return to;
}

/* One order for every item and head. */
static heed_array permutations(void)
{
    heed_array a = world_array(HEED_I32, B, H, N, -1, -1);
    int32_t *entry = a.buf.handle;

    for (int list = 0; list < B * H; list++, entry += N) {
        for (int32_t i = 0; i < N; i++) {
            const int64_t j = world_range(0, i);

            entry[i] = entry[j];
            entry[j] = i;
        }
    }
    return a;
}

LOOP_TEST(gather_then_scatter_is_the_identity, world_devices())
{
    static const uint32_t dtypes[] = { HEED_F32, HEED_F16, HEED_BF16 };

    world_open(_i);
    for (int i = 0; i < 3; i++) {
        const heed_array x = any_bits(dtypes[i], B, H, N, D), order = permutations();
        const heed_array y = world_array(dtypes[i], B, H, N, D, -1);
        const heed_array z = world_array(dtypes[i], B, H, N, D, -1);
        struct copy_call gather = copy_call(), scatter = copy_call();

        GIVE(&gather, x, x);
        GIVE(&gather, from, order);
        GIVE(&gather, y, y);
        copy_run(&gather);
        GIVE(&scatter, x, y);
        GIVE(&scatter, to, order);
        GIVE(&scatter, y, z);
        copy_run(&scatter);
        world_same(&z, &x, "back again");
        for (int64_t row = 0; row < B * H * N; row++) {
            const int64_t from = row / N * N + ((int32_t *)order.buf.handle)[row];
            const size_t bytes = D * world_size(dtypes[i]);

            ck_assert_msg(memcmp((char *)y.buf.handle + (size_t)row * bytes,
                                 (char *)x.buf.handle + (size_t)from * bytes, bytes) == 0,
                          "%s: row %lld", world_name(), (long long)row);
        }
    }
}

/* ---- caches ---- */

enum cache { PLAIN, RING, PAGED, CACHES };
enum { CAPACITY = 60, PAGE = 7, PAGES = 40, TABLE = 9 };

/* An item's row t of the cache: which row of [B or 1][H][rows] that is, for head h. */
static int64_t cache_row(enum cache cache, const int64_t *oldest, const int32_t *table, int b,
                         int h, int64_t t)
{
    if (cache == PLAIN)
        return (b * H + h) * CAPACITY + t;
    if (cache == RING)
        return (b * H + h) * CAPACITY + (oldest[b] + t) % CAPACITY;
    return (table[b * TABLE + t / PAGE] * H + h) * PAGE + t % PAGE;
}

/* Pages of their own for every item. */
static heed_array page_table(void)
{
    heed_array a = world_array(HEED_I32, B, TABLE, -1, -1, -1);
    int32_t free_pages[PAGES], n = PAGES;

    for (int32_t i = 0; i < PAGES; i++)
        free_pages[i] = i;
    for (int i = 0; i < B * TABLE; i++) {
        const int64_t at = world_range(0, n - 1);

        ((int32_t *)a.buf.handle)[i] = free_pages[at];
        free_pages[at] = free_pages[--n];
    }
    return a;
}

struct appended {
    heed_array y, mirror, x, at, len, oldest, table;
    enum cache cache;
};

static void append_piece(struct appended *a, const heed_plan *plan, const struct copy_call *call,
                         int64_t piece)
{
    const size_t bytes = D * 2;
    int64_t *at = a->at.buf.handle;
    int32_t *len = a->len.buf.handle;

    for (int64_t i = 0; i < B * H * piece * D; i++)
        ((uint16_t *)a->x.buf.handle)[i] = (uint16_t)world_next();
    for (int b = 0; b < B; b++) {
        len[b] = (int32_t)world_range(-1, piece + 1);
        for (int64_t i = 0; i < len[b] && i < piece; i++) {
            for (int h = 0; h < H; h++) {
                const int64_t to = at[b] + i, from = (b * H + h) * piece + i;

                if (a->cache == RING || to < (a->cache == PLAIN ? CAPACITY : TABLE * PAGE))
                    memcpy((char *)a->mirror.buf.handle +
                               (size_t)cache_row(a->cache, a->oldest.buf.handle,
                                                 a->table.buf.handle, b, h, to) *
                                   bytes,
                           (char *)a->x.buf.handle + (size_t)from * bytes, bytes);
            }
        }
    }
    copy_again(plan, call);
    for (int b = 0; b < B; b++)
        at[b] += len[b] < 0 ? 0 : len[b] > piece ? piece : len[b];
}

LOOP_TEST(appended_rows_equal_a_list, world_devices() * CACHES)
{
    struct appended a = { .cache = (enum cache)(_i % CACHES) };

    world_open(_i / CACHES);
    a.y = a.cache == PAGED ? world_array(HEED_F16, PAGES, H, PAGE, D, -1)
                           : world_array(HEED_F16, B, H, CAPACITY, D, -1);
    a.mirror = same_bytes(&a.y);
    a.at = world_array(HEED_I64, B, -1, -1, -1, -1);
    a.oldest = world_array(HEED_I64, B, -1, -1, -1, -1);
    a.len = world_array(HEED_I32, B, -1, -1, -1, -1);
    a.table = page_table();
    for (int b = 0; b < B; b++) {
        ((int64_t *)a.at.buf.handle)[b] = 0;
        ((int64_t *)a.oldest.buf.handle)[b] = world_range(0, CAPACITY - 1);
    }
    for (int piece = 1; piece < 14; piece++) {
        struct copy_call call = copy_call();
        heed_plan *plan;

        a.x = world_array(HEED_F16, B, H, piece, D, -1);
        GIVE(&call, x, a.x);
        GIVE(&call, y, a.y);
        GIVE(&call, at, a.at);
        GIVE(&call, len, a.len);
        if (a.cache == RING)
            GIVE(&call, head, a.oldest);
        if (a.cache == PAGED)
            GIVE(&call, table, a.table);
        plan = copy_plan(&call);
        append_piece(&a, plan, &call, piece);
        append_piece(&a, plan, &call, piece);
        heed_plan_drop(plan);
        world_same(&a.y, &a.mirror, "cache");
    }
}

/* ---- types ---- */

static void convert(uint32_t from, const void *in, uint32_t to, void *out, int64_t n)
{
    struct copy_call call = copy_call();

    GIVE(&call, x, heed_array4(from, (void *)(uintptr_t)in, 1, 1, 1, n));
    GIVE(&call, y, heed_array4(to, out, 1, 1, 1, n));
    copy_run(&call);
}

LOOP_TEST(other_types_are_rounded_once_and_canonical, world_devices())
{
    /* -0, signalling NaN, negative NaN, ties to even, subnormals, beyond the largest */
    static const uint32_t f32[] = { 0x80000000, 0x7f800001, 0xffffffff, 0x3f808000, 0x3f818000,
                                    0x3f801000, 0x3f803000, 0x00000001, 0x33000000, 0x33000001,
                                    0x477fefff, 0x477ff000, 0xff800000, 0x7f7fffff, 0xb3000000 };
    static const uint16_t bf16[] = { 0x0000, 0x7fc0, 0x7fc0, 0x3f80, 0x3f82, 0x3f80, 0x3f80, 0x0000,
                                     0x3300, 0x3300, 0x4780, 0x4780, 0xff80, 0x7f80, 0xb300 };
    static const uint16_t f16[] = { 0x0000, 0x7e00, 0x7e00, 0x3c04, 0x3c0c, 0x3c00, 0x3c02, 0x0000,
                                    0x0000, 0x0001, 0x7bff, 0x7c00, 0xfc00, 0x7c00, 0x0000 };
    static const uint16_t halves[] = { 0x8000, 0x0001, 0x83ff, 0x7c01, 0xfe00, 0x7bff, 0x3555 };
    static const uint32_t wide[] = { 0x00000000, 0x33800000, 0xb87fc000, 0x7fc00000,
                                     0x7fc00000, 0x477fe000, 0x3eaaa000 };
    enum { N_F32 = sizeof f32 / sizeof *f32, N_HALF = sizeof halves / sizeof *halves };
    uint16_t half[N_F32];
    uint32_t word[N_F32];

    world_open(_i);
    convert(HEED_F32, f32, HEED_BF16, half, N_F32);
    for (int i = 0; i < N_F32; i++)
        ck_assert_msg(half[i] == bf16[i], "%s: bf16 of 0x%08x is 0x%04x", world_name(), f32[i],
                      half[i]);
    convert(HEED_F32, f32, HEED_F16, half, N_F32);
    for (int i = 0; i < N_F32; i++)
        ck_assert_msg(half[i] == f16[i], "%s: f16 of 0x%08x is 0x%04x", world_name(), f32[i],
                      half[i]);
    convert(HEED_F16, halves, HEED_F32, word, N_HALF);
    for (int i = 0; i < N_HALF; i++)
        ck_assert_msg(word[i] == wide[i], "%s: f32 of 0x%04x is 0x%08x", world_name(), halves[i],
                      word[i]);
    convert(HEED_F32, f32, HEED_F32, word, N_F32);
    ck_assert_mem_eq(word, f32, sizeof f32);
}

/* ---- what makes no sense ---- */

/* x has rows 1 to 6 whose channels are the number; y has 8 rows between two guards, all 99. */
struct small {
    float x[6][2], y[12][2];
    struct copy_call call;
};

static void small_start(struct small *s)
{
    for (int i = 0; i < 24; i++)
        s->y[i / 2][i % 2] = 99;
    for (int i = 0; i < 12; i++)
        s->x[i / 2][i % 2] = (float)(1 + i / 2);
    s->call = copy_call();
    GIVE(&s->call, x, heed_array4(HEED_F32, s->x, 1, 1, 6, 2));
    GIVE(&s->call, y, heed_array4(HEED_F32, s->y[2], 1, 1, 8, 2));
}

/* want: what the 8 rows hold, 9 for 99. */
static void small_end(struct small *s, const char *want, const char *what)
{
    copy_run(&s->call);
    for (int i = 0; i < 24; i++) {
        const int row = i / 2 - 2;
        const float value = row < 0 || row >= 8 || want[row] == '9' ? 99 : (float)(want[row] - '0');

        ck_assert_msg(s->y[i / 2][i % 2] == value, "%s: %s: row %d is %g", world_name(), what, row,
                      (double)s->y[i / 2][i % 2]);
    }
}

static heed_array list(uint32_t dtype, void *data, int64_t n)
{
    return heed_array_dense(dtype, data, 1, &n);
}

LOOP_TEST(indices_that_make_no_sense_are_absent, world_devices())
{
    int32_t from[] = { 3, -1, 6, INT32_MIN, INT32_MAX, 0 }, to[] = { 7, 8, -1, INT32_MIN, 0, 3 };
    int32_t len32[] = { -5 };
    int64_t len[] = { INT64_MAX };
    struct small s;

    world_open(_i);
    small_start(&s);
    GIVE(&s.call, from, list(HEED_I32, from, 6));
    small_end(&s, "49999199", "from");
    small_start(&s);
    s.call.desc.flags |= HEED_COPY_ZERO;
    GIVE(&s.call, from, list(HEED_I32, from, 6));
    GIVE(&s.call, len, list(HEED_I64, len, 1));
    small_end(&s, "40000199", "from, zeroed");
    small_start(&s);
    GIVE(&s.call, from, list(HEED_I32, from, 6));
    GIVE(&s.call, len, list(HEED_I32, len32, 1));
    small_end(&s, "99999999", "negative length");
    small_start(&s);
    GIVE(&s.call, to, list(HEED_I32, to, 6));
    small_end(&s, "59969991", "to");
    small_start(&s);
    s.call.desc.flags |= HEED_COPY_ZERO;
    GIVE(&s.call, from, list(HEED_I32, from, 6));
    GIVE(&s.call, to, list(HEED_I32, to, 6));
    small_end(&s, "09919994", "from and to");
}

LOOP_TEST(positions_that_make_no_sense_are_absent, world_devices())
{
    static const struct {
        int64_t at;
        const char *plain, *ring;
    } cases[] = {
        { 0, "12345699", "34569912" },
        { -4, "56999999", "99999956" },
        { 5, "99999123", "69912345" },
        { INT64_MIN, "99999999", "99999999" },
        { INT64_MAX, "99999999", "34569912" }, /* 2^60 is a multiple of 8 */
        { INT64_C(1) << 59, "99999999", "34569912" },
    };
    static const int64_t bad_heads[] = { -1, 8, INT64_MIN, INT64_MAX };
    struct small s;

    world_open(_i);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t at = cases[i].at, oldest = 6;

        small_start(&s);
        GIVE(&s.call, at, list(HEED_I64, &at, 1));
        small_end(&s, cases[i].plain, "plain");
        small_start(&s);
        GIVE(&s.call, at, list(HEED_I64, &at, 1));
        GIVE(&s.call, head, list(HEED_I64, &oldest, 1));
        small_end(&s, cases[i].ring, "ring");
    }
    for (size_t i = 0; i < sizeof bad_heads / sizeof *bad_heads; i++) {
        int64_t oldest = bad_heads[i];

        small_start(&s);
        GIVE(&s.call, head, list(HEED_I64, &oldest, 1));
        small_end(&s, "99999999", "head outside the ring");
    }
}

LOOP_TEST(pages_that_make_no_sense_are_absent, world_devices())
{
    int32_t table[] = { 2, -1, 4, 0 }, at = 1, far = INT32_MAX;
    struct small s;

    world_open(_i);
    small_start(&s);
    GIVE(&s.call, y, heed_array4(HEED_F32, s.y[2], 4, 1, 2, 2));
    GIVE(&s.call, table, list(HEED_I32, table, 4));
    GIVE(&s.call, at, list(HEED_I32, &at, 1));
    small_end(&s, "69999199", "pages -1 and 4 of 4");
    small_start(&s);
    GIVE(&s.call, y, heed_array4(HEED_F32, s.y[2], 4, 1, 2, 2));
    GIVE(&s.call, table, list(HEED_I32, table, 2));
    small_end(&s, "99991299", "beyond the table");
    small_start(&s);
    GIVE(&s.call, y, heed_array4(HEED_F32, s.y[2], 4, 1, 2, 2));
    GIVE(&s.call, table, list(HEED_I32, table, 4));
    GIVE(&s.call, at, list(HEED_I32, &far, 1));
    small_end(&s, "99999999", "far beyond the table");
}

/* ---- more than caches hold ---- */

enum { FAR_BYTES = 1 << 25, SOURCES = 50 };

/* Rows in reverse order from a list of sources, some of them not there; y begins `shift` bytes
 * after a line of the caches does. */
static void far_case(uint32_t dtype, int64_t d, size_t shift)
{
    const size_t bytes = (size_t)d * world_size(dtype);
    const int64_t n = FAR_BYTES / (int64_t)bytes + 1;
    const heed_array x = any_bits(dtype, 1, 1, SOURCES, d);
    heed_array from = world_array(HEED_I32, 1, 1, n, -1, -1), to = from;
    heed_array y = heed_array4(dtype, world_new((size_t)n * bytes + 128), 1, 1, n, d);
    struct copy_call c = copy_call();
    char *at = y.buf.handle;

    at += (64 - (uintptr_t)at % 64) % 64 + shift;
    y.buf.handle = at;
    to.buf.handle = world_new((size_t)n * sizeof(int32_t));
    for (int64_t i = 0; i < n; i++) {
        ((int32_t *)from.buf.handle)[i] = (int32_t)world_range(-1, SOURCES);
        ((int32_t *)to.buf.handle)[i] = (int32_t)(n - 1 - i);
    }
    GIVE(&c, x, x);
    GIVE(&c, y, y);
    GIVE(&c, from, from);
    GIVE(&c, to, to);
    copy_run(&c);
    for (int64_t i = 0; i < n; i++) {
        const int64_t source = ((int32_t *)from.buf.handle)[i];
        const char *const row = at + (size_t)(n - 1 - i) * bytes;
        char want[4096];

        memset(want, 0x5a, bytes);
        if (source >= 0 && source < SOURCES)
            memcpy(want, (char *)x.buf.handle + (size_t)source * bytes, bytes);
        ck_assert_msg(memcmp(row, want, bytes) == 0, "%s: %lld elements, shift %zu: row %lld",
                      world_name(), (long long)d, shift, (long long)i);
    }
}

/* Rows of whole lines, of 64 elements or not, and rows that end or begin within one. */
LOOP_TEST(rows_of_a_large_y_have_the_bits_of_their_sources, world_devices())
{
    world_open(_i);
    far_case(HEED_F32, 64, 0);
    far_case(HEED_F32, 64, 4);
    far_case(HEED_F16, 96, 0);
    far_case(HEED_BF16, 613, 2);
    far_case(HEED_F32, 48, 0);
}

int main(void)
{
    return suite_run("copy", 0, NULL, world_close);
}
