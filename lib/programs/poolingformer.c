/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Poolingformer, level 2 (Zhang et al. 2021): attention to pooled keys of a wide window. Pooled
 * once, with a row for each centre token (the moving grid), or for each stride of them (the fixed
 * one); no query has a pooling of its own.
 */
#include "program.h"

#include "../core/error.h"
#include "../../backends/kernels/forms.h"

enum { DESC_V1 = 888 };
_Static_assert(sizeof(heed_poolingformer_level2_desc) == DESC_V1,
               "heed_poolingformer_level2_desc may only grow");

struct pooled {
    struct heed_composer *c;
    struct heed_builder b;
    heed_poolingformer_level2_desc d;
    int64_t n, rows;                    /* rows: of pooled keys */
    int64_t centre;                     /* the tap that is a window's centre */
    struct heed_program_temp temps[3];  /* K, V, mask */
};

static bool fixed_grid(const struct pooled *p)
{
    return p->d.flags & HEED_POOLINGFORMER_FIXED_GRID;
}

/* ---- parameters ---- */

static heed_status taps_check(const struct pooled *p)
{
    const heed_tensor *taps[2] = { &p->d.taps_k, &p->d.taps_v };
    const char *names[2] = { "taps_k", "taps_v" };
    const bool wanted = p->d.pooling == HEED_POOLINGFORMER_LDCONV;

    for (int i = 0; i < 2; i++) {
        if (wanted && taps[i]->ndim == 0)
            return heed_report_fill(p->c->report, HEED_E_NULL, names[i], 0, 0,
                                    "LDCONV wants the weights of taps");
        if (!wanted && taps[i]->ndim != 0)
            return heed_report_fill(p->c->report, HEED_E_VALUE, names[i], 0, taps[i]->ndim,
                                    "only LDCONV takes weights of taps");
    }
    return HEED_OK;
}

static heed_status parameters(struct pooled *p)
{
    heed_poolingformer_level2_desc *d = &p->d;
    heed_status status =
        heed_builder_within(&p->b, "pooling", d->pooling, 0, HEED_POOLINGFORMER_LDCONV);

    if (status >= 0)
        status = heed_builder_range(&p->b, "window", &d->window, 512, HEED_MOST_WINDOW);
    if (status >= 0)
        status = heed_builder_range(&p->b, "kernel", &d->kernel, 5, 1 << 24);
    if (status >= 0)
        status = heed_builder_range(&p->b, "stride", &d->stride, 4, INT32_MAX);
    if (status >= 0 && d->kernel > 2 * d->window + 1)
        status = heed_report_fill(p->c->report, HEED_E_VALUE, "kernel", 2 * d->window + 1,
                                  d->kernel, "a pooling window is longer than the window");
    if (status >= 0)
        status = taps_check(p);
    if (status < 0)
        return status;
    p->centre = (1 + d->kernel + 1) / 2 - 1;
    p->rows = p->n;
    if (fixed_grid(p))
        p->rows = p->n <= p->centre ? 0 : (p->n - 1 - p->centre) / d->stride + 1;
    return HEED_OK;
}

/* ---- pooling ---- */

static heed_status temps_add(struct pooled *p)
{
    const heed_tensor *of[2] = { &p->d.text.k, &p->d.text.v };
    const heed_tensor *taps[2] = { &p->d.taps_k, &p->d.taps_v };
    heed_status status = HEED_OK;
    int64_t shape[6];

    for (uint32_t i = 0; i < 2 && status >= 0; i++) {
        heed_program_shape(shape, of[i], &p->d.text);
        heed_program_batch(shape, taps[i], 3);
        shape[4] = p->rows;
        shape[5] = of[i]->shape[of[i]->ndim - 1];
        status = heed_program_temp_add(p->c, HEED_F32, shape, &p->temps[i]);
    }
    if (status < 0)
        return status;
    heed_program_shape(shape, of[0], &p->d.text);
    heed_program_batch(shape, taps[0], 3);
    shape[4] = p->rows;
    shape[5] = 1;
    status = heed_program_temp_add(p->c, HEED_U8, shape, &p->temps[2]);
    p->temps[2].t.ndim = 5;
    return status;
}

