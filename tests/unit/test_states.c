/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * States where the kit has none: in the memory of what a call begins from, not of any call, and
 * what is refused. Values are wide enough that work-groups share a strip.
 */
#include "support/numbers.h"
#include "support/opened.h"

#include <heed/attn.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SOURCES = 3, KEYS = 300, ROWS = 5, HEADS = 2, D = 16, D_V = 200 };
enum { CHANNELS = HEED_STATE_SUMS + D_V };

static const char *const devices[] = { "reference", "cpu:scalar", "cpu", "emulate:workgroup" };
enum { DEVICES = sizeof devices / sizeof *devices };

static float q[HEADS * ROWS * D], k[SOURCES][HEADS * KEYS * D], v[SOURCES][HEADS * KEYS * D_V];

static void inputs_fill(void)
{
    numbers_fill(q, sizeof q / sizeof *q, 1);
    for (int s = 0; s < SOURCES; s++) {
        numbers_fill(k[s], sizeof k[s] / sizeof **k, (uint64_t)s + 2);
        numbers_fill(v[s], sizeof v[s] / sizeof **v, (uint64_t)s + 12);
    }
}

/* A call over sources [first, end). */
struct step {
    int first, end;
    float *from, *state, *o; /* NULL: absent */
};

static void describe(const struct step *step, heed_source source[SOURCES], heed_attn_desc *desc)
{
    for (int s = 0; s < SOURCES; s++)
        source[s] = (heed_source){
            .k = heed_array4(HEED_F32, NULL, 1, HEADS, KEYS, D).t,
            .v = heed_array4(HEED_F32, NULL, 1, HEADS, KEYS, D_V).t,
            .term_size = sizeof(heed_term),
            .bias_size = sizeof(heed_bias),
        };
    *desc = (heed_attn_desc){
        .size = sizeof *desc,
        .flags = HEED_ATTN_ALIGN_START | HEED_PLAN_OWN_WORKSPACE,
        .sources = source + step->first,
        .n_sources = (uint32_t)(step->end - step->first),
        .source_size = sizeof *source,
        .slot_size = sizeof(heed_slot),
        .q = heed_array4(HEED_F32, NULL, 1, HEADS, ROWS, D).t,
    };
    if (step->o)
        desc->o = heed_array4(HEED_F32, NULL, 1, HEADS, ROWS, D_V).t;
    if (step->from)
        desc->state_in = heed_array4(HEED_F32, NULL, 1, HEADS, ROWS, CHANNELS).t;
    if (step->state)
        desc->state_out = heed_array4(HEED_F32, NULL, 1, HEADS, ROWS, CHANNELS).t;
}

static heed_status run(const struct step *step, heed_report *report)
{
    heed_kv_bufs kv[SOURCES];
    heed_source source[SOURCES];
    heed_attn_desc desc;
    heed_attn_args args = { .size = sizeof args,
                            .kv_size = sizeof *kv,
                            .q.handle = q,
                            .o.handle = step->o,
                            .kv = kv,
                            .state_in.handle = step->from,
                            .state_out.handle = step->state };
    heed_plan *plan = NULL;
    heed_status status;

    describe(step, source, &desc);
    for (int s = step->first; s < step->end; s++)
        kv[s - step->first] = (heed_kv_bufs){ { .handle = k[s] }, { .handle = v[s] } };
    ck_assert_int_eq(heed_attn_plan(on.device, &desc, &plan, NULL), HEED_OK);
    status = heed_attn_run(plan, on.queue, &args, NULL, report);
    heed_plan_drop(plan);
    return status;
}

static void go(const struct step *step)
{
    ck_assert_int_eq(run(step, NULL), HEED_OK);
}

static float state[HEADS * ROWS * CHANNELS], once[HEADS * ROWS * D_V], twice[HEADS * ROWS * D_V];

LOOP_TEST(a_state_may_take_the_place_of_the_one_before, DEVICES)
{
    if (!device_try(devices[_i]))
        return;
    inputs_fill();
    go(&(struct step){ .end = SOURCES, .o = once });
    go(&(struct step){ .end = 1, .state = state });
    for (int s = 1; s < SOURCES; s++)
        go(&(struct step){ .first = s, .end = s + 1, .from = state, .state = state });
    go(&(struct step){ .from = state, .o = twice });
    ck_assert(isfinite(once[0]) && once[0] != once[1]);
    ck_assert_mem_eq(once, twice, sizeof once);
    device_close();
}

LOOP_TEST(a_row_that_has_seen_nothing, DEVICES)
{
    if (!device_try(devices[_i]))
        return;
    inputs_fill();
    memset(state, 0x7f, sizeof state);
    go(&(struct step){ .state = state });
    for (int row = 0; row < HEADS * ROWS; row++) {
        ck_assert(state[row * CHANNELS] == -INFINITY);
        for (int c = 1; c < CHANNELS; c++)
            ck_assert(state[row * CHANNELS + c] == 0 && !signbit(state[row * CHANNELS + c]));
    }
    /* What else a state of nothing holds is not read. */
    for (int row = 0; row < HEADS * ROWS; row++) {
        for (int c = 0; c < CHANNELS; c++)
            state[row * CHANNELS + c] = c == HEED_STATE_SUMS - 1 ? -0.0f : NAN;
    }
    go(&(struct step){ .end = 1, .o = once });
    go(&(struct step){ .end = 1, .from = state, .o = twice });
    ck_assert_mem_eq(once, twice, sizeof once);
    go(&(struct step){ .from = state, .o = twice });
    for (int i = 0; i < HEADS * ROWS * D_V; i++)
        ck_assert(twice[i] == 0 && !signbit(twice[i]));
    device_close();
}

