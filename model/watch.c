/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "watch.h"

#include "say.h"

#include <stdlib.h>
#include <string.h>

heed_status watch_check(const int32_t *groups, int64_t n, int64_t n_groups, heed_report *report)
{
    if (n_groups < 1 || n_groups > WATCH_GROUPS)
        return say(report, HEED_E_VALUE, "options.n_groups", WATCH_GROUPS, n_groups,
                   "%lld groups: 1 to %d", (long long)n_groups, WATCH_GROUPS);
    for (int64_t i = 0; i < n; i++)
        if (groups[i] < -1 || groups[i] >= n_groups)
            return say(report, HEED_E_VALUE, "options.groups", n_groups, groups[i],
                       "group %d of token %lld is none of %lld", (int)groups[i], (long long)i,
                       (long long)n_groups);
    return HEED_OK;
}

/* Of each key of the text, those of the encoder's own first, 1 in the channel of its group. */
static heed_status write_values(const struct watch *w, heed_queue *queue, const int32_t *groups,
                                int64_t own, int64_t n, heed_report *report)
{
    const uint64_t row = (uint64_t)w->groups * sizeof(float);
    float *const values = calloc((size_t)(own + n), (size_t)row);
    heed_status status;

    if (!values)
        return say_no_memory(report, (int64_t)((uint64_t)(own + n) * row));
    for (int64_t i = 0; i < n; i++)
        if (groups[i] >= 0)
            values[(own + i) * w->groups + groups[i]] = 1;
    status = heed_buf_write(queue, w->values, values, (uint64_t)(own + n) * row, report);
    free(values);
    return status;
}

heed_status watch_take(struct watch *w, const struct decoder *dec, heed_report *report)
{
    const int64_t heads = dec->p->decoder.heads, row = dec->rows * w->groups;
    heed_status status = heed_buf_read(dec->queue, w->layer, w->shares,
                                       (uint64_t)(heads * row) * sizeof(float), report);

    for (int64_t i = 0; i < heads * row && status >= 0; i++)
        w->sum[i % row] += (double)w->layer[i];
    return status;
}

static heed_status make(struct watch *w, const struct parameters *p, int64_t keys, int64_t rows,
                        heed_report *report)
{
    const uint64_t shares = (uint64_t)(p->decoder.heads * rows * w->groups);
    heed_status status;

    w->layer = malloc(shares * sizeof *w->layer);
    w->sum = calloc((size_t)(rows * w->groups), sizeof *w->sum);
    if (!w->layer || !w->sum)
        return say_no_memory(report, (int64_t)(shares * sizeof *w->layer));
    status = heed_buf_create(p->device, 4 * (uint64_t)(keys * w->groups), &w->values, report);
    return status < 0 ? status : heed_buf_create(p->device, 4 * shares, &w->shares, report);
}

heed_status watch(const struct parameters *p, heed_queue *queue, heed_buf states, int64_t own,
                  int64_t n, const int32_t *groups, int64_t n_groups, const int32_t *ids,
                  int64_t m, float *weights, heed_report *report)
{
    const int64_t rows = m - 1;            /* what follows the last one is not written */
    const double all = (double)(p->decoder.n_layers * p->decoder.heads);
    struct watch w = { .groups = n_groups };
    struct decoder decoder = { .p = NULL };
    heed_status status = HEED_OK;

    if (rows > 0)
        status = make(&w, p, own + n, rows, report);
    if (status >= 0 && rows > 0)
        status = write_values(&w, queue, groups, own, n, report);
    if (status >= 0 && rows > 0)
        status = decoder_open(&decoder, p, queue, states, own + n, 1, rows, rows, &w, report);
    if (status >= 0 && rows > 0)
        status = decoder_step(&decoder, ids, 0, NULL, report);
    if (status >= 0) {
        memset(weights, 0, (size_t)n_groups * sizeof *weights);
        for (int64_t i = 0; i < rows * n_groups; i++)
            weights[n_groups + i] = (float)(w.sum[i] / all);
    }
    decoder_close(&decoder);
    heed_buf_destroy(p->device, w.values);
    heed_buf_destroy(p->device, w.shares);
    free(w.layer);
    free(w.sum);
    return status;
}
