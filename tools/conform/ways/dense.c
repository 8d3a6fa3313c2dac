/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The arrays of a case in plain words: dense, an item after the other, and beside them what each
 * row sees and what biases add, counted key by key by the code that also judges (visibility.c).
 */
#include "dense.h"

#include "conform/ops/attn/kinds.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays ------------------------------------------------------------------ */

static struct plain_array *array_new(struct plain *plain, const char *name, int dtype)
{
    struct plain_array *a = &plain->array[plain->n++];

    *a = (struct plain_array){ .npy = { .dtype = dtype } };
    snprintf(a->name, sizeof a->name, "%s", name);
    return a;
}

static const char *name_of(char out[PLAIN_NAME], const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(out, PLAIN_NAME, format, list);
    va_end(list);
    return out;
}

/* An array that is shared by items is given to each of them. */
static bool items_repeat(struct plain_array *a, int64_t items)
{
    const int64_t had = a->npy.shape[0];
    const size_t one = a->npy.bytes / (size_t)had;

    a->owned = malloc(one * (size_t)items + 1);
    if (!a->owned)
        return false;
    for (int64_t b = 0; b < items; b++)
        memcpy((char *)a->owned + (size_t)b * one,
               (const char *)a->npy.data + (size_t)(b % had) * one, one);
    a->npy.data = a->owned;
    a->npy.shape[0] = items;
    a->npy.bytes = one * (size_t)items;
    return true;
}

/* NumPy has no type in blocks: a row is its bytes. */
static void blocks_as_bytes(struct plain_array *a, const struct array *from)
{
    if (type_elements(from->dtype) > 1)
        a->npy.shape[a->npy.ndim - 1] = cf_array_along(from) * (int64_t)cf_dtype_size(from->dtype);
}

/* packed: rows of all items lie behind each other, so there is no axis of items. */
static bool array_add(struct plain *plain, const char *name, const struct array *from, bool packed)
{
    struct plain_array *a = array_new(plain, name, (int)from->dtype);
    const bool first = from->pages || (from->batched && !packed);

    a->npy.data = from->data;
    a->npy.bytes = cf_array_bytes(from);
    if (first)
        a->npy.shape[a->npy.ndim++] = from->shape[0];
    for (int i = 4 - from->trailing; i < 4; i++)
        a->npy.shape[a->npy.ndim++] = from->shape[i];
    blocks_as_bytes(a, from);
    if (!first || from->pages || from->shape[0] == plain->p->n_items || from->shape[0] == 0)
        return true;
    return items_repeat(a, plain->p->n_items);
}

/* The array of a slot, under the name of its first use. */
static bool slot_add(struct plain *plain, uint32_t number, const char *name)
{
    char *const known = number ? plain->slot[number - 1] : NULL;

    if (!known || known[0])
        return true;
    snprintf(known, PLAIN_NAME, "%s", name);
    return array_add(plain, name, &plain->p->slot[number - 1].a, false);
}

static bool source_slots(struct plain *plain, int s)
{
    const heed_source *src = &plain->desc->sources[s];
    char n[PLAIN_NAME];
    bool good = slot_add(plain, src->slot, name_of(n, "index%d", s)) &&
                slot_add(plain, src->len_slot, name_of(n, "len%d", s)) &&
                slot_add(plain, src->mask_slot, name_of(n, "mask%d", s)) &&
                slot_add(plain, src->row_mask_slot, name_of(n, "row_mask%d", s)) &&
                slot_add(plain, src->k_scale_slot, name_of(n, "k_scale%d", s)) &&
                slot_add(plain, src->v_scale_slot, name_of(n, "v_scale%d", s));

    for (int t = 0; good && t < (int)src->n_terms; t++)
        good = slot_add(plain, src->terms[t].slot, name_of(n, "term%d_%d", s, t));
    for (int i = 0; good && i < (int)src->n_biases; i++) {
        const heed_bias *b = &src->biases[i];

        good = slot_add(plain, b->t, name_of(n, "bias%d_%d_t", s, i)) &&
               slot_add(plain, b->u, name_of(n, "bias%d_%d_u", s, i)) &&
               slot_add(plain, b->map, name_of(n, "bias%d_%d_map", s, i)) &&
               slot_add(plain, b->q_coord, name_of(n, "bias%d_%d_q", s, i)) &&
               slot_add(plain, b->k_coord, name_of(n, "bias%d_%d_k", s, i));
    }
    return good;
}

