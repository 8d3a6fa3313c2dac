/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Slots: each by itself, the fields that name them, and each array at its place of use, where it is
 * compared with what the use asks for. For packed rows, whose item lengths no extent gives, the
 * extents of slots bound the lengths.
 */
#include "../../layouts/layouts.h"
#include "check_state.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

heed_status heed_check_slots(struct heed_check *c)
{
    static const struct heed_tensor_rule rule = { .name = "t", .max = 6 };
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < c->d.n_slots && status >= 0; i++) {
        heed_check_object(c, "slots[%u].", (unsigned)i);
        status = heed_tensor_extents(&c->where, &rule, &c->slots[i].t);
    }
    return status;
}

struct heed_tensor_rule heed_check_use_rule(const struct heed_use *use)
{
    return (struct heed_tensor_rule){
        .name = "t",
        .max = use->trailing + 3,
        .trailing = use->trailing,
        .end = 6,
        .set = use->set,
    };
}

static heed_status slot_named(struct heed_check *c, const char *name, uint32_t slot,
                              const struct heed_slot_rule *rule)
{
    if (slot == 0)
        return rule->need != HEED_NEED_MUST ? HEED_OK
                                            : heed_check_fail(c, HEED_E_VALUE, name, 1, 0,
                                                              "a slot is required here");
    if (rule->need == HEED_NEED_NONE)
        return heed_check_fail(c, HEED_E_VALUE, name, 0, slot, "no slot is taken here");
    if (slot > c->d.n_slots)
        return heed_check_fail(c, HEED_E_VALUE, name, c->d.n_slots, slot, "there is no such slot");
    if (c->slots[slot - 1].t.ndim == 0)
        return heed_check_fail(c, HEED_E_VALUE, name, 0, slot, "that slot is absent (ndim 0)");
    return HEED_OK;
}

/* The array without the axis that its use does not know, as far as it has one. */
static heed_tensor outer_of(const struct heed_site *site, const heed_tensor *t)
{
    heed_tensor outer = *t;

    if (site->inner != 0)
        outer.ndim--;
    return outer;
}

/* Has the array of a field an axis more, that of groups? */
static bool takes_inner(const struct heed_check *c, const struct heed_site *site, uint32_t field)
{
    const uint32_t k = HEED_SOURCE_K_GROUPS | HEED_SOURCE_K_MINIMA;
    const uint32_t v = HEED_SOURCE_V_GROUPS | HEED_SOURCE_V_MINIMA;

    return site->level == HEED_LEVEL_SOURCE &&
           (c->sources[site->source].flags & (field == HEED_SOURCE_K_SCALE   ? k
                                              : field == HEED_SOURCE_V_SCALE ? v
                                                                             : 0)) != 0;
}

static struct heed_checked_source *source_of(const struct heed_check *c,
                                             const struct heed_site *site)
{
    return site->level == HEED_LEVEL_DESC ? NULL : &c->to[site->source];
}

/* Rows that share an entry of a BLOCKS axis. */
static int64_t block_of(const struct heed_check *c, const struct heed_site *site)
{
    const struct heed_checked_source *source = &c->to[site->source];

    assert(site->level == HEED_LEVEL_SOURCE || site->level == HEED_LEVEL_TERM);
    return site->level == HEED_LEVEL_TERM ? source->terms[site->index].block : source->rows;
}

static void lower_to(int64_t *bound, int64_t value)
{
    if (value < *bound)
        *bound = value;
}

/* Keys of an entry on a KEYS_OR_WORDS axis. */
static int64_t keys_of_entry(uint32_t dtype)
{
    return dtype == HEED_I32 ? 32 : 1;
}

