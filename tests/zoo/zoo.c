/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels with one fault each, for testing the kit that judges kernels: the example plug-in, whose
 * state or outputs a fault changes. The environment variable ZOO says which. zoo.def has the
 * verdict that each must get.
 */
#define _DEFAULT_SOURCE

#include "hostile.h"

static heed_kernel_entry_type example_entry;
#define heed_kernel_entry example_entry
#include "../../examples/plugin/plugin.c"
#undef heed_kernel_entry

#include <fenv.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Changes what prepare made (args NULL), or what run wrote. */
typedef heed_status fault(struct state *, const heed_attn_args *);

/* ---- wrong numbers ----------------------------------------------------------- */

static heed_status mask_late(struct state *s, const heed_attn_args *args)
{
    (void)args;
    s->shift++;
    return HEED_OK;
}

static heed_status mask_early(struct state *s, const heed_attn_args *args)
{
    (void)args;
    s->shift -= s->shift != s->n_k;
    return HEED_OK;
}

static heed_status aligned_wrong(struct state *s, const heed_attn_args *args)
{
    (void)args;
    if (s->shift != s->n_k)
        s->shift -= s->n_k - s->n_q;
    return HEED_OK;
}

static heed_status scale_forgotten(struct state *s, const heed_attn_args *args)
{
    (void)args;
    s->scale = 1;
    return HEED_OK;
}

static heed_status scale_near(struct state *s, const heed_attn_args *args)
{
    (void)args;
    s->scale *= 1.0005f;
    return HEED_OK;
}

static heed_status key_dropped(struct state *s, const heed_attn_args *args)
{
    (void)args;
    s->n_k -= s->n_k > 0;
    return HEED_OK;
}

static heed_status head_wrong(struct state *s, const heed_attn_args *args)
{
    const int64_t heads = s->heads / s->group;

    (void)args;
    if (s->group > 1 && heads > 1) /* heads dealt out in turn */
        s->group = s->heads;
    return HEED_OK;
}

typedef void visitor(const struct state *, int64_t item, int64_t head, int64_t row,
                     const heed_attn_args *);

static void each_row(const struct state *s, visitor *visit, const heed_attn_args *args)
{
    for (int64_t item = 0; item < s->batch[0] * s->batch[1] * s->batch[2]; item++) {
        for (int64_t head = 0; head < s->heads; head++) {
            for (int64_t row = 0; row < s->n_q; row++)
                visit(s, item, head, row, args);
        }
    }
}

static void lse_to_base_2(const struct state *s, int64_t item, int64_t head, int64_t row,
                          const heed_attn_args *args)
{
    if (s->t[LSE].ndim)
        *at(s, LSE, args->lse, item, head, row) *= 1.4426950408889634f;
}

static heed_status lse_base_2(struct state *s, const heed_attn_args *args)
{
    each_row(s, lse_to_base_2, args);
    return HEED_OK;
}

/* All keys times a weight of 0. */
static void leak(const struct state *s, int64_t item, int64_t head, int64_t row,
                 const heed_attn_args *args)
{
    float *o = at(s, O, args->o, item, head, row);

    for (int64_t j = 0; j < s->n_k; j++) {
        const float *v = at(s, V, args->kv->v, item, head / s->group, j);

        for (int64_t c = 0; c < s->d_v; c++)
            o[c * step(s, O)] = clean((double)(o[c * step(s, O)] + 0 * v[c * step(s, V)]));
    }
}

static heed_status nan_leaked(struct state *s, const heed_attn_args *args)
{
    each_row(s, leak, args);
    return HEED_OK;
}

static void flip(const struct state *s, int64_t item, int64_t head, int64_t row,
                 const heed_attn_args *args)
{
    float *o = at(s, O, args->o, item, head, row);
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    if (s->d_v > 0 && isfinite(*o) && fabsf(*o) > 1e-3f && now.tv_nsec / 64 % 2)
        *o = nextafterf(*o, 0);
}

static heed_status run_to_run(struct state *s, const heed_attn_args *args)
{
    each_row(s, flip, args);
    return HEED_OK;
}

static void negate(const struct state *s, int64_t item, int64_t head, int64_t row,
                   const heed_attn_args *args)
{
    float *o = at(s, O, args->o, item, head, row);

    for (int64_t c = 0; c < s->d_v; c++)
        o[c * step(s, O)] = o[c * step(s, O)] == 0 ? -0.0f : o[c * step(s, O)];
}

