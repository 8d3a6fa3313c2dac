/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The demo from vectors to the attention mass, which is checked against sums over all
 * pairs in double and, bit for bit, on every device of the host.
 */
#include "summarize_job.h"
#include "summarize_texts.h"
#include "support/suite.h"

#include <heed/heed.h>

/* ---- by definition --------------------------------------------------------- */

/* Rows of softmax(scale * q k^T) over |i - j| <= reach, times v. */
static void attend(const double *q, int64_t nq, const double *k, const double *v, int64_t nk,
                   double scale, int64_t reach, double *o)
{
    const int64_t w = VECTOR_WIDTH;

    for (int64_t i = 0; i < nq; i++) {
        double sum = 0;

        for (int64_t t = 0; t < w; t++)
            o[i * w + t] = 0;
        for (int64_t j = 0; j < nk; j++) {
            double s = 0;

            if (reach >= 0 && (j < i - reach || j > i + reach))
                continue;
            for (int64_t t = 0; t < w; t++)
                s += q[i * w + t] * k[j * w + t];
            s = exp(s * scale);
            sum += s;
            for (int64_t t = 0; t < w; t++)
                o[i * w + t] += s * v[j * w + t];
        }
        for (int64_t t = 0; t < w; t++)
            o[i * w + t] /= sum;
    }
}

static void to_unit(double *rows, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double square = 0;

        for (int t = 0; t < VECTOR_WIDTH; t++)
            square += rows[i * VECTOR_WIDTH + t] * rows[i * VECTOR_WIDTH + t];
        for (int t = 0; t < VECTOR_WIDTH; t++)
            rows[i * VECTOR_WIDTH + t] /= sqrt(square);
    }
}

static double *matrix(int64_t rows)
{
    double *const m = calloc((size_t)rows * VECTOR_WIDTH, sizeof(*m));

    ck_assert_ptr_nonnull(m);
    return m;
}

/* Vectors and views of all sentences, every vector present. */
static void views_by_definition(const struct document *doc, const struct vectors *v, double *x,
                                double *local)
{
    const int64_t n = doc->n, m = doc->n_segments, w = VECTOR_WIDTH;
    double *const back = matrix(n), *const pooled = matrix(m), *const topics = matrix(m);
    float dense[VECTOR_WIDTH];

    for (int64_t i = 0; i < n; i++) {
        vectors_expand(v, i, dense);
        for (int64_t t = 0; t < w; t++)
            x[i * w + t] = (double)dense[t];
    }
    attend(x, n, x, x, n, 8, 24, local);
    for (int64_t k = 0; k < m; k++) {
        for (int64_t i = doc->segments[k]; i < doc->segments[k + 1]; i++) {
            for (int64_t t = 0; t < w; t++)
                pooled[k * w + t] += local[i * w + t];
        }
    }
    to_unit(pooled, m);
    attend(pooled, m, pooled, pooled, m, 8, -1, topics);
    attend(x, n, pooled, topics, m, 8, -1, back);
    to_unit(local, n);
    to_unit(back, n);
    for (int64_t i = 0; i < n * w; i++)
        local[i] += back[i];
    to_unit(local, n);
    free(back); free(pooled); free(topics);
}

/* The part of a sum that rows [begin, end) of k have, as one row: their mean, by weight. */
static double part(const double *q, const double *k, const double *weight, int64_t begin,
                   int64_t end)
{
    double all = 0, dot = 0;

    for (int64_t j = begin; j < end; j++) {
        all += weight[j];
        for (int64_t t = 0; t < VECTOR_WIDTH; t++)
            dot += weight[j] * q[t] * k[j * VECTOR_WIDTH + t];
    }
    return end > begin ? all * exp(8 * dot / all) : 0;
}

/* Rows that count as one, for a row that is `away` chunks from theirs; 0: forgotten. */
static int64_t group_at(const struct limits *l, int64_t away)
{
    const int64_t first = l->chunk / 16, second = (first + 15) / 16;

    return away < 2 ? 1
           : (away - 1) * first <= l->capacity ? 16
           : (away - 1 - l->capacity / first) * second <= l->capacity ? l->chunk / second : 0;
}

/* Row i of a sum of weight[j] * exp(8 * q_i . k_j) over all j. */
static double seen(const double *q, const double *k, const double *weight, int64_t n, int64_t i,
                   const struct limits *l)
{
    double sum = 0;

    for (int64_t at = 0; at < n; at += l->chunk) {
        const int64_t group = group_at(l, llabs(at / l->chunk - i / l->chunk));
        const int64_t end = at + l->chunk < n ? at + l->chunk : n;

        for (int64_t j = at; group > 0 && j < end; j += group)
            sum += part(q + i * VECTOR_WIDTH, k, weight, j, j + group < end ? j + group : end);
    }
    return sum;
}

