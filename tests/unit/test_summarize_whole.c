/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What of a text may stand in a summary: what its blocks are, which genre it is of, which sentences
 * stand by themselves, and where it says what it is about.
 */
#include "summarize_job.h"
#include "support/suite.h"

enum { SHOWN = 512 };

static void read_text(struct reading *r, struct document *doc, const char *format, const char *text)
{
    struct failure why = { .usage = false };

    *r = (struct reading){ .format = format_named(format) };
    ck_assert_msg(reading_do(r, text, strlen(text), NULL, &why), "%s", why.text);
    ck_assert(document_split(doc, &r->stream, language_named("en")));
}

static void forget(struct reading *r, struct document *doc)
{
    document_finish(doc);
    reading_finish(r);
}

/* ---- blocks ------------------------------------------------------------------- */

/* Of each block the first letter of its kind, and its text behind number and speaker. */
static const struct {
    const char *format, *text, *blocks;
} blocks[] = {
    /* names of items: before a wide gap, or above text that is further in */
    { "plain", "-v        Say more.\n-q, --quiet        Say less.\n",
      "C-v|ISay more.|C-q, --quiet|ISay less." },
    { "plain", "-v  Say more about what is done\n    and why.\n",
      "C-v|ISay more about what is done\nand why." },
    { "plain", "He said.  She went home and\nslept.\n", "PHe said.  She went home and\nslept." },
    { "plain", "Ann:   I think so.\n", "TI think so." },
    /* what a colon announces, and a line that stops short */
    { "plain", "You say:\n    run it now\nThe program reads the file that\nis named.\n",
      "HYou say:|Irun it now|PThe program reads the file that\nis named." },
    { "plain", "Acme beta 2\nFor the conditions see what the authors say about it.\n",
      "CAcme beta 2|PFor the conditions see what the authors say about it." },
    { "plain", "We went to\nthe place that everybody who was there talks about.\n",
      "PWe went to\nthe place that everybody who was there talks about." },
    /* numbers of items; numbers that rise are those of headings */
    { "plain", "1. Go there.\n2. Come back.\n", "IGo there.|ICome back." },
    { "plain", "1. Is it old?\n\nYes, it is.\n\n2. Who made it and why was that,\nif you know?\n\n"
               "We did.\n",
      "H1. Is it old?|PYes, it is.|H2. Who made it and why was that,\nif you know?|PWe did." },
    { "plain", "4.2. Files.\n\nThey are there.\n", "IFiles.|PThey are there." },
    /* what is no part of the text */
    { "plain", "It works [1].\n\n[1] Except on Mondays, they say.\n",
      "PIt works [1].|F[1] Except on Mondays, they say." },
    { "markdown", "# Tool\n\nIt works.\n\n## References\n\nDoe, J. Tools. 2001.\n\n## Use\n\n"
                  "Run it.\n",
      "HTool|PIt works.|HReferences|FDoe, J. Tools. 2001.|HUse|PRun it." },
    { "html", "<p>It works.</p><details><p>Since 1.2.</p></details>", "PIt works.|FSince 1.2." },
    { "html", "<table><tr><td>1</td><td>2</td></tr></table><p>It is.</p>", "T1 2|PIt is." },
    { "html", "<table><tr><td><p>It works.</p></td></tr></table>", "PIt works." },
    /* below a name in a manual */
    { "man", "X(1)     Commands     X(1)\n\nNAME\n       x - do\n\nCODES\n"
             "       2      if it fails.\n\n"
             "       It is so.\n\n       AGAIN  The call\n              failed.\n",
      "FX(1)     Commands     X(1)|HNAME|Cx - do|HCODES|C2|Iif it fails.|PIt is so.|CAGAIN|"
      "IThe call\nfailed." }
};

