/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A case for a kernel that brings its outputs back as arrays: what it gets, and how that is judged.
 */
#include "claim.h"
#include "peer.h"
#include "conform/engine/subject.h"

#include <string.h>

bool peer_case_make(struct session *session, struct peer_case *k, const struct cs *c,
                    const char **skip)
{
    heed_status status;

    memset(k, 0, sizeof *k);
    *skip = NULL;
    for (int i = 0; i < 2; i++) {
        k->job[i] = cf_open(c, CALL_NATURAL, true);
        if (!k->job[i])
            return false;
    }
    status = cf_check(session->reference.device, c, NULL);
    if (status < 0) {
        *skip = heed_status_name(status);
        return false;
    }
    return plain_make(&k->plain[0], k->job[0]) && plain_make(&k->plain[1], k->job[1]);
}

void peer_case_finish(struct peer_case *k)
{
    for (int i = 0; i < 2; i++) {
        plain_finish(&k->plain[i]);
        cf_close(k->job[i]);
        k->job[i] = NULL;
    }
}

static void poison_fill(struct array *a, uint64_t poison)
{
    const size_t bytes = cf_array_bytes(a);

    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t word = cf_mix(poison + i);

        memcpy((char *)a->data + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

/* Of a state, what is remembered is what it held. */
void peer_poison(struct job *job, uint64_t seed)
{
    for (int i = 0; i < job->n; i++) {
        const struct operand *const x = &job->operand[i];

        if (!x->out)
            continue;
        poison_fill(x->out, seed + (uint64_t)i * 99);
        memcpy(x->old->data, x->holds ? x->holds->data : x->out->data, cf_array_bytes(x->out));
    }
}

void peer_case_judge(struct session *session, struct peer_case *k, bool twice, struct verdict *v)
{
    claim_judge(session, (struct claim){ session->o.claim, 0 }, k->job[0],
                twice ? k->job[1] : NULL, v);
}