/* An extent of 1 that is broadcast bounds nothing. */
static void axis_cut(struct heed_check *c, const struct heed_site *site, uint32_t axis,
                     uint32_t dtype, int64_t extent)
{
    struct heed_checked_source *source = source_of(c, site);
    int64_t rows;

    if ((axis & HEED_AXIS_ONE) && extent == 1)
        return;
    if (heed_layout_packed(c->out->q_layout)) {
        if (axis & HEED_AXIS_ROWS)
            lower_to(&c->out->n_q, extent);
        if ((axis & HEED_AXIS_BLOCKS) && heed_mul_i64(extent, block_of(c, site), &rows))
            lower_to(&c->out->n_q, rows);
    }
    if ((axis & HEED_AXIS_KEYS) && heed_layout_packed(source->layout))
        lower_to(&source->n_k, extent);
    if ((axis & HEED_AXIS_KEYS_OR_WORDS) && heed_layout_packed(source->layout) &&
        heed_mul_i64(extent, keys_of_entry(dtype), &rows))
        lower_to(&source->n_k, rows);
}

static heed_status site_add(struct heed_check *c, const struct heed_site *site,
                             struct heed_aux *aux, uint32_t slot)
{
    const struct heed_tensor_rule rule = heed_check_use_rule(site->use);
    const heed_tensor outer = outer_of(site, &c->slots[slot - 1].t), *t = &outer;
    char path[HEED_SITE_PATH], field[HEED_SITE_PATH];
    int64_t shape[6], stride[6];

    if (t->ndim > rule.max || t->ndim + site->inner > 6) {
        snprintf(field, sizeof(field), "slots[%u].t.ndim", (unsigned)(slot - 1));
        return heed_report_fill(c->where.report, HEED_E_VALUE, field, rule.max + site->inner,
                                t->ndim + site->inner, "%s takes at most %u axes",
                                heed_site_path(site, path), (unsigned)(rule.max + site->inner));
    }
    heed_tensor_place(&rule, t, shape, stride);
    for (int a = 0; a < 3; a++)
        axis_cut(c, site, site->use->axes[a], t->dtype, shape[3 + a]);
    aux->slot = slot;
    aux->dtype = t->dtype;
    c->aux[c->out->n_sites] = aux;
    c->sites[c->out->n_sites++] = *site;
    return HEED_OK;
}

heed_status heed_check_fields(struct heed_check *c, struct heed_site at, const void *given,
                              void *kept, const struct heed_slot_rule *rules)
{
    const struct heed_slot_fields *fields = &heed_slot_fields[at.level];
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < fields->n && status >= 0; i++) {
        const struct heed_slot_field *field = &fields->rows[i];
        struct heed_aux *aux = (void *)((char *)kept + field->kept);
        uint32_t slot;

        memcpy(&slot, (const char *)given + field->given, sizeof(slot));
        status = slot_named(c, field->name, slot, &rules[i]);
        if (status < 0 || slot == 0)
            continue;
        at.use = rules[i].use;
        at.name = field->name;
        at.aux = aux;
        at.inner = takes_inner(c, &at, i);
        status = site_add(c, &at, aux, slot);
    }
    return status;
}

heed_status heed_check_items(struct heed_check *c, uint32_t slot, uint32_t trailing)
{
    const struct heed_tensor_rule rule = {
        .name = "t", .max = trailing + 3, .trailing = trailing, .end = 6
    };

    heed_check_object(c, "slots[%u].", (unsigned)(slot - 1));
    return heed_check_batch(c, &rule, &c->slots[slot - 1].t);
}

