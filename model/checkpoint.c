/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "checkpoint.h"

#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 16 << 20, INDEX = 16 << 20, TENSORS = 1 << 17, FIRST = 8 };

/* Types of the format (safetensors, 2022): those that heed computes with have its number. */
static const struct {
    const char *name;
    uint32_t dtype, bytes;
} types[] = {
    { "F32", HEED_F32, 4 }, { "F16", HEED_F16, 2 }, { "BF16", HEED_BF16, 2 }, { "F64", 0, 8 },
    { "I64", 0, 8 },        { "I32", 0, 4 },        { "I16", 0, 2 },          { "I8", 0, 1 },
    { "U64", 0, 8 },        { "U32", 0, 4 },        { "U16", 0, 2 },          { "U8", 0, 1 },
    { "BOOL", 0, 1 },       { "F8_E4M3", 0, 1 },    { "F8_E5M2", 0, 1 },
};

static const char index_name[] = "model.safetensors.index.json";

/* ---- one header ---- */

static bool extents(struct json *j, struct weight *weight, uint64_t *elements)
{
    *elements = 1;
    if (!json_array(j))
        return false;
    while (json_element(j)) {
        int64_t extent;

        if (!json_integer(j, &extent))
            return false;
        if (weight->ndim == CHECKPOINT_AXES)
            return json_fail(j, "more than 4 axes");
        if (extent < 0 || (extent > 0 && *elements > (uint64_t)(INT64_MAX / 8) / (uint64_t)extent))
            return json_fail(j, "extents that leave 63 bits");
        weight->shape[weight->ndim++] = extent;
        *elements *= (uint64_t)extent;
    }
    return !j->error;
}

static bool offsets(struct json *j, int64_t *begin, int64_t *end)
{
    return json_array(j) && json_element(j) && json_integer(j, begin) && json_element(j) &&
           json_integer(j, end) && !json_element(j) && !j->error;
}

static bool type(struct json *j, struct weight *weight, uint32_t *bytes)
{
    struct json_text text;

    if (!json_string(j, &text))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (json_is(&text, types[i].name)) {
            weight->dtype = types[i].dtype;
            *bytes = types[i].bytes;
            return true;
        }
    return json_fail(j, "an unknown element type");
}

/* What the header says of one tensor, whose bytes lie in [0, data). */
static bool tensor(struct json *j, int64_t data, struct weight *weight)
{
    int64_t begin = -1, end = -1;
    uint64_t elements = 0;
    uint32_t bytes = 0, seen = 0;
    struct json_text key;

    if (!json_object(j))
        return false;
    while (json_member(j, &key)) {
        const uint32_t which = json_is(&key, "dtype") ? 1 : json_is(&key, "shape") ? 2 :
                               json_is(&key, "data_offsets") ? 4 : 0;

        if (which == 0 || (seen & which))
            return json_fail(j, "a tensor has dtype, shape and data_offsets, each once");
        seen |= which;
        if (!(which == 1 ? type(j, weight, &bytes) : which == 2 ? extents(j, weight, &elements) :
              offsets(j, &begin, &end)))
            return false;
    }
    if (j->error)
        return false;
    if (seen != 7)
        return json_fail(j, "a tensor without dtype, shape or data_offsets");
    if (begin < 0 || end < begin || end > data)
        return json_fail(j, "data_offsets that are not within the file");
    if ((uint64_t)(end - begin) != elements * bytes)
        return json_fail(j, "data_offsets that are not as far apart as dtype and shape want");
    weight->begin = begin;
    weight->bytes = end - begin;
    return true;
}

static bool printable(const struct json_text *name)
{
    for (size_t i = 0; i < name->bytes; i++)
        if (name->at[i] <= ' ' || name->at[i] == 0x7f)
            return false;
    return !name->escaped && name->bytes > 0 && name->bytes < CHECKPOINT_NAME;
}

static struct weight *another(struct checkpoint *c)
{
    if (c->n == c->room) {
        const size_t room = c->room ? 2 * c->room : 256;
        struct weight *grown = realloc(c->weights, room * sizeof *grown);

        if (!grown)
            return NULL;
        c->weights = grown;
        c->room = room;
    }
    c->weights[c->n] = (struct weight){ .dtype = 0 };
    return &c->weights[c->n++];
}

