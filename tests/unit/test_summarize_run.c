/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The demo from vectors to output: the attention mass, which is checked against sums
 * over all pairs in double, the choice of sentences, and what is printed.
 */
#include "examples/summarize/summarize.h"
#include "summarize_texts.h"
#include "support/suite.h"

#include <heed/heed.h>

#include <math.h>

enum { MAX_OUTPUT = 1 << 18 };

/* ---- attention mass ------------------------------------------------------ */

/* Rows of softmax(scale * q k^T) over |i - j| <= reach, times v; lse too. */
static void attend(const double *q, int64_t nq, const double *k, const double *v, int64_t nk,
                   double scale, int64_t reach, double *o, double *lse)
{
    const int64_t w = VECTOR_WIDTH;

    for (int64_t i = 0; i < nq; i++) {
        double sum = 0;

        for (int64_t t = 0; o && t < w; t++)
            o[i * w + t] = 0;
        for (int64_t j = 0; j < nk; j++) {
            double s = 0;

            if (reach >= 0 && (j < i - reach || j > i + reach))
                continue;
            for (int64_t t = 0; t < w; t++)
                s += q[i * w + t] * k[j * w + t];
            s = exp(s * scale);
            sum += s;
            for (int64_t t = 0; o && t < w; t++)
                o[i * w + t] += s * v[j * w + t];
        }
        for (int64_t t = 0; o && t < w; t++)
            o[i * w + t] /= sum;
        if (lse)
            lse[i] = log(sum);
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

/* The whole scheme by its definition, every vector present. */
static void mass_by_definition(const struct document *doc, const struct vectors *v, double *mass)
{
    const int64_t n = doc->n, m = doc->n_segments, w = VECTOR_WIDTH;
    double *const x = matrix(n), *const local = matrix(n), *const back = matrix(n);
    double *const pooled = matrix(m), *const topics = matrix(m), *const lse = matrix(n);
    float dense[VECTOR_WIDTH];

    for (int64_t i = 0; i < n; i++) {
        vectors_expand(v, i, dense);
        for (int64_t t = 0; t < w; t++)
            x[i * w + t] = (double)dense[t];
    }
    attend(x, n, x, x, n, 8, 24, local, NULL);
    for (int64_t k = 0; k < m; k++) {
        for (int64_t i = doc->segments[k]; i < doc->segments[k + 1]; i++) {
            for (int64_t t = 0; t < w; t++)
                pooled[k * w + t] += local[i * w + t];
        }
    }
    to_unit(pooled, m);
    attend(pooled, m, pooled, pooled, m, 8, -1, topics, NULL);
    attend(x, n, pooled, topics, m, 8, -1, back, NULL);
    to_unit(local, n);
    to_unit(back, n);
    for (int64_t i = 0; i < n * w; i++)
        local[i] += back[i];
    to_unit(local, n);
    attend(local, n, x, NULL, n, 8, -1, NULL, lse);
    for (int64_t j = 0; j < n; j++) {
        mass[j] = 0;
        for (int64_t i = 0; i < n; i++) {
            double s = 0;

            for (int64_t t = 0; t < w; t++)
                s += local[i * w + t] * x[j * w + t];
            mass[j] += exp(8 * s - lse[i]);
        }
    }
    free(x); free(local); free(back); free(pooled); free(topics); free(lse);
}

/* The i-th device of the host; false: there is none, or it cannot be used. */
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

/* A document and what is made of it. */
struct job {
    struct attend *attend;
    struct document doc;
    struct vectors vectors;
    struct summary summary;
    float *mass, *score;
};

/* As far as the mass, on a device by name. */
static void job_open(struct job *job, const char *name, const char *text)
{
    struct failure why = { .usage = false };

    *job = (struct job){ .attend = attend_open(name, &why) };
    ck_assert_msg(job->attend != NULL, "%s", why.text);
    ck_assert(document_split(&job->doc, text, strlen(text)));
    ck_assert(vectors_build(&job->vectors, &job->doc));
    ck_assert(document_segment(&job->doc, &job->vectors));
    job->mass = calloc((size_t)job->doc.n + 1, sizeof(*job->mass));
    ck_assert_ptr_nonnull(job->mass);
    ck_assert_msg(attend_mass(job->attend, &job->doc, &job->vectors, NULL, NULL, job->mass, &why),
                  "%s", why.text);
}

static void job_finish(struct job *job)
{
    free(job->mass);
    free(job->score);
    summary_finish(&job->summary);
    vectors_finish(&job->vectors);
    document_finish(&job->doc);
    attend_close(job->attend);
}

LOOP_TEST(mass_is_the_column_sum_of_all_attention_weights, 8)
{
    char name[64];
    char *const text = subjects(180);
    double wanted[180], sum = 0;
    struct job job;

    if (!host_device(_i, name)) {
        free(text);
        return;
    }
    job_open(&job, name, text);
    ck_assert_int_eq(job.doc.n, 180);
    ck_assert_int_gt(job.doc.n_segments, 1);
    ck_assert_str_eq(attend_device(job.attend), name);
    mass_by_definition(&job.doc, &job.vectors, wanted);
    for (int64_t i = 0; i < job.doc.n; i++) {
        const double mass = (double)job.mass[i];

        ck_assert_msg(fabs(mass - wanted[i]) <= 1e-4 * wanted[i],
                      "sentence %lld: %.8g, wanted %.8g", (long long)i, mass, wanted[i]);
        sum += mass;
    }
    ck_assert_double_eq_tol(sum, 180, 0.01);         /* every sentence gives away 1 */
    job_finish(&job);
    free(text);
}

/* More sentences than one call takes and than the probe reaches: pairs within reach are
 * seen from both sides, so what is given away still arrives. */
TEST(mass_of_a_very_long_document_is_conserved)
{
    char *const text = subjects(4200);
    double sum = 0;
    struct job job;

    job_open(&job, NULL, text);
    ck_assert_int_eq(job.doc.n, 4200);
    for (int64_t i = 0; i < job.doc.n; i++) {
        ck_assert_float_gt(job.mass[i], 0.0f);
        sum += (double)job.mass[i];
    }
    ck_assert_double_eq_tol(sum, 4200, 0.2);
    job_finish(&job);
    free(text);
}

TEST(an_unknown_device_is_a_usage_error_with_a_reason)
{
    struct failure why = { .usage = false };

    ck_assert_ptr_null(attend_open("no such device", &why));
    ck_assert(why.usage);
    ck_assert_ptr_nonnull(strstr(why.text, "HEED_E_NOT_FOUND"));
}

/* ---- choice and output --------------------------------------------------- */

/* From a document with its mass to its summary. */
static void job_run(struct job *job, const char *text, int64_t budget)
{
    job_open(job, NULL, text);
    job->score = calloc((size_t)job->doc.n + 1, sizeof(*job->score));
    ck_assert_ptr_nonnull(job->score);
    salience_score(&job->doc, &job->vectors, job->mass, job->score);
    for (int64_t i = 0; i < job->doc.n; i++)
        ck_assert(isfinite(job->score[i]));
    ck_assert(summary_choose(&job->summary, &job->doc, &job->vectors, job->score, budget));
}

/* What `print` puts out for `text`. */
static const char *summarize(const char *text, int64_t budget,
                             void (*print)(FILE *, const struct report *), int64_t *words)
{
    static char output[MAX_OUTPUT];
    struct job job;
    FILE *const file = tmpfile();
    size_t got;

    ck_assert_ptr_nonnull(file);
    job_run(&job, text, budget);
    {
        const struct report r = {
            .doc = &job.doc, .summary = &job.summary, .mass = job.mass, .score = job.score,
            .file = "a \"file\"\n", .device = attend_device(job.attend), .budget = budget,
            .all = true
        };

        print(file, &r);
    }
    *words = job.summary.words;
    job_finish(&job);
    rewind(file);
    got = fread(output, 1, sizeof(output) - 1, file);
    output[got] = '\0';
    fclose(file);
    return output;
}

/* Words as white space separates them, every byte printable UTF-8. */
static int64_t inspect(const char *text)
{
    const char *const end = text + strlen(text);
    int64_t words = 0;
    bool inside = false;
    size_t taken;

    for (const char *c = text; c < end; c += taken) {
        const uint32_t code = utf8_next(c, end, &taken);

        ck_assert(code != UTF8_BAD || taken == 3);
        ck_assert(code == '\n' || !utf8_is_hidden(code));
        words += !inside && code != ' ' && code != '\n';
        inside = code != ' ' && code != '\n';
    }
    return words;
}

LOOP_TEST(the_budget_is_never_exceeded, 6)
{
    static const int64_t budgets[] = { 1, 2, 3, 7, 20, 50, 200, 1000 };
    char *const text = _i % 2 ? noise(8000, (uint32_t)_i) : subjects(120);

    for (size_t i = 0; i < sizeof(budgets) / sizeof(*budgets); i++) {
        int64_t counted;
        const char *const output = summarize(text, budgets[i], output_text, &counted);
        const int64_t words = inspect(output);

        ck_assert_int_ge(words, 1);
        ck_assert_int_le(words, counted);
        ck_assert_int_le(counted, budgets[i]);
    }
    free(text);
}

TEST(short_documents_are_their_own_summary)
{
    static const struct {
        const char *text, *summary;
    } cases[] = {
        { "", "" }, { "  \n \n", "" }, { "Hello there.", "Hello there.\n" },
        { "Hello  there.\nIt   is\tme.", "Hello there. It is me.\n" },
        { "!!!", "!!!\n" },
        { "Ann: Hi. Yes.\nBob: No.\n\nThe end.", "Ann: Hi. Yes.\nBob: No.\nThe end.\n" },
        { "Red \x1B[31m\x07 text \xE2\x80\xAE\xC2\x9B""end \xFF.",
          "Red [31m text end \xEF\xBF\xBD.\n" }
    };
    int64_t words;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        ck_assert_str_eq(summarize(cases[i].text, 200, output_text, &words),
                         cases[i].summary);
}

TEST(a_sentence_longer_than_the_budget_is_cut_between_words)
{
    static const char text[] = "Alpha beta gamma delta epsilon zeta eta theta.";
    static const char wide[] = "\xE6\xBC\xA2\xE5\xAD\x97\xE6\x96\x87";
    int64_t words;

    ck_assert_str_eq(summarize(text, 3, output_text, &words),
                     "Alpha beta gamma\xE2\x80\xA6\n");
    ck_assert_int_eq(words, 3);
    ck_assert_str_eq(summarize(wide, 2, output_text, &words),
                     "\xE6\xBC\xA2\xE5\xAD\x97\xE2\x80\xA6\n");
}

/* Every sentence stands in the text twice; likeness keeps the second one out. */
TEST(nothing_is_chosen_twice)
{
    char *const text = subjects(120);
    char *const twice = malloc(2 * strlen(text) + 2);
    struct job job;

    ck_assert_ptr_nonnull(twice);
    sprintf(twice, "%s %s", text, text);
    job_run(&job, twice, 60);
    ck_assert_int_eq(job.doc.n, 240);
    ck_assert_int_ge(job.summary.words, 55);
    for (int64_t i = 0; i < 120; i++)
        ck_assert(!job.summary.chosen[i] || !job.summary.chosen[i + 120]);
    job_finish(&job);
    free(twice);
    free(text);
}

/* Of sentences about one subject and a few strangers, the subject's are chosen. */
TEST(what_the_document_speaks_of_outweighs_asides)
{
    static const char *const asides[] = {
        "Quartz lamps flicker beside velvet curtains near marble fountains in seven plazas. ",
        "Zebra stripes puzzle young botanists drawing copper kettles with violet chalk again. ",
        "Gravel trucks hum along foggy ridges toward silent concrete towers at daybreak here. "
    };
    char *const text = subjects(90);
    char *const mixed = malloc(strlen(text) + 1000);
    struct job job;
    size_t half = strlen(text) / 2;
    double lowest = HUGE_VAL;

    ck_assert_ptr_nonnull(mixed);
    while (text[half - 2] != '.')
        half++;
    sprintf(mixed, "%.*s%s%s%s%s", (int)half, text, asides[0], asides[1], asides[2], text + half);
    job_run(&job, mixed, 100);
    ck_assert_int_eq(job.doc.n, 93);
    for (int64_t i = 0; i < job.doc.n; i++) {
        const bool aside = strncmp(mixed + job.doc.sentences[i].begin, "The ", 4) != 0;

        ck_assert(!aside || !job.summary.chosen[i]);
        if (!aside && (double)job.mass[i] < lowest)
            lowest = (double)job.mass[i];
    }
    ck_assert_double_gt(lowest, 0);
    job_finish(&job);
    free(mixed);
    free(text);
}

TEST(json_is_escaped_and_closed)
{
    static const char text[] = "Ann \"A\": no. She said \"so\\so\" \x01 twice.\n\nBob: \xFF Yes.";
    int64_t words;
    const char *const output = summarize(text, 100, output_json, &words);
    int depth = 0;
    bool string = false;

    inspect(output);
    for (const char *c = output; *c; c++) {
        if (string && *c == '\\') {
            ck_assert(c[1] == '"' || c[1] == '\\');
            c++;
        } else if (*c == '"') {
            string = !string;
        } else if (!string) {
            depth += (*c == '{' || *c == '[') - (*c == '}' || *c == ']');
        }
        ck_assert(!string || *c != '\n');
    }
    ck_assert(!string);
    ck_assert_int_eq(depth, 0);
    ck_assert_ptr_nonnull(strstr(output, "\"file\": \"a \\\"file\\\"\""));
    ck_assert_ptr_nonnull(strstr(output, "\"speaker\": \"Bob\""));
    ck_assert_ptr_nonnull(strstr(output, "so\\\\so"));
}

int main(void)
{
    return suite_run("summarize_run", 120, NULL, NULL);
}
