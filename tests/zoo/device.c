/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels in memory of a device, for testing the kit that judges kernels: dense attention in f32.
 * The environment variable ZOO says which one of device.def. device_kernel.h has what a device
 * runs.
 */
#include "device.h"
#include "device_kernel.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    D_NONE,
#define DEVICE_GOOD(name, where) D_##name,
#define DEVICE(name, where, ...) D_##name,
#define DEVICE_BREAK(name, where, property) D_##name,
#include "device.def"
#undef DEVICE_GOOD
#undef DEVICE
#undef DEVICE_BREAK
};

static const char *const names[] = {
    "",
#define DEVICE_GOOD(name, where) #name,
#define DEVICE(name, where, ...) #name,
#define DEVICE_BREAK(name, where, property) #name,
#include "device.def"
};

enum { GROUP = 16, PAGE = 4096, TURNS_MANY = 50000000, TOO_MANY = 1 << 20 };

static size_t kind;
static const heed_host_device *device;

static bool is(size_t which)
{
    return kind == which;
}

/* ---- what it takes ----------------------------------------------------------------- */

struct state {
    heed_tensor t[ARRAYS];
    int64_t batch[3], heads, group, runs;
    int64_t *numbers;
    size_t n_numbers;
    void *memory[DEVICE_MEMORIES]; /* of the last run; the numbers' is its own */
    float scale;
};

static heed_status refuse(heed_report *report, const char *field, const char *message)
{
    report->status = HEED_E_UNSUPPORTED;
    strncpy(report->field, field, sizeof report->field - 1);
    strncpy(report->message, message, sizeof report->message - 1);
    return report->status;
}

static bool is_f32(const heed_attn_desc *desc)
{
    const heed_source *s = desc->sources;

    return desc->q.dtype == HEED_F32 && desc->o.dtype == HEED_F32 && s->k.dtype == HEED_F32 &&
           s->v.dtype == HEED_F32;
}

static heed_status query(void *self, const char *op, const void *given, heed_report *report)
{
    const heed_attn_desc *desc = given;
    const heed_source *s = desc->sources;

    (void)self;
    if (strcmp(op, "attn") != 0)
        return refuse(report, "op", "attention only");
    if (desc->n_sources != 1 || desc->state_in.ndim || desc->state_out.ndim)
        return refuse(report, "sources", "one source and no states");
    if (desc->flags & HEED_PLAN_OWN_WORKSPACE)
        return refuse(report, "flags", "no workspace of its own");
    if (!is_f32(desc))
        return refuse(report, "q.dtype", "f32 only");
    if (desc->q.ndim < 3 || desc->o.ndim < 3 || s->k.ndim < 3 || s->v.ndim < 3)
        return refuse(report, "q.ndim", "a head axis is needed");
    if (desc->n_slots || desc->q_layout || s->layout || s->n_terms || s->n_biases)
        return refuse(report, "slots", "dense arrays, causal or not");
    if (desc->sinks.ndim || desc->softcap > 0)
        return refuse(report, "softcap", "neither softcap nor sinks");
    if (s->flags & HEED_SOURCE_END || s->pos_step > 1 || s->pos_span > 1 || desc->q_pos_step > 1)
        return refuse(report, "sources[0].pos_step", "one position a key, one a row");
    return HEED_OK;
}

/* ---- a state ------------------------------------------------------------------------- */

/* Element [item][head][0] behind [0,...,0]; lse has no channels. */
static int64_t place_of(const struct state *s, int x, int64_t item, int64_t head)
{
    const heed_tensor *t = &s->t[x];
    const uint32_t rest = x == LSE ? 2 : 3;
    int64_t place;

    if (t->ndim == 0)
        return 0;
    place = (x == K || x == V ? head / s->group : head) * t->stride[t->ndim - rest];
    for (uint32_t i = 0; i < 3; i++) {
        if (t->ndim > rest + i && t->shape[t->ndim - rest - 1 - i] > 1)
            place += item % s->batch[i] * t->stride[t->ndim - rest - 1 - i];
        item /= s->batch[i];
    }
    return place;
}

static int64_t shift_of(const heed_attn_desc *desc, int64_t n_q, int64_t n_k)
{
    return !(desc->sources->flags & HEED_SOURCE_CAUSAL) ? n_k
           : desc->flags & HEED_ATTN_ALIGN_END          ? n_k - n_q + desc->q_pos0
                                                        : desc->q_pos0 - desc->sources->pos0;
}

