/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The parts of heed-summarize, an extractive summarizer: text is cut into
 * sentences, sentences become vectors, vectors meet in attention, and the
 * sentences the document attends to most are printed. The text side is plain C;
 * every attention step runs through heed's public API (attend.c).
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_H
#define HEED_EXAMPLES_SUMMARIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- utf8.c: bytes to code points ---------------------------------------- */

enum { UTF8_BAD = 0xFFFD };

/* Decodes one code point of [at, end), at < end, and stores the bytes it took. A
 * byte that starts no valid sequence is taken alone and read as UTF8_BAD. */
uint32_t utf8_next(const char *at, const char *end, size_t *taken);

/* Encodes; returns the number of bytes, 1 to 4. */
size_t utf8_put(uint32_t code, char out[4]);

/* Bytes of a text that are not UTF-8. */
size_t utf8_count_bad(const char *text, size_t size);

/* Bytes at `at` < `end` that are not read: a soft hyphen, or a sequence that a terminal obeys (ISO
 * 6429: ESC or C1, "[31m", a title, ...), as whole as it is; 0: they are read. */
size_t utf8_unread(const char *at, const char *end);

bool utf8_is_space(uint32_t code);     /* white space, and every control character */
bool utf8_is_hidden(uint32_t code);    /* controls and direction marks: never printed */
bool utf8_is_word(uint32_t code);      /* letters and digits of any script */
bool utf8_is_lower(uint32_t code);
bool utf8_is_upper(uint32_t code);
bool utf8_is_ideograph(uint32_t code); /* scripts without spaces: each sign is a word */
bool utf8_is_wide(uint32_t code);      /* those and their punctuation: no space beside them */
uint32_t utf8_lower(uint32_t code);
int utf8_columns(uint32_t code);       /* cells on a terminal: 0, 1 or 2 */

/* Words of a range: what white space separates, ideographs one by one. */
int64_t utf8_count_words(const char *text, size_t begin, size_t end);

/* ---- language.c: what is known of languages ------------------------------ */

struct language;

/* By its code, such as "de"; NULL: unknown. */
const struct language *language_named(const char *code);
const char *language_code(const struct language *language, const char **name);
/* Language `index`; NULL behind the last one. */
const struct language *language_at(size_t index);
/* The language of the text in n ranges, begin and end each. */
const struct language *language_find(const char *text, const size_t (*ranges)[2], int64_t n);

/* ---- document.c: a text and what was found in it -------------------------- */

/* Offsets are bytes of the stream's text. There is one for every few words of it: kept small. */
struct sentence {
    size_t begin, end;                 /* the sentence, without the speaker */
    size_t label_begin, label_end;     /* "Name" of a turn "Name: ..."; empty: none */
    int32_t turn;                      /* block it belongs to, ascending */
    int32_t words, label_words;
    int32_t segment;
    int8_t worth;                      /* 2 prose, 1 a heading, 0 what is left out */
    bool marked;                       /* a mark ends it */
    bool part;                         /* of a run that was cut */
    bool item;                         /* of a list */
    bool first;                        /* of a block that begins one of several files */
    bool spoken;                       /* somebody is said to say it */
    int8_t needs;                      /* so many before it come with it; -1: it stays out */
    bool candidate;                    /* a summary may have it */
};

/* A text of more blocks or sentences than this, of fewer bytes each, is no text: what is kept of
 * them would take many times its memory. */
#define TEXT_CROWDED 786432
#define TEXT_BYTES   32

struct document {
    const char *text;                  /* not owned */
    size_t size;
    const struct language *language;
    struct sentence *sentences;        /* in document order, disjoint */
    int64_t n, capacity;
    int64_t *segments;                 /* first sentence of each segment, then n */
    int64_t n_segments;
    int64_t words;                     /* without speakers */
    double expository;                 /* 0: talk or a tale, 1: it explains, describes, reports */
    bool crowded;                      /* not split: TEXT_CROWDED sentences of too few bytes */
};

extern const char text_crowded[];      /* a line that says so */

struct stream;

/* Fills sentences; the language is found where it is NULL. The text stays the stream's. Returns
 * false when memory is short or the document is crowded. */
bool document_split(struct document *doc, const struct stream *stream,
                    const struct language *language);
void document_finish(struct document *doc);

/* ---- cohesion.c: what stands by itself ------------------------------------- */

/* Finds what genre a document with candidates is of, and what its sentences need. */
void document_judge(struct document *doc);

/* ---- sentence.c: where sentences end ---------------------------------------- */

/* The end of the sentence that begins at `begin`; `cut`: of a part of one that is too long. */
size_t sentence_end(const struct language *language, const char *text, size_t begin, size_t end,
                    bool *cut);
