/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the numeric parts of heed-summarize share: matrices on a device and the calls
 * to heed (calls.c), the memory of what is far away (memory.c), the probe (probe.c).
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_ATTEND_H
#define HEED_EXAMPLES_SUMMARIZE_ATTEND_H

#include "summarize.h"

#include <heed/attn.h>
#include <heed/heed.h>

struct attend {
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
    heed_device_props props;
    heed_report report;            /* of the last call */
    struct limits limits;
    int64_t width;                 /* channels of a vector */
    const struct encoder *encoder; /* NULL: the first one */
    int64_t (*looks)[LOOKS];       /* NULL: nobody asks */
    struct pattern *pattern;       /* NULL: nobody asks */
};

/* ---- calls.c: matrices and calls ------------------------------------------ */

/* A dense matrix of floats on the device. */
struct matrix {
    heed_buf buf;                  /* no handle: absent */
    int64_t rows, width;
};

bool attend_failed(const struct attend *a, const char *what, heed_status status,
                   struct failure *why);

bool matrix_create(struct attend *a, struct matrix *m, int64_t rows, int64_t width,
                   struct failure *why);
void matrix_destroy(struct attend *a, struct matrix *m);
bool matrix_write(struct attend *a, const struct matrix *m, const float *from,
                  struct failure *why);
bool matrix_read(struct attend *a, float *to, const struct matrix *m, struct failure *why);

/* Rows [begin, begin + rows) of m. */
struct matrix matrix_rows(struct matrix m, int64_t begin, int64_t rows);

/* m with no channel: where only the LSE is wanted, nothing is summed. */
struct matrix matrix_no_channels(struct matrix m);

/* Keys of an attention. */
struct keys {
    struct matrix k, v;
    heed_term term;                /* what a row sees; kind ALL: everything */
    struct matrix bias;            /* [k.rows][1], or absent */
    heed_buf len;                  /* how many rows there are, i64; no handle: all */
};

enum { MAX_KEYS = 2 };

/* One attention: o = softmax(q k^T * scale + bias) v over all keys, one head. */
struct attention {
    const char *name;              /* for messages */
    struct matrix q, o;
    struct matrix lse;             /* [q.rows][1], or absent */
    struct keys keys[MAX_KEYS];
    uint32_t n_keys;
    double scale;
    int64_t q_pos0;                /* position of row 0 of q */
};

bool call_attention(struct attend *a, const struct attention *s, struct failure *why);

/* Row j of y is the mean of rows ranges[2 j] .. ranges[2 j + 1] - 1 of x. */
bool call_pool_ranges(struct attend *a, const struct matrix *x, const int32_t *ranges,
                      const struct matrix *y, struct failure *why);

/* Row j of y is the mean of rows j * group on of x, weighted by the softmax of their bias. */
bool call_pool_groups(struct attend *a, const struct matrix *x, const struct matrix *bias,
                      int64_t group, const struct matrix *y, struct failure *why);

/* lse[i] = ln(sum over p of exp(parts[p * part_stride + i * row_stride])), i < lse->rows. */
struct parts {
    heed_buf buf;
    int64_t n, part_stride, row_stride;
};

bool call_merge(struct attend *a, const struct parts *parts, const struct matrix *lse,
                struct failure *why);

/* The newest rows of what was pushed, as many as it has places. */
struct ring {
    struct matrix rows;
    heed_buf head, len;            /* i64 */
};

bool ring_create(struct attend *a, struct ring *r, int64_t rows, int64_t width,
                 struct failure *why);
void ring_destroy(struct attend *a, struct ring *r);
bool ring_clear(struct attend *a, const struct ring *r, struct failure *why);

/* What falls out goes to `out`, unless that is absent. */
bool call_push(struct attend *a, const struct ring *r, const struct matrix *x,
               const struct matrix *out, struct failure *why);

/* ---- encoder.c: how sentences look around ----------------------------------- */

/* Sentences on each side that a block needs besides its own. */
int64_t encoder_reach(const struct attend *a);

/* Row i of y is what row i of x takes in of the rows of v, by looking at their x; lse, which may be
 * NULL, takes the LSE of its scores. */
bool encoder_run(struct attend *a, const struct matrix *x, const struct matrix *v,
                 const struct matrix *y, const struct matrix *lse, struct failure *why);

/* The rows that rows first .. first + count - 1 of x, [n], give most weight to, themselves
 * excepted; -1: there are no more. */
bool encoder_look(struct attend *a, const float *x, int64_t n, int64_t first, int64_t count,
                  int64_t (*best)[LOOKS], struct failure *why);

/* ---- pattern.c: a picture of it ---------------------------------------------- */

/* Adds rows [begin, begin + count) of x, which stand for the sentences `kept`; `rows` has them on
 * the host. */
bool pattern_take(struct attend *a, const struct matrix *x, const float *rows, const int32_t *kept,
                  int64_t begin, int64_t count, struct failure *why);

/* ---- memory.c: what is near, and what is far in few rows ------------------- */

enum { TIERS = 3, GROUP = 16 };

/* What leaves one tier enters the next, GROUP rows made one. */
struct tier {
    struct ring rows, bias;
    struct matrix fresh, fresh_bias;   /* what is pushed at a time */
    struct matrix out, out_bias;       /* what falls out then; absent in the last tier */
    int64_t held;                      /* rows of the ring */
};

struct memory {
    struct tier tier[TIERS];
};

bool memory_create(struct attend *a, struct memory *m, int64_t chunk, int64_t near,
                   int64_t capacity, struct failure *why);
void memory_destroy(struct attend *a, struct memory *m);
bool memory_clear(struct attend *a, struct memory *m, struct failure *why);

/* Takes `chunk` rows, each with a bias; -Inf: the row is not there. */
bool memory_push(struct attend *a, struct memory *m, const float *rows, const float *bias,
                 struct failure *why);

/* The first tier, and those of the others that hold something, as keys without values. */
struct keys memory_near(const struct memory *m);
uint32_t memory_far(const struct memory *m, struct keys keys[TIERS - 1]);

/* ---- probe.c ---------------------------------------------------------------- */

struct state;                          /* of attend.c */

/* Sentences that have a vector, and what they look for. */
struct views {
    const struct vectors *vectors;
    const int32_t *kept;               /* sentence of each row */
    int64_t n;
    struct state *state;
};

/* Rows [at, at + rows) as vectors. */
void views_expand(const struct views *s, int64_t at, int64_t rows, float *to);
/* The same rows as views. Asked in order or against it, each is made once. */
bool views_look(struct attend *a, const struct views *s, int64_t at, int64_t rows, float *to,
                struct failure *why);

struct meter {
    attend_progress *progress;
    void *context;
    int64_t done, all;
};

/* So many rows more are done. */
void meter_add(struct meter *meter, int64_t rows);

/* Rows that probe() adds to the meter for n sentences. */
int64_t probe_steps(const struct attend *a, int64_t n);

/* Attention each row receives from all of them, [n]. */
bool probe(struct attend *a, const struct views *s, struct meter *meter, float *mass,
           struct failure *why);

/* Scale of a cosine before the softmax. */
#define SHARPNESS 8.0

#endif
