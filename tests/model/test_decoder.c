/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bits of the decoder: tokens at once are those one by one, a sequence among others is what it is
 * alone, and a sequence that goes on from another one is that one. Checkpoints lie in
 * HEED_TEST_MODELS.
 */
#include "decoder.h"
#include "encoder.h"
#include "suite.h"

#include <stdio.h>

enum { M = 9, N = 12, BEAMS = 3, VOCAB = 40 };

static const char *const models[] = { "bart", "mbart", "led", "pegasus", "t5", "t5-gated", "longt5",
                                      "longt5-global", "shards" };
static const int32_t text[N] = { 0, 9, 8, 31, 17, 6, 5, 22, 39, 4, 12, 2 };
static const int32_t next[BEAMS][M] = { { 2, 4, 6, 8, 10, 12, 14, 16, 18 },
                                        { 2, 39, 5, 5, 5, 7, 3, 21, 30 },
                                        { 2, 4, 9, 11, 13, 3, 3, 38, 20 } };

static struct {
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
    struct parameters p;
    heed_buf states;
} world;

static void before(void)
{
    ck_assert_int_eq(heed_runtime_create(NULL, &world.runtime, NULL), HEED_OK);
    ck_assert_int_eq(heed_device_find(world.runtime, "cpu", &world.device, NULL), HEED_OK);
    ck_assert_int_eq(heed_queue_create(world.device, 0, &world.queue, NULL), HEED_OK);
}

static void after(void)
{
    heed_queue_destroy(world.queue);
    heed_runtime_destroy(world.runtime);
}

static void load(const char *name)
{
    const struct weights_options options = { 0, NULL, NULL };
    heed_report why = { .size = sizeof why };
    char folder[4096];

    ck_assert_msg(getenv("HEED_TEST_MODELS"), "HEED_TEST_MODELS names no folder");
    snprintf(folder, sizeof folder, "%s/%s", getenv("HEED_TEST_MODELS"), name);
    ck_assert_msg(weights_load(world.queue, folder, &options, &world.p, &why) == HEED_OK,
                  "%s: %s: %s", name, why.field, why.message);
    ck_assert_int_eq(heed_buf_create(world.device, 4 * (uint64_t)(N * world.p.config.model),
                                     &world.states, NULL), HEED_OK);
    ck_assert_int_eq(encoder_run(&world.p, world.queue,
                                 &(struct attention){ .mechanism = world.p.family->mechanism,
                                                      .globals = 1 },
                                 NULL, NULL, text, N, world.states, NULL), HEED_OK);
}

static void drop(void)
{
    heed_buf_destroy(world.device, world.states);
    weights_free(&world.p);
}

static void open_decoder(struct decoder *d, int64_t batch, int64_t rows)
{
    ck_assert_int_eq(decoder_open(d, &world.p, world.queue, world.states, N, batch, rows, M, NULL,
                                  NULL),
                     HEED_OK);
}

/* Logits [M][VOCAB] of one sequence, `rows` tokens at a time. */
static void alone(const int32_t *ids, int64_t rows, float *logits)
{
    struct decoder d;

    open_decoder(&d, 1, rows);
    for (int64_t i = 0; i < M; i += rows)
        ck_assert_int_eq(decoder_step(&d, ids + i, i, logits + i * VOCAB, NULL), HEED_OK);
    decoder_close(&d);
}

static void same(const char *what, const char *name, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(memcmp(a + i, b + i, sizeof *a) == 0, "%s of %s: number %zu: %a and %a", what,
                      name, i, (double)a[i], (double)b[i]);
}

LOOP_TEST(at_once_and_one_by_one, sizeof models / sizeof *models)
{
    static float whole[M * VOCAB], threes[M * VOCAB], ones[M * VOCAB];

    load(models[_i]);
    alone(next[0], M, whole);
    alone(next[0], 3, threes);
    alone(next[0], 1, ones);
    same("three at a time", models[_i], threes, whole, M * VOCAB);
    same("one at a time", models[_i], ones, whole, M * VOCAB);
    ck_assert(memcmp(whole, whole + VOCAB, VOCAB * sizeof *whole) != 0);
    drop();
}

LOOP_TEST(among_others_and_alone, sizeof models / sizeof *models)
{
    static float single[BEAMS][M * VOCAB], all[BEAMS * VOCAB];
    struct decoder d;

    load(models[_i]);
    for (int b = 0; b < BEAMS; b++)
        alone(next[b], M, single[b]);
    open_decoder(&d, BEAMS, 1);
    for (int64_t i = 0; i < M; i++) {
        int32_t ids[BEAMS];

        for (int b = 0; b < BEAMS; b++)
            ids[b] = next[b][i];
        ck_assert_int_eq(decoder_step(&d, ids, i, all, NULL), HEED_OK);
        for (int b = 0; b < BEAMS; b++)
            same("a sequence among others", models[_i], all + b * VOCAB, single[b] + i * VOCAB,
                 VOCAB);
    }
    decoder_close(&d);
    drop();
}

/* Sequences 0, 1, 2 go on from 2, 0, 0 after 3 tokens, and from 1, 1, 0 after 6. */
LOOP_TEST(going_on_from_others, sizeof models / sizeof *models)
{
    static const int32_t choices[2][BEAMS] = { { 2, 0, 0 }, { 1, 1, 0 } };
    static float single[M * VOCAB], all[BEAMS * VOCAB];
    int32_t ids[BEAMS][M], moved[BEAMS][M];
    struct decoder d;

    load(models[_i]);
    memcpy(ids, next, sizeof ids);
    open_decoder(&d, BEAMS, 1);
    for (int64_t i = 0; i < M; i++) {
        int32_t last[BEAMS];

        if (i == 3 || i == 6) {
            const int32_t *const parents = choices[i / 3 - 1];

            ck_assert_int_eq(decoder_choose(&d, parents, i, NULL), HEED_OK);
            memcpy(moved, ids, sizeof ids);
            for (int b = 0; b < BEAMS; b++)
                memcpy(ids[b], moved[parents[b]], (size_t)i * sizeof **ids);
        }
        for (int b = 0; b < BEAMS; b++)
            last[b] = ids[b][i];
        ck_assert_int_eq(decoder_step(&d, last, i, all, NULL), HEED_OK);
    }
    for (int b = 0; b < BEAMS; b++) {
        alone(ids[b], M, single);
        same("a sequence that went on", models[_i], all + b * VOCAB, single + (M - 1) * VOCAB,
             VOCAB);
    }
    decoder_close(&d);
    drop();
}

int main(void)
{
    return suite_run("decoder", 0, before, after);
}