/* ---- what rows see -------------------------------------------------------------- */

/* Items, heads, rows and keys of a source, in the arrays below. */
static bool pairs_new(struct plain *plain, const char *name, int s, int dtype, size_t size,
                      struct plain_array **out)
{
    const struct problem *p = plain->p;
    const int64_t shape[4] = { p->n_items, p->heads, p->n_q, p->source[s].n_k };
    struct plain_array *a = *out = array_new(plain, name, dtype);

    a->npy.ndim = 4;
    a->npy.bytes = size;
    for (int i = 0; i < 4; i++) {
        a->npy.shape[i] = shape[i];
        a->npy.bytes *= (size_t)shape[i];
    }
    a->npy.data = a->owned = calloc(a->npy.bytes + 1, 1);
    return a->owned != NULL;
}

static void row_see(const struct problem *p, const struct item_view *view, int64_t head,
                    int64_t row, int s, unsigned char *seen)
{
    const int64_t keys = p->source[s].n_k;

    if (row >= view->q_n)
        return;
    if (!cf_layout_of(&p->c, s)->lists) {
        for (int64_t key = 0; key < keys; key++)
            seen[key] = cf_sees(p, view, head, row, s, key);
        return;
    }
    for (int64_t i = 0, key; (key = cf_list_entry(p, view, head, row, s, i)) != -2; i++) {
        if (key >= 0 && key < keys && seen[key] < 255)
            seen[key]++;
    }
}

/* What biases add, where a key is seen: to the logit, or to q.k. */
static void row_add(const struct problem *p, const struct item_view *view, int64_t head,
                    int64_t row, int s, const unsigned char *seen, float *value, float *joined)
{
    for (int64_t key = 0; key < p->source[s].n_k; key++) {
        double sum, size;

        if (!seen[key])
            continue;
        if (value)
            value[key] = cf_biases(p, view, head, row, s, key, &sum, &size)
                             ? (float)sum
                             : cf_decode(HEED_F32, 0xff800000u);
        if (joined) {
            cf_joined(p, view, head, row, s, key, &sum, &size);
            joined[key] = (float)sum;
        }
    }
}

/* Has the source biases of that sort? */
static bool has_bias(const struct plain *plain, int s, bool joined)
{
    const heed_source *src = &plain->desc->sources[s];

    for (uint32_t i = 0; i < src->n_biases; i++) {
        if ((src->biases[i].kind == HEED_BIAS_DOT) == joined)
            return true;
    }
    return false;
}

static bool pairs_add(struct plain *plain, int s)
{
    const struct problem *p = plain->p;
    const bool listed = cf_layout_of(&p->c, s)->lists;
    struct plain_array *seen, *value = NULL, *joined = NULL;
    const int64_t keys = p->source[s].n_k;
    char n[PLAIN_NAME];

    if (!pairs_new(plain, name_of(n, "visible%d", s), s, listed ? HEED_U8 : NPY_BOOL, 1, &seen))
        return false;
    if (has_bias(plain, s, false) &&
        !pairs_new(plain, name_of(n, "bias%d", s), s, HEED_F32, sizeof(float), &value))
        return false;
    if (has_bias(plain, s, true) &&
        !pairs_new(plain, name_of(n, "joined%d", s), s, HEED_F32, sizeof(float), &joined))
        return false;
    for (int64_t b = 0; b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        for (int64_t i = 0; i < p->heads * p->n_q; i++) {
            const int64_t at = (b * p->heads * p->n_q + i) * keys, h = i / p->n_q, row = i % p->n_q;
            unsigned char *const sees = (unsigned char *)seen->owned + at;

            row_see(p, &view, h, row, s, sees);
            row_add(p, &view, h, row, s, sees, value ? (float *)value->owned + at : NULL,
                    joined ? (float *)joined->owned + at : NULL);
        }
    }
    return true;
}

