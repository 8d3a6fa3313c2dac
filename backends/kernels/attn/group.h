/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: a group of 16 columns and HK_ROWS / HK_TR lines of threads on a strip of
 * HK_GROUP_ROWS query rows. Thread (x, y) has rows y * HK_TR + r, of a block keys x + 16 * c, so
 * that the 16 partial sums of a row are the 16 threads of its line, and of a pass the channels
 * hk_channel(x, c). Thread i < HK_ROWS looks after row i: its reach and its maximum.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_H

#if HK_ONE_RANGE
#define HK_PLAIN 1
#endif
#ifndef HK_SCALES
#define HK_SCALES 0
#endif
#ifndef HK_FEW
#define HK_FEW 0
#endif
#ifndef HK_OF
#define HK_OF 0
#endif
#if HK_FEW
#define HK_ROWS HK_PART_ROWS
#define HK_TR 1
/* Blocks of a step; fewer where local memory is short. */
#define HK_BLOCKS (HK_GROUP_ROWS < 64 || HK_LARGE ? 2 : 4)
#else
#define HK_BLOCKS 1
#define HK_PLACES HK_BLOCK
#define HK_LOOKING HK_THREADS
#define HK_ROWS HK_GROUP_ROWS
#define HK_TC (HK_WIDTH / 16)           /* channels of a thread: 4 or 8 */
#if HK_GROUP_SUMS * 16 >= 8 * HK_WIDTH
#define HK_TR 8                         /* rows of a thread */
#else
#define HK_TR 4
#endif
#endif
#define HK_TR_STEP (HK_TR < 4 ? HK_TR : 4)
#ifndef HK_THREADS
#define HK_THREADS (16 * HK_ROWS / HK_TR)
#endif
#define HK_HAS_SHARED 1
#define HK_IN_REGISTERS 1       /* what a thread has: no index that is computed may find it */
#define HK_SUB_SPACE HK_GLOBAL
#define HK_VIEW_SPACE HK_LOCAL
#define HK_TASK_SPACE HK_LOCAL
#include "bias.h"
#include "finish.h"
#include "matrix.h"
#include "tasks.h"

/* Channels of Q that local memory holds; those of wider rows take turns in every block. */
#if HK_FEW
#define HK_KEPT 128
#elif HK_ONE_RANGE
#define HK_KEPT (HK_GROUP_SUMS < 32 ? 128 : HK_WIDTH)   /* there is no wider kernel */
#else
#define HK_KEPT (HK_LARGE ? 32 : 64)
#endif
#if HK_ONE_RANGE
#define HK_REACHES 1                    /* ranges of a row in a sub-source */
#else
#define HK_REACHES HK_RANGES
#define HK_OWN_RANGES ((HK_RANGES * HK_ROWS + HK_LOOKING - 1) / HK_LOOKING)     /* a row's threads
                                                                                 * share them */
#endif
#define HK_SLICE 16                     /* channels of K staged at a time */
#define HK_KEYS (1024 / HK_WIDTH)       /* keys of V staged at a time */
#define HK_STEPS 4                      /* channels or keys that a turn of a product's loop takes */
#define HK_GROUP_KEYS 16                /* whose weights lie in local memory at a time */
#if HK_MATRIX
#include "mma_group.h"
#elif HK_FEW
#include "few_group.h"
#else
#define HK_Q_LINE HK_ROWS
#define HK_K_LINE (HK_BLOCK + 4)
#define HK_P_LINE (HK_ROWS + 4)
#if HK_ONE_RANGE
#define HK_RED_LINE 20                  /* lines begin at different banks */
#else
#define HK_RED_LINE 16                  /* the whole fits twice into 64 KiB */
#endif
#endif
#define HK_NO_BLOCK ((hk_i64)1 << 62)
#define HK_NO_ROW (-HK_NO_BLOCK)
#define HK_REMOVED 0x80000000u          /* as a weight: -0; others are +0 or more, or NaN */

