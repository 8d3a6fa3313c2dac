/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rows.h"

#include "bar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 256 };                   /* at a time, for the bar */

static heed_status no_memory(heed_report *why)
{
    snprintf(why->message, sizeof why->message, "no memory for rows");
    why->field[0] = 0;
    return why->status = HEED_E_NOMEM;
}

/* Where lines begin and how long they are, unless `texts` is NULL; returns how many there are. */
static int64_t find(const char *text, size_t size, const char **texts, uint64_t *bytes)
{
    const char *at = text, *const end = text + size;
    int64_t n = 0;

    while (at < end) {
        const char *const stop = memchr(at, '\n', (size_t)(end - at));
        const char *const next = stop ? stop : end;

        if (texts) {
            texts[n] = at;
            bytes[n] = (uint64_t)(next - at);
        }
        n++;
        at = next + 1;
    }
    return n;
}

heed_status rows_vectors(const heed_model *model, heed_queue *queue, const char *text,
                          size_t size, float **rows, int64_t *n, heed_report *why)
{
    heed_model_props props = { .size = sizeof props };
    heed_status status = heed_model_info(model, &props);
    const char **texts;
    uint64_t *bytes;

    if (status < 0)
        return status;
    *n = size ? find(text, size, NULL, NULL) : 0;
    texts = malloc(((size_t)*n + 1) * sizeof *texts);
    bytes = malloc(((size_t)*n + 1) * sizeof *bytes);
    *rows = malloc(((size_t)*n * (size_t)props.channels + 1) * sizeof **rows);
    if (!texts || !bytes || !*rows) {
        status = no_memory(why);
    } else if (*n) {
        find(text, size, texts, bytes);
    }
    for (int64_t i = 0, step; status >= 0 && i < *n; i += step) {
        step = *n - i < LINES ? *n - i : LINES;
        bar_show("reading", (double)i / (double)*n);
        status = heed_model_vectors(model, queue, texts + i, bytes + i, step,
                                    *rows + i * props.channels, why);
    }
    free(texts);
    free(bytes);
    return status;
}

heed_status rows_looks(const heed_model *model, heed_queue *queue, const int32_t *ids, int64_t n,
                       const heed_generate_options *given, float **rows, int64_t *n_out,
                       heed_report *why)
{
    heed_model_props props = { .size = sizeof props };
    heed_generate_options options = *given;
    heed_status status = heed_model_info(model, &props);
    const int64_t most = props.decoder_positions, room = most < ROOM ? most : ROOM;
    int32_t *const out = malloc((size_t)(room + 1) * sizeof *out);
    int32_t *const groups = malloc((size_t)(n + 1) * sizeof *groups);

    *rows = malloc((size_t)(room * n + 1) * sizeof **rows);
    if (status >= 0 && (!out || !groups || !*rows))
        status = no_memory(why);
    for (int64_t i = 0; status >= 0 && i < n; i++)
        groups[i] = (int32_t)i;
    options.groups = groups;
    options.n_groups = n;
    options.weights = *rows;
    if (status >= 0)
        status = heed_model_generate(model, queue, ids, n, &options, out, room, n_out, why);
    free(out);
    free(groups);
    return status;
}
