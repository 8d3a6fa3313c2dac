/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The easy calls: an operation over arrays, planned, run and waited for. They are symbols so that
 * other languages can call them, too.
 */
#include "../ops/op.h"

#include <heed/attn.h>
#include <heed/memory.h>
#include <heed/pool.h>

#include <stddef.h>

/* heed_attn_simple() takes terms without their size: a longer heed_term needs another call. */
_Static_assert(sizeof(heed_term) == 48, "heed_attn_simple() is for terms of the first version");

/* Plans, runs, waits, and gives all of it back. */
static heed_status once(const struct heed_op *op, heed_queue *queue, const void *desc,
                        const void *args, heed_report *report)
{
    heed_plan *plan = NULL;
    heed_event *done = NULL;
    heed_status status = heed_op_plan(op, queue ? heed_queue_device(queue) : NULL, desc, &plan,
                                      report);

    if (status < 0)
        return status;
    status = heed_op_run(op, plan, queue, args, &done, report);
    if (status >= 0)
        status = heed_event_wait(done, report);
    heed_event_destroy(done);
    heed_plan_drop(plan);
    return status;
}

heed_status heed_attn_simple(heed_queue *queue, const heed_array *q, const heed_array *k,
                             const heed_array *v, const heed_array *o, const heed_term *see,
                             uint32_t n_see, uint32_t flags, heed_report *report)
{
    heed_source source = { .flags = flags & HEED_SOURCE_CAUSAL,
                           .terms = see,
                           .n_terms = n_see,
                           .term_size = sizeof *see };
    heed_kv_bufs kv = { 0 };
    heed_attn_desc desc = { .size = sizeof desc,
                            .flags = (flags & ~(uint32_t)HEED_SOURCE_CAUSAL) |
                                     HEED_PLAN_OWN_WORKSPACE,
                            .sources = &source,
                            .n_sources = 1,
                            .source_size = sizeof source };
    heed_attn_args args = { .size = sizeof args, .kv_size = sizeof kv, .kv = &kv };

    heed_array_split(q, &desc.q, &args.q);
    heed_array_split(k, &source.k, &kv.k);
    heed_array_split(v, &source.v, &kv.v);
    heed_array_split(o, &desc.o, &args.o);
    return once(&heed_op_attn, queue, &desc, &args, report);
}

heed_status heed_merge_simple(heed_queue *queue, const heed_array *parts,
                              const heed_array *parts_lse, const heed_array *o,
                              const heed_array *lse, heed_report *report)
{
    heed_merge_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE };
    heed_merge_args args = { .size = sizeof args };

    heed_array_split(parts, &desc.parts, &args.parts);
    heed_array_split(parts_lse, &desc.parts_lse, &args.parts_lse);
    heed_array_split(o, &desc.o, &args.o);
    heed_array_split(lse, &desc.lse, &args.lse);
    return once(&heed_op_merge, queue, &desc, &args, report);
}

heed_status heed_copy_simple(heed_queue *queue, const heed_array *x, const heed_array *from,
                             const heed_array *y, heed_report *report)
{
    heed_copy_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE };
    heed_copy_args args = { .size = sizeof args };

    heed_array_split(x, &desc.x, &args.x);
    heed_array_split(from, &desc.from, &args.from);
    heed_array_split(y, &desc.y, &args.y);
    return once(&heed_op_copy, queue, &desc, &args, report);
}

heed_status heed_push_simple(heed_queue *queue, const heed_array *rows, const heed_array *head,
                             const heed_array *len, const heed_array *x, const heed_array *out,
                             const heed_array *out_len, heed_report *report)
{
    heed_push_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE };
    heed_push_args args = { .size = sizeof args };

    heed_array_split(rows, &desc.rows, &args.rows);
    heed_array_split(head, &desc.head, &args.head);
    heed_array_split(len, &desc.len, &args.len);
    heed_array_split(x, &desc.x, &args.x);
    heed_array_split(out, &desc.out, &args.out);
    heed_array_split(out_len, &desc.out_len, &args.out_len);
    return once(&heed_op_push, queue, &desc, &args, report);
}

heed_status heed_pool_simple(heed_queue *queue, uint32_t kind, int64_t kernel, int64_t stride,
                             const heed_array *x, const heed_array *y, heed_report *report)
{
    heed_pool_desc desc = { .size = sizeof desc,
                            .flags = HEED_PLAN_OWN_WORKSPACE,
                            .kind = kind,
                            .kernel = kernel,
                            .stride = stride };
    heed_pool_args args = { .size = sizeof args };

    heed_array_split(x, &desc.x, &args.x);
    heed_array_split(y, &desc.y, &args.y);
    return once(&heed_op_pool, queue, &desc, &args, report);
}

heed_status heed_select_simple(heed_queue *queue, const heed_array *q, const heed_array *x,
                               const heed_array *y, heed_report *report)
{
    heed_select_desc desc = { .size = sizeof desc,
                              .flags = HEED_PLAN_OWN_WORKSPACE,
                              .kind = HEED_SELECT_TOPK };
    heed_select_args args = { .size = sizeof args };

    heed_array_split(q, &desc.q, &args.q);
    heed_array_split(x, &desc.x, &args.x);
    heed_array_split(y, &desc.y, &args.y);
    if (desc.y.ndim >= 1 && desc.y.ndim <= 6)
        desc.count = desc.y.shape[desc.y.ndim - 1];
    return once(&heed_op_select, queue, &desc, &args, report);
}
