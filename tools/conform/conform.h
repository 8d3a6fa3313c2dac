/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The conformance kit: what its parts share. A case is a line of fields (axes.c); from it come
 * logical arrays (data.c, slots.c), which are laid out in device memory and given to a device
 * (call.c); an oracle written from the definitions alone (see.c, oracle.c) and equality between
 * devices judge the outputs (judge.c, meta.c). Public headers only.
 */
#ifndef HEED_TOOLS_CONFORM_CONFORM_H
#define HEED_TOOLS_CONFORM_CONFORM_H

#include "devices.h"

#include <heed/attn.h>

#include <stdbool.h>
#include <stdio.h>

/* Lines of cases have fewer terms and biases: these are for problems made of descriptors. */
enum {
    MAX_SOURCES = 3,
    MAX_TERMS = 6,
    MAX_BIASES = 3,
    MAX_SLOTS = 48,
    MAX_FIELDS = 400,
    MAX_LEVELS = 16
};
enum { MAX_BATCH = 8, LINE = 4096 };

/* ---- random.c ---------------------------------------------------------- */

/* Random numbers: from a seed, or as a fuzzer's bytes say. Of bytes a number below n takes as few
 * as hold it; where they end, all further numbers are 0. */
struct rng {
    uint64_t state;
    const uint8_t *at, *end; /* NULL: from the state */
};

uint64_t cf_mix(uint64_t x);
uint64_t cf_mix2(uint64_t a, uint64_t b);
struct rng rng_of(uint64_t seed);
struct rng rng_of_bytes(const uint8_t *bytes, size_t size);
uint64_t rng_next(struct rng *);
int64_t rng_below(struct rng *, int64_t n);                 /* 0 when n <= 0 */
int64_t rng_range(struct rng *, int64_t low, int64_t high); /* both included; high - low < 2^63 */
/* A multiple of 16, 32, 64 or 128 or a neighbour of one, at most `most`. */
int64_t cf_edge(struct rng *, int64_t most);

size_t cf_dtype_size(uint32_t dtype);
float cf_decode(uint32_t dtype, uint32_t bits);
uint32_t cf_encode(uint32_t dtype, float x); /* nearest even; NaN canonical; keeps -0 */
uint32_t cf_small(uint32_t dtype, uint64_t hash,
                  float unit); /* uniform in [-2, 2) * unit, exactly representable */
uint32_t cf_subnormal(uint32_t dtype, uint64_t hash);
uint64_t cf_hash_bytes(const void *, size_t);

/* ---- axes.c, text.c ---------------------------------------------------- */

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
    G_QBEG,
    G_QLEN,
    G_ALIGN,
    G_QSTEP,
    G_QPOS0,
    G_QPOS,
    G_SCALE,
    G_CAP,
    G_SINK,
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
    S_ROWS,
    S_LH,
    S_MASK,
    S_MSLOT,
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
    B_COUNT
};

enum { DT_F32, DT_F16, DT_BF16, DT_I8 };
enum { HAVE_NONE, HAVE_CONST, HAVE_RT, HAVE_HOSTILE }; /* lengths, maps, positions */
enum { SLOT_CONST, SLOT_RT, SLOT_HOSTILE };            /* what must be there */
enum { ALIGN_START, ALIGN_END, ALIGN_NONE };
enum { SCALE_DEFAULT, SCALE_GIVEN, SCALE_ZERO, SCALE_NEGATIVE };
enum { SINK_NONE, SINK_NORMAL, SINK_NEGINF, SINK_NAN, SINK_HUGE, SINK_INF };
enum { LSE_NONE, LSE_PLAIN, LSE_SINK };
enum {
    FILL_NORMAL, FILL_TIES, FILL_HUGE, FILL_SUBNORMAL, FILL_SPECIAL,
    FILL_SPECIALV, FILL_EXACT, FILL_RISE, FILL_EDGE, FILL_OVER
};
/* OVERLAP: each axis has a stride of +-1, whatever the extents. */
enum { LAID_NATURAL, LAID_PADDED, LAID_TRANSPOSED, LAID_NEGATIVE, LAID_ZERO, LAID_OVERLAP };
enum { LAY_DENSE, LAY_RAGGED, LAY_LISTED, LAY_PAGED, LAY_RING };
enum { HEADS_NONE, HEADS_1, HEADS_HK, HEADS_H };
enum { PH_NONE, PH_HEAD, PH_QUERY, PH_BOTH };
enum { GF_NONE, GF_KEYS, GF_ROWS, GF_BOTH };
enum { BFILL_NORMAL, BFILL_INF, BFILL_SPECIAL };
enum { COORD_NONE, COORD_K, COORD_Q, COORD_BOTH };
enum { OF_BOTH, OF_T, OF_U };

