/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Draws what rows see under the mechanisms of heed/mechanisms.h: a line for each row of a text, a
 * column for each key, source after source; '#' is seen, digits count repeats. Nothing is
 * computed: descriptors without memory are enough.
 */
#include <heed/mechanisms.h>

#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 2, ROWS = 24, DIM = 8, WIDEST = 64 };

static heed_report why = { .size = sizeof why };
static int failed;

/* Tensors [1][HEADS][n][DIM]. */
static heed_tensor rows(int64_t n)
{
    return heed_array4(HEED_F32, NULL, 1, HEADS, n, DIM).t;
}

static heed_keys keys(int64_t n)
{
    return (heed_keys){ .k = rows(n), .v = rows(n) };
}

static int64_t rows_of(const heed_tensor *t)
{
    return t->shape[t->ndim - 2];
}

static void line(const heed_mechanism *m, int64_t head, int64_t row)
{
    for (uint32_t s = 0; s < m->desc.n_sources && why.status >= 0; s++) {
        const int64_t n = rows_of(&m->sources[s].k);
        uint8_t seen[WIDEST] = { 0 };

        if (n > WIDEST ||
            heed_attn_visible(&m->desc, NULL, 0, head, row, s, seen, &why) < 0)
            break;
        if (s)
            putchar(' ');
        for (int64_t j = 0; j < n; j++)
            putchar(seen[j] > 1 ? '0' + seen[j] : seen[j] ? '#' : '.');
    }
    putchar('\n');
}

/* The status is that of the builder. */
static void draw(const char *name, heed_status status, const heed_mechanism *m, int64_t head)
{
    if (status >= 0) {
        printf("%s, head %d\n", name, (int)head);
        for (int64_t row = 0; row < rows_of(&m->desc.q) && why.status >= 0; row++)
            line(m, head, row);
    }
    if (why.status >= 0)
        return;
    failed = 1;
    fprintf(stderr, "%s: %s: %s\n", name, why.field, why.message);
}

static void longformer(void)
{
    heed_mechanism m = { .size = sizeof m };
    const heed_longformer_desc desc = { .size = sizeof desc, .q = rows(ROWS), .o = rows(ROWS),
                                        .text = keys(ROWS), .window = 2, .n_globals = 1 };

    draw("longformer", heed_longformer(&desc, &m, &why), &m, 0);
}

static void global_rows(void)
{
    heed_mechanism m = { .size = sizeof m };
    const heed_global_rows_desc desc = { .size = sizeof desc, .q = rows(2), .o = rows(2),
                                         .text = keys(ROWS), .globals = keys(2) };

    draw("global rows", heed_global_rows(&desc, &m, &why), &m, 0);
}

/* The lists are constant: they go into the plan. */
static heed_slot constant(const int32_t *data, uint32_t ndim, int64_t a, int64_t b, int64_t c)
{
    const int64_t shape[3] = { a, b, c };

    return (heed_slot){ .t = heed_array_dense(HEED_I32, NULL, ndim, shape).t, .data = data };
}

static void bigbird(void)
{
    static const int32_t random[6] = { -1, 4, 4, 0, 1, -1 };
    heed_mechanism m = { .size = sizeof m };
    const heed_bigbird_desc desc = { .size = sizeof desc, .q = rows(ROWS), .o = rows(ROWS),
                                     .text = keys(ROWS), .random = constant(random, 3, 1, 6, 1),
                                     .block = 4 };

    draw("bigbird", heed_bigbird(&desc, &m, &why), &m, 0);
}

