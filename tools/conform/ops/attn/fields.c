/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fields of a case: names, the values that are drawn (each field is an axis of the covering
 * array, each value a level), and which field must have which value for another one to have a
 * meaning.
 */
#include "kinds.h"
#include "conform/engine/operation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WIDTHS "16 0 1 2 7 8 15 17 33 48 64 65 80 96 128 130"
#define FLOATS TYPE_FLOATS
#define KEYS TYPE_KEYS
#define SLOT   "const rt hostile"
#define GROUPS "row all 32 64" /* channels that share a scale; row: all, and there is no axis */
#define HAVE   "none const rt hostile"
#define LAID   "natural padded transposed negative zero"

#define FAR    (1 << 30) /* positions, and what is added to them */

static const struct cf_spec global_specs[G_COUNT] = {
    [G_BATCH] = { "batch", "2 1 3 0 none 2x2 1x3", 0, -1, NULL },
    [G_H] = { "h", "2 1 3 4", 64, -1, NULL },
    [G_NQ] = { "nq", "33 0 1 2 7 16 64 65 130", 1, -1, NULL },
    [G_D] = { "d", WIDTHS, 1, -1, NULL },
    [G_DV] = { "dv", WIDTHS, 1, -1, NULL },
    [G_Q] = { "q", FLOATS, 0, -1, NULL },
    [G_O] = { "o", FLOATS, 0, -1, NULL },
    [G_QL] = { "ql", "dense ragged listed", 0, -1, NULL },
    [G_QBEG] = { "qbeg", SLOT, 0, G_QL, "ragged" },
    [G_OBEG] = { "obeg", HAVE, 0, G_QL, "ragged" },
    [G_QLEN] = { "qlen", HAVE, 0, -1, NULL },
    [G_ALIGN] = { "align", "start end none", 0, -1, NULL },
    [G_QSTEP] = { "qstep", "1 2 3", FAR, -1, NULL },
    [G_QPOS0] = { "qpos0", "0 5 -7", FAR, -1, NULL },
    [G_QPOS] = { "qpos", HAVE, 0, -1, NULL },
    [G_SCALE] = { "scale", "default given zero negative", 0, -1, NULL },
    [G_CAP] = { "cap", "0 20 7", FAR, -1, NULL },
    [G_SINK] = { "sink", "none normal neginf nan huge inf", 0, -1, NULL },
    [G_SINKT] = { "sinktype", FLOATS, 0, G_SINK, "normal neginf nan huge inf" },
    [G_LSE] = { "lse", "none plain sink", 0, -1, NULL },
    [G_FILL] = { "fill", "normal ties huge subnormal special specialv exact rise edge over", 0, -1,
                 NULL },
    [G_QS] = { "qs", LAID, 0, -1, NULL },
    [G_OS] = { "os", "natural padded transposed negative", 0, -1, NULL },
    [G_LS] = { "ls", "natural padded transposed negative", 0, G_LSE, "plain sink" },
    [G_MIS] = { "mis", "0 1 3", 1, -1, NULL },
    [G_INT] = { "int", "i32 i64", 0, -1, NULL },
    [G_SHARE] = { "share", "item one", 0, -1, NULL },
    [G_SS] = { "ss", "natural padded transposed negative zero overlap", 0, -1, NULL },
    [G_NUM] = { "num", "exact best repeat fast", 0, -1, NULL },
    [G_WS] = { "ws", "given own", 0, -1, NULL },
    [G_NS] = { "ns", "1 0 2 3", LEVELS_ONLY, -1, NULL },
};

