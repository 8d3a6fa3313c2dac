/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel of attention as the field writes them, for testing the kit that judges kernels: dense or
 * paged keys, f32, f16 and bf16, grouped heads, causal and sliding window, lengths, a dense bias,
 * softcap, sinks, lse. It computes in one of several ways, all of them right, and has at most one
 * fault. The environment variable ZOO says which; field.def has the list.
 */
#include "field.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct field_way field_way;
int field_fault;

bool field_has(int fault)
{
    return field_fault == fault;
}

/* ---- what it takes --------------------------------------------------------- */

static heed_status refuse(heed_report *report, const char *field, const char *message)
{
    report->status = HEED_E_UNSUPPORTED;
    strncpy(report->field, field, sizeof report->field - 1);
    strncpy(report->message, message, sizeof report->message - 1);
    return report->status;
}

static bool is_float(const heed_tensor *t)
{
    return t->dtype == HEED_F32 || t->dtype == HEED_F16 || t->dtype == HEED_BF16;
}

static heed_status source_query(const heed_source *s, heed_report *report)
{
    if (!is_float(&s->k) || !is_float(&s->v))
        return refuse(report, "sources[0].k.dtype", "floats only");
    if (s->k.ndim < 3 || s->v.ndim < 3)
        return refuse(report, "sources[0].k.ndim", "a head axis is needed");
    if (s->layout != HEED_LAYOUT_DENSE && s->layout != HEED_LAYOUT_PAGED)
        return refuse(report, "sources[0].layout", "dense or paged");
    if (s->row_mask_slot)
        return refuse(report, "sources[0].row_mask_slot", "no mask of rows");
    if (s->mask_slot || s->flags & HEED_SOURCE_END || s->pos_step > 1 || s->pos_span > 1)
        return refuse(report, "sources[0].mask_slot", "no mask, one position a key");
    if (s->n_terms > 1 || (s->n_terms && (s->terms->kind != HEED_TERM_WINDOW ||
                                          s->terms->step > 1 || s->terms->block > 1)))
        return refuse(report, "sources[0].terms", "at most one sliding window");
    if (s->n_biases > 1 || (s->n_biases && s->biases->kind != HEED_BIAS_DENSE))
        return refuse(report, "sources[0].biases", "at most one dense bias");
    if (s->n_biases && s->biases->u)
        return refuse(report, "sources[0].biases[0].u", "no factors of a bias");
    return HEED_OK;
}

/* Extent of an axis, counted from the right. */
static int64_t extent(const heed_tensor *t, uint32_t axis)
{
    return axis <= t->ndim ? t->shape[t->ndim - axis] : 1;
}

/* What a kernel that does one thing is made for. */
static bool odd_takes(const heed_attn_desc *desc, const heed_source *s)
{
    switch (field_fault) {
    case F_width_64_of_v_80:
        return extent(&s->k, 1) == 64 && extent(&s->v, 1) == 80;
    case F_four_heads_share_keys:
        return extent(&desc->q, 3) == 4 * extent(&s->k, 3);
    case F_causal_with_window:
        return s->flags & HEED_SOURCE_CAUSAL && s->n_terms == 1;
    case F_pages_of_16:
        return s->layout == HEED_LAYOUT_PAGED && extent(&s->k, 2) == 16;
    }
    return true;
}

static heed_status query(void *self, const char *op, const void *given, heed_report *report)
{
    const heed_attn_desc *desc = given;

    (void)self;
    if (strcmp(op, "attn") != 0)
        return refuse(report, "op", "attention only");
    if (desc->n_sources != 1)
        return refuse(report, "sources", "one source only");
    if (desc->flags & HEED_PLAN_OWN_WORKSPACE)
        return refuse(report, "flags", "no workspace of its own");
    if (desc->state_in.ndim || desc->state_out.ndim)
        return refuse(report, desc->state_in.ndim ? "state_in" : "state_out", "no states");
    if (desc->q.ndim < 3 || desc->o.ndim < 3)
        return refuse(report, "q.ndim", "a head axis is needed");
    if (desc->q_layout || desc->q_len_slot || desc->q_pos_slot || desc->q_pos_step > 1)
        return refuse(report, "q_layout", "all rows, one position each");
    if (!odd_takes(desc, desc->sources))
        return refuse(report, "desc", "made for something else");
    return source_query(desc->sources, report);
}

/* ---- a state ---------------------------------------------------------------- */

static void slot_keep(const heed_attn_desc *desc, uint32_t number, struct field_slot *slot)
{
    slot->number = number;
    if (number == 0)
        return;
    slot->t = desc->slots[number - 1].t;
    if (!desc->slots[number - 1].data)
        return;
    slot->constant = field_copy(&slot->t, desc->slots[number - 1].data, &slot->first);
    slot->lost = !slot->constant;
}

