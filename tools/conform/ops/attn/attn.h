/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention: what its parts share. From the fields of a case (fields.c) come logical arrays
 * (data.c, slots.c), which are laid out in device memory and given to a device (call.c); an oracle
 * written from the definitions alone (visibility.c, oracle.c) and equality between devices judge
 * the outputs (bits.c, meta.c). Public headers only.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_ATTN_ATTN_H
#define HEED_TOOLS_CONFORM_OPS_ATTN_ATTN_H

#include "conform/engine/operation.h"

#include <heed/attn.h>

#include <stdbool.h>
#include <stdio.h>

/* Lines of cases have fewer terms and biases: these are for problems made of descriptors. */
enum {
    MAX_SOURCES = 3,
    MAX_TERMS = 6,
    MAX_BIASES = 3,
    MAX_SLOTS = 48
};

/* ---- fields.c, line.c ---------------------------------------------------- */

/* Fields of a case. The first of each enumeration's values is the default. */
enum {
    G_BATCH,
    G_H,
    G_NQ,
    G_D,
    G_DV,
    G_Q,
    G_O,
    G_QL,
    G_QBEG, G_OBEG,
    G_QLEN,
    G_ALIGN,
    G_QSTEP,
    G_QPOS0,
    G_QPOS,
    G_SCALE,
    G_CAP,
    G_SINK, G_SINKT,
    G_LSE,
    G_FILL,
    G_QS,
    G_OS,
    G_LS,
    G_MIS,
    G_INT,
    G_SHARE,
    G_SS,
    G_NUM,
    G_WS,
    G_NS,
    G_COUNT
};
enum {
    S_NK,
    S_K,
    S_V,
    S_HK,
    S_KB,
    S_LAY,
    S_LEN,
    S_IDX,
    S_RUN,
    S_PAGE,
    S_TAB,
    S_ROWS,
    S_LH,
    S_MASK,
    S_MSLOT,
    S_RMASK,
    S_CAUSAL,
    S_END,
    S_POS0,
    S_PSTEP,
    S_PSPAN,
    S_KS,
    S_VS,
    S_PAD,
    S_NT,
    S_NB,
    S_KT,
    S_KC,
    S_VT,
    S_VC,
    S_KG,
    S_KM,
    S_VG,
    S_VM,
    S_COUNT
};
enum { T_KIND, T_LEFT, T_RIGHT, T_BLOCK, T_STEP, T_PHASE, T_PH, T_GF, T_SLOT, T_COUNT };
enum {
    B_KIND,
    B_T,
    B_SLOT,
    B_H,
    B_Q,
    B_K,
    B_FILL,
    B_LEN,
    B_MAP,
    B_COORD,
    B_CSLOT,
    B_ZERO,
    B_OF,
    B_FACTOR,
    B_COUNT
};

enum { DT_F32, DT_F16, DT_BF16 };
enum { HAVE_NONE, HAVE_CONST, HAVE_RT, HAVE_HOSTILE }; /* lengths, maps, positions */
enum { SLOT_CONST, SLOT_RT, SLOT_HOSTILE };            /* what must be there */
enum { TABLES_OWN, TABLES_BEGIN, TABLES_ONE };          /* of pages: what items share of them */
enum { ALIGN_START, ALIGN_END, ALIGN_NONE };
enum { SCALE_DEFAULT, SCALE_GIVEN, SCALE_ZERO, SCALE_NEGATIVE };
enum { SINK_NONE, SINK_NORMAL, SINK_NEGINF, SINK_NAN, SINK_HUGE, SINK_INF };
enum { LSE_NONE, LSE_PLAIN, LSE_SINK };
enum {
    FILL_NORMAL, FILL_TIES, FILL_HUGE, FILL_SUBNORMAL, FILL_SPECIAL,
    FILL_SPECIALV, FILL_EXACT, FILL_RISE, FILL_EDGE, FILL_OVER
};
enum { LAY_DENSE, LAY_RAGGED, LAY_LISTED, LAY_PAGED, LAY_RING };
enum { HEADS_NONE, HEADS_1, HEADS_HK, HEADS_H };
enum { ROWS_NONE, ROWS_BYTES_1, ROWS_BYTES_H, ROWS_BITS_1, ROWS_BITS_H };
enum { GROUPS_ROW, GROUPS_ALL, GROUPS_32, GROUPS_64 };
enum { PH_NONE, PH_HEAD, PH_QUERY, PH_BOTH };
enum { GF_NONE, GF_KEYS, GF_ROWS, GF_BOTH };
enum { BFILL_NORMAL, BFILL_INF, BFILL_SPECIAL };
enum { COORD_NONE, COORD_K, COORD_Q, COORD_BOTH };
enum { OF_BOTH, OF_T, OF_U };
enum { FACTOR_NONE, FACTOR_H, FACTOR_1 };