static const struct cf_spec source_specs[S_COUNT] = {
    [S_NK] = { "nk", "33 65 1 130 0 16 64 3 63 257 1024 1030 2100", 1, -1, NULL },
    [S_K] = { "k", KEYS, 0, -1, NULL },
    [S_V] = { "v", KEYS, 0, -1, NULL },
    [S_HK] = { "hk", "h 1 half", 0, -1, NULL },
    [S_KB] = { "kb", "full one", 0, S_LAY, NULL },
    [S_LAY] = { "lay", NULL, 0, -1, NULL },
    [S_LEN] = { "len", HAVE, 0, -1, NULL },
    [S_IDX] = { "idx", SLOT, 0, S_LAY, NULL },
    [S_RUN] = { "run", "1 2 16", 1, S_LAY, NULL },
    [S_PAGE] = { "page", "16 1 3 64 100", 1, S_LAY, NULL },
    [S_TAB] = { "tab", "own begin one", 0, S_LAY, NULL }, /* with what that of item 0 has */
    [S_ROWS] = { "rows", "1 4 64", 1, S_LAY, NULL },
    [S_LH] = { "lh", "none 1 hk h", 0, S_LAY, NULL },
    [S_MASK] = { "mask", "none 1 hk h", 0, -1, NULL },
    [S_MSLOT] = { "mslot", "const rt", 0, S_MASK, "1 hk h" },
    [S_RMASK] = { "rmask", "none bytes1 bytes bits1 bits", 0, -1, NULL },
    [S_CAUSAL] = { "causal", "no yes", 0, -1, NULL },
    [S_END] = { "end", "no yes", 0, -1, NULL },
    [S_POS0] = { "pos0", "0 3 -9 100", FAR, -1, NULL },
    [S_PSTEP] = { "pstep", "1 2 4", FAR, -1, NULL },
    [S_PSPAN] = { "pspan", "1 2 9", FAR, -1, NULL },
    [S_KS] = { "ks", LAID, 0, -1, NULL },
    [S_VS] = { "vs", LAID, 0, -1, NULL },
    [S_PAD] = { "pad", "0", 1, S_LAY, NULL },
    [S_NT] = { "nt", "0 1 2 3", LEVELS_ONLY, -1, NULL },
    [S_NB] = { "nb", "0 1 2", LEVELS_ONLY, -1, NULL },
    [S_KT] = { "kt", "f32 f16", 0, S_K, TYPE_APART },
    [S_KC] = { "kc", "const rt", 0, S_K, TYPE_APART },
    [S_VT] = { "vt", "f32 f16", 0, S_V, TYPE_APART },
    [S_VC] = { "vc", "const rt", 0, S_V, TYPE_APART },
    [S_KG] = { "kg", GROUPS, 0, S_K, TYPE_APART },
    [S_KM] = { "km", "no yes", 0, S_K, TYPE_APART },
    [S_VG] = { "vg", GROUPS, 0, S_V, TYPE_APART },
    [S_VM] = { "vm", "no yes", 0, S_V, TYPE_APART },
};

static const struct cf_spec term_specs[T_COUNT] = {
    [T_KIND] = { "kind", NULL, 0, -1, NULL },
    [T_LEFT] = { "left", "4 -3 far 16 0 1 80", FAR, T_KIND, NULL },
    [T_RIGHT] = { "right", "3 -2 far 0 16 70", FAR, T_KIND, NULL },
    [T_BLOCK] = { "block", "1 3 4 64", 1, T_KIND, NULL },
    [T_STEP] = { "step", "1 2 3 5", INT64_C(1) << 60, T_KIND, NULL },
    [T_PHASE] = { "phase", "0 1 -2 7", FAR, T_STEP, "2 3 5" },
    [T_PH] = { "ph", "none head query both", 0, T_STEP, "2 3 5" },
    [T_GF] = { "gf", "none keys rows both", 0, T_KIND, NULL },
    [T_SLOT] = { "slot", HAVE, 0, T_KIND, NULL },
};

static const struct cf_spec bias_specs[B_COUNT] = {
    [B_KIND] = { "kind", NULL, 0, -1, NULL },
    [B_T] = { "t", FLOATS, 0, -1, NULL },
    [B_SLOT] = { "slot", "const rt", 0, -1, NULL },
    [B_H] = { "heads", "h 1", 0, B_KIND, NULL },
    [B_Q] = { "rows", "n 1", 0, B_KIND, NULL },
    [B_K] = { "keys", "n 1", 0, B_KIND, NULL },
    [B_FILL] = { "fill", "normal inf special", 0, -1, NULL },
    [B_LEN] = { "len", "9 1 40 0", 1, B_KIND, NULL },
    [B_MAP] = { "map", HAVE, 0, B_KIND, NULL },
    [B_COORD] = { "coord", "none k q both", 0, B_KIND, NULL },
    [B_CSLOT] = { "cslot", SLOT, 0, B_COORD, "k q both" },
    [B_ZERO] = { "zero", "0 4 17", FAR, B_KIND, NULL },
    [B_OF] = { "of", "both t u", 0, B_KIND, NULL },
    [B_FACTOR] = { "factor", "none h 1", 0, B_KIND, NULL },
};

