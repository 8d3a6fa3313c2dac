/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "draft.h"

#include "say.h"

#include <stdlib.h>

struct block {
    struct block *before;
    max_align_t memory[];
};

void draft_begin(struct draft *draft, uint32_t n_args, uint32_t n_temps, heed_report *report)
{
    *draft = (struct draft){ .n_args = n_args, .n_temps = n_temps, .report = report };
}

void *draft_memory(struct draft *draft, size_t bytes)
{
    struct block *block;

    if (draft->status < 0)
        return NULL;
    block = calloc(1, sizeof *block + bytes);
    if (!block) {
        draft->status = say_no_memory(draft->report, (int64_t)bytes);
        return NULL;
    }
    block->before = draft->blocks;
    draft->blocks = block;
    return block->memory;
}

void draft_step(struct draft *draft, const char *op, const void *desc, const void *args)
{
    if (draft->status < 0)
        return;
    if (draft->n_steps == draft->room) {
        const uint32_t room = draft->room ? 2 * draft->room : 32;
        heed_program_step *grown = realloc(draft->steps, room * sizeof *grown);

        if (!grown) {
            draft->status = say_no_memory(draft->report, (int64_t)(room * sizeof *grown));
            return;
        }
        draft->steps = grown;
        draft->room = room;
    }
    draft->steps[draft->n_steps++] = (heed_program_step){ op, desc, args };
}

heed_status draft_plan(struct draft *draft, heed_device *device, heed_plan **plan)
{
    const heed_program_desc desc = {
        .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE, .n_args = draft->n_args,
        .n_temps = draft->n_temps, .steps = draft->steps, .n_steps = draft->n_steps,
        .step_size = sizeof *draft->steps,
    };
    heed_status status = draft->status;

    /* Maps of positions answer without a report. */
    if (status < 0 && draft->report && draft->report->status != status)
        say(draft->report, status, "positions", 0, 0,
            "config.json's numbers of relative positions fit no map");
    if (status >= 0)
        status = heed_program_plan(device, &desc, plan, draft->report);
    while (draft->blocks) {
        struct block *const block = draft->blocks;

        draft->blocks = block->before;
        free(block);
    }
    free(draft->steps);
    *draft = (struct draft){ .status = status };
    return status;
}

/* ---- views ---- */

struct view view_rows(uint32_t array, int64_t batch, int64_t rows, int64_t d)
{
    return (struct view){ array, 0, heed_array4(HEED_F32, NULL, batch, 1, rows, d).t };
}

struct view view_heads(struct view rows, int64_t heads)
{
    const int64_t d = rows.t.shape[3] / heads;

    rows.t.shape[1] = heads;
    rows.t.stride[1] = d;
    rows.t.shape[3] = d;
    return rows;
}

struct view view_part(struct view rows, int64_t first, int64_t n)
{
    rows.offset += (uint64_t)(first * rows.t.stride[2]) * 4;
    rows.t.shape[2] = n;
    return rows;
}

static heed_buf place(struct view view)
{
    return view.t.ndim ? heed_program_array(view.array, view.offset) : (heed_buf){ NULL, 0 };
}

/* ---- operations ---- */

void draft_linear(struct draft *draft, struct view x, struct view w, struct view bias,
                  uint32_t act, struct view add, struct view y)
{
    heed_linear_desc *desc = draft_memory(draft, sizeof *desc);
    heed_linear_args *args = draft_memory(draft, sizeof *args);

    if (!args)
        return;
    *desc = (heed_linear_desc){ .size = sizeof *desc, .act = act, .x = x.t, .w = w.t,
                                .bias = bias.t, .add = add.t, .y = y.t };
    *args = (heed_linear_args){ .size = sizeof *args, .x = place(x), .w = place(w),
                                .bias = place(bias), .add = place(add), .y = place(y) };
    draft_step(draft, "linear", desc, args);
}

void draft_norm(struct draft *draft, uint32_t kind, double eps, struct view x, struct view weight,
                struct view bias, struct view y)
{
    heed_norm_desc *desc = draft_memory(draft, sizeof *desc);
    heed_norm_args *args = draft_memory(draft, sizeof *args);

    if (!args)
        return;
    *desc = (heed_norm_desc){ .size = sizeof *desc, .kind = kind, .eps = eps, .x = x.t,
                              .weight = weight.t, .bias = bias.t, .y = y.t };
    *args = (heed_norm_args){ .size = sizeof *args, .x = place(x), .weight = place(weight),
                              .bias = place(bias), .y = place(y) };
    draft_step(draft, "norm", desc, args);
}

void draft_act(struct draft *draft, uint32_t act, struct view x, struct view factor,
               struct view add, struct view y)
{
    heed_act_desc *desc = draft_memory(draft, sizeof *desc);
    heed_act_args *args = draft_memory(draft, sizeof *args);

    if (!args)
        return;
    *desc = (heed_act_desc){ .size = sizeof *desc, .kind = act, .x = x.t, .factor = factor.t,
                             .add = add.t, .y = y.t };
    *args = (heed_act_args){ .size = sizeof *args, .x = place(x), .factor = place(factor),
                             .add = place(add), .y = place(y) };
    draft_step(draft, "act", desc, args);
}