static const struct plain_array *array_find(const struct plain *plain, const char *name)
{
    for (int i = 0; i < plain->n; i++) {
        if (!strcmp(plain->array[i].name, name))
            return &plain->array[i];
    }
    return NULL;
}

/* Does a row see no key of any source? */
static bool row_blank(const struct plain *plain, int64_t row)
{
    char n[PLAIN_NAME];

    for (int s = 0; s < plain->p->n_sources; s++) {
        const size_t keys = (size_t)plain->p->source[s].n_k;
        const struct plain_array *a = array_find(plain, name_of(n, "visible%d", s));
        const unsigned char *seen = (const unsigned char *)a->owned + (size_t)row * keys;

        for (size_t i = 0; i < keys; i++) {
            if (seen[i])
                return false;
        }
    }
    return true;
}

/* The least band of j - i that holds what is seen; false: it also holds what is not. */
static bool band_find(struct plain *plain, const unsigned char *seen, int64_t keys)
{
    const struct problem *p = plain->p;
    const int64_t all = p->n_items * p->heads * p->n_q;
    int64_t low = keys, high = -p->n_q;

    for (int64_t i = 0; i < all * keys; i++) {
        const int64_t at = i % keys - i / keys % p->n_q;

        if (seen[i]) {
            low = at < low ? at : low;
            high = at > high ? at : high;
        }
    }
    for (int64_t i = 0; i < all * keys; i++) {
        const int64_t at = i % keys - i / keys % p->n_q;

        if (!seen[i] && at >= low && at <= high)
            return false;
    }
    plain->low = low <= 1 - p->n_q ? -HEED_FAR : low;
    plain->high = high >= keys - 1 ? HEED_FAR : high;
    return low <= high || all * keys == 0;
}

static void sees_find(struct plain *plain)
{
    const struct problem *p = plain->p;
    const int64_t keys = p->n_sources == 1 ? p->source[0].n_k : 0;
    const struct plain_array *a = array_find(plain, "visible0");

    plain->low = -HEED_FAR;
    plain->high = HEED_FAR;
    for (int64_t i = 0; i < p->n_items * p->heads * p->n_q && !plain->blank; i++)
        plain->blank = row_blank(plain, i);
    plain->sees = SEES_OTHER;
    if (p->n_sources != 1 || a->npy.dtype != NPY_BOOL || !band_find(plain, a->owned, keys))
        return;
    plain->sees = plain->low != -HEED_FAR        ? SEES_BAND
                  : plain->high == HEED_FAR      ? SEES_EVERYTHING
                  : plain->high == 0             ? SEES_CAUSAL
                  : plain->high == keys - p->n_q ? SEES_CAUSAL_END
                                                 : SEES_BAND;
}

/* ---- all --------------------------------------------------------------------- */

