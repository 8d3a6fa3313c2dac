/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The operation that is made of others: stages become plans, their operands are placed, temporaries
 * that do not live at one time share bytes.
 */
#include "program.h"

#include "../types/types.h"
#include "../core/error.h"
#include "../core/sized.h"
#include "../launch/operands.h"
#include "../launch/overlap.h"
#include "execute.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { ARGS_V1 = 304, TEMP_ALIGN = 64, NAMED_STAGES = 6, NAMED_TEMPS = 6 };
_Static_assert(sizeof(heed_program_args) == ARGS_V1, "heed_program_args may only grow");
_Static_assert(sizeof(heed_keys_bufs) == 64, "heed_keys_bufs is frozen");

/* All of a program are below 2^62. */
static const int64_t temp_max = INT64_C(1) << 53;

/* ---- the arguments of all programs ---- */

struct argument {
    const char *name;
    uint32_t index, at;
};

#define ARG(field) { #field, 0, offsetof(heed_program_args, field) }
#define KEYS(set) ARG(set.k), ARG(set.v), ARG(set.len), ARG(set.mask)
#define ROUND(i) { "rounds[]", i, offsetof(heed_program_args, rounds[i]) }
static const struct argument arguments[HEED_PROGRAM_ARGS] = {
    ARG(q),      ARG(o),      KEYS(text), KEYS(globals), ARG(taps_k),
    ARG(taps_v), ROUND(0),    ROUND(1),   ROUND(2),      ROUND(3),
};
#undef ROUND
#undef KEYS
#undef ARG
_Static_assert(HEED_SELECT_ROUNDS == 4, "a row for each round");

static heed_status place(const struct heed_plan *plan, const void *given, struct heed_places *to,
                         heed_report *report)
{
    heed_program_args args;
    heed_status status = heed_sized_in(given, ARGS_V1, &args, sizeof(args), "args", report);

    if (status < 0)
        return status;
    if (((const struct heed_program *)plan->checked)->room.numbered)
        return heed_report_fill(report, HEED_E_MISMATCH, "plan", 0, 1,
                                "the arrays of this program have numbers: heed_plan_run()");
    if (args.reserved != 0 || args.run.reserved != 0)
        return heed_report_fill(report, HEED_E_VALUE,
                                args.reserved != 0 ? "reserved" : "run.reserved", 0,
                                args.reserved != 0 ? args.reserved : args.run.reserved,
                                "must be 0");
    for (uint32_t i = 0; i < HEED_PROGRAM_ARGS; i++)
        memcpy(&to->at[i], (const char *)&args + arguments[i].at, sizeof(to->at[i]));
    to->run = args.run;
    return HEED_OK;
}

/* ---- composing ---- */

heed_status heed_program_reserve(struct heed_composer *c, struct heed_program_room room)
{
    struct heed_program *program = c->program;

    program->room = room;
    program->stages = heed_arena_array(c->arena, room.stages, sizeof(*program->stages),
                                       _Alignof(struct heed_program_stage));
    program->temps = heed_arena_array(c->arena, room.temps > 0 ? room.temps : 1,
                                      sizeof(*program->temps),
                                      _Alignof(struct heed_program_life));
    c->operands = heed_arena_array(c->arena, room.args, sizeof(*c->operands),
                                   _Alignof(struct heed_plan_operand));
    if (program->stages == NULL || program->temps == NULL || c->operands == NULL)
        return heed_report_fill(c->report, HEED_E_NOMEM, NULL, 0, 0, "no memory for the program");
    for (uint32_t i = 0; i < room.args; i++) {
        c->operands[i].role = HEED_ROLE_IN;
        c->operands[i].name = room.numbered ? "arrays[]" : arguments[i].name;
        c->operands[i].index = room.numbered ? i : arguments[i].index;
    }
    for (uint32_t i = 0; room.numbered && i < room.temps; i++)
        program->temps[program->n_temps++].first = UINT32_MAX;
    return HEED_OK;
}

