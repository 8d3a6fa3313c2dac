/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The demo from mass to output: the choice of sentences, which is checked against a walk
 * over all of them, and what is printed.
 */
#include "summarize_job.h"
#include "summarize_texts.h"
#include "support/suite.h"

enum { MAX_OUTPUT = 1 << 18 };

TEST(an_unknown_device_is_a_usage_error_with_a_reason)
{
    struct failure why = { .usage = false };

    ck_assert_ptr_null(attend_open("no such device", &why));
    ck_assert(why.usage);
    ck_assert_ptr_nonnull(strstr(why.text, "HEED_E_NOT_FOUND"));
}

TEST(an_unknown_attention_is_a_usage_error)
{
    struct failure why = { .usage = false };
    struct attend *const a = attend_open(NULL, &why);

    ck_assert_ptr_nonnull(a);
    ck_assert(!attend_look_by(a, "no such attention", &why));
    ck_assert(why.usage);
    attend_close(a);
}

/* ---- attention by name --------------------------------------------------- */

enum { SENTENCES = 2400, FEW = 120, NAMES = 6 };    /* more than one block, and one */

/* What a document's sentences look at, and their mass, by an attention and a device. */
static void look(const char *device, const char *name, int sentences, float mass[SENTENCES],
                 int64_t looks[SENTENCES][LOOKS])
{
    struct job job = { .attend = NULL };
    struct failure why = { .usage = false };
    char *const text = subjects(sentences);

    job.attend = attend_open(device, &why);
    ck_assert_ptr_nonnull(job.attend);
    ck_assert(attend_look_by(job.attend, name, &why));
    attend_tell_looks(job.attend, looks);
    job.reading.format = format_named("plain");
    ck_assert_msg(reading_do(&job.reading, text, strlen(text), NULL, &why), "%s", why.text);
    ck_assert(document_split(&job.doc, &job.reading.stream, language_named("en")));
    ck_assert_int_eq(job.doc.n, sentences);
    ck_assert(vectors_build(&job.vectors, &job.doc) && document_segment(&job.doc, &job.vectors));
    ck_assert_msg(attend_mass(job.attend, &job.doc, &job.vectors, NULL, NULL, mass, &why), "%s",
                  why.text);
    job_finish(&job);
    free(text);
}

TEST(every_attention_has_the_bits_of_the_reference)
{
    static float mass[SENTENCES], wanted[SENTENCES];
    static int64_t looks[SENTENCES][LOOKS];
    const char *what = NULL, *name;

    for (size_t i = 0; (name = encoder_name(i, &what)) != NULL; i++) {
        look("reference", name, FEW, wanted, looks);
        look("cpu", name, FEW, mass, looks);
        ck_assert_msg(memcmp(mass, wanted, FEW * sizeof(*mass)) == 0, "%s: other bits", name);
    }
}

/* Sentences farther away than the pattern allows are never looked at. Every sentence has a vector,
 * so rows are sentences. */
LOOP_TEST(sentences_look_where_their_attention_lets_them, NAMES)
{
    static const int64_t farthest[NAMES] = { 24, SENTENCES, SENTENCES, 96, 31, SENTENCES };
    static float mass[SENTENCES];
    static int64_t looks[SENTENCES][LOOKS];
    const char *what = NULL, *const name = encoder_name((size_t)_i, &what);
    int64_t most = 0;

    ck_assert(name != NULL && what != NULL && encoder_name(NAMES, &what) == NULL);
    look("cpu", name, SENTENCES, mass, looks);
    for (int64_t i = 0; i < SENTENCES; i++) {
        for (int k = 0; k < LOOKS; k++) {
            const int64_t away = looks[i][k] > i ? looks[i][k] - i : i - looks[i][k];

            ck_assert_msg(looks[i][k] >= 0 && looks[i][k] < SENTENCES && away > 0,
                          "%s: sentence %lld looks at %lld", name, (long long)i,
                          (long long)looks[i][k]);
            ck_assert(k == 0 || looks[i][k] != looks[i][k - 1]);
            most = away > most ? away : most;
        }
    }
    ck_assert_msg(most <= farthest[_i] && most * 4 >= farthest[_i] % SENTENCES,
                  "%s: looks %lld sentences away", name, (long long)most);
}

/* ---- choice and output --------------------------------------------------- */

