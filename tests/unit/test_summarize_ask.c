/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a reader asks the demo for: lengths, a query, keywords, several files, sections.
 */
#include "summarize_job.h"
#include "summarize_texts.h"
#include "support/suite.h"

static const char two_subjects[] =
    "The ferry crosses the bay each morning at nine. The crew counts passengers on the ferry. "
    "Fog delays the crossing in late autumn. The captain of the ferry watches the bay. "
    "Ropes hold the ferry at the old pier. Gulls follow the ferry across the water.\n\n"
    "Bees leave the hive when spring turns warm. A strong hive gathers honey all summer. "
    "The keeper opens each hive once a week. Honey flows best after a warm night. "
    "A weak queen leaves the hive before winter. Mites harm the brood of every hive.";

/* ---- lengths --------------------------------------------------------------- */

TEST(a_length_is_words_sentences_or_a_share_of_the_words)
{
    const struct document doc = { .words = 250 };
    struct budget b = length_budget((struct length){ 30, LENGTH_WORDS }, &doc);

    ck_assert(b.words == 30 && b.sentences == INT64_MAX && !b.whole);
    b = length_budget((struct length){ 3, LENGTH_SENTENCES }, &doc);
    ck_assert(b.words == INT64_MAX && b.sentences == 3 && b.whole);
    b = length_budget((struct length){ 10, LENGTH_PERCENT }, &doc);
    ck_assert(b.words == 25 && b.sentences == INT64_MAX && b.whole);
    b = length_budget((struct length){ 100, LENGTH_PERCENT }, &doc);
    ck_assert_int_eq(b.words, 250);
}

/* ---- a query --------------------------------------------------------------- */

static enum query_end ask(struct job *job, const char *device, const char *text,
                          const char *query, float *added)
{
    struct failure why = { .usage = false };
    enum query_end end;

    *job = (struct job){ .attend = attend_open(device, &why) };
    ck_assert_msg(job->attend != NULL, "%s", why.text);
    job->reading.format = format_named("plain");
    ck_assert_msg(reading_do(&job->reading, text, strlen(text), NULL, &why), "%s", why.text);
    ck_assert(document_split(&job->doc, &job->reading.stream, language_named("en")));
    ck_assert(vectors_build(&job->vectors, &job->doc));
    job->score = calloc((size_t)job->doc.n + 1, sizeof(*job->score));
    ck_assert_ptr_nonnull(job->score);
    end = query_add(job->attend, &job->doc, &job->vectors, NULL, query, strlen(query),
                    added, job->score, &why);
    ck_assert_msg(end != QUERY_FAILED, "%s", why.text);
    return end;
}

TEST(what_has_words_of_the_query_gains_most_and_its_neighbours_some)
{
    float added[16];
    struct job job;

    ck_assert_int_eq(ask(&job, NULL, two_subjects, "Who harms a brood?", added), QUERY_GOOD);
    ck_assert_int_eq(job.doc.n, 12);
    for (int64_t i = 0; i < job.doc.n; i++) {
        ck_assert(i == 11 || added[i] < added[11]);
        ck_assert_float_eq(added[i], job.score[i]);
        ck_assert(i < 5 ? added[i] < added[10] / 2 : added[i] > 0);
    }
    job_finish(&job);
}

TEST(a_query_without_content_and_one_without_an_answer_are_told_apart)
{
    float added[16];
    struct job job;

    ck_assert_int_eq(ask(&job, NULL, two_subjects, "of the and", added), QUERY_EMPTY);
    job_finish(&job);
    ck_assert_int_eq(ask(&job, NULL, two_subjects, "", added), QUERY_EMPTY);
    job_finish(&job);
    ck_assert_int_eq(ask(&job, NULL, two_subjects, "zeppelins", added), QUERY_NOT_FOUND);
    job_finish(&job);
    ck_assert_int_eq(ask(&job, NULL, "", "zeppelins", added), QUERY_NOT_FOUND);
    job_finish(&job);
}

/* More sentences than one call takes. */
TEST(relevance_has_the_bits_of_the_reference_on_every_device)
{
    enum { SENTENCES = 2100 };
    static float added[SENTENCES + 1], wanted[SENTENCES + 1];
    char *const text = subjects(SENTENCES);
    const char *word = text + strlen(text) / 2, *end;
    char query[64];
    struct job job;

    while (word[-1] != ' ')
        word++;
    for (end = word; end - word < 60 && *end != '.'; end++)
        ;
    snprintf(query, sizeof(query), "%.*s", (int)(end - word), word);
    ck_assert_int_eq(ask(&job, "reference", text, query, wanted), QUERY_GOOD);
    ck_assert_int_eq(job.doc.n, SENTENCES);
    job_finish(&job);
    ck_assert_int_eq(ask(&job, "cpu", text, query, added), QUERY_GOOD);
    job_finish(&job);
    ck_assert_mem_eq(added, wanted, SENTENCES * sizeof(*added));
    free(text);
}

/* ---- keywords -------------------------------------------------------------- */

