/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Points 7 to 9 of the check: what must fit 63 bits, positions within HEED_POSITION_MAX, outputs
 * that keep their elements apart, element types.
 */
#include "check_state.h"

#include "core/dtype.h"
#include "launch/overlap.h"

#include <stdio.h>
#include <string.h>

/* Extents of 0 count as 1, so that the product of any of them fits. */
static bool product_fits(const int64_t shape[6])
{
    int64_t product = 1;

    for (int i = 0; i < 6; i++) {
        if (shape[i] > 1 && !heed_mul_i64(product, shape[i], &product))
            return false;
    }
    return true;
}

/* Of the far ends of all axes, in bytes; backends may add them in any order. */
static bool span_fits(const int64_t shape[6], const int64_t stride[6], int64_t size)
{
    int64_t sum = size;

    for (int i = 0; i < 6; i++) {
        int64_t far;

        if (stride[i] == 0)
            continue;
        if (stride[i] == INT64_MIN ||
            !heed_mul_i64(stride[i] < 0 ? -stride[i] : stride[i], shape[i] - 1, &far) ||
            !heed_mul_i64(far, size, &far) || !heed_add_i64(sum, far, &sum))
            return false;
    }
    return true;
}

static heed_status fits(struct heed_check *c, const char *prefix, uint32_t dtype,
                        const int64_t shape[6], const int64_t stride[6])
{
    const uint32_t size = heed_dtype_size(dtype);

    if (!product_fits(shape))
        return heed_report_fill(c->report, HEED_E_OVERFLOW, heed_check_at(c, "%s.shape", prefix),
                                INT64_MAX, 0, "%s: the product of the extents leaves 63 bits",
                                prefix);
    if (!span_fits(shape, stride, size ? (int64_t)size : 8))
        return heed_report_fill(c->report, HEED_E_OVERFLOW, heed_check_at(c, "%s.stride", prefix),
                                INT64_MAX, 0, "%s: the bytes it spans leave 63 bits", prefix);
    return HEED_OK;
}

static heed_status view_fits(struct heed_check *c, const char *prefix, const struct heed_view *v)
{
    return v->dtype == 0 && v->shape[5] == 0 ? HEED_OK
                                             : fits(c, prefix, v->dtype, v->shape, v->stride);
}

/* A value that must lie within +-HEED_POSITION_MAX. */
static heed_status position_in(struct heed_check *c, const char *prefix, const char *name,
                               bool known, int64_t value)
{
    if (known && value >= -HEED_POSITION_MAX && value <= HEED_POSITION_MAX)
        return HEED_OK;
    return heed_report_fill(c->report, HEED_E_OVERFLOW, heed_check_at(c, "%s%s", prefix, name),
                            known && value < 0 ? -HEED_POSITION_MAX : HEED_POSITION_MAX,
                            known ? value : 0, "%s%s: positions and reaches lie within 2^60 of 0",
                            prefix, name);
}

/* start + count * step, then + more. */
static bool travel(int64_t start, int64_t count, int64_t step, int64_t more, int64_t *out)
{
    int64_t way;

    return heed_mul_i64(count, step, &way) && heed_add_i64(start, way, &way) &&
           heed_add_i64(way, more, out);
}

static heed_status term_reach(struct heed_check *c, uint32_t s, uint32_t t)
{
    const struct heed_checked_term *term = &c->sources[s].to_terms[t];
    char prefix[48];
    heed_status status = HEED_OK;

    snprintf(prefix, sizeof(prefix), "sources[%u].terms[%u].", (unsigned)s, (unsigned)t);
    if (term->left != HEED_FAR)
        status = position_in(c, prefix, "left", true, term->left);
    if (status >= 0 && term->right != HEED_FAR)
        status = position_in(c, prefix, "right", true, term->right);
    if (status >= 0)
        status = position_in(c, prefix, "step", true, term->step);
    return status;
}

static heed_status source_positions(struct heed_check *c, uint32_t s)
{
    const struct heed_check_source *source = &c->sources[s];
    const struct heed_checked_source *to = source->to;
    const int64_t way = to->flags & HEED_SOURCE_END ? -to->n_k : to->n_k;
    char prefix[48];
    int64_t far = 0;
    heed_status status;
    bool known;

    snprintf(prefix, sizeof(prefix), "sources[%u].", (unsigned)s);
    status = position_in(c, prefix, "pos0", true, to->pos0);
    if (status < 0)
        return status;
    known = travel(to->pos0, way, to->pos_step, to->pos_span, &far);
    if (known && way < 0) /* END: the first key lies there, its span reaches back */
        known = far - to->pos_span >= -HEED_POSITION_MAX &&
                to->pos0 + to->pos_span <= HEED_POSITION_MAX;
    status = position_in(c, prefix, "pos_step", known, far);
    for (uint32_t t = 0; t < source->s.n_terms && status >= 0; t++)
        status = term_reach(c, s, t);
    for (uint32_t b = 0; b < source->s.n_biases && status >= 0; b++) {
        snprintf(prefix, sizeof(prefix), "sources[%u].biases[%u].", (unsigned)s, (unsigned)b);
        status = position_in(c, prefix, "zero", true, source->to_biases[b].zero);
    }
    return status;
}

