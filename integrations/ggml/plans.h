/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plans of attention by the shape of the call: made once, kept while they are used.
 */
#ifndef HEED_INTEGRATIONS_GGML_PLANS_H
#define HEED_INTEGRATIONS_GGML_PLANS_H

#include <heed/attn.h>

/* What a mask turned out to be. */
enum heed_attend_form {
    HEED_ATTEND_ALL,    /* every row sees every key */
    HEED_ATTEND_RANGES, /* each row sees a range, and nothing is added */
    HEED_ATTEND_BITS,   /* ranges, less the keys that bits take from them */
    HEED_ATTEND_BIAS,   /* ranges, and the mask is added */
    HEED_ATTEND_SLOPED  /* ranges, and the mask is added times a slope for each head */
};

/* All that a plan depends on; compared as bytes, so made from zeros. Strides are in elements, or
 * blocks, as heed counts them: batch, head, row. */
struct heed_attend_shape {
    int64_t batch, heads, kv_heads, rows, keys, d, d_v;
    int64_t k_items, v_items, mask_items; /* the batch, or 1 */
    int64_t q[3], k[3], v[3], o[3];
    int64_t mask[2];         /* batch, row */
    uint32_t k_type, v_type; /* HEED_* */
    uint32_t form, sinks;    /* enum heed_attend_form; 1: there are sinks */
    float scale, softcap;
};

/* A descriptor with what it points to. Slots: 1 ranges, 2 bits or what is added, 3 slopes. */
struct heed_attend_described {
    heed_attn_desc desc;
    heed_source source;
    heed_term term;
    heed_bias bias;
    heed_slot slots[3];
};

void heed_attend_describe(const struct heed_attend_shape *, struct heed_attend_described *out);

enum { HEED_ATTEND_PLANS = 64 };

struct heed_attend_planned {
    struct heed_attend_shape shape;
    heed_plan *plan;
    heed_plan_props props;
    uint64_t used; /* when, by the clock of the plans */
};

/* Kept plans. `digests` lie apart, as they are all that a search looks at. */
struct heed_attend_plans {
    uint32_t n;
    uint64_t clock, made, bytes; /* bytes: of the kept plans */
    uint64_t digests[HEED_ATTEND_PLANS];
    struct heed_attend_planned kept[HEED_ATTEND_PLANS];
};

/* The plan of a shape, made where none is kept; the one used longest ago goes when there are
 * too many. The result is valid until the next call. */
heed_status heed_attend_plan(struct heed_attend_plans *, heed_device *,
                             const struct heed_attend_shape *,
                             const struct heed_attend_planned **out, heed_report *report);

/* Drops every plan. */
void heed_attend_forget(struct heed_attend_plans *);

#endif