LOOP_TEST(blocks_are_what_their_lines_and_neighbours_say, sizeof(blocks) / sizeof(*blocks))
{
    static const char letters[BLOCK_KINDS] = {
        [BLOCK_PARAGRAPH] = 'P', [BLOCK_TURN] = 'T', [BLOCK_ITEM] = 'I', [BLOCK_HEADING] = 'H',
        [BLOCK_QUOTE] = 'Q', [BLOCK_CODE] = 'C', [BLOCK_TABLE] = 'T', [BLOCK_FURNITURE] = 'F'
    };
    struct reading r;
    struct document doc;
    char shown[SHOWN] = "";
    size_t used = 0;

    read_text(&r, &doc, blocks[_i].format, blocks[_i].text);
    for (int64_t i = 0; i < r.stream.n; i++) {
        const struct block *const b = &r.stream.blocks[i];
        const char *const begin = r.stream.text + b->text_begin;
        const char *const end = line_trim(begin, r.stream.text + b->end);

        used += (size_t)snprintf(shown + used, sizeof(shown) - used, "%s%c%.*s", i > 0 ? "|" : "",
                                 letters[b->kind], (int)(end - begin), begin);
        ck_assert_uint_lt(used, sizeof(shown));
    }
    ck_assert_str_eq(shown, blocks[_i].blocks);
    forget(&r, &doc);
}

/* ---- genre --------------------------------------------------------------------- */

static const struct {
    const char *text;
    double least, most;
} genres[] = {
    { "The pump moves water. It has two valves. Both are made of brass.", 1, 1 },
    { "\"Pump\" means a machine. \"Valve\" means a part of it.", 1, 1 },
    { "\"Where is it?\" He turned. \"I lost it,\" she said. She cried. \"Look there!\"", 0, 0 },
    { "Ann: It is late.\nBob: We go home.\nAnn: All of us do.", 0, 0 },
    { "Nobody knew. The pump was old. It broke. Men came. They left. It was mended. She said "
      "\"no.\" \"No.\" They went. It rained. All was quiet. The sun rose. The birds sang. "
      "The pump worked. Ann smiled. Bob slept. We ate. He ran. It was good. The end was near.",
      0.4, 0.6 }
};

LOOP_TEST(talk_and_tales_are_told_by_speakers_and_quotes, sizeof(genres) / sizeof(*genres))
{
    struct reading r;
    struct document doc;

    read_text(&r, &doc, "plain", genres[_i].text);
    ck_assert_msg(doc.expository >= genres[_i].least && doc.expository <= genres[_i].most,
                  "%g", doc.expository);
    forget(&r, &doc);
}

/* ---- what stands by itself ------------------------------------------------------ */

/* How many sentences come with each one; '-': it stays out. */
static const struct {
    const char *text, *needs;
} wholes[] = {
    { "The pump moves water. It has two valves. They are made of brass. But it is old.", "012-" },
    { "The pump moves the water. In this case it does. The third is to mistake it.", "012" },
    { "The pump moves the water.\n\nThis is why it is there. This document says more.", "0-0" },
    { "The pump moves water. However, it is old. (Nobody knows why.) The third pump is new.",
      "0120" },
    { "The pump moves water. See the manual. Please refer to it. For more details call us.",
      "0---" },
    { "The pump moves water. Copyright 2001 Ann Doe. Made \xC2\xA9 by Bob. Its page is "
      "http://pump.example.org now.", "0---" },
    { "The pump moves water. Use with the General Public License. Is it old? Is it new (or not?)",
      "0---" },
    { "The pump moves water. The [valve is made of brass. A | B. The \"valve is made.", "0---" },
    { "The pump moves water.\n\nof brass and of wood.\n\n--fast says so.\n\n2 of them are old.",
      "0---" },
    { "The pump moves water.\n\n- valves of brass.\n- Valves are of brass.\n\ncurl reads pages.",
      "0-00" },
    /* in talk people go on */
    { "Ann: It is late. But all of us stay. This is why.\nBob: That is good for us. However, we "
      "go.", "00101" }
};

LOOP_TEST(sentences_stand_by_themselves_or_need_others, sizeof(wholes) / sizeof(*wholes))
{
    struct reading r;
    struct document doc;
    char needs[SHOWN] = "";

    read_text(&r, &doc, "plain", wholes[_i].text);
    for (int64_t i = 0; i < doc.n; i++)
        needs[i] = (char)(doc.sentences[i].needs < 0 ? '-' : '0' + doc.sentences[i].needs);
    ck_assert_str_eq(needs, wholes[_i].needs);
    forget(&r, &doc);
}