/* Elements of a slice that a thread stages: units of neighbours, each loaded at once. */
#define HK_STAGED (1024 / HK_THREADS)
#define HK_HALVES (HK_KV == 2 || HK_KV == 3)    /* rows of f16 or bf16 */
#if HK_MATRIX
#define HK_UNIT 8
#elif HK_FEW
#define HK_UNIT (HK_HALVES ? 8 : 4)
#define HK_UNIT_WORDS 4
#elif HK_HALVES
#define HK_UNIT (HK_STAGED < 8 ? HK_STAGED : 8)
#define HK_UNIT_WORDS (HK_UNIT / 2)
#else
#define HK_UNIT 4
#define HK_UNIT_WORDS 4
#endif
#define HK_UNITS (HK_STAGED / HK_UNIT)

#if HK_SCALES
#define HK_V_GROUPS (HK_WIDTH / HK_BLOCK_CHANNELS) /* of a pass, of the smallest groups */
/* Rows with scales (group_scales.h). */
struct hk_group_scales {
#if HK_FEW
    float v[HK_SLAB_KEYS * HK_V_GROUPS], v_low[HK_SLAB_KEYS * HK_V_GROUPS]; /* [group][key] */
#else
    float k[HK_BLOCK], k_low[HK_BLOCK]; /* of the group at hand: scales, minima */
    float v[HK_KEYS * HK_V_GROUPS], v_low[HK_KEYS * HK_V_GROUPS]; /* of the keys at hand */
#endif
    hk_i64 k_at[HK_PLACES], v_at[HK_PLACES]; /* of scales that lie apart: elements */
};
#endif

struct hk_shared {
#if HK_MATRIX
    union hk_mma_inputs in;
    struct hk_mma_shared mma;
#elif HK_FEW
    /* Read and written four floats at a time. */
    float q[HK_KEPT * HK_Q_LINE];       /* [channel][row] */
    float p[HK_PLACES * HK_ROWS];       /* scores, y and then weights: hk_few_place */
    HK_FEW_INPUTS in;
    union hk_few_outputs out;
#if HK_SCALES
    struct hk_group_scales scales;
#endif
    struct hk_few_shared few;
#else
    /* Read and written four floats at a time. */
    float q[HK_KEPT * HK_Q_LINE];       /* [channel][row] */
    union {
        float k[HK_SLICE * HK_K_LINE];  /* [channel][hk_key_place] */
        float v[HK_KEYS * HK_WIDTH];    /* [key][channel] */
        struct {                        /* of a sub-source that opens: before anything is staged */
            hk_i64 lo[HK_ROWS * HK_REACHES], hi[HK_ROWS * HK_REACHES];
        } reach;
    } in;
    union {
        float red[HK_ROWS * HK_RED_LINE];       /* what the threads of a row's line have */
        float p[HK_GROUP_KEYS * HK_P_LINE];        /* weights: [key][row] */
        hk_u32 parts[2 * HK_THREADS];   /* what threads' ranges hold of a block: words in halves */
    } out;
#endif
    float m[HK_ROWS], w[2 * HK_ROWS];   /* of rows: reference, factors of sums */
#if HK_SCALES && !HK_FEW
    struct hk_group_scales scales;
#endif
    HK_GLOBAL char *buffer[HK_BUFFERS];
    hk_u32 item[4];
    hk_i64 value[HK_VALUE_SOURCES + HK_BUFFERS];        /* a source has two buffers at least */
    struct hk_task task;
    hk_i64 keys[HK_PLACES];             /* key index of each place, if available, and its rows: */
    hk_i64 k_at[HK_PLACES], v_at[HK_PLACES];    /* elements from the bases, or HK_NO_ROW */
    hk_u32 masks[HK_BLOCKS * 2 * HK_ROWS];      /* what a row sees of a block */
    hk_i64 hull_lo[HK_REACHES], hull_hi[HK_REACHES];
    hk_i64 index[HK_ROWS], head[HK_ROWS], q_pos[HK_ROWS];
    /* The walk over windows of rows, sources, their sub-sources and blocks; written by thread 0. */
    struct hk_matrix k_rows, v_rows;    /* of the source at hand */
    hk_i64 begin, len;                  /* its keys */
    hk_i64 residue;
    hk_i64 block, chunk, next;          /* next: the block behind, HK_NO_BLOCK: none */
    hk_i32 window, windows;             /* a window: all rows, or one where they do not agree */
    hk_i32 window_first, window_end;
    hk_u32 source, sub;                 /* sub: of the source */
    hk_u32 in_sub, opens;               /* a sub-source is being walked; it is new */
    hk_u32 works, ends, begins, done;   /* there is a block; a chunk ends, begins; all is done */
    hk_u32 k_wide, v_wide;              /* units lie at addresses that are loaded at once */
    hk_u32 active[HK_ROWS];             /* 0: no row; 1: absent, sees nothing; 2: a row */
    hk_u32 available[2 * HK_BLOCKS], any[2 * HK_BLOCKS];        /* of a block: words in halves */
    hk_u32 poison, raised;              /* V not finite; some row's reference has risen */
    hk_u32 has_q, reserved;             /* Q is in local memory */
#if !HK_ONE_RANGE
    hk_u32 all[HK_ROWS];
    hk_i64 limit[HK_ROWS];              /* as in struct hk_reach */
    struct hk_sub_view views[HK_SUBS];
#endif
};

