/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Forms of a case on a device. Devices of the host's processor have executors of several widths,
 * whose workers come in the order of the form; others have no workers to speak of.
 */
#include "invariance.h"

#include "session.h"

struct device_runner {
    struct runner runner;
    const struct subject *s;
};

/* With workers of that width; of widths that there are not the device as it is. */
static const struct target *target_of(const struct bench *bench, uint32_t width)
{
    for (int i = 0; i < MAX_CREWS; i++) {
        if (bench->crew[i].device && bench->crew[i].width == width)
            return &bench->crew[i];
    }
    return &bench->one;
}

static struct job *compute(struct runner *runner, const struct form *f, struct verdict *v)
{
    const struct device_runner *const own = (struct device_runner *)(void *)runner;
    const struct subject *const s = own->s;
    const struct target *const on = target_of(s->bench, f->how.width);
    struct job *const job =
        cf_job_make(s->op->families, f->problem, on, f->flags, f->how.poison);

    if (!job) {
        cf_fail(v, "run: no memory: %s", f->what);
        return NULL;
    }
    if (s->session->workers)
        *s->session->workers = (struct workers){ f->how.order, f->how.poison };
    job->twice = f->how.again;
    if (job->check(on->device, job->desc, NULL) >= 0 && cf_run_ok(job, v, f->what))
        return job;
    job_drop(job);
    return NULL;
}

const char *cf_invariance_of_device(const struct subject *s)
{
    struct device_runner own = { { .compute = compute, .properties = UINT32_MAX }, s };

    for (int i = 0; i < cf_n_properties; i++) {
        if (!s->bench->crew[0].device && !strcmp(cf_properties[i].name, "threads"))
            own.runner.properties &= ~(1u << i);
    }
    return cf_invariance(s, &own.runner);
}
