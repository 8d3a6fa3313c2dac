/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * push: what stays and what falls out are those of a plain list, however long the text is, and
 * whatever head and lengths say; a long text takes no memory.
 */
#include "operation_world.h"

WORLD_OPERATION(push)

enum { B = 2, H = 2 };

static int64_t *i64_of(const heed_array *a)
{
    return a->buf.handle;
}

/* ---- a list, written out ---- */

struct memory {
    int64_t c, l, d;
    heed_array rows, head, len, x, x_len, out, out_len;
};

static void fill(const heed_array *a)
{
    const size_t bytes = (size_t)world_count(a) * world_size(a->t.dtype);

    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)a->buf.handle)[i] = (uint8_t)world_next();
}

static struct memory memory_of(uint32_t dtype, int64_t c, int64_t l, int64_t d)
{
    struct memory m = {
        .c = c, .l = l, .d = d,
        .rows = world_array(dtype, B, H, c, d, -1),
        .head = world_array(HEED_I64, B, -1, -1, -1, -1),
        .len = world_array(HEED_I64, B, -1, -1, -1, -1),
        .x = world_array(dtype, B, H, l, d, -1),
        .x_len = world_array(HEED_I64, B, -1, -1, -1, -1),
        .out = world_array(dtype, B, H, l, d, -1),
        .out_len = world_array(HEED_I64, B, -1, -1, -1, -1),
    };

    fill(&m.rows);
    fill(&m.x);
    return m;
}

static struct push_call call_of(const struct memory *m)
{
    struct push_call call = push_call();

    GIVE(&call, rows, m->rows);
    GIVE(&call, head, m->head);
    GIVE(&call, len, m->len);
    GIVE(&call, x, m->x);
    GIVE(&call, x_len, m->x_len);
    GIVE(&call, out, m->out);
    GIVE(&call, out_len, m->out_len);
    return call;
}

static char *row_of(const heed_array *a, int64_t b, int64_t h, int64_t row)
{
    const int64_t rows = a->t.shape[2];

    return (char *)a->buf.handle +
           (size_t)(((b * H + h) * rows + row) * a->t.shape[3]) * world_size(a->t.dtype);
}

static heed_array copy_of(const heed_array *a)
{
    heed_array to = *a;
    const size_t bytes = (size_t)world_count(a) * world_size(a->t.dtype);

    to.buf.handle = world_new(bytes);
    memcpy(to.buf.handle, a->buf.handle, bytes);
    return to;
}

/* What the call is to make of an item: rows, out and the numbers of `want` from those of `m`. */
static void item_expect(const struct memory *m, struct memory *want, int64_t b)
{
    const size_t bytes = (size_t)m->d * world_size(m->x.t.dtype);
    const int64_t given = i64_of(&m->len)[b], fresh = i64_of(&m->x_len)[b];
    const int64_t n = given < 0 ? 0 : given > m->c ? m->c : given;
    const int64_t more = fresh < 0 ? 0 : fresh > m->l ? m->l : fresh;
    const int64_t out = n + more > m->c ? n + more - m->c : 0;
    int64_t head = i64_of(&m->head)[b];

    head = head < 0 || head >= m->c ? 0 : head;
    for (int64_t h = 0; h < H; h++) {
        const char *list[64];

        for (int64_t g = 0; g < n; g++)
            list[g] = row_of(&m->rows, b, h, (head + g) % m->c);
        for (int64_t i = 0; i < more; i++)
            list[n + i] = row_of(&m->x, b, h, i);
        for (int64_t i = 0; i < m->l; i++) {
            if (i < out)
                memcpy(row_of(&want->out, b, h, i), list[i], bytes);
            else
                memset(row_of(&want->out, b, h, i), 0, bytes);
        }
        for (int64_t g = out; g < n + more; g++)
            memmove(row_of(&want->rows, b, h, (head + g) % m->c), list[g], bytes);
    }
    i64_of(&want->head)[b] = m->c > 0 ? (head + out) % m->c : 0;
    i64_of(&want->len)[b] = n + more - out;
    i64_of(&want->out_len)[b] = out;
}

static int64_t hostile(int64_t most)
{
    static const int64_t values[] = { -1, INT64_MIN, INT64_MAX, INT64_C(1) << 40 };

    return world_range(0, 4) == 0 ? values[world_range(0, 3)] : world_range(0, most);
}