bool sentence_is_mark(uint32_t code);
bool sentence_is_closer(uint32_t code);

/* ---- words.c: words of a sentence -------------------------------------------- */

/* Words that tell how a sentence speaks. Small ones have no content; outcomes have. */
enum word_kind {
    WORD_ADDRESS,                      /* who speaks or is spoken to: "we" */
    WORD_RELATION,                     /* articles and prepositions: "the", "of" */
    WORD_FILLER,                       /* what speech is filled with: "uh", "okay" */
    WORD_SMALL_KINDS,
    WORD_OUTCOME = WORD_SMALL_KINDS,   /* what was settled: "decided" */
    WORD_KINDS
};

struct word {
    uint64_t stem;                     /* never 0 */
    uint64_t key;                      /* the stem; 0: a stop word */
    bool is[WORD_KINDS];
    bool ideograph;
    bool capital;                      /* the first letter is one, the next one is small */
};

/* Reads the next word of [*at, end) and moves *at behind it; false when there is none. */
bool word_next(const struct language *language, const char *text, size_t *at, size_t end,
               struct word *word);
/* In lower case, as far as it fits; 48 bytes. */
bool word_spell(const char *text, size_t *at, size_t end, char *spelt);
uint64_t word_mix(uint64_t x);
/* The content words of sentence i, sorted, each once: at most `most`. Returns how many. */
int64_t words_of_content(const struct document *doc, int64_t i, uint64_t *keys, int64_t most);

/* ---- manner.c: how a sentence speaks --------------------------------------- */

/* Shares of its words. */
struct manner {
    float address, relation, outcome;
    float stumbling;                   /* fillers, and what is said again at once: "I I mean" */
    float names;                       /* words with a capital, without the first word */
    float topic;                       /* words that many sentences have: vector.c */
};

struct manner_count {
    int64_t words, is[WORD_KINDS], repeated, names;
    uint64_t before[2];                /* stems of the last words */
};

void manner_hear(struct manner_count *count, const struct word *word);
struct manner manner_of(const struct manner_count *count);

/* ---- vector.c: sentences to unit vectors --------------------------------- */

/* Channels of words; of a vector with a model's, a multiple of VECTOR_STEP, at most. */
enum { VECTOR_WIDTH = 512, VECTOR_STEP = 16, VECTOR_MOST = VECTOR_WIDTH + 4096 };

/* Rows of unit length, or empty for sentences that say nothing. */
struct vectors {
    int64_t n, width;
    int32_t *row;                      /* entries of row i: [row[i], row[i + 1]) */
    uint16_t *column;                  /* ascending within a row */
    float *value;
    float *dense;                      /* a model's channels, [n][width - VECTOR_WIDTH]; NULL */
    struct manner *manner;             /* [n] */
};

/* A text of the caller's among the sentences of a document. */
struct asked {
    float vector[VECTOR_MOST];         /* of unit length, or 0 */
    int64_t terms;                     /* words and pairs that say something */
    int64_t known;                     /* of them, those in the document */
};

bool vectors_build(struct vectors *v, const struct document *doc);
bool vectors_ask(struct asked *asked, const struct document *doc, const char *text, size_t size);
void vectors_finish(struct vectors *v);
/* Whether sentence i has a vector. */
bool vectors_has(const struct vectors *v, int64_t i);
void vectors_expand(const struct vectors *v, int64_t i, float *dense);
float vectors_dot(const struct vectors *v, int64_t i, const float *dense);
void vectors_add(const struct vectors *v, int64_t i, double *sum);
double vectors_dot_sum(const struct vectors *v, int64_t i, const double *sum);

/* ---- embed.c: what a model makes of sentences --------------------------- */

struct embedding;
struct failure;

/* Opens the model of a folder, NULL if it fails, and adds its channels to the vectors of words. */
struct embedding *embedding_open(const char *folder, const char *device, struct failure *why);
void embedding_close(struct embedding *e);
bool embedding_add(struct embedding *e, struct vectors *v, const struct document *doc,
                   struct failure *why);
/* Adds those of a text, once a document has its own. */
bool embedding_ask(struct embedding *e, struct asked *asked, const char *text, size_t size,
                   struct failure *why);

/* ---- segment.c: runs of sentences that belong together ------------------- */

enum { SEGMENT_MIN_WORDS = 512, SEGMENT_MAX_WORDS = 768 };

bool document_segment(struct document *doc, const struct vectors *v);

/* ---- attend.c, calls.c: heed ---------------------------------------------- */

struct attend;
typedef void attend_progress(void *context, int64_t done, int64_t all);