static void release(void *state)
{
    struct field_state *s = state;

    free(s->table.constant);
    free(s->length.constant);
    free(s->bias.constant);
    free(s);
}

static void numbers_keep(struct field_state *s, const heed_attn_desc *desc)
{
    const heed_source *source = desc->sources;
    const heed_term *term = source->n_terms ? source->terms : NULL;
    const double width = (double)(s->d * (field_has(F_scale_of_all_heads) ? s->group : 1));

    s->scale = desc->scale != 0 || desc->flags & HEED_ATTN_SCALE_GIVEN ? (float)desc->scale
               : s->d > 0                                              ? (float)(1 / sqrt(width))
                                                                       : 0;
    s->cap = (float)desc->softcap;
    s->causal = source->flags & HEED_SOURCE_CAUSAL;
    s->left = term ? term->left : HEED_FAR;
    s->right = term ? term->right : HEED_FAR;
    if (field_has(F_window_left_longer) && s->left != HEED_FAR)
        s->left++;
    if (field_has(F_window_right_shorter) && s->right != HEED_FAR)
        s->right--;
    if (field_has(F_window_forgets_right))
        s->right = HEED_FAR;
    s->at_end = desc->flags & HEED_ATTN_ALIGN_END && !field_has(F_causal_at_start);
    s->pos0 = source->pos0;
    s->q_pos0 = field_has(F_position_forgotten) ? 0 : desc->q_pos0;
    s->lse_with_sink = desc->flags & HEED_ATTN_LSE_WITH_SINK;
    s->has_sinks = desc->sinks.ndim > 0;
}

static heed_status prepare(void *self, const char *op, const void *given, void **out,
                           heed_plan_props *props)
{
    const heed_attn_desc *desc = given;
    const heed_source *source = desc->sources;
    struct field_state *s = calloc(1, sizeof *s);

    (void)self;
    (void)op;
    if (!s)
        return HEED_E_NOMEM;
    s->q = desc->q;
    s->k = source->k;
    s->v = source->v;
    s->o = desc->o;
    s->lse = desc->lse;
    s->sinks = desc->sinks;
    s->paged = source->layout == HEED_LAYOUT_PAGED;
    for (uint32_t i = 0; i < 3; i++)
        s->batch[i] = s->o.ndim > 3 + i ? s->o.shape[s->o.ndim - 4 - i] : 1;
    s->items = s->batch[0] * s->batch[1] * s->batch[2];
    s->heads = s->q.shape[s->q.ndim - 3];
    s->k_heads = s->k.shape[s->k.ndim - 3];
    s->group = s->k_heads ? s->heads / s->k_heads : 1;
    s->n_q = s->q.shape[s->q.ndim - 2];
    s->d = s->q.shape[s->q.ndim - 1];
    s->dv = s->v.shape[s->v.ndim - 1];
    slot_keep(desc, source->len_slot, &s->length);
    slot_keep(desc, s->paged ? source->slot : 0, &s->table);
    slot_keep(desc, source->n_biases ? source->biases->t : 0, &s->bias);
    s->page = s->k.shape[s->k.ndim - 2];
    s->n_k = s->paged ? s->table.t.shape[s->table.t.ndim - 1] * s->page : s->page;
    numbers_keep(s, desc);
    if (s->table.lost || s->length.lost || s->bias.lost) {
        release(s);
        return HEED_E_NOMEM;
    }
    s->room = s->n_k + 2 * s->dv + 8;
    props->workspace_size = (uint64_t)(s->room * field_way.crew) * sizeof(double);
    props->workspace_align = sizeof(double);
    *out = s;
    return HEED_OK;
}

/* ---- a run --------------------------------------------------------------------- */

static const heed_executor *crew;

struct run {
    const struct field_state *s;
    const heed_attn_args *args;
    atomic_bool set_up; /* by worker 0 */
    atomic_int rows;    /* that were begun */
};

/* Row `number` of all rows of all heads and items. */
static void row_do(struct run *run, double *room, int64_t number, struct field_work work)
{
    const struct field_state *s = run->s;
    const struct field_place place = { .row = number % s->n_q, .head = number / s->n_q % s->heads,
                                       .item = number / s->n_q / s->heads };

    work.number = number;
    work.set_up = atomic_load(&run->set_up);
    work.arrival = atomic_fetch_add(&run->rows, 1);
    field_row(s, run->args, place, field_sum_of(s, run->args, place, &work), room);
}

static double *room_of(const struct run *run)
{
    return (double *)((char *)run->args->workspace.handle + run->args->workspace.offset);
}

