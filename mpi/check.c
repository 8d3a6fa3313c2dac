/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What one rank was given: the descriptor of all, by heed's own check, what of it ranks cannot do
 * yet, and the rank's part.
 */
#include "ranks.h"

#include <stdio.h>
#include <string.h>

/* Sizes of first versions. */
enum { KEYS_V1 = 224 };

static heed_status unsupported(heed_report *report, const char *field, int64_t got)
{
    return heed_mpi_fill(report, HEED_E_UNSUPPORTED, field, 0, got,
                         "%s: attention of several ranks does not do this yet", field);
}

/* ---- the descriptor ---- */

/* heed_attn_check() has found sizes, counts and slots to be right. */
static void desc_copy(const heed_attn_desc *desc, struct heed_mpi_call *call)
{
    const uint32_t size = desc->size;

    memcpy(&call->desc, desc, size < sizeof call->desc ? size : sizeof call->desc);
    call->desc.size = sizeof call->desc;
    for (uint32_t s = 0; s < call->desc.n_sources; s++)
        memcpy(&call->sources[s],
               (const char *)call->desc.sources + (size_t)s * call->desc.source_size,
               call->desc.source_size < sizeof(heed_source) ? call->desc.source_size
                                                            : sizeof(heed_source));
    for (uint32_t i = 0; i < call->desc.n_slots; i++)
        memcpy(&call->slots[i], (const char *)call->desc.slots + (size_t)i * call->desc.slot_size,
               call->desc.slot_size < sizeof(heed_slot) ? call->desc.slot_size : sizeof(heed_slot));
    call->desc.sources = call->sources;
    call->desc.source_size = sizeof(heed_source);
    call->desc.slots = call->slots;
    call->desc.slot_size = sizeof(heed_slot);
    call->n_q = desc->q.shape[desc->q.ndim - 2];
}

static bool is_constant(const struct heed_mpi_call *call, uint32_t slot)
{
    return slot == 0 || call->slots[slot - 1].data != NULL;
}

static bool is_number(uint32_t dtype)
{
    return dtype == HEED_F32 || dtype == HEED_F16 || dtype == HEED_BF16 || dtype == HEED_F8E4M3 ||
           dtype == HEED_F8E5M2;
}

static void use(struct heed_mpi_call *call, uint32_t slot)
{
    if (slot > 0)
        call->used[slot - 1] = true;
}

static heed_status patterns_check(struct heed_mpi_call *call, uint32_t s, heed_report *report)
{
    const heed_source *source = &call->sources[s];
    char field[64];

    for (uint32_t i = 0; i < source->n_terms; i++) {
        heed_term term;

        memset(&term, 0, sizeof term);
        memcpy(&term, (const char *)source->terms + (size_t)i * source->term_size,
               source->term_size < sizeof term ? source->term_size : sizeof term);
        snprintf(field, sizeof field, "sources[%u].terms[%u].slot", (unsigned)s, (unsigned)i);
        use(call, term.slot);
        if (!is_constant(call, term.slot))
            return unsupported(report, field, term.slot);
    }
    for (uint32_t i = 0; i < source->n_biases; i++) {
        heed_bias bias;

        memset(&bias, 0, sizeof bias);
        memcpy(&bias, (const char *)source->biases + (size_t)i * source->bias_size,
               source->bias_size < sizeof bias ? source->bias_size : sizeof bias);
        snprintf(field, sizeof field, "sources[%u].biases[%u]", (unsigned)s, (unsigned)i);
        use(call, bias.t);
        use(call, bias.u);
        use(call, bias.map);
        if (bias.kind == HEED_BIAS_DENSE || bias.q_coord || bias.k_coord)
            return unsupported(report, field, bias.kind);
    }
    return HEED_OK;
}

static heed_status source_check(struct heed_mpi_call *call, uint32_t s, heed_report *report)
{
    const heed_source *source = &call->sources[s];
    const uint32_t n = source->k.ndim;
    char name[64];
    const struct {
        const char *field;
        int64_t bad;
    } rules[] = {
        { "layout", source->layout == HEED_LAYOUT_RAGGED ? 0 : source->layout },
        { "slot", is_constant(call, source->slot) ? 0 : source->slot },
        { "mask_slot", source->mask_slot },
        { "row_mask_slot", source->row_mask_slot },
        { "k_scale_slot", source->k_scale_slot },
        { "v_scale_slot", source->v_scale_slot },
        { "len_slot", is_constant(call, source->len_slot) ? 0 : source->len_slot },
        { "k.dtype", is_number(source->k.dtype) ? 0 : source->k.dtype },
        { "v.dtype", is_number(source->v.dtype) ? 0 : source->v.dtype },
        { "v.shape", source->v.ndim != n || (n > 3 && memcmp(source->k.shape, source->v.shape,
                                                             (n - 3) * sizeof(int64_t)) != 0) },
    };

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        snprintf(name, sizeof name, "sources[%u].%s", (unsigned)s, rules[i].field);
        if (rules[i].bad != 0)
            return unsupported(report, name, rules[i].bad);
    }
    use(call, source->slot);
    use(call, source->len_slot);
    return patterns_check(call, s, report);
}