int cf_at_source(int s); /* first field of source s, ... */
int cf_at_term(int s, int t);
int cf_at_bias(int s, int b);
int64_t cf_g(const struct cs *, int field);
int64_t cf_s(const struct cs *, int s, int field);
int64_t cf_t(const struct cs *, int s, int t, int field);
int64_t cf_b(const struct cs *, int s, int b, int field);

/* ---- data.c, slots.c, overlap.c ------------------------------------------- */

struct slot {
    struct array a;
    bool constant;
    int64_t ordered; /* constant entries ascend along the last axis and stay below this; 0: free */
};

/* Slot numbers count from 1; 0: absent. */
struct bias_data {
    int t, u, map, q_coord, k_coord;
};
struct source_data {
    struct array k, v;
    int64_t heads, n_k, total; /* n_k: bound of an item's length; total: rows of k, packed ones
                                * (RAGGED) or those of a page (PAGED) */
    int64_t ext;               /* extent of the k axis of masks, coordinates, biases */
    int index, len, mask, row_mask, k_scale, v_scale;
    bool k_minima, v_minima; /* in the arrays of scales */
    int term[MAX_TERMS];
    struct bias_data bias[MAX_BIASES];
};

struct relation;

/* What of a problem a call is about: sources [first, end), from a state on, up to a state. */
struct stretch {
    int first, end;
    bool stops;
    struct array begins; /* data NULL: from nothing */
};

/* What the case says, in memory, for the items chosen (all, one alone, another order). */
struct problem {
    struct cs c;
    int n_items;
    bool shapes_only;        /* contents only where check looks at them */
    bool loose;              /* a kernel that claims no exact numerics computes it */
    bool was_read;           /* of a descriptor (read.c): the case does not say all of it */
    int64_t item[MAX_BATCH]; /* numbers of the items in the case */
    int64_t heads, d, dv, n_q, q_total, o_total, q_ext;
    double scale, softcap;
    uint32_t weights; /* type that weights may be rounded to before they meet v; 0: they are not */
    struct array q, sinks;
    struct source_data source[MAX_SOURCES];
    int n_sources, q_begin, o_begin, q_len, q_pos;
    struct stretch part;        /* all sources, where nobody says otherwise */
    int n_slots;
    struct slot slot[MAX_SLOTS];
};

void cf_batch_axes(const struct cs *, int *axes, int64_t extent[3]); /* 0..2 axes */
int64_t cf_batch_count(const struct cs *);
int64_t cf_case_work(const struct cs *); /* multiply-adds, roughly; > any limit: too big */
/* items NULL: all. data false: tensors without contents. NULL: no memory. */
struct problem *cf_problem_make(const struct cs *, const int64_t *items, int n, bool data);
void cf_problem_free(struct problem *);
bool cf_slots_make(struct problem *);
/* Makes the contents of slots agree where their elements share memory; all: the problem of all
 * items, from which this one has some, or NULL. */
bool cf_slots_lay(struct problem *, struct problem *all);

/* ---- scales.c: k and v in bytes ------------------------------------------ */

/* Element of a row of k, or of v. h: hash of all its indices; pick: of all but the channel. */
uint32_t cf_byte_at(const struct cs *, bool key, uint64_t h, uint64_t pick, int64_t channel);
/* The scales that lie apart of the row at [b][head][row] of k or v. Their array is
 * [b][1][head][row], or of groups [b][head][row][entries]. */