#if !HK_MATRIX && !HK_FEW
/* What a thread keeps. */
struct hk_mine {
    float s[HK_TR][4];
    float o[HK_TR][HK_TC], acc_o[HK_TR][HK_TC];
    float l[HK_TR], acc_l[HK_TR];
#if HK_SCALES
    float total[HK_TR][4];       /* s over the groups that are done */
    float sum[HK_TR];            /* of Q over the group at hand, where it has minima */
    float low[HK_TR][HK_TC / 4]; /* sums of minima of V; four channels are of one group */
#endif
    hk_u32 next[HK_UNITS * HK_UNIT_WORDS];      /* of the next slice */
    /* Rows of K and channels of V that the thread stages; 0: none. */
    HK_GLOBAL const char *k_from[HK_UNITS], *v_from;
    /* Of row `id`, for the first HK_ROWS threads. */
    float m, acc_m;
    hk_u32 empty, has_partial;
#if HK_ONE_RANGE
    hk_i64 lo, hi;
#else
    hk_i64 lo[HK_OWN_RANGES], hi[HK_OWN_RANGES];        /* of row id % HK_ROWS: hk_reach_take */
#endif
};
#endif

/* A strip at work. */
struct hk_group {
    const struct hk_call *call;
    HK_LOCAL struct hk_shared *shared;
    HK_LOCAL const struct hk_task *task;
    hk_i64 pass;                        /* first channel of V */
#if HK_FEW
    hk_i32 number;                      /* of the block at hand among those of a step */
#endif
};

/* ---- the block at hand, one of those of a step ---- */

HK_FN hk_i32 hk_number(const struct hk_group *g)
{
#if HK_FEW
    return g->number;
#else
    (void)g;
    return 0;
#endif
}

HK_FN hk_i64 hk_block_of(const struct hk_group *g)
{
#if HK_FEW
    return g->shared->few.blocks[g->number];
#else
    return g->shared->block;
#endif
}

/* Where place i of it is among all of them, and row i of what is kept by block and row. */
HK_FN hk_i32 hk_place(const struct hk_group *g, hk_i32 i)
{
    return hk_number(g) * HK_BLOCK + i;
}

HK_FN hk_i32 hk_line(const struct hk_group *g, hk_i32 i)
{
    return hk_number(g) * HK_ROWS + i;
}

/* Channel c of thread x, from the first of the pass: four neighbours each. */
HK_FN hk_i32 hk_channel(hk_i32 x, hk_i32 c)
{
    return c / 4 * 64 + x * 4 + c % 4;
}

HK_FN hk_u64 hk_joined(HK_LOCAL const hk_u32 *halves)
{
    return (hk_u64)halves[1] << 32 | halves[0];
}

HK_FN void hk_or_mask(HK_LOCAL hk_u32 *halves, hk_u64 mask)
{
    if ((hk_u32)mask)
        hk_local_or(&halves[0], (hk_u32)mask);
    if ((hk_u32)(mask >> 32))
        hk_local_or(&halves[1], (hk_u32)(mask >> 32));
}

