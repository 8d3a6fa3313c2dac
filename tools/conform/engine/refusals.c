/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Refusals, counted by the field that is not taken.
 */
#include "operation.h"
#include "refusals.h"

#include <stdlib.h>
#include <string.h>

bool cf_refused(const struct target *on, heed_status status, const heed_report *report)
{
    return on->partial && status == HEED_E_UNSUPPORTED && report->field[0] != '\0';
}

bool cf_target_refuses(void *who, const struct cs *c, heed_report *report)
{
    const struct target *const on = who;

    return cf_refused(on, cf_check(on->device, c, report), report);
}

/* "sources[1].k.dtype" becomes "sources.k.dtype": which source it was says little. */
static void field_plain(const char *path, char field[64])
{
    size_t n = 0;
    int depth = 0;

    for (; *path && n < 63; path++) {
        depth += *path == '[';
        if (depth == 0)
            field[n++] = *path;
        depth -= *path == ']' && depth > 0;
    }
    field[n] = '\0';
}

void cf_refusal_add(struct refusals *r, const heed_report *report)
{
    char field[64];
    int i = 0;

    field_plain(report->field[0] ? report->field : "no field named", field);
    while (i < r->n && strcmp(r->of[i].field, field) != 0)
        i++;
    r->refused++;
    if (i == REFUSAL_FIELDS) { /* the last entry stands for all that found no room */
        i = REFUSAL_FIELDS - 1;
    } else if (i == r->n) {
        snprintf(r->of[i].field, sizeof field, "%s", i == REFUSAL_FIELDS - 1 ? "others" : field);
        r->n++;
    }
    r->of[i].times++;
}

int64_t cf_refusals_of(const struct refusals *r, const char *path)
{
    char field[64];

    field_plain(path, field);
    for (int i = 0; i < r->n; i++) {
        if (!strcmp(r->of[i].field, field))
            return r->of[i].times;
    }
    return 0;
}

static int more_first(const void *a, const void *b)
{
    const struct refusal *x = a, *y = b;

    return x->times != y->times ? (x->times < y->times) - (x->times > y->times)
                                : strcmp(x->field, y->field);
}

void cf_refusals_print(const struct refusals *r, const char *name, FILE *to)
{
    struct refusals sorted = *r;

    qsort(sorted.of, (size_t)sorted.n, sizeof sorted.of[0], more_first);
    fprintf(to, "# %s: accepted %lld cases, refused %lld", name, (long long)r->accepted,
            (long long)r->refused);
    for (int i = 0; i < sorted.n; i++)
        fprintf(to, "%s %s %lld", i ? "," : ":", sorted.of[i].field,
                (long long)sorted.of[i].times);
    fprintf(to, "\n");
}
