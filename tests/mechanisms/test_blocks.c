/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * BigBird and Pegasus-X: attention by blocks of the text.
 */
#include "faults.h"

/* ---- Zaheer et al. 2020, section 2 and appendix D ---- */

enum { MOST_RANDOM = 3, MOST_BLOCKS = 12, BIRD_HEADS = 3 };

struct bigbird {
    int64_t block, n_random;            /* n_random 0: no lists */
    bool constant;
    int32_t random[BIRD_HEADS][MOST_BLOCKS * MOST_RANDOM];
};

/* The blocks that a query block sees, one after another, repeats and all. */
static int bigbird_list(const struct bigbird *p, int64_t h, int64_t nb, int64_t mine,
                        int64_t out[MOST_BLOCKS + MOST_RANDOM])
{
    const int64_t always[] = { 0, mine - 1, mine, mine + 1, nb - 1 };
    int n = 0;

    if (mine == 0 || mine == nb - 1) {  /* global rows */
        for (int64_t x = 0; x < nb; x++)
            out[n++] = x;
        return n;
    }
    for (int a = 0; a < 5; a++) {       /* global keys and the window, each block once */
        bool again = false;

        for (int x = 0; x < n; x++)
            again = again || out[x] == always[a];
        if (!again)
            out[n++] = always[a];
    }
    for (int64_t x = 0; x < p->n_random; x++)
        if (p->random[h][mine * p->n_random + x] >= 0)
            out[n++] = p->random[h][mine * p->n_random + x];
    return n;
}

static int64_t bigbird_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                             int64_t j)
{
    const struct bigbird *p = w->p;
    const int64_t nb = (w->n_q + p->block - 1) / p->block;
    int64_t blocks[MOST_BLOCKS + MOST_RANDOM], times = 0;
    const int n = bigbird_list(p, h, nb, i / p->block, blocks);

    (void)b;
    (void)set;
    for (int x = 0; x < n; x++)
        times += blocks[x] == j / p->block;
    return times;
}

static void bigbird_build(struct world_of *w)
{
    struct bigbird *p = (struct bigbird *)w->p;
    const int64_t nb = (w->n_q + p->block - 1) / p->block;
    heed_bigbird_desc desc = {
        .size = sizeof(desc),
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .block = p->block,
    };

    if (p->n_random) {
        desc.random =
            world_slot(HEED_I32, 3, w->heads, nb, p->n_random, 1, p->constant ? p->random : NULL);
        desc.random.t.stride[0] = MOST_BLOCKS * MOST_RANDOM;
        if (!p->constant)
            w->slot_buf[HEED_MECHANISM_LIST - 1].handle = p->random;
    }
    ck_assert_int_eq(heed_bigbird(&desc, &w->m, &world.why), HEED_OK);
}

/* Blocks at random, with repeats and with blocks that the window has; none for global rows. */
static void bigbird_draw(struct bigbird *p, int64_t nb)
{
    for (int h = 0; h < BIRD_HEADS; h++)
        for (int64_t x = 0; x < nb * p->n_random; x++) {
            const int64_t mine = x / p->n_random;

            p->random[h][x] = mine == 0 || mine == nb - 1 ? -1 : (int32_t)world_range(-1, nb - 1);
        }
}

static void bigbird_prove(const char *name, struct bigbird *p, int64_t n)
{
    struct world_of w = {
        .name = name,
        .batch = 2,
        .heads = BIRD_HEADS,
        .n_q = n,
        .d = 4,
        .d_v = 3,
        .n_sets = 1,
        .set = { { .n = n, .has_len = n % 2, .has_mask = true } },
        .build = bigbird_build,
        .times = bigbird_times,
        .p = p,
    };

    ck_assert_int_le((n + p->block - 1) / p->block, MOST_BLOCKS);
    bigbird_draw(p, (n + p->block - 1) / p->block);
    mechanism_prove(&w);
}

TEST(bigbird)
{
    struct bigbird p = { .block = 8, .n_random = 3, .constant = true };

    bigbird_prove("bigbird, 3 random blocks", &p, 72);
    p.constant = false;
    bigbird_prove("bigbird, run-time lists, ragged", &p, 67);
    p.n_random = 0;
    bigbird_prove("bigbird, no random blocks", &p, 61);
}

/* From one block on. */
LOOP_TEST(short_texts, 5)
{
    struct bigbird p = { .block = 8, .n_random = 1, .constant = true };

    bigbird_prove("bigbird, short", &p, 5 + 7 * _i);
}

/* Public code of after 2023 takes block 0 for all random ones when it does not train: the keys of
 * block 0 weigh as if ln(1 + r) stood on their scores. */