HK_FN HK_GLOBAL const struct hk_sub *hk_group_sub(const struct hk_group *g)
{
    return hk_subs(g->call, g->call->sources + g->shared->source) + g->shared->sub;
}

/* ---- the strip and its rows ---- */

#if HK_FEW
/* What opens a strip and its sources is a long chain of loads from the plan: the threads fetch it
 * side by side before. Nothing depends on what they find, which compilers must not know. */
HK_FN void hk_plan_touch(const struct hk_call *call, hk_i32 id, HK_LOCAL struct hk_shared *shared)
{
    const hk_i32 bytes = (hk_i32)hk_min(call->plan->bytes, 32 * 1024);
    hk_u32 all = 0;
    hk_i32 at;

    HK_NO_UNROLL
    for (at = 32 * id; at + 4 <= bytes; at += 32 * HK_THREADS)
        all |= *(HK_GLOBAL const hk_u32 *)(call->blob + at);
    if (HK_SELDOM(all == 0xa5a5a5a5u))
        hk_local_or(&shared->few.touched, 1);
}
#endif

/* The strip of task `task`, for the channels of V from `pass` on. */
HK_FN void hk_group_open(const struct hk_call *call, hk_u32 task, hk_u32 pass,
                         HK_LOCAL struct hk_shared *shared, struct hk_group *g)
{
    struct hk_task_place at;
    HK_THREAD_ID(id);

    g->call = call;
    g->shared = shared;
    g->task = &shared->task;
    g->pass = pass;
#if HK_FEW
    g->number = 0;
#endif
#if HK_FEW
    HK_EACH(id) {
        hk_plan_touch(call, id, shared);
    }
#endif
    hk_task_find(call, task, &at);
    HK_EACH(id) {
        if (id == 0) {
            const hk_u32 y = (hk_u32)call->plan->batch[1], z = (hk_u32)call->plan->batch[2];

            shared->item[0] = (hk_u32)at.b / z / y;
            shared->item[1] = (hk_u32)at.b / z % y;
            shared->item[2] = (hk_u32)at.b % z;
        }
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_values_read(call, id, at.b);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id == 0) {
            struct hk_task opened;

            hk_task_open(call, &at, &opened);
            shared->task = opened;
        }
    }
    HK_BARRIER();
}

/* Row i of the group, by thread i. */
HK_FN void hk_row_open(const struct hk_group *g, hk_i32 i)
{
    const hk_i32 stack = (hk_i32)g->call->plan->strips.stack, at = i / stack;
    HK_LOCAL struct hk_shared *shared = g->shared;
    struct hk_query query;

    shared->active[i] = 0;
    shared->index[i] = shared->head[i] = shared->q_pos[i] = 0;
#if !HK_ONE_RANGE
    shared->all[i] = 0;
#endif
    if (at >= g->task->count || !hk_query_get(g->call, g->task, at, &query))
        return;
    shared->active[i] = query.absent ? 1 : 2;
    shared->index[i] = query.index;
    shared->head[i] = query.head + i % stack;
    shared->q_pos[i] = query.q;
#if !HK_ONE_RANGE
    shared->all[i] = query.all;
#endif
}

/* The first row there is, -1: none. */
HK_FN hk_i32 hk_rows_first(const struct hk_group *g)
{
    hk_i32 i;

    HK_NO_UNROLL
    for (i = 0; i < HK_ROWS; i++) {
        if (g->shared->active[i])
            return i;
    }
    return -1;
}

/* The type of rows of K or V, a constant where the kernel is for one. */
HK_FN hk_u32 hk_type_of(hk_u32 dtype)
{
    return HK_KV ? HK_KV : HK_OF ? HK_OF : dtype;
}

/* Do n channels of the rows lie in whole units at multiples of 16 bytes, or, where a unit may have
 * fewer, of those that it has? */
