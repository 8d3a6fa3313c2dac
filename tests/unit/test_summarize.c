/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The demo's text side: UTF-8, sentences, vectors, segments.
 */
#include "examples/summarize/read.h"
#include "summarize_job.h"
#include "summarize_texts.h"
#include "support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OUTPUT = 1 << 16 };

/* ---- UTF-8 --------------------------------------------------------------- */

/* Whether `code` comes back whole, and torn apart gives one bad byte. */
static bool survives(uint32_t code)
{
    char bytes[4];
    const size_t length = utf8_put(code, bytes);
    size_t taken;
    bool good = utf8_next(bytes, bytes + length, &taken) == code && taken == length;

    for (size_t cut = 1; cut < length; cut++)
        good = good && utf8_next(bytes, bytes + cut, &taken) == UTF8_BAD && taken == 1;
    return good;
}

TEST(every_code_point_survives_a_round_trip)
{
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        if ((code < 0xD800 || code > 0xDFFF) && !survives(code))
            ck_abort_msg("U+%04X", (unsigned)code);
    }
}

TEST(what_is_not_utf8_is_replaced_byte_by_byte)
{
    static const struct {
        const char *bytes;
        size_t bad;
    } cases[] = {
        { "\x80", 1 }, { "\xC0\xAF", 2 }, { "\xC1\xBF", 2 }, { "\xE0\x80\xAF", 3 },
        { "\xED\xA0\x80", 3 }, { "\xF0\x80\x80\xAF", 4 }, { "\xF4\x90\x80\x80", 4 },
        { "\xF5\x80\x80\x80", 4 }, { "\xFF", 1 }, { "\xE2\x82", 2 }, { "a\xE2\x82z", 2 },
        { "\xEF\xBF\xBD", 0 }, { "plain", 0 }, { "\xE2\x82\xAC", 0 }
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        ck_assert_msg(utf8_count_bad(cases[i].bytes, strlen(cases[i].bytes)) == cases[i].bad,
                      "case %zu", i);
}

TEST(words_are_never_fewer_than_white_space_separates)
{
    static const struct {
        const char *text;
        int64_t words;
    } cases[] = {
        { "", 0 }, { "  \n\t ", 0 }, { "one", 1 }, { " one  two\nthree ", 3 },
        { "a\xC2\xA0""b", 2 }, { "\xE6\xBC\xA2\xE5\xAD\x97", 2 }, { "x\xE6\xBC\xA2", 2 },
        { "a\x1B[31mb", 2 }, { "well-known isn't", 2 }
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        ck_assert_int_eq(utf8_count_words(cases[i].text, 0, strlen(cases[i].text)),
                         cases[i].words);
}

TEST(case_is_folded_in_the_scripts_that_have_it)
{
    ck_assert_uint_eq(utf8_lower('Q'), 'q');
    ck_assert_uint_eq(utf8_lower(0xC9), 0xE9);      /* E acute */
    ck_assert_uint_eq(utf8_lower(0xD7), 0xD7);      /* multiplication sign */
    ck_assert_uint_eq(utf8_lower(0x160), 0x161);    /* S caron */
    ck_assert_uint_eq(utf8_lower(0x17D), 0x17E);    /* Z caron */
    ck_assert_uint_eq(utf8_lower(0x3A9), 0x3C9);    /* Omega */
    ck_assert_uint_eq(utf8_lower(0x416), 0x436);    /* Zhe */
    ck_assert(utf8_is_lower(0xE9) && !utf8_is_lower(0xC9) && !utf8_is_lower('1'));
}

/* ---- sentences ----------------------------------------------------------- */

/* The sentences of `text`, each behind a bar, with its speaker and a colon. */
static const char *split(const char *text)
{
    static char joined[MAX_OUTPUT];
    struct document doc;
    struct stream stream;
    size_t used = 0;

    read_plain(&doc, &stream, text);
    joined[0] = '\0';
    for (int64_t i = 0; i < doc.n; i++) {
        const struct sentence *const s = &doc.sentences[i];

        used += (size_t)snprintf(joined + used, sizeof(joined) - used, "|%.*s%s%.*s",
                                 (int)(s->label_end - s->label_begin), doc.text + s->label_begin,
                                 s->label_words ? ":" : "", (int)(s->end - s->begin),
                                 doc.text + s->begin);
        ck_assert_uint_lt(used, sizeof(joined));
    }
    document_finish(&doc);
    stream_finish(&stream);
    return joined;
}

static const struct {
    const char *text, *sentences;
} splits[] = {
    { "", "" },
    { " \n\n\t\n", "" },
    { "One.", "|One." },
    { "No mark at all", "|No mark at all" },
    { "One. Two! Three? Four\xE2\x80\xA6 Five", "|One.|Two!|Three?|Four\xE2\x80\xA6|Five" },
    { "Dr. Smith met Mrs. Jones. They spoke.", "|Dr. Smith met Mrs. Jones.|They spoke." },
    { "J. R. Smith and A. Jones came. I. came.", "|J. R. Smith and A. Jones came.|I. came." },
    { "So did I. Then it ended.", "|So did I.|Then it ended." },
    { "It costs 3.14 or 1,000.50 today. Yes.", "|It costs 3.14 or 1,000.50 today.|Yes." },
    { "See no. 5 and fig. 2 there. No. Never.", "|See no. 5 and fig. 2 there.|No.|Never." },
    { "E.g. this one, i.e. that, vs. The other.", "|E.g. this one, i.e. that, vs. The other." },
    { "The U.S. Army came at 5 p.m. They left.", "|The U.S. Army came at 5 p.m.|They left." },
    { "Look at example.org now. Good.", "|Look at example.org now.|Good." },
    { "\"Stop!\" he said. \"Go.\" She went.", "|\"Stop!\" he said.|\"Go.\"|She went." },
    { "He left (at last.) She stayed.", "|He left (at last.)|She stayed." },
    { "Wait... what? Really?! Yes.", "|Wait... what?|Really?!|Yes." },
    { "1. First thing. 2. Second thing.", "|1. First thing.|2. Second thing." },
    { "Wrapped\nline ends here.\nNext one.", "|Wrapped\nline ends here.|Next one." },
    { "A heading\n\nThe text. More", "|A heading|The text.|More" },
    { "# A heading\nThe text.", "|A heading|The text." },
    { "Items:\n- first\n- second", "|Items|first|second" },
    { "Ann B: Hello. How are you?\nProfessor C: Fine.",
      "|Ann B:Hello.|Ann B:How are you?|Professor C:Fine." },
    { "Note that: this is no speaker.", "|Note that: this is no speaker." },
    { "At 10:30 we met. Time 5:1.", "|At 10:30 we met.|Time 5:1." },
    { "Speaker:\n\nText.", "|Speaker|Text." },
    { "\xE4\xBB\x8A\xE5\xA4\xA9\xE3\x80\x82\xE5\xA5\xBD\xE3\x80\x82",
      "|\xE4\xBB\x8A\xE5\xA4\xA9\xE3\x80\x82|\xE5\xA5\xBD\xE3\x80\x82" },
    { "Bad \xFF\xFE bytes. Stay.", "|Bad \xFF\xFE bytes.|Stay." },
    { "So\xC2\xAD" "ft. \x1B[1;31mR\x1B[med\x1B[K. St\xC2\x9B" "4may\x1B(B.", "|Soft.|Red.|Stay." },
    { "Ti\x1B]0;a b\at\x1BP1\x1B\\le. \xC2\x9D" "8;;u\xC2\x9CSt\x1B=ay.\x1B", "|Title.|Stay." },
    { "An \x1B]open one. \x1B[0mend. \x1B]To\nStay.\x1B[", "|An end.|Stay." },
    { "Next\xC2\x85line. \x1B\xC3\x89t\xC3\xA9.", "|Next\xC2\x85line.|\xC3\x89t\xC3\xA9." }
};

LOOP_TEST(sentences_end_where_people_end_them, sizeof(splits) / sizeof(*splits))
{
    ck_assert_str_eq(split(splits[_i].text), splits[_i].sentences);
}

/* What readers may leave out: white space, marks of lists and headings, a speaker's colon. */
static bool may_be_left_out(const char *text, size_t begin, size_t end)
{
    for (size_t at = begin, taken; at < end; at += taken) {
        const uint32_t code = utf8_next(text + at, text + end, &taken);

        if (!utf8_is_space(code) && code != '-' && code != '#' && code != ':')
            return false;
    }
    return true;
}

/* Every byte of the text is in one block, in order, or may be left out; its origin is its own. */
LOOP_TEST(blocks_are_ordered_disjoint_and_leave_out_only_marks, 20)
{
    char *const text = noise(20000, (uint32_t)_i);
    const size_t size = strlen(text);
    const struct source source = { .text = text, .size = size };
    struct stream stream = { 0 };
    size_t at = 0;

    plain_read(&stream, &source);
    ck_assert(!stream.failed);
    ck_assert_uint_eq(stream.n > 0 ? stream.blocks[stream.n - 1].end : 0, stream.size);
    for (size_t i = 0; i < stream.size; i++) {
        const size_t from = stream_origin(&stream, i);

        ck_assert_msg(from >= at && from < size && may_be_left_out(text, at, from),
                      "seed %d byte %zu from %zu behind %zu", _i, i, from, at);
        ck_assert(stream.text[i] == text[from] || stream.text[i] == '\n');
        at = from + 1;
    }
    ck_assert(may_be_left_out(text, at, size));
    for (int64_t i = 0; i < stream.n; i++) {
        const struct block *const b = &stream.blocks[i];

        ck_assert_uint_eq(b->begin, i > 0 ? b[-1].end : 0);
        ck_assert_uint_le(b->label_end, b->text_begin);
        ck_assert_uint_lt(b->text_begin, b->end);
    }
    stream_finish(&stream);
    free(text);
}

LOOP_TEST(sentences_are_ordered_disjoint_and_leave_out_only_space, 20)
{
    char *const text = noise(20000, (uint32_t)_i);
    struct document doc;
    struct stream stream;
    int64_t k = 0;

    read_plain(&doc, &stream, text);
    for (int64_t i = 0; i < stream.n; i++) {
        const struct block *const b = &stream.blocks[i];
        size_t at = b->text_begin;

        if (b->kind == BLOCK_TABLE || b->kind == BLOCK_FURNITURE || b->kind == BLOCK_QUOTE ||
            b->kind == BLOCK_CODE)
            continue;
        for (; k < doc.n && doc.sentences[k].begin < b->end; k++) {
            const struct sentence *const s = &doc.sentences[k];

            ck_assert_uint_ge(s->begin, at);
            ck_assert(line_is_blank(doc.text + at, doc.text + s->begin));
            ck_assert_uint_lt(s->begin, s->end);
            ck_assert_uint_le(s->end, b->end);
            ck_assert_int_le(s->words, 200);
            at = s->end;
        }
        ck_assert(line_is_blank(doc.text + at, doc.text + b->end));
    }
    ck_assert_int_eq(k, doc.n);
    document_finish(&doc);
    stream_finish(&stream);
    free(text);
}

TEST(a_run_without_marks_is_cut)
{
    static char text[100000];
    struct document doc;
    struct stream stream;

    for (size_t i = 0; i + 6 <= sizeof(text); i += 5)
        memcpy(text + i, i % 205 == 0 ? "end, " : "word ", 6);
    read_plain(&doc, &stream, text);
    ck_assert_int_gt(doc.n, 150);
    for (int64_t i = 0; i < doc.n; i++)
        ck_assert_int_le(doc.sentences[i].words, 100);
    document_finish(&doc);
    stream_finish(&stream);

    memset(text, 'x', sizeof(text) - 1);             /* not even a space */
    text[sizeof(text) - 1] = '\0';
    read_plain(&doc, &stream, text);
    ck_assert_int_eq(doc.n, 100);
    document_finish(&doc);
    stream_finish(&stream);
}

/* ---- vectors and segments ------------------------------------------------ */

TEST(vectors_have_unit_length_and_know_what_is_alike)
{
    static const char text[] = "The captain saw the harbour. The captains see harbours. "
                               "An apple fell. It was. You told me.";
    float dense[VECTOR_WIDTH];
    struct document doc;
    struct stream stream;
    struct vectors v;

    read_plain(&doc, &stream, text);
    ck_assert_int_eq(doc.n, 5);
    ck_assert(vectors_build(&v, &doc));
    for (int64_t i = 0; i < 3; i++) {
        vectors_expand(&v, i, dense);
        ck_assert_float_eq_tol(vectors_dot(&v, i, dense), 1.0f, 1e-6f);
    }
    ck_assert_int_eq(v.row[4], v.row[3]);            /* stop words only */
    vectors_expand(&v, 0, dense);
    ck_assert_float_gt(vectors_dot(&v, 1, dense), 0.5f);
    ck_assert_float_lt(fabsf(vectors_dot(&v, 2, dense)), 0.1f);
    ck_assert_float_eq(v.manner[0].address, 0.0f);
    ck_assert_float_eq_tol(v.manner[4].address, 2.0f / 3.0f, 1e-6f);
    vectors_finish(&v);
    document_finish(&doc);
    stream_finish(&stream);
}

TEST(manner_counts_words_of_each_kind)
{
    static const char text[] = "Uh I I met the mayor of Paris here. We decided to rest.";
    struct document doc;
    struct stream stream;
    struct vectors v;

    read_plain(&doc, &stream, text);
    ck_assert_int_eq(doc.n, 2);
    ck_assert(vectors_build(&v, &doc));
    ck_assert_float_eq_tol(v.manner[0].address, 2.0f / 9.0f, 1e-6f);      /* I I */
    ck_assert_float_eq_tol(v.manner[0].relation, 2.0f / 9.0f, 1e-6f);     /* the of */
    ck_assert_float_eq_tol(v.manner[0].stumbling, 2.0f / 9.0f, 1e-6f);    /* Uh, the second I */
    ck_assert_float_eq_tol(v.manner[0].names, 1.0f / 9.0f, 1e-6f);        /* Paris; "I" is none */
    ck_assert_float_eq(v.manner[0].outcome, 0.0f);
    ck_assert_float_eq(v.manner[0].topic, 0.0f);
    ck_assert_float_gt(v.manner[1].outcome, 0.0f);
    vectors_finish(&v);
    document_finish(&doc);
    stream_finish(&stream);
}

TEST(segments_cover_and_keep_the_limits)
{
    char *const text = subjects(240);                /* 3 x 80 sentences of 11 words */
    struct document doc;
    struct stream stream;
    struct vectors v;

    read_plain(&doc, &stream, text);
    ck_assert_int_eq(doc.n, 240);
    ck_assert(vectors_build(&v, &doc));
    ck_assert(document_segment(&doc, &v));
    ck_assert_int_gt(doc.n_segments, 2);
    ck_assert_int_eq(doc.segments[0], 0);
    ck_assert_int_eq(doc.segments[doc.n_segments], doc.n);
    for (int64_t k = 0; k < doc.n_segments; k++) {
        int64_t words = 0;

        ck_assert_int_lt(doc.segments[k], doc.segments[k + 1]);
        for (int64_t i = doc.segments[k]; i < doc.segments[k + 1]; i++) {
            ck_assert_int_eq(doc.sentences[i].segment, k);
            words += doc.sentences[i].words;
        }
        ck_assert_int_le(words, SEGMENT_MAX_WORDS);
        if (k + 1 < doc.n_segments)
            ck_assert_int_ge(words, SEGMENT_MIN_WORDS);
    }
    vectors_finish(&v);
    document_finish(&doc);
    stream_finish(&stream);
    free(text);
}

/* The change lies between the least and the most words of a segment. */
TEST(a_change_of_subject_opens_a_segment)
{
    char *const text = subjects(165);                /* 55 sentences, 605 words each */
    struct document doc;
    struct stream stream;
    struct vectors v;

    read_plain(&doc, &stream, text);
    ck_assert(vectors_build(&v, &doc));
    ck_assert(document_segment(&doc, &v));
    ck_assert_int_ge(doc.n_segments, 3);
    ck_assert_int_eq(doc.segments[1], 55);
    ck_assert_int_eq(doc.segments[2], 110);
    vectors_finish(&v);
    document_finish(&doc);
    stream_finish(&stream);
    free(text);
}

int main(void)
{
    return suite_run("summarize", 0, NULL, NULL);
}