static heed_status zero_negative(struct state *s, const heed_attn_args *args)
{
    each_row(s, negate, args);
    return HEED_OK;
}

/* ---- memory ------------------------------------------------------------------ */

static heed_status row_unwritten(struct state *s, const heed_attn_args *args)
{
    (void)args;
    s->n_q -= s->n_q > 0;
    return HEED_OK;
}

static heed_status lse_unwritten(struct state *s, const heed_attn_args *args)
{
    (void)args;
    s->t[LSE].ndim = 0;
    return HEED_OK;
}

static bool rows_there(const struct state *s)
{
    return s->batch[0] * s->batch[1] * s->batch[2] * s->n_q * s->d_v * s->d > 0;
}

static heed_status beside_output(struct state *s, const heed_attn_args *args)
{
    const heed_tensor *o = &s->t[O];
    int64_t last = 0;

    for (uint32_t i = 0; i < o->ndim; i++)
        last += o->stride[i] > 0 ? (o->shape[i] - 1) * o->stride[i] : 0;
    if (rows_there(s))
        at(s, O, args->o, 0, 0, 0)[last + 1] = 1;
    return HEED_OK;
}

static volatile float sink_of_reads;

static heed_status reads_beside(struct state *s, const heed_attn_args *args)
{
    if (rows_there(s) && s->n_k > 0)
        sink_of_reads = at(s, K, args->kv->k, 0, 0, s->n_k - 1)[16384];
    return HEED_OK;
}

static heed_status writes_input(struct state *s, const heed_attn_args *args)
{
    if (rows_there(s))
        *at(s, Q, args->q, 0, 0, 0) = 1;
    return HEED_OK;
}

/* The second run of a state writes nothing. */
static heed_status writes_once(struct state *s, const heed_attn_args *args)
{
    (void)args;
    s->n_q = 0;
    return HEED_OK;
}

/* A state that the runs change. */
static heed_status carries_over(struct state *s, const heed_attn_args *args)
{
    (void)args;
    s->scale *= 1.001f;
    return HEED_OK;
}

static float *output_kept;

static heed_status keeps_output(struct state *s, const heed_attn_args *args)
{
    output_kept = rows_there(s) ? at(s, O, args->o, 0, 0, 0) : NULL;
    return HEED_OK;
}

static heed_status writes_late(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    if (output_kept)
        *output_kept = 1;
    return HEED_OK;
}

static const heed_attn_desc *desc_kept;

/* The descriptor of prepare is nonsense by now. */
static heed_status keeps_descriptor(struct state *s, const heed_attn_args *args)
{
    (void)args;
    s->n_k = desc_kept->sources->k.shape[desc_kept->sources->k.ndim - 2];
    return HEED_OK;
}

/* ---- processes, time, resources ------------------------------------------------ */

static heed_status segfault(struct state *s, const heed_attn_args *args)
{
    (void)args;
    s->scale += *(volatile float *)((uintptr_t)4096 + (uintptr_t)(s->d < 0));
    return HEED_OK;
}

static heed_status aborts(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    abort();
}

static heed_status loops(struct state *s, const heed_attn_args *args)
{
    for (volatile float *scale = &s->scale; *scale < INFINITY; *scale = 1)
        (void)args;
    return HEED_OK;
}

static heed_status forks_and_hangs(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    if (fork() >= 0)
        (void)pause();
    return HEED_OK;
}

static heed_status leaves_process(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    if (fork() == 0) {
        for (;;)
            pause();
    }
    return HEED_OK;
}

