/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tensors of a descriptor: what can be said of one by itself, one axis beside what it must agree
 * with, and how a fault is reported.
 */
#ifndef HEED_LIB_OPS_TENSOR_H
#define HEED_LIB_OPS_TENSOR_H

#include "../core/error.h"
#include "../plan.h"

#include <stdarg.h>

enum { HEED_CHECK_PREFIX = 40, HEED_CHECK_NAME = 32 };

/* Where faults are reported, and the object whose fields are looked at. */
struct heed_where {
    heed_report *report;
    char prefix[HEED_CHECK_PREFIX]; /* "sources[0].terms[1]."; empty: the descriptor */
};

/* Reports a field of the object; the message begins with it. */
HEED_PRINTF(6, 7)
heed_status heed_where_fail(const struct heed_where *, heed_status, const char *name,
                            int64_t wanted, int64_t got, const char *format, ...);
heed_status heed_where_fail_list(const struct heed_where *, heed_status, const char *name,
                                 int64_t wanted, int64_t got, const char *format, va_list);

struct heed_tensor_rule {
    const char *name;
    uint32_t min, max; /* axes; min 0: may be absent */
    uint32_t trailing; /* of them, the last so many are no batch axes */
    uint32_t end;      /* view axis after the last one */
    uint32_t set;      /* HEED_SET_* */
};
/* All that can be said of a tensor by itself; fills the view, which stays zero if it is absent. */
heed_status heed_tensor_check(const struct heed_where *, const struct heed_tensor_rule *,
                              const heed_tensor *, struct heed_view *);
/* Axes and extents. */
heed_status heed_tensor_extents(const struct heed_where *, const struct heed_tensor_rule *,
                                const heed_tensor *);
/* Element type, axes in their places, sizes within 63 bits. */
heed_status heed_tensor_view(const struct heed_where *, const struct heed_tensor_rule *,
                             const heed_tensor *, int64_t shape[6], int64_t stride[6]);
/* Whole blocks, one beside the other along the last axis, where the type has blocks. */
heed_status heed_tensor_blocks(const struct heed_where *, const char *tensor, const heed_tensor *);
/* View axes without another question. Extents of 1 and tensors without elements get strides 0. */
void heed_tensor_place(const struct heed_tensor_rule *, const heed_tensor *, int64_t shape[6],
                       int64_t stride[6]);
/* A view axis has this extent? HEED_E_SHAPE at the caller's axis. */
heed_status heed_tensor_axis(const struct heed_where *, const struct heed_tensor_rule *,
                             const heed_tensor *, uint32_t axis, int64_t wanted, const char *why);

#endif
