/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a document that a model reads, and what a part gets of others.
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_PART_H
#define HEED_EXAMPLES_SUMMARIZE_PART_H

#include "abstract.h"

#ifdef SUMMARIZE_MODEL

#include <heed/model.h>

/* Rows of the encoder's states of a salient sentence. */
struct kept {
    int64_t sentence, first, n;
};

/* Bytes of a part's text, and the sentence that they are; -1: words of heed-summarize's own. */
struct passage {
    size_t begin, end;
    int64_t sentence;
};

enum { SUMMARY_IDS = 1 << 14 };

struct writer {
    const struct options *options;
    const struct document *doc;
    heed_runtime *runtime;
    heed_queue *queue;
    heed_model *model;
    heed_model_memory *memory;         /* NULL: parts know nothing of those before */
    heed_model_props props;
    const bool *salient;               /* NULL: nor of others */
    int64_t before, behind;            /* how many sentences of others this part gets */
    struct kept *kept;                 /* their states, in the order of the document, instead of */
    int64_t n_kept;                    /* their text; NULL: their text */
    float *states, *rows;              /* of all of them; of those that a part gets */
    heed_report why;
    char *text;                        /* of the part in the making */
    size_t bytes, room;
    int32_t *ids, *out;
    int64_t n_ids, room_ids, read;     /* read: sentences of the parts before */
    int parts;
    struct written *written;           /* NULL: nobody asks what is looked at */
    struct passage *pieces;              /* of the text in the making */
    int64_t n_pieces, room_pieces;
    size_t base;                       /* where this part's text begins in w->written */
    int32_t *groups;                   /* the piece of each id; -1: none */
    float *weights;
};

/* Says what went wrong, or that memory is short. Returns an exit status. */
int writer_failed(const struct writer *w);
int writer_no_memory(void);

/* Room for `n` ids in w->ids; false: there is none. */
bool writer_ids(struct writer *w, int64_t n);

/* The sentence behind the part that begins at w->read and has at most `most` tokens; one at least.
 * Negative: a tokenizer that fails. */
int64_t part_end(struct writer *w, int64_t most);

/* The ids of a part, with the text of others that it gets. Returns an exit status. */
int part_read(struct writer *w, int64_t end);

/* Sentences of other parts: the outermost first, one before and one behind the part in turn, until
 * one does not fit into what is `left`, of tokens or of rows. False: a tokenizer that fails. */
bool part_others(struct writer *w, int64_t end, int64_t left);

/* The next salient sentence from i on, by `step`, before `end`; or `end`. The first of the last `n`
 * that there are. */
int64_t part_salient(const struct writer *w, int64_t i, int64_t step, int64_t end);
int64_t part_last(const struct writer *w, int64_t n);

/* The text of a part alone; the same up to a sentence, and how many tokens it has (negative: a
 * tokenizer that fails). */
bool part_alone(struct writer *w, int64_t end);
int64_t part_tokens(struct writer *w);

/* Tokens of some bytes of the text, without those that begin and end texts; negative: a tokenizer
 * that fails. How many of those begin the ids that were read. */
int64_t part_count(struct writer *w, size_t begin, size_t end);
int part_lead(struct writer *w, int64_t *lead);

/* What is in the text from `begin` on is this sentence; false: no memory. */
bool written_piece(struct writer *w, size_t begin, int64_t sentence);

/* Has the next generation tell what it looks at; takes that up, with the text of n ids. Return an
 * exit status. */
int written_ask(struct writer *w, heed_generate_options *options);
int written_take(struct writer *w, const char *text, int64_t n);

/* Reads all parts once, and keeps the states of salient sentences. Returns an exit status. */
int recall_all(struct writer *w);

/* Those of other parts into the memory, before this part is read. Returns an exit status. */
int recall_others(struct writer *w, int64_t end);

#endif

#endif
