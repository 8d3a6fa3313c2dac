/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed as a plug-in, of every operation, with one of the faults of faulty.def: the environment
 * variable ZOO names it. The file that ZOO_COUNTS names, if any, holds a struct counts: how often
 * the fault showed, and how often usual tolerances would have seen it, of the same outputs.
 */
#include <heed/plugin.h>

static heed_kernel_entry_type right_entry;
#define heed_kernel_entry right_entry
#include "heed.c"
#undef heed_kernel_entry

#include "faulty.h"

#include <fcntl.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PLACE(name, what) { #name, OF_PLACE, 0 },
#define WORD(name, what) { #name, OF_WORD, 0 },
#define GIVEN(name, operand, what) { #name, OF_GIVEN, operand },
#define BESIDE(name, what) { #name, OF_BESIDE, 0 },
#define AGAIN(name, what) { #name, OF_AGAIN, 0 },
static const struct {
    const char *name;
    int kind, operand;
} faults[] = {
#include "faulty.def"
};

/* acted: runs in which something was wrong; of those whose right outputs are finite, asked: all,
 * close: seen by torch.testing.assert_close with its defaults, nmse: by ggml's test-backend-ops. */
struct counts {
    uint64_t runs, acted, asked, close, nmse;
};

static struct counts nowhere, *counts = &nowhere;
int faulty_which = N_FAULTS;
static double nmse_allowed;

/* A plan of heed's and its arrays. */
struct faulty {
    void *plan;
    heed_operand list[OPERANDS];
    uint32_t n;
    int output;                     /* the first output that has elements; -1: there is none */
    unsigned char *old[OPERANDS];   /* what outputs held */
    unsigned char *right[OPERANDS]; /* what is right */
    int64_t runs;
    pthread_t later;
};

/* ---- runs ------------------------------------------------------------------------------ */

static bool is_there(const struct faulty *s, uint32_t i, const heed_buf *at)
{
    return at[i].handle && s->list[i].high > s->list[i].low;
}

static unsigned char *start_of(const heed_buf *b)
{
    return (unsigned char *)b->handle + b->offset;
}

static bool kept(struct faulty *s, unsigned char **to, const heed_buf *at)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const int64_t low = s->list[i].low, size = s->list[i].high - low;

        if (s->list[i].role == HEED_ROLE_IN || !is_there(s, i, at))
            continue;
        if (!to[i])
            to[i] = malloc((size_t)size);
        if (!to[i])
            return false;
        memcpy(to[i], start_of(&at[i]) + low, (size_t)size);
    }
    return true;
}

static void put_back(struct faulty *s, const heed_buf *at)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->old[i] && is_there(s, i, at))
            memcpy(start_of(&at[i]) + s->list[i].low, s->old[i],
                   (size_t)(s->list[i].high - s->list[i].low));
}

/* The number of the input that the fault is about; -1: there is none. */
static int input_of(const struct faulty *s, const heed_buf *at)
{
    int wanted = faults[faulty_which].kind == OF_GIVEN ? faults[faulty_which].operand : 0,
        found = -1;

    for (uint32_t i = 0; i < s->n; i++) {
        if (s->list[i].role != HEED_ROLE_IN || !is_there(s, i, at) ||
            faulty_bytes(s->list[i].tensor.dtype) == 0)
            continue;
        found = (int)i;
        if (wanted == 0)
            return found;
        wanted -= wanted > 0;
    }
    return faults[faulty_which].operand == LAST ? found : -1;
}

/* Runs on a copy of an input that is not the one given. */
static heed_status run_on_wrong(struct faulty *s, const heed_buf *at, uint32_t n,
                                const heed_run *how)
{
    const int which = input_of(s, at);
    heed_buf with[OPERANDS];
    heed_status status;
    int64_t low, size, shift;
    unsigned char *memory;
    struct view whole, copy;

    if (which < 0 || n > OPERANDS)
        return HEED_OK;
    low = s->list[which].low;
    size = s->list[which].high - low;
    memory = malloc((size_t)size + 4096);
    if (!memory)
        return HEED_E_NOMEM;
    shift = (int64_t)(((uintptr_t)(start_of(&at[which]) + low) - (uintptr_t)memory) % 64);
    memcpy(memory + shift, start_of(&at[which]) + low, (size_t)size);
    memcpy(with, at, n * sizeof *with);
    with[which].handle = memory + shift - low;
    with[which].offset = 0;
    if (faulty_view(&whole, start_of(&at[which]), &s->list[which].tensor) &&
        faulty_view(&copy, memory + shift - low, &s->list[which].tensor))
        faulty_given(&copy, &whole);
    put_back(s, at);
    status = run(s->plan, with, n, how);
    free(memory);
    return status;
}

