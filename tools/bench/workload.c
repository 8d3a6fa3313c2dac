/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parsing and the closed forms of the number of (query, key) pairs.
 */
#include "bench/workload.h"

#include "common/text.h"

#include <heed/heed.h>

#include <inttypes.h>
#include <string.h>

static const char *const kinds[] = { "dense", "causal", "window" };
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const struct {
    const char *name;
    uint32_t dtype;
} dtypes[] = { { "f32", HEED_F32 }, { "f16", HEED_F16 }, { "bf16", HEED_BF16 } };
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

static const struct {
    const char *name;
    size_t offset;
    int64_t low, high;
} numbers[] = {
    { "n", offsetof(struct workload, n), 1, INT64_C(1) << 30 },
    { "h", offsetof(struct workload, h), 1, 1 << 20 },
    { "hk", offsetof(struct workload, hk), 1, 1 << 20 },
    { "d", offsetof(struct workload, d), 1, 1 << 20 },
    { "b", offsetof(struct workload, b), 1, 1 << 20 },
    { "w", offsetof(struct workload, w), 0, INT64_C(1) << 30 },
};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

static const char *const defaults[] = {
    "dense:n=4096,d=64", "dense:n=4096,d=128", "dense:n=4096,d=64,dtype=bf16",
    "causal:n=4096,d=64", "window:n=16384,d=64,w=256", "window:n=16384,d=64,w=512",
};

const char *workload_default(size_t index)
{
    return index < sizeof defaults / sizeof *defaults ? defaults[index] : NULL;
}

const char *workload_name(const struct workload *load)
{
    return kinds[load->kind];
}

const char *workload_dtype(const struct workload *load)
{
    for (size_t i = 0; i < N_DTYPES; i++) {
        if (dtypes[i].dtype == load->dtype)
            return dtypes[i].name;
    }
    return "";
}

double workload_flops(const struct workload *load)
{
    const double n = (double)load->n;
    const double w = load->w < load->n - 1 ? (double)load->w : n - 1;
    double pairs = n * n;

    if (load->kind == WORKLOAD_CAUSAL)
        pairs = n * (n + 1) / 2;
    if (load->kind == WORKLOAD_WINDOW)
        pairs = n * (2 * w + 1) - w * (w + 1);
    return 4 * (double)load->d * pairs * (double)load->h * (double)load->b;
}

static void write_text(struct workload *load)
{
    char heads[32] = "", reach[32] = "";

    if (load->hk != load->h)
        snprintf(heads, sizeof heads, ",hk=%" PRId64, load->hk);
    if (load->kind == WORKLOAD_WINDOW)
        snprintf(reach, sizeof reach, ",w=%" PRId64, load->w);
    snprintf(load->text, sizeof load->text,
             "%s:n=%" PRId64 ",h=%" PRId64 "%s,d=%" PRId64 ",b=%" PRId64 "%s,dtype=%s",
             workload_name(load), load->n, load->h, heads, load->d, load->b, reach,
             workload_dtype(load));
}

/* One "key=value". */
static bool parse_pair(char *pair, struct workload *load, char *error, size_t size)
{
    char *value = strchr(pair, '=');

    if (value == NULL) {
        snprintf(error, size, "\"%s\" is not key=value", pair);
        return false;
    }
    *value++ = '\0';
    if (strcmp(pair, "dtype") == 0) {
        for (size_t i = 0; i < N_DTYPES; i++) {
            if (strcmp(dtypes[i].name, value) == 0) {
                load->dtype = dtypes[i].dtype;
                return true;
            }
        }
        snprintf(error, size, "dtype is f32, f16 or bf16, got \"%s\"", value);
        return false;
    }
    for (size_t i = 0; i < N_NUMBERS; i++) {
        int64_t *field = (int64_t *)(void *)((char *)load + numbers[i].offset);

        if (strcmp(numbers[i].name, pair) != 0)
            continue;
        if (text_integer(value, numbers[i].low, numbers[i].high, field))
            return true;
        snprintf(error, size, "%s is a whole number from %" PRId64 " to %" PRId64 ", got \"%s\"",
                 pair, numbers[i].low, numbers[i].high, value);
        return false;
    }
    snprintf(error, size, "unknown key \"%s\" (n, h, hk, d, b, w, dtype)", pair);
    return false;
}

/* Defaults of what was not given, and what must hold between the keys. */
static bool complete(struct workload *load, char *error, size_t size)
{
    if (load->w >= 0 && load->kind != WORKLOAD_WINDOW) {
        snprintf(error, size, "w belongs to window");
        return false;
    }
    if (load->n == 0)
        load->n = load->kind == WORKLOAD_WINDOW ? 16384 : 4096;
    if (load->w < 0)
        load->w = load->kind == WORKLOAD_WINDOW ? 256 : 0;
    if (load->hk == 0)
        load->hk = load->h;
    if (load->h % load->hk != 0) {
        snprintf(error, size, "h=%" PRId64 " is not a multiple of hk=%" PRId64, load->h,
                 load->hk);
        return false;
    }
    if ((double)load->b * (double)load->h * (double)load->n * (double)load->d > 0x1p40) {
        snprintf(error, size, "b*h*n*d is more than 2^40 elements");
        return false;
    }
    write_text(load);
    return true;
}

bool workload_parse(const char *text, struct workload *out, char *error, size_t error_size)
{
    struct workload load = { .dtype = HEED_F32, .h = 1, .d = 64, .b = 1, .w = -1 };
    char copy[256], *next = copy, *pair = NULL;
    size_t kind = 0;

    if (strlen(text) >= sizeof copy) {
        snprintf(error, error_size, "longer than %zu characters", sizeof copy - 1);
        return false;
    }
    strcpy(copy, text);
    next = strchr(copy, ':');
    if (next != NULL)
        *next++ = '\0';
    while (kind < N_KINDS && strcmp(kinds[kind], copy) != 0)
        kind++;
    if (kind == N_KINDS) {
        snprintf(error, error_size, "unknown workload \"%.80s\" (dense, causal, window)", copy);
        return false;
    }
    load.kind = (enum workload_kind)kind;
    while (next != NULL) {
        pair = next;
        next = strchr(pair, ',');
        if (next != NULL)
            *next++ = '\0';
        if (!parse_pair(pair, &load, error, error_size))
            return false;
    }
    if (!complete(&load, error, error_size))
        return false;
    *out = load;
    return true;
}