/* What stopped the program, for one line on stderr; `usage` when the caller's
 * choice of device did. */
struct failure {
    char text[400];
    bool usage;
};

enum { LOOKS = 3 };                    /* sentences that a sentence is said to look at */

struct attend *attend_open(const char *device, struct failure *why);
void attend_close(struct attend *a);
const char *attend_device(const struct attend *a);

/* Sizes that bound memory and time. Tests make them smaller. */
struct limits {
    int64_t chunk;                     /* sentences of a call; a power of two, 16 or more */
    int64_t capacity;                  /* rows of a tier of memory; a multiple of chunk / 16 */
    int64_t candidates;                /* sentences among which the choice is made at first */
};

struct limits *attend_limits(struct attend *a);

/* How sentences look around; false: there is no such attention. */
bool attend_look_by(struct attend *a, const char *name, struct failure *why);
/* Name `index` of those, and what sentences see; NULL behind the last one. */
const char *encoder_name(size_t index, const char **what);

/* Has attend_mass() write the sentences that each one gives most weight to, -1 where there are no
 * more: [doc->n]. */
void attend_tell_looks(struct attend *a, int64_t (*looks)[LOOKS]);

/* ---- pattern.c: how sentences look around, in cells --------------------------- */

enum { PATTERN_CELLS = 96 };           /* most of a side */

struct pattern {
    int64_t step, cells;               /* sentences of a cell's side; cells of a side */
    int64_t rows[PATTERN_CELLS];       /* sentences that see others, by cell */
    double *sum;                       /* weights, [cells][cells]: who looks, who is seen */
};

/* For n sentences. */
bool pattern_create(struct pattern *p, int64_t n);
void pattern_finish(struct pattern *p);
/* Of the attention that a sentence of `row` gives to others, the share of those of `column`; 0:
 * they are not seen. */
double pattern_weight(const struct pattern *p, int64_t row, int64_t column);
/* Has attend_mass() fill it. */
void attend_tell_pattern(struct attend *a, struct pattern *pattern);

/* Attention mass each sentence receives from the whole document, [doc->n]. */
bool attend_mass(struct attend *a, const struct document *doc, const struct vectors *v,
                 attend_progress *progress, void *context, float *mass, struct failure *why);

/* The `count` sentences of highest score among those present, ascending, then -1: ids.
 * Among equal scores, the first ones. */
bool attend_best(struct attend *a, const float *score, const bool *present, int64_t n,
                 int64_t count, int32_t *ids, struct failure *why);

/* ---- query.c: what a reader asks ------------------------------------------ */

enum query_end { QUERY_GOOD, QUERY_FAILED, QUERY_EMPTY, QUERY_NOT_FOUND };

/* Adds to each score how much the sentence, and what stands beside it, has to do with a text:
 * query, [doc->n], is what was added. `embedding`: what the vectors have it of; NULL: of words
 * alone. */
enum query_end query_add(struct attend *a, const struct document *doc, const struct vectors *v,
                         struct embedding *embedding, const char *text, size_t size,
                         float *query, float *score, struct failure *why);

/* ---- salience.c, select.c: scores and choice ----------------------------- */

/* What a score is the sum of, each with its name. */
enum {
    PART_MASS, PART_TOPIC, PART_RELATION, PART_NAMES, PART_ADDRESS, PART_STUMBLING,
    PART_LENGTH, PART_TURN, PART_POSITION, PART_OUTCOME, PART_LEAD, PART_SECTION, PART_COMPANY,
    SALIENCE_PARTS
};
extern const char *const salience_names[SALIENCE_PARTS];

/* One number per sentence, and its parts unless those are NULL: [doc->n]. `leads`: what comes
 * first, in a document that explains and in each section, says what it is about. */
void salience_score(const struct document *doc, const struct vectors *v, const float *mass,
                    bool leads, float *score, float (*parts)[SALIENCE_PARTS]);

/* How much is asked for. */
enum length_unit { LENGTH_WORDS, LENGTH_SENTENCES, LENGTH_PERCENT, LENGTH_UNITS };

struct length {
    int64_t number;
    enum length_unit unit;
};

/* The sign of each unit. */
extern const char length_units[LENGTH_UNITS];

/* What that comes to in a document; INT64_MAX: as many as there are. */
struct budget {
    int64_t words, sentences;
    bool whole;                        /* one sentence fits always, and is never cut */
};

struct budget length_budget(struct length length, const struct document *doc);

/* ---- keywords.c: words and pairs that say most ------------------------------- */