static int source_at[MAX_SOURCES], term_at[MAX_SOURCES][MAX_TERMS],
    bias_at[MAX_SOURCES][MAX_BIASES];

static struct cf_kinds layouts, term_kinds, bias_kinds;

static void kinds_find(void)
{
    memset(&layouts, 0, sizeof layouts);
    memset(&term_kinds, 0, sizeof term_kinds);
    memset(&bias_kinds, 0, sizeof bias_kinds);
    for (int i = 0; i < cf_n_layouts; i++)
        cf_kind_add(&layouts, i, cf_layouts[i].word, cf_layouts[i].fields);
    for (int i = 0; i < cf_n_term_kinds; i++)
        cf_kind_add(&term_kinds, i, cf_term_kinds[i].word, cf_term_kinds[i].fields);
    for (int i = 0; i < cf_n_bias_kinds; i++)
        cf_kind_add(&bias_kinds, i, cf_bias_kinds[i].word, cf_bias_kinds[i].fields);
}

/* How many terms and biases the later sources have: their union is tried out in the first. */
static const int terms_of[MAX_SOURCES] = { 3, 1, 0 }, biases_of[MAX_SOURCES] = { 2, 1, 0 };

static void cut_levels(int field, int most)
{
    if (cf_fields[field].n_levels > most)
        cf_fields[field].n_levels = most;
}

static void source_cut(int s)
{
    static const int keys[MAX_SOURCES] = { MAX_LEVELS, 5, 3 };

    cut_levels(source_at[s] + S_NK, keys[s]);
    cut_levels(source_at[s] + S_NT, terms_of[s] + 1);
    cut_levels(source_at[s] + S_NB, biases_of[s] + 1);
}

/* All values of the numbers of a term are drawn for the first one. */
static void term_cut(int at)
{
    cut_levels(at + T_LEFT, 4);
    cut_levels(at + T_RIGHT, 3);
    cut_levels(at + T_STEP, 3);
    cut_levels(at + T_PHASE, 3);
}

/* Beyond the fields of lines: room for what descriptors have more (read.c). */
static void spare_groups(void)
{
    int at = cf_n_fields;

    for (int s = 0; s < MAX_SOURCES; s++) {
        for (int t = terms_of[s]; t < MAX_TERMS; t++, at += T_COUNT)
            term_at[s][t] = at;
        for (int b = biases_of[s]; b < MAX_BIASES; b++, at += B_COUNT)
            bias_at[s][b] = at;
    }
    assert(at <= MAX_FIELDS);
}

void cf_attn_axes(void)
{
    char prefix[16];

    kinds_find();
    cf_group_add("", global_specs, G_COUNT, -1, 0, NULL);
    for (int s = 0; s < MAX_SOURCES; s++) {
        snprintf(prefix, sizeof prefix, "s%d.", s);
        source_at[s] = cf_group_add(prefix, source_specs, S_COUNT, G_NS, s, &layouts);
        source_cut(s);
        for (int t = 0; t < terms_of[s]; t++) {
            snprintf(prefix, sizeof prefix, "s%d.t%d.", s, t);
            term_at[s][t] =
                cf_group_add(prefix, term_specs, T_COUNT, source_at[s] + S_NT, t, &term_kinds);
            if (s || t)
                term_cut(term_at[s][t]);
        }
        for (int b = 0; b < biases_of[s]; b++) {
            snprintf(prefix, sizeof prefix, "s%d.b%d.", s, b);
            bias_at[s][b] =
                cf_group_add(prefix, bias_specs, B_COUNT, source_at[s] + S_NB, b, &bias_kinds);
        }
    }
    spare_groups();
}

int cf_at_source(int s)
{
    return source_at[s];
}

int cf_at_term(int s, int t)
{
    return term_at[s][t];
}

int cf_at_bias(int s, int b)
{
    return bias_at[s][b];
}

int64_t cf_g(const struct cs *c, int field)
{
    return c->v[field];
}

int64_t cf_s(const struct cs *c, int s, int field)
{
    return c->v[source_at[s] + field];
}

int64_t cf_t(const struct cs *c, int s, int t, int field)
{
    return c->v[term_at[s][t] + field];
}

int64_t cf_b(const struct cs *c, int s, int b, int field)
{
    return c->v[bias_at[s][b] + field];
}