struct field {
    char name[16];
    const char *words;         /* names of the values 0, 1, ...; NULL: a number */
    int64_t level[MAX_LEVELS]; /* values that are drawn; [0] the default */
    int n_levels, first;       /* first: number of (field, level[0]) among all levels */
    int parent[2];             /* -1: none; else the field has a meaning only if ... */
    uint32_t mask[2];          /* ... the parent's level is in here */
    uint32_t allowed;          /* bit l: level l may be drawn (subset.c) */
};

struct cs {
    int64_t v[MAX_FIELDS];
    uint64_t seed;
};

extern struct field cf_fields[MAX_FIELDS];
extern int cf_n_fields, cf_n_levels;

void cf_axes_init(void);
int cf_at_source(int s); /* first field of source s, ... */
int cf_at_term(int s, int t);
int cf_at_bias(int s, int b);
int64_t cf_g(const struct cs *, int field);
int64_t cf_s(const struct cs *, int s, int field);
int64_t cf_t(const struct cs *, int s, int t, int field);
int64_t cf_b(const struct cs *, int s, int b, int field);

int cf_level_of(int field, int64_t value); /* -1: not a level */
void cf_case_default(struct cs *);
void cf_case_normalize(struct cs *); /* fields without meaning take their default */
bool cf_field_active(const struct cs *, int field);
void cf_case_print(const struct cs *, char line[LINE]);
bool cf_case_parse(const char *line, struct cs *, char why[128]);
/* The same where only attention will do. */
bool cf_case_of_attn(const char *line, struct cs *, char why[128]);
void cf_value_print(int field, int64_t value, char *out, size_t size);
void cf_axes_print(FILE *);

/* Takes fields of an illegal or large case back to defaults until it is legal; false: it is not. */
bool cf_case_mend(struct rng *, heed_device *reference, int64_t limit, struct cs *);
/* A legal case at random, of at most `limit` work (cf_case_work): each field with a chance of
 * `dense` in 100 takes a level, and numbers also values between the levels. */
void cf_case_draw(struct rng *, heed_device *reference, int64_t dense, int64_t limit, struct cs *);

/* ---- data.c, slots.c, laid.c ------------------------------------------- */

/* A logical array: dense [b][x][y][z], whatever its place in memory will be. */
struct array {
    uint32_t dtype;
    int trailing; /* how many of x, y, z the tensor has, counted from the right */
    bool batched; /* has the batch axes */
    bool pages;   /* has in their place one axis, of pages, which are no item's */
    int dropped;  /* but for so many leading ones, all of extent 1 */
    int64_t shape[4];
    int zero;    /* bit i: constant along axis i, may have stride 0 there */
    int laid;    /* LAID_* */
    int step[4]; /* LAID_OVERLAP: 1 or -1 of each axis */
    void *data; /* elements of the dtype */
};

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
    int index, len, mask, k_scale, v_scale;
    int term[MAX_TERMS];
    struct bias_data bias[MAX_BIASES];
};

