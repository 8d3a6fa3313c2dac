/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The calls of docs/index.md: an engine with a cache of pages, and an encoder of long documents.
 * Each result is held against the same attention over plain arrays, bit for bit. Exit status 0: all
 * are equal.
 */
#include <heed/mechanisms.h>
#include <heed/memory.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 4, D = 16, PAGE = 8, PAGES = 6, ITEMS = 2, MOST = PAGES / ITEMS * PAGE };

static heed_report why = { .size = sizeof why };
static heed_device *device;
static heed_queue *queue;

static void must(heed_status status)
{
    if (status >= 0)
        return;
    fprintf(stderr, "%s: %s\n", why.field, why.message);
    exit(EXIT_FAILURE);
}

/* f32 [items][heads][n][D], with numbers where `seed` is not 0. */
static heed_array rows(float *data, int64_t items, int64_t heads, int64_t n, unsigned seed)
{
    for (int64_t i = 0; seed && i < items * heads * n * D; i++)
        data[i] = (float)((unsigned)i * 37 * seed % 101) / 50.0f - 1.0f;
    return heed_array4(HEED_F32, data, items, heads, n, D);
}

/* ---- an engine: keys and values in pages ---- */

struct engine {
    heed_plan *append, *attend;
};

enum { TABLE = 1, LEN };                /* numbers of slots */

static heed_array table_of(int32_t (*pages)[PAGES / ITEMS])
{
    const int64_t shape[2] = { ITEMS, PAGES / ITEMS };

    return heed_array_dense(HEED_I32, pages, 2, shape);
}

static heed_array lengths_of(int64_t *len)
{
    const int64_t items = ITEMS;

    return heed_array_dense(HEED_I64, len, 1, &items);
}

/* Once: a plan that appends the row of a token to each item's pages, and one that attends. */
static void engine_open(struct engine *e, heed_tensor row, heed_tensor pool, heed_tensor table,
                        heed_tensor len)
{
    const heed_slot slots[] = { { .t = table }, { .t = len } };
    const heed_source cache = { .k = pool, .v = pool, .layout = HEED_LAYOUT_PAGED,
                                .slot = TABLE, .len_slot = LEN };
    const heed_attn_desc attend = { .size = sizeof attend,
                                    .flags = HEED_ATTN_ALIGN_END | HEED_PLAN_OWN_WORKSPACE,
                                    .q = row, .o = row, .sources = &cache, .n_sources = 1,
                                    .source_size = sizeof cache, .slots = slots, .n_slots = 2,
                                    .slot_size = sizeof *slots };
    const heed_copy_desc append = { .size = sizeof append, .flags = HEED_PLAN_OWN_WORKSPACE,
                                    .x = row, .y = pool, .at = len, .table = table };

    must(heed_attn_plan(device, &attend, &e->attend, &why));
    must(heed_copy_plan(device, &append, &e->append, &why));
}

/* Each step: len, the tokens before, is where the new rows go; then the new queries attend. */
static void engine_step(const struct engine *e, heed_buf q, const heed_kv_bufs *new_rows,
                        const heed_kv_bufs *pool, heed_buf table, int64_t *len, heed_buf o)
{
    const heed_buf slots[] = { [TABLE - 1] = table, [LEN - 1] = { .handle = len } };
    heed_copy_args k = { .size = sizeof k, .x = new_rows->k, .y = pool->k, .table = table,
                         .at = slots[LEN - 1] };
    heed_copy_args v = { .size = sizeof v, .x = new_rows->v, .y = pool->v, .table = table,
                         .at = slots[LEN - 1] };
    const heed_attn_args args = { .size = sizeof args, .q = q, .o = o, .kv = pool,
                                  .kv_size = sizeof *pool, .slots = slots, .n_slots = 2 };

    must(heed_copy_run(e->append, queue, &k, NULL, &why));
    must(heed_copy_run(e->append, queue, &v, NULL, &why));
    for (int i = 0; i < ITEMS; i++)
        len[i]++;
    must(heed_attn_run(e->attend, queue, &args, NULL, &why));
}

