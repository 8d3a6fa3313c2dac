/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of libheed-mpi share: ranks, a device whose memory is counted, drawn attentions
 * with the part of each rank, and MPI calls that are counted or fail.
 */
#ifndef HEED_TESTS_MPI_WORLD_H
#define HEED_TESTS_MPI_WORLD_H

#include <heed/mpi.h>

#include <stdbool.h>
#include <stdio.h>

/* ---- the process ---- */

struct world {
    int rank, ranks;
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
    int64_t live, taken, fail_at; /* blocks; the taking that fails, -1: none */
    int64_t bytes, most_bytes;    /* live, and most of them at a time */
    int failures;
};

extern struct world world;

void world_begin(int *argc, char ***argv);
int world_end(void);

/* A property that does not hold is printed with its rank and counted. */
#define EXPECT(holds, ...)                                                                         \
    ((holds)                                                                                       \
         ? (void)0                                                                                 \
         : (void)(world.failures++,                                                                \
                  printf("%s:%d: rank %d of %d: ", __FILE__, __LINE__, world.rank, world.ranks),   \
                  printf(__VA_ARGS__), putchar('\n'), fflush(stdout)))

/* ---- MPI between heed and the library (count.c) ---- */

struct traffic {
    uint64_t bytes_in, bytes_out, messages_in, messages_out, longest;
    bool fail_alltoall;
};

extern struct traffic traffic;

/* ---- drawn attentions (draw.c, part.c) ---- */

enum { PATTERNS = 9, MOST_RANKS = 16, MOST_SOURCES = 3, MOST_ITEMS = 5, MOST_SLOTS = 24 };

/* A source and what it has of its own. */
struct drawn {
    heed_term terms[3];
    heed_bias bias;
    int32_t list[MOST_ITEMS][8], (*ranges)[2];
    int64_t lengths[MOST_ITEMS], begins[MOST_ITEMS];
    int64_t n_k, items; /* of its tensors */
    char *k, *v;        /* of the whole */
    bool everywhere;    /* every rank holds all of it */
    int64_t cut[MOST_RANKS + 1];
};

struct attention {
    char text[200];
    heed_attn_desc desc;
    heed_source sources[MOST_SOURCES];
    struct drawn drawn[MOST_SOURCES];
    heed_slot slots[MOST_SLOTS];
    heed_buf bufs[MOST_SLOTS]; /* of slots that a run binds */
    int64_t q_lengths[MOST_ITEMS], q_begins[MOST_ITEMS], shifts[MOST_ITEMS];
    float slopes[4], table[64], tables[64 * 16], sinks_data[4];
    int64_t batch, q_items, key_heads, n_q, d, size, step; /* q_items: of q's tensor */
    char *q, *o;                                           /* of the whole */
    float *lse;
    int64_t row_cut[MOST_RANKS + 1];
};

struct part {
    heed_mpi_keys keys[MOST_SOURCES];
    heed_mpi_parts parts;
    char *q, *k[MOST_SOURCES], *v[MOST_SOURCES], *o;
    float *lse;
    heed_kv_bufs kv[MOST_SOURCES];
    heed_attn_args args;
};

/* The same on every rank. pattern < PATTERNS. */
void attention_draw(struct attention *, uint64_t seed, int pattern);
void attention_free(struct attention *);
/* o and lse of the whole, by one plan. */
void attention_compute(struct attention *);
/* Zeroed memory; aborts where there is none. */
void *room(int64_t bytes);
/* What the calling rank holds. */
void part_make(struct part *, const struct attention *);
void part_free(struct part *);
/* Does the part have the words of the whole? */
bool part_equal(const struct part *, const struct attention *);

/* ---- model.c ---- */

/* Does heed_mpi_model() say of this rank what its plan says? Collective. */
void model_compare(const char *text, const heed_attn_desc *, const heed_mpi_parts *mine,
                   const heed_mpi_plan *);
void many_ranks_take_little_memory(void);
void a_model_of_causal_ranks_is_a_triangle(void);
void a_wrong_model_writes_nothing(void);

/* ---- what is not drawn (edges.c) ---- */

/* A memory, a text and a source without keys; v is wider than k. */
void several_sources_have_the_words_of_one_machine(void);
/* No source, no row. */
void nothing_to_see_is_legal(void);

/* ---- packed.c ---- */

void packed_items_of_two_axes_have_the_words_of_one_machine(void);
void what_is_wrong_with_packed_items_is_named(void);

#endif
