/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of a tokenizer share. A text goes through these, in this order: added tokens are
 * found in it as it stands (token_added.c); what lies between them is normalized (token_normal.c,
 * token_form.c, token_charsmap.c), added tokens are found once more, the rest is split into pieces
 * (token_split.c), which the model turns into ids (token_bpe.c, token_wordpiece.c,
 * token_unigram.c); the post-processor puts ids around them (token_post.c). The way back is
 * token_decode.c. token_read.c reads all of them from the file.
 *
 * Texts in here are valid UTF-8; tokenizer.c sees to that.
 */
#ifndef MODEL_TOKENS_H
#define MODEL_TOKENS_H

#include "json.h"
#include "tokenizer.h"

/* ---- memory of a tokenizer: no more than a hostile file may make it take (token_memory.c) */

struct block;
struct memory {
    struct block *blocks;
    size_t left;          /* bytes that may still be taken */
    bool refused, failed; /* beyond that; malloc() failed */
};

/* `n` times `size` bytes of zeros; NULL: memory->refused or memory->failed. */
void *memory_take(struct memory *memory, size_t n, size_t size);
void memory_give(struct memory *memory, void *taken);
void memory_finish(struct memory *memory);

/* ---- texts and ids of one call, which grow (token_memory.c); `failed` stays once it is set */

struct buffer {
    char *at;
    size_t bytes, room;
    bool failed;
};
bool buffer_room(struct buffer *buffer, size_t more);
void buffer_put(struct buffer *buffer, const char *at, size_t bytes);
void buffer_code(struct buffer *buffer, uint32_t code);
void buffer_finish(struct buffer *buffer);

/* A text whose bytes that are no UTF-8 become U+FFFD: one for each longest part that could have
 * been the beginning of a character, as the Unicode standard advises (chapter 3, table 3-8). */
void buffer_mend(struct buffer *buffer, const char *at, size_t bytes);

bool utf8_valid(const char *at, size_t bytes);

struct ids {
    int32_t *at;
    size_t n, room;
    bool failed;
};
void ids_put(struct ids *ids, int32_t id);

struct span {
    const char *at;
    size_t bytes;
};

/* The character at `at`, of valid UTF-8, and its bytes; the one that ends at `end`. */
size_t utf8_next(const char *at, uint32_t *code);
size_t utf8_last(const char *begin, const char *end, uint32_t *code);

/* ---- what characters are (token_unicode.c) */

bool unicode_white(uint32_t code);
bool unicode_letter(uint32_t code);
bool unicode_number(uint32_t code);
bool unicode_punctuation(uint32_t code);
bool unicode_word(uint32_t code);

/* ---- texts found by their bytes (token_trie.c) */

struct trie_slot {
    uint32_t edge;        /* the slot of the node before << 8 | byte */
    int32_t value;        /* negative: no text ends here */
};
struct trie {
    struct trie_slot *slots;
    uint32_t room, seed;
};
enum { TRIE_NONE = -1 };

struct word {
    uint32_t at, bytes;   /* in a pool */
};
#define WORD_HOLE UINT32_MAX

/**
 * Makes a trie of words, of which each has its index as its value; holes are left out.
 * @param twice NULL: the last of equal words counts; else it receives whether there were any.
 * @return false: the memory refuses it.
 */
bool trie_build(struct trie *trie, struct memory *memory, const char *pool,
                const struct word *words, size_t n, bool *twice);
int64_t trie_root(const struct trie *trie);
int64_t trie_step(const struct trie *trie, int64_t node, unsigned char byte);
int64_t trie_walk(const struct trie *trie, int64_t node, const char *at, size_t bytes);
int32_t trie_value(const struct trie *trie, int64_t node);
int32_t trie_find(const struct trie *trie, const char *at, size_t bytes);

/* ---- vocabularies and models */

/* No published one comes near, and the memory that is taken stays in proportion to the file. */
enum {
    TOKENS_MOST = 1 << 21,
    MERGES_MOST = 1 << 20,
    HOLES_MOST = 1 << 18,
    TOKEN_BYTES_MOST = 1024
};

struct vocab {
    char *pool;
    struct word *words;   /* by id; holes where there is none */
    int64_t n, count;     /* one more than the largest id; tokens */
    bool empty;           /* is there a token without bytes? The trie has none */
    double *scores;       /* Unigram: by id */
    struct trie trie;
};

