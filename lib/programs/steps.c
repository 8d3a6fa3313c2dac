/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/programs.h, heed_program_plan(): a caller's list of operations as a program. A step's
 * arguments are read as the run of its operation reads them, with numbers of arrays for memory; so
 * what a run would refuse (no memory, shared bytes) is refused here, once.
 */
#include "program.h"

#include "../core/error.h"
#include "../core/sized.h"
#include "../launch/operands.h"
#include "../types/types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DESC_V1 = 32, STEP_V1 = 24, MOST_STEPS = 4096, MOST_TEMPS = 256 };
_Static_assert(sizeof(heed_program_desc) == DESC_V1, "heed_program_desc may only grow");
_Static_assert(sizeof(heed_program_step) == STEP_V1, "heed_program_step may only grow");

/* What all uses of an array come to. */
struct reach {
    int64_t end;                        /* bytes */
    uint32_t align;
    bool read, written, read_first;
};

struct steps {
    struct heed_composer *c;
    heed_program_desc d;
    uint32_t n_arrays;
    struct reach *reach;                /* of each array */
    /* of the step at hand */
    char name[24];
    struct heed_program_stage *stage;
    struct heed_places places;
    struct heed_program_use uses[HEED_MAX_OPERANDS];
    uint32_t n_uses;
};

static heed_status range(const struct steps *s, const char *field, uint32_t low, uint32_t high,
                         uint32_t got)
{
    if (got >= low && got <= high)
        return HEED_OK;
    return heed_report_fill(s->c->report, HEED_E_VALUE, field, got < low ? low : high, got,
                            "must be %" PRIu32 " to %" PRIu32, low, high);
}

static heed_status open_desc(struct steps *s, const void *given)
{
    heed_status status;

    if (given == NULL)
        return heed_op_require(given, "desc", s->c->report);
    status = heed_sized_in(given, DESC_V1, &s->d, sizeof(s->d), "size", s->c->report);
    if (status >= 0 && (s->d.flags & ~(uint32_t)HEED_PLAN_OWN_WORKSPACE))
        return heed_report_fill(s->c->report, HEED_E_FLAG, "flags", HEED_PLAN_OWN_WORKSPACE,
                                s->d.flags, "unknown flag bits");
    if (status >= 0)
        status = range(s, "n_args", 1, HEED_MAX_OPERANDS, s->d.n_args);
    if (status >= 0)
        status = range(s, "n_temps", 0, MOST_TEMPS, s->d.n_temps);
    if (status >= 0)
        status = range(s, "n_steps", 1, MOST_STEPS, s->d.n_steps);
    if (status >= 0)
        status = heed_op_require(s->d.steps, "steps", s->c->report);
    if (status < 0)
        return status;
    s->c->plan->own_workspace = (s->d.flags & HEED_PLAN_OWN_WORKSPACE) != 0;
    s->n_arrays = s->d.n_args + s->d.n_temps;
    s->reach = heed_arena_array(s->c->arena, s->n_arrays, sizeof(*s->reach),
                                _Alignof(struct reach));
    if (s->reach == NULL)
        return heed_report_fill(s->c->report, HEED_E_NOMEM, NULL, 0, 0,
                                "no memory for the program");
    return heed_program_reserve(s->c, (struct heed_program_room){ .args = s->d.n_args,
                                                                  .stages = s->d.n_steps,
                                                                  .temps = s->d.n_temps,
                                                                  .numbered = 1 });
}

/* ---- a step ---- */

/* Of a stage's report, which knows nothing of the step. */
static heed_status fail(const struct steps *s, heed_status status, const heed_report *why)
{
    char field[HEED_FIELD + sizeof(s->name)];

    snprintf(field, sizeof(field), "%s%s%s", s->name, why->field[0] != '\0' ? "." : "",
             why->field);
    return heed_report_fill(s->c->report, status, field, why->wanted, why->got, "%s",
                            why->message);
}

static heed_status fail_operand(const struct steps *s, heed_status status, uint32_t operand,
                                int64_t wanted, int64_t got, const char *message)
{
    const struct heed_plan_operand *x = &s->stage->plan.operands[operand];
    heed_report why = { .size = sizeof(why) };

    heed_operand_name(why.field, x->name, x->index);
    why.wanted = wanted;
    why.got = got;
    snprintf(why.message, sizeof(why.message), "%s", message);
    return fail(s, status, &why);
}

static heed_status find(const struct steps *s, const heed_program_step *step,
                        const struct heed_op **out)
{
    char field[HEED_FIELD];

    snprintf(field, sizeof(field), "%s.%s", s->name,
             step->op == NULL ? "op" : step->desc == NULL ? "desc" : "args");
    if (step->op == NULL || step->desc == NULL || step->args == NULL)
        return heed_op_require(NULL, field, s->c->report);
    for (uint32_t i = 0; heed_ops[i] != NULL; i++) {
        *out = heed_ops[i];
        if (strcmp((*out)->name, step->op) == 0 && *out != &heed_op_program)
            return HEED_OK;
    }
    snprintf(field, sizeof(field), "%s.op", s->name);
    return heed_report_fill(s->c->report, HEED_E_VALUE, field, 0, 0,
                            "no operation is called \"%.40s\"", step->op);
}

static bool uses_memory(const struct heed_plan_operand *x)
{
    return x->constant == NULL && heed_operand_has_elements(x);
}

