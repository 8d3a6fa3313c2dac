/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The picture of the demo's local attention, against weights summed over all pairs in double.
 */
#include "summarize_job.h"
#include "summarize_texts.h"
#include "support/suite.h"

/* The mass again, with the picture. */
static void take_pattern(struct job *job, struct pattern *pattern, const char *attention)
{
    struct failure why = { .usage = false };

    ck_assert(attend_look_by(job->attend, attention, &why));
    ck_assert(pattern_create(pattern, job->doc.n));
    attend_tell_pattern(job->attend, pattern);
    ck_assert_msg(attend_mass(job->attend, &job->doc, &job->vectors, NULL, NULL, job->mass, &why),
                  "%s", why.text);
}

/* Weights of sentence i to all others, whose sum is one; those further than `reach` have none. */
static void weights_by_definition(const struct job *job, int64_t i, int64_t reach, double *weight)
{
    float own[VECTOR_WIDTH];
    double sum = 0;

    vectors_expand(&job->vectors, i, own);
    for (int64_t j = 0; j < job->doc.n; j++) {
        float other[VECTOR_WIDTH];
        double dot = 0;

        vectors_expand(&job->vectors, j, other);
        for (int k = 0; k < VECTOR_WIDTH; k++)
            dot += (double)own[k] * (double)other[k];
        weight[j] = j != i && llabs(i - j) <= reach ? exp(8 * dot) : 0;
        sum += weight[j];
    }
    for (int64_t j = 0; j < job->doc.n; j++)
        weight[j] /= sum;
}

static const struct {
    const char *attention;
    int sentences;
    int64_t reach, step;
} cases[] = {
    { "window", 60, 24, 1 }, { "window", 413, 24, 5 }, { "full", 60, 1000, 1 },
    { "full", 120, 1000, 2 }
};

LOOP_TEST(cells_are_sums_of_attention_weights, sizeof(cases) / sizeof(*cases))
{
    char *const text = subjects(cases[_i].sentences);
    struct pattern pattern;
    struct job job;
    double *weight, *wanted;

    job_open(&job, NULL, text, NULL);
    take_pattern(&job, &pattern, cases[_i].attention);
    ck_assert_int_eq(pattern.step, cases[_i].step);
    weight = calloc((size_t)job.doc.n, sizeof(*weight));
    wanted = calloc((size_t)(pattern.cells * pattern.cells), sizeof(*wanted));
    ck_assert(weight && wanted);
    for (int64_t i = 0; i < job.doc.n; i++) {
        const int64_t row = i / pattern.step;

        weights_by_definition(&job, i, cases[_i].reach, weight);
        for (int64_t j = 0; j < job.doc.n; j++)
            wanted[row * pattern.cells + j / pattern.step] += weight[j];
    }
    for (int64_t at = 0; at < pattern.cells * pattern.cells; at++) {
        const int64_t row = at / pattern.cells, column = at % pattern.cells;
        const double rows = (double)pattern.rows[row];
        const double has = pattern_weight(&pattern, row, column);

        ck_assert_msg(fabs(has - wanted[at] / rows) <= 1e-4 && (has > 0) == (wanted[at] > 0),
                      "%s, cell %lld %lld: %.8g, wanted %.8g", cases[_i].attention,
                      (long long)row, (long long)column, has, wanted[at] / rows);
    }
    free(weight); free(wanted);
    pattern_finish(&pattern);
    job_finish(&job);
    free(text);
}

/* Every sentence of every block is there once, and gives all of its attention. */
LOOP_TEST(rows_of_several_blocks_give_all, 3)
{
    static const char *const names[] = { "window", "lsg", "full" };
    const char *const name = names[_i];
    char *const text = subjects(2100);
    struct pattern pattern;
    struct job job;
    int64_t rows = 0;

    job_open(&job, NULL, text, NULL);
    take_pattern(&job, &pattern, name);
    for (int64_t i = 0; i < pattern.cells; i++) {
        double sum = 0;

        for (int64_t j = 0; j < pattern.cells; j++)
            sum += pattern_weight(&pattern, i, j);
        ck_assert_msg(fabs(sum - 1) < 1e-3, "%s, row %lld: %.6f", name, (long long)i, sum);
        rows += pattern.rows[i];
    }
    ck_assert_int_eq(rows, job.doc.n);
    pattern_finish(&pattern);
    job_finish(&job);
    free(text);
}

int main(void)
{
    return suite_run("summarize_pattern", 120, NULL, NULL);
}