/* What the case says, in memory, for the items chosen (all, one alone, another order). */
struct problem {
    struct cs c;
    int n_items;
    bool shapes_only;        /* contents only where check looks at them */
    int64_t item[MAX_BATCH]; /* numbers of the items in the case */
    int64_t heads, d, dv, n_q, q_total, q_ext;
    double scale, softcap;
    uint32_t weights; /* type that weights may be rounded to before they meet v; 0: they are not */
    struct array q, sinks;
    struct source_data source[MAX_SOURCES];
    int n_sources, q_begin, q_len, q_pos;
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
/* Makes contents agree where elements share memory, as LAID_ZERO and LAID_OVERLAP have it. */
bool cf_array_share(struct array *, int laid);
bool cf_array_alloc(struct array *);
int64_t cf_array_count(const struct array *);
int64_t cf_array_at(const struct array *, int64_t b, int64_t x, int64_t y,
                    int64_t z); /* index; extent 1 repeats */
uint32_t cf_array_bits(const struct array *, int64_t index);
void cf_array_set(struct array *, int64_t index, uint32_t bits);
int64_t cf_array_int(const struct array *, int64_t index);
void cf_array_set_int(struct array *, int64_t index, int64_t value);

/* ---- scales.c: k and v in bytes ------------------------------------------ */

/* Element of a row of k, or of v. h: hash of all its indices; pick: of all but the channel. */
uint32_t cf_byte_at(const struct cs *, bool key, uint64_t h, uint64_t pick, int64_t channel);
/* The scale of the row at [b][head][row] of k or v; slot 0: 1. */
float cf_scale_at(const struct problem *, int slot, int64_t b, int64_t head, int64_t row);
/* An element of k or v: a byte times the scale of its row, rounded once; else as it is. */
float cf_scaled(const struct array *, int64_t index, float scale);
/* Makes f32 arrays without scales of k and v in bytes. false: no memory. */
bool cf_rows_widen(struct problem *);

/* ---- see.c: an item as the definitions have it --------------------------- */

struct item_view {
    int64_t b, q_begin, q_n; /* place of row 0 among packed rows; length */
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

struct place {
    heed_buf buf; /* element [0,...]; offset within the block */
    heed_tensor t;
    unsigned char *snapshot; /* the block as written before the run */
    size_t bytes;
    unsigned char *after; /* outputs: the block as found after the run */
    int batch_axes;
    int64_t extent[3], count; /* of the batch axes; elements */
    int64_t sx, sy, sz;       /* strides of the trailing axes */
};

struct target {
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
    char name[64];
    uint32_t width;
    bool partial; /* may refuse legal cases (refusals.h) */
};

struct call {
    const struct target *on;
    heed_attn_desc desc;
    heed_attn_args args;
    heed_source source[MAX_SOURCES];
    heed_term term[MAX_SOURCES][MAX_TERMS];
    heed_bias bias[MAX_SOURCES][MAX_BIASES];
    heed_slot slot[MAX_SLOTS];
    heed_buf slot_buf[MAX_SLOTS];
    heed_kv_bufs kv[MAX_SOURCES];
    struct place q, o, lse, sinks, k[MAX_SOURCES], v[MAX_SOURCES], aux[MAX_SLOTS];
    int n_sources, n_slots;
    uint32_t numerics; /* what the plan of the last run delivers, */
    char ran[64];      /* and what it ran */
    bool loose;        /* of heed's own, as FAST: it may go through matrix units */
    bool has_lse;
    struct array out, out_lse; /* logical outputs after the run, */
    struct array old, old_lse; /* and before it */
};

enum { CALL_NATURAL = 1 };

/* The workspace of a run, which begins with garbage: it must carry nothing between runs. */
struct workspace {
    heed_buf made, at; /* the buffer; the aligned place in it */
    uint64_t size;
    uint32_t numerics; /* what the plan delivers, */
    char runs[64];     /* and what it runs */
};

bool cf_target_open(struct target *, const char *name, uint32_t width, heed_report *);
/* allocator NULL: the runtime's default. */
bool cf_target_open_with(struct target *, const char *name, uint32_t width,
                         const heed_allocator *allocator, heed_report *);
void cf_target_close(struct target *);
/* Descriptor only (no device memory): for check. */
bool cf_call_describe(struct call *, const struct problem *, unsigned flags);
/* And in memory; outputs hold a pattern made from `poison`. false: no memory, or the device refused
 * it. */
bool cf_call_make(struct call *, const struct target *, const struct problem *, unsigned flags,
                  uint64_t poison);
heed_status cf_call_plan(struct call *, heed_plan **, heed_report *);
/* Plans, runs, reads back. < 0: the status of what failed. */
heed_status cf_call_run(struct call *, heed_report *);
heed_status cf_workspace_make(struct workspace *, const struct target *, const heed_plan *,
                              int garbage);
void cf_workspace_finish(struct workspace *, const struct target *);
/* Inputs are as they were, outputs too outside their elements. */
bool cf_call_memory_same(struct call *, char why[128]);
/* Nothing at all was written to the outputs. */
bool cf_call_outputs_same(struct call *, char why[128]);
void cf_call_finish(struct call *);

/* ---- from.c ------------------------------------------------------------------ */

/* The problem that a legal descriptor with host memory states, and in *ran the outputs as they lie
 * there now, for the judges; give both up. NULL: it has more of something than a case can have. */
struct problem *cf_problem_of(const heed_attn_desc *, const heed_attn_args *, struct call *ran);

/* ---- oracle.c ------------------------------------------------------------ */

struct verdict {
    bool failed;
    char why[512];
    const char *word;        /* of what is judged or, if it failed, was: the verdict */
    double worst;            /* largest error / bound */
    int64_t judged, skipped; /* elements, by bound */
    int64_t exact;           /* elements known to the last bit */
    struct cf_cell *cells[2]; /* cell.h: NULL, or of o and lse, by element of the call's arrays */
    unsigned char *wrong; /* NULL, or 1 for what is beyond its bound: o [b][h][row][channel] */
};

void cf_fail(struct verdict *, const char *format, ...);
/* What is judged from now on; a verdict that has failed keeps its word. */
void cf_step(struct verdict *, const char *word);
/* Both judge a call's outputs; exact wants FILL_EXACT. */
void cf_judge_bound(const struct problem *, const struct call *, struct verdict *);
void cf_judge_exact(const struct problem *, const struct call *, struct verdict *);

/* ---- judge.c, meta.c, errors.c, sizes.c, cover.c ------------------------- */

enum {
    FAMILY_EXACT = 1,
    FAMILY_BITS = 2,
    FAMILY_BOUND = 4,
    FAMILY_META = 8,
    FAMILY_ERROR = 16,
    FAMILY_CHECK = 32,
    FAMILY_NAMED = 64,
    FAMILY_MECHANISMS = 128,
    FAMILY_ALL = 255
};

struct bench { /* devices at work */
    struct target reference;
    struct target one, two; /* the device under test with one thread and with several */
};

/* Runs; fails the verdict when that does not work, or memory it must not touch changed. It may be
 * false without a failure: a partial device refuses. */
bool cf_run_ok(struct call *, struct verdict *, const char *what);
/* Rows of item `b` of `want` against item `g` of `got`, bit for bit; rows with a byte in `skip`
 * [h][row] are left out. */
bool cf_same_item(const struct problem *, const struct call *want, int64_t b,
                  const struct problem *, const struct call *got, int64_t g,
                  const unsigned char *skip, const char *what, struct verdict *);
/* All items, in order. */
bool cf_same_bits(const struct problem *, const struct call *want, const struct problem *,
                  const struct call *got, const char *what, struct verdict *);
/* Packed rows that no sequence owns must hold what they held. */
void cf_judge_unowned(const struct problem *, const struct call *, struct verdict *);
/* got: the case's own call after its run on bench->one. ref: likewise on the reference. */
void cf_family_bits(const struct bench *, const struct problem *, const struct call *ref,
                    struct call *got, struct verdict *);
void cf_family_meta(const struct bench *, const struct problem *, const struct call *got,
                    struct verdict *);
/* Is the packed row owned by several items, so that it is unspecified? */
bool cf_row_shared(const struct problem *, const struct item_view *, int64_t b, int64_t place);
int64_t cf_rows_of(const struct problem *, const struct item_view *);

struct listener;
struct tally {
    int64_t number, passed, failed, skipped;
    bool verbose, quiet; /* quiet: counts only */
    struct listener *listener; /* NULL, or who hears every result (tell.h) */
};
void cf_tap(struct tally *, bool ok, const char *skip, const char *device, const char *families,
            const char *line, const char *why);
/* All of the error family, on every target; prints its own TAP lines. */
void cf_family_error(const struct target *targets, int n, struct tally *);

/* Fails the verdict unless heed_attn_plan answers what heed_attn_check does: the same status and
 * the same field, but for what making a plan takes. */
void cf_check_and_plan(heed_device *, const heed_attn_desc *, struct verdict *);
/* What plan may say where check said yes: it makes something. */
bool cf_may_fail(heed_status);
heed_allocator cf_small_allocator(void); /* refuses large blocks */
/* That for descriptors of any size, on every target; prints its own TAP lines. */
void cf_family_check(const struct target *targets, int n, int64_t cases, uint64_t seed,
                     struct tally *tally);

/* Hand-written cases beyond what a line says; the first target is the reference. */
void cf_family_named(const struct target *targets, int n, struct tally *tally);

/* Hand-written cases. */
extern const char *const cf_corners[];
extern const int cf_n_corners;

#endif