static bool attn_make(struct plain *plain)
{
    const struct problem *const p = plain->job->problem;
    const struct call *const call = cf_call_of(plain->job);
    const heed_attn_desc *desc = &call->desc;
    const bool packed = cf_queries_packed(&p->c);
    char n[PLAIN_NAME];
    bool good;

    plain->p = p;
    plain->call = call;
    plain->desc = desc;
    good = array_add(plain, "q", &p->q, packed) && array_add(plain, "o", &call->out, packed);
    if (good && call->has_lse)
        good = array_add(plain, "lse", &call->out_lse, packed);
    for (int i = 1; i < plain->n; i++)
        plain->array[i].output = true;
    if (good && p->sinks.data)
        good = array_add(plain, "sinks", &p->sinks, false);
    good = good && slot_add(plain, desc->q_slot, "q_begin") &&
           slot_add(plain, desc->o_slot, "o_begin") && slot_add(plain, desc->q_len_slot, "q_len") &&
           slot_add(plain, desc->q_pos_slot, "q_pos");
    for (int s = 0; good && s < p->n_sources; s++) {
        const bool in_one = cf_layout_of(&p->c, s)->packed;

        good = array_add(plain, name_of(n, "k%d", s), &p->source[s].k, in_one) &&
               array_add(plain, name_of(n, "v%d", s), &p->source[s].v, in_one) &&
               source_slots(plain, s) && pairs_add(plain, s);
    }
    if (good)
        sees_find(plain);
    return good;
}

/* The arrays as their tensors have them. */
static void tensor_add(struct plain *plain, const char *name, const struct operand *x,
                       const struct array *from)
{
    struct plain_array *const a = array_new(plain, name, (int)from->dtype);

    a->npy.data = from->data;
    a->npy.bytes = cf_array_bytes(from);
    a->npy.ndim = (int)x->place->t.ndim;
    memcpy(a->npy.shape, x->place->t.shape, sizeof a->npy.shape);
    blocks_as_bytes(a, from);
    a->output = from == x->out;
}

static void fixed_make(struct plain *plain)
{
    char n[PLAIN_NAME];

    for (int i = 0; i < plain->job->n; i++) {
        const struct operand *const x = &plain->job->operand[i];

        if (x->holds)
            tensor_add(plain, name_of(n, x->out ? "%s_before" : "%s", x->name), x, x->holds);
        if (x->out)
            tensor_add(plain, x->name, x, x->out);
    }
}

bool plain_make(struct plain *plain, struct job *job)
{
    memset(plain, 0, sizeof *plain);
    plain->job = job;
    if (!fixed_of(cf_op))
        return attn_make(plain);
    fixed_make(plain);
    return true;
}

void plain_finish(struct plain *plain)
{
    for (int i = 0; i < plain->n; i++)
        free(plain->array[i].owned);
    plain->n = 0;
}

/* ---- files -------------------------------------------------------------------- */

static void path_of(const struct plain_array *a, const char *folder, char path[4096])
{
    snprintf(path, 4096, "%s/%s.npy", folder, a->name);
}

bool plain_write(const struct plain *plain, const char *folder, bool outputs)
{
    char path[4096];

    for (int i = 0; i < plain->n; i++) {
        path_of(&plain->array[i], folder, path);
        if (plain->array[i].output == outputs && !npy_write(path, &plain->array[i].npy))
            return false;
    }
    return true;
}

bool plain_read(const struct plain *plain, const char *folder, char *why, size_t size)
{
    char path[4096], reason[256];

    for (int i = 0; i < plain->n; i++) {
        const struct plain_array *a = &plain->array[i];

        path_of(a, folder, path);
        if (!a->output || npy_read(path, &a->npy, reason, sizeof reason))
            continue;
        snprintf(why, size, "%s: %s", reason, a->name);
        return false;
    }
    return true;
}

bool plain_inputs_same(const struct plain *plain, const char *folder, char *why, size_t size)
{
    char path[4096], reason[256];

    for (int i = 0; i < plain->n; i++) {
        const struct plain_array *a = &plain->array[i];
        struct npy now = a->npy;
        bool same;

        if (a->output)
            continue;
        now.data = malloc(now.bytes + 1);
        path_of(a, folder, path);
        same = now.data && npy_read(path, &now, reason, sizeof reason) &&
               !memcmp(now.data, a->npy.data, now.bytes);
        free(now.data);
        if (!same) {
            snprintf(why, size, "input: %s was written", a->name);
            return false;
        }
    }
    return true;
}
