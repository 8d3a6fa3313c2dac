/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything that can be wrong with one field of a descriptor or of a run's arguments, and what it
 * must answer (heed/attn.h, "heed_attn_check", "heed_attn_run").
 */
#include "errors.h"

#include <stddef.h>

const char cf_fault_base[] = "op=attn qlen=const qpos=const lse=plain sink=normal mis=1 ns=3 "
                             "s0.nk=65 s0.len=const s0.mask=h s0.nt=3 s0.nb=2 s0.t0.kind=window "
                             "s0.t1.kind=global s0.t1.slot=const "
                             "s0.t2.kind=segment s0.t2.block=4 s0.t2.slot=const s0.b0.slot=rt "
                             "s0.b1.kind=table s0.b1.map=const s0.b1.coord=k "
                             "s1.lay=listed s1.lh=h s1.nb=1 s1.b0.kind=alibi s2.lay=paged "
                             "s2.idx=const s2.len=rt s2.v=i8 s2.vc=rt seed=22";

#define D(member)        W_DESC, offsetof(heed_attn_desc, member)
#define S0(member)       W_SOURCE0, offsetof(heed_source, member)
#define S1(member)       W_SOURCE1, offsetof(heed_source, member)
#define S2(member)       W_SOURCE2, offsetof(heed_source, member)
#define T(which, member) which, offsetof(heed_term, member)
#define B(which, member) which, offsetof(heed_bias, member)
#define L(which, member) which, offsetof(heed_slot, member)
#define A(member)        W_ARGS, offsetof(heed_attn_args, member)
#define K(member)        W_KV0, offsetof(heed_kv_bufs, member)
#define FAR_OUT          (INT64_C(1) << 61)

#define U32 FAULT_U32
#define I32 FAULT_U32
#define I64 FAULT_I64
#define U64 FAULT_I64
#define F64 FAULT_F64
#define PTR FAULT_PTR