static heed_status desc_check(struct heed_mpi_call *call, heed_report *report)
{
    const heed_attn_desc *desc = &call->desc;
    const bool packed = desc->q_layout == HEED_LAYOUT_RAGGED;
    const struct {
        const char *field;
        int64_t got;
        bool bad;
    } rules[] = {
        { "q_slot", desc->q_slot, !is_constant(call, desc->q_slot) },
        { "o_slot", desc->o_slot, desc->o_slot != 0 },
        { "q_len_slot", desc->q_len_slot,
          desc->q_len_slot != 0 && !(packed && is_constant(call, desc->q_len_slot)) },
        { "q_pos_slot", desc->q_pos_slot, !is_constant(call, desc->q_pos_slot) },
        { "state_in", 0, desc->state_in.ndim != 0 },
        { "state_out", 0, desc->state_out.ndim != 0 },
    };
    heed_status status = HEED_OK;

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].bad)
            return unsupported(report, rules[i].field, rules[i].got);
    }
    use(call, desc->q_pos_slot);
    use(call, desc->q_slot);
    use(call, desc->q_len_slot);
    for (uint32_t s = 0; s < desc->n_sources && status >= 0; s++)
        status = source_check(call, s, report);
    return status;
}

/* ---- the part of a rank ---- */

/* Bytes, chunks and pages of what is given are counted in 63 bits. */
static heed_status strides_check(heed_tensor *t, const char *field, heed_report *report)
{
    const double most = 0x1p50;
    double span = 0;

    for (uint32_t i = 0; i < t->ndim; i++) {
        const double stride = (double)t->stride[i];

        if (t->shape[i] <= 1)
            t->stride[i] = 0;
        else
            span += (double)(t->shape[i] - 1) * (stride < 0 ? -stride : stride);
    }
    if (!(span <= most))
        return heed_mpi_fill(report, HEED_E_OVERFLOW, field, (int64_t)most, INT64_MAX,
                             "the elements of %s lie too far apart", field);
    return HEED_OK;
}

/* A tensor of the part: absent, or that of the whole with `n` in place of its axis `axis` from the
 * right. An absent one becomes dense. */
static heed_status tensor_check(heed_tensor *part, const heed_tensor *whole, uint32_t axis,
                                int64_t n, const char *field, heed_report *report)
{
    heed_tensor want = *whole;

    if (whole->ndim == 0) {
        if (part->ndim != 0)
            return heed_mpi_fill(report, HEED_E_SHAPE, field, 0, part->ndim,
                                 "%s is given, and the descriptor has no such tensor", field);
        return HEED_OK;
    }
    want.shape[want.ndim - axis] = n;
    if (part->ndim == 0) {
        *part = heed_array_dense(want.dtype, NULL, want.ndim, want.shape).t;
        return HEED_OK;
    }
    if (part->dtype != want.dtype)
        return heed_mpi_fill(report, HEED_E_DTYPE, field, want.dtype, part->dtype,
                             "%s is not of the descriptor's type", field);
    if (part->ndim != want.ndim)
        return heed_mpi_fill(report, HEED_E_SHAPE, field, want.ndim, part->ndim,
                             "%s has not as many axes as in the descriptor", field);
    for (uint32_t i = 0; i < want.ndim; i++) {
        if (part->shape[i] != want.shape[i])
            return heed_mpi_fill(report, HEED_E_SHAPE, field, want.shape[i], part->shape[i],
                                 "axis %u of %s is not that of the rank's part", (unsigned)i,
                                 field);
    }
    return strides_check(part, field, report);
}

static heed_status range_check(int64_t first, int64_t count, int64_t n, const char *field,
                               heed_report *report)
{
    if (first < 0 || first > n)
        return heed_mpi_fill(report, HEED_E_VALUE, field, n, first,
                             "%s begins outside of 0 .. %lld", field, (long long)n);
    if (count < 0 || count > n - first)
        return heed_mpi_fill(report, HEED_E_VALUE, field, n - first, count,
                             "%s: from there on there are %lld", field, (long long)(n - first));
    return HEED_OK;
}