/* Rows of what no call leaves, but with M an integer, an infinity or NaN. */
static void states_spoil(void)
{
    static const float m[] = { NAN, INFINITY, -INFINITY, 1e30f, -7, 0, 3, -90, 40, 2 };
    static const float odd[] = { NAN, INFINITY, -INFINITY, -0.0f, 0x1p-149f, 3e38f, -3e38f, 1 };

    for (int row = 0; row < HEADS * ROWS; row++) {
        float *to = state + row * CHANNELS;

        numbers_fill(to, CHANNELS, (uint64_t)row + 70);
        to[0] = m[row % 10];
        to[1 + row] = odd[row % 8];
        to[HEED_STATE_SUMS - 1] = row % 3 ? NAN : 2;
        to[HEED_STATE_SUMS + row * 3] = odd[(row + 3) % 8];
        to[CHANNELS - 1] = odd[(row + 5) % 8];
    }
}

LOOP_TEST(states_of_no_call_have_equal_bits, DEVICES)
{
    static float left[2][HEADS * ROWS * CHANNELS];

    inputs_fill();
    states_spoil();
    for (int i = 0; i < 2; i++) {
        if (!device_try(devices[i ? _i : 0]))
            return;
        go(&(struct step){ .end = 1, .from = state, .o = i ? twice : once });
        go(&(struct step){ .end = 1, .from = state, .state = left[i] });
        device_close();
    }
    ck_assert_mem_eq(once, twice, sizeof once);
    ck_assert_mem_eq(left[0], left[1], sizeof *left);
}

/* ---- what is refused ------------------------------------------------------------------ */

TEST(descriptors_without_sense_are_refused)
{
    static const struct {
        const char *field;
        heed_status status;
        int64_t wanted, got;
        bool in, out, o, lse, sinks;
        int64_t rows, channels;
    } cases[] = {
        { "", HEED_OK, 0, 0, true, true, false, false, false, ROWS, CHANNELS },
        { "", HEED_OK, 0, 0, true, false, true, true, true, ROWS, CHANNELS },
        { "o.ndim", HEED_E_NULL, 2, 0, true, false, false, false, false, ROWS, CHANNELS },
        { "o.ndim", HEED_E_VALUE, 0, 4, false, true, true, false, false, ROWS, CHANNELS },
        { "lse.ndim", HEED_E_VALUE, 0, 3, false, true, false, true, false, ROWS, CHANNELS },
        { "sinks.ndim", HEED_E_VALUE, 0, 1, false, true, false, false, true, ROWS, CHANNELS },
        { "state_out.shape[3]", HEED_E_VALUE, 18, 17, false, true, false, false, false, ROWS, 17 },
        { "state_in.shape[3]", HEED_E_VALUE, 18, 0, true, false, true, false, false, ROWS, 0 },
        { "state_in.shape[3]", HEED_E_SHAPE, CHANNELS, 18, true, false, true, false, false, ROWS,
          18 },
        { "state_out.shape[2]", HEED_E_SHAPE, ROWS, 4, false, true, false, false, false, 4,
          CHANNELS },
        { "state_in.shape[2]", HEED_E_SHAPE, ROWS, 6, true, false, true, false, false, 6,
          CHANNELS },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct step step = { .end = cases[i].channels == CHANNELS };
        const heed_tensor t =
            heed_array4(HEED_F32, NULL, 1, HEADS, cases[i].rows, cases[i].channels).t;
        heed_report report = { .size = sizeof report };
        heed_source source[SOURCES];
        heed_attn_desc desc;

        describe(&step, source, &desc);
        if (cases[i].in)
            desc.state_in = t;
        if (cases[i].out)
            desc.state_out = t;
        if (cases[i].o)
            desc.o = heed_array4(HEED_F32, NULL, 1, HEADS, ROWS, D_V).t;
        if (cases[i].lse)
            desc.lse = heed_array_dense(HEED_F32, NULL, 3, (int64_t[]){ 1, HEADS, ROWS }).t;
        if (cases[i].sinks)
            desc.sinks = heed_array_dense(HEED_F32, NULL, 1, (int64_t[]){ HEADS }).t;
        ck_assert_int_eq(heed_attn_check(NULL, &desc, &report), cases[i].status);
        ck_assert_str_eq(report.field, cases[i].field);
        ck_assert_int_eq(report.wanted, cases[i].wanted);
        ck_assert_int_eq(report.got, cases[i].got);
        if (cases[i].in && cases[i].status == HEED_OK) {
            desc.state_in.dtype = HEED_F16;
            ck_assert_int_eq(heed_attn_check(NULL, &desc, &report), HEED_E_DTYPE);
        }
        if (cases[i].out && cases[i].status == HEED_OK) {
            desc.state_in.dtype = HEED_F32;
            desc.state_out.stride[3] = 0;
            ck_assert_int_eq(heed_attn_check(NULL, &desc, &report), HEED_E_STRIDE);
            ck_assert_str_eq(report.field, "state_out.stride");
        }
    }
}

TEST(memory_without_sense_is_refused)
{
    static float room[HEADS * ROWS * CHANNELS + 1];
    heed_report report = { .size = sizeof report };

    device_open("cpu");
    inputs_fill();
    ck_assert_int_eq(run(&(struct step){ .end = 1, .from = room, .state = room + 1 }, &report),
                     HEED_E_ALIAS);
    ck_assert_str_eq(report.field, "state_out");
    ck_assert_int_eq(run(&(struct step){ .end = 1, .state = q }, &report), HEED_E_ALIAS);
    for (size_t i = 0; i < sizeof room / sizeof *room; i++)
        ck_assert(room[i] == 0);
    device_close();
}

int main(void)
{
    return suite_run("states", 0, NULL, NULL);
}