const struct fault cf_faults[] = {
    { "size", NULL, D(size), U32, 511, HEED_E_SIZE },
    { "source_size", NULL, D(source_size), U32, 287, HEED_E_SIZE },
    { "slot_size", NULL, D(slot_size), U32, 8, HEED_E_SIZE },
    { "term_size", NULL, S0(term_size), U32, 47, HEED_E_SIZE },
    { "bias_size", NULL, S0(bias_size), U32, 0, HEED_E_SIZE },
    { "sources", NULL, D(sources), PTR, 0, HEED_E_NULL },
    { "slots", NULL, D(slots), PTR, 0, HEED_E_NULL },
    { "terms", NULL, S0(terms), PTR, 0, HEED_E_NULL },
    { "biases", NULL, S0(biases), PTR, 0, HEED_E_NULL },
    { "q", NULL, D(q.ndim), U32, 0, HEED_E_NULL },
    { "o", NULL, D(o.ndim), U32, 0, HEED_E_NULL },
    { "k", NULL, S0(k.ndim), U32, 0, HEED_E_NULL },
    { "v", NULL, S1(v.ndim), U32, 0, HEED_E_NULL },
    { "flags", NULL, D(flags), U32, 1 | 1 << 30, HEED_E_FLAG },
    { "flags", NULL, S0(flags), U32, 1, HEED_E_FLAG },
    { "flags", NULL, T(W_WINDOW, flags), U32, 1 << 9, HEED_E_FLAG },
    { "flags", NULL, B(W_DENSE, flags), U32, 1, HEED_E_FLAG },
    { "flags", NULL, D(flags), U32, HEED_ATTN_ALIGN_START | HEED_ATTN_ALIGN_END, HEED_E_VALUE },
    { "flags", NULL, D(flags), U32, 0, HEED_E_AMBIGUOUS },
    { "ndim", NULL, D(q.ndim), U32, 7, HEED_E_VALUE },
    { "shape", NULL, D(q.shape[1]), I64, -1, HEED_E_VALUE },
    { "shape", NULL, S0(k.shape[2]), I64, -3, HEED_E_VALUE },
    { "shape", NULL, S0(k.dtype), U32, HEED_Q8_0, HEED_E_SHAPE },
    { "dtype", NULL, D(q.dtype), U32, HEED_Q8_0, HEED_E_DTYPE },
    { "q_pos_step", NULL, D(q_pos_step), I32, -1, HEED_E_VALUE },
    { "q_pos_slot", NULL, D(q_pos_slot), U32, 99, HEED_E_VALUE },
    { "q_layout", NULL, D(q_layout), U32, 9, HEED_E_VALUE },
    { "q_slot", NULL, D(q_slot), U32, 1, HEED_E_VALUE },
    { "q_len_slot", NULL, D(q_len_slot), U32, 99, HEED_E_VALUE },
    { "o_slot", NULL, D(o_slot), U32, 99, HEED_E_VALUE },
    { "reserved1", NULL, D(reserved1), U32, 1, HEED_E_VALUE },
    { "numerics", NULL, D(numerics), U32, 4, HEED_E_VALUE },
    { "softcap", NULL, D(softcap), F64, -1, HEED_E_VALUE },
    { "pos_step", NULL, S0(pos_step), I32, -1, HEED_E_VALUE },
    { "pos_span", NULL, S0(pos_span), I32, -1, HEED_E_VALUE },
    { "layout", NULL, S0(layout), U32, 5, HEED_E_VALUE },
    { "slot", NULL, S0(slot), U32, 1, HEED_E_VALUE },
    { "slot", NULL, S1(slot), U32, 0, HEED_E_VALUE },
    { "len_slot", NULL, S0(len_slot), U32, 99, HEED_E_VALUE },
    { "mask_slot", NULL, S0(mask_slot), U32, 99, HEED_E_VALUE },
    { "run", NULL, S0(run), I32, 4, HEED_E_VALUE },
    { "rows", NULL, S1(rows), I32, -4, HEED_E_VALUE },
    { "slots[", NULL, S1(layout), U32, HEED_LAYOUT_RING, HEED_E_VALUE },
    { "len_slot", NULL, S1(layout), U32, HEED_LAYOUT_PAGED, HEED_E_VALUE },
    { "k", NULL, S2(k.ndim), U32, 3, HEED_E_VALUE },
    { "run", NULL, S2(run), I32, 8, HEED_E_VALUE },
    { "rows", NULL, S2(rows), I32, 1, HEED_E_VALUE },
    { "slot", NULL, S2(slot), U32, 0, HEED_E_VALUE },
    { "len_slot", NULL, S2(len_slot), U32, 0, HEED_E_VALUE },
    { "row_mask_slot", NULL, S0(row_mask_slot), U32, 99, HEED_E_VALUE },
    { "k_scale_slot", NULL, S0(k_scale_slot), U32, 1, HEED_E_VALUE },
    { "k_scale_slot", NULL, S1(k.dtype), U32, HEED_I8, HEED_E_VALUE },
    { "v_scale_slot", NULL, S2(v_scale_slot), U32, 0, HEED_E_VALUE },
    { "v_scale_slot", NULL, S2(v_scale_slot), U32, 99, HEED_E_VALUE },
    { "k_scale_slot", NULL, S1(k.dtype), U32, HEED_I4, HEED_E_VALUE },
    { "flags", NULL, S0(flags), U32, HEED_SOURCE_K_GROUPS, HEED_E_VALUE },
    { "flags", NULL, S0(flags), U32, HEED_SOURCE_V_MINIMA, HEED_E_VALUE },
    { "slots[", NULL, S2(flags), U32, HEED_SOURCE_V_GROUPS, HEED_E_SHAPE },
    { "kind", NULL, T(W_WINDOW, kind), U32, 1000, HEED_E_VALUE },
    { "step", NULL, T(W_WINDOW, step), I64, -1, HEED_E_VALUE },
    { "step", NULL, T(W_GLOBAL, step), I64, 2, HEED_E_VALUE },
    { "block", NULL, T(W_WINDOW, block), I32, -1, HEED_E_VALUE },
    { "phase", NULL, T(W_SEGMENT, phase), I32, 1, HEED_E_VALUE },
    { "left", NULL, T(W_SEGMENT, left), I64, 1, HEED_E_VALUE },
    { "slot", NULL, T(W_WINDOW, slot), U32, 1, HEED_E_VALUE },
    { "slot", NULL, T(W_SEGMENT, slot), U32, 0, HEED_E_VALUE },
    { "slot", NULL, T(W_GLOBAL, slot), U32, 99, HEED_E_VALUE },
    { "reserved", NULL, T(W_WINDOW, reserved), U32, 1, HEED_E_VALUE },
    { "kind", NULL, B(W_DENSE, kind), U32, 0, HEED_E_VALUE },
    { "kind", NULL, B(W_DENSE, kind), U32, 1000, HEED_E_VALUE },
    { "zero", NULL, B(W_DENSE, zero), I64, 1, HEED_E_VALUE },
    { "t", NULL, B(W_DENSE, t), U32, 0, HEED_E_VALUE },
    { "map", NULL, B(W_ALIBI, map), U32, 1, HEED_E_VALUE },
    { "u", NULL, B(W_TABLE, u), U32, 1, HEED_E_VALUE },
    { "reserved", NULL, B(W_DENSE, reserved), U32, 1, HEED_E_VALUE },
    { "shape", NULL, D(q.shape[3]), I64, 15, HEED_E_SHAPE },
    { "o", NULL, D(o.shape[2]), I64, 32, HEED_E_SHAPE },
    { "lse", NULL, D(lse.shape[1]), I64, 1, HEED_E_SHAPE },
    { "sinks", NULL, D(sinks.shape[0]), I64, 3, HEED_E_SHAPE },
    { "k", NULL, S0(k.shape[1]), I64, 3, HEED_E_SHAPE },
    { "v", NULL, S0(v.shape[2]), I64, 64, HEED_E_SHAPE },
    { "v", NULL, S2(v.shape[0]), I64, 99, HEED_E_SHAPE },
    { "v", NULL, S2(v.shape[2]), I64, 8, HEED_E_SHAPE },
    { "slots[", NULL, L(W_SLOT_PAGES, t.shape[0]), I64, 3, HEED_E_SHAPE },
    { "slots[", NULL, L(W_SLOT_SCALES, t.shape[0]), I64, 99, HEED_E_SHAPE },
    { "slots[", NULL, L(W_SLOT_SCALES, t.shape[1]), I64, 3, HEED_E_SHAPE },
    { "slots[", NULL, L(W_SLOT_SCALES, t.shape[2]), I64, 15, HEED_E_SHAPE },
    { "slots[", NULL, L(W_SLOT_PAIRS, t.shape[2]), I64, 1, HEED_E_SHAPE },
    { "slots[", NULL, L(W_SLOT_MASK, t.shape[2]), I64, 64, HEED_E_SHAPE },
    { "slots[", NULL, L(W_SLOT_RUNS, t.shape[1]), I64, 5, HEED_E_SHAPE },
    { "slots[", NULL, L(W_SLOT_DENSE, t.shape[3]), I64, 64, HEED_E_SHAPE },
    { "slots[", NULL, L(W_SLOT_TABLE, t.shape[0]), I64, 3, HEED_E_SHAPE },
    { "slots[", NULL, L(W_SLOT_COORD, t.shape[1]), I64, 64, HEED_E_SHAPE },
    { "o", NULL, D(o.stride[3]), I64, 0, HEED_E_STRIDE },
    { "lse", NULL, D(lse.stride[1]), I64, 0, HEED_E_STRIDE },
    { "q", NULL, D(q.dtype), U32, HEED_U8, HEED_E_DTYPE },
    { "q", NULL, D(q.dtype), U32, HEED_I8, HEED_E_DTYPE },
    { "o", NULL, D(o.dtype), U32, HEED_I8, HEED_E_DTYPE },
    { "o", NULL, D(o.dtype), U32, HEED_I32, HEED_E_DTYPE },
    { "slots[", NULL, L(W_SLOT_SCALES, t.dtype), U32, HEED_BF16, HEED_E_DTYPE },
    { "slots[", NULL, L(W_SLOT_DENSE, t.dtype), U32, HEED_I8, HEED_E_DTYPE },
    { "lse", NULL, D(lse.dtype), U32, HEED_F16, HEED_E_DTYPE },
    { "sinks", NULL, D(sinks.dtype), U32, HEED_I8, HEED_E_DTYPE },
    { "k", NULL, S0(k.dtype), U32, 0, HEED_E_DTYPE },
    { "v", NULL, S0(v.dtype), U32, 77, HEED_E_DTYPE },
    { "slots[", NULL, L(W_SLOT_MASK, t.dtype), U32, HEED_I32, HEED_E_DTYPE },
    { "slots[", NULL, L(W_SLOT_PAGES, t.dtype), U32, HEED_I64, HEED_E_DTYPE },
    { "slots[", NULL, L(W_SLOT_KEYS, t.dtype), U32, HEED_I64, HEED_E_DTYPE },
    { "slots[", NULL, L(W_SLOT_QPOS, t.dtype), U32, HEED_I32, HEED_E_DTYPE },
    { "slots[", NULL, L(W_SLOT_DENSE, t.dtype), U32, HEED_I32, HEED_E_DTYPE },
    { "q", NULL, D(q.stride[0]), I64, INT64_MAX, HEED_E_OVERFLOW },
    { "k", NULL, S0(k.stride[1]), I64, INT64_MIN, HEED_E_OVERFLOW },
    { "q_pos0", NULL, D(q_pos0), I64, FAR_OUT, HEED_E_OVERFLOW },
    { "pos0", NULL, S0(pos0), I64, -FAR_OUT, HEED_E_OVERFLOW },
    { "left", NULL, T(W_WINDOW, left), I64, FAR_OUT, HEED_E_OVERFLOW },
    { "right", NULL, T(W_WINDOW, right), I64, INT64_MIN, HEED_E_OVERFLOW },
    { "zero", NULL, B(W_TABLE, zero), I64, FAR_OUT, HEED_E_OVERFLOW },
    { "slots[", NULL, W_DATA_LEN, 0, I32, -1, HEED_E_VALUE },
    { "slots[", NULL, W_DATA_LEN, 0, I32, 66, HEED_E_INDEX },
    { "slots[", NULL, W_DATA_KEYS, 0, I32, 65, HEED_E_INDEX },
    { "slots[", NULL, W_DATA_KEYS, 4, I32, 0, HEED_E_INDEX },
    { "slots[", NULL, W_DATA_PAIRS, 0, I32, -1, HEED_E_INDEX },
    { "slots[", NULL, W_DATA_PAIRS, 4, I32, 66, HEED_E_INDEX },
    { "slots[", NULL, W_DATA_RUNS, 0, I32, 33, HEED_E_INDEX },
    { "slots[", NULL, W_DATA_PAGES, 0, I32, 1 << 20, HEED_E_INDEX },
    { "slots[", NULL, W_DATA_PAGES, 4, I32, -2, HEED_E_INDEX },
    { "slots[", NULL, B(W_TABLE, kind), U32, HEED_BIAS_DOT, HEED_E_SHAPE },
    { "flags", NULL, T(W_SEGMENT, kind), U32, HEED_TERM_GLOBAL, HEED_E_UNSUPPORTED },
    { "v", NULL, S0(v.shape[1]), I64, 1, HEED_E_UNSUPPORTED },

    { "args", NULL, A(size), U32, 8, HEED_E_SIZE },
    { "kv_size", NULL, A(kv_size), U32, 16, HEED_E_SIZE },
    { "kv", NULL, A(kv), PTR, 0, HEED_E_NULL },
    { "slots", NULL, A(slots), PTR, 0, HEED_E_NULL },
    { "wait", NULL, A(n_wait), U32, 1, HEED_E_NULL },
    { "n_slots", NULL, A(n_slots), U32, 1, HEED_E_VALUE },
    { "q", NULL, A(q.handle), PTR, 0, HEED_E_NULL },
    { "o", NULL, A(o.handle), PTR, 0, HEED_E_NULL },
    { "lse", NULL, A(lse.handle), PTR, 0, HEED_E_NULL },
    { "sinks", NULL, A(sinks.handle), PTR, 0, HEED_E_NULL },
    { "k", NULL, K(k.handle), PTR, 0, HEED_E_NULL },
    { "v", NULL, K(v.handle), PTR, 0, HEED_E_NULL },
    { "q", NULL, A(q.offset), U64, 66, HEED_E_ALIGN },
    { "o", NULL, A(o.offset), U64, 65, HEED_E_ALIGN },
    { "lse", NULL, A(lse.offset), U64, 67, HEED_E_ALIGN },
    { "k", NULL, K(k.offset), U64, 69, HEED_E_ALIGN },
    { "q", NULL, A(q.offset), U64, -4, HEED_E_OVERFLOW },
    { "v", NULL, K(v.offset), U64, -4, HEED_E_OVERFLOW },
};
const int cf_n_faults = (int)(sizeof cf_faults / sizeof *cf_faults);

#undef U32
#undef I32
#undef I64
#undef U64
#undef F64
#undef PTR
#undef D
#undef S0
#undef S1
#undef S2
#undef T
#undef B
#undef L
#undef A
#undef K
#undef FAR_OUT