static heed_status keys_check(struct heed_mpi_call *call, uint32_t s, heed_report *report)
{
    const heed_source *source = &call->sources[s];
    const int64_t n_k = source->k.shape[source->k.ndim - 2];
    heed_mpi_keys *keys = &call->keys[s];
    heed_status status;
    char field[64];
    int64_t end;

    snprintf(field, sizeof field, "parts.keys[%u]", (unsigned)s);
    status = range_check(keys->first, keys->count, n_k, field, report);
    if (status < 0)
        return status;
    end = keys->first + keys->count;
    if (keys->count > 0 && (keys->first % HEED_CHUNK != 0 || (end % HEED_CHUNK != 0 && end != n_k)))
        return heed_mpi_fill(report, HEED_E_SHAPE, field, HEED_CHUNK,
                             keys->first % HEED_CHUNK ? keys->first : end,
                             "keys are cut at multiples of %d", HEED_CHUNK);
    snprintf(field, sizeof field, "parts.keys[%u].k", (unsigned)s);
    status = tensor_check(&keys->k, &source->k, 2, keys->count, field, report);
    if (status < 0)
        return status;
    snprintf(field, sizeof field, "parts.keys[%u].v", (unsigned)s);
    return tensor_check(&keys->v, &source->v, 2, keys->count, field, report);
}

static heed_status all_keys_check(struct heed_mpi_call *call, heed_report *report)
{
    heed_mpi_parts *parts = &call->parts;
    heed_status status = HEED_OK;

    if (parts->n_keys != call->desc.n_sources)
        return heed_mpi_fill(report, HEED_E_VALUE, "parts.n_keys", call->desc.n_sources,
                             parts->n_keys, "one entry for each source is wanted");
    if (parts->n_keys > 0 && !parts->keys)
        return heed_mpi_fill(report, HEED_E_NULL, "parts.keys", parts->n_keys, 0,
                             "one entry for each source is wanted");
    for (uint32_t s = 0; s < parts->n_keys && status >= 0; s++) {
        status = heed_mpi_sized(report, (const char *)parts->keys + (size_t)s * parts->keys_size,
                                parts->keys_size, KEYS_V1, &call->keys[s], sizeof *call->keys,
                                "parts.keys");
        if (status >= 0)
            status = keys_check(call, s, report);
    }
    return status;
}

static heed_status parts_check(struct heed_mpi_call *call, heed_report *report)
{
    heed_mpi_parts *parts = &call->parts;
    heed_status status;

    if (parts->flags & ~(uint32_t)HEED_MPI_MOVE_KEYS)
        return heed_mpi_fill(report, HEED_E_FLAG, "parts.flags", HEED_MPI_MOVE_KEYS, parts->flags,
                             "an unknown flag");
    if (parts->message_bytes < 0 || parts->message_bytes > INT32_MAX)
        return heed_mpi_fill(report, HEED_E_VALUE, "parts.message_bytes", INT32_MAX,
                             parts->message_bytes, "0 to 2^31 - 1 bytes are wanted");
    status = range_check(parts->first_row, parts->n_rows, call->n_q, "parts.first_row", report);
    if (status >= 0)
        status = tensor_check(&parts->q, &call->desc.q, 2, parts->n_rows, "parts.q", report);
    if (status >= 0)
        status = tensor_check(&parts->o, &call->desc.o, 2, parts->n_rows, "parts.o", report);
    if (status >= 0)
        status = tensor_check(&parts->lse, &call->desc.lse, 1, parts->n_rows, "parts.lse", report);
    return status < 0 ? status : all_keys_check(call, report);
}

static heed_status device_check(const heed_device *device, heed_report *report)
{
    heed_device_props props = { .size = sizeof props };

    if (heed_device_listing(device, &props) < 0)
        return heed_mpi_fill(report, HEED_E_NULL, "device", 0, 0, "device is NULL");
    if (props.kind != HEED_DEVICE_REFERENCE && props.kind != HEED_DEVICE_CPU)
        return unsupported(report, "device", props.kind);
    return HEED_OK;
}

heed_status heed_mpi_check(heed_device *device, const heed_attn_desc *desc,
                           const heed_mpi_parts *parts, struct heed_mpi_call *call,
                           heed_report *report)
{
    heed_status status = device_check(device, report);

    if (status >= 0 && !desc)
        return heed_mpi_fill(report, HEED_E_NULL, "desc", 0, 0, "desc is NULL");
    if (status >= 0 && !parts)
        return heed_mpi_fill(report, HEED_E_NULL, "parts", 0, 0, "parts is NULL");
    if (status >= 0)
        status = heed_attn_check(NULL, desc, report);
    if (status < 0)
        return status;
    desc_copy(desc, call);
    status = desc_check(call, report);
    if (status >= 0)
        status = heed_mpi_sized(report, parts, parts->size, HEED_MPI_PARTS_V1, &call->parts,
                                sizeof call->parts, "parts");
    return status < 0 ? status : parts_check(call, report);
}