struct merge {
    int32_t left, right;  /* left negative: an empty slot */
    int32_t rank, id;
};

struct tokenizer;
struct scratch;

struct model_kind {
    const char *name;
    bool (*read)(struct tokenizer *t, struct json *j);
    void (*encode)(const struct tokenizer *t, const char *text, size_t bytes, struct scratch *s,
                   struct ids *ids);
};

struct model {
    const struct model_kind *kind;
    struct vocab vocab;
    int32_t unknown;      /* negative: there is none */
    bool fuse, byte_fallback, whole_words;
    int32_t bytes[256];   /* the tokens <0x00> to <0xFF>; negative: there is none */
    struct span prefix, suffix;
    int64_t word_most;    /* characters of a word */
    struct merge *merges;
    uint32_t merges_room, merges_seed;
    double unknown_score;
};

bool vocab_of_object(struct tokenizer *t, struct json *j);
bool vocab_of_pairs(struct tokenizer *t, struct json *j);
void vocab_bytes(struct model *model);

/* The model BPE of a vocabulary that is read, and the lines of a merges.txt. */
bool bpe_of_lines(struct tokenizer *t, const char *merges, size_t bytes);

extern const struct model_kind model_bpe, model_wordpiece, model_unigram;

/* ---- steps of the pipeline: what a file lists, in its order */

struct charsmap;
struct step;
struct piece;
struct pieces;
struct parts;

/* Where the next match of a pattern is, from `at` on. */
struct pattern {
    bool (*find)(const struct step *step, const char *at, const char *end, struct span *match);
    struct span text;
};

/* A text between two steps; the first `origin` bytes of it come from the first character that the
 * caller gave: Metaspace asks for that. */
struct line {
    struct buffer text;
    size_t origin;
};

enum field_kind {
    FIELD_BOOL,           /* bool */
    FIELD_MAYBE,          /* int: -1 of null, 0, 1 */
    FIELD_COUNT,          /* int64_t of 0 to 2^31 - 1 */
    FIELD_TEXT,           /* struct span; of null no bytes at NULL */
    FIELD_CHARACTER,      /* uint32_t */
    FIELD_CHOICE,         /* int: which one of the names */
    FIELD_PATTERN,        /* struct pattern */
    FIELD_CHARSMAP,       /* struct charsmap * */
    FIELD_TOKEN,          /* int32_t of ["text", id] */
    FIELD_PLACE           /* struct json: where it begins */
};

struct field {
    const char *name;
    enum field_kind kind;
    bool needed;
    size_t offset;
    const char *const *names;
};

struct step_kind {
    const char *name;
    const struct field *fields; /* ends with a name of NULL */
    /* `out` has the origin of the text when it comes in, and its own when it goes out. */
    void (*normalize)(const struct step *step, const char *text, size_t bytes, struct line *out);
    void (*each)(const struct step *step, uint32_t code, struct buffer *out);
    void (*split)(const struct step *step, const char *text, struct piece piece,
                  struct pieces *out);
    void (*decode)(const struct step *step, const struct parts *in, struct parts *out);
    bool (*prepare)(struct tokenizer *t, struct step *step);
};

struct step {
    const struct step_kind *kind;
    bool flags[4];
    int maybes[2], choice;
    uint32_t character;
    int64_t counts[2];
    struct span text;
    struct pattern pattern;
    struct charsmap *charsmap;
    int32_t tokens[2];
    struct json places[2];
    int32_t *ids;         /* a template: ids, and -1 where the sequence is */
    size_t n_ids;
};

struct steps {
    struct step *at;
    size_t n;
};

/* ---- pieces of a text: each begins where the one before it ends */

struct piece {
    size_t begin, end, origin;
};
struct pieces {
    struct buffer text, work;
    struct piece *at;
    size_t n, room;
    bool failed;
};
void pieces_put(struct pieces *pieces, const char *at, size_t bytes, size_t origin);
void pieces_clear(struct pieces *pieces);
void pieces_finish(struct pieces *pieces);

/* ---- tokens as texts, for decoding: the i-th ends at ends[i] */