static heed_status query_positions(struct heed_check *c)
{
    const struct heed_checked *out = c->out;
    const int64_t way = out->flags & HEED_ATTN_ALIGN_END ? -out->n_q : out->n_q;
    int64_t far = 0;
    heed_status status = position_in(c, "", "q_pos0", true, out->q_pos0);
    bool known;

    if (status < 0)
        return status;
    known = travel(out->q_pos0, way, out->q_pos_step, 0, &far);
    return position_in(c, "", "q_pos_step", known, far);
}

/* Items times heads times rows: what a backend counts its tasks in, also for RAGGED. */
static heed_status items_fit(struct heed_check *c)
{
    struct heed_checked *out = c->out;
    const int64_t shape[6] = {
        out->batch[0], out->batch[1], out->batch[2], out->heads, out->n_q, 1
    };

    if (!product_fits(shape))
        return heed_report_fill(c->report, HEED_E_OVERFLOW, "q.shape", INT64_MAX, 0,
                                "batch items times heads times rows leave 63 bits");
    out->n_batch = out->batch[0] * out->batch[1] * out->batch[2];
    return HEED_OK;
}

static heed_status views_fit(struct heed_check *c)
{
    const struct heed_checked *out = c->out;
    char name[HEED_CHECK_PATH];
    heed_status status;

    if ((status = view_fits(c, "q", &out->q)) < 0 || (status = view_fits(c, "o", &out->o)) < 0 ||
        (status = view_fits(c, "lse", &out->lse)) < 0 ||
        (status = view_fits(c, "sinks", &out->sinks)) < 0)
        return status;
    for (uint32_t s = 0; s < c->d.n_sources && status >= 0; s++) {
        snprintf(name, sizeof(name), "sources[%u].k", (unsigned)s);
        status = view_fits(c, name, &out->sources[s].k);
        snprintf(name, sizeof(name), "sources[%u].v", (unsigned)s);
        if (status >= 0)
            status = view_fits(c, name, &out->sources[s].v);
    }
    for (uint32_t i = 0; i < c->n_uses && status >= 0; i++) {
        const struct heed_aux *aux = c->uses[i].aux;

        snprintf(name, sizeof(name), "slots[%u].t", (unsigned)(aux->slot - 1));
        status = fits(c, name, aux->dtype, aux->shape, aux->stride);
    }
    return status;
}

heed_status heed_check_overflow(struct heed_check *c)
{
    heed_status status = views_fit(c);

    if (status >= 0)
        status = items_fit(c);
    if (status >= 0)
        status = query_positions(c);
    for (uint32_t s = 0; s < c->d.n_sources && status >= 0; s++)
        status = source_positions(c, s);
    return status;
}

heed_status heed_check_strides(struct heed_check *c)
{
    if (!heed_view_injective(&c->out->o))
        return heed_report_fill(c->report, HEED_E_STRIDE, "o.stride", 0, 0,
                                "o maps two elements to one address");
    if (c->d.lse.ndim != 0 && !heed_view_injective(&c->out->lse))
        return heed_report_fill(c->report, HEED_E_STRIDE, "lse.stride", 0, 0,
                                "lse maps two elements to one address");
    return HEED_OK;
}

heed_status heed_check_dtype_in(struct heed_check *c, const char *prefix, uint32_t dtype,
                                uint32_t set)
{
    static const uint32_t order[] = { HEED_F32, HEED_F16, HEED_BF16, HEED_U8, HEED_I32, HEED_I64 };
    uint32_t wanted = 0;
    char names[48] = "";

    for (uint32_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
        const size_t used = strlen(names);

        if (!(set & 1u << i))
            continue;
        if (order[i] == dtype)
            return HEED_OK;
        if (wanted == 0)
            wanted = order[i];
        snprintf(names + used, sizeof(names) - used, "%s%s", used ? " or " : "",
                 heed_dtype_name(order[i]));
    }
    return heed_report_fill(c->report, HEED_E_DTYPE, heed_check_at(c, "%s.dtype", prefix), wanted,
                            dtype, "%s has dtype %s (%u), wanted %s", prefix,
                            heed_dtype_name(dtype), (unsigned)dtype, names);
}

heed_status heed_check_dtypes(struct heed_check *c)
{
    heed_status status;

    if ((status = heed_check_dtype_in(c, "q", c->d.q.dtype, HEED_SET_FLOATS)) < 0 ||
        (status = heed_check_dtype_in(c, "o", c->d.o.dtype, HEED_SET_FLOATS)) < 0)
        return status;
    if (c->d.lse.ndim != 0)
        status = heed_check_dtype_in(c, "lse", c->d.lse.dtype, HEED_SET_F32);
    if (status >= 0 && c->d.sinks.ndim != 0)
        status = heed_check_dtype_in(c, "sinks", c->d.sinks.dtype, HEED_SET_F32);
    for (uint32_t s = 0; s < c->d.n_sources && status >= 0; s++) {
        char name[HEED_CHECK_PATH];

        snprintf(name, sizeof(name), "sources[%u].k", (unsigned)s);
        status = heed_check_dtype_in(c, name, c->sources[s].s.k.dtype, HEED_SET_FLOATS);
        snprintf(name, sizeof(name), "sources[%u].v", (unsigned)s);
        if (status >= 0)
            status = heed_check_dtype_in(c, name, c->sources[s].s.v.dtype, HEED_SET_FLOATS);
    }
    return status < 0 ? status : heed_check_slots_dtype(c);
}
