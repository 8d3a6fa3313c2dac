/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workers share the keys of a head. The loop has no use for few rows of q: it would compute rows
 * that nobody asked for, and the selection would look better beside it than it is.
 */
#include "bench/products.h"

#include "bench/contents.h"
#include "peak/peak.h"

#include <math.h>
#include <stdlib.h>

static const double one_burst = 10e-3;  /* seconds at least */

struct products {
    const struct ceiling *ceiling;
    size_t heads, group;                /* query heads, those of one key head */
    size_t rows, keys, d, times;
    float *q, *k;                       /* [heads][d][rows], [heads / group][keys][d] */
    float *out;                         /* [threads][PEAK_SCORE_KEYS][rows] */
};

static void work(void *arg, unsigned worker)
{
    struct products *const p = arg;
    const unsigned threads = team_threads(p->ceiling->team);
    const size_t first = p->keys * worker / threads, last = p->keys * (worker + 1) / threads;
    float *const out = p->out + worker * PEAK_SCORE_KEYS * p->rows;

    for (size_t i = 0; i < p->times; i++) {
        for (size_t head = 0; head < p->heads; head++) {
            const float *const keys = p->k + head / p->group * p->keys * p->d;

            p->ceiling->peak->scorer(p->q + head * p->d * p->rows, p->rows, keys + first * p->d,
                                     last - first, p->d, out);
        }
    }
}

static double seconds(struct products *p, size_t times)
{
    p->times = times;
    return ceiling_seconds(p->ceiling, team_run(p->ceiling->team, work, p)) / (double)times;
}

static bool get_memory(struct products *p)
{
    const size_t threads = team_threads(p->ceiling->team);
    const struct contents uniform = { CONTENTS_UNIFORM, 1, 0 };
    const heed_tensor q = heed_array4(HEED_F32, NULL, 1, (int64_t)p->heads, (int64_t)p->d,
                                      (int64_t)p->rows).t;
    const heed_tensor k = heed_array4(HEED_F32, NULL, 1, (int64_t)(p->heads / p->group),
                                      (int64_t)p->keys, (int64_t)p->d).t;

    p->q = contents_memory((size_t)contents_bytes(&q));
    p->k = contents_memory((size_t)contents_bytes(&k));
    p->out = contents_memory(threads * PEAK_SCORE_KEYS * p->rows * sizeof *p->out);
    if (p->q == NULL || p->k == NULL || p->out == NULL)
        return false;
    contents_fill(p->q, &q, uniform, 1);
    contents_fill(p->k, &k, uniform, 2);
    return true;
}

struct products *products_create(const struct ceiling *ceiling, const struct workload *load)
{
    const unsigned threads = team_threads(ceiling->team);
    const double burst = one_burst * ceiling->pace;
    struct products *p = NULL;
    double once;

    if (ceiling->peak == NULL || load->kind != WORKLOAD_SELECT_TOPK || load->dtype != HEED_F32
        || load->queries % PEAK_SCORE_ROWS != 0
        || load->n < (int64_t)threads * (PEAK_SCORE_KEYS + 1))
        return NULL;
    p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    *p = (struct products){
        .ceiling = ceiling,
        .heads = (size_t)(load->b * load->h), .group = (size_t)(load->h / load->hk),
        .rows = (size_t)load->queries, .keys = (size_t)load->n, .d = (size_t)load->d,
    };
    if (!get_memory(p)) {
        products_destroy(p);
        return NULL;
    }
    seconds(p, 1);
    once = seconds(p, 1);
    p->times = once > burst / 1e6 ? (size_t)(burst / once) + 1 : 1000000;
    return p;
}

void products_destroy(struct products *p)
{
    if (p == NULL)
        return;
    free(p->q);
    free(p->k);
    free(p->out);
    free(p);
}

double products_seconds(struct products *p)
{
    return p != NULL ? seconds(p, p->times) : NAN;
}
