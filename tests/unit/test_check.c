/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every answer the check of a descriptor can give: one full descriptor that is legal, and a table
 * of changes to it, each with the status, field and numbers that must be reported.
 */
#include "check_world.h"
#include "support/suite.h"

#include <math.h>
#include <stdlib.h>

enum { PLAIN, PACKED };

struct row {
    int start;
    heed_status status;
    const char *field;
    int64_t wanted, got;
    struct patch patches[7];
};

#define POS HEED_POSITION_MAX
#define FAILS(status, field, wanted, got, ...)                                                     \
    { PLAIN, status, field, wanted, got, { __VA_ARGS__ } }
#define FAILS_PACKED(status, field, wanted, got, ...)                                              \
    { PACKED, status, field, wanted, got, { __VA_ARGS__ } }
#define PASSES(...) { PLAIN, HEED_OK, "", 0, 0, { __VA_ARGS__ } }
#define PASSES_PACKED(...) { PACKED, HEED_OK, "", 0, 0, { __VA_ARGS__ } }

/* The mask as one of rows, run-time, in place of the one of keys. */
#define ROW_MASK(type, heads, rows, entries)                                                       \
    SET(sources[0].row_mask_slot, S_MASK), SET(sources[0].mask_slot, 0),                           \
        SET(slots[S_MASK - 1].t.dtype, type), SET(slots[S_MASK - 1].t.shape[0], heads),            \
        SET(slots[S_MASK - 1].t.shape[1], rows), SET(slots[S_MASK - 1].t.shape[2], entries),       \
        SET(slots[S_MASK - 1].data, 0)

