/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ids and texts of small tokenizers of every kind are those of the public library; the time of long
 * texts; threads; the older pair of files. tests/model/peer_tokenizers.py compares larger ones.
 */
#include "suite.h"
#include "tokenizer.h"
#include "tokenizer_cases.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { CASES = sizeof tokenizer_cases / sizeof *tokenizer_cases };

static struct tokenizer *made(const char *file)
{
    heed_report report = { .size = sizeof report };
    const size_t bytes = strlen(file);
    char *const json = malloc(bytes + 1);
    struct tokenizer *t = NULL;
    heed_status status;

    ck_assert_ptr_nonnull(json);
    for (size_t i = 0; i <= bytes; i++)
        json[i] = file[i];
    for (size_t i = 0; i < bytes; i++)
        if (json[i] == '\'')
            json[i] = '"';
    status = tokenizer_create(json, bytes, &t, &report);
    memset(json, 0, bytes);     /* what is not looked at again */
    free(json);
    ck_assert_msg(status == HEED_OK, "%s: %s: %s", heed_status_name(status), report.field,
                  report.message);
    ck_assert_int_eq(report.status, HEED_OK);
    return t;
}

/* "1 2 3" of ids. */
static void print(const int32_t *ids, size_t n, char *to, size_t room)
{
    size_t used = 0;

    to[0] = 0;
    for (size_t i = 0; i < n && used + 12 < room; i++)
        used += (size_t)snprintf(to + used, room - used, "%s%d", i > 0 ? " " : "", (int)ids[i]);
}

static void check_text(const struct tokenizer *t, const struct tokenizer_case *c, size_t which)
{
    char got[512], *text = NULL;
    int32_t *ids = NULL;
    size_t n = 0, bytes = 0;

    ck_assert_int_eq(tokenizer_encode(t, c->texts[which].text, strlen(c->texts[which].text), true,
                                      &ids, &n, NULL), HEED_OK);
    print(ids, n, got, sizeof got);
    ck_assert_msg(strcmp(got, c->texts[which].ids) == 0, "%s: \"%s\" is %s, not %s", c->name,
                  c->texts[which].text, got, c->texts[which].ids);
    for (size_t i = 0; i < n; i++)
        ck_assert(ids[i] >= 0 && ids[i] < tokenizer_ids(t));
    ck_assert_int_eq(tokenizer_decode(t, ids, n, false, &text, &bytes, NULL), HEED_OK);
    ck_assert_uint_eq(bytes, strlen(text));
    ck_assert_msg(strcmp(text, c->texts[which].decoded) == 0, "%s: %s is \"%s\", not \"%s\"",
                  c->name, got, text, c->texts[which].decoded);
    free(ids);
    free(text);
}

LOOP_TEST(cases, CASES)
{
    const struct tokenizer_case *const c = &tokenizer_cases[_i];
    struct tokenizer *const t = made(c->file);

    for (size_t i = 0; i < sizeof c->texts / sizeof *c->texts && c->texts[i].text; i++)
        check_text(t, c, i);
    tokenizer_destroy(t);
}

static const struct tokenizer_case *named(const char *name)
{
    for (size_t i = 0; i < CASES; i++)
        if (strcmp(tokenizer_cases[i].name, name) == 0)
            return &tokenizer_cases[i];
    ck_abort_msg("%s", name);
    return NULL;
}

TEST(names)
{
    struct tokenizer *const t = made(named("wordpiece")->file);
    const int32_t ids[] = { 2, 7, -1, 1000, 8, INT32_MAX, 3 };
    int32_t *plain;
    char *text;
    size_t bytes, n;

    ck_assert_int_eq(tokenizer_id(t, "[CLS]"), 2);
    ck_assert_int_eq(tokenizer_id(t, "##b"), 8);
    ck_assert_int_eq(tokenizer_id(t, "##"), -1);
    ck_assert_int_eq(tokenizer_id(t, ""), -1);
    ck_assert_int_eq(tokenizer_ids(t), 23);
    ck_assert_int_eq(tokenizer_encode(t, "ab", 2, false, &plain, &n, NULL), HEED_OK);
    ck_assert_uint_eq(n, 2);
    ck_assert(plain[0] == 7 && plain[1] == 8);
    free(plain);
    ck_assert_int_eq(tokenizer_decode(t, ids, 7, false, &text, &bytes, NULL), HEED_OK);
    ck_assert_str_eq(text, "ab");       /* ids that there are not are left out */
    free(text);
    ck_assert_int_eq(tokenizer_decode(t, ids, 7, true, &text, &bytes, NULL), HEED_OK);
    ck_assert_str_eq(text, "[CLS] ab [SEP]");
    free(text);
    tokenizer_destroy(t);
    tokenizer_destroy(NULL);
}

/* Bytes that are no UTF-8 count as U+FFFD, one for each longest beginning of a character. */
TEST(mended)
{
    static const char *const texts[][2] = {
        { "a\xff" "b", "a\xef\xbf\xbd" "b" }, { "\xe2\x96", "\xef\xbf\xbd" },
        { "\xf0\x9f\x98", "\xef\xbf\xbd" },
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" }, { "\xe2\x28\xa1", "\xef\xbf\xbd(\xef\xbf\xbd" },
    };
    struct tokenizer *const t = made(named("unigram")->file);

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int32_t *ids[2];
        size_t n[2];

        for (int k = 0; k < 2; k++)
            ck_assert_int_eq(tokenizer_encode(t, texts[i][k], strlen(texts[i][k]), false, &ids[k],
                                              &n[k], NULL), HEED_OK);
        ck_assert_uint_eq(n[0], n[1]);
        ck_assert_mem_eq(ids[0], ids[1], n[0] * sizeof *ids[0]);
        free(ids[0]);
        free(ids[1]);
    }
    tokenizer_destroy(t);
}

