/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Golden cases of recurrent memories, for operations.c: section 18 of docs/numerics.md.
 */
#ifndef HEED_TESTS_GOLDEN_CONTENTS_RECUR_H
#define HEED_TESTS_GOLDEN_CONTENTS_RECUR_H

#include "contents.h"

static const struct recur_row {
    const char *name;
    uint32_t dtype, o, factors; /* factors: of decay and beta; o, factors 0: absent */
    uint32_t flags;
    int64_t d_k, d_v;
    double scale;
    bool hostile, special; /* hostile: lengths */
} recurs[] = {
    { "recur", HEED_F32, HEED_F32, 0, 0, 24, 70, 0, false, false },
    { "recur_decays", HEED_F16, HEED_F32, HEED_F32, 0, 17, 33, 0.25, false, false },
    { "recur_channels", HEED_BF16, HEED_F16, HEED_F16, HEED_RECUR_CHANNELS, 33, 20, -3, true,
      false },
    { "recur_delta", HEED_F32, HEED_BF16, 0, HEED_RECUR_DELTA, 19, 66, 0, false, false },
    { "recur_delta_decays", HEED_F32, HEED_F32, HEED_BF16, HEED_RECUR_DELTA, 130, 9, 0.1, true,
      false },
    { "recur_delta_channels", HEED_F32, HEED_F32, HEED_F32, HEED_RECUR_DELTA | HEED_RECUR_CHANNELS,
      12, 40, 0, false, false },
    { "recur_state", HEED_F16, 0, HEED_F32, HEED_RECUR_DELTA, 20, 17, 0, true, false },
    { "recur_no_keys", HEED_F32, HEED_F32, 0, 0, 0, 5, 0, false, false },
    { "recur_special", HEED_F32, HEED_F32, HEED_F32, HEED_RECUR_DELTA, 8, 70, 0, false, true },
};

static void recur_floats(struct golden_call *c, const struct recur_row *row, int exponent)
{
    fill_floats(c, exponent);
    if (row->special)
        fill_specials(c, 150, specials, SPECIALS);
}

/* A head of q and k serves two of v. */
static void recur_make(struct golden_call *c, const void *from)
{
    const struct recur_row *row = from;
    enum { B = 2, G = 2, H = 4, N = 9 };

    c->desc.recur.flags = row->flags;
    c->desc.recur.scale = row->scale;
    if (row->o != 0) {
        output(c, FIELD(recur, o), row->o, DIMS(B, H, N, row->d_v));
        input(c, FIELD(recur, q), row->dtype, DIMS(B, G, N, row->d_k));
        recur_floats(c, row, 1);
    }
    input(c, FIELD(recur, k), row->dtype, DIMS(B, G, N, row->d_k));
    recur_floats(c, row, -1);
    input(c, FIELD(recur, v), row->dtype, DIMS(B, H, N, row->d_v));
    recur_floats(c, row, 2);
    if (row->factors != 0) {
        if (row->flags & HEED_RECUR_CHANNELS)
            input(c, FIELD(recur, decay), row->factors, DIMS(B, H, N, row->d_k));
        else
            input(c, FIELD(recur, decay), row->factors, DIMS(B, H, N));
        fill_floats(c, 0);
        input(c, FIELD(recur, beta), row->factors, DIMS(B, H, N));
        fill_floats(c, 0);
    }
    if (row->hostile) {
        input(c, FIELD(recur, len), HEED_I64, DIMS(B));
        fill_ints(c, -1, N + 1);
    }
    state(c, FIELD(recur, state), HEED_F32, DIMS(B, H, row->d_k, row->d_v));
    recur_floats(c, row, 3);
}

#endif