static const struct row changes[] = {
    /* structure */
    PASSES({ 0, 0, 0 }),
    PASSES_PACKED({ 0, 0, 0 }),
    FAILS(HEED_E_SIZE, "size", 512, 511, SET(d.size, 511)),
    FAILS(HEED_E_SIZE, "size", 512, 0, SET(d.size, 0)),
    FAILS(HEED_E_NULL, "sources", 3, 0, SET(d.sources, 0)),
    FAILS(HEED_E_NULL, "slots", 17, 0, SET(d.slots, 0)),
    FAILS(HEED_E_NULL, "sources[0].terms", 4, 0, SET(sources[0].terms, 0)),
    FAILS(HEED_E_NULL, "sources[0].biases", 3, 0, SET(sources[0].biases, 0)),
    FAILS(HEED_E_SIZE, "source_size", 288, 287, SET(d.source_size, 287)),
    FAILS(HEED_E_SIZE, "slot_size", 112, 0, SET(d.slot_size, 0)),
    FAILS(HEED_E_SIZE, "sources[0].term_size", 48, 40, SET(sources[0].term_size, 40)),
    FAILS(HEED_E_SIZE, "sources[0].bias_size", 40, 39, SET(sources[0].bias_size, 39)),
    FAILS(HEED_E_UNSUPPORTED, "n_sources", 16, 17, SET(d.n_sources, 17)),
    FAILS(HEED_E_UNSUPPORTED, "n_slots", 64, 65, SET(d.n_slots, 65)),
    FAILS(HEED_E_UNSUPPORTED, "sources[0].n_terms", 64, 65, SET(sources[0].n_terms, 65)),
    FAILS(HEED_E_UNSUPPORTED, "sources[0].n_biases", 16, 17, SET(sources[0].n_biases, 17)),
    PASSES(SET(sources[0].n_terms, 0), SET(sources[0].terms, 0), SET(sources[0].term_size, 0)),
    PASSES(SET(d.n_sources, 0), SET(d.sources, 0), SET(d.source_size, 0)),
    /* flags */
    FAILS(HEED_E_FLAG, "flags", 0x3000f, 0x11, SET(d.flags, 0x11)),
    FAILS(HEED_E_FLAG, "sources[1].flags", 0x3f00, 1, SET(sources[1].flags, 1)),
    FAILS(HEED_E_FLAG, "sources[0].terms[1].flags", 15, 16, SET(terms[1].flags, 16)),
    FAILS(HEED_E_FLAG, "sources[0].biases[2].flags", 0, 1, SET(biases[2].flags, 1)),
    PASSES(SET(d.flags, 0x3000d)),
    /* values */
    FAILS(HEED_E_VALUE, "flags", 1, 3, SET(d.flags, 3)),
    FAILS(HEED_E_NULL, "q.ndim", 2, 0, SET(d.q.ndim, 0)),
    FAILS(HEED_E_NULL, "o.ndim", 2, 0, SET(d.o.ndim, 0)),
    FAILS(HEED_E_NULL, "sources[1].k.ndim", 2, 0, SET(sources[1].k.ndim, 0)),
    FAILS(HEED_E_NULL, "sources[2].v.ndim", 2, 0, SET(sources[2].v.ndim, 0)),
    FAILS(HEED_E_VALUE, "q.ndim", 2, 1, SET(d.q.ndim, 1)),
    FAILS(HEED_E_VALUE, "q.ndim", 6, 7, SET(d.q.ndim, 7)),
    FAILS(HEED_E_VALUE, "lse.ndim", 5, 6, SET(d.lse.ndim, 6)),
    FAILS(HEED_E_VALUE, "sinks.ndim", 1, 2, SET(d.sinks.ndim, 2)),
    FAILS(HEED_E_VALUE, "slots[16].t.ndim", 6, 7, SET(slots[16].t.ndim, 7)),
    FAILS(HEED_E_VALUE, "q.shape[2]", 0, -1, SET(d.q.shape[2], -1)),
    FAILS(HEED_E_VALUE, "lse.shape[0]", 0, INT64_MIN, SET(d.lse.shape[0], INT64_MIN)),
    FAILS(HEED_E_VALUE, "sources[0].v.shape[3]", 0, -5, SET(sources[0].v.shape[3], -5)),
    FAILS(HEED_E_VALUE, "slots[2].t.shape[1]", 0, -6, SET(slots[2].t.shape[1], -6)),
    FAILS(HEED_E_VALUE, "q_pos_step", 0, -1, SET(d.q_pos_step, -1)),
    FAILS(HEED_E_VALUE, "q_layout", 1, 4, SET(d.q_layout, HEED_LAYOUT_LISTED)),
    FAILS(HEED_E_VALUE, "q_slot", 0, 15, SET(d.q_slot, S_Q_BEGIN)),
    FAILS_PACKED(HEED_E_VALUE, "q_slot", 1, 0, SET(d.q_slot, 0)),
    FAILS_PACKED(HEED_E_VALUE, "q_len_slot", 1, 0, SET(d.q_len_slot, 0)),
    FAILS(HEED_E_VALUE, "q_pos_slot", 17, 18, SET(d.q_pos_slot, 18)),
    FAILS(HEED_E_VALUE, "q_len_slot", 0, 17, SET(d.q_len_slot, S_ABSENT)),
    FAILS(HEED_E_VALUE, "o_slot", 0, 15, SET(d.o_slot, S_Q_BEGIN)),
    FAILS_PACKED(HEED_E_VALUE, "o_slot", 17, 18, SET(d.o_slot, 18)),
    FAILS(HEED_E_VALUE, "reserved1", 0, 9, SET(d.reserved1, 9)),
    FAILS(HEED_E_VALUE, "numerics", 3, 4, SET(d.numerics, 4)),
    PASSES(SET(d.numerics, 3)),
    FAILS(HEED_E_VALUE, "sources[0].pos_step", 0, -1, SET(sources[0].pos_step, -1)),
    FAILS(HEED_E_VALUE, "sources[0].pos_span", 0, -2, SET(sources[0].pos_span, -2)),
    FAILS(HEED_E_VALUE, "sources[0].layout", 4, 5, SET(sources[0].layout, 5)),
    FAILS(HEED_E_VALUE, "sources[0].run", 0, 2, SET(sources[0].run, 2)),
    FAILS(HEED_E_VALUE, "sources[1].run", 0, -1, SET(sources[1].run, -1)),
    FAILS(HEED_E_VALUE, "sources[1].rows", 0, -1, SET(sources[1].rows, -1)),
    FAILS(HEED_E_VALUE, "sources[2].rows", 0, 1, SET(sources[2].rows, 1)),
    FAILS(HEED_E_VALUE, "sources[2].row_mask_slot", 17, 99, SET(sources[2].row_mask_slot, 99)),
    FAILS(HEED_E_VALUE, "sources[0].slot", 0, 1, SET(sources[0].slot, 1)),
    FAILS(HEED_E_VALUE, "sources[1].slot", 1, 0, SET(sources[1].slot, 0)),
    FAILS(HEED_E_VALUE, "sources[2].len_slot", 1, 0, SET(sources[2].len_slot, 0)),
    FAILS(HEED_E_VALUE, "sources[0].mask_slot", 17, UINT32_MAX, SET(sources[0].mask_slot, -1)),
    FAILS(HEED_E_VALUE, "sources[0].terms[0].kind", 0, 1000, SET(terms[0].kind, 1000)),
    FAILS(HEED_E_VALUE, "sources[0].terms[0].slot", 0, 1, SET(terms[0].slot, 1)),
    FAILS(HEED_E_VALUE, "sources[0].terms[0].step", 0, -1, SET(terms[0].step, -1)),
    FAILS(HEED_E_VALUE, "sources[0].terms[0].block", 0, -1, SET(terms[0].block, -1)),
    FAILS(HEED_E_VALUE, "sources[0].terms[0].reserved", 0, 1, SET(terms[0].reserved, 1)),
    FAILS(HEED_E_VALUE, "sources[0].terms[0].flags", 12, 1, SET(terms[0].flags, HEED_TERM_KEYS)),
    FAILS(HEED_E_VALUE, "sources[0].terms[1].flags", 3, 4,
          SET(terms[1].flags, HEED_TERM_PHASE_HEAD)),
    FAILS(HEED_E_VALUE, "sources[0].terms[1].left", 0, 2, SET(terms[1].left, 2)),
    FAILS(HEED_E_VALUE, "sources[0].terms[1].step", 0, 2, SET(terms[1].step, 2)),
    FAILS(HEED_E_VALUE, "sources[0].terms[1].phase", 0, -3, SET(terms[1].phase, -3)),
    FAILS(HEED_E_VALUE, "sources[0].terms[2].right", 0, 1, SET(terms[2].right, 1)),
    FAILS(HEED_E_VALUE, "sources[0].terms[2].slot", 1, 0, SET(terms[2].slot, 0)),
    FAILS(HEED_E_VALUE, "sources[0].terms[3].block", 0, 4, SET(terms[3].block, 4)),
    FAILS(HEED_E_VALUE, "sources[0].terms[3].flags", 1, 2, SET(sources[0].pos_step, 2)),
    FAILS(HEED_E_VALUE, "sources[0].terms[1].slot", 17, 99, SET(terms[1].slot, 99)),
    FAILS(HEED_E_VALUE, "sources[0].biases[0].kind", 0, 0, SET(biases[0].kind, 0)),
    FAILS(HEED_E_VALUE, "sources[0].biases[0].kind", 0, 1000, SET(biases[0].kind, 1000)),
    FAILS(HEED_E_VALUE, "sources[0].biases[0].t", 1, 0, SET(biases[0].t, 0)),
    FAILS(HEED_E_VALUE, "sources[0].biases[0].zero", 0, 1, SET(biases[0].zero, 1)),
    FAILS(HEED_E_VALUE, "sources[0].biases[0].k_coord", 0, 7, SET(biases[0].k_coord, S_K_COORD)),
    FAILS(HEED_E_VALUE, "sources[0].biases[1].map", 0, 6, SET(biases[1].map, S_MAP)),
    FAILS(HEED_E_VALUE, "sources[0].biases[2].u", 0, 5, SET(biases[2].u, S_TABLE)),
    FAILS(HEED_E_VALUE, "sources[0].biases[2].q_coord", 17, 18, SET(biases[2].q_coord, 18)),
    FAILS(HEED_E_VALUE, "sources[0].biases[2].reserved", 0, 1, SET(biases[2].reserved, 1)),
    FAILS(HEED_E_VALUE, "sources[1].rows", 0, 3, SET(sources[1].layout, HEED_LAYOUT_PAGED)),
    FAILS(HEED_E_VALUE, "sources[0].slot", 1, 0, SET(sources[0].layout, HEED_LAYOUT_RING)),
    FAILS(HEED_E_VALUE, "sources[0].biases[2].t", 1, 0, SET(biases[2].kind, HEED_BIAS_DOT),
          SET(biases[2].t, 0)),
    FAILS(HEED_E_VALUE, "sources[0].biases[2].u", 17, 18, SET(biases[2].kind, HEED_BIAS_DOT),
          SET(biases[2].u, 18)),
    /* shapes */
    FAILS(HEED_E_SHAPE, "slots[4].t.shape[1]", 3, 9, SET(biases[2].kind, HEED_BIAS_DOT)),
    PASSES(SET(biases[2].kind, HEED_BIAS_DOT), SET(slots[S_TABLE - 1].t.shape[1], D)),
    PASSES(SET(biases[0].kind, HEED_BIAS_DOT), SET(slots[S_DENSE - 1].t.shape[2], D),
           SET(biases[0].u, S_DENSE), SET(biases[0].map, S_MAP)),
    PASSES(SET(biases[0].kind, HEED_BIAS_DOT), SET(slots[S_DENSE - 1].t.shape[2], D),
           SET(biases[0].u, S_DENSE), SET(biases[0].t, 0)),
    FAILS(HEED_E_SHAPE, "slots[4].t.shape[0]", 6, 1, SET(biases[0].kind, HEED_BIAS_DOT),
          SET(slots[S_DENSE - 1].t.shape[2], D), SET(biases[0].u, S_TABLE),
          SET(slots[S_TABLE - 1].t.shape[1], D)),
    FAILS(HEED_E_SHAPE, "sources[0].k.shape[0]", 2, 3, SET(sources[0].k.shape[0], 3)),
    FAILS(HEED_E_SHAPE, "sources[2].k.shape[0]", 1, 2, SET(sources[2].k.ndim, 4),
          SET(sources[2].k.shape[0], 2), SET(sources[2].k.shape[1], H_K),
          SET(sources[2].k.shape[2], TOTAL), SET(sources[2].k.shape[3], D)),
    FAILS(HEED_E_SHAPE, "slots[11].t.shape[0]", 2, 5, SET(slots[S_BEGIN - 1].t.shape[0], 5)),
    FAILS(HEED_E_SHAPE, "sources[0].k.shape[1]", 4, 3, SET(sources[0].k.shape[1], 3)),
    FAILS(HEED_E_SHAPE, "sources[0].k.shape[1]", 4, 0, SET(sources[0].k.shape[1], 0)),
    FAILS(HEED_E_UNSUPPORTED, "sources[0].v.shape[1]", 2, 1, SET(sources[0].v.shape[1], 1)),
    FAILS(HEED_E_UNSUPPORTED, "sources[0].v.shape[1]", 2, 4, SET(sources[0].v.shape[1], 4)),
    FAILS(HEED_E_SHAPE, "sources[0].v.shape[2]", 6, 7, SET(sources[0].v.shape[2], 7)),
    FAILS(HEED_E_SHAPE, "sources[2].k.shape[2]", 3, 4, SET(sources[2].k.shape[2], 4)),
    FAILS(HEED_E_SHAPE, "sources[1].v.shape[3]", 5, 6, SET(sources[1].v.shape[3], 6)),
    FAILS(HEED_E_SHAPE, "o.shape[0]", 2, 1, SET(d.o.shape[0], 1)),
    FAILS(HEED_E_SHAPE, "o.ndim", 2, 1, SET(d.o.ndim, 3), SET(d.o.shape[0], H),
          SET(d.o.shape[1], N), SET(d.o.shape[2], D_V), SET(d.o.stride[0], 1000)),
    FAILS(HEED_E_SHAPE, "o.shape[1]", 4, 2, SET(d.o.shape[1], 2)),
    FAILS(HEED_E_SHAPE, "o.shape[2]", 6, 5, SET(d.o.shape[2], 5)),
    FAILS(HEED_E_SHAPE, "lse.shape[2]", 6, 7, SET(d.lse.shape[2], 7), SET(d.lse.stride[1], 7),
          SET(d.lse.stride[0], 28)),
    FAILS(HEED_E_SHAPE, "lse.shape[1]", 4, 1, SET(d.lse.shape[1], 1)),
    FAILS(HEED_E_SHAPE, "lse.shape[0]", 2, 3, SET(d.lse.shape[0], 3)),
    FAILS(HEED_E_SHAPE, "sinks.shape[0]", 4, 1, SET(d.sinks.shape[0], 1)),
    FAILS_PACKED(HEED_E_SHAPE, "o.shape[0]", 1, 2, SET(d.o.ndim, 4), SET(d.o.shape[0], 2),
                 SET(d.o.shape[3], D_V), SET(d.o.stride[3], 1000)),
    FAILS_PACKED(HEED_E_SHAPE, "slots[14].t.shape[0]", 2, 1,
                 SET(slots[S_Q_BEGIN - 1].t.shape[0], 1)),
    FAILS(HEED_E_VALUE, "slots[8].t.ndim", 3, 4, SET(slots[S_LEN - 1].t.ndim, 4)),
    FAILS(HEED_E_VALUE, "slots[3].t.ndim", 4, 5, SET(slots[S_ALIBI - 1].t.ndim, 5)),
    FAILS(HEED_E_SHAPE, "slots[8].t.shape[0]", 2, 3, SET(slots[S_LEN - 1].t.shape[0], 3)),
    FAILS(HEED_E_SHAPE, "slots[0].t.shape[0]", 2, 3, SET(slots[S_GLOBAL - 1].t.shape[0], 3)),
    FAILS(HEED_E_SHAPE, "slots[1].t.shape[1]", 3, 2, SET(slots[S_SEGMENT - 1].t.shape[1], 2)),
    FAILS(HEED_E_SHAPE, "slots[1].t.shape[2]", 2, 3, SET(slots[S_SEGMENT - 1].t.shape[2], 3)),
    FAILS(HEED_E_SHAPE, "slots[1].t.shape[1]", 6, 3, SET(terms[2].block, 0)),
    FAILS(HEED_E_SHAPE, "slots[10].t.shape[2]", 6, 2, SET(sources[1].rows, 0)),
    FAILS(HEED_E_SHAPE, "slots[10].t.shape[1]", 4, 3, SET(slots[S_RUNS - 1].t.shape[1], 3)),
    FAILS(HEED_E_SHAPE, "slots[9].t.shape[1]", 4, 3, SET(slots[S_MASK - 1].t.shape[1], 3)),
    FAILS(HEED_E_SHAPE, "slots[9].t.shape[2]", 6, 1, SET(slots[S_MASK - 1].t.shape[2], 1)),
    PASSES(ROW_MASK(HEED_U8, H, N, N)),
    PASSES(ROW_MASK(HEED_I32, 1, N, 1)),
    FAILS(HEED_E_SHAPE, "slots[9].t.shape[0]", 4, 3, ROW_MASK(HEED_U8, 3, N, N)),
    FAILS(HEED_E_UNSUPPORTED, "slots[9].t.shape[0]", 4, 2, ROW_MASK(HEED_I32, 2, N, 1)),
    FAILS(HEED_E_SHAPE, "slots[9].t.shape[1]", 6, 1, ROW_MASK(HEED_U8, 1, 1, N)),
    FAILS(HEED_E_SHAPE, "slots[9].t.shape[2]", 6, 1, ROW_MASK(HEED_U8, 1, N, 1)),
    FAILS(HEED_E_SHAPE, "slots[9].t.shape[2]", 1, 6, ROW_MASK(HEED_I32, 1, N, N)),
    FAILS(HEED_E_DTYPE, "slots[9].t.dtype", HEED_U8, HEED_I64, ROW_MASK(HEED_I64, 1, N, N)),
    FAILS(HEED_E_VALUE, "sources[1].row_mask_slot", 17, 18, SET(sources[1].row_mask_slot, 18)),
    FAILS(HEED_E_UNSUPPORTED, "slots[2].t.shape[0]", 4, 2, SET(slots[S_DENSE - 1].t.shape[0], 2)),
    FAILS(HEED_E_SHAPE, "slots[2].t.shape[0]", 4, 3, SET(slots[S_DENSE - 1].t.shape[0], 3)),
    FAILS(HEED_E_SHAPE, "slots[2].t.shape[1]", 6, 5, SET(slots[S_DENSE - 1].t.shape[1], 5)),
    FAILS(HEED_E_SHAPE, "slots[2].t.shape[2]", 6, 7, SET(slots[S_DENSE - 1].t.shape[2], 7)),
    FAILS(HEED_E_SHAPE, "slots[3].t.shape[0]", 4, 1, SET(slots[S_ALIBI - 1].t.shape[0], 1)),
    FAILS(HEED_E_SHAPE, "slots[4].t.shape[0]", 4, 2, SET(slots[S_TABLE - 1].t.shape[0], 2)),
    FAILS(HEED_E_SHAPE, "slots[5].t.shape[0]", 1, 2, SET(slots[S_MAP - 1].t.ndim, 2),
          SET(slots[S_MAP - 1].t.shape[0], 2)),
    FAILS(HEED_E_SHAPE, "slots[6].t.shape[0]", 6, 5, SET(slots[S_K_COORD - 1].t.shape[0], 5)),
    FAILS(HEED_E_SHAPE, "slots[7].t.shape[1]", 6, 8, SET(slots[S_Q_COORD - 1].t.shape[1], 8)),
    FAILS(HEED_E_SHAPE, "slots[13].t.shape[0]", 2, 3, SET(slots[S_Q_POS - 1].t.shape[0], 3)),
    PASSES(SET(slots[S_DENSE - 1].t.shape[1], 1)),
    PASSES(SET(slots[S_DENSE - 1].t.shape[2], 1), SET(slots[S_DENSE - 1].t.shape[0], 1)),
    PASSES(SET(slots[S_LEN - 1].t.shape[0], 1)),
    PASSES_PACKED(SET(slots[S_Q_COORD - 1].t.shape[1], 8)),
    /* ranges */
    FAILS(HEED_E_OVERFLOW, "q.shape", INT64_MAX, 0, SET(d.q.shape[2], INT64_C(1) << 61),
          SET(d.o.shape[2], INT64_C(1) << 61), SET(d.lse.ndim, 0), SET(d.n_sources, 0)),
    FAILS(HEED_E_OVERFLOW, "q.stride", INT64_MAX, 0, SET(d.q.stride[2], INT64_MAX / 5)),
    FAILS(HEED_E_OVERFLOW, "q.stride", INT64_MAX, 0, SET(d.q.stride[0], INT64_MIN)),
    FAILS(HEED_E_OVERFLOW, "o.stride", INT64_MAX, 0, SET(d.o.stride[0], INT64_C(1) << 62)),
    FAILS(HEED_E_OVERFLOW, "sources[0].k.stride", INT64_MAX, 0,
          SET(sources[0].k.stride[1], INT64_MAX)),
    FAILS(HEED_E_OVERFLOW, "slots[9].t.stride", INT64_MAX, 0,
          SET(slots[S_MASK - 1].t.stride[0], INT64_MAX)),
    PASSES(SET(slots[S_MASK - 1].t.stride[1], INT64_MAX)),
    FAILS(HEED_E_OVERFLOW, "sources[1].slot", INT64_MAX / 2, INT64_MAX,
          SET(slots[S_RUNS - 1].t.shape[3], INT64_MAX), SET(slots[S_RUNS - 1].t.shape[0], 1),
          SET(slots[S_RUNS - 1].t.shape[2], 1), SET(slots[S_RUNS - 1].t.stride[3], 0),
          SET(sources[1].rows, N)),
    FAILS(HEED_E_OVERFLOW, "q_pos0", POS, POS + 1, SET(d.q_pos0, POS + 1)),
    FAILS(HEED_E_OVERFLOW, "q_pos0", -POS, -POS - 1, SET(d.q_pos0, -POS - 1)),
    FAILS(HEED_E_OVERFLOW, "q_pos_step", POS, POS + 1, SET(d.q_pos0, POS - 4)),
    PASSES(SET(d.q_pos0, POS - 5)),
    PASSES(SET(d.q_pos0, -POS)),
    FAILS(HEED_E_OVERFLOW, "q_pos_step", -POS, -POS - 1, SET(d.q_pos0, -POS + 4), SET(d.flags, 2)),
    PASSES(SET(d.q_pos0, -POS + 5), SET(d.flags, 2)),
    FAILS(HEED_E_OVERFLOW, "sources[1].pos0", POS, INT64_MAX, SET(sources[1].pos0, INT64_MAX)),
    FAILS(HEED_E_OVERFLOW, "sources[1].pos_step", POS, POS + 1, SET(sources[1].pos0, POS - 4)),
    PASSES(SET(sources[1].pos0, POS - 5)),
    FAILS(HEED_E_OVERFLOW, "sources[1].pos_step", POS, POS + 1, SET(sources[1].pos0, POS - 6),
          SET(sources[1].pos_span, 3)),
    FAILS(HEED_E_OVERFLOW, "sources[2].pos_step", -POS, -POS - 1,
          SET(sources[2].pos0, -POS + TOTAL - 1)),
    PASSES(SET(sources[2].pos0, -POS + TOTAL)),
    PASSES(SET(sources[2].pos0, POS)),
    PASSES(SET(terms[0].left, POS), SET(terms[0].right, -POS), SET(terms[3].step, POS)),
    FAILS(HEED_E_OVERFLOW, "sources[0].terms[0].left", POS, INT64_MAX - 1,
          SET(terms[0].left, INT64_MAX - 1)),
    FAILS(HEED_E_OVERFLOW, "sources[0].terms[0].right", -POS, INT64_MIN,
          SET(terms[0].right, INT64_MIN)),
    PASSES(SET(terms[0].left, HEED_FAR), SET(terms[0].right, -POS)),
    FAILS(HEED_E_OVERFLOW, "sources[0].terms[3].step", POS, INT64_MAX,
          SET(terms[3].step, INT64_MAX)),
    FAILS(HEED_E_OVERFLOW, "sources[0].biases[2].zero", POS, POS + 1, SET(biases[2].zero, POS + 1)),
    FAILS(HEED_E_STRIDE, "o.stride", 0, 0, SET(d.o.stride[2], 4)),
    FAILS(HEED_E_STRIDE, "o.stride", 0, 0, SET(d.o.stride[1], 0)),
    FAILS(HEED_E_STRIDE, "lse.stride", 0, 0, SET(d.lse.stride[0], 1)),
    PASSES(SET(d.o.stride[2], -5), SET(d.lse.stride[2], 24), SET(d.lse.stride[1], 7),
           SET(d.lse.stride[0], 400)),
    FAILS(HEED_E_DTYPE, "q.dtype", HEED_F32, HEED_I32, SET(d.q.dtype, HEED_I32)),
    FAILS(HEED_E_DTYPE, "q.dtype", HEED_F32, 99, SET(d.q.dtype, 99)),
    FAILS(HEED_E_DTYPE, "o.dtype", HEED_F32, 0, SET(d.o.dtype, 0)),
    FAILS(HEED_E_DTYPE, "lse.dtype", HEED_F32, HEED_F16, SET(d.lse.dtype, HEED_F16)),
    FAILS(HEED_E_DTYPE, "sinks.dtype", HEED_F32, HEED_I8, SET(d.sinks.dtype, HEED_I8)),
    FAILS(HEED_E_DTYPE, "sources[2].v.dtype", HEED_F32, HEED_U8, SET(sources[2].v.dtype, HEED_U8)),
    FAILS(HEED_E_DTYPE, "slots[0].t.dtype", HEED_I32, HEED_I64, SET(slots[0].t.dtype, HEED_I64)),
    FAILS(HEED_E_DTYPE, "slots[8].t.dtype", HEED_I32, HEED_F32, SET(slots[8].t.dtype, HEED_F32)),
    FAILS(HEED_E_DTYPE, "slots[9].t.dtype", HEED_U8, HEED_I32, SET(slots[9].t.dtype, HEED_I32)),
    FAILS(HEED_E_DTYPE, "slots[13].t.dtype", HEED_I64, HEED_I32, SET(slots[13].t.dtype, HEED_I32)),
    FAILS(HEED_E_DTYPE, "slots[4].t.dtype", HEED_F32, HEED_U8, SET(slots[4].t.dtype, HEED_U8)),
    /* rules */
    FAILS(HEED_E_AMBIGUOUS, "flags", 0, 0, SET(d.flags, 0), SET(slots[S_LEN - 1].data, 0)),
    FAILS(HEED_E_AMBIGUOUS, "flags", 0, 0, SET(d.flags, 0), SET(d.q_len_slot, S_Q_LEN),
          SET(slots[S_Q_LEN - 1].data, 0)),
    FAILS(HEED_E_AMBIGUOUS, "flags", 6, 14, SET(d.flags, 0),
          SET(sources[2].flags, HEED_SOURCE_CAUSAL)),
    FAILS_PACKED(HEED_E_AMBIGUOUS, "flags", 0, 0, SET(d.flags, 0)),
    PASSES(SET(d.flags, 0)),
    PASSES(SET(d.flags, 0), SET(d.q_len_slot, S_Q_LEN)),
    PASSES_PACKED(SET(d.flags, HEED_ATTN_ALIGN_END)),
    FAILS(HEED_E_UNSUPPORTED, "sources[0].terms[2].flags", 1, 2,
          SET(terms[2].kind, HEED_TERM_GLOBAL), SET(terms[2].slot, 0)),
    FAILS(HEED_E_UNSUPPORTED, "sources[0].terms[2].flags", 1, 2,
          SET(terms[2].kind, HEED_TERM_GLOBAL), SET(terms[2].slot, 0),
          SET(terms[2].flags, HEED_TERM_ROWS), SET(terms[1].flags, 3)),
    PASSES(SET(terms[2].kind, HEED_TERM_GLOBAL), SET(terms[2].slot, 0),
           SET(terms[2].flags, HEED_TERM_ROWS)),
    FAILS(HEED_E_UNSUPPORTED, "sources[0].terms[3].step", 2, 3, SET(terms[0].step, 2),
          SET(terms[0].flags, HEED_TERM_PHASE_QUERY)),
    PASSES(SET(terms[0].step, 3), SET(terms[0].flags, HEED_TERM_PHASE_QUERY)),
    PASSES(SET(terms[0].step, 1), SET(terms[0].flags, HEED_TERM_PHASE_QUERY)),
    FAILS(HEED_E_UNSUPPORTED, "sources[1].n_terms", 1, 4, SET(sources[1].n_terms, 4),
          SET(sources[1].terms, 1), SET(sources[1].term_size, 48)),
    FAILS(HEED_E_UNSUPPORTED, "sources[1].terms[0].kind", 0, 1, SET(sources[1].n_terms, 1),
          SET(sources[1].terms, 1), SET(sources[1].term_size, 48)),
    FAILS(HEED_E_UNSUPPORTED, "sources[1].terms[0].step", 1, 2, SET(sources[1].n_terms, 1),
          SET(sources[1].terms, 1), SET(sources[1].term_size, 48), SET(terms[0], 0),
          SET(terms[0].step, 2)),
    /* constants */
    FAILS(HEED_E_ALIGN, "slots[8].data", 4, 2, SET(slots[S_LEN - 1].data, 2)),
    FAILS(HEED_E_INDEX, "slots[0]", 6, 6, SET(global[1][3], 6)),
    FAILS(HEED_E_INDEX, "slots[0]", 4, 3, SET(global[1][2], 3)),
    FAILS(HEED_E_INDEX, "slots[0]", -1, 5, SET(global[0][3], 5)),
    FAILS(HEED_E_INDEX, "slots[1]", 6, 7, SET(segment[0][2][1], 7)),
    FAILS(HEED_E_INDEX, "slots[1]", 0, -1, SET(segment[0][0][0], -1)),
    FAILS(HEED_E_INDEX, "slots[1]", 2, 1, SET(segment[0][1][1], 1)),
    FAILS(HEED_E_INDEX, "slots[10]", 2, 3, SET(runs[1][1][2], 3)),
    FAILS(HEED_E_INDEX, "slots[10]", -1, -2, SET(runs[1][1][2], -2)),
    FAILS(HEED_E_VALUE, "slots[8]", 0, -1, SET(len[1], -1)),
    FAILS(HEED_E_INDEX, "slots[8]", 6, 7, SET(len[1], 7)),
    FAILS(HEED_E_INDEX, "slots[11]", 14, 15, SET(begin[1], 15)),
    FAILS(HEED_E_INDEX, "slots[11]", 0, -1, SET(begin[0], -1)),
    FAILS(HEED_E_INDEX, "slots[11]", 9, 10, SET(begin[0], 10)),
    PASSES(SET(begin[0], 9)),
    PASSES(SET(begin[0], 10), SET(slots[S_RAGGED_LEN - 1].data, 0)),
    FAILS(HEED_E_INDEX, "slots[11]", 0, -1, SET(begin[0], -1),
          SET(slots[S_RAGGED_LEN - 1].data, 0)),
    FAILS(HEED_E_OVERFLOW, "slots[13]", POS, POS + 1, SET(q_pos[1], POS + 1)),
    FAILS(HEED_E_OVERFLOW, "slots[6]", -POS, -POS - 1, SET(k_coord[5], -POS - 1)),
    FAILS_PACKED(HEED_E_INDEX, "slots[14]", 6, 5, SET(q_begin[1], 5)),
    FAILS_PACKED(HEED_E_INDEX, "slots[14]", 6, 0, SET(q_begin[1], 0)),
    FAILS_PACKED(HEED_E_INDEX, "slots[14]", 13, 8, SET(q_begin[0], 8)),
    FAILS_PACKED(HEED_E_INDEX, "slots[14]", 8, 9, SET(q_begin[0], 9)),
    PASSES_PACKED(SET(q_begin[0], 7), SET(q_begin[1], 0)),
    PASSES_PACKED(SET(q_begin[1], 0), SET(q_len[0], 0)),
    PASSES_PACKED(SET(q_begin[1], 0), SET(slots[S_Q_LEN - 1].data, 0)),
    /* o apart from q: then o's rows are apart, and q's may be shared */
    PASSES_PACKED(SET(d.o_slot, S_BEGIN), SET(begin[0], 8), SET(begin[1], 2), SET(q_begin[1], 0)),
    FAILS_PACKED(HEED_E_INDEX, "slots[11]", 8, 7, SET(d.o_slot, S_BEGIN), SET(begin[0], 7),
                 SET(begin[1], 2)),
    FAILS_PACKED(HEED_E_INDEX, "slots[11]", 8, 9, SET(d.o_slot, S_BEGIN), SET(begin[0], 9),
                 SET(begin[1], 2)),
    FAILS_PACKED(HEED_E_INDEX, "slots[11]", 12, 13, SET(d.o_slot, S_BEGIN), SET(begin[1], 13),
                 SET(d.o.shape[1], 12), SET(d.lse.shape[1], 12)),
    FAILS_PACKED(HEED_E_SHAPE, "lse.shape[1]", 12, 14, SET(d.o_slot, S_BEGIN),
                 SET(d.o.shape[1], 12)),
    FAILS_PACKED(HEED_E_SHAPE, "o.shape[1]", 14, 12, SET(d.o.shape[1], 12)),
};
#undef PASSES_PACKED
#undef PASSES
#undef FAILS_PACKED
#undef FAILS
#undef POS