static void *write_later(void *at)
{
    const struct timespec while_ = { .tv_nsec = 20000000 };

    nanosleep(&while_, NULL);
    *(volatile unsigned char *)at ^= 1;
    return NULL;
}

/* true: something was done that the outputs need not show. */
static bool beside_wrong(struct faulty *s, const heed_buf *at, const struct view *v)
{
    const heed_operand *const o = &s->list[s->output];
    const int in = input_of(s, at);

    switch (faulty_which) {
    case FAULT_byte_behind:
        v->at[o->high] ^= 1;
        return true;
    case FAULT_byte_before:
        v->at[o->low - 1] ^= 1;
        return true;
    case FAULT_gap_written:
        if (v->row < 0 || v->channel < 0 || v->stride[v->channel] != v->bytes ||
            v->stride[v->row] <= v->shape[v->channel] * v->bytes)
            return false;
        v->at[v->shape[v->channel] * v->bytes] ^= 1;
        return true;
    case FAULT_input_written:
        if (in >= 0)
            start_of(&at[in])[0] ^= 1;
        return in >= 0;
    case FAULT_read_behind:
        if (in >= 0)
            (void)*(volatile unsigned char *)(start_of(&at[in]) + s->list[in].high);
        return in >= 0;
    case FAULT_late_written:
        return !s->later && pthread_create(&s->later, NULL, write_later, v->at) == 0;
    case FAULT_rounding_left:
        fesetround(FE_DOWNWARD);
        return true;
    case FAULT_status_wrong:
        return true;
    }
    return false;
}

static bool depends(const struct faulty *s, const unsigned char *at, const unsigned char *old,
                    unsigned char work, const heed_run *how)
{
    struct timespec now;

    switch (faulty_which) {
    case FAULT_of_run:
        return s->runs > 0;
    case FAULT_of_address:
        return (uintptr_t)at / 4096 % 2;
    case FAULT_of_alignment:
        return (uintptr_t)at % 64 != 0;
    case FAULT_of_old_output:
        return *old & 1;
    case FAULT_of_workspace:
        return how->workspace_size > 0 && (work & 1);
    case FAULT_of_time:
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_nsec / 64 % 2;
    }
    return false;
}

/* ---- what usual tests see -------------------------------------------------------------- */

static void tolerances_ask(struct faulty *s, const heed_buf *at, bool beside)
{
    bool changed = beside, finite = true, far = false, sees = false;

    for (uint32_t i = 0; i < s->n; i++) {
        const int64_t low = s->list[i].low, size = s->list[i].high - low;
        double rtol = 0, atol = 1e-5, error = 0, norm = 0;
        struct view v;

        if (!s->right[i] || !is_there(s, i, at))
            continue;
        changed |= memcmp(start_of(&at[i]) + low, s->right[i], (size_t)size) != 0;
        if (!faulty_view(&v, start_of(&at[i]), &s->list[i].tensor))
            continue;
        rtol = v.dtype == HEED_F32 ? 1.3e-6 : v.dtype == HEED_F16 ? 1e-3 : 1.6e-2;
        if (!faulty_float(v.dtype))
            rtol = atol = 0;
        for (int64_t e = 0; e < v.n; e++) {
            int64_t c[AXES];
            double x, y;

            faulty_place(&v, e, c);
            x = faulty_value(s->right[i] + faulty_offset(&v, c) - low, v.dtype);
            y = faulty_value(v.at + faulty_offset(&v, c), v.dtype);
            finite &= isfinite(x) != 0;
            far |= !(fabs(x - y) <= atol + rtol * fabs(x));
            error += (x - y) * (x - y);
            norm += x * x;
        }
        sees |= !(error <= nmse_allowed * norm);
    }
    counts->runs++;
    counts->acted += changed;
    if (!changed || !finite)
        return;
    counts->asked++;
    far |= faulty_which == FAULT_status_wrong; /* any test asks for it */
    sees |= faulty_which == FAULT_status_wrong;
    counts->close += far;
    counts->nmse += sees || faulty_which == FAULT_byte_behind || faulty_which == FAULT_byte_before;
}

