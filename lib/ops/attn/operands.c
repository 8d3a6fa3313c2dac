/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The operands of attention: q, o or state_out, lse, sinks, state_in, k and v of every source,
 * every slot. A slot is one operand however often it is used: all its uses are views of one array,
 * which touch the same elements.
 */
#include "attn.h"

#include "../../core/error.h"
#include "../../launch/operands.h"
#include "../../core/sized.h"
#include "use.h"

#include <assert.h>
#include <string.h>

/* ---- the row of operands ---- */

static void lay(struct heed_plan_operand *to, const struct heed_view *view, uint32_t role,
                const char *name, uint32_t index)
{
    *to = (struct heed_plan_operand){ .view = *view, .role = role, .name = name, .index = index };
}

static void lay_slot(struct heed_plan *plan, struct heed_plan_operand *operands,
                     const struct heed_aux *aux)
{
    struct heed_plan_operand *to = &operands[heed_attn_slot(heed_attn_of(plan), aux->slot)];

    to->view.dtype = aux->dtype;
    memcpy(to->view.shape, aux->shape, sizeof(to->view.shape));
    memcpy(to->view.stride, aux->stride, sizeof(to->view.stride));
    to->constant = aux->data;
}

heed_status heed_attn_lay(struct heed_plan *plan, const struct heed_checked *attn,
                          struct heed_arena *arena, heed_report *report)
{
    const uint32_t n = heed_attn_slot(attn, attn->n_slots + 1);
    struct heed_plan_operand *operands =
        heed_arena_array(arena, n, sizeof(*operands), _Alignof(struct heed_plan_operand));

    assert(attn->n_sources <= HEED_MAX_SOURCES && attn->n_slots <= HEED_MAX_SLOTS);
    if (operands == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, 0, 0, "no memory for the operands");
    plan->checked = attn;
    lay(&operands[HEED_ATTN_Q], &attn->q, HEED_ROLE_IN, "q", 0);
    lay(&operands[HEED_ATTN_O], &attn->o, HEED_ROLE_OUT, attn->stops ? "state_out" : "o", 0);
    lay(&operands[HEED_ATTN_LSE], &attn->lse, HEED_ROLE_OUT, "lse", 0);
    lay(&operands[HEED_ATTN_SINKS], &attn->sinks, HEED_ROLE_IN, "sinks", 0);
    lay(&operands[HEED_ATTN_STATE], &attn->state_in, HEED_ROLE_IN, "state_in", 0);
    if (attn->stops)
        operands[HEED_ATTN_O].same_as = 1 + HEED_ATTN_STATE;
    for (uint32_t slot = 1; slot <= attn->n_slots; slot++)
        operands[heed_attn_slot(attn, slot)] = (struct heed_plan_operand){
            .role = HEED_ROLE_IN, .name = "slots[]", .index = slot - 1
        };
    for (uint32_t s = 0; s < attn->n_sources; s++) {
        lay(&operands[heed_attn_k(s)], &attn->sources[s].k, HEED_ROLE_IN, "kv[].k", s);
        lay(&operands[heed_attn_v(s)], &attn->sources[s].v, HEED_ROLE_IN, "kv[].v", s);
    }
    for (uint32_t i = 0; i < attn->n_sites; i++)
        lay_slot(plan, operands, attn->sites[i].aux);
    plan->operands = operands;
    plan->n_operands = n;
    return HEED_OK;
}

/* ---- the memory of a run ---- */

static heed_status place_kv(const struct heed_checked *attn, const heed_attn_args *args,
                            struct heed_places *to, heed_report *report)
{
    if (attn->n_sources > 0 && args->kv_size < HEED_KV_BUFS_V1)
        return heed_report_fill(report, HEED_E_SIZE, "kv_size", HEED_KV_BUFS_V1, args->kv_size,
                                "element size is below that of the first version");
    if (attn->n_sources > 0 && args->kv == NULL)
        return heed_report_fill(report, HEED_E_NULL, "kv", attn->n_sources, 0,
                                "one entry per source is wanted");
    for (uint32_t s = 0; s < attn->n_sources; s++) {
        const char *given = (const char *)args->kv + (size_t)s * args->kv_size;
        heed_kv_bufs kv;
        char field[HEED_FIELD];
        heed_status status;

        heed_operand_name(field, "kv[]", s);
        status = heed_sized_element(given, args->kv_size, HEED_KV_BUFS_V1, &kv, sizeof(kv), field,
                                    report);
        if (status < 0)
            return status;
        to->at[heed_attn_k(s)] = kv.k;
        to->at[heed_attn_v(s)] = kv.v;
    }
    return HEED_OK;
}

/* Slots that nobody uses, constants and those without elements are not looked at. */
static bool reads_slot(const struct heed_plan_operand *operand)
{
    return operand->view.dtype != 0 && operand->constant == NULL &&
           !heed_view_empty(&operand->view);
}

static heed_status place_slots(const struct heed_plan *plan, const heed_attn_args *args,
                               struct heed_places *to, heed_report *report)
{
    const struct heed_checked *attn = plan->checked;

    if (args->n_slots != attn->n_slots)
        return heed_report_fill(report, HEED_E_VALUE, "n_slots", attn->n_slots, args->n_slots,
                                "one entry per slot of the descriptor is wanted");
    for (uint32_t slot = 1; slot <= attn->n_slots; slot++) {
        const uint32_t i = heed_attn_slot(attn, slot);

        if (!reads_slot(&plan->operands[i]))
            continue;
        if (args->slots == NULL)
            return heed_report_fill(report, HEED_E_NULL, "slots", args->n_slots, 0,
                                    "slot %u is bound by run and there is no array",
                                    (unsigned)slot);
        to->at[i] = args->slots[slot - 1];
    }
    return HEED_OK;
}

heed_status heed_attn_place(const struct heed_plan *plan, const void *given, struct heed_places *to,
                            heed_report *report)
{
    heed_attn_args args;
    heed_status status =
        heed_sized_in(given, HEED_ATTN_ARGS_V1, &args, sizeof(args), "args", report);

    if (status >= 0)
        status = place_kv(heed_attn_of(plan), &args, to, report);
    if (status >= 0)
        status = place_slots(plan, &args, to, report);
    if (status < 0)
        return status;
    to->at[HEED_ATTN_Q] = args.q;
    to->at[HEED_ATTN_O] = heed_attn_of(plan)->stops ? args.state_out : args.o;
    to->at[HEED_ATTN_LSE] = args.lse;
    to->at[HEED_ATTN_SINKS] = args.sinks;
    to->at[HEED_ATTN_STATE] = args.state_in;
    to->run = (heed_run){ .workspace = args.workspace,
                          .workspace_size = args.workspace_size,
                          .wait = args.wait,
                          .n_wait = args.n_wait };
    return HEED_OK;
}

heed_status heed_attn_place_slots(const struct heed_plan *plan, const heed_attn_args *given,
                                  struct heed_places *to, heed_report *report)
{
    heed_attn_args args = { .n_slots = heed_attn_of(plan)->n_slots };

    if (given != NULL) {
        const heed_status status =
            heed_sized_in(given, HEED_ATTN_ARGS_V1, &args, sizeof(args), "args", report);

        if (status < 0)
            return status;
    }
    return place_slots(plan, &args, to, report);
}

void heed_attn_slots(const struct heed_plan *plan, const heed_buf *at,
                     const void *slots[HEED_MAX_SLOTS])
{
    for (uint32_t slot = 1; slot <= heed_attn_of(plan)->n_slots; slot++)
        slots[slot - 1] = heed_address(at[heed_attn_slot(heed_attn_of(plan), slot)]);
}
