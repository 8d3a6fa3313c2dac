/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Preparing and running the stages of a program. The workspace has the temporaries first and
 * behind them the workspace of the stage at hand. A queue runs one stage after another, as it does
 * with the launches of one plan; only the last stage makes an event.
 */
#include "execute.h"

#include "../launch/overlap.h"

#include <stdio.h>
#include <string.h>

static uint64_t round_up(uint64_t bytes, uint64_t align)
{
    return (bytes + align - 1) / align * align;
}

/* ---- prepare ---- */

static void release_stages(const struct heed_program *program, uint32_t n,
                          const struct heed_services *services)
{
    while (n-- > 0) {
        struct heed_plan *stage = &program->stages[n].plan;

        if (stage->impl->release != NULL)
            stage->impl->release(stage, services);
    }
}

static void release(struct heed_plan *plan, const struct heed_services *services)
{
    const struct heed_program *program = plan->checked;

    release_stages(program, program->n_stages, services);
}

static void say_too_large(struct heed_error_detail *detail)
{
    snprintf(detail->text, sizeof(detail->text), "temporaries and workspace leave 63 bits");
}

static heed_status prepare(struct heed_plan *plan, const struct heed_services *services,
                           struct heed_error_detail *detail)
{
    const struct heed_program *program = plan->checked;
    heed_status remark = HEED_OK;
    uint64_t most = 0;

    plan->workspace_align = 64;
    for (uint32_t i = 0; i < program->n_stages; i++) {
        struct heed_plan *stage = &program->stages[i].plan;
        const heed_status status = stage->impl->prepare(stage, services, detail);

        if (status < 0) {
            release_stages(program, i, services);
            return status;
        }
        remark = remark != HEED_OK ? remark : status;
        most = stage->workspace_size > most ? stage->workspace_size : most;
        if (stage->workspace_align > plan->workspace_align)
            plan->workspace_align = stage->workspace_align;
        plan->state_bytes += stage->state_bytes;
        plan->device_bytes += stage->device_bytes;
        plan->loose |= stage->loose;
    }
    if (most >= UINT64_C(1) << 62) {    /* as much as the temporaries may have */
        release_stages(program, program->n_stages, services);
        say_too_large(detail);
        return HEED_E_NOMEM;
    }
    plan->workspace_size = round_up(program->bytes, plan->workspace_align) + most;
    return remark;
}

/* ---- run ---- */

/* Where operand i of a stage begins. */
static heed_buf place(const struct heed_program *program, const struct heed_program_stage *stage,
                      uint32_t i, bool host, const struct heed_launch *launch)
{
    const struct heed_program_use *use = &stage->uses[i];
    const struct heed_plan_operand *x = &stage->plan.operands[i];
    heed_buf buf = { .handle = host ? (void *)(uintptr_t)x->constant : NULL };

    if (use->array == HEED_PROGRAM_NONE || heed_view_empty(&x->view))
        return buf;
    if (use->array < program->room.args) {
        buf = launch->at[use->array];
    } else {
        buf = launch->workspace;
        buf.offset += program->temps[use->array - program->room.args].at;
    }
    buf.offset += use->at;
    return buf;
}

static heed_status run_stage(const struct heed_plan *plan, uint32_t number,
                            const struct heed_services *services, const struct heed_launch *launch)
{
    const struct heed_program *program = plan->checked;
    const struct heed_program_stage *stage = &program->stages[number];
    struct heed_launch own = *launch;
    heed_buf at[HEED_MAX_OPERANDS];

    for (uint32_t i = 0; i < stage->plan.n_operands; i++)
        at[i] = place(program, stage, i, plan->backend->offload == NULL, launch);
    own.at = at;
    own.workspace.offset += round_up(program->bytes, plan->workspace_align);
    if (stage->plan.workspace_size == 0)
        own.workspace = (heed_buf){ .handle = NULL };
    if (number + 1 < program->n_stages)
        own.event = NULL;
    return stage->plan.impl->run(&stage->plan, services, &own);
}

/* Every stage names what the caller waits for: nobody promises that what comes later in a queue is
 * not run where an event fails that only the first stage waits for. */
static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    const struct heed_program *program = plan->checked;
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < program->n_stages && status >= 0; i++)
        status = run_stage(plan, i, services, launch);
    return status;
}

const struct heed_impl *heed_program_impl(const struct heed_program *program,
                                          struct heed_arena *arena)
{
    enum { NAME = 64 };
    struct heed_impl *impl = heed_arena_take(arena, sizeof(*impl), _Alignof(struct heed_impl));
    char *name = heed_arena_take(arena, NAME, 1);
    size_t used = 0;

    if (impl == NULL || name == NULL)
        return NULL;
    for (uint32_t i = 0; i < program->n_stages && used < NAME; i++) {
        const char *own = program->stages[i].plan.impl->name;

        if (i == 0 || strcmp(own, program->stages[i - 1].plan.impl->name) != 0)
            used += (size_t)snprintf(name + used, NAME - used, "%s%s", i > 0 ? ", " : "", own);
    }
    *impl = (struct heed_impl){ .op = HEED_OP_PROGRAM,
                                .name = name,
                                .prepare = prepare,
                                .run = run,
                                .release = release };
    return impl;
}