static void worker(void *arg, uint32_t number)
{
    struct run *run = arg;
    const int64_t n = run->s->items * run->s->heads * run->s->n_q, width = crew->width;
    const int64_t all = field_has(F_rows_shared_out_wrongly) ? n / width * width : n;
    const struct field_work work = { .worker = number, .width = width };
    double *room = room_of(run);

    if (number == 0)
        atomic_store(&run->set_up, true);
    if (!field_has(F_workers_share_scratch))
        room += run->s->room * (int64_t)number;
    for (int64_t i = number; i < all; i += width)
        row_do(run, room, i, work);
    for (int64_t i = number + 1; i < all && field_has(F_two_workers_write_a_row); i += width)
        row_do(run, room, i, work);
}

static heed_status run(void *state, const heed_buf *at, uint32_t n_at, const heed_run *how)
{
    struct field_state *const s = state;
    const heed_attn_args args = heed_attn_args_of(at, n_at, 1, how);
    struct run run = { .s = s, .args = &args };
    const int64_t n = s->items * s->heads * s->n_q;
    double *room = room_of(&run);
    const struct field_work work = { .width = 1,
                                     .garbage = *(const unsigned char *)room, .set_up = true };

    s->runs++;
    if (field_way.crew > 1) {
        crew->parallel(crew->context, crew->width, worker, &run);
        return HEED_OK;
    }
    atomic_store(&run.set_up, true);
    for (int64_t i = 0; i < n; i++)
        row_do(&run, room, i, work);
    return HEED_OK;
}

/* ---- the plug-in ----------------------------------------------------------------- */

enum {
    WAY_PLAIN,
    WAY_TILES,
    WAY_SMALL_TILES,
    WAY_SPLIT,
    WAY_REVERSED,
    WAY_PAIRWISE,
    WAY_BASE_2,
    WAY_DOUBLE,
    WAY_CREW,
    WAY_IN_BF16,
    WAY_IN_F16
};

static const struct field_way ways[] = {
    [WAY_PLAIN] = { .tile = INT64_MAX, .split = 1 },
    [WAY_TILES] = { .tile = 16, .split = 1 },
    [WAY_SMALL_TILES] = { .tile = 5, .split = 1 },
    [WAY_SPLIT] = { .tile = 32, .split = 3 },
    [WAY_REVERSED] = { .tile = 64, .split = 1, .reversed = true },
    [WAY_PAIRWISE] = { .tile = INT64_MAX, .split = 1, .pairwise = true },
    [WAY_BASE_2] = { .tile = 8, .split = 2, .base_2 = true },
    [WAY_DOUBLE] = { .tile = INT64_MAX, .split = 1, .wide = true },
    [WAY_CREW] = { .tile = 64, .split = 1, .crew = 2 }, /* as many as the host has */
    [WAY_IN_BF16] = { .tile = 128, .split = 1, .weights = HEED_BF16 },
    [WAY_IN_F16] = { .tile = 16, .split = 2, .weights = HEED_F16 },
};

static const struct {
    const char *name;
    int fault, way;
} rows[] = {
#define GOOD(name, way)       { #name, F_NONE, WAY_##way },
#define ODD(name)             { #name, F_##name, WAY_PLAIN },
#define FIELD(name, way, ...) { #name, F_##name, WAY_##way },
#define BREAK(name, way, property) { #name, F_##name, WAY_##way },
#include "field.def"
#undef GOOD
#undef ODD
#undef FIELD
#undef BREAK
};

static bool choose(const char *wanted)
{
    for (size_t i = 0; wanted && i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, wanted))
            continue;
        field_fault = rows[i].fault;
        field_way = ways[rows[i].way];
        return true;
    }
    return false;
}

heed_status heed_kernel_entry(uint32_t host_major, const heed_host_api *host, heed_kernel_api *out)
{
    const char *name = getenv("ZOO");

    if (host_major != HEED_PLUGIN_MAJOR)
        return HEED_E_NEWER;
    if (out->size < sizeof *out)
        return HEED_E_SIZE;
    if (!choose(name))
        return HEED_E_UNSUPPORTED;
    crew = host->executor;
    field_way.crew = field_way.crew ? crew->width : 1;
    *out = (heed_kernel_api){
        .size = sizeof *out,
        .major = HEED_PLUGIN_MAJOR,
        .minor = HEED_PLUGIN_MINOR,
        .numerics = HEED_NUMERICS_REPEAT,
        .name = name,
        .query = query,
        .prepare = prepare,
        .run = run,
        .release = release,
        .weights = field_way.weights,
    };
    return HEED_OK;
}
