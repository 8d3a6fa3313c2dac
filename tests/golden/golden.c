/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * golden [--device NAME] [--write] FILE: runs the golden cases through the public API and compares
 * the SHA-256 of inputs, o and lse (as little-endian bytes) with the lines of FILE, or adds lines
 * of cases that have none or, in a new version of the numerics, other bits.
 * Of other operations than attention o is the first output, lse all others, one behind another.
 * Exit status: 0 equal, 1 not, 2 the file or the command line is wrong, 77 the device cannot be
 * used here.
 */
#include "golden.h"
#include "operations.h"

#include "../support/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct digests {
    char inputs[65], o[65], lse[65];
};

struct device {
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
};

/* The elements as little-endian bytes, whatever the machine. */
static void hash_elements(struct sha256 *hash, const void *data, uint32_t dtype, int64_t count)
{
    size_t size = golden_size_of(dtype);

    for (int64_t i = 0; i < count; i++) {
        const uint8_t *at = (const uint8_t *)data + (size_t)i * size;
        uint8_t bytes[64];
        uint64_t value = 0;
        uint32_t v32;
        uint16_t v16;

        if (size == 8) {
            memcpy(&value, at, 8);
        } else if (size == 4) {
            memcpy(&v32, at, 4);
            value = v32;
        } else if (size == 2) {
            memcpy(&v16, at, 2);
            value = v16;
        } else {
            value = *at;
        }
        if (size > 8) /* blocks, which are little-endian everywhere */
            memcpy(bytes, at, size);
        for (size_t b = 0; b < size && size <= 8; b++)
            bytes[b] = (uint8_t)(value >> 8 * b);
        sha256_add(hash, bytes, size);
    }
}

static void hash_one(char text[65], const void *data, uint32_t dtype, int64_t count)
{
    struct sha256 hash;

    sha256_start(&hash);
    hash_elements(&hash, data, dtype, count);
    sha256_finish(&hash, text);
}

static void hash_arrays(char text[65], const struct golden_array *arrays, int n)
{
    struct sha256 hash;

    sha256_start(&hash);
    for (int i = 0; i < n; i++)
        hash_elements(&hash, arrays[i].data, arrays[i].dtype, arrays[i].count);
    sha256_finish(&hash, text);
}

static int run_plan(const struct device *device, struct golden *g, const heed_plan *plan,
                    heed_report *report)
{
    heed_plan_props props = { .size = sizeof(props) };
    void *workspace;
    heed_status status;

    if (heed_plan_info(plan, &props) < 0)
        return 0;
    workspace = malloc((size_t)(props.workspace_size + props.workspace_align + 1));
    if (workspace == NULL)
        return 0;
    g->args.workspace.handle = workspace;
    if (props.workspace_align > 1)
        g->args.workspace.offset =
            props.workspace_align - (uintptr_t)workspace % props.workspace_align;
    g->args.workspace_size = props.workspace_size;
    status = heed_attn_run(plan, device->queue, &g->args, NULL, report);
    free(workspace);
    return status >= 0;
}

static int case_run(const struct device *device, const struct golden_case *c, uint64_t seed,
                    struct digests *out)
{
    heed_report report = { .size = sizeof(report) };
    struct golden *g = calloc(1, sizeof(*g));
    heed_plan *plan = NULL;
    int done = 0;

    if (g == NULL)
        return 0;
    golden_make(g, c, seed);
    if (heed_attn_plan(device->device, &g->desc, &plan, &report) >= 0)
        done = run_plan(device, g, plan, &report);
    if (!done)
        printf("# %s: %s: %s: %s\n", c->name, heed_status_name(report.status), report.field,
               report.message);
    hash_arrays(out->inputs, g->inputs, g->n_inputs);
    hash_one(out->o, g->o, g->desc.o.dtype, g->o_count);
    hash_one(out->lse, g->lse, HEED_F32, g->desc.lse.ndim ? g->lse_count : 0);
    heed_plan_drop(plan);
    golden_free(g);
    free(g);
    return done;
}

/* States are inputs before the run and outputs after it. */
static int call_run(const struct device *device, struct golden_call *c, struct digests *out)
{
    heed_report report = { .size = sizeof(report) };
    heed_status status;

    hash_arrays(out->inputs, c->g.inputs, c->g.n_inputs);
    status = c->run(c, device->queue, &report);
    if (status < 0)
        printf("# %s: %s: %s: %s\n", c->name, heed_status_name(status), report.field,
               report.message);
    hash_arrays(out->o, c->outputs, 1);
    hash_arrays(out->lse, c->outputs + 1, c->n_outputs - 1);
    return status >= 0;
}

/* The newest line of a case that this version has or left as it was, and its version; 0: there is
 * none. */