/* The whole scheme by its definition. */
static void mass_by_definition(const struct job *job, const struct limits *l, double *mass)
{
    const int64_t n = job->doc.n;
    double *const x = matrix(n), *const view = matrix(n);
    double *const weight = malloc((size_t)n * sizeof(*weight));
    double *const given = malloc((size_t)n * sizeof(*given));

    ck_assert(weight && given);
    views_by_definition(&job->doc, &job->vectors, x, view);
    for (int64_t i = 0; i < n; i++)
        weight[i] = 1;
    for (int64_t i = 0; i < n; i++)
        given[i] = 1 / seen(view, x, weight, n, i, l);
    for (int64_t j = 0; j < n; j++)
        mass[j] = seen(x, view, given, n, j, l);
    free(x); free(view); free(weight); free(given);
}

/* ---- tests ----------------------------------------------------------------- */

/* The i-th device, if it is the host's and can be used: others would compile kernels first. */
static bool host_device(int i, char name[64])
{
    heed_device_props props = { .size = sizeof props };
    heed_runtime *rt = NULL;
    bool found;

    ck_assert_int_eq(heed_runtime_create(NULL, &rt, NULL), HEED_OK);
    found = heed_device_info(heed_device_get(rt, (uint32_t)i), &props) >= 0 &&
            props.kind < HEED_DEVICE_OPENCL && props.usable >= 0;
    memcpy(name, props.name, sizeof props.name);
    heed_runtime_destroy(rt);
    return found;
}

/* All near; all near in two chunks; and a document that is longer than its memory. */
static const struct {
    int sentences;
    struct limits limits;
} shapes[] = {
    { 180, { .chunk = 1024, .capacity = 256, .candidates = 4096 } },
    { 180, { .chunk = 128, .capacity = 8, .candidates = 10 } },
    { 413, { .chunk = 32, .capacity = 4, .candidates = 10 } },
    { 413, { .chunk = 64, .capacity = 0, .candidates = 10 } }
};
enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };

LOOP_TEST(mass_is_the_column_sum_of_all_attention_weights, SHAPES)
{
    char *const text = subjects(shapes[_i].sentences);
    double *const wanted = calloc((size_t)shapes[_i].sentences, sizeof(*wanted));
    struct job job;

    ck_assert_ptr_nonnull(wanted);
    job_open(&job, NULL, text, &shapes[_i].limits);
    ck_assert_int_eq(job.doc.n, shapes[_i].sentences);
    ck_assert_int_gt(job.doc.n_segments, 1);
    mass_by_definition(&job, &shapes[_i].limits, wanted);
    for (int64_t i = 0; i < job.doc.n; i++) {
        const double mass = (double)job.mass[i];

        ck_assert_msg(fabs(mass - wanted[i]) <= 1e-4 * wanted[i],
                      "sentence %lld: %.8g, wanted %.8g", (long long)i, mass, wanted[i]);
    }
    job_finish(&job);
    free(wanted);
    free(text);
}

/* The reference's mass and choice, near and far. */
LOOP_TEST(every_device_of_the_host_has_the_same_bits, 12 * 2)
{
    const int shape = 1 + _i % 2;
    char *const text = subjects(shapes[shape].sentences);
    char name[64];
    struct job job, wanted;

    if (suite_turn((size_t)(_i / 2 + shape), 2) && host_device(_i / 2, name)) {
        job_open(&job, name, text, &shapes[shape].limits);
        job_open(&wanted, "reference", text, &shapes[shape].limits);
        ck_assert_str_eq(attend_device(job.attend), name);
        job_choose(&job, 100);
        job_choose(&wanted, 100);
        for (int64_t i = 0; i < job.doc.n; i++) {
            ck_assert_msg(memcmp(&job.mass[i], &wanted.mass[i], sizeof(float)) == 0,
                          "%s, sentence %lld: %.8g, wanted %.8g", name, (long long)i,
                          (double)job.mass[i], (double)wanted.mass[i]);
            ck_assert(job.summary.chosen[i] == wanted.summary.chosen[i]);
        }
        job_finish(&job);
        job_finish(&wanted);
    }
    free(text);
}

/* More chunks than are near; nothing further away is remembered. Pairs within reach are seen
 * from both sides, so what is given away still arrives. */
LOOP_TEST(mass_is_conserved, 2)
{
    const struct limits limits = {
        .chunk = _i ? 1024 : 4096, .capacity = 0, .candidates = 4096
    };
    char *const text = subjects(4200);
    double sum = 0;
    struct job job;

    job_open(&job, NULL, text, &limits);
    ck_assert_int_eq(job.doc.n, 4200);
    for (int64_t i = 0; i < job.doc.n; i++) {
        ck_assert_float_gt(job.mass[i], 0.0f);
        sum += (double)job.mass[i];
    }
    ck_assert_double_eq_tol(sum, 4200, 0.2);
    job_finish(&job);
    free(text);
}

int main(void)
{
    return suite_run("summarize_mass", 120, NULL, NULL);
}