/* May the axis have this extent? Else the first one that it may have, and words for all. */
static bool axis_may(const struct heed_check *c, const struct heed_site *site, uint32_t axis,
                     int64_t extent, int64_t *wanted, char why[64])
{
    const struct heed_checked *out = c->out;
    const struct heed_checked_source *source = source_of(c, site);
    const bool any_row = heed_layout_packed(out->q_layout);
    const bool any_key = source && heed_layout_packed(source->layout);
    const int64_t block = axis & HEED_AXIS_BLOCKS ? block_of(c, site) : 1;
    const int64_t blocks = out->n_q > 0 ? (out->n_q - 1) / block + 1 : 0;
    const int64_t keys = keys_of_entry(site->aux->dtype);
    const struct {
        uint32_t axis;
        int64_t extent;
        const char *name;
    } rows[] = {
        { HEED_AXIS_ANY, extent, "any" },
        { HEED_AXIS_TWO, 2, "begin and end" },
        { HEED_AXIS_HEADS, out->heads, "heads of q" },
        { HEED_AXIS_KEY_HEADS, source ? source->k.shape[3] : 1, "heads of k" },
        { HEED_AXIS_ROWS, any_row ? extent : out->n_q, "query rows" },
        { HEED_AXIS_BLOCKS, any_row ? extent : blocks, "blocks of rows" },
        { HEED_AXIS_KEYS, any_key || !source ? extent : source->n_k, "keys of the source" },
        { HEED_AXIS_KEYS_OR_WORDS, any_key || !source ? extent : (source->n_k + keys - 1) / keys,
          keys == 1 ? "keys of the source" : "words of 32 keys" },
        { HEED_AXIS_CHANNELS, out->d, "channels of q and k" },
        { HEED_AXIS_STORED, source ? source->k.shape[4] : extent, "rows of k" },
        { HEED_AXIS_PAGES, source ? source->k.shape[2] : extent, "pages of k" },
        { HEED_AXIS_ONE, 1, "1" },
    };
    size_t used = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (!(axis & rows[i].axis))
            continue;
        if (rows[i].extent == extent)
            return true;
        if (used == 0)
            *wanted = rows[i].extent;
        used += (size_t)snprintf(why + used, 64 - used, "%s%s", used ? " or " : "", rows[i].name);
    }
    return false;
}

/* Heads that take an array for keys in turns, head h the one of h mod extent: no kernel has it. */
static bool heads_in_turn(const struct heed_check *c, const struct heed_use *use, uint32_t axis,
                          int64_t extent)
{
    return axis == 6 - use->trailing && (use->axes[axis - 3] & HEED_AXIS_HEADS) &&
           (use->axes[2] & (HEED_AXIS_KEYS | HEED_AXIS_KEYS_OR_WORDS)) && extent > 1 &&
           c->out->heads % extent == 0;
}

static heed_status site_shape(struct heed_check *c, const struct heed_site *site,
                               const struct heed_tensor_rule *rule, const heed_tensor *t,
                               const int64_t shape[6])
{
    const struct heed_use *use = site->use;
    char path[HEED_SITE_PATH], why[128], names[64] = "";
    heed_status status = HEED_OK;
    int64_t wanted = 0;

    heed_site_path(site, path);
    for (uint32_t a = 0; a < 3 && status >= 0; a++) {
        wanted = use->batch == HEED_BATCH_ONE ? 1 : c->out->batch[a];

        snprintf(why, sizeof(why), "batch axis of %s", path);
        if (shape[a] != 1 || use->batch == HEED_BATCH_ALL)
            status = heed_tensor_axis(&c->where, rule, t, a, wanted, why);
    }
    for (uint32_t axis = 6 - use->trailing; axis < 6 && status >= 0; axis++) {
        if (axis_may(c, site, use->axes[axis - 3], shape[axis], &wanted, names))
            continue;
        if (heads_in_turn(c, use, axis, shape[axis])) {
            snprintf(why, sizeof(why), "t.shape[%u]", (unsigned)(t->ndim - use->trailing));
            return heed_check_fail(c, HEED_E_UNSUPPORTED, why, wanted, shape[axis],
                                   "heads that share %s in turns are not supported (%s)", names,
                                   path);
        }
        snprintf(why, sizeof(why), "%s (%s)", names, path);
        status = heed_tensor_axis(&c->where, rule, t, axis, wanted, why);
    }
    return status;
}

