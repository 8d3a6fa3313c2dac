/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How the stages of a program are prepared, run and released: over implementations that note what
 * they are given.
 */
#include "support/suite.h"

#include "lib/programs/execute.h"

#include <string.h>

enum { STAGES = 3, TEMPS = 256 };

static struct {
    int prepared, released, runs, fail_at, loose_at;
    heed_status fails;
    uint64_t workspace[STAGES], align[STAGES];
    struct heed_launch seen[STAGES];
    heed_buf at[STAGES][3];
} noted;

static struct heed_plan_operand operands[3];
static struct heed_program_use uses[STAGES][3];
static struct heed_program_stage stages[STAGES];
static struct heed_program_life temps[STAGES];
static struct heed_program program;
static struct heed_arena arena;
static struct heed_plan plan;

static int number_of(const struct heed_plan *stage)
{
    return (int)((const struct heed_program_stage *)(const void *)stage - stages);
}

static heed_status fake_prepare(struct heed_plan *stage, const struct heed_services *services,
                                struct heed_error_detail *detail)
{
    const int i = number_of(stage);

    (void)services, (void)detail;
    if (i == noted.fail_at)
        return noted.fails;
    noted.prepared++;
    stage->workspace_size = noted.workspace[i];
    stage->workspace_align = noted.align[i];
    stage->state_bytes = 10;
    stage->device_bytes = 100;
    stage->loose = i == noted.loose_at;
    return HEED_OK;
}

static heed_status fake_run(const struct heed_plan *stage, const struct heed_services *services,
                            const struct heed_launch *launch)
{
    const int i = number_of(stage);

    (void)services;
    ck_assert_int_eq(i, noted.runs);
    noted.seen[noted.runs] = *launch;
    memcpy(noted.at[noted.runs++], launch->at, sizeof(noted.at[0]));
    return i == noted.fail_at ? noted.fails : HEED_OK;
}

static void fake_release(struct heed_plan *stage, const struct heed_services *services)
{
    (void)stage, (void)services;
    noted.released++;
}

static const struct heed_impl fake = {
    .op = HEED_OP_POOL, .name = "fake", .prepare = fake_prepare, .run = fake_run,
    .release = fake_release,
};
static const struct heed_impl other = {
    .op = HEED_OP_ATTN, .name = "other", .prepare = fake_prepare, .run = fake_run,
    .release = fake_release,
};
static const struct heed_backend_offload offload = { .handles = 1 };
static const struct heed_backend host = { .host = 1 }, device = { .offload = &offload };

/* Every stage has q from byte 8 on, its own temporary, and an operand that is absent. */
static void set_up(void)
{
    const struct heed_view view = { .dtype = HEED_F32, .shape = { 1, 1, 1, 1, 1, 4 } };

    memset(&noted, 0, sizeof(noted));
    noted.fail_at = noted.loose_at = -1;
    operands[0] = operands[1] = (struct heed_plan_operand){ .view = view, .role = HEED_ROLE_IN };
    operands[2] = (struct heed_plan_operand){ .role = HEED_ROLE_IN };
    program = (struct heed_program){ .room = { .args = HEED_PROGRAM_ARGS }, .stages = stages,
                                     .temps = temps, .n_stages = STAGES, .n_temps = STAGES,
                                     .bytes = TEMPS };
    for (uint32_t i = 0; i < STAGES; i++) {
        uses[i][0] = (struct heed_program_use){ 0, HEED_PROGRAM_Q, 8 };
        uses[i][1] = (struct heed_program_use){ 1, HEED_PROGRAM_ARGS + i, 0 };
        uses[i][2] = (struct heed_program_use){ 2, HEED_PROGRAM_NONE, 0 };
        temps[i].at = 64 * i;
        stages[i] = (struct heed_program_stage){
            .plan = { .impl = i < 2 ? &fake : &other, .operands = operands, .n_operands = 3 },
            .uses = uses[i],
        };
        noted.workspace[i] = i == 1 ? 1000 : 10 * i;
        noted.align[i] = i == 2 ? 512 : 1;
    }
    heed_arena_init(&arena, NULL);
    plan = (struct heed_plan){ .backend = &host, .checked = &program };
    plan.impl = heed_program_impl(&program, &arena);
    ck_assert_ptr_nonnull(plan.impl);
}

static void tear_down(void)
{
    heed_arena_finish(&arena);
}

static heed_status run(struct heed_launch *launch)
{
    static const heed_buf at[HEED_PROGRAM_ARGS] = { { .handle = operands, .offset = 100 } };

    launch->at = at;
    launch->workspace = (heed_buf){ .handle = stages, .offset = 4096 };
    return plan.impl->run(&plan, NULL, launch);
}

TEST(workspace_is_the_temporaries_and_the_most_of_a_stage)
{
    struct heed_error_detail detail = { .native = 0 };

    ck_assert_str_eq(plan.impl->name, "fake, other");
    ck_assert_int_eq(plan.impl->prepare(&plan, NULL, &detail), HEED_OK);
    ck_assert_int_eq(noted.prepared, STAGES);
    ck_assert_uint_eq(plan.workspace_align, 512);
    ck_assert_uint_eq(plan.workspace_size, 512 + 1000);     /* 256 bytes, up to the alignment */
    ck_assert_uint_eq(plan.state_bytes, 10 * STAGES);
    ck_assert_uint_eq(plan.device_bytes, 100 * STAGES);
    plan.impl->release(&plan, NULL);
    ck_assert_int_eq(noted.released, STAGES);
}

