/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Between the part of the CPU backend that is compiled once (backend.c, execute.c) and the part
 * that is compiled once per instruction set (tile.c). A strip is a set of query rows that share
 * their keys; attending to it is all that tile.c does, plus packing K.
 */
#ifndef HEED_BACKENDS_CPU_TILE_H
#define HEED_BACKENDS_CPU_TILE_H

#include "../../lib/plan.h"
#include "../../lib/spans.h"

#include <stdbool.h>
#include <stddef.h>

#define HEED_CPU_BLOCK 64       /* keys of a softmax block: numerics.md step 5 */
#define HEED_CPU_CHUNK 16       /* blocks of a chunk: step 8 */
#define HEED_CPU_LANES 16       /* partial row sums: step 7 */
#define HEED_CPU_ALIGN 64

/* A row-major matrix in memory: element (i, t) at base + (i * row + t * channel) * element size. */
struct heed_cpu_matrix {
    const char *base;
    int64_t row, channel;
    uint32_t dtype, reserved;
};

/* A bias of one source for one batch item. */
struct heed_cpu_bias {
    uint32_t kind, dtype;
    const char *t;
    int64_t head, row, key;     /* strides of t, elements; TABLE: key is the stride of the index */
    int64_t length, map_length; /* TABLE: entries of t, of the map */
    int64_t zero;
    const int32_t *map;         /* NULL: none */
    int64_t map_stride;
    const char *q_coord, *k_coord;      /* NULL: positions */
    int64_t q_stride, k_stride;
    uint32_t q_dtype, k_dtype;
};

/* One source as a strip meets it. */
struct heed_cpu_source {
    struct heed_cpu_matrix k, v;        /* key 0 of the item, head applied */
    const float *packed;                /* the item's K panels (heed_cpu_isa.pack), or NULL */
    const uint8_t *finite; /* with packed, by 64-key block: 1 where all of V is finite */
    const struct heed_cpu_bias *biases;
    uint32_t n_biases, first, n_subs, reserved;
};

struct heed_cpu_row {
    int64_t index, head, q;
    const char *from;           /* q row */
    char *to;                   /* o row */
    float *lse;                 /* NULL: not wanted */
    uint32_t all;               /* bit s: named by a GLOBAL ROWS term of source s */
    uint32_t absent;            /* 1: beyond the item's length, sees nothing */
};

struct heed_cpu_strip {
    const struct heed_checked *attn;
    const struct heed_lowered *lowered;
    const struct heed_cpu_source *sources;
    const struct hk_item *items;        /* one per sub-source */
    const struct heed_cpu_row *rows;
    int64_t n_rows;
    const char *sinks;                  /* NULL: none */
    char *scratch;                      /* heed_cpu_isa.scratch bytes, aligned to HEED_CPU_ALIGN */
};

/* pack: K panels of keys [first, first + 64) into out[64 / panel][d][panel]; keys from n on are
 * zero. finite: are the V rows of those keys? temp: 8 rows. */
struct heed_cpu_isa {
    const char *name, *description;
    int64_t tile_rows, panel;
    size_t (*scratch)(const struct heed_checked *, int64_t rows);       /* 0: too large */
    void (*pack)(const struct heed_cpu_matrix *k, int64_t d, int64_t first, int64_t n, float *out,
                 float *temp);
    bool (*finite)(const struct heed_cpu_matrix *v, int64_t d_v, int64_t first, int64_t n,
                   float *temp);
    void (*attend)(const struct heed_cpu_strip *);
    bool (*self_test)(void);            /* fma and rint keep IEEE rules */
};

extern const struct heed_cpu_isa heed_cpu_isa_scalar, heed_cpu_isa_avx2, heed_cpu_isa_avx512;

#endif