heed_status heed_program_open(struct heed_composer *c, const void *given, size_t v1, void *desc,
                              size_t known, uint32_t flags)
{
    const uint32_t legal = flags | HEED_PLAN_ALLOW_COMPOSED | HEED_PLAN_OWN_WORKSPACE;
    struct {
        uint32_t size, flags, numerics;
    } head;
    heed_status status;

    if (given == NULL)
        return heed_report_fill(c->report, HEED_E_NULL, "desc", 0, 0,
                                "a required pointer is NULL");
    status = heed_sized_in(given, v1, desc, known, "size", c->report);
    if (status < 0)
        return status;
    memcpy(&head, desc, sizeof(head));
    if (head.flags & ~legal)
        return heed_report_fill(c->report, HEED_E_FLAG, "flags", legal, head.flags,
                                "unknown flag bits 0x%x", (unsigned)(head.flags & ~legal));
    if (head.numerics > HEED_NUMERICS_FAST)
        return heed_report_fill(c->report, HEED_E_VALUE, "numerics", HEED_NUMERICS_FAST,
                                head.numerics, "no such profile");
    c->plan->numerics = head.numerics;
    c->plan->own_workspace = (head.flags & HEED_PLAN_OWN_WORKSPACE) != 0;
    c->flags = head.flags & HEED_PLAN_ALLOW_COMPOSED;
    status = heed_program_reserve(c, (struct heed_program_room){ .args = HEED_PROGRAM_ARGS,
                                                                 .stages = NAMED_STAGES,
                                                                 .temps = NAMED_TEMPS });
    if (status >= 0)
        c->operands[HEED_PROGRAM_O].role = HEED_ROLE_OUT;
    return status;
}

heed_status heed_program_keys(const struct heed_composer *c, const char *name,
                              const heed_keys *keys)
{
    char field[32];

    if (keys->len.data == NULL && keys->mask.data == NULL)
        return HEED_OK;
    snprintf(field, sizeof(field), "%s.%s", name, keys->len.data != NULL ? "len" : "mask");
    return heed_report_fill(c->report, HEED_E_VALUE, field, 0, 1,
                            "arrays of programs are brought by run, none is constant");
}

void heed_program_batch(int64_t batch[3], const heed_tensor *t, uint32_t inner)
{
    for (uint32_t i = 0; i < 3 && inner + i < t->ndim && t->ndim <= 6; i++) {
        const int64_t extent = t->shape[t->ndim - inner - 1 - i];

        if (extent != 1 && batch[2 - i] == 1)
            batch[2 - i] = extent;
    }
}

void heed_program_shape(int64_t shape[6], const heed_tensor *t, const heed_keys *keys)
{
    shape[0] = shape[1] = shape[2] = 1;
    heed_program_batch(shape, t, 3);
    heed_program_batch(shape, &keys->len.t, 0);
    heed_program_batch(shape, &keys->mask.t, 2);
    shape[3] = t->ndim > 2 ? t->shape[t->ndim - 3] : 1;
    shape[4] = shape[5] = 0;
}

static uint64_t up(uint64_t bytes)
{
    return (bytes + TEMP_ALIGN - 1) / TEMP_ALIGN * TEMP_ALIGN;
}

static heed_status too_large(const struct heed_composer *c)
{
    return heed_report_fill(c->report, HEED_E_OVERFLOW, "workspace", temp_max, 0,
                            "a temporary array has more bytes than a program may have");
}

heed_status heed_program_temp_add(struct heed_composer *c, uint32_t dtype, const int64_t shape[6],
                                  struct heed_program_temp *out)
{
    struct heed_program *program = c->program;
    int64_t bytes = heed_dtype_size(dtype), extents[6];
    bool fits = true;

    assert(program->n_temps < program->room.temps);
    for (int i = 0; i < 6 && fits; i++) {
        extents[i] = shape[i] > 0 ? shape[i] : 0;   /* the stage says what is wrong */
        fits = heed_mul_i64(bytes, extents[i] > 0 ? extents[i] : 1, &bytes) && bytes <= temp_max;
    }
    if (!fits)
        return too_large(c);
    for (int i = 0; i < 6; i++)
        bytes = extents[i] > 0 ? bytes : 0;
    out->t = heed_array_dense(dtype, NULL, 6, extents).t;
    out->array = program->room.args + program->n_temps;
    program->temps[program->n_temps++] = (struct heed_program_life){
        .bytes = up((uint64_t)bytes),
        .first = UINT32_MAX,
    };
    return HEED_OK;
}

heed_status heed_program_temp_end(struct heed_composer *c, uint32_t temp, int64_t end)
{
    struct heed_program_life *life = &c->program->temps[temp];

    if (end > temp_max)
        return too_large(c);
    if (life->first == UINT32_MAX)      /* no step uses it */
        life->first = life->last = 0;
    life->bytes = up((uint64_t)end);
    return HEED_OK;
}

/* Operand x of stage `stage` is that array. A last stage without batch items uses nothing of what
 * an earlier one, whose batch is that of fewer arrays, may read. */