/* Where nothing stands by itself, everything may be taken. */
TEST(a_text_of_halves_has_a_summary)
{
    struct reading r;
    struct document doc;

    read_text(&r, &doc, "plain", "See the first page. See the next one.");
    ck_assert_int_eq(doc.n, 2);
    for (int64_t i = 0; i < doc.n; i++)
        ck_assert(doc.sentences[i].candidate && doc.sentences[i].needs == 0);
    forget(&r, &doc);
}

/* ---- company and leads ------------------------------------------------------------ */

#define PUMPS "The pump moves water to the upper field. However, it needs a valve of hard brass. "
#define MILLS "A mill grinds the corn of three villages. Every stone turns once in two seconds. "

/* A sentence that needs another is never chosen alone, whatever there is room for. */
TEST(what_needs_others_comes_with_them)
{
    static const char text[] =
        PUMPS MILLS "Wind drives nine wheels on the long hill. Therefore nobody pays for coal "
        "there. Rain fills the ponds near the old church. Boats carry timber down the river. ";
    int64_t together = 0;

    for (int64_t budget = 6; budget < 60; budget++) {
        struct job job;

        job_open(&job, NULL, text, NULL);
        job_choose(&job, budget);
        ck_assert_int_eq(job.doc.n, 8);
        for (int64_t i = 0; i < job.doc.n; i++) {
            const int needs = job.doc.sentences[i].needs;

            ck_assert_int_eq(needs, i == 1 || i == 5);
            if (job.summary.cut == 0 && job.summary.chosen[i] && needs) {
                ck_assert(job.summary.chosen[i - 1]);
                together++;
            }
        }
        ck_assert_int_le(job.summary.words, budget);
        job_finish(&job);
    }
    ck_assert_int_gt(together, 0);
}

/* What comes first leads, in the document, in each of several files and below a heading. */
TEST(each_file_and_each_section_has_a_lead)
{
    static const char *const texts[] = {
        "# Pumps\n\n" PUMPS "\n\n## Mills\n\n" MILLS "\n\n* An item is made of wood and stone.\n",
        MILLS PUMPS
    };
    struct failure why = { .usage = false };
    struct inputs in = { .n = 0 };
    struct document doc;
    struct vectors v;
    float mass[16], score[16], parts[16][SALIENCE_PARTS];

    for (size_t k = 0; k < 2; k++) {
        char *const copy = malloc(strlen(texts[k]) + 1);

        ck_assert_ptr_nonnull(copy);
        strcpy(copy, texts[k]);
        ck_assert(inputs_add(&in, "a file", format_named("plain"), copy, strlen(copy), &why));
    }
    ck_assert(inputs_join(&in, &why));
    ck_assert(document_split(&doc, &in.all.stream, language_named("en")));
    ck_assert_int_eq(doc.n, 11);           /* a heading, 2, a heading, 2, an item, 4 */
    ck_assert(vectors_build(&v, &doc));
    for (int i = 0; i < 16; i++)
        mass[i] = 1;
    salience_score(&doc, &v, mass, true, score, parts);
    ck_assert_float_eq(parts[0][PART_LEAD], parts[1][PART_LEAD]);
    ck_assert_float_gt(parts[1][PART_LEAD], parts[2][PART_LEAD]);
    ck_assert_float_gt(parts[2][PART_LEAD], parts[4][PART_LEAD]);
    ck_assert_float_eq(parts[7][PART_LEAD], parts[1][PART_LEAD]);
    ck_assert_float_eq(parts[4][PART_SECTION], parts[1][PART_SECTION]);
    ck_assert_float_gt(parts[4][PART_SECTION], parts[5][PART_SECTION]);
    ck_assert_float_lt(parts[6][PART_SECTION], 0);
    salience_score(&doc, &v, mass, false, score, parts);
    for (int64_t i = 0; i < doc.n; i++)
        ck_assert(parts[i][PART_LEAD] == 0 && parts[i][PART_SECTION] == 0);
    vectors_finish(&v);
    document_finish(&doc);
    inputs_finish(&in);
}

int main(void)
{
    return suite_run("summarize_whole", 60, NULL, NULL);
}