/* K (which: 0, with the mask of its rows) or V (1). */
static heed_status pool(struct pooled *p, uint32_t which)
{
    static const uint32_t kinds[] = {
        [HEED_POOLINGFORMER_MEAN] = HEED_POOL_MEAN,
        [HEED_POOLINGFORMER_MAX] = HEED_POOL_MAX,
        [HEED_POOLINGFORMER_LDCONV] = HEED_POOL_DYNAMIC,
    };
    const struct heed_program_use uses[] = {
        { HK_POOL_X, HEED_PROGRAM_TEXT + HEED_KEYS_K + which, 0 },
        { HK_POOL_MASK, HEED_PROGRAM_TEXT + HEED_KEYS_MASK, 0 },
        { HK_POOL_LEN, HEED_PROGRAM_TEXT + HEED_KEYS_LEN, 0 },
        { HK_POOL_WEIGHTS, HEED_PROGRAM_TAPS_K + which, 0 },
        { HK_POOL_Y, p->temps[which].array, 0 },
        { HK_POOL_Y_MASK, p->temps[2].array, 0 },
    };
    const bool of_k = which == 0;
    heed_pool_desc desc = {
        .size = sizeof(desc),
        .flags = p->c->flags,
        .numerics = p->c->plan->numerics,
        .kind = kinds[p->d.pooling],
        .tail = HEED_TAIL_CENTRE,
        .kernel = p->d.kernel,
        .stride = fixed_grid(p) ? p->d.stride : 1,
        .left = fixed_grid(p) ? 0 : p->centre,
        .x = of_k ? p->d.text.k : p->d.text.v,
        .y = p->temps[which].t,
        .mask = p->d.text.mask.t,
        .len = p->d.text.len.t,
        .weights = of_k ? p->d.taps_k : p->d.taps_v,
    };

    if (of_k)
        desc.y_mask = p->temps[2].t;
    return heed_program_stage(p->c, &heed_op_pool, of_k ? "pool_k" : "pool_v", &desc, uses,
                             HEED_COUNT(uses));
}

/* ---- attention ---- */

/* The windows of row i begin at token i - window and lie stride apart, as many as there is room
 * for: row j of the pooled keys is the one with centre j. */
static heed_term moving_term(const struct pooled *p)
{
    const int64_t left = p->d.window - p->centre, stride = p->d.stride;
    const int64_t windows = (2 * p->d.window + 1 - p->d.kernel) / stride + 1;

    return (heed_term){
        .kind = HEED_TERM_WINDOW,
        .flags = stride > 1 ? HEED_TERM_PHASE_QUERY : 0,
        .left = left,
        .right = stride * (windows - 1) - left,
        .step = stride,
        .phase = (int32_t)(stride > 1 ? ((-left) % stride + stride) % stride : 0),
    };
}

/* The windows of the grid that lie within the window of row i: j's centre is j stride + centre. */
static heed_term fixed_term(const struct pooled *p)
{
    return (heed_term){
        .kind = HEED_TERM_WINDOW,
        .left = p->d.window - p->centre,
        .right = p->d.window + p->centre - p->d.kernel + 1,
    };
}

static heed_status attend(struct pooled *p)
{
    const heed_keys keys = {
        .k = p->temps[0].t, .v = p->temps[1].t, .mask = { .t = p->temps[2].t }
    };
    const struct heed_program_attn attn = {
        "attend", HEED_PROGRAM_O, { p->temps[0].array, p->temps[1].array, p->temps[2].array }
    };
    heed_source *source = heed_builder_source(&p->b, &keys, 2);

    if (fixed_grid(p)) {
        source->pos0 = p->centre;
        source->pos_step = (int32_t)p->d.stride;
        source->pos_span = 1;
    }
    *heed_builder_term(&p->b) = fixed_grid(p) ? fixed_term(p) : moving_term(p);
    return heed_program_attend(p->c, &p->b, &attn, NULL, 0);
}

/* ---- the program ---- */

static heed_status compose(struct heed_composer *c, const void *given)
{
    struct pooled p = { .c = c };
    heed_status status =
        heed_program_open(c, given, DESC_V1, &p.d, sizeof(p.d), HEED_POOLINGFORMER_FIXED_GRID);

    heed_builder_begin(&p.b, c->report);
    if (status >= 0)
        status = heed_builder_self(&p.b, &p.d.q, &p.d.o, &p.d.text, &p.n);
    if (status >= 0)
        status = heed_program_keys(c, "text", &p.d.text);
    if (status >= 0)
        status = parameters(&p);
    if (status >= 0)
        status = temps_add(&p);
    for (uint32_t which = 0; which < 2 && status >= 0; which++)
        status = pool(&p, which);
    return status >= 0 ? attend(&p) : status;
}

heed_status heed_poolingformer_level2_check(heed_device *device,
                                            const heed_poolingformer_level2_desc *desc,
                                            heed_report *report)
{
    const struct heed_program_call call = { compose, desc };

    return heed_op_check(&heed_op_program, device, &call, report);
}

heed_status heed_poolingformer_level2_plan(heed_device *device,
                                           const heed_poolingformer_level2_desc *desc,
                                           heed_plan **out, heed_report *report)
{
    const struct heed_program_call call = { compose, desc };

    return heed_op_plan(&heed_op_program, device, &call, out, report);
}