static double seconds_of(const struct tokenizer *t, const char *unit, size_t bytes)
{
    const size_t n = strlen(unit);
    char *const text = malloc(bytes);
    struct timespec begin, end;
    int32_t *ids;
    size_t n_ids;

    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < bytes; i++)
        text[i] = unit[i % n];
    timespec_get(&begin, TIME_UTC);
    ck_assert_int_eq(tokenizer_encode(t, text, bytes, true, &ids, &n_ids, NULL), HEED_OK);
    timespec_get(&end, TIME_UTC);
    free(ids);
    free(text);
    return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

/* A long run of anything: n log n. A way that takes the square would need minutes; on a machine
 * with other work a second is seldom exceeded, and the best of three tries counts. */
LOOP_TEST(runs, CASES)
{
    static const char *const units[] = { "a", " ", "ab", "1", "\xcc\x81", "\xe4\xb8\xad", "'",
                                         "<mask> ", " <R> ", "<", "\n", "\t" };
    struct tokenizer *const t = made(tokenizer_cases[_i].file);

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!suite_turn(i + (size_t)_i, 3))
            continue;
        for (int k = 0;; k++) {
            const double once = seconds_of(t, units[i], 100000);
            const double twice = seconds_of(t, units[i], 200000);

            if (twice < 0.05 || twice <= 2.5 * once)
                break;
            ck_assert_msg(k < 3, "\"%s\": %g s, twice as long %g s", units[i], once, twice);
        }
    }
    tokenizer_destroy(t);
}

struct thread {
    const struct tokenizer *t;
    const struct tokenizer_case *c;
    bool same;
};

static void *encode_often(void *given)
{
    struct thread *const thread = given;
    const char *const text = thread->c->texts[0].text;

    thread->same = true;
    for (int i = 0; i < 300; i++) {
        int32_t *ids;
        size_t n, bytes;
        char got[512], *decoded;

        if (tokenizer_encode(thread->t, text, strlen(text), true, &ids, &n, NULL) != HEED_OK ||
            tokenizer_decode(thread->t, ids, n, false, &decoded, &bytes, NULL) != HEED_OK)
            return NULL;
        print(ids, n, got, sizeof got);
        thread->same = thread->same && strcmp(got, thread->c->texts[0].ids) == 0 &&
                       strcmp(decoded, thread->c->texts[0].decoded) == 0;
        free(ids);
        free(decoded);
    }
    return NULL;
}

LOOP_TEST(threads, CASES)
{
    struct tokenizer *const t = made(tokenizer_cases[_i].file);
    struct thread given[4];
    pthread_t running[4];

    for (int i = 0; i < 4; i++) {
        given[i] = (struct thread){ t, &tokenizer_cases[_i], false };
        ck_assert_int_eq(pthread_create(&running[i], NULL, encode_often, &given[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_join(running[i], NULL), 0);
        ck_assert(given[i].same);
    }
    tokenizer_destroy(t);
}

/* vocab.json and merges.txt give what the tokenizer.json gives that is made of them. */
TEST(pair)
{
    static const char vocab[] = "{\"<s>\":0,\"</s>\":1,\"a\":2,\"b\":3,\"c\":4,\"l\":5,\"'\":6,"
        "\"\\u0120\":7,\"s\":8,\"t\":9,\"1\":10,\"\\u00c3\":11,\"\\u00a9\":12,\"\\u010a\":13,"
        "\"ab\":14,\"\\u0120ab\":15,\"\\u0120abc\":16,\"'s\":17,\"11\":18,\"<mask>\":19}";
    static const char merges[] = "#version: 0.2\na b\n\xc4\xa0 ab\r\n\xc4\xa0" "ab c\n' s\n1 1";
    static const char *const wrong[] = { "a", "a b c", "a x", "a b\n\na b", " a", "\n", "b a" };
    const struct tokenizer_case *const c = named("byte-level");
    heed_report report = { .size = sizeof report };
    struct tokenizer *t = NULL;

    ck_assert_int_eq(tokenizer_create_bpe(vocab, sizeof vocab - 1, merges, sizeof merges - 1, &t,
                                          &report), HEED_OK);
    for (size_t i = 0; i < sizeof c->texts / sizeof *c->texts && c->texts[i].text; i++)
        check_text(t, c, i);
    tokenizer_destroy(t);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        t = NULL;
        ck_assert_msg(tokenizer_create_bpe(vocab, sizeof vocab - 1, wrong[i], strlen(wrong[i]), &t,
                                           &report) == HEED_E_VALUE, "%s", wrong[i]);
        ck_assert_str_eq(report.field, "model.merges");
        ck_assert_ptr_null(t);
    }
    ck_assert_int_eq(tokenizer_create_bpe("{\"a\":0}}", 8, "", 0, &t, &report), HEED_E_VALUE);
    ck_assert_int_eq(tokenizer_create_bpe("{\"a\":0}", 7, "", 0, &t, &report), HEED_OK);
    tokenizer_destroy(t);
}

int main(void)
{
    return suite_run("tokenizer", 60, NULL, NULL);
}
