/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * recur for processors: a sweep over the columns of a few vectors of channels of v, which writes
 * and answers a token or two.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_RECUR_SWEEP_H
#define HEED_BACKENDS_KERNELS_OPS_RECUR_SWEEP_H

/* With registers for it one sweep takes two tokens, so that the state is loaded and stored half as
 * often; with DELTA a token waits for the one before. */
#define HK_RECUR_PAIRS (HKV_TILE >= 4)

/* What decays. */
enum { HK_RECUR_KEPT, HK_RECUR_HEADS, HK_RECUR_CHANNELS };

/* What a sweep over the state has in hand. */
struct hk_recur_sweep {
    HK_GLOBAL const float *key, *query;  /* of the token that is written and answered */
    HK_GLOBAL const float *next, *decay; /* of the one whose k is answered; its factors, */
    float factor;                        /* or the one of all channels */
    HK_GLOBAL float *state;
    hk_i64 d_k, end; /* end: of the tokens */
};

HK_INLINE hk_vec hk_recur_decay(const int decays, const struct hk_recur_sweep *sweep, hk_i64 c)
{
    return hkv_set(decays == HK_RECUR_CHANNELS ? sweep->decay[c] : sweep->factor);
}

/* A token without DELTA: the state decays, takes w by `key`, and answers `query` in o. */
HK_INLINE void hk_recur_token(const int wide, const int decays, const struct hk_recur_sweep *sweep,
                              const hk_vec *w, hk_vec *o)
{
    HK_GLOBAL float *s = sweep->state;
    hk_i64 c;
    int i;

    for (c = 0; c < sweep->d_k; c++, s += wide * HKV_LANES) {
        const hk_vec key = hkv_set(sweep->key[c]), query = hkv_set(sweep->query[c]);
        const hk_vec decay = hk_recur_decay(decays, sweep, c);

        HK_UNROLL
        for (i = 0; i < wide; i++) {
            hk_vec x = hkv_load(s + i * HKV_LANES);

            if (decays)
                x = hkv_mul(decay, x);
            x = hkv_fma(key, w[i], x);
            o[i] = hkv_fma(query, x, o[i]);
            hkv_store(s + i * HKV_LANES, x);
        }
    }
}

#if HK_RECUR_PAIRS
/* Two tokens that follow each other, without DELTA. */
HK_INLINE void hk_recur_pair(const int wide, const int decays, const struct hk_recur_sweep *first,
                             const struct hk_recur_sweep *second, const hk_vec *w,
                             const hk_vec *second_w, hk_vec *o, hk_vec *second_o)
{
    HK_GLOBAL float *s = first->state;
    hk_i64 c;
    int i;

    for (c = 0; c < first->d_k; c++, s += wide * HKV_LANES) {
        const hk_vec key = hkv_set(first->key[c]), query = hkv_set(first->query[c]);
        const hk_vec decay = hk_recur_decay(decays, first, c);
        const hk_vec second_key = hkv_set(second->key[c]);
        const hk_vec second_query = hkv_set(second->query[c]);
        const hk_vec second_decay = hk_recur_decay(decays, second, c);

        HK_UNROLL
        for (i = 0; i < wide; i++) {
            hk_vec x = hkv_load(s + i * HKV_LANES);

            if (decays)
                x = hkv_mul(decay, x);
            x = hkv_fma(key, w[i], x);
            o[i] = hkv_fma(query, x, o[i]);
            if (decays)
                x = hkv_mul(second_decay, x);
            x = hkv_fma(second_key, second_w[i], x);
            second_o[i] = hkv_fma(second_query, x, second_o[i]);
            hkv_store(s + i * HKV_LANES, x);
        }
    }
}
#endif

/* With DELTA: the state takes w by `key` and answers `query` in o, unless this comes before the
 * first token; then it decays and answers `next` in r, unless this comes behind the last. */
HK_INLINE void hk_recur_between(const int wide, const int decays, const int writes, const int asks,
                                const struct hk_recur_sweep *sweep, const hk_vec *w, hk_vec *o,
                                hk_vec *r)
{
    HK_GLOBAL float *s = sweep->state;
    hk_i64 c;
    int i;

    for (c = 0; c < sweep->d_k; c++, s += wide * HKV_LANES) {
        const hk_vec key = hkv_set(sweep->key[c]), query = hkv_set(sweep->query[c]);
        const hk_vec next = hkv_set(sweep->next[c]);
        const hk_vec decay = hk_recur_decay(decays, sweep, c);

        HK_UNROLL
        for (i = 0; i < wide; i++) {
            hk_vec x = hkv_load(s + i * HKV_LANES);

            if (writes) {
                x = hkv_fma(key, w[i], x);
                o[i] = hkv_fma(query, x, o[i]);
            }
            if (asks && decays)
                x = hkv_mul(decay, x);
            if (asks)
                r[i] = hkv_fma(next, x, r[i]);
            hkv_store(s + i * HKV_LANES, x);
        }
    }
}

#endif
