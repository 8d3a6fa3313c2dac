/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The CPU backend: its devices ("cpu" is the best instruction set, "cpu:NAME" a given one) and what
 * bind decides.
 */
#include "isa.h"
#include "state.h"
#include "tune.h"

#include <stdio.h>

/* Device 0 is the best; device i the i-th instruction set but one. */
static const struct heed_cpu_isa *device_isa(uint32_t index)
{
    return index == 0 ? heed_isa_best() : heed_isa_get(index - 1);
}

static uint32_t count(void)
{
    uint32_t n = 0;

    while (heed_isa_get(n))
        n++;
    return n + 1;
}

static void describe(uint32_t index, heed_device_props *props)
{
    const struct heed_cpu_isa *isa = device_isa(index);
    const char *reason = heed_isa_refuse(isa);

    props->kind = HEED_DEVICE_CPU;
    props->exact = 1;
    props->usable = reason ? HEED_E_UNSUPPORTED : HEED_OK;
    if (index == 0)
        snprintf(props->name, sizeof props->name, "cpu");
    else
        snprintf(props->name, sizeof props->name, "cpu:%s", isa->name);
    snprintf(props->description, sizeof props->description, "%s (%s)", isa->name, isa->description);
    snprintf(props->reason, sizeof props->reason, "%s", reason ? reason : "");
}

static void strips_find(struct heed_cpu_state *state, const struct heed_plan *plan)
{
    const struct heed_checked *attn = plan->attn;
    int64_t rows = HEED_TUNE_ROWS;

    state->stack = plan->lowered->stack;
    state->group = plan->lowered->group;
    state->row_step = plan->lowered->row_step;
    if (state->stack > rows)
        state->stack = hk_gcd(state->stack, rows);
    /* Enough strips for all lanes, as long as a strip is worth its K and V traffic. */
    while (rows > HEED_TUNE_ROWS_LEAST) {
        const double strips =
            (double)attn->n_batch * (double)attn->heads * (double)attn->n_q / (double)rows;

        if (strips >= (double)state->lanes * HEED_TUNE_STRIPS || state->lanes == 1)
            break;
        rows /= 2;
    }
    state->rows = rows / state->stack > 0 ? rows / state->stack : 1;
    if (state->group > 0 && state->row_step > 1)
        state->rows = 1;
}

/* Adds count * size bytes to *at, aligned; returns where they begin. *ok is cleared on overflow. */
static uint64_t place(uint64_t *at, double count, uint64_t size, bool *ok)
{
    const uint64_t start = *at;

    if (!*ok || count * (double)size + (double)start > 0x1p61) {
        *ok = false;
        return 0;
    }
    *at += ((uint64_t)count * size + HEED_CPU_ALIGN - 1) / HEED_CPU_ALIGN * HEED_CPU_ALIGN;
    return start;
}