static int line_find(FILE *file, const char *name, struct digests *out)
{
    char line[512], found[64];
    int version, newest = 0;

    rewind(file);
    while (fgets(line, sizeof(line), file)) {
        struct digests here;

        if (sscanf(line, "%63s %d %64s %64s %64s", found, &version, here.inputs, here.o,
                   here.lse) != 5 ||
            strcmp(found, name) != 0 || version > HEED_NUMERICS_VERSION || version <= newest)
            continue;
        newest = version;
        *out = here;
    }
    return newest;
}

static int same(const struct digests *a, const struct digests *b)
{
    return strcmp(a->inputs, b->inputs) == 0 && strcmp(a->o, b->o) == 0 &&
           strcmp(a->lse, b->lse) == 0;
}

/* Adds the line of a case that has none, or other bits than in the version before. */
static int case_write(FILE *file, const char *name, const struct digests *got)
{
    struct digests old;
    const int version = line_find(file, name, &old);

    if (version && same(&old, got))
        return 1;
    if (version == HEED_NUMERICS_VERSION)
        return 0;
    return fseek(file, 0, SEEK_END) == 0 &&
           fprintf(file, "%s %d %s %s %s\n", name, HEED_NUMERICS_VERSION, got->inputs, got->o,
                   got->lse) > 0;
}

static int case_compare(FILE *file, const char *name, const struct digests *got)
{
    struct digests wanted;
    const char *what = NULL;

    if (!line_find(file, name, &wanted))
        what = "no line in the file";
    else if (strcmp(wanted.inputs, got->inputs) != 0)
        what = "the inputs differ";
    else if (strcmp(wanted.o, got->o) != 0)
        what = "o differs";
    else if (strcmp(wanted.lse, got->lse) != 0)
        what = "lse differs";
    if (what)
        printf("# %s: %s\n", name, what);
    return what == NULL;
}

/* 0, or the exit status. */
static int device_open(struct device *device, const char *name)
{
    heed_report report = { .size = sizeof(report) };
    heed_status status = heed_runtime_create(NULL, &device->runtime, &report);

    if (status >= 0)
        status = heed_device_find(device->runtime, name, &device->device, &report);
    if (status >= 0)
        status = heed_queue_create(device->device, 0, &device->queue, &report);
    if (status >= 0)
        return 0;
    fprintf(stderr, "golden: %s: %s\n", name, report.message);
    return status == HEED_E_UNSUPPORTED || status == HEED_E_NOT_BUILT ? 77 : 2;
}

/* FIPS 180-4, example "abc": a wrong judge must not speak. */
static int hash_works(void)
{
    struct sha256 hash;
    char text[65];

    sha256_start(&hash);
    sha256_add(&hash, "abc", 3);
    sha256_finish(&hash, text);
    return strcmp(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0;
}

struct book {
    FILE *file;
    int writing, passed, failed;
};

/* Compares or writes the digests of a case that was run. */
static void case_end(struct book *book, const char *name, int good, const struct digests *got)
{
    if (good && book->writing)
        good = case_write(book->file, name, got);
    else if (good)
        good = case_compare(book->file, name, got);
    book->passed += good;
    book->failed += !good;
    printf("%s %d - %s\n", good ? "ok" : "not ok", book->passed + book->failed, name);
}

static int cases_run(const struct device *device, struct book *book)
{
    struct golden_call *call = malloc(sizeof(*call));
    struct digests got;

    for (size_t i = 0; i < golden_n_cases; i++) {
        const int good = case_run(device, &golden_cases[i], 1000 + i, &got);

        case_end(book, golden_cases[i].name, good, &got);
    }
    for (size_t i = 0; call != NULL && golden_call_make(call, i); i++) {
        const int good = call_run(device, call, &got);

        case_end(book, call->name, good, &got);
        golden_call_free(call);
    }
    printf("1..%d\n%d passed, %d failed, 0 skipped\n", book->passed + book->failed, book->passed,
           book->failed);
    book->failed += call == NULL;
    free(call);
    return book->failed == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *name = "reference", *path = NULL;
    struct device device = { NULL, NULL, NULL };
    struct book book = { 0 };
    int result = 2;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--write") == 0)
            book.writing = 1;
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            name = argv[++i];
        else
            path = argv[i];
    }
    book.file = path ? fopen(path, book.writing ? "r+" : "r") : NULL;
    if (book.file == NULL) {
        fprintf(stderr, "usage: golden [--device NAME] [--write] FILE\n");
        return 2;
    }
    if (hash_works())
        result = device_open(&device, name);
    if (result == 0)
        result = cases_run(&device, &book);
    heed_queue_destroy(device.queue);
    heed_runtime_destroy(device.runtime);
    if (fclose(book.file) != 0)
        result = 2;
    return result;
}
