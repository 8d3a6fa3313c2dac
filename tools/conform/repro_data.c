/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The arrays of a case as C, or in files beside the program, and what its outputs must be.
 */
#include "repro.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Arrays that are longer lie in a file beside the program. */
enum { TEXT_MOST = 8192 };

/* ---- what outputs must be ------------------------------------------------------------------ */

void repro_cells_make(struct repro_work *w)
{
    struct verdict v = { 0 };

    w->cells[0] = calloc((size_t)cf_array_count(&w->call->out) + 1, sizeof *w->cells[0]);
    w->cells[1] = calloc((size_t)cf_array_count(&w->call->out_lse) + 1, sizeof *w->cells[1]);
    v.cells[0] = w->cells[0];
    v.cells[1] = w->cells[1];
    if (v.cells[0] && v.cells[1])
        cf_judge_bound(w->p, w->call, &v);
    else
        w->text.lost = true;
}

static void cells_print(struct buffer *b, const char *name, const struct cf_cell *cells, int64_t n)
{
    static const char *const kinds[] = { [CELL_ANYTHING] = "ANYTHING", [CELL_WITHIN] = "WITHIN",
                                         [CELL_NAN] = "IS_NAN", [CELL_NOT_FINITE] = "NOT_FINITE" };

    buffer_print(b, "\nstatic const struct cell %s_want[] = {\n", name);
    for (int64_t i = 0; i < n; i++) {
        if (cells[i].kind != CELL_WITHIN)
            buffer_print(b, "    { %s, 0, 0 },\n", kinds[cells[i].kind]);
        else if (cells[i].want - cells[i].want != 0)
            buffer_print(b, "    { WITHIN, %s(double)HUGE_VALF, 0 },\n",
                         cells[i].want < 0 ? "-" : "");
        else
            buffer_print(b, "    { WITHIN, %a, %a }, /* %.9g within %.3g */\n", cells[i].want,
                         cells[i].bound, cells[i].want, cells[i].bound);
    }
    buffer_print(b, "%s};\n", n ? "" : "    { ANYTHING, 0, 0 },\n");
}

/* ---- data ---------------------------------------------------------------------------------- */