LOOP_TEST(each_change_gets_its_status_and_report, sizeof(changes) / sizeof(changes[0]))
{
    const struct row *const row = &changes[_i];
    static struct world w;
    heed_report report;
    heed_status status;

    world_fill(&w);
    if (row->start == PACKED)
        world_pack(&w);
    for (size_t p = 0; p < sizeof(row->patches) / sizeof(row->patches[0]); p++)
        patch(&w, &row->patches[p]);
    status = ask(&w.d, &report);
    ck_assert_msg(status == row->status, "%d, wanted %d (%s): %s: %s", (int)status,
                  (int)row->status, row->field, report.field, report.message);
    ck_assert_str_eq(report.field, row->field);
    ck_assert_int_eq(report.wanted, row->wanted);
    ck_assert_int_eq(report.got, row->got);
    ck_assert_int_eq(status < 0, report.message[0] != 0);
}

TEST(null_descriptor)
{
    heed_report report;

    ck_assert_int_eq(ask(NULL, &report), HEED_E_NULL);
    ck_assert_str_eq(report.field, "desc");
}

/* What binary32 holds of scale * log2(e), or with softcap of scale / softcap and softcap * log2(e),
 * is finite, and 0 only where scale is. */
TEST(numbers_fit_binary32)
{
    static const struct {
        double scale, softcap;
        const char *field; /* NULL: legal */
    } rows[] = {
        { -2.5, 0.0, NULL },        { 0.0, 30.0, NULL },          { 0.0, -0.0, NULL },
        { NAN, 0.0, "scale" },      { INFINITY, 0.0, "scale" },   { -INFINITY, 0.0, "scale" },
        { 0.0, NAN, "softcap" },    { 0.0, INFINITY, "softcap" }, { 0.0, -1e-300, "softcap" },
        { 1e300, 0.0, "scale" },    { -2.4e38, 0.0, "scale" },    { 2.3e38, 0.0, NULL },
        { 1e-45, 0.0, NULL },       { -1e-46, 0.0, "scale" },     { 0.0, 3e38, "softcap" },
        { 0.0, 2.3e38, NULL },      { 0.0, 1e-40, "softcap" },    { 0.0, 2e-39, NULL },
        { 1e-5, 1e-40, NULL },      { 1e-50, 1.0, "softcap" },    { 1e300, 1e270, "softcap" },
        { 1.0, 1e-46, "softcap" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static struct world w;
        heed_report report;
        heed_status status;

        world_fill(&w);
        w.d.scale = rows[i].scale;
        w.d.softcap = rows[i].softcap;
        status = ask(&w.d, &report);
        ck_assert_msg(status == (rows[i].field ? HEED_E_VALUE : HEED_OK), "row %zu: %d", i,
                      (int)status);
        ck_assert_str_eq(report.field, rows[i].field ? rows[i].field : "");
    }
}

TEST(a_given_scale_of_0_is_a_plain_mean)
{
    static struct world w;
    heed_report report;

    world_fill(&w);
    w.d.flags |= HEED_ATTN_SCALE_GIVEN;
    ck_assert_int_eq(ask(&w.d, &report), HEED_OK);
    w.d.softcap = 5;
    ck_assert_int_eq(ask(&w.d, &report), HEED_OK);
}

/* A flag in the wrong field: the message says where it belongs. */
TEST(flags_out_of_place_are_told_where_they_belong)
{
    static const struct {
        struct patch patch;
        const char *says;
    } rows[] = {
        { SET(d.flags, HEED_SOURCE_CAUSAL), "HEED_SOURCE_CAUSAL belongs in sources[].flags" },
        { SET(d.flags, HEED_SOURCE_END), "HEED_SOURCE_END belongs in sources[].flags" },
        { SET(sources[1].flags, HEED_ATTN_ALIGN_END), "ALIGN_END belongs in the descriptor" },
        { SET(sources[1].flags, HEED_ATTN_ALIGN_START), "ALIGN_START belongs in the descriptor" },
        { SET(terms[0].flags, HEED_SOURCE_CAUSAL), "HEED_SOURCE_CAUSAL belongs in sources[]" },
        { SET(terms[0].flags, HEED_ATTN_ALIGN_END), "ALIGN_END belongs in the descriptor" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static struct world w;
        heed_report report;

        world_fill(&w);
        patch(&w, &rows[i].patch);
        ck_assert_int_lt(ask(&w.d, &report), 0);
        ck_assert_msg(strstr(report.message, rows[i].says), "row %zu: %s", i, report.message);
    }
}

/* Structure is asked first; of all the other faults one is named. */
TEST(structure_comes_first)
{
    static struct world w;
    heed_report report;
    heed_status status;

    world_fill(&w);
    w.global[1][3] = 6;
    w.d.q.dtype = HEED_U8;
    w.d.o.stride[3] = 0;
    w.sources[0].layout = HEED_LAYOUT_LISTED + 1;
    w.biases[2].flags = 1;
    status = ask(&w.d, &report);
    ck_assert(status == HEED_E_INDEX || status == HEED_E_DTYPE || status == HEED_E_STRIDE ||
              status == HEED_E_VALUE || status == HEED_E_FLAG);
    w.sources[0].term_size = 8;
    ck_assert_int_eq(ask(&w.d, &report), HEED_E_SIZE);
    w.d.size = 0;
    ck_assert_int_eq(ask(&w.d, &report), HEED_E_SIZE);
    ck_assert_str_eq(report.field, "size");
}

int main(void)
{
    return suite_run("check", 0, NULL, NULL);
}
