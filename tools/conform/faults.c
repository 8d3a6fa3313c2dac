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

const struct fault cf_faults[] = {
    { "size", D(size), U32, 511, HEED_E_SIZE },
    { "source_size", D(source_size), U32, 287, HEED_E_SIZE },
    { "slot_size", D(slot_size), U32, 8, HEED_E_SIZE },
    { "term_size", S0(term_size), U32, 47, HEED_E_SIZE },
    { "bias_size", S0(bias_size), U32, 0, HEED_E_SIZE },
    { "sources", D(sources), PTR, 0, HEED_E_NULL },
    { "slots", D(slots), PTR, 0, HEED_E_NULL },
    { "terms", S0(terms), PTR, 0, HEED_E_NULL },
    { "biases", S0(biases), PTR, 0, HEED_E_NULL },
    { "q", D(q.ndim), U32, 0, HEED_E_NULL },
    { "o", D(o.ndim), U32, 0, HEED_E_NULL },
    { "k", S0(k.ndim), U32, 0, HEED_E_NULL },
    { "v", S1(v.ndim), U32, 0, HEED_E_NULL },
    { "flags", D(flags), U32, 1 | 1 << 30, HEED_E_FLAG },
    { "flags", S0(flags), U32, 1, HEED_E_FLAG },
    { "flags", T(W_WINDOW, flags), U32, 1 << 9, HEED_E_FLAG },
    { "flags", B(W_DENSE, flags), U32, 1, HEED_E_FLAG },
    { "flags", D(flags), U32, HEED_ATTN_ALIGN_START | HEED_ATTN_ALIGN_END, HEED_E_VALUE },
    { "flags", D(flags), U32, 0, HEED_E_AMBIGUOUS },
    { "ndim", D(q.ndim), U32, 7, HEED_E_VALUE },
    { "shape", D(q.shape[1]), I64, -1, HEED_E_VALUE },
    { "shape", S0(k.shape[2]), I64, -3, HEED_E_VALUE },
    { "q_pos_step", D(q_pos_step), I32, -1, HEED_E_VALUE },
    { "q_pos_slot", D(q_pos_slot), U32, 99, HEED_E_VALUE },
    { "q_layout", D(q_layout), U32, 9, HEED_E_VALUE },
    { "q_slot", D(q_slot), U32, 1, HEED_E_VALUE },
    { "q_len_slot", D(q_len_slot), U32, 99, HEED_E_VALUE },
    { "reserved0", D(reserved0), U32, 1, HEED_E_VALUE },
    { "reserved1", D(reserved1), U32, 1, HEED_E_VALUE },
    { "numerics", D(numerics), U32, 4, HEED_E_VALUE },
    { "softcap", D(softcap), F64, -1, HEED_E_VALUE },
    { "pos_step", S0(pos_step), I32, -1, HEED_E_VALUE },
    { "pos_span", S0(pos_span), I32, -1, HEED_E_VALUE },
    { "layout", S0(layout), U32, 5, HEED_E_VALUE },
    { "slot", S0(slot), U32, 1, HEED_E_VALUE },
    { "slot", S1(slot), U32, 0, HEED_E_VALUE },
    { "len_slot", S0(len_slot), U32, 99, HEED_E_VALUE },
    { "mask_slot", S0(mask_slot), U32, 99, HEED_E_VALUE },
    { "run", S0(run), I32, 4, HEED_E_VALUE },
    { "rows", S1(rows), I32, -4, HEED_E_VALUE },
    { "slots[", S1(layout), U32, HEED_LAYOUT_RING, HEED_E_VALUE },
    { "len_slot", S1(layout), U32, HEED_LAYOUT_PAGED, HEED_E_VALUE },
    { "k", S2(k.ndim), U32, 3, HEED_E_VALUE },
    { "run", S2(run), I32, 8, HEED_E_VALUE },
    { "rows", S2(rows), I32, 1, HEED_E_VALUE },
    { "slot", S2(slot), U32, 0, HEED_E_VALUE },
    { "len_slot", S2(len_slot), U32, 0, HEED_E_VALUE },
    { "reserved", S0(reserved), U32, 1, HEED_E_VALUE },
    { "k_scale_slot", S0(k_scale_slot), U32, 1, HEED_E_VALUE },
    { "k_scale_slot", S1(k.dtype), U32, HEED_I8, HEED_E_VALUE },
    { "v_scale_slot", S2(v_scale_slot), U32, 0, HEED_E_VALUE },
    { "v_scale_slot", S2(v_scale_slot), U32, 99, HEED_E_VALUE },
    { "kind", T(W_WINDOW, kind), U32, 1000, HEED_E_VALUE },
    { "step", T(W_WINDOW, step), I64, -1, HEED_E_VALUE },
    { "step", T(W_GLOBAL, step), I64, 2, HEED_E_VALUE },
    { "block", T(W_WINDOW, block), I32, -1, HEED_E_VALUE },
    { "phase", T(W_SEGMENT, phase), I32, 1, HEED_E_VALUE },
    { "left", T(W_SEGMENT, left), I64, 1, HEED_E_VALUE },
    { "slot", T(W_WINDOW, slot), U32, 1, HEED_E_VALUE },
    { "slot", T(W_SEGMENT, slot), U32, 0, HEED_E_VALUE },
    { "slot", T(W_GLOBAL, slot), U32, 99, HEED_E_VALUE },
    { "reserved", T(W_WINDOW, reserved), U32, 1, HEED_E_VALUE },
    { "kind", B(W_DENSE, kind), U32, 0, HEED_E_VALUE },
    { "kind", B(W_DENSE, kind), U32, 1000, HEED_E_VALUE },
    { "zero", B(W_DENSE, zero), I64, 1, HEED_E_VALUE },
    { "t", B(W_DENSE, t), U32, 0, HEED_E_VALUE },
    { "map", B(W_ALIBI, map), U32, 1, HEED_E_VALUE },
    { "u", B(W_TABLE, u), U32, 1, HEED_E_VALUE },
    { "reserved", B(W_DENSE, reserved), U32, 1, HEED_E_VALUE },
    { "shape", D(q.shape[3]), I64, 15, HEED_E_SHAPE },
    { "o", D(o.shape[2]), I64, 32, HEED_E_SHAPE },
    { "lse", D(lse.shape[1]), I64, 1, HEED_E_SHAPE },
    { "sinks", D(sinks.shape[0]), I64, 3, HEED_E_SHAPE },
    { "k", S0(k.shape[1]), I64, 3, HEED_E_SHAPE },
    { "v", S0(v.shape[2]), I64, 64, HEED_E_SHAPE },
    { "v", S2(v.shape[0]), I64, 99, HEED_E_SHAPE },
    { "v", S2(v.shape[2]), I64, 8, HEED_E_SHAPE },
    { "slots[", L(W_SLOT_PAGES, t.shape[0]), I64, 3, HEED_E_SHAPE },
    { "slots[", L(W_SLOT_SCALES, t.shape[0]), I64, 99, HEED_E_SHAPE },
    { "slots[", L(W_SLOT_SCALES, t.shape[1]), I64, 3, HEED_E_SHAPE },
    { "slots[", L(W_SLOT_SCALES, t.shape[2]), I64, 15, HEED_E_SHAPE },
    { "slots[", L(W_SLOT_PAIRS, t.shape[2]), I64, 1, HEED_E_SHAPE },
    { "slots[", L(W_SLOT_MASK, t.shape[2]), I64, 64, HEED_E_SHAPE },
    { "slots[", L(W_SLOT_RUNS, t.shape[1]), I64, 5, HEED_E_SHAPE },
    { "slots[", L(W_SLOT_DENSE, t.shape[3]), I64, 64, HEED_E_SHAPE },
    { "slots[", L(W_SLOT_TABLE, t.shape[0]), I64, 3, HEED_E_SHAPE },
    { "slots[", L(W_SLOT_COORD, t.shape[1]), I64, 64, HEED_E_SHAPE },
    { "o", D(o.stride[3]), I64, 0, HEED_E_STRIDE },
    { "lse", D(lse.stride[1]), I64, 0, HEED_E_STRIDE },
    { "q", D(q.dtype), U32, HEED_U8, HEED_E_DTYPE },
    { "q", D(q.dtype), U32, HEED_I8, HEED_E_DTYPE },
    { "o", D(o.dtype), U32, HEED_I8, HEED_E_DTYPE },
    { "o", D(o.dtype), U32, HEED_I32, HEED_E_DTYPE },
    { "slots[", L(W_SLOT_SCALES, t.dtype), U32, HEED_BF16, HEED_E_DTYPE },
    { "slots[", L(W_SLOT_DENSE, t.dtype), U32, HEED_I8, HEED_E_DTYPE },
    { "lse", D(lse.dtype), U32, HEED_F16, HEED_E_DTYPE },
    { "sinks", D(sinks.dtype), U32, HEED_BF16, HEED_E_DTYPE },
    { "k", S0(k.dtype), U32, 0, HEED_E_DTYPE },
    { "v", S0(v.dtype), U32, 77, HEED_E_DTYPE },
    { "slots[", L(W_SLOT_MASK, t.dtype), U32, HEED_I32, HEED_E_DTYPE },
    { "slots[", L(W_SLOT_PAGES, t.dtype), U32, HEED_I64, HEED_E_DTYPE },
    { "slots[", L(W_SLOT_KEYS, t.dtype), U32, HEED_I64, HEED_E_DTYPE },
    { "slots[", L(W_SLOT_QPOS, t.dtype), U32, HEED_I32, HEED_E_DTYPE },
    { "slots[", L(W_SLOT_DENSE, t.dtype), U32, HEED_I32, HEED_E_DTYPE },
    { "q", D(q.stride[0]), I64, INT64_MAX, HEED_E_OVERFLOW },
    { "k", S0(k.stride[1]), I64, INT64_MIN, HEED_E_OVERFLOW },
    { "q_pos0", D(q_pos0), I64, FAR_OUT, HEED_E_OVERFLOW },
    { "pos0", S0(pos0), I64, -FAR_OUT, HEED_E_OVERFLOW },
    { "left", T(W_WINDOW, left), I64, FAR_OUT, HEED_E_OVERFLOW },
    { "right", T(W_WINDOW, right), I64, INT64_MIN, HEED_E_OVERFLOW },
    { "zero", B(W_TABLE, zero), I64, FAR_OUT, HEED_E_OVERFLOW },
    { "slots[", W_DATA_LEN, 0, I32, -1, HEED_E_VALUE },
    { "slots[", W_DATA_LEN, 0, I32, 66, HEED_E_INDEX },
    { "slots[", W_DATA_KEYS, 0, I32, 65, HEED_E_INDEX },
    { "slots[", W_DATA_KEYS, 4, I32, 0, HEED_E_INDEX },
    { "slots[", W_DATA_PAIRS, 0, I32, -1, HEED_E_INDEX },
    { "slots[", W_DATA_PAIRS, 4, I32, 66, HEED_E_INDEX },
    { "slots[", W_DATA_RUNS, 0, I32, 33, HEED_E_INDEX },
    { "slots[", W_DATA_PAGES, 0, I32, 1 << 20, HEED_E_INDEX },
    { "slots[", W_DATA_PAGES, 4, I32, -2, HEED_E_INDEX },
    { "slots[", B(W_TABLE, kind), U32, HEED_BIAS_DOT, HEED_E_SHAPE },
    { "flags", T(W_SEGMENT, kind), U32, HEED_TERM_GLOBAL, HEED_E_UNSUPPORTED },

    { "args", A(size), U32, 8, HEED_E_SIZE },
    { "kv_size", A(kv_size), U32, 16, HEED_E_SIZE },
    { "kv", A(kv), PTR, 0, HEED_E_NULL },
    { "slots", A(slots), PTR, 0, HEED_E_NULL },
    { "wait", A(n_wait), U32, 1, HEED_E_NULL },
    { "n_slots", A(n_slots), U32, 1, HEED_E_VALUE },
    { "q", A(q.handle), PTR, 0, HEED_E_NULL },
    { "o", A(o.handle), PTR, 0, HEED_E_NULL },
    { "lse", A(lse.handle), PTR, 0, HEED_E_NULL },
    { "sinks", A(sinks.handle), PTR, 0, HEED_E_NULL },
    { "k", K(k.handle), PTR, 0, HEED_E_NULL },
    { "v", K(v.handle), PTR, 0, HEED_E_NULL },
    { "q", A(q.offset), U64, 66, HEED_E_ALIGN },
    { "o", A(o.offset), U64, 65, HEED_E_ALIGN },
    { "lse", A(lse.offset), U64, 67, HEED_E_ALIGN },
    { "k", K(k.offset), U64, 69, HEED_E_ALIGN },
    { "q", A(q.offset), U64, -4, HEED_E_OVERFLOW },
    { "v", K(v.offset), U64, -4, HEED_E_OVERFLOW },
};
const int cf_n_faults = (int)(sizeof cf_faults / sizeof *cf_faults);

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