LOOP_TEST(a_push_is_that_of_a_list, world_devices())
{
    static const uint32_t dtypes[] = { HEED_F32, HEED_F16, HEED_BF16 };

    world_open(_i);
    for (int i = 0; i < 400; i++) {
        struct memory m = memory_of(dtypes[i % 3], world_range(0, 9), world_range(0, 15),
                                    world_range(0, 21));
        struct memory want;
        struct push_call call;

        for (int b = 0; b < B; b++) {
            i64_of(&m.head)[b] = hostile(m.c);
            i64_of(&m.len)[b] = hostile(m.c);
            i64_of(&m.x_len)[b] = hostile(m.l);
        }
        want = m;
        want.rows = copy_of(&m.rows);
        want.head = copy_of(&m.head);
        want.len = copy_of(&m.len);
        want.out = copy_of(&m.out);
        want.out_len = copy_of(&m.out_len);
        for (int b = 0; b < B; b++)
            item_expect(&m, &want, b);
        call = call_of(&m);
        push_run(&call);
        world_same(&m.out, &want.out, "out");
        world_same(&m.out_len, &want.out_len, "out_len");
        world_same(&m.rows, &want.rows, "rows");
        world_same(&m.head, &want.head, "head");
        world_same(&m.len, &want.len, "len");
        while (world.n_blocks > 0)
            free(world.blocks[--world.n_blocks]);
    }
}

/* ---- a long text ---- */

enum { CAPACITY = 257, PIECE = 900, WIDTH = 2 };

/* Row t of the text of an item's head. */
static void text_row(uint32_t row[WIDTH], int64_t b, int64_t h, int64_t t)
{
    row[0] = (uint32_t)t * 2654435761u;
    row[1] = (uint32_t)(t ^ (b * H + h) << 24);
}

static void text_judge(const heed_array *a, int64_t b, int64_t row, int64_t t, const char *what)
{
    uint32_t want[WIDTH];

    for (int64_t h = 0; h < H; h++) {
        text_row(want, b, h, t);
        if (memcmp(row_of(a, b, h, row), want, sizeof want) != 0)
            ck_abort_msg("%s: %s: row %lld of the text", world_name(), what, (long long)t);
    }
}

/* `told` rows of the item went in before. */
static void piece_make(const struct memory *m, int64_t b, int64_t told)
{
    uint32_t row[WIDTH];

    i64_of(&m->x_len)[b] = world_range(0, PIECE);
    for (int64_t i = 0; i < i64_of(&m->x_len)[b]; i++) {
        for (int64_t h = 0; h < H; h++) {
            text_row(row, b, h, told + i);
            memcpy(row_of(&m->x, b, h, i), row, sizeof row);
        }
    }
}

static void piece_judge(const struct memory *m, int64_t b, int64_t told, int64_t *fallen)
{
    const int64_t len = told < CAPACITY ? told : CAPACITY, out = i64_of(&m->out_len)[b];

    ck_assert_int_eq(i64_of(&m->len)[b], len);
    ck_assert_int_eq(*fallen + out, told - len);
    for (int64_t i = 0; i < out; i++)
        text_judge(&m->out, b, i, *fallen + i, "fallen out");
    *fallen += out;
    for (int64_t g = 0; g < len; g += 1 + len / 7)
        text_judge(&m->rows, b, (i64_of(&m->head)[b] + g) % CAPACITY, *fallen + g, "kept");
}

/* A million rows for the processor, fewer for the others. */
LOOP_TEST(a_long_text_takes_no_memory, world_devices())
{
    struct memory m;
    struct push_call call;
    heed_plan_props before = { .size = sizeof(before) }, after = { .size = sizeof(after) };
    int64_t told[B] = { 0 }, fallen[B] = { 0 }, rows;
    long long requests;
    heed_plan *plan;

    world_open(_i);
    rows = strcmp(world_name(), "cpu") == 0 ? 1000000 : 100000;
    m = memory_of(HEED_F32, CAPACITY, PIECE, WIDTH);
    memset(m.head.buf.handle, 0, B * sizeof(int64_t));
    memset(m.len.buf.handle, 0, B * sizeof(int64_t));
    call = call_of(&m);
    plan = push_plan(&call);
    ck_assert_int_eq(heed_plan_info(plan, &before), HEED_OK);
    requests = atomic_load(&world.ledger.requests);
    while (told[0] < rows) {
        for (int b = 0; b < B; b++) {
            piece_make(&m, b, told[b]);
            told[b] += i64_of(&m.x_len)[b];
        }
        push_again(plan, &call);
        for (int b = 0; b < B; b++)
            piece_judge(&m, b, told[b], &fallen[b]);
    }
    for (int64_t b = 0; b < B; b++) {
        for (int64_t g = 0; g < CAPACITY; g++)
            text_judge(&m.rows, b, (i64_of(&m.head)[b] + g) % CAPACITY, fallen[b] + g, "the last");
    }
    ck_assert_int_eq(atomic_load(&world.ledger.requests), requests);
    ck_assert_int_eq(heed_plan_info(plan, &after), HEED_OK);
    ck_assert_mem_eq(&after, &before, sizeof after);
    heed_plan_drop(plan);
}

int main(void)
{
    return suite_run("push", 0, NULL, world_close);
}