struct cf_scales {
    const struct array *a; /* NULL: there are none */
    int64_t b, head, row;
    bool minima;
};
struct cf_scales cf_scales_at(const struct problem *, int s, bool key, int64_t b, int64_t head,
                              int64_t row);
/* Entries of a row of an array of scales, and where one lies. */
int64_t cf_scale_entries(const struct array *);
int64_t cf_scale_at(const struct array *, int64_t b, int64_t head, int64_t row, int64_t entry);
int64_t cf_scale_heads(const struct array *);
/* HEED_SOURCE_*: what the arrays of scales of a source hold. */
uint32_t cf_scale_flags(const struct problem *, int s);
/* Fills the blocks of the row of k or v whose channel 0 is element `at`. row: hash of its indices;
 * j: its number. */
void cf_blocks_fill(const struct cs *, struct array *, int64_t at, bool key, uint64_t row,
                    int64_t j);
/* Puts random codes beside NaN, infinities or a large scale into the blocks of such a row. */
void cf_blocks_poison(struct array *, int64_t at, uint64_t hash);
/* Scales and minima of all blocks times a power of two. */
void cf_blocks_multiply(struct array *, float factor);
/* What is stored for an element of k or v. */
struct cf_stored {
    double number, scale, minimum; /* the element is number * scale + minimum, but for roundings */
    bool minima;                   /* else the minimum is 0 and nothing is added */
    int64_t channels;              /* that have this scale; 0: numbers without scales */
};
/* The number alone. */
double cf_number_at(const struct array *, int64_t index);
struct cf_stored cf_stored_at(const struct array *, int64_t index, const struct cf_scales *);
/* An element of k or v, rounded once. */
float cf_scaled(const struct array *, int64_t index, const struct cf_scales *);
/* Makes f32 arrays of k and v in numbers of a byte without scales, and of types in blocks the
 * widest one that has minima or has none. false: no memory. */
bool cf_rows_widen(struct problem *);

/* ---- visibility.c: an item as the definitions have it --------------------------- */

struct item_view {
    int64_t b, q_begin, o_begin, q_n; /* place of row 0 among packed rows, and in o; length */
    int64_t k_begin[MAX_SOURCES], k_n[MAX_SOURCES]; /* k_begin: of a RING its head */
};
struct pair {
    int source;
    int64_t key;
    double q_pos, k_pos; /* unused by judges of bits */
};

void cf_item_view(const struct problem *, int64_t b, struct item_view *);
int64_t cf_query_position(const struct problem *, const struct item_view *, int64_t row);
int64_t cf_key_position(const struct problem *, const struct item_view *, int s, int64_t key);
/* Times key is seen by the row before biases; for LISTED sources use cf_list_entry. */
bool cf_sees(const struct problem *, const struct item_view *, int64_t head, int64_t row, int s,
             int64_t key);
/* Row of k and v that holds a key within the length; *b: where it is on their first axis. */
int64_t cf_key_row(const struct problem *, const struct item_view *, int s, int64_t key,
                   int64_t *b);
/* Is there a page for that key? Of other layouts: yes. */
bool cf_key_there(const struct problem *, const struct item_view *, int s, int64_t key);
/* How often the row sees the key, before biases, in any layout. */
int64_t cf_times_seen(const struct problem *, const struct item_view *, int64_t head, int64_t row,
                      int s, int64_t key);
/* The most keys that a row sees, 2 at most; 0 where there is nothing to compute. */
int cf_most_keys(const struct problem *);
/* Key named by place `i` of the row's list, -1: absent, -2: past the end. */
int64_t cf_list_entry(const struct problem *, const struct item_view *, int64_t head, int64_t row,
                      int s, int64_t i);
/* What biases add to the logit in natural units (*total), and the sum of its magnitudes (*size).
 * false: a bias removes the key. */
bool cf_biases(const struct problem *, const struct item_view *, int64_t head, int64_t row, int s,
               int64_t key, double *total, double *size);