/* From a document to its summary. */
static void job_run(struct job *job, const char *text, int64_t budget)
{
    job_open(job, NULL, text, NULL);
    job_choose(job, budget);
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
        struct input input = { .name = "a file" };
        const struct inputs inputs = { .list = &input, .n = 1, .all = job.reading };
        const struct report r = {
            .doc = &job.doc, .inputs = &inputs, .reading = &job.reading,
            .summary = &job.summary, .mass = job.mass, .score = job.score,
            .file = "a \"file\"\n", .device = attend_device(job.attend),
            .length = { budget, LENGTH_WORDS }, .all = true
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

/* Words as white space separates them, without the mark of what was left out; every byte printable
 * UTF-8. */
static int64_t inspect(const char *text)
{
    const char *const end = text + strlen(text);
    int64_t words = 0;
    bool inside = false;
    size_t taken;

    for (const char *mark = text; (mark = strstr(mark, "[\xE2\x80\xA6]")) != NULL; mark++)
        words -= mark > text && (mark[-1] == ' ' || mark[-1] == '\n');
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
        { "Red \x1B[31m\x07 text \xE2\x80\xAE\xC2\x9B""mend \xFF.",
          "Red text end \xEF\xBF\xBD.\n" }
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

/* More than 60 % of the content words of sentence j are in sentence i. */
static bool says_the_same(const struct document *doc, int64_t i, int64_t j)
{
    uint64_t a[256], b[256];
    const int64_t n = words_of_content(doc, i, a, 256), m = words_of_content(doc, j, b, 256);
    int64_t common = 0;

    for (int64_t x = 0; x < n; x++) {
        for (int64_t y = 0; y < m; y++)
            common += a[x] == b[y];
    }
    return common * 100 > m * 60;
}

/* What sentence i costs with those it needs and that are not chosen. */
static int64_t cost_of(const struct document *doc, const bool *chosen, int64_t i)
{
    int64_t words = 0;

    for (int64_t j = i - doc->sentences[i].needs; j <= i; j++)
        words += chosen[j] ? 0 : doc->sentences[j].words + doc->sentences[j].label_words;
    return words;
}

/* Whether sentence i, or one that it needs, says what a chosen one or one of these says. */
static bool is_said(const struct document *doc, const bool *chosen, int64_t i)
{
    const int64_t first = i - doc->sentences[i].needs;

    for (int64_t k = first; k <= i; k++) {
        for (int64_t j = 0; j < doc->n && !chosen[k]; j++) {
            if ((chosen[j] || (j >= first && j < k)) && says_the_same(doc, j, k))
                return true;
        }
    }
    return false;
}

/* The choice among all sentences. */
static void choose_by_walk(const struct job *job, int64_t budget, bool *chosen)
{
    float *const likeness = calloc((size_t)job->doc.n, sizeof(*likeness));
    bool *const out = calloc((size_t)job->doc.n, sizeof(*out));    /* chosen, or said again */
    int64_t *const spent = calloc((size_t)job->doc.n_segments, sizeof(*spent));
    const double share = (double)budget / (double)job->doc.n_segments, even = fmax(share, 10);
    float dense[VECTOR_WIDTH];

    ck_assert(likeness && out && spent);
    for (int64_t left = budget, found = 0; found >= 0;) {
        double highest = -HUGE_VAL;

        found = -1;
        for (int64_t i = 0; i < job->doc.n; i++) {
            const struct sentence *const s = &job->doc.sentences[i];
            const double shares = (double)spent[s->segment] / even;
            const double worth = (double)job->score[i] - 2 * (double)likeness[i] -
                                 0.4 * (shares > 2 ? shares - 2 : 0);

            if (!out[i] && s->candidate && s->needs >= 0 && s->words >= 6 && s->words <= 80 &&
                cost_of(&job->doc, chosen, i) <= left && worth > highest &&
                job->vectors.row[i + 1] > job->vectors.row[i]) {
                highest = worth;
                found = i;
            }
        }
        if (found < 0)
            break;
        out[found] = true;
        if (is_said(&job->doc, chosen, found))
            continue;
        for (int64_t k = found - job->doc.sentences[found].needs; k <= found; k++) {
            if (chosen[k])
                continue;
            chosen[k] = out[k] = true;
            spent[job->doc.sentences[k].segment] += job->doc.sentences[k].words;
            left -= job->doc.sentences[k].words + job->doc.sentences[k].label_words;
            vectors_expand(&job->vectors, k, dense);
            for (int64_t i = 0; i < job->doc.n; i++) {
                const float alike = vectors_dot(&job->vectors, i, dense);

                if (alike > likeness[i])
                    likeness[i] = alike;
            }
        }
    }
    free(likeness);
    free(out);
    free(spent);
}

/* However few candidates there are at first; with sentences that stand there twice. */
LOOP_TEST(the_choice_is_that_among_all_sentences, 12)
{
    static const int64_t candidates[] = { 1, 7, 100, 100000 }, budgets[] = { 20, 300, 2000 };
    const int64_t budget = budgets[_i % 3];
    struct limits limits = { .chunk = 256, .capacity = 256, .candidates = candidates[_i / 3] };
    char *const text = subjects(300), *const more = noise(60000, 5);
    char *const all = malloc(2 * strlen(text) + strlen(more) + 3);
    struct job job;
    bool *chosen;

    ck_assert_ptr_nonnull(all);
    sprintf(all, "%s %s %s", text, more, text);
    job_open(&job, NULL, all, &limits);
    job_choose(&job, budget);
    chosen = calloc((size_t)job.doc.n, sizeof(*chosen));
    ck_assert_ptr_nonnull(chosen);
    choose_by_walk(&job, budget, chosen);
    for (int64_t i = 0; i < job.doc.n; i++)
        ck_assert_msg(chosen[i] == job.summary.chosen[i], "sentence %lld", (long long)i);
    ck_assert_int_gt(job.summary.words, budget / 2);
    free(chosen);
    job_finish(&job);
    free(all); free(more); free(text);
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
    for (int64_t i = 0; i < 240; i++) {
        for (int64_t j = 0; j < i && job.summary.chosen[i]; j++)
            ck_assert(!job.summary.chosen[j] || !says_the_same(&job.doc, i, j));
    }
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
            ck_assert(c[1] == '"' || c[1] == '\\' || c[1] == 'u');
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
    ck_assert_ptr_nonnull(strstr(output, "\"file\": \"a \\\"file\\\"\\u000a\""));
    ck_assert_ptr_nonnull(strstr(output, "\"speaker\": \"Bob\""));
    ck_assert_ptr_nonnull(strstr(output, "so\\\\so"));
}

int main(void)
{
    return suite_run("summarize_run", 120, NULL, NULL);
}
