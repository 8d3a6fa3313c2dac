/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a model makes of the demo's sentences: half of each vector, in squares, is its words, and
 * half what the model says of it less the mean of the document, by another way than embed.c goes.
 */
#include "unit/summarize_job.h"

#include "asking.h"

enum { D = 16, MOST = 32 };

static const char talk[] =
    "The ferry crosses the bay each morning. The crew counts passengers. And so it is. Fog delays "
    "the crossing in autumn. Ropes hold the ferry at the pier. Bees leave the hive in spring.";

/* Vectors of the model alone, less their mean, at a length of sqrt(1 / 2); *n: sentences. */
static void by_definition(const struct document *doc, const struct vectors *v, double x[MOST][D])
{
    double mean[D] = { 0 };
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
    heed_model *model;
    int64_t n = 0;

    ck_assert_int_eq(heed_runtime_create(NULL, &runtime, NULL), HEED_OK);
    ck_assert_int_eq(heed_device_find(runtime, "reference", &device, NULL), HEED_OK);
    ck_assert_int_eq(heed_queue_create(device, 0, &queue, NULL), HEED_OK);
    ck_assert_int_eq(heed_model_open(queue, folder_of("bytes"), NULL, &model, NULL), HEED_OK);
    for (int64_t i = 0; i < doc->n; i++) {
        const char *const at = doc->text + doc->sentences[i].begin;
        const uint64_t bytes = doc->sentences[i].end - doc->sentences[i].begin;
        float one[D];

        ck_assert_int_eq(heed_model_vectors(model, queue, &at, &bytes, 1, one, NULL), HEED_OK);
        for (int k = 0; k < D; k++) {
            x[i][k] = (double)one[k];
            mean[k] += vectors_has(v, i) ? (double)one[k] : 0;
        }
        n += vectors_has(v, i);
    }
    for (int64_t i = 0; i < doc->n; i++) {
        double square = 0;

        for (int k = 0; k < D; k++) {
            x[i][k] -= mean[k] / (double)n;
            square += x[i][k] * x[i][k];
        }
        for (int k = 0; k < D; k++)
            x[i][k] = vectors_has(v, i) ? x[i][k] * sqrt(0.5 / square) : 0;
    }
    heed_model_close(model);
    heed_queue_destroy(queue);
    heed_runtime_destroy(runtime);
}

TEST(half_of_a_vector_is_what_the_model_makes_of_it)
{
    /* A sum of the mean, a difference and a product, in binary32: of rows that are shorter than 2
     * and longer than 1 / 16 after the difference, which is looked at. */
    const double off = 16 * 4 * 0x1p-24;
    double wanted[MOST][D];
    struct document doc = { 0 };
    struct stream stream;
    struct vectors words, v;
    struct failure why = { .usage = false };
    struct embedding *e;
    struct asked asked;
    int64_t empty = 0;

    read_plain(&doc, &stream, talk);
    ck_assert(doc.n == 6 && vectors_build(&words, &doc) && vectors_build(&v, &doc));
    e = embedding_open(folder_of("bytes"), "cpu", &why);
    ck_assert_msg(e && embedding_add(e, &v, &doc, &why), "%s", why.text);
    ck_assert_int_eq(v.width, VECTOR_WIDTH + D);
    by_definition(&doc, &words, wanted);
    for (int64_t i = 0; i < doc.n; i++) {
        float was[VECTOR_MOST], is[VECTOR_MOST];
        double square = 0;

        vectors_expand(&words, i, was);
        vectors_expand(&v, i, is);
        for (int k = 0; k < VECTOR_WIDTH; k++)
            ck_assert_double_eq_tol((double)is[k], (double)was[k] * sqrt(0.5), 0x1p-24);
        for (int k = 0; k < D; k++)
            ck_assert_double_eq_tol((double)is[VECTOR_WIDTH + k], wanted[i][k], off);
        for (int k = 0; k < v.width; k++)
            square += (double)is[k] * (double)is[k];
        ck_assert_double_eq_tol(square, vectors_has(&v, i) ? 1 : 0, 1e-5);
        ck_assert_double_eq_tol((double)vectors_dot(&v, i, is), square, 1e-5);
        empty += !vectors_has(&v, i);
    }
    ck_assert_int_eq(empty, 1);                 /* "And so it is." */
    /* A query that is a sentence has the vector of the sentence. */
    ck_assert(vectors_ask(&asked, &doc, doc.text + doc.sentences[1].begin,
                          doc.sentences[1].end - doc.sentences[1].begin));
    ck_assert_msg(embedding_ask(e, &asked, doc.text + doc.sentences[1].begin,
                                doc.sentences[1].end - doc.sentences[1].begin, &why), "%s",
                  why.text);
    ck_assert_double_eq_tol((double)vectors_dot(&v, 1, asked.vector), 1, 1e-5);
    embedding_close(e);
    vectors_finish(&v);
    vectors_finish(&words);
    document_finish(&doc);
    stream_finish(&stream);
}

TEST(a_model_that_is_none_is_said)
{
    struct failure why = { .usage = false };

    ck_assert(!embedding_open("/nowhere", "cpu", &why) && why.usage && strstr(why.text, "config"));
    ck_assert(!embedding_open(folder_of("bytes"), "nothing", &why) && why.usage && *why.text);
}

int main(void)
{
    return suite_run("embed", 0, NULL, NULL);
}