TEST(zeros_as_random_blocks)
{
    struct bigbird p = { .block = 8, .n_random = 3, .constant = true };
    struct world_of w = {
        .name = "bigbird, zeros",
        .batch = 1,
        .heads = 1,
        .n_q = 48,
        .d = 4,
        .d_v = 3,
        .n_sets = 1,
        .set = { { .n = 48 } },
        .build = bigbird_build,
        .times = bigbird_times,
        .p = &p,
    };

    for (int x = 0; x < 3; x++)
        p.random[0][x] = p.random[0][15 + x] = -1;
    mechanism_prove(&w);
    ck_assert_int_eq(bigbird_times(&w, 0, 0, 20, 0, 3), 4);
}

/* ---- Phang, Zhao and Liu 2022 ---- */

struct pegasus {
    int64_t block;
    bool staggered;
};

/* A token sees its own block and all global tokens; "we shift the block boundaries by half a
 * block". */
static int64_t pegasus_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                             int64_t j)
{
    const struct pegasus *p = w->p;
    int64_t end = p->staggered ? p->block / 2 : p->block;

    (void)b;
    (void)h;
    if (set == 1)
        return 1;
    while (end <= i)
        end += p->block;
    return j < end && j >= end - p->block;
}

static void pegasus_build(struct world_of *w)
{
    const struct pegasus *p = w->p;
    heed_pegasus_x_desc desc = {
        .size = sizeof(desc),
        .flags = p->staggered ? HEED_PEGASUS_X_STAGGERED : 0,
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .block = p->block,
    };

    if (w->n_sets == 2)
        desc.globals = world_keys(w, 1);
    ck_assert_int_eq(heed_pegasus_x(&desc, &w->m, &world.why), HEED_OK);
}

TEST(pegasus_x)
{
    for (int x = 0; x < 4; x++) {
        const struct pegasus p = { .block = 10, .staggered = x % 2 };
        struct world_of w = {
            .name = x % 2 ? "pegasus-x, staggered" : "pegasus-x",
            .batch = 2,
            .heads = 2,
            .n_q = 57,
            .d = 8,
            .d_v = 5,
            .n_sets = x < 2 ? 2 : 1,
            .set = { { .n = 57, .has_len = x < 2, .has_mask = true }, { .n = 4 } },
            .build = pegasus_build,
            .times = pegasus_times,
            .p = &p,
        };

        mechanism_prove(&w);
    }
}

/* ---- what the builders refuse ---- */

BUILDER(heed_bigbird)
BUILDER(heed_pegasus_x)

TEST(parameters_out_of_range)
{
    const heed_bigbird_desc bird = {
        .size = sizeof(bird), .q = small_tensor(20), .o = small_tensor(20), .text = small_keys(20)
    };
    const heed_pegasus_x_desc pegasus = {
        .size = sizeof(pegasus),
        .flags = HEED_PEGASUS_X_STAGGERED,
        .q = small_tensor(20),
        .o = small_tensor(20),
        .text = small_keys(20),
        .globals = small_keys(2),
        .block = 8,
    };
    static const struct fault bird_faults[] = {
        FAULT(heed_bigbird_desc, flags, 1, HEED_E_FLAG, "flags", 0, 1),
        FAULT(heed_bigbird_desc, block, -1, HEED_E_VALUE, "block", 1, -1),
        FAULT(heed_bigbird_desc, block, INT64_C(1) << 31, HEED_E_VALUE, "block", INT32_MAX,
              INT64_C(1) << 31),
        FAULT(heed_bigbird_desc, text.k.shape[2], 4, HEED_E_SHAPE, "text.k", 20, 4),
        FAULT(heed_bigbird_desc, text.v, 0, HEED_E_NULL, "text.v", 0, 0),
    };
    static const struct fault pegasus_faults[] = {
        FAULT(heed_pegasus_x_desc, flags, 4, HEED_E_FLAG, "flags", 1, 4),
        FAULT(heed_pegasus_x_desc, block, 7, HEED_E_VALUE, "block", 8, 7),
        FAULT(heed_pegasus_x_desc, block, -2, HEED_E_VALUE, "block", 1, -2),
        FAULT(heed_pegasus_x_desc, q.shape[2], 4, HEED_E_SHAPE, "text.k", 4, 20),
        FAULT(heed_pegasus_x_desc, globals.v, 0, HEED_E_NULL, "globals.v", 0, 0),
    };
    heed_bigbird_desc long_text = bird;
    heed_mechanism m = { .size = sizeof(m) };
    heed_report why = { .size = sizeof(why) };

    FAULTS_REFUSED(heed_bigbird_of, bird, bird_faults);
    FAULTS_REFUSED(heed_pegasus_x_of, pegasus, pegasus_faults);
    long_text.q.shape[2] = long_text.text.k.shape[2] = INT64_C(1) << 31;
    ck_assert_int_eq(heed_bigbird(&long_text, &m, &why), HEED_E_VALUE);
    ck_assert_str_eq(why.field, "text.k");
}

int main(void)
{
    return suite_run("blocks", 240, NULL, world_close);
}