/* Without channels nobody asks; one group of all of them may have any number. */
static heed_status groups_check(struct heed_check *c, const struct heed_site *site,
                                const heed_tensor *t)
{
    const struct heed_checked_source *source = &c->to[site->source];
    const bool key = site->aux == &source->k_scale;
    const bool minima = (source->flags & (key ? HEED_SOURCE_K_MINIMA : HEED_SOURCE_V_MINIMA)) != 0;
    const int64_t channels = key ? c->out->d : c->out->d_v, per = minima ? 2 : 1;
    const int64_t n = t->shape[t->ndim - 1], groups = n / per;
    char path[HEED_SITE_PATH], name[HEED_CHECK_NAME];

    snprintf(name, sizeof(name), "t.shape[%u]", (unsigned)(t->ndim - 1));
    heed_site_path(site, path);
    if (channels == 0 || n == per)
        return HEED_OK;
    if (groups < 1 || n % per != 0 || channels % groups != 0)
        return heed_check_fail(c, HEED_E_SHAPE, name, per, n,
                               "%s has %s of groups that divide %lld channels", path,
                               minima ? "scales and minima" : "scales", (long long)channels);
    if (channels / groups % 32 != 0)
        return heed_check_fail(
            c, HEED_E_UNSUPPORTED, name, per, n,
            "groups of %lld channels are not supported, multiples of 32 are (%s)",
            (long long)(channels / groups), path);
    return HEED_OK;
}

/* The last axis takes one that nothing else is on. */
static void inner_place(const struct heed_use *use, const heed_tensor *t, struct heed_aux *aux)
{
    const int64_t extent = t->shape[t->ndim - 1];
    bool empty = extent == 0;

    aux->inner = use->trailing < 3 ? 3 : 2;
    aux->shape[aux->inner] = extent;
    aux->stride[aux->inner] = extent == 1 ? 0 : t->stride[t->ndim - 1];
    for (int i = 0; i < 6; i++)
        empty |= aux->shape[i] == 0;
    for (int i = 0; i < 6 && empty; i++)
        aux->stride[i] = 0;
}

void heed_check_aux(const struct heed_check *c, uint32_t site, const heed_tensor *t)
{
    const struct heed_tensor_rule rule = heed_check_use_rule(c->sites[site].use);
    const heed_tensor outer = outer_of(&c->sites[site], t);
    struct heed_aux *aux = c->aux[site];

    heed_tensor_place(&rule, &outer, aux->shape, aux->stride);
    for (int a = 0; a < 3; a++) {
        if (aux->shape[a] == 1)
            aux->shape[a] = c->out->batch[a];
    }
    if (c->sites[site].inner != 0)
        inner_place(c->sites[site].use, t, aux);
}

/* t and u of a bias in the score have one index: as many rows each. */
static heed_status pair_check(struct heed_check *c, const struct heed_site *site)
{
    const struct heed_checked_bias *bias;
    const struct heed_tensor_rule rule = heed_check_use_rule(site->use);

    if (site->level != HEED_LEVEL_BIAS)
        return HEED_OK;
    bias = &c->to[site->source].biases[site->index];
    if (!bias->in_score || site->aux != &bias->u || bias->t.slot == 0)
        return HEED_OK;
    return heed_tensor_axis(&c->where, &rule, &c->slots[bias->u.slot - 1].t, 4, bias->t.shape[4],
                            "t and u of a bias have as many rows");
}

heed_status heed_check_sites(struct heed_check *c)
{
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < c->out->n_sites && status >= 0; i++) {
        const struct heed_site *site = &c->sites[i];
        const struct heed_tensor_rule rule = heed_check_use_rule(site->use);
        /* Whatever the axes are: do extents and strides fit? */
        const struct heed_tensor_rule any = {
            .name = "t", .max = 6, .trailing = 3, .end = 6, .set = site->use->set
        };
        const heed_tensor *t = &c->slots[site->aux->slot - 1].t;
        const heed_tensor outer = outer_of(site, t);
        int64_t shape[6], stride[6];

        heed_check_object(c, "slots[%u].", (unsigned)(site->aux->slot - 1));
        status = heed_tensor_view(&c->where, &any, t, shape, stride);
        heed_tensor_place(&rule, &outer, shape, stride);
        if (status >= 0)
            status = site_shape(c, site, &rule, &outer, shape);
        if (status >= 0 && site->inner != 0)
            status = groups_check(c, site, t);
        if (status >= 0)
            heed_check_aux(c, i, t);
        if (status >= 0)
            status = pair_check(c, site);
    }
    return status;
}