static void note_use(struct heed_composer *c, const struct heed_plan_operand *x, uint32_t array,
                     uint32_t stage)
{
    struct heed_plan_operand *to = &c->operands[array];
    struct heed_program_life *life;

    if (array < c->program->room.args) {
        if (c->program->room.numbered)  /* what it has of bytes is found of all uses */
            return;
        assert(to->view.dtype == 0 || to->role == x->role);
        if (to->view.dtype == 0 || !heed_view_empty(&x->view))
            to->view = x->view;
        to->role = x->role;
        return;
    }
    assert(array < c->program->room.args + c->program->n_temps);
    life = &c->program->temps[array - c->program->room.args];
    if (life->first == UINT32_MAX)
        life->first = stage;
    life->last = stage;
}

struct heed_program_stage *heed_program_form(struct heed_composer *c, const struct heed_op *op,
                                             const char *name, const void *desc,
                                             heed_status *status)
{
    struct heed_program_stage *stage = &c->program->stages[c->program->n_stages];
    heed_report why = { .size = sizeof(why) };
    char field[HEED_FIELD + 16];

    assert(c->program->n_stages < c->program->room.stages);
    stage->plan = (struct heed_plan){ .op = op,
                                     .device = c->plan->device,
                                     .backend = c->plan->backend,
                                     .owned = c->plan->owned };
    *status = heed_op_form(&stage->plan, desc, &why);
    if (*status >= 0)
        return stage;
    snprintf(field, sizeof(field), "%s%s%s", name, why.field[0] != '\0' ? "." : "", why.field);
    heed_report_fill(c->report, *status, field, why.wanted, why.got, "%s", why.message);
    return NULL;
}

heed_status heed_program_bind(struct heed_composer *c, struct heed_program_stage *stage,
                              const struct heed_program_use *uses, uint32_t n_uses)
{
    const struct heed_plan *plan = &stage->plan;
    const uint32_t number = c->program->n_stages++;

    stage->uses = heed_arena_array(c->arena, plan->n_operands, sizeof(*stage->uses),
                                  _Alignof(struct heed_program_use));
    if (stage->uses == NULL)
        return heed_report_fill(c->report, HEED_E_NOMEM, NULL, 0, 0, "no memory for the program");
    for (uint32_t i = 0; i < plan->n_operands; i++)
        stage->uses[i] = (struct heed_program_use){ .operand = i, .array = HEED_PROGRAM_NONE };
    for (uint32_t i = 0; i < n_uses; i++) {
        const uint32_t operand = uses[i].operand;

        if (operand >= plan->n_operands || plan->operands[operand].view.dtype == 0)
            continue;
        stage->uses[operand] = uses[i];         /* of several, the last one */
    }
    for (uint32_t i = 0; i < plan->n_operands; i++) {
        assert(plan->operands[i].view.dtype == 0 || plan->operands[i].constant != NULL ||
               stage->uses[i].array != HEED_PROGRAM_NONE || c->program->room.numbered);
        if (stage->uses[i].array != HEED_PROGRAM_NONE)
            note_use(c, &plan->operands[i], stage->uses[i].array, number);
    }
    return HEED_OK;
}

heed_status heed_program_stage(struct heed_composer *c, const struct heed_op *op, const char *name,
                              const void *desc, const struct heed_program_use *uses,
                              uint32_t n_uses)
{
    heed_status status;
    struct heed_program_stage *stage = heed_program_form(c, op, name, desc, &status);

    return stage != NULL ? heed_program_bind(c, stage, uses, n_uses) : status;
}

/* ---- attention as a stage ---- */

uint32_t heed_program_slot(const struct heed_builder *b, uint32_t slot)
{
    return HEED_ATTN_KV + 2 * b->m.desc.n_sources + slot - 1;
}

enum { ATTEND_USES = 2 + 2 * HEED_MECHANISM_SOURCES + 2 * HEED_MECHANISM_KEYS + 2 };

