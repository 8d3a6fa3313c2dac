/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/nn.h, norm: rows over their deviation or their root mean square (docs/numerics.md, section
 * 12). A task is a strip of rows of one item and head.
 */
#define HK_SCALES 0 /* numbers alone */
#define HK_BATCH 3
#include "sums.h"
#include "batch.h"

/* A strip, and the vectors that all rows have in common. */
struct hk_rows_norm {
    HK_GLOBAL const struct hk_norm *numbers;
    struct hk_strip_task strip;
    struct hk_rows x, residual, y, sum; /* base NULL: absent */
    struct hk_rows weight, bias;        /* likewise; all rows are the same */
    float part; /* 1 / d */
    int rms;
};

/* What all rows have in common. */
HK_FN struct hk_rows hk_norm_common(const struct hk_call *call, hk_u32 array)
{
    struct hk_rows out;

    out.base = hk_has(call, array) ? call->buffer[array] : 0;
    out.row = 0;
    out.channel = call->arrays[array].stride[5];
    out.dtype = call->arrays[array].dtype;
    out.past = 0;
    return out;
}

/* A channel's distance from the centre, 0 with RMS. */
HK_FN hk_vec hk_norm_apart(const struct hk_rows_norm *norm, hk_vec x, float centre)
{
    return norm->rms ? x : hkv_sub(x, hkv_set(centre));
}

/* What y has of x. */
HK_FN hk_vec hk_norm_end(const struct hk_rows_norm *norm, hk_vec x, float centre, float factor,
                         hk_vec weight, hk_vec bias)
{
    const hk_vec scaled = hkv_mul(hk_norm_apart(norm, x, centre), hkv_set(factor));

    return norm->rms ? hkv_mul(scaled, weight) : hkv_fma(scaled, weight, bias);
}

#if HK_THREADS == 1
#include "norm_lanes.h"
#else
#include "norm_threads.h"
#endif

#include "../entry.h"