static const char *c_type(uint32_t dtype)
{
    static const char *const types[] = { [1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t",
                                         [8] = "uint64_t" };

    return types[cf_dtype_size(dtype)];
}

static bool is_float(uint32_t dtype)
{
    return dtype == HEED_F32 || dtype == HEED_F16 || dtype == HEED_BF16;
}

static uint64_t element(const unsigned char *at, size_t size)
{
    uint64_t x = 0;

    memcpy(&x, at, size); /* hosts of heed have the low byte first */
    return x;
}

/* Bits; of floats their values beside them. */
static void elements_print(struct buffer *b, uint32_t dtype, const unsigned char *at, int64_t n)
{
    enum { A_LINE = 6 };
    const size_t size = cf_dtype_size(dtype);

    for (int64_t i = 0; i < n; i += A_LINE) {
        const int64_t end = i + A_LINE < n ? i + A_LINE : n;

        buffer_print(b, "   ");
        for (int64_t j = i; j < end; j++)
            buffer_print(b, " 0x%0*" PRIx64 "%s,", (int)(2 * size),
                         element(at + (size_t)j * size, size), size == 8 ? "u" : "");
        for (int64_t j = i; j < end && is_float(dtype); j++)
            buffer_print(b, "%s %.5g", j == i ? " /*" : "",
                         (double)cf_decode(dtype, (uint32_t)element(at + (size_t)j * size, size)));
        buffer_print(b, is_float(dtype) ? " */\n" : "\n");
    }
}

bool repro_file_write(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(name, "wb");
    bool good = file && fwrite(bytes, 1, n, file) == n;

    if (file)
        good = fclose(file) == 0 && good;
    return good;
}

/* Inputs, as they lie in memory. */
bool repro_data_print(struct repro_work *w, const char *stem, bool *files)
{
    bool good = true;

    for (int i = 0; i < w->n_blocks && good; i++) {
        const struct repro_block *block = &w->block[i];
        const uint32_t dtype = block->place->t.dtype;
        const int64_t n = (int64_t)(block->bytes / cf_dtype_size(dtype));

        if (block->output)
            continue;
        if (block->bytes <= TEXT_MOST) {
            buffer_print(&w->text, "\nstatic const %s %s_data[] = {\n", c_type(dtype), block->name);
            elements_print(&w->text, dtype, block->data, n);
            buffer_print(&w->text, "};\n");
        } else {
            struct buffer name = { 0 };

            buffer_print(&name, "%s/%s.%s.bin", w->r->folder, stem, block->name);
            good = !name.lost && repro_file_write(buffer_text(&name), block->data, block->bytes);
            buffer_free(&name);
            buffer_print(&w->text, "\nstatic %s %s_data[%lld]; /* from %s.%s.bin */\n",
                         c_type(dtype), block->name, (long long)n, stem, block->name);
            *files = true;
        }
    }
    return good;
}

void repro_loads_print(struct repro_work *w, const char *stem, bool files)
{
    struct buffer *const b = &w->text;

    if (!files) {
        buffer_print(b, "\nstatic void files_load(void)\n{\n}\n");
        return;
    }
    buffer_print(b, "\nstatic void file_load(const char *name, void *to, size_t bytes)\n{\n"
                    "    FILE *const file = fopen(name, \"rb\");\n\n"
                    "    if (!file || fread(to, 1, bytes, file) != bytes) {\n"
                    "        printf(\"%%s is wanted in the folder that the program runs in\\n\", "
                    "name);\n        exit(2);\n    }\n    fclose(file);\n}\n\n"
                    "static void files_load(void)\n{\n");
    for (int i = 0; i < w->n_blocks; i++) {
        const struct repro_block *block = &w->block[i];

        if (!block->output && block->bytes > TEXT_MOST)
            buffer_print(b, "    file_load(\"%s.%s.bin\", %s_data, sizeof %s_data);\n", stem,
                         block->name, block->name, block->name);
    }
    buffer_print(b, "}\n");
}

void repro_blocks_print(struct repro_work *w)
{
    struct buffer *const b = &w->text;
    const int n = w->r->device ? w->n_bound : w->n_blocks;

    buffer_print(b, "\n/* The arrays: all their bytes, and how many lie before element [0]...; "
                    "data NULL: an\n * output. */\nenum { N_BLOCKS = %d };\n"
                    "static const struct block {\n    const char *name;\n    const void *data;\n"
                    "    size_t bytes, first;\n} blocks[N_BLOCKS] = {\n",
                 n);
    for (int i = 0; i < n; i++) {
        const struct repro_block *block = &w->block[i];

        buffer_print(b, "    { \"%s\", %s%s, %zu, %zu },\n", block->name,
                     block->output ? "NULL" : block->name, block->output ? "" : "_data",
                     block->bytes, block->first);
    }
    buffer_print(b, "};\n");
}

/* ---- judges ---------------------------------------------------------------------------------- */

/* The bits that an output must have, in row-major order. Packed rows of no sequence stay. */
static void bits_print(struct repro_work *w, const char *name, const struct array *out)
{
    const size_t size = cf_dtype_size(out->dtype);
    const int64_t n = cf_array_count(out), channels = out->trailing == 3 ? out->shape[3] : 1;
    unsigned char *want = malloc((size_t)(n + 1) * size);
    struct item_view view;

    if (!want) {
        w->text.lost = true;
        return;
    }
    memset(want, 0xa5, (size_t)(n + 1) * size);
    for (int64_t i = 0; i < w->p->n_items * w->p->heads; i++) {
        const int64_t b = i / w->p->heads, h = i % w->p->heads;

        cf_item_view(w->p, b, &view);
        for (int64_t row = 0; row < cf_rows_of(w->p, &view); row++) {
            const int64_t place = view.q_begin + row;
            const int64_t at = out->trailing == 3 ? cf_array_at(out, b, h, place, 0)
                                                  : cf_array_at(out, b, 0, h, place);

            memcpy(want + (size_t)at * size, (const unsigned char *)out->data + (size_t)at * size,
                   (size_t)channels * size);
        }
    }
    buffer_print(&w->text, "\nstatic const %s %s_want[] = {\n", c_type(out->dtype), name);
    elements_print(&w->text, out->dtype, want, n ? n : 1);
    buffer_print(&w->text, "};\n");
    free(want);
}

static void output_judge(struct repro_work *w, int i, const char *or)
{
    const struct repro_block *block = &w->block[i];
    const size_t size = cf_dtype_size(block->place->t.dtype);
    struct buffer *const b = &w->text;

    buffer_print(b, "%swrong(\"%s\", &outputs.%s, %zu, got[%d] + %zu, ", or, block->name,
                 block->name, size, i, block->first);
    if (w->judge == REPRO_REFERENCE)
        buffer_print(b, "want[%d] + %zu)", i, block->first);
    else
        buffer_print(b, "%s_want)", block->name);
    buffer_print(b, " ||\n           gaps_wrong(\"%s\", &outputs.%s, %zu, got[%d], %zu, %zu)",
                 block->name, block->name, size, i, block->bytes, block->first);
}

void repro_judges_print(struct repro_work *w)
{
    const struct call *call = w->call;
    struct buffer *const b = &w->text;

    buffer_print(b, "\n/* ---- what must come out ---- */\n%s%s%s", repro_values,
                 repro_compare[w->judge], repro_gaps);
    if (w->judge == REPRO_BOUND)
        cells_print(b, "o", w->cells[0], cf_array_count(&call->out));
    if (w->judge == REPRO_BOUND && call->has_lse)
        cells_print(b, "lse", w->cells[1], cf_array_count(&call->out_lse));
    if (w->judge == REPRO_BITS)
        bits_print(w, "o", &call->out);
    if (w->judge == REPRO_BITS && call->has_lse)
        bits_print(w, "lse", &call->out_lse);
    buffer_print(b, "\nstatic int judge(%sunsigned char **got)\n{\n",
                 w->r->device ? "unsigned char **want, " : "");
    if (w->r->device && w->judge != REPRO_REFERENCE)
        buffer_print(b, "    (void)want;\n");
    output_judge(w, 1, "    return ");
    if (call->has_lse)
        output_judge(w, 2, " ||\n           ");
    buffer_print(b, ";\n}\n");
}