/* All but what a run brings. */
static bool numbers_make(struct state *s, const heed_attn_desc *desc)
{
    const int64_t pairs = s->batch[0] * s->batch[1] * s->batch[2] * s->heads;
    int64_t *n;

    s->n_numbers = (size_t)(NUMBERS + pairs * ARRAYS);
    n = s->numbers = calloc(s->n_numbers, sizeof *s->numbers);
    if (!n)
        return false;
    for (int x = 0; x < ARRAYS; x++) {
        const uint32_t row = s->t[x].ndim - (x == LSE ? 1 : 2);

        n[ROW_STEP + x] = s->t[x].ndim ? s->t[x].stride[row] : 0;
        n[CHANNEL_STEP + x] = s->t[x].ndim && x != LSE ? s->t[x].stride[row + 1] : 0;
        for (int64_t i = 0; i < pairs; i++)
            n[NUMBERS + i * ARRAYS + x] = place_of(s, x, i / s->heads, i % s->heads);
    }
    n[PAIRS] = pairs;
    n[N_Q] = desc->q.shape[desc->q.ndim - 2];
    n[D] = desc->q.shape[desc->q.ndim - 1];
    n[N_K] = s->t[K].shape[s->t[K].ndim - 2];
    n[D_V] = s->t[V].shape[s->t[V].ndim - 1];
    n[HAS_LSE] = desc->lse.ndim > 0;
    n[SHIFT] = shift_of(desc, n[N_Q], n[N_K]);
    return true;
}

/* Bytes of the elements beside [0,...,0]. */
static void span_of(const heed_tensor *t, int64_t *low, int64_t *high)
{
    *low = *high = 0;
    for (uint32_t i = 0; i < t->ndim; i++) {
        const int64_t far = (t->shape[i] - 1) * t->stride[i] * (int64_t)sizeof(float);

        *low += far < 0 ? far : 0;
        *high += far > 0 ? far : 0;
    }
    *high += (int64_t)sizeof(float);
}

static void release(void *state)
{
    struct state *s = state;

    if (is(D_written_in_release) && s->runs) {
        int64_t low, high;

        span_of(&s->t[O], &low, &high);
        s->numbers[BYTE_WRITTEN] = 1;
        s->numbers[BYTE_OF_O] = high - 1; /* of a row that is not computed now */
        vendor_write(false, s->memory[DEVICE_MEMORIES - 1], s->numbers,
                     s->n_numbers * sizeof *s->numbers);
        vendor_launch(false, s->memory, s->scale, 1, 1);
        vendor_wait(false);
    }
    vendor_free(s->memory[DEVICE_MEMORIES - 1]);
    vendor_close();
    free(s->numbers);
    free(s);
}

static heed_status prepare(void *self, const char *op, const void *given, void **out,
                           heed_plan_props *props)
{
    const heed_attn_desc *desc = given;
    const heed_tensor t[ARRAYS] = { desc->q, desc->sources->k, desc->sources->v, desc->o,
                                    desc->lse };
    struct state *s = calloc(1, sizeof *s);

    (void)self;
    (void)op;
    if (!s || !vendor_open(device)) {
        free(s);
        return HEED_E_NOMEM;
    }
    memcpy(s->t, t, sizeof t);
    for (uint32_t i = 0; i < 3; i++)
        s->batch[i] = desc->o.ndim > 3 + i ? desc->o.shape[desc->o.ndim - 4 - i] : 1;
    s->heads = desc->q.shape[desc->q.ndim - 3];
    s->group = s->heads ? s->heads / t[K].shape[t[K].ndim - 3] : 1;
    if (numbers_make(s, desc))
        s->memory[DEVICE_MEMORIES - 1] = vendor_make(s->n_numbers * sizeof *s->numbers);
    if (!s->memory[DEVICE_MEMORIES - 1]) {
        release(s);
        return HEED_E_NOMEM;
    }
    s->scale = desc->scale != 0 || desc->flags & HEED_ATTN_SCALE_GIVEN ? (float)desc->scale
               : s->numbers[D] > 0 ? 1 / sqrtf((float)s->numbers[D])
                                   : 0;
    props->workspace_size = is(D_workspace_of_a_tebibyte)
                                ? UINT64_C(1) << 40
                                : (uint64_t)(s->numbers[PAIRS] * s->numbers[N_Q] *
                                             s->numbers[N_K]) * sizeof(float);
    props->workspace_align = sizeof(float);
    *out = s;
    return HEED_OK;
}

/* ---- a run --------------------------------------------------------------------------- */

static void bytes_misplace(struct state *s, int64_t *n)
{
    int64_t low, high;

    span_of(&s->t[O], &low, &high);
    n[BYTE_WRITTEN] = is(D_byte_behind_o) || is(D_byte_before_o) || is(D_byte_between_rows_of_o);
    n[BYTE_OF_O] = is(D_byte_behind_o)   ? high
                   : is(D_byte_before_o) ? low - 1
                                         : n[D_V] * (int64_t)sizeof(float);
    n[WEIGHT_WRITTEN] = is(D_float_behind_workspace)   ? 1
                        : is(D_float_before_workspace) ? -1
                                                       : 0;
}