static void longt5(void)
{
    static float table[HEADS][32], side_table[HEADS][32];
    static int32_t map[257], block_ids[ROWS];
    const int64_t shape[2] = { HEADS, 32 };
    const heed_tensor of_heads = heed_array_dense(HEED_F32, NULL, 2, shape).t;
    heed_mechanism m = { .size = sizeof m };
    heed_status status = heed_map_t5(map, 257, 128, 32, 128, 0);
    const heed_longt5_desc desc = { .size = sizeof desc, .q = rows(ROWS), .o = rows(ROWS),
                                    .text = keys(ROWS), .side = keys(ROWS / 16),
                                    .table = { of_heads, table },
                                    .side_table = { of_heads, side_table },
                                    .map = constant(map, 1, 257, 0, 0),
                                    .block_ids = constant(block_ids, 1, ROWS, 0, 0),
                                    .radius = 3, .zero = 128 };

    if (status >= 0)
        status = heed_longt5(&desc, &m, &why);
    draw("longt5", status, &m, 0);
}

static void lsg(void)
{
    static int32_t list[HEADS * 6 * 4];
    heed_mechanism m = { .size = sizeof m };
    const heed_lsg_desc desc = { .size = sizeof desc, .q = rows(ROWS), .o = rows(ROWS),
                                 .text = keys(ROWS), .globals = keys(1),
                                 .sparsity = HEED_LSG_BLOCK_STRIDE, .block = 4, .factor = 2,
                                 .list = list, .list_room = HEADS * 6 * 4 };

    draw("lsg, block stride", heed_lsg(&desc, &m, &why), &m, 1);
}

static void hepos(void)
{
    heed_mechanism m = { .size = sizeof m };
    const heed_hepos_desc desc = { .size = sizeof desc, .q = rows(3), .o = rows(3),
                                   .text = keys(ROWS), .stride = 4 };

    draw("hepos", heed_hepos(&desc, &m, &why), &m, 1);
}

static void pagesum(void)
{
    static const int64_t pages[3] = { 5, ROWS, DIM }, o[2] = { ROWS, DIM }, w[1] = { DIM };
    heed_mechanism m = { .size = sizeof m };
    const heed_pagesum_desc desc = { .size = sizeof desc,
                                     .pages = heed_array_dense(HEED_F32, NULL, 3, pages).t,
                                     .w = heed_array_dense(HEED_F32, NULL, 1, w).t,
                                     .o = heed_array_dense(HEED_F32, NULL, 2, o).t };

    draw("pagesum", heed_pagesum(&desc, &m, &why), &m, 0);
}

static void pegasus_x(void)
{
    heed_mechanism m = { .size = sizeof m };
    const heed_pegasus_x_desc desc = { .size = sizeof desc, .flags = HEED_PEGASUS_X_STAGGERED,
                                       .q = rows(ROWS), .o = rows(ROWS), .text = keys(ROWS),
                                       .globals = keys(2), .block = 8 };

    draw("pegasus-x, staggered", heed_pegasus_x(&desc, &m, &why), &m, 0);
}

static void salient(void)
{
    heed_mechanism m = { .size = sizeof m };
    const heed_salient_desc desc = { .size = sizeof desc, .q = rows(ROWS), .o = rows(ROWS),
                                     .text = keys(ROWS), .prefix = keys(6) };

    draw("salient", heed_salient(&desc, &m, &why), &m, 0);
}

static void poolingformer(void)
{
    heed_mechanism m = { .size = sizeof m };
    const heed_poolingformer_desc desc = { .size = sizeof desc, .q = rows(ROWS),
                                           .o = rows(ROWS), .text = keys(ROWS), .n_globals = 2,
                                           .window = 3 };

    draw("poolingformer, level 1", heed_poolingformer_level1(&desc, &m, &why), &m, 0);
}

static void transformer_xl(void)
{
    heed_mechanism m = { .size = sizeof m };
    const heed_transformer_xl_desc desc = { .size = sizeof desc, .q = rows(ROWS),
                                            .o = rows(ROWS), .text = keys(ROWS),
                                            .memory = keys(8) };

    draw("transformer-xl", heed_transformer_xl(&desc, &m, &why), &m, 0);
}

