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
    const heed_longformer_desc desc = {
        .size = sizeof desc,
        .q = rows(ROWS),
        .o = rows(ROWS),
        .text = keys(ROWS),
        .window = 2,
        .n_globals = 1,
    };

    draw("longformer", heed_longformer(&desc, &m, &why), &m, 0);
}

static void global_rows(void)
{
    heed_mechanism m = { .size = sizeof m };
    const heed_global_rows_desc desc = {
        .size = sizeof desc,
        .q = rows(2),
        .o = rows(2),
        .text = keys(ROWS),
        .globals = keys(2),
    };

    draw("global rows", heed_global_rows(&desc, &m, &why), &m, 0);
}

int main(void)
{
    longformer();
    global_rows();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