/* And what they add to q.k. */
void cf_joined(const struct problem *, const struct item_view *, int64_t head, int64_t row, int s,
               int64_t key, double *total, double *size);

/* ---- call.c: descriptor, memory, run ------------------------------------- */

/* Attention as a job, with the arrays by their names. */
struct call {
    struct job job;
    heed_attn_desc desc;       /* from here on what the descriptor consists of ... */
    heed_source source[MAX_SOURCES];
    heed_term term[MAX_SOURCES][MAX_TERMS];
    heed_bias bias[MAX_SOURCES][MAX_BIASES];
    heed_slot slot[MAX_SLOTS]; /* ... up to here */
    struct place q, o, lse, sinks, state, k[MAX_SOURCES], v[MAX_SOURCES], aux[MAX_SLOTS];
    heed_attn_args args;       /* for families that call heed_attn_run() */
    heed_buf slot_buf[MAX_SLOTS];
    heed_kv_bufs kv[MAX_SOURCES];
    int n_sources, n_slots;    /* n_sources: those of the call */
    bool has_lse;
    struct array out, out_lse; /* logical outputs after the run: o or states, */
    struct array old, old_lse; /* and before it */
};

/* Descriptor only (no device memory): for check. */
bool cf_call_describe(struct call *, const struct problem *, unsigned flags);

/* ---- read.c ------------------------------------------------------------------ */

/* The problem that a legal descriptor with host memory states, and in *ran the outputs as they lie
 * there now, for the judges; give both up. NULL: it has more of something than a case can have. */
struct problem *cf_problem_of(const heed_attn_desc *, const heed_attn_args *, struct call *ran);

/* ---- oracle.c ------------------------------------------------------------ */

/* Both judge a call's outputs; exact wants FILL_EXACT. */
void cf_judge_bound(const struct problem *, const struct call *, struct verdict *);
void cf_judge_exact(const struct problem *, const struct call *, struct verdict *);

/* ---- bits.c -------------------------------------- */

/* Rows of item `b` of `want` against item `g` of `got`, bit for bit, as the relation says; rows
 * with a byte in r->skip [b][h][row] are left out. */
bool cf_same_item(const struct problem *, const struct call *want, int64_t b,
                  const struct problem *, const struct call *got, int64_t g,
                  const struct relation *r, struct verdict *);
/* Packed rows that no sequence owns must hold what they held. */
void cf_judge_unowned(const struct problem *, const struct call *, struct verdict *);
/* Is the packed row owned by several items, so that it is unspecified? */
bool cf_row_shared(const struct problem *, const struct item_view *, int64_t b, int64_t place);
int64_t cf_rows_of(const struct problem *, const struct item_view *);

/* Hand-written cases beyond what a line says; the first target is the reference. */
void cf_family_named(const struct target *targets, int n, struct tally *tally);

/* ---- attn as the generator of cases sees it ------------------------------------ */

extern const struct cf_op cf_op_attn;
extern const struct cf_families cf_attn_families; /* case.c */
extern const struct cf_errors cf_attn_errors;     /* errors.c */
struct job *cf_attn_vast(struct rng *, int64_t number, bool host, char line[LINE]); /* sizes.c */
heed_status cf_attn_check(heed_device *, const void *desc, heed_report *);          /* call.c */
heed_status cf_attn_plan(heed_device *, const void *desc, heed_plan **, heed_report *);
struct call *cf_call_of(const struct job *);      /* that the job is part of */
void cf_attn_relate(const struct subject *);      /* meta.c */
void cf_attn_axes(void);

/* single.c */
bool cf_attn_single(int64_t number, struct cs *);
int64_t cf_attn_singles(int64_t *simple);
int cf_attn_ties(int field, int to[MAX_TIES]);
bool cf_attn_vital(int field);
bool cf_attn_idle(const struct cs *);

const char *cf_attn_line(int i); /* corners.c */
void cf_attn_summary(const struct session *); /* symptoms.c */
const char *cf_attn_vain(const struct session *);

#endif
