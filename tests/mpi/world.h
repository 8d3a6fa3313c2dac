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

/* ---- drawn attentions (draw.c) ---- */

enum { PATTERNS = 9, MOST_RANKS = 16 };

struct attention {
    char text[160];
    heed_attn_desc desc;
    heed_source source;
    heed_term terms[3];
    heed_bias bias;
    heed_slot slots[4];
    int32_t list[2][8], (*ranges)[2];
    int64_t lengths[2];
    float slopes[4], sinks_data[4];
    int64_t batch, heads, key_heads, n_q, n_k, d, size;
    char *q, *k, *v, *o, *slopes_at; /* of the whole */
    float *lse;
    int64_t row_cut[MOST_RANKS + 1], key_cut[MOST_RANKS + 1];
};

struct part {
    heed_mpi_keys keys;
    heed_mpi_parts parts;
    char *q, *k, *v, *o;
    float *lse;
    heed_kv_bufs kv;
    heed_buf slots[4];
    heed_attn_args args;
};

/* The same on every rank. pattern < PATTERNS. */
void attention_draw(struct attention *, uint64_t seed, int pattern);
void attention_free(struct attention *);
/* o and lse of the whole, by one plan. */
void attention_compute(struct attention *);
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

#endif