struct keyword {
    size_t begin, end;                 /* where it stands as it is spelt most often */
    int64_t count;                     /* how often it occurs, however it is spelt */
    double score;
};

struct keywords {
    struct keyword *list;              /* the best first */
    int64_t n;
};

/* At most `most`, from the scores of sentences. False: no memory. */
bool keywords_find(struct keywords *k, const struct document *doc, const float *score,
                   int64_t most);
void keywords_finish(struct keywords *k);

/* ---- sections.c: parts of a document that have a share each ---------------- */

/* Sentences [begin, end), of which [heading, begin) are the heading. */
struct section {
    int64_t heading, begin, end;
    double share;                      /* of the document's attention; all are 1 */
};

struct sections {
    struct section *list;
    int64_t n;                         /* 0: the document is not in sections */
};

/* By headings; where there are none, by segments. */
bool sections_find(struct sections *s, const struct document *doc, const float *mass);
void sections_finish(struct sections *s);
/* The section of a sentence; -1: none. */
int64_t sections_of(const struct sections *s, int64_t i);

struct summary {
    bool *chosen;                      /* [doc->n] */
    int32_t *rank;                     /* of the chosen ones: in which order, from 0 */
    float *likeness;                   /* what that took from their scores */
    int64_t words;                     /* as printed, speakers included; <= the budget's */
    int64_t cut;                       /* > 0: the only sentence, cut to so many words */
};

bool summary_choose(struct summary *s, struct attend *a, const struct document *doc,
                    const struct vectors *v, const float *score, struct budget budget,
                    const struct sections *sections, struct failure *why);
void summary_finish(struct summary *s);

/* Whether sentence i, chosen after sentence `before` (-1: none), prints its speaker. */
bool summary_names_speaker(const struct document *doc, int64_t i, int64_t before);

/* Where sentence s ends in the summary: behind its last word, or where it is cut. */
size_t summary_end(const struct summary *summary, const struct document *doc,
                   const struct sentence *s);

/* ---- written.c: what a model wrote, and what it looked at ------------------- */

struct written_sentence {
    size_t begin, end;                 /* bytes of the text */
    int64_t part;
    int64_t at[LOOKS];                 /* of the document, what it looked at most first; -1: none */
    float share[LOOKS];                /* of the attention that sentences got */
};

struct written {
    char *text;                        /* of all parts, one behind another */
    size_t bytes;
    struct written_sentence *list;
    int64_t n, room, parts;
    char family[32];                   /* of the model */
    float *mass;                       /* what each sentence of the document got of all, [doc->n] */
    bool *chosen;                      /* which were looked at most by one, [doc->n] */
    int64_t *back;                     /* by which; -1: none, [doc->n] */
};

/* Of a document of so many sentences; false: no memory. */
bool written_begin(struct written *written, int64_t sentences);
void written_finish(struct written *written);

/* ---- output.c, json.c, html_page.c --------------------------------------- */

struct reading;
struct inputs;

struct report {
    const struct document *doc;
    const struct summary *summary;
    const struct written *written;     /* NULL: the summary has sentences of the document */
    const float *mass, *score;
    const float *relevance;            /* what the query added to scores; NULL: nothing */
    const float (*parts)[SALIENCE_PARTS];  /* NULL: not told */
    const int64_t (*looks)[LOOKS];     /* NULL: not told */
    const struct pattern *pattern;     /* NULL: not told */
    const struct reading *reading;     /* of all files together */
    const struct inputs *inputs;
    const struct sections *sections;   /* NULL: none */
    const struct keywords *keywords;   /* NULL: nobody asks */
    const char *file, *device;         /* file: the first one */
    const char *attention;
    const char *query;                 /* NULL: nothing was asked */
    struct length length;
    bool all;                          /* --explain: list what was not chosen too */
    bool named;                        /* files are named: there are several */
};

void output_text(FILE *to, const struct report *r);
void output_keywords(FILE *to, const struct report *r);
void output_table(FILE *to, const struct report *r);
void output_json(FILE *to, const struct report *r);
/* A text as wrapped words, and as a string of JSON with its quotes. */
void output_words(FILE *to, const char *text, size_t bytes);
void output_json_string(FILE *to, const char *text);
/* A page of HTML; false: memory is short, and nothing is written. */
bool output_html(FILE *to, const struct report *r);
/* The same, and closes. false, with the reason: not all of it is there. */
bool output_html_close(FILE *to, const struct report *r, struct failure *why);
/* Why there is no page; false. */
bool output_html_failed(struct failure *why, const char *reason);
/* The same into a file, wholly or not at all; `usage`: the file is the one that is read. */
bool output_html_file(const char *file, const struct report *r, struct failure *why);

#endif