/* Is what the engine writes what attention over plain arrays writes? */
static int engine(void)
{
    static float pool_k[PAGES * HEADS * PAGE * D], pool_v[PAGES * HEADS * PAGE * D];
    static float text[2][ITEMS * HEADS * MOST * D], step[2][ITEMS * HEADS * D];
    static float q[ITEMS * HEADS * D], o[ITEMS * HEADS * D], plain[ITEMS * HEADS * D];
    int32_t pages[ITEMS][PAGES / ITEMS] = { { 4, 0, 2 }, { 1, 5, 3 } };
    int64_t len[ITEMS] = { 0 };
    const heed_array table = table_of(pages), lengths = lengths_of(len);
    const heed_array heap_k = rows(pool_k, PAGES, HEADS, PAGE, 0);
    const heed_array heap_v = rows(pool_v, PAGES, HEADS, PAGE, 0);
    const heed_kv_bufs pool = { heap_k.buf, heap_v.buf };
    struct engine e;
    int same = 1;

    rows(text[0], ITEMS, HEADS, MOST, 3);
    rows(text[1], ITEMS, HEADS, MOST, 5);
    engine_open(&e, heed_array4(HEED_F32, NULL, ITEMS, HEADS, 1, D).t, heap_k.t, table.t,
                lengths.t);
    for (int n = 1; n <= MOST; n++) {
        const heed_array x = rows(q, ITEMS, HEADS, 1, (unsigned)n);
        const heed_array y = rows(plain, ITEMS, HEADS, 1, 0);
        const heed_buf out = rows(o, ITEMS, HEADS, 1, 0).buf;
        const heed_kv_bufs token = { rows(step[0], ITEMS, HEADS, 1, 0).buf,
                                     rows(step[1], ITEMS, HEADS, 1, 0).buf };
        heed_array k = rows(text[0], ITEMS, HEADS, MOST, 0);
        heed_array v = rows(text[1], ITEMS, HEADS, MOST, 0);

        for (int i = 0; i < ITEMS * HEADS; i++) {
            memcpy(step[0] + i * D, text[0] + (i * MOST + n - 1) * D, sizeof(float) * D);
            memcpy(step[1] + i * D, text[1] + (i * MOST + n - 1) * D, sizeof(float) * D);
        }
        engine_step(&e, x.buf, &token, &pool, table.buf, len, out);
        k.t.shape[2] = v.t.shape[2] = n;
        must(heed_attn_simple(queue, &x, &k, &v, &y, NULL, 0, 0, &why));
        same = same && memcmp(o, plain, sizeof o) == 0;
    }
    heed_plan_drop(e.append);
    heed_plan_drop(e.attend);
    return same;
}

/* ---- an encoder of long documents ---- */

enum { TOKENS = 600 };

/* Window and global tokens over a text, by the name of the mechanism. */
static void encode(const heed_array *q, const heed_array *k, const heed_array *v,
                   const heed_array *o)
{
    const heed_longformer_desc desc = { .size = sizeof desc, .q = q->t, .o = o->t,
                                        .text = { .k = k->t, .v = v->t },
                                        .window = 64, .n_globals = 2 };
    const heed_kv_bufs text = { k->buf, v->buf };
    const heed_attn_args args = { .size = sizeof args, .q = q->buf, .o = o->buf, .kv = &text,
                                  .kv_size = sizeof text, .n_slots = HEED_MECHANISM_SLOTS,
                                  .slots = (heed_buf[HEED_MECHANISM_SLOTS]){ { 0 } } };
    heed_mechanism m = { .size = sizeof m };
    heed_plan *plan = NULL;

    must(heed_longformer(&desc, &m, &why));
    m.desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    must(heed_attn_plan(device, &m.desc, &plan, &why));
    must(heed_attn_run(plan, queue, &args, NULL, &why));        /* as often as there are layers */
    heed_plan_drop(plan);
}

static int encoder(void)
{
    static float data[5][HEADS * TOKENS * D];
    const heed_term see[] = {
        { .kind = HEED_TERM_WINDOW, .left = 64, .right = 64 },
        { .kind = HEED_TERM_GLOBAL, .block = 2, .flags = HEED_TERM_KEYS | HEED_TERM_ROWS },
    };
    heed_array a[5];

    for (unsigned i = 0; i < 5; i++)
        a[i] = rows(data[i], 1, HEADS, TOKENS, i < 3 ? i + 1 : 0);
    encode(&a[0], &a[1], &a[2], &a[3]);
    must(heed_attn_simple(queue, &a[0], &a[1], &a[2], &a[4], see, 2, 0, &why));
    return memcmp(data[3], data[4], sizeof data[3]) == 0;
}

int main(void)
{
    heed_runtime *runtime = NULL;
    int same;

    must(heed_runtime_create(NULL, &runtime, &why));
    must(heed_device_find(runtime, "cpu", &device, &why));
    must(heed_queue_create(device, 0, &queue, &why));
    same = engine();
    printf("engine: %d steps, %s\n", MOST, same ? "the bits of plain arrays" : "other bits");
    same &= encoder();
    printf("encoder: %d tokens, %s\n", TOKENS, same ? "the bits of its terms" : "other bits");
    heed_queue_destroy(queue);
    heed_runtime_destroy(runtime);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