heed_status heed_program_attend(struct heed_composer *c, struct heed_builder *b,
                                const struct heed_program_attn *attn,
                                const struct heed_program_use *uses, uint32_t n_uses)
{
    const uint32_t sets[HEED_MECHANISM_KEYS][HEED_KEYS_ARRAYS] = {
        { HEED_PROGRAM_TEXT, HEED_PROGRAM_TEXT + HEED_KEYS_V, HEED_PROGRAM_TEXT + HEED_KEYS_LEN,
          HEED_PROGRAM_TEXT + HEED_KEYS_MASK },
        { HEED_PROGRAM_GLOBALS, HEED_PROGRAM_GLOBALS + HEED_KEYS_V,
          HEED_PROGRAM_GLOBALS + HEED_KEYS_LEN, HEED_PROGRAM_GLOBALS + HEED_KEYS_MASK },
        { attn->sparse[0], attn->sparse[1], HEED_PROGRAM_NONE, attn->sparse[2] },
    };
    struct heed_program_use all[ATTEND_USES] = { { HEED_ATTN_Q, HEED_PROGRAM_Q, 0 },
                                                 { HEED_ATTN_O, attn->o, 0 } };
    uint32_t n = 2;

    for (uint32_t s = 0; s < b->m.desc.n_sources; s++) {
        all[n++] = (struct heed_program_use){ heed_attn_k(s), sets[b->m.keys[s]][HEED_KEYS_K], 0 };
        all[n++] = (struct heed_program_use){ heed_attn_v(s), sets[b->m.keys[s]][HEED_KEYS_V], 0 };
    }
    for (uint32_t k = 0; k < HEED_MECHANISM_KEYS; k++) {
        all[n++] = (struct heed_program_use){ heed_program_slot(b, HEED_MECHANISM_LEN + k),
                                              sets[k][HEED_KEYS_LEN], 0 };
        all[n++] = (struct heed_program_use){ heed_program_slot(b, HEED_MECHANISM_MASK + k),
                                              sets[k][HEED_KEYS_MASK], 0 };
    }
    for (uint32_t i = 0; i < n_uses; i++) {
        assert(n < ATTEND_USES);
        all[n++] = uses[i];
    }
    heed_mechanism_link(&b->m);
    b->m.desc.flags |= c->flags;
    b->m.desc.numerics = c->plan->numerics;
    return heed_program_stage(c, &heed_op_attn, attn->name, &b->m.desc, all, n);
}

/* ---- temporaries ---- */

static bool meets(const struct heed_program_life *a, const struct heed_program_life *b)
{
    return a->first <= b->last && b->first <= a->last && a->at < b->at + b->bytes &&
           b->at < a->at + a->bytes;
}

/* Each goes to the lowest place that is free as long as it lives. */
static void lay_temps(struct heed_program *program)
{
    for (uint32_t i = 0; i < program->n_temps; i++) {
        struct heed_program_life *life = &program->temps[i];

        assert(life->first != UINT32_MAX);
        for (uint32_t j = 0; j < i; j++) {
            if (!meets(life, &program->temps[j]))
                continue;
            life->at = program->temps[j].at + program->temps[j].bytes;
            j = UINT32_MAX;     /* and what stands there is asked again */
        }
        if (life->at + life->bytes > program->bytes)
            program->bytes = life->at + life->bytes;
    }
}

/* ---- the operation ---- */

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *desc,
                         heed_report *report)
{
    const struct heed_program_call *call = desc;
    struct heed_composer c = { .plan = plan, .arena = arena, .report = report };
    heed_status status;

    c.program = heed_arena_take(arena, sizeof(*c.program), _Alignof(struct heed_program));
    if (c.program == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, 0, 0, "no memory for the program");
    status = call->compose(&c, call->desc);
    if (status < 0)
        return status;
    lay_temps(c.program);
    plan->checked = c.program;
    plan->operands = c.operands;
    plan->n_operands = c.program->room.args;
    return status;
}

/* The stages are lowered as they are formed; the program brings its own implementation. */
static heed_status lower(struct heed_plan *plan, struct heed_arena *arena, heed_report *report)
{
    plan->impl = heed_program_impl(plan->checked, arena);
    if (plan->impl != NULL)
        return HEED_OK;
    return heed_report_fill(report, HEED_E_NOMEM, NULL, 0, 0, "no memory for the program");
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a < INT64_MAX && b < INT64_MAX - a ? a + b : INT64_MAX;
}

static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    const struct heed_program *program = plan->checked;

    *flops = *bytes = 0;
    for (uint32_t i = 0; i < program->n_stages; i++) {
        const struct heed_plan *stage = &program->stages[i].plan;
        uint64_t f = 0, b = 0;

        stage->op->work(stage, &f, &b);
        *flops = sum(*flops, f);
        *bytes = sum(*bytes, b);
    }
}

const struct heed_op heed_op_program = {
    .id = HEED_OP_PROGRAM,
    .name = "program",
    .check = check,
    .lower = lower,
    .place = place,
    .work = work,
};

heed_status heed_program_run(const heed_plan *plan, heed_queue *queue,
                             const heed_program_args *args, heed_event **event,
                             heed_report *report)
{
    return heed_op_run(&heed_op_program, plan, queue, args, event, report);
}
