/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The arrays of a case as C, or in files beside the program, and what its outputs must be.
 */
#include "repro.h"

#include "conform/engine/place.h"

#include <inttypes.h>
#include <string.h>

/* Arrays that are longer lie in a file beside the program. */
enum { TEXT_MOST = 8192 };

/* What is written as one number: an element, of blocks a byte. */
static size_t unit_size(uint32_t dtype)
{
    return type_elements(dtype) > 1 ? 1 : cf_dtype_size(dtype);
}

static const char *c_type(uint32_t dtype)
{
    static const char *const types[] = { [1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t",
                                         [8] = "uint64_t" };

    return types[unit_size(dtype)];
}

static bool is_float(uint32_t dtype)
{
    return type_find(dtype)->exponent > 0;
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
    const size_t size = unit_size(dtype);

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

size_t repro_bytes(const struct operand *x, size_t *first, const unsigned char **data)
{
    const struct place *const place = x->place;
    int64_t low, high;

    place_span(place, &low, &high);
    *first = place->count ? (size_t)place->buf.offset - PLACE_GUARD : 0;
    *data = place->snapshot + (place->count ? PLACE_GUARD : 0);
    return place->count ? *first + (size_t)high : cf_dtype_size(place->t.dtype);
}

static bool has_data(const struct operand *x)
{
    return x->role != HEED_ROLE_OUT;
}

/* ---- what outputs must be ------------------------------------------------------------------ */

static void cell_print(struct buffer *b, const struct repro_cell *c)
{
    static const char *const kinds[] = { [REPRO_ANYTHING] = "ANYTHING", [REPRO_NAN] = "IS_NAN",
                                         [REPRO_NOT_FINITE] = "NOT_FINITE" };

    if (c->kind == REPRO_BITS)
        buffer_print(b, "    { BITS, 0x%" PRIx64 "u, 0, 0 },\n", c->bits);
    else if (c->kind != REPRO_WITHIN)
        buffer_print(b, "    { %s, 0, 0, 0 },\n", kinds[c->kind]);
    else if (c->want - c->want != 0)
        buffer_print(b, "    { WITHIN, 0, %s(double)HUGE_VALF, 0 },\n", c->want < 0 ? "-" : "");
    else
        buffer_print(b, "    { WITHIN, 0, %a, %a }, /* %.9g within %.3g */\n", c->want, c->bound,
                     c->want, c->bound);
}

static void cells_print(struct buffer *b, int number, const struct repro_cell *cells, int64_t n)
{
    buffer_print(b, "\nstatic const struct cell want%d[] = {\n", number);
    for (int64_t i = 0; i < n; i++)
        cell_print(b, &cells[i]);
    buffer_print(b, "%s};\n", n ? "" : "    { ANYTHING, 0, 0, 0 },\n");
}

/* ---- data ---------------------------------------------------------------------------------- */

static bool file_print(struct repro_work *w, const struct operand *x, const char *stem, int number,
                       const unsigned char *data, size_t bytes)
{
    struct buffer name = { 0 };
    bool good;

    buffer_print(&name, "%s/%s.%s.bin", w->r->folder, stem, x->name);
    good = !name.lost && repro_file_write(buffer_text(&name), data, bytes);
    buffer_free(&name);
    buffer_print(&w->text, "\nstatic %s data%d[%zu]; /* from %s.%s.bin */\n",
                 c_type(x->place->t.dtype), number, bytes / unit_size(x->place->t.dtype), stem,
                 x->name);
    return good;
}

static void loads_print(struct repro_work *w, const char *stem)
{
    struct buffer *const b = &w->text;
    bool files = false;
    size_t first;
    const unsigned char *data;

    for (int i = 0; i < w->job->n; i++)
        files = files || (has_data(&w->job->operand[i]) &&
                          repro_bytes(&w->job->operand[i], &first, &data) > TEXT_MOST);
    if (files)
        buffer_print(b, "\nstatic void file_load(const char *name, void *to, size_t bytes)\n{\n"
                        "    FILE *const file = fopen(name, \"rb\");\n\n"
                        "    if (!file || fread(to, 1, bytes, file) != bytes) {\n"
                        "        printf(\"%%s is wanted in the folder that the program runs "
                        "in\\n\", name);\n        exit(2);\n    }\n    fclose(file);\n}\n");
    buffer_print(b, "\nstatic void files_load(void)\n{\n");
    for (int i = 0; i < w->job->n; i++) {
        const struct operand *const x = &w->job->operand[i];

        if (has_data(x) && repro_bytes(x, &first, &data) > TEXT_MOST)
            buffer_print(b, "    file_load(\"%s.%s.bin\", data%d, sizeof data%d);\n", stem, x->name,
                         i, i);
    }
    buffer_print(b, "}\n");
}

/* As they lie in memory. */
bool repro_data_print(struct repro_work *w, const char *stem)
{
    bool good = true;

    for (int i = 0; i < w->job->n && good; i++) {
        const struct operand *const x = &w->job->operand[i];
        const uint32_t dtype = x->place->t.dtype;
        const unsigned char *data;
        size_t first;
        const size_t bytes = repro_bytes(x, &first, &data);

        if (w->cells[i])
            cells_print(&w->text, i, w->cells[i], repro_cells_count(x->out));
        if (!has_data(x))
            continue;
        if (bytes > TEXT_MOST) {
            good = file_print(w, x, stem, i, data, bytes);
            continue;
        }
        buffer_print(&w->text, "\nstatic const %s data%d[] = { /* %s */\n", c_type(dtype), i,
                     x->name);
        elements_print(&w->text, dtype, data, (int64_t)(bytes / unit_size(dtype)));
        buffer_print(&w->text, "};\n");
    }
    loads_print(w, stem);
    return good;
}

/* The tensor, of a type in blocks that of its bytes. */
static heed_tensor units_of(const heed_tensor *t)
{
    const int64_t size = (int64_t)cf_dtype_size(t->dtype);
    heed_tensor out = *t;

    if (unit_size(t->dtype) == cf_dtype_size(t->dtype))
        return out;
    out.dtype = HEED_U8;
    for (uint32_t i = 0; i + 1 < t->ndim; i++)
        out.stride[i] *= size;
    out.shape[t->ndim - 1] = type_pieces(t->dtype, t->shape[t->ndim - 1]) * size;
    return out;
}

void repro_blocks_print(struct repro_work *w)
{
    static const char *const roles[] = { [HEED_ROLE_IN] = "IN", [HEED_ROLE_OUT] = "OUT",
                                         [HEED_ROLE_STATE] = "STATE" };
    struct buffer *const b = &w->text;

    for (int i = 0; i < w->job->n; i++) {
        const struct operand *const x = &w->job->operand[i];
        const unsigned char *data;
        size_t first;
        const size_t bytes = repro_bytes(x, &first, &data);

        buffer_print(b, "    { \"%s\", %s, ", x->name, x->constant ? "CONSTANT" : roles[x->role]);
        buffer_print(b, has_data(x) ? "data%d, " : "NULL, ", i);
        const heed_tensor t = units_of(&x->place->t);

        buffer_print(b, "%zu, %zu, %zu,\n      ", bytes, first, unit_size(x->place->t.dtype));
        repro_tensor_print(b, &t);
        buffer_print(b, w->cells[i] ? ", want%d },\n" : ", NULL },\n", i);
    }
}

void repro_operands_print(struct repro_work *w)
{
    for (int i = 0; i < w->n_order; i++)
        buffer_print(&w->text, "%s%d,", i % 16 ? " " : i ? "\n    " : "    ", w->order[i]);
    buffer_print(&w->text, "\n");
}