static heed_status eats_memory(struct state *s, const heed_attn_args *args)
{
    const size_t block = (size_t)16 << 20;

    (void)s, (void)args;
    for (;;) {
        void *more = mmap(NULL, block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (more == MAP_FAILED)
            return HEED_E_NOMEM;
    }
}

static heed_status memory_unchecked(struct state *s, const heed_attn_args *args)
{
    volatile char *room;

    (void)eats_memory(s, args);
    room = malloc((size_t)32 << 20);
    room[0] = 1;
    return HEED_OK;
}

static heed_status status_wrong(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    return HEED_E_UNSUPPORTED;
}

static heed_status rounds_down(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    fesetround(FE_DOWNWARD);
    return HEED_OK;
}

static heed_status none(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    return HEED_OK;
}

/* ---- the table ----------------------------------------------------------------- */

enum { AT_ENTRY, AT_PREPARE, BEFORE_RUN, AT_RUN, AT_RELEASE, TIMES };

static heed_kernel_api *table;
static fault *faults[TIMES] = { none, none, none, none, none };

static heed_status other_major(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    table->major++;
    return HEED_OK;
}

static heed_status claims_exact(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    table->numerics = HEED_NUMERICS_EXACT;
    return HEED_OK;
}

static heed_status function_missing(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    table->release = NULL;
    return HEED_OK;
}

/* Who claims the bound alone may answer otherwise each time: no fault. */
static heed_status claims_fast(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    table->numerics = HEED_NUMERICS_FAST;
    faults[AT_RUN] = run_to_run;
    return HEED_OK;
}

static heed_status query_wrong(void *self, const char *op, const void *desc, heed_report *report)
{
    return query(self, op, desc, report) == HEED_OK ? HEED_OK : HEED_E_VALUE;
}

static heed_status query_misuses(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    table->query = query_wrong;
    return HEED_OK;
}

static const volatile char *constant_kept;

/* Takes lengths as well, if they are constant. */
static heed_status query_lengths(void *self, const char *op, const void *given,
                                 heed_report *report)
{
    const heed_attn_desc *desc = given;
    heed_attn_desc without;

    if (strcmp(op, "attn") != 0)
        return query(self, op, given, report);
    without = *desc;
    if (desc->n_slots == 1 && desc->n_sources == 1 && desc->sources->len_slot &&
        desc->slots->data)
        without.n_slots = 0;
    return query(self, op, &without, report);
}

static heed_status lengths_read(struct state *s, const heed_attn_args *args)
{
    (void)args;
    if (constant_kept)
        s->scale += (float)*constant_kept;
    return HEED_OK;
}

static heed_status keeps_constant(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    table->query = query_lengths;
    faults[BEFORE_RUN] = lengths_read;
    return HEED_OK;
}

static heed_status query_all(void *self, const char *op, const void *desc, heed_report *report)
{
    return strcmp(op, "attn") == 0 ? HEED_OK : query(self, op, desc, report);
}

static heed_status prepare_refuses(void *self, const char *op, const void *desc, void **out,
                                   heed_plan_props *props)
{
    heed_report report = { .size = sizeof report };

    if (query(self, op, desc, &report) != HEED_OK)
        return HEED_E_UNSUPPORTED;
    return prepare(self, op, desc, out, props);
}

static heed_status query_accepts_all(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    table->query = query_all;
    table->prepare = prepare_refuses;
    return HEED_OK;
}

/* ---- the plug-in ---------------------------------------------------------------- */

static const struct {
    const char *name;
    fault *fault;
    int when;
} zoo[] = {
#define FAULT(name, when, ...) { #name, name, when },
#include "zoo.def"
#undef FAULT
};

static heed_status zoo_prepare(void *self, const char *op, const void *given, void **out,
                               heed_plan_props *props)
{
    const heed_attn_desc *desc = given;
    const heed_status status = prepare(self, op, desc, out, props);

    desc_kept = desc;
    constant_kept = desc->n_slots ? desc->slots->data : NULL;
    return status < 0 ? status : faults[AT_PREPARE](*out, NULL);
}

static heed_status zoo_run(void *state, const heed_buf *places, uint32_t n, const heed_run *how)
{
    const heed_attn_args arguments = heed_attn_args_of(places, n, 1, how), *args = &arguments;
    heed_status status = faults[BEFORE_RUN](state, args);

    if (status >= 0)
        status = run(state, places, n, how);
    if (faults[AT_RELEASE] != none)
        keeps_output(state, args);
    if (faults[AT_RELEASE] == writes_from_thread)
        writes_from_thread(state, args);
    return status < 0 ? status : faults[AT_RUN](state, args);
}

static void zoo_release(void *state)
{
    (void)faults[AT_RELEASE](state, NULL);
    free(state);
}

heed_status heed_kernel_entry(uint32_t host_major, const heed_host_api *host, heed_kernel_api *out)
{
    const char *wanted = getenv("ZOO");
    const heed_status status = example_entry(host_major, host, out);

    if (status < 0)
        return status;
    for (size_t i = 0; i < sizeof zoo / sizeof *zoo; i++) {
        if (!wanted || strcmp(zoo[i].name, wanted))
            continue;
        faults[zoo[i].when] = zoo[i].fault;
        out->name = zoo[i].name;
        out->prepare = zoo_prepare;
        out->run = zoo_run;
        out->release = zoo_release;
        table = out;
        return faults[AT_ENTRY](NULL, NULL);
    }
    return HEED_E_UNSUPPORTED;
}
