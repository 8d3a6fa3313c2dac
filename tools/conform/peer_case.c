/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A case for a kernel that brings its outputs back as arrays: what it gets, and how that is judged.
 */
#include "peer.h"

#include "plugin.h"

#include <string.h>

/* A call without memory of its own but for the outputs. */
static bool call_make(struct call *call, const struct problem *p)
{
    return cf_call_describe(call, p, CALL_NATURAL) && cf_array_alloc(&call->out) &&
           cf_array_alloc(&call->old) &&
           (!call->has_lse || (cf_array_alloc(&call->out_lse) && cf_array_alloc(&call->old_lse)));
}

bool peer_case_make(struct session *session, struct peer_case *k, const struct cs *c,
                    const char **skip)
{
    heed_status status;

    memset(k, 0, sizeof *k);
    *skip = NULL;
    k->p = cf_problem_make(c, NULL, 0, true);
    if (!k->p || !call_make(&k->first, k->p) || !call_make(&k->second, k->p))
        return false;
    k->first.desc.numerics = HEED_NUMERICS_EXACT;
    status = heed_attn_check(session->reference.device, &k->first.desc, NULL);
    if (status < 0) {
        *skip = heed_status_name(status);
        return false;
    }
    return plain_make(&k->plain[0], k->p, &k->first) && plain_make(&k->plain[1], k->p, &k->second);
}

void peer_case_finish(struct peer_case *k)
{
    plain_finish(&k->plain[0]);
    plain_finish(&k->plain[1]);
    cf_call_finish(&k->first);
    cf_call_finish(&k->second);
    cf_problem_free(k->p);
}

/* Elements of the poison, in what the kernel gets and in what is remembered of it. */
static void array_poison(struct array *out, struct array *old, uint64_t poison)
{
    const size_t bytes = (size_t)cf_array_count(out) * cf_dtype_size(out->dtype);

    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t word = cf_mix(poison + i);

        memcpy((char *)old->data + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
    memcpy(out->data, old->data, bytes);
}

void peer_case_poison(struct peer_case *k, int run, uint64_t poison)
{
    struct call *call = run ? &k->second : &k->first;

    array_poison(&call->out, &call->old, poison);
    if (call->has_lse)
        array_poison(&call->out_lse, &call->old_lse, poison + 99);
}

void peer_case_judge(struct session *session, struct peer_case *k, uint32_t numerics, bool twice,
                     struct verdict *v)
{
    plugin_judge_values(session, numerics, k->p, &k->first, twice ? &k->second : NULL, v);
}