/* FAST is what the plan delivers if one of its stages does. */
LOOP_TEST(one_loose_stage_makes_the_program_loose, STAGES + 1)
{
    struct heed_error_detail detail = { 0 };

    noted.loose_at = _i;
    ck_assert_int_eq(plan.impl->prepare(&plan, NULL, &detail), HEED_OK);
    ck_assert_uint_eq(plan.loose, _i < STAGES);
    plan.impl->release(&plan, NULL);
}

LOOP_TEST(a_stage_that_fails_releases_those_before, STAGES)
{
    struct heed_error_detail detail = { .native = 0 };

    noted.fail_at = _i;
    noted.fails = HEED_E_KERNEL_BUILD;
    ck_assert_int_eq(plan.impl->prepare(&plan, NULL, &detail), HEED_E_KERNEL_BUILD);
    ck_assert_int_eq(noted.prepared, _i);
    ck_assert_int_eq(noted.released, _i);
}

TEST(too_large_a_workspace)
{
    struct heed_error_detail detail = { .native = 0 };

    noted.workspace[1] = UINT64_C(1) << 62;
    ck_assert_int_eq(plan.impl->prepare(&plan, NULL, &detail), HEED_E_NOMEM);
    ck_assert_int_eq(noted.released, STAGES);
    ck_assert_int_gt((int)strlen(detail.text), 0);
}

/* On the host, and where memory has handles: a place is the same handle and an offset. */
LOOP_TEST(stages_have_their_places_waits_and_the_last_one_the_event, 2)
{
    void *wait = &noted, *event = NULL;
    struct heed_error_detail detail = { .native = 0 };
    struct heed_launch launch = { .queue = &plan, .waits = &wait, .n_waits = 1, .event = &event,
                                  .detail = &detail };

    plan.backend = _i ? &device : &host;
    ck_assert_int_eq(plan.impl->prepare(&plan, NULL, &detail), HEED_OK);
    stages[0].plan.workspace_size = 0;
    ck_assert_int_eq(run(&launch), HEED_OK);
    ck_assert_int_eq(noted.runs, STAGES);
    for (int i = 0; i < STAGES; i++) {
        const struct heed_launch *seen = &noted.seen[i];

        ck_assert_ptr_eq(seen->queue, &plan);
        ck_assert_uint_eq(seen->n_waits, 1);
        ck_assert_ptr_eq(seen->waits[0], &noted);
        ck_assert_ptr_eq(seen->event, i + 1 == STAGES ? &event : NULL);
        ck_assert_ptr_eq(seen->workspace.handle, i == 0 ? NULL : stages);
        ck_assert_uint_eq(seen->workspace.offset, i == 0 ? 0 : 4096 + 512);
        ck_assert_ptr_eq(noted.at[i][0].handle, operands);
        ck_assert_uint_eq(noted.at[i][0].offset, 108);
        ck_assert_ptr_eq(noted.at[i][1].handle, stages);
        ck_assert_uint_eq(noted.at[i][1].offset, 4096 + 64 * (uint64_t)i);
        ck_assert_ptr_null(noted.at[i][2].handle);
    }
}

TEST(constants_are_the_plans_copy_on_the_host)
{
    static const float copy[4];
    struct heed_error_detail detail = { .native = 0 };
    struct heed_launch launch = { .detail = &detail };

    uses[1][1].array = HEED_PROGRAM_NONE;
    operands[1].constant = copy;
    ck_assert_int_eq(plan.impl->prepare(&plan, NULL, &detail), HEED_OK);
    ck_assert_int_eq(run(&launch), HEED_OK);
    ck_assert_ptr_eq(noted.at[1][1].handle, copy);
    noted.runs = 0;
    plan.backend = &device;
    ck_assert_int_eq(run(&launch), HEED_OK);
    ck_assert_ptr_null(noted.at[1][1].handle);
}

TEST(arrays_without_elements_have_no_place)
{
    struct heed_error_detail detail = { .native = 0 };
    struct heed_launch launch = { .detail = &detail };

    operands[1].view.shape[5] = 0;
    ck_assert_int_eq(plan.impl->prepare(&plan, NULL, &detail), HEED_OK);
    ck_assert_int_eq(run(&launch), HEED_OK);
    ck_assert_ptr_null(noted.at[2][1].handle);
}

LOOP_TEST(nothing_runs_after_a_stage_that_fails, STAGES)
{
    struct heed_error_detail detail = { .native = 0 };
    struct heed_launch launch = { .detail = &detail };

    ck_assert_int_eq(plan.impl->prepare(&plan, NULL, &detail), HEED_OK);
    noted.fail_at = _i;
    noted.fails = HEED_E_DEVICE;
    ck_assert_int_eq(run(&launch), HEED_E_DEVICE);
    ck_assert_int_eq(noted.runs, _i + 1);
}

int main(void)
{
    return suite_run("program", 0, set_up, tear_down);
}