HK_FN hk_u32 hk_rows_wide(const struct hk_matrix *m, hk_i64 n)
{
    const hk_u32 dtype = hk_type_of(m->dtype);
    const hk_i64 size = hk_size(dtype);
#if HK_FEW && !HK_KV
    const hk_u64 least = HK_IN_PIECES(dtype) ? 2 : 4 * (hk_u64)size;
#else
    const hk_u64 least = 16;
#endif
    const int wants_scales = (int)HK_MAY_SCALE(m->dtype) * (1 - HK_FEW);

    return m->channel == 1 && wants_scales == 0 && n % HK_UNIT == 0 &&
           ((hk_address(m->base) | (hk_u64)(m->row * size) | (hk_u64)(m->page * size)) &
            (least - 1)) == 0;
}

/* K (which 0) or V (1) of the source at hand. */
HK_FN void hk_source_rows(const struct hk_group *g, hk_i32 which)
{
    const struct hk_call *call = g->call;
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_u32 s = shared->source;
    HK_GLOBAL const struct hk_source *source = call->sources + s;
    HK_LOCAL struct hk_matrix *to = which ? &shared->v_rows : &shared->k_rows;
    const hk_i64 key_head = hk_key_head(call, source, shared->head[shared->window_first]);
    struct hk_matrix rows;
    struct hk_cut keys;
    hk_u32 wide;

    keys.begin = shared->begin;
    keys.len = shared->len;
    rows = hk_keys_get(call, source, which ? &source->v : &source->k,
                       which ? &source->v_scale : &source->k_scale,
                       which ? &source->v_scaling : &source->k_scaling,
                       which ? hk_v(call, s) : hk_k(call, s), g->task->b, key_head, &keys);
    wide = hk_rows_wide(&rows, which ? call->plan->d_v : call->plan->d);
    *to = rows;
    if (which)
        shared->v_wide = wide;
    else
        shared->k_wide = wide;
}

/* ---- what the rows see of a sub-source ---- */

/* By thread r for range r. */
HK_FN void hk_reach_hull(const struct hk_group *g, hk_i32 r)
{
    hk_i64 lo = HK_NO_BLOCK, hi = -HK_NO_BLOCK;
    hk_i32 i;

    HK_NO_UNROLL
    for (i = 0; i < HK_ROWS; i++) {
        const hk_i64 a = g->shared->in.reach.lo[i * HK_REACHES + r],
                     b = g->shared->in.reach.hi[i * HK_REACHES + r];

        if (a < b) {
            lo = hk_min(a, lo);
            hi = hk_max(b, hi);
        }
    }
    g->shared->hull_lo[r] = lo;
    g->shared->hull_hi[r] = hi;
}

/* The first block from `block` on that a range of some row meets; HK_NO_BLOCK: none. */
HK_FN hk_i64 hk_hull_next(const struct hk_group *g, hk_i64 block)
{
    hk_i64 best = HK_NO_BLOCK;
    hk_i32 r;

    for (r = 0; r < HK_REACHES; r++) {
        const hk_i64 lo = g->shared->hull_lo[r], hi = g->shared->hull_hi[r];

        if (lo < hi && hi > block * HK_BLOCK)   /* lo is no less than 0 */
            best = hk_min(best, hk_max((hk_i64)((hk_u64)lo / HK_BLOCK), block));
    }
    return best;
}

/* Place i of the block is this key, which is within the length; 0: it is absent. */
HK_FN int hk_place_take(const struct hk_group *g, hk_i32 i, hk_i64 key)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 at = hk_place(g, i);
    hk_i64 page, in;

    if (!hk_row_find(&shared->k_rows.layout, key, &page, &in))
        return 0;
    shared->keys[at] = key;
    shared->k_at[at] = page * shared->k_rows.page + in * shared->k_rows.row;
    shared->v_at[at] = page * shared->v_rows.page + in * shared->v_rows.row;
#if HK_SCALES
    shared->scales.k_at[at] = page * shared->k_rows.scale_page + in * shared->k_rows.scale_row;
    shared->scales.v_at[at] = page * shared->v_rows.scale_page + in * shared->v_rows.scale_row;
#endif
    return 1;
}

#endif
