/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A problem of an operation with fixed arrays as descriptor, arguments and memory on a device; one
 * run; what it wrote.
 */
#include "place.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

/* What every descriptor begins with. */
struct desc_head {
    uint32_t size, flags, numerics;
};

/* What all arguments but attention's begin with. */
struct args_head {
    uint32_t size, reserved;
    heed_run run;
};

heed_tensor *fixed_tensor(struct fixed_call *call, int array)
{
    return (heed_tensor *)(void *)(call->desc.bytes + call->op->arrays[array].tensor);
}

heed_buf *fixed_buf(struct fixed_call *call, int array)
{
    return (heed_buf *)(void *)(call->args.bytes + call->op->arrays[array].buf);
}

heed_run *fixed_run(struct fixed_call *call)
{
    return &((struct args_head *)(void *)call->args.bytes)->run;
}

static bool in_tensor(const struct fixed *op, size_t at)
{
    for (int i = 0; i < op->n_arrays; i++) {
        if (at >= op->arrays[i].tensor && at < op->arrays[i].tensor + sizeof(heed_tensor))
            return true;
    }
    return false;
}

unsigned char *fixed_number(struct fixed_call *call, uint32_t i)
{
    const size_t words = call->op->desc_size / 8;
    size_t at[FIXED_DESC / 8];
    uint32_t n = 0;

    for (size_t word = 0; word < words; word++) {
        if (!in_tensor(call->op, 8 * word))
            at[n++] = word;
    }
    return call->desc.bytes + 8 * at[i % n];
}

bool fixed_writes(const struct fixed_problem *p, int array)
{
    return part_is(&p->part[array]) && p->part[array].role & (OUT | STATE);
}

/* The extents of the tensor; returns how many. *batch: those before the trailing ones. */
static int part_dims(const struct part *part, int64_t dims[6], int *batch)
{
    int n = 0;

    if (part->role & LEAD)
        dims[n++] = part->lead;
    for (int i = 3 - part->axes; i < 3; i++)
        dims[n++] = part->extent[i];
    *batch = n;
    for (int i = 4 - part->a.trailing; i < 4; i++)
        dims[n++] = part->a.shape[i];
    return n;
}

static bool part_place(struct place *place, const struct fixed_problem *p, const struct part *part,
                       unsigned flags)
{
    const uint64_t seed = cf_mix2(p->c.seed, (uint64_t)part->number + 12345);
    int64_t dims[6] = { 0 }, mis = p->c.v[F_MIS];
    int n, laid;

    memset(place, 0, sizeof *place);
    n = part_dims(part, dims, &place->batch_axes);
    for (int i = 0; i < place->batch_axes; i++)
        place->extent[i] = dims[i];
    place_way(&part->a, flags, seed, &laid, &mis);
    return place_lay(place, &part->a, dims, n, laid, mis, seed);
}

static void desc_set(struct fixed_call *call, const struct fixed_problem *p)
{
    static const uint32_t numerics[] = { HEED_NUMERICS_EXACT, HEED_NUMERICS_BEST,
                                         HEED_NUMERICS_REPEAT, HEED_NUMERICS_FAST };
    struct desc_head *head = (struct desc_head *)(void *)call->desc.bytes;

    head->size = (uint32_t)p->op->desc_size;
    head->numerics = numerics[p->c.v[F_NUM]];
    head->flags = p->c.v[F_WS] ? (uint32_t)HEED_PLAN_OWN_WORKSPACE : 0;
    p->op->numbers(p, call->desc.bytes);
    for (int i = 0; i < p->op->n_arrays; i++)
        *fixed_tensor(call, i) = call->place[call->at[i]].t;
}

/* May the output lie where the input does, as both are? */
static bool fits(const struct part *out, const struct part *in)
{
    int64_t mine[6] = { 0 }, theirs[6] = { 0 };
    int batch;

    return part_is(out) && part_is(in) && out->a.dtype == in->a.dtype &&
           part_dims(out, mine, &batch) == part_dims(in, theirs, &batch) &&
           memcmp(mine, theirs, sizeof mine) == 0;
}

int fixed_guest(const struct fixed_problem *p, int array)
{
    for (int i = 0; i < p->op->n_in_place; i++) {
        const int in = p->op->in_place[i].in;

        if (p->op->in_place[i].out == array && fits(&p->part[array], &p->part[in]))
            return in;
    }
    return -1;
}

/* In whose place array i lies. */
static int host_of(const struct fixed_problem *p, int i, unsigned flags)
{
    for (int k = 0; k < p->op->n_arrays && flags & CALL_IN_PLACE; k++) {
        if (fixed_guest(p, k) == i)
            return k;
    }
    return i;
}

