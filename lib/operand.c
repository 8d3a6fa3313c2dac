/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Visits the arrays of a run. See operand.h.
 */
#include "operand.h"

#include "error.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void heed_operand_name(char field[HEED_FIELD], const char *name, uint32_t index)
{
    const char *mark = strstr(name, "[]");

    if (mark == NULL)
        snprintf(field, HEED_FIELD, "%s", name);
    else
        snprintf(field, HEED_FIELD, "%.*s[%" PRIu32 "]%s", (int)(mark - name), name, index,
                 mark + 2);
}

heed_status heed_operand_fail(heed_report *report, heed_status status,
                              const struct heed_operand *x, int64_t wanted, int64_t got,
                              const char *message)
{
    char field[HEED_FIELD];

    heed_operand_name(field, x->name, x->index);
    return heed_report_fill(report, status, field, wanted, got, "%s", message);
}

/* handle is looked at where the binding has handles. */
static struct heed_operand operand_at(const struct heed_pass *pass, const void *p, void *handle)
{
    const bool handles = pass->binding->bound.handles != NULL;

    return (struct heed_operand){
        .p = p,
        .handle = handles ? handle : NULL,
        .given = handles ? handle != NULL : p != NULL,
    };
}

static heed_status visit_aux(const struct heed_pass *pass, const struct heed_aux *aux)
{
    struct heed_operand x;

    if (aux->slot == 0 || aux->data != NULL)
        return HEED_OK;
    x = operand_at(pass, pass->binding->slots[aux->slot - 1],
                   pass->binding->slot_handles[aux->slot - 1]);
    x.view.dtype = aux->dtype;
    memcpy(x.view.shape, aux->shape, sizeof(x.view.shape));
    memcpy(x.view.stride, aux->stride, sizeof(x.view.stride));
    x.name = "slots[]";
    x.index = aux->slot - 1;
    return pass->visit(pass, &x);
}

static heed_status visit_list(const struct heed_pass *pass, const struct heed_aux *const *list,
                              size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const heed_status status = visit_aux(pass, list[i]);

        if (status < 0)
            return status;
    }
    return HEED_OK;
}

static heed_status visit_source_slots(const struct heed_pass *pass,
                                      const struct heed_checked_source *source)
{
    const struct heed_aux *const own[] = { &source->index, &source->len, &source->mask };
    heed_status status = visit_list(pass, own, 3);

    for (uint32_t i = 0; status >= 0 && i < source->n_terms; i++)
        status = visit_aux(pass, &source->terms[i].slot);
    for (uint32_t i = 0; status >= 0 && i < source->n_biases; i++) {
        const struct heed_checked_bias *b = &source->biases[i];
        const struct heed_aux *const list[] = { &b->t, &b->u, &b->map, &b->q_coord, &b->k_coord };

        status = visit_list(pass, list, 5);
    }
    return status;
}

heed_status heed_operand_slots(const struct heed_pass *pass, const struct heed_checked *attn)
{
    const struct heed_aux *const own[] = { &attn->q_pos, &attn->q_begin, &attn->q_len };
    heed_status status = visit_list(pass, own, 3);

    for (uint32_t i = 0; status >= 0 && i < attn->n_sources; i++)
        status = visit_source_slots(pass, &attn->sources[i]);
    return status;
}

static heed_status visit_view(const struct heed_pass *pass, const struct heed_view *view,
                              const void *p, void *handle, const char *name, uint32_t index)
{
    struct heed_operand x = operand_at(pass, p, handle);

    x.view = *view;
    x.name = name;
    x.index = index;
    return view->dtype == 0 ? HEED_OK : pass->visit(pass, &x);
}

heed_status heed_operand_inputs(const struct heed_pass *pass, const struct heed_checked *attn)
{
    const struct heed_binding *b = pass->binding;
    heed_status status = visit_view(pass, &attn->q, b->bound.q, b->handles.q, "q", 0);

    if (status >= 0)
        status = visit_view(pass, &attn->sinks, b->bound.sinks, b->handles.sinks, "sinks", 0);
    for (uint32_t i = 0; status >= 0 && i < attn->n_sources; i++) {
        const struct heed_checked_source *source = &attn->sources[i];

        status = visit_view(pass, &source->k, b->k[i], b->k_handles[i], "kv[].k", i);
        if (status >= 0)
            status = visit_view(pass, &source->v, b->v[i], b->v_handles[i], "kv[].v", i);
    }
    return status >= 0 ? heed_operand_slots(pass, attn) : status;
}

heed_status heed_operand_outputs(const struct heed_pass *pass, const struct heed_checked *attn)
{
    const struct heed_binding *b = pass->binding;
    const heed_status status = visit_view(pass, &attn->o, b->bound.o, b->handles.o, "o", 0);

    return status >= 0 ? visit_view(pass, &attn->lse, b->bound.lse, b->handles.lse, "lse", 0)
                       : status;
}
