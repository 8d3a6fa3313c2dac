/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/memory.h, recur: a state that decays, takes tokens in and answers them (docs/numerics.md,
 * section 18). A task is a strip of the channels of v of one item and head, for a channel of v has
 * its own column of the state. The strip's columns lie in scratch while all tokens pass by.
 *
 * With DELTA a token needs the answer of the state before it writes. So one sweep over the state
 * writes token t, answers q of t, decays for t + 1 and answers k of t + 1: each number is loaded
 * and stored once a token.
 */
#define HK_SCALES 0 /* numbers alone */
#include "channels.h"

/* HK_HELD: the state lies in the registers of a work-group's threads, and what they share of a
 * strip in local memory. 1: a thread has a column; 2: several have one. */
#if HK_HELD
#define HK_RECUR_SPACE HK_LOCAL
#define HK_RECUR_CALL HK_FN /* a call would cost the state its registers */
#else
#define HK_RECUR_SPACE
#define HK_RECUR_CALL HK_NOINLINE
#endif

/* A strip: channels first .. end - 1 of v. */
struct hk_recur_strip {
    HK_GLOBAL const struct hk_recur *numbers;
    hk_i64 first, end, tokens, pitch; /* pitch: floats of a row of scratch beside the state */
    HK_GLOBAL float *scratch;
    struct hk_rows q, k, v, o, state; /* q, o: base NULL where absent */
    struct hk_rows decay;             /* a row for each token, or an entry */
    struct hk_entries beta;
    hk_u32 beta_dtype, decays;
};

HK_FN void hk_recur_open(const struct hk_call *call, hk_i64 task, hk_i64 group,
                         struct hk_recur_strip *strip)
{
    HK_GLOBAL const struct hk_recur *numbers = HK_NUMBERS(call, struct hk_recur);
    const struct hk_strip_task at = hk_strip_get(&numbers->strip, task);
    const hk_i64 shared = at.head / numbers->share;

    strip->numbers = numbers;
    strip->first = at.first;
    strip->end = at.first + at.count;
    strip->tokens = hk_length(call, HK_RECUR_LEN, at.b, numbers->n);
    strip->pitch = (numbers->d_k + 15) / 16 * 16;
    strip->scratch = (HK_GLOBAL float *)hk_scratch(call, group);
    strip->q = hk_rows_get(call, HK_RECUR_Q, at.b, shared);
    strip->k = hk_rows_get(call, HK_RECUR_K, at.b, shared);
    strip->v = hk_rows_get(call, HK_RECUR_V, at.b, at.head);
    strip->o = hk_rows_get(call, HK_RECUR_O, at.b, at.head);
    strip->state = hk_rows_get(call, HK_RECUR_STATE, at.b, at.head);
    strip->decays = (hk_u32)hk_has(call, HK_RECUR_DECAY);
    strip->decay = hk_rows_get(call, HK_RECUR_DECAY, at.b, at.head);
    if (!numbers->channels) { /* [H][n]: axes 4 and 5 */
        strip->decay.base =
            hk_along(call, HK_RECUR_DECAY, 4, hk_item(call, HK_RECUR_DECAY, at.b), at.head);
        strip->decay.row = strip->decay.channel * hk_size(strip->decay.dtype);
    }
    strip->beta = hk_entries_get(call, HK_RECUR_BETA, at.b, at.head);
    strip->beta_dtype = call->arrays[HK_RECUR_BETA].dtype;
    if (!hk_has(call, HK_RECUR_BETA))
        strip->beta.base = 0;
    if (!hk_has(call, HK_RECUR_O))
        strip->o.base = 0;
}

#if !HK_HELD
HK_FN float hk_recur_beta(const struct hk_recur_strip *strip, hk_i64 t)
{
    return strip->beta.base ? hk_element(strip->beta_dtype, strip->beta.base, t * strip->beta.step)
                            : 1.0f;
}

/* Channels of v; +0 beyond the strip. */
HK_NOINLINE hk_vec hk_recur_value(const struct hk_recur_strip *strip, hk_i64 t, hk_i64 channel)
{
    const struct hk_rows v = strip->v;

    if (channel >= strip->end)
        return hkv_set(0.0f);
    return hk_channels_read(v.dtype, hk_row(&v, t), v.channel, channel, strip->end);
}
#endif

/* Channels of o, where it is there; none beyond the strip. */
HK_RECUR_CALL void hk_recur_put(HK_RECUR_SPACE const struct hk_recur_strip *strip, hk_i64 i,
                                hk_i64 channel, hk_vec x)
{
    const struct hk_rows o = strip->o;

    if (o.base && channel < strip->end)
        hk_channels_write(o.dtype, hk_row(&o, i), o.channel, channel, strip->end, x);
}

/* Row c of the state's columns: the way in, +0 beyond the strip, and out by step 11. */
HK_FN hk_vec hk_recur_state_get(HK_RECUR_SPACE const struct hk_recur_strip *strip, hk_i64 c,
                                hk_i64 channel)
{
    const struct hk_rows state = strip->state;

    if (channel >= strip->end)
        return hkv_set(0.0f);
    return hk_channels_read(HK_F32, hk_row(&state, c), state.channel, channel, strip->end);
}

HK_FN void hk_recur_state_put(HK_RECUR_SPACE const struct hk_recur_strip *strip, hk_i64 c,
                              hk_i64 channel, hk_vec x)
{
    const struct hk_rows state = strip->state;

    hk_channels_write(HK_F32, hk_row(&state, c), state.channel, channel, strip->end, x);
}

#if HK_THREADS == 1
#include "recur_lanes.h"
#elif HK_HELD
#include "recur_held.h"
#else
#include "recur_threads.h"
#endif

#include "../entry.h"