/* The array that is operand i of the step. */
static heed_status use(struct steps *s, uint32_t i)
{
    const struct heed_plan_operand *x = &s->stage->plan.operands[i];
    const heed_buf buf = s->places.at[i];
    const uint64_t array = (uint64_t)(uintptr_t)buf.handle - 1;
    struct reach *reach = &s->reach[array < s->n_arrays ? array : 0];
    int64_t end;

    if (array >= s->n_arrays)
        return fail_operand(s, HEED_E_VALUE, i, s->n_arrays, (int64_t)array,
                            "the program has no array of this number");
    if (!heed_add_i64(x->high, (int64_t)buf.offset, &end))
        return fail_operand(s, HEED_E_OVERFLOW, i, 0, 0, "the array leaves the address space");
    if (array >= s->d.n_args && x->role != HEED_ROLE_OUT && !reach->written)
        return fail_operand(s, HEED_E_VALUE, i, 0, (int64_t)array,
                            "no step before has written the temporary");
    reach->end = end > reach->end ? end : reach->end;
    reach->align = heed_dtype_align(x->view.dtype) > reach->align
                       ? heed_dtype_align(x->view.dtype) : reach->align;
    reach->read_first |= x->role != HEED_ROLE_OUT && !reach->written;
    reach->read |= x->role != HEED_ROLE_OUT;
    s->uses[s->n_uses++] = (struct heed_program_use){ i, (uint32_t)array, buf.offset };
    return HEED_OK;
}

/* What it writes counts for the steps behind it. */
static void note_written(struct steps *s)
{
    for (uint32_t i = 0; i < s->n_uses; i++)
        s->reach[s->uses[i].array].written |=
            s->stage->plan.operands[s->uses[i].operand].role != HEED_ROLE_IN;
}

static heed_status place(struct steps *s, const struct heed_op *op, const void *args)
{
    const struct heed_plan *plan = &s->stage->plan;
    heed_report why = { .size = sizeof(why) };
    heed_status status;

    memset(&s->places, 0, sizeof(s->places));
    status = op->place(plan, args, &s->places, &why);
    if (status >= 0)
        status = heed_operands_require(plan->operands, plan->n_operands, true, false,
                                       s->places.at, &why);
    if (status >= 0)
        status = heed_operands_require_apart(plan->operands, plan->n_operands, true,
                                             s->places.at, &why);
    return status < 0 ? fail(s, status, &why) : HEED_OK;
}

static heed_status step_add(struct steps *s, uint32_t number)
{
    const char *given = (const char *)s->d.steps + (size_t)number * s->d.step_size;
    heed_program_step step;
    const struct heed_op *op = NULL;
    heed_status status;

    snprintf(s->name, sizeof(s->name), "steps[%" PRIu32 "]", number);
    status = heed_sized_element(given, s->d.step_size, STEP_V1, &step, sizeof(step), s->name,
                                s->c->report);
    if (status >= 0)
        status = find(s, &step, &op);
    if (status < 0)
        return status;
    s->stage = heed_program_form(s->c, op, s->name, step.desc, &status);
    if (s->stage != NULL)
        status = place(s, op, step.args);
    s->n_uses = 0;
    for (uint32_t i = 0; status >= 0 && i < s->stage->plan.n_operands; i++) {
        if (uses_memory(&s->stage->plan.operands[i]))
            status = use(s, i);
    }
    if (status < 0)
        return status;
    note_written(s);
    if (s->stage->plan.numerics > s->c->plan->numerics)
        s->c->plan->numerics = s->stage->plan.numerics;
    return heed_program_bind(s->c, s->stage, s->uses, s->n_uses);
}

/* ---- all of them ---- */

/* Bytes: types and shapes are those of each use. */
static void argument_end(struct heed_plan_operand *x, const struct reach *reach)
{
    if (reach->end == 0)
        return;                         /* no step uses it */
    x->view = (struct heed_view){ .dtype = HEED_U8, .shape = { 1, 1, 1, 1, 1, reach->end } };
    x->view.stride[5] = 1;
    x->align = reach->align;
    x->role = !reach->written ? HEED_ROLE_IN
            : reach->read_first ? HEED_ROLE_STATE : HEED_ROLE_OUT;
}

static heed_status compose(struct heed_composer *c, const void *given)
{
    struct steps s = { .c = c };
    heed_status status = open_desc(&s, given);

    c->plan->numerics = HEED_NUMERICS_EXACT;
    for (uint32_t i = 0; i < s.d.n_steps && status >= 0; i++)
        status = step_add(&s, i);
    for (uint32_t i = 0; i < s.d.n_args && status >= 0; i++)
        argument_end(&c->operands[i], &s.reach[i]);
    for (uint32_t i = 0; i < s.d.n_temps && status >= 0; i++)
        status = heed_program_temp_end(c, i, s.reach[s.d.n_args + i].end);
    return status;
}

heed_status heed_program_check(heed_device *device, const heed_program_desc *desc,
                               heed_report *report)
{
    const struct heed_program_call call = { compose, desc };

    return heed_op_check(&heed_op_program, device, &call, report);
}

heed_status heed_program_plan(heed_device *device, const heed_program_desc *desc, heed_plan **out,
                              heed_report *report)
{
    const struct heed_program_call call = { compose, desc };

    return heed_op_plan(&heed_op_program, device, &call, out, report);
}