static bool workspace_find(struct heed_cpu_state *state, const struct heed_plan *plan)
{
    const struct heed_checked *attn = plan->attn;
    const struct heed_lowered *lowered = plan->lowered;
    const double batch = (double)attn->n_batch;
    uint64_t at = 0;
    bool ok = true;
    const size_t scratch = state->isa->scratch(attn, state->rows * state->stack);

    if (scratch == 0)
        return false;
    uint64_t lane = 0;
    uint64_t biases = 0;

    for (uint32_t s = 0; s < attn->n_sources; s++)
        biases += attn->sources[s].n_biases;
    place(&lane, (double)scratch, 1, &ok);
    state->scratch_bytes = lane;
    place(&lane, (double)(state->rows * state->stack), sizeof(struct heed_cpu_row), &ok);
    place(&lane, (double)state->rows, sizeof(int64_t), &ok);
    place(&lane, (double)attn->n_sources + 1, sizeof(struct heed_cpu_source), &ok);
    place(&lane, (double)lowered->n_subs + 1, sizeof(struct hk_item), &ok);
    place(&lane, (double)biases + 1, sizeof(struct heed_cpu_bias), &ok);
    state->lane_bytes = lane;
    place(&at, (double)lane * state->lanes, 1, &ok);
    state->counts = place(&at, batch * attn->n_sources * 2, sizeof(int64_t), &ok);
    state->strips = place(&at, batch + 1, sizeof(int64_t), &ok);
    for (uint32_t s = 0; s < attn->n_sources; s++) {
        const struct heed_checked_source *source = &attn->sources[s];
        struct heed_cpu_prepared *p = &state->sources[s];
        const double n_q = (double)attn->n_q * (double)state->stack;

        p->blocks = source->n_k / HEED_CPU_BLOCK + (source->n_k % HEED_CPU_BLOCK != 0);
        p->row_words = attn->n_q / 64 + 1;
        p->shared = lowered->sources[s].shared;
        p->packs = source->layout == HEED_LAYOUT_DENSE && lowered->sources[s].has_keys &&
                   n_q > (double)(state->rows * state->stack);
        if (lowered->sources[s].keys)
            p->keys = place(&at, batch * (double)p->blocks, sizeof(uint64_t), &ok);
        if (lowered->sources[s].rows)
            p->rows = place(&at, batch * (double)p->row_words, sizeof(uint64_t), &ok);
        if (p->packs) {
            const double blocks =
                (p->shared ? 1 : batch) * (double)source->heads * (double)p->blocks;

            p->packed = place(&at, blocks * HEED_CPU_BLOCK * (double)attn->d, sizeof(float), &ok);
            p->finite = place(&at, blocks, 1, &ok);
        }
    }
    state->workspace = at;
    return ok;
}

/* The same sizes that prepare finds. */
static bool accepts(const struct heed_plan *plan, const struct heed_services *services,
                    struct heed_refusal *why)
{
    _Alignas(struct heed_cpu_state) char room[sizeof(struct heed_cpu_state) +
                                              HEED_MAX_SOURCES * sizeof(struct heed_cpu_prepared)];
    struct heed_cpu_state *state = (struct heed_cpu_state *)(void *)room;

    memset(room, 0, sizeof room);
    state->isa = device_isa(plan->device->index);
    state->lanes = services->executor->width;
    strips_find(state, plan);
    if (workspace_find(state, plan))
        return true;
    why->reason = "its workspace would leave the address space";
    return false;
}

static heed_status prepare(struct heed_plan *plan, const struct heed_services *services,
                           struct heed_error_detail *detail)
{
    const size_t bytes =
        sizeof(struct heed_cpu_state) + plan->attn->n_sources * sizeof(struct heed_cpu_prepared);
    struct heed_cpu_state *state =
        services->alloc(services->runtime, bytes, _Alignof(struct heed_cpu_state));

    (void)detail;
    if (!state)
        return HEED_E_NOMEM;
    memset(state, 0, bytes);
    state->isa = device_isa(plan->device->index);
    state->bytes = bytes;
    state->lanes = services->executor->width;
    strips_find(state, plan);
    if (!workspace_find(state, plan)) {
        services->free(services->runtime, state, bytes, _Alignof(struct heed_cpu_state));
        return HEED_E_OVERFLOW;
    }
    plan->state = state;
    plan->workspace_size = state->workspace;
    plan->workspace_align = HEED_CPU_ALIGN;
    return HEED_OK;
}

static void release(struct heed_plan *plan, const struct heed_services *services)
{
    struct heed_cpu_state *state = plan->state;

    if (state)
        services->free(services->runtime, state, state->bytes, _Alignof(struct heed_cpu_state));
    plan->state = NULL;
}

static const struct heed_impl attend_tile = {
    .op = HEED_OP_ATTN,
    .name = "attend-tile",
    .accepts = accepts,
    .prepare = prepare,
    .run = heed_execute,
    .release = release,
};

static const struct heed_impl *const impls[] = { &attend_tile, NULL };

const struct heed_backend heed_cpu_backend = {
    .size = sizeof(struct heed_backend),
    .kind = HEED_DEVICE_CPU,
    .host = 1,
    .count = count,
    .describe = describe,
    .impls = impls,
};