static void compressive(void)
{
    heed_mechanism m = { .size = sizeof m };
    const heed_compressive_desc desc = { .size = sizeof desc, .q = rows(ROWS), .o = rows(ROWS),
                                         .text = keys(ROWS), .memory = keys(8),
                                         .compressed = keys(3) };

    draw("compressive transformer", heed_compressive(&desc, &m, &why), &m, 0);
}

static void deberta(void)
{
    static const float kr[HEADS][16][DIM], qr[HEADS][16][DIM];
    const int64_t shape[3] = { HEADS, 16, DIM };
    const heed_tensor table = heed_array_dense(HEED_F32, NULL, 3, shape).t;
    heed_mechanism m = { .size = sizeof m };
    const heed_deberta_desc desc = { .size = sizeof desc, .q = rows(ROWS), .o = rows(ROWS),
                                     .text = keys(ROWS), .kr = { table, kr },
                                     .qr = { table, qr }, .zero = 8, .window = 5 };

    draw("deberta, window", heed_deberta(&desc, &m, &why), &m, 0);
}

static void poolingformer_deberta(void)
{
    static const float kr[HEADS][16][DIM], global_kr[HEADS][8][DIM];
    static int32_t even[2 * (ROWS + 4) - 1];
    const int64_t shape[3] = { HEADS, 16, DIM }, global_shape[3] = { HEADS, 8, DIM };
    const int64_t far = ROWS + 4, entries = 2 * far - 1;
    heed_mechanism m = { .size = sizeof m };
    const heed_poolingformer_deberta_desc desc = {
        .size = sizeof desc, .q = rows(ROWS), .o = rows(ROWS), .text = keys(ROWS),
        .globals = keys(4), .kr = { heed_array_dense(HEED_F32, NULL, 3, shape).t, kr },
        .global_kr = { heed_array_dense(HEED_F32, NULL, 3, global_shape).t, global_kr },
        .global_map = { heed_array_dense(HEED_I32, NULL, 1, &entries).t, even },
        .zero = 8, .global_zero = far - 1, .window = 4,
    };

    if (heed_map_even(even, entries, far - 1, 4, (int32_t)far, HEED_MAP_REVERSED) < 0)
        abort();
    draw("poolingformer with deberta", heed_poolingformer_deberta(&desc, &m, &why), &m, 0);
}

static void top_down(void)
{
    heed_mechanism m = { .size = sizeof m };
    const heed_top_down_desc desc = { .size = sizeof desc, .q = rows(ROWS), .o = rows(ROWS),
                                      .top = keys(4) };

    draw("top-down", heed_top_down(&desc, &m, &why), &m, 0);
}

static void awesome(void)
{
    heed_mechanism m = { .size = sizeof m };
    const heed_awesome_desc desc = { .size = sizeof desc, .flags = HEED_AWESOME_CAUSAL,
                                     .q = rows(ROWS), .o = rows(ROWS), .text = keys(ROWS),
                                     .memory = keys(8), .compressed = keys(8) };

    draw("awesome, decoder", heed_awesome(&desc, &m, &why), &m, 0);
}

static void retrieval(void)
{
    static int32_t list[ROWS][3];
    heed_mechanism m = { .size = sizeof m };
    const heed_retrieval_desc desc = { .size = sizeof desc, .q = rows(ROWS), .o = rows(ROWS),
                                       .text = keys(ROWS), .memory = keys(16),
                                       .list = constant(list[0], 3, 1, ROWS, 3), .window = 5 };

    for (int i = 0; i < ROWS; i++)
        for (int x = 0; x < 3; x++)
            list[i][x] = (i * 5 + x * 7) % 16;
    draw("retrieval beside a text", heed_retrieval(&desc, &m, &why), &m, 0);
}

int main(void)
{
    longformer();
    global_rows();
    bigbird();
    longt5();
    lsg();
    hepos();
    pagesum();
    pegasus_x();
    salient();
    poolingformer();
    transformer_xl();
    compressive();
    deberta();
    poolingformer_deberta();
    top_down();
    awesome();
    retrieval();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