struct parts {
    struct buffer text;
    size_t *ends;
    size_t n, room;
    bool failed;
};
void parts_end(struct parts *parts);
void parts_clear(struct parts *parts);
void parts_finish(struct parts *parts);

/* ---- kinds: tables that end with a name of NULL */

extern const struct step_kind normalizer_kinds[], splitter_kinds[], processor_kinds[],
    decoder_kinds[];

void normal_form(const char *text, size_t bytes, bool compose, bool compatible, struct line *out);
void charsmap_apply(const struct charsmap *map, const char *text, size_t bytes, struct line *out);
struct charsmap *charsmap_read(struct memory *memory, const struct json_text *base64,
                               const char **error);

/* The characters that stand for bytes in byte-level vocabularies. */
uint32_t byte_code(unsigned char byte);
int byte_of_code(uint32_t code);
void bytes_as_codes(const char *at, size_t bytes, struct buffer *out);

/* Reads a pattern of `text`, a regular expression or not; false: it is not known here. */
extern const char gpt2_expression[];
bool pattern_read(struct pattern *pattern, bool regular, struct span text);

/* ---- added tokens */

struct added {
    struct word content, normalized;
    int32_t id;
    bool single, left, right, normal, special;
    bool hidden;          /* left out where special tokens are */
};

struct added_tokens {
    char *pool;
    struct added *at;
    const struct added **by_id; /* those that are not listed again behind */
    size_t n, n_ids;
    struct trie by_content, as_is, in_normal; /* the values are places in `at` */
    bool begins[2][256];  /* may one begin with this byte: as it is, normalized? */
};

/* One token, or what lies between two of them: token NULL. */
struct found {
    size_t begin, end;
    const struct added *token;
};
struct founds {
    struct found *at;
    size_t n, room;
    bool failed;
};
bool added_read(struct tokenizer *t, struct json *j);
void added_find(const struct tokenizer *t, bool normal, const char *text, size_t bytes,
                struct founds *out);
const struct added *added_of_id(const struct tokenizer *t, int32_t id);

/* ---- the tokenizer, and how one is read */

struct tokenizer {
    struct memory memory;
    struct model model;
    struct steps normalizers, splitters, processors, decoders;
    struct added_tokens added;
    int64_t n_ids;

    /* While the file is read: what is wrong with it, and where. */
    heed_status status;
    char field[64], message[160];
};

/* The mistake of a file; false. The first one stays. */
bool read_fail(struct tokenizer *t, heed_status status, const char *field, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 4, 5)))
#endif
    ;

/* What the reader of JSON says; false. */
bool read_wrong(struct tokenizer *t, const struct json *j, const char *field);

/* Memory that the file may not have, or that there is not; false. */
bool read_memory(struct tokenizer *t, const char *field);

/* The members of an object into *to, which holds their defaults. */
bool read_fields(struct tokenizer *t, struct json *j, const char *place,
                 const struct field *fields, void *to);

/* Steps of these kinds: one, null, or the kind "Sequence" with a list of them. */
bool read_steps(struct tokenizer *t, struct json *j, const char *place,
                const struct step_kind *kinds, const char *list, struct steps *steps);

/* The text of a string, in the tokenizer's memory; at NULL: there is none. */
struct span read_text(struct tokenizer *t, const struct json_text *text);

/* ---- one call of encode */

struct symbol {
    int32_t id, before, behind; /* id negative: merged into the one before */
};
struct candidate {
    uint64_t order;       /* rank, then position */
    int32_t id;
};
struct reached {
    double score;
    int32_t id;
    uint32_t bytes;       /* of the token that ends here; 0: nothing does */
};

struct scratch {
    struct symbol *symbols;
    struct candidate *heap;
    struct reached *reached;
    size_t n_heap, symbols_room, heap_room, reached_room;
    bool failed;
};

/* Room for n elements of `size` bytes in an array that may move; false: there is none. */
bool array_room(void *array, size_t *room, size_t n, size_t size);

bool normalize(const struct steps *steps, const char *text, size_t bytes, struct line lines[2],
               int *which);
bool decode(const struct tokenizer *t, const int32_t *ids, size_t n, bool special,
            struct buffer *out);
bool post_process(const struct tokenizer *t, bool special, struct ids *ids);

#endif