TEST(keywords_are_the_words_that_say_most)
{
    struct job job;
    struct keywords k;
    char found[8][32];

    job_open(&job, NULL, two_subjects, NULL);
    job_choose(&job, 50);
    ck_assert(keywords_find(&k, &job.doc, job.score, 5));
    ck_assert_int_eq(k.n, 5);
    for (int64_t i = 0; i < k.n; i++) {
        ck_assert(i == 0 || k.list[i].score <= k.list[i - 1].score);
        snprintf(found[i], sizeof(found[i]), "%.*s", (int)(k.list[i].end - k.list[i].begin),
                 job.doc.text + k.list[i].begin);
    }
    ck_assert_msg(strcmp(found[0], "ferry") == 0 || strcmp(found[1], "ferry") == 0, "%s, %s",
                  found[0], found[1]);
    keywords_finish(&k);
    job_finish(&job);
}

TEST(a_pair_stands_for_its_words_and_is_spelt_as_most_often)
{
    static const char text[] =
        "Remote controls are lost in every home. The remote control of the lamp is red. "
        "We saw a remote control on the shelf. A remote control needs two cells. "
        "Shelves are made of oak, as ever before.";
    struct job job;
    struct keywords k;

    job_open(&job, NULL, text, NULL);
    job_choose(&job, 50);
    ck_assert(keywords_find(&k, &job.doc, job.score, 3));
    ck_assert_int_gt(k.n, 0);
    ck_assert_int_eq(k.list[0].count, 4);
    ck_assert_uint_eq(k.list[0].end - k.list[0].begin, 14);
    ck_assert_mem_eq(job.doc.text + k.list[0].begin, "remote control", 14);
    keywords_finish(&k);
    job_finish(&job);
}

/* ---- files ----------------------------------------------------------------- */

TEST(bytes_of_several_files_know_where_they_came_from)
{
    static const char *const texts[] = {
        "One file. It ends.", "", "Ann: Yes. No.\n\nBob: Perhaps.",
        "\xFF\xFE\x41\0 \0w\0i\0d\0e\0 \0o\0n\0e\0.\0"
    };
    static const size_t sizes[] = { 18, 0, 29, 24 };
    struct inputs in = { .n = 0 };
    struct failure why = { .usage = false };
    struct document doc;
    int64_t last = -1;

    for (int i = 0; i < 4; i++) {
        char *const bytes = malloc(sizes[i] + 1);

        ck_assert_ptr_nonnull(bytes);
        memcpy(bytes, texts[i], sizes[i]);
        ck_assert_msg(inputs_add(&in, "x", NULL, bytes, sizes[i], &why), "%s", why.text);
    }
    ck_assert(inputs_join(&in, &why));
    ck_assert(document_split(&doc, &in.all.stream, language_named("en")));
    ck_assert_int_eq(doc.n, 6);
    for (int64_t i = 0; i < doc.n; i++) {
        const struct sentence *const s = &doc.sentences[i];
        const int64_t file = inputs_file(&in, s->begin);
        struct walk walk = { 0 };
        const size_t begin = inputs_origin(&in, file, s->begin, &walk);
        const size_t end = inputs_end(&in, file, s->end, &walk);

        ck_assert(file >= last && file != 1);
        last = file;
        if (file == 3)
            ck_assert(begin == 2 && end == 24);
        else
            ck_assert(end - begin == s->end - s->begin &&
                      memcmp(texts[file] + begin, doc.text + s->begin, end - begin) == 0);
    }
    ck_assert_int_eq(last, 3);
    document_finish(&doc);
    inputs_finish(&in);
}

/* ---- sections -------------------------------------------------------------- */

TEST(sections_cover_the_document_and_shares_are_all_of_it)
{
    struct job job;
    struct sections s;
    double share = 0;
    int64_t next = 0;

    job_open(&job, NULL, two_subjects, NULL);
    /* Two headings in a row, and one: sentences are made to be headings. */
    for (int i = 3; i < 9; i += i == 4 ? 4 : 1) {
        job.doc.sentences[i].worth = 1;
        job.doc.sentences[i].candidate = false;
        job.doc.sentences[i].turn = i;
        for (int64_t k = i + 1; k < job.doc.n; k++)
            job.doc.sentences[k].turn = i + 1;
    }
    ck_assert(sections_find(&s, &job.doc, job.mass));
    ck_assert_int_eq(s.n, 4);      /* what comes first has no heading */
    for (int64_t k = 0; k < s.n; k++) {
        ck_assert(s.list[k].heading == next && s.list[k].begin >= next &&
                  s.list[k].end >= s.list[k].begin);
        for (int64_t i = s.list[k].heading; i < s.list[k].end; i++)
            ck_assert_int_eq(sections_of(&s, i), k);
        next = s.list[k].end;
        share += s.list[k].share;
    }
    ck_assert_int_eq(next, job.doc.n);
    ck_assert_double_eq_tol(share, 1, 1e-12);
    sections_finish(&s);
    job_finish(&job);
}

int main(void)
{
    return suite_run("summarize_ask", 120, NULL, NULL);
}