/* Of the last file; HEED_E_VALUE has the mistake in j->error. */
static heed_status tensors(struct checkpoint *c, struct json *j, int64_t data)
{
    struct json_text key;

    if (!json_object(j))
        return HEED_E_VALUE;
    while (json_member(j, &key)) {
        struct weight *weight;

        if (json_is(&key, "__metadata__")) {
            if (!json_skip(j))
                return HEED_E_VALUE;
            continue;
        }
        if (!printable(&key) || c->n == TENSORS) {
            json_fail(j, c->n == TENSORS ? "more than 131072 tensors"
                                         : "a name that is not 1 to 255 printable characters");
            return HEED_E_VALUE;
        }
        weight = another(c);
        if (!weight)
            return HEED_E_NOMEM;
        if (!tensor(j, data, weight))
            return HEED_E_VALUE;
        weight->name = key.at;
        weight->name_bytes = (uint32_t)key.bytes;
        weight->file = c->n_files - 1;
    }
    return json_end(j) ? HEED_OK : HEED_E_VALUE;
}

/* ---- order ---- */

static int by_place(const void *left, const void *right)
{
    const struct weight *const a = left, *const b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static int compare(const char *a, size_t n, const char *b, size_t m)
{
    const int order = memcmp(a, b, n < m ? n : m);

    return order != 0 ? order : n < m ? -1 : n > m;
}

static int by_name(const void *left, const void *right)
{
    const struct weight *const a = left, *const b = right;

    return compare(a->name, a->name_bytes, b->name, b->name_bytes);
}

/* The tensors of the last file, from `first` on, lie one behind the other and fill it. */
static heed_status contiguous(struct checkpoint *c, size_t first, int64_t data, const char *name,
                              heed_report *report)
{
    int64_t end = 0;

    if (c->n > first)
        qsort(c->weights + first, c->n - first, sizeof *c->weights, by_place);
    for (size_t i = first; i < c->n; i++) {
        if (c->weights[i].begin != end)
            return say(report, HEED_E_VALUE, name, end, c->weights[i].begin,
                       "the tensor %.*s begins at byte %lld, not where another one ends",
                       (int)c->weights[i].name_bytes, c->weights[i].name,
                       (long long)c->weights[i].begin);
        end += c->weights[i].bytes;
    }
    if (end != data)
        return say(report, HEED_E_VALUE, name, end, data, "bytes that are no tensor's");
    return HEED_OK;
}

static heed_status unique(const struct checkpoint *c, heed_report *report)
{
    if (c->n)
        qsort(c->weights, c->n, sizeof *c->weights, by_name);
    for (size_t i = 1; i < c->n; i++)
        if (by_name(&c->weights[i - 1], &c->weights[i]) == 0)
            return say(report, HEED_E_VALUE, "tensors", 1, 2, "two tensors %.*s",
                       (int)c->weights[i].name_bytes, c->weights[i].name);
    return HEED_OK;
}

/* ---- files ---- */

/* The tensors of one more header, behind which `data` bytes lie, from byte `begin` of the file on.
 * Their names point into the text. */
static heed_status header(struct checkpoint *c, const char *name, const char *text, size_t bytes,
                          int64_t data, int64_t begin, heed_report *report)
{
    const size_t first = c->n;
    heed_status status;
    struct json j;

    json_begin(&j, text, bytes);
    status = tensors(c, &j, data);
    if (status == HEED_E_NOMEM)
        return say_no_memory(report, (int64_t)(2 * c->room * sizeof *c->weights));
    if (status < 0)
        return say(report, status, name, 0, j.at - j.begin, "header, byte %lld: %s",
                   (long long)(j.at - j.begin), j.error);
    status = contiguous(c, first, data, name, report);
    for (size_t i = first; i < c->n; i++)
        c->weights[i].begin += begin;
    return status;
}

static heed_status add_file(struct checkpoint *c, const char *folder, const char *name,
                            heed_report *report)
{
    struct file *const file = &c->files[c->n_files];
    unsigned char size[FIRST];
    heed_status status = file_open(folder, name, INT64_MAX / 2, file, report);
    uint64_t bytes = 0;

    if (status < 0)
        return status;
    c->headers[c->n_files++] = NULL;
    if (file->bytes < FIRST)
        return say(report, HEED_E_VALUE, name, FIRST, file->bytes, "the file has no header");
    status = file_read(file, 0, FIRST, size, report);
    if (status < 0)
        return status;
    for (int i = FIRST; i-- > 0;)
        bytes = bytes << 8 | size[i];
    if (bytes > HEADER || (int64_t)bytes > file->bytes - FIRST)
        return say(report, HEED_E_VALUE, name, HEADER, (int64_t)(bytes & INT64_MAX),
                   "a header that is longer than the file, or than 16 MiB");
    c->headers[c->n_files - 1] = malloc((size_t)bytes + 1);
    if (!c->headers[c->n_files - 1])
        return say_no_memory(report, (int64_t)bytes);
    status = file_read(file, FIRST, (int64_t)bytes, c->headers[c->n_files - 1], report);
    if (status < 0)
        return status;
    return header(c, name, c->headers[c->n_files - 1], (size_t)bytes,
                  file->bytes - FIRST - (int64_t)bytes, FIRST + (int64_t)bytes, report);
}

heed_status checkpoint_parse(const char *text, size_t bytes, int64_t data, struct checkpoint *c,
                             heed_report *report)
{
    heed_status status;

    *c = (struct checkpoint){ .n = 0 };
    status = header(c, "header", text, bytes, data, 0, report);
    if (status >= 0)
        status = unique(c, report);
    if (status < 0)
        checkpoint_close(c);
    return status;
}

bool checkpoint_shards(struct json *j, long *of)
{
    struct json_text key, name;

    *of = 0;
    if (!json_object(j))
        return false;
    while (json_member(j, &key)) {
        if (!json_is(&key, "weight_map")) {
            if (!json_skip(j))
                return false;
            continue;
        }
        if (!json_object(j))
            return false;
        while (json_member(j, &key)) {
            char text[64], own[64];
            long which, count;

            if (!json_string(j, &name))
                return false;
            if (name.bytes >= sizeof text)
                return json_fail(j, "a shard is named model-N-of-M.safetensors");
            memcpy(text, name.at, name.bytes);
            text[name.bytes] = 0;
            if (sscanf(text, "model-%5ld-of-%5ld.safetensors", &which, &count) != 2 ||
                which < 1 || count < which || count > CHECKPOINT_FILES ||
                (*of != 0 && *of != count))
                return json_fail(j, "a shard is named model-N-of-M.safetensors, M at most 256");
            snprintf(own, sizeof own, "model-%05ld-of-%05ld.safetensors", which, count);
            if (strcmp(own, text) != 0)
                return json_fail(j, "a shard is named model-N-of-M.safetensors");
            *of = count;
        }
    }
    return json_end(j) && (*of > 0 || json_fail(j, "no weight_map"));
}

static heed_status add_shards(struct checkpoint *c, const char *folder, heed_report *report)
{
    const char *const name = index_name;
    heed_status status;
    struct json j;
    size_t bytes;
    char *text;
    long of;

    status = file_load(folder, name, INDEX, &text, &bytes, report);
    if (status < 0)
        return status;
    json_begin(&j, text, bytes);
    if (!checkpoint_shards(&j, &of))
        status = say(report, HEED_E_VALUE, name, 0, json_line(&j), "line %lld: %s",
                     (long long)json_line(&j), j.error);
    free(text);
    for (long i = 1; i <= of && status >= 0; i++) {
        char shard[64];

        snprintf(shard, sizeof shard, "model-%05ld-of-%05ld.safetensors", i, of);
        status = add_file(c, folder, shard, report);
    }
    return status;
}

heed_status checkpoint_open(const char *folder, struct checkpoint *c, heed_report *report)
{
    heed_status status;

    *c = (struct checkpoint){ .n = 0 };
    status = add_file(c, folder, "model.safetensors", report);
    if (status == HEED_E_NOT_FOUND && c->n_files == 0) {
        heed_report index = { .size = sizeof index };

        status = add_shards(c, folder, &index);
        /* Without an index the first file is what is missing. */
        if (status != HEED_E_NOT_FOUND || strcmp(index.field, index_name) != 0)
            say(report, index.status, index.field, index.wanted, index.got, "%s", index.message);
    }
    if (status >= 0)
        status = unique(c, report);
    if (status < 0)
        checkpoint_close(c);
    return status;
}

void checkpoint_close(struct checkpoint *c)
{
    for (uint32_t i = 0; i < c->n_files; i++) {
        file_close(&c->files[i]);
        free(c->headers[i]);
    }
    free(c->weights);
    *c = (struct checkpoint){ .n = 0 };
}

const struct weight *checkpoint_find(const struct checkpoint *c, const char *name)
{
    const size_t bytes = strlen(name);
    size_t low = 0, high = c->n;

    while (low < high) {
        const size_t at = low + (high - low) / 2;
        const struct weight *const weight = &c->weights[at];
        const int order = compare(name, bytes, weight->name, weight->name_bytes);

        if (order == 0)
            return weight;
        if (order < 0)
            high = at;
        else
            low = at + 1;
    }
    return NULL;
}

/* Files are little-endian; elements have the order of the machine. */
static void turn(unsigned char *bytes, int64_t n, int64_t element)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    for (int64_t i = 0; first == 0 && i < n; i += element)
        for (int64_t k = 0; k < element / 2; k++) {
            const unsigned char other = bytes[i + k];

            bytes[i + k] = bytes[i + element - 1 - k];
            bytes[i + element - 1 - k] = other;
        }
}

heed_status checkpoint_read(const struct checkpoint *c, const struct weight *weight, void *to,
                            heed_report *report)
{
    heed_status status = file_read(&c->files[weight->file], weight->begin, weight->bytes, to,
                                   report);

    if (status >= 0)
        turn(to, weight->bytes, weight->dtype == HEED_F32 ? 4 : 2);
    return status;
}