/* ---- the plug-in ------------------------------------------------------------------------- */

static heed_status faulty_prepare(void *self, const char *op, const void *desc, void **out,
                                  heed_plan_props *props)
{
    struct faulty *const s = calloc(1, sizeof *s);
    heed_status status;

    if (!s)
        return HEED_E_NOMEM;
    nmse_allowed = strcmp(op, "attn") && strcmp(op, "linear") ? 1e-7 : 5e-4;
    status = prepare(self, op, desc, &s->plan, props);
    s->output = -1;
    if (status < 0 || heed_plan_operands(s->plan, s->list, OPERANDS, sizeof *s->list, &s->n) < 0) {
        free(s);
        return status;
    }
    s->n = s->n < OPERANDS ? s->n : OPERANDS;
    for (uint32_t i = s->n; i-- > 0;)
        if (s->list[i].role != HEED_ROLE_IN && s->list[i].high > s->list[i].low &&
            faulty_bytes(s->list[i].tensor.dtype))
            s->output = (int)i;
    *out = s;
    return status;
}

static heed_status faulty_run(void *state, const heed_buf *at, uint32_t n, const heed_run *how)
{
    struct faulty *const s = state;
    const unsigned char work =
        how->workspace_size ? *(const unsigned char *)how->workspace.handle : 0;
    const bool some = s->output >= 0 && at[s->output].handle;
    heed_status status;
    bool beside = false;
    struct view v;

    if (faulty_which == N_FAULTS || !some)
        return run(s->plan, at, n, how);
    if (!kept(s, s->old, at))
        return HEED_E_NOMEM;
    status = run(s->plan, at, n, how);
    if (status < 0 || !kept(s, s->right, at))
        return status < 0 ? status : HEED_E_NOMEM;
    if (!faulty_view(&v, start_of(&at[s->output]), &s->list[s->output].tensor))
        return status;
    switch (faults[faulty_which].kind) {
    case OF_PLACE:
    case OF_WORD:
        faulty_output(&v, s->old[s->output], s->right[s->output], s->list[s->output].low);
        break;
    case OF_GIVEN:
        status = run_on_wrong(s, at, n, how);
        break;
    case OF_BESIDE:
        counts->acted++; /* the next line may be the last one of this process */
        beside = beside_wrong(s, at, &v);
        counts->acted--;
        break;
    case OF_AGAIN:
        if (depends(s, v.at, s->old[s->output] - s->list[s->output].low, work, how))
            *v.at ^= 1;
        break;
    }
    tolerances_ask(s, at, beside);
    s->runs++;
    return faulty_which == FAULT_status_wrong ? HEED_E_VALUE : status;
}

static void faulty_release(void *state)
{
    struct faulty *const s = state;

    if (s->later)
        pthread_join(s->later, NULL);
    for (uint32_t i = 0; i < s->n; i++) {
        free(s->old[i]);
        free(s->right[i]);
    }
    release(s->plan);
    free(s);
}

heed_status heed_kernel_entry(uint32_t host_major, const heed_host_api *host, heed_kernel_api *out)
{
    const heed_status status = right_entry(host_major, host, out);
    const char *const name = getenv("ZOO"), *const path = getenv("ZOO_COUNTS");
    const char *const claim = getenv("ZOO_CLAIM");
    const int file = path ? open(path, O_RDWR) : -1;

    for (int i = 0; name && i < N_FAULTS; i++)
        if (strcmp(faults[i].name, name) == 0)
            faulty_which = i;
    if (file >= 0) {
        void *const shared =
            mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

        counts = shared == MAP_FAILED ? &nowhere : shared;
        close(file);
    }
    if (claim && strcmp(claim, "fast") == 0)
        out->numerics = HEED_NUMERICS_FAST;
    out->prepare = faulty_prepare;
    out->run = faulty_run;
    out->release = faulty_release;
    return status;
}