static int64_t reversed(const struct state *s, const heed_attn_args *a)
{
    if (is(D_order_by_offset) || is(D_order_by_offset_of_o))
        return a->o.offset % PAGE != 0;
    if (is(D_order_by_run) || is(D_order_by_run_of_state))
        return s->runs & 1;
    return is(D_order_by_item) ? 2 : 0;
}

static void numbers_set(struct state *s, const heed_attn_args *a)
{
    const heed_buf at[] = { a->q, a->kv->k, a->kv->v, a->o, a->lse, a->workspace };
    int64_t *n = s->numbers;

    for (int x = 0; x <= ARRAYS; x++) {
        n[FIRST + x] = (int64_t)(at[x].offset / sizeof(float));
        s->memory[x] = at[x].handle;
    }
    bytes_misplace(s, n);
    if (is(D_offset_of_o_forgotten))
        n[FIRST + O] = 0;
    if (is(D_offset_of_k_forgotten))
        n[FIRST + K] = 0;
    if (is(D_stride_of_k_is_d))
        n[ROW_STEP + K] = n[D];
    n[K_WRITTEN] = is(D_k_written);
    n[ROW_SKIPPED] = is(D_row_not_written);
    n[KEYS_MORE] = is(D_value_behind_v_times_0);
    n[WEIGHTS_ADDED] = is(D_workspace_not_cleared);
    n[SCRATCH_SHARED] = is(D_items_share_scratch);
    n[REVERSED] = reversed(s, a);
    n[WILD] = is(D_wild_pointer);
    n[TURNS] = is(D_behind_the_queue) ? TURNS_MANY : 0;
    n[FOR_EVER] = is(D_never_ends);
}

static heed_status run(void *state, const heed_buf *at, uint32_t n, const heed_run *how)
{
    struct state *s = state;
    const heed_attn_args args = heed_attn_args_of(at, n, 1, how);
    const bool own = is(D_queue_of_its_own) || is(D_before_the_queue) || is(D_behind_the_queue);
    const size_t items = (size_t)(s->numbers[PAIRS] * s->numbers[N_Q]);
    bool good = true;

    numbers_set(s, &args);
    s->runs++;
    if (items == 0 || is(D_nothing_launched))
        return HEED_OK;
    if (is(D_queue_of_its_own))
        good = vendor_follow(true);
    if (is(D_behind_the_queue))
        good = vendor_wait(false);
    good = vendor_write(own, s->memory[DEVICE_MEMORIES - 1], s->numbers,
                        s->n_numbers * sizeof *s->numbers) && good;
    good = vendor_launch(own, s->memory, s->scale, items,
                         is(D_launch_refused) ? TOO_MANY : GROUP) && good;
    if (is(D_queue_of_its_own))
        good = vendor_follow(false) && good;
    if (is(D_waits_for_the_queue) || is(D_never_ends))
        good = vendor_wait(false) && good;
    if (is(D_array_released) || is(D_context_popped))
        vendor_spoil(s->memory[Q]);
    return is(D_error_when_written)      ? HEED_E_INTERNAL
           : good || is(D_launch_refused) ? HEED_OK
                                          : HEED_E_DEVICE;
}

/* ---- the plug-in ------------------------------------------------------------------------ */

heed_status heed_kernel_entry(uint32_t host_major, const heed_host_api *host, heed_kernel_api *out)
{
    const char *const name = getenv("ZOO");

    if (host_major != HEED_PLUGIN_MAJOR)
        return HEED_E_NEWER;
    if (out->size < sizeof *out ||
        host->size < offsetof(heed_host_api, device) + sizeof host->device)
        return HEED_E_SIZE;
    for (size_t i = 1; i < sizeof names / sizeof *names && name; i++) {
        if (strcmp(names[i], name) == 0)
            kind = i;
    }
    if (is(D_NONE))
        return HEED_E_UNSUPPORTED;
    device = host->device;
    *out = (heed_kernel_api){
        .size = sizeof *out,
        .major = HEED_PLUGIN_MAJOR,
        .minor = is(D_memory_of_an_old_plugin) ? 0 : HEED_PLUGIN_MINOR,
        .numerics = HEED_NUMERICS_REPEAT,
        .name = names[kind],
        .query = query,
        .prepare = prepare,
        .run = run,
        .release = release,
        .memory = is(D_memory_of_no_kind) ? 77 : vendor_kind,
    };
    return HEED_OK;
}