static bool part_add(struct fixed_call *call, const struct fixed_problem *p, int i, unsigned flags)
{
    const struct part *const part = &p->part[i];
    const char *const name = part->table->name;
    const unsigned roles = part_is(part) ? part->role : part->table->role;
    const uint32_t role = roles & OUT     ? HEED_ROLE_OUT
                          : roles & STATE ? HEED_ROLE_STATE
                                          : HEED_ROLE_IN;
    const int host = host_of(p, i, flags), guest = flags & CALL_IN_PLACE ? fixed_guest(p, i) : -1;
    struct operand *const x = job_add(&call->job, name, name, role, &call->place[host]);

    if (!x)
        return false;
    x->tensor = fixed_tensor(call, i);
    x->guest = host != i;
    for (int k = 0; k < call->job.n && fixed_guest(p, i) >= 0; k++) {
        if (call->job.operand[k].tensor == fixed_tensor(call, fixed_guest(p, i)))
            x->may_be = 1 + k;
    }
    call->at[i] = host;
    if (!part_is(part) || x->guest)
        return true;
    if (!part_place(&call->place[i], p, part, flags))
        return false;
    if (p->op->spread)
        p->op->spread(p, i, &call->place[i].t);
    call->out[i] = call->old[i] = part->a;
    call->out[i].data = call->old[i].data = NULL;
    x->around = cf_mix2(p->c.seed, (uint64_t)i);
    x->holds = guest >= 0 ? &p->part[guest].a : role == HEED_ROLE_OUT ? NULL : &part->a;
    x->out = role == HEED_ROLE_IN ? NULL : &call->out[i];
    x->old = role == HEED_ROLE_IN ? NULL : &call->old[i];
    x->rows = role == HEED_ROLE_IN && part->a.dtype != HEED_I32 && part->a.dtype != HEED_I64;
    return true;
}

static void placed(struct job *job)
{
    struct fixed_call *const call = (struct fixed_call *)(void *)job;

    for (int i = 0; i < call->op->n_arrays; i++)
        *fixed_buf(call, i) = call->place[call->at[i]].buf;
    ((struct args_head *)(void *)call->args.bytes)->size = (uint32_t)call->op->args_size;
}

bool fixed_call_describe(struct fixed_call *call, const struct fixed_problem *p, unsigned flags)
{
    bool ok = true;

    memset(call, 0, sizeof *call);
    for (int i = 0; i < MAX_PARTS; i++)
        call->at[i] = i;
    call->op = p->op;
    call->job.problem = (void *)(uintptr_t)p;
    call->job.check = p->op->check;
    call->job.plan = p->op->plan;
    call->job.run = p->op->run;
    call->job.placed = placed;
    call->job.desc = call->desc.bytes;
    call->job.desc_bytes = p->op->desc_size;
    call->job.numerics_wanted = &((struct desc_head *)(void *)call->desc.bytes)->numerics;
    for (int i = 0; ok && i < p->op->n_arrays; i++)
        ok = (!part_is(&p->part[i]) && !(flags & CALL_ABSENT)) || part_add(call, p, i, flags);
    if (ok)
        desc_set(call, p);
    return ok;
}

/* Outputs are dense as far as 63 bits reach; inputs repeat, but some step far along an axis. */
static heed_tensor vast_tensor(const struct part *part, struct rng *r)
{
    int64_t dims[6] = { 0 }, stride = 1;
    heed_tensor t = { .dtype = part->a.dtype };
    int batch;

    t.ndim = (uint32_t)part_dims(part, dims, &batch);
    for (uint32_t i = t.ndim; i-- > 0;) {
        t.shape[i] = dims[i];
        t.stride[i] = part->role & IN ? 0 : stride;
        stride = cf_times(stride, dims[i] > 0 ? dims[i] : 1);
    }
    if (t.ndim && rng_below(r, 6) == 0)
        t.stride[rng_below(r, t.ndim)] = INT64_C(1) << (20 + 3 * rng_below(r, 15));
    return t;
}

void fixed_call_vast(struct fixed_call *call, const struct fixed_problem *p, struct rng *r)
{
    memset(call, 0, sizeof *call);
    for (int i = 0; i < MAX_PARTS; i++)
        call->at[i] = i;
    call->op = p->op;
    call->job.check = p->op->check;
    call->job.plan = p->op->plan;
    call->job.desc = call->desc.bytes;
    for (int i = 0; i < p->op->n_arrays; i++) {
        if (!part_is(&p->part[i]))
            continue;
        call->place[i].t = vast_tensor(&p->part[i], r);
        if (p->op->spread)
            p->op->spread(p, i, &call->place[i].t);
    }
    desc_set(call, p);
}
