/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A document in sections, for a summary that says something of each. A heading begins a section,
 * and of headings that follow each other the last one. What stands before the first heading is a
 * section without one. A section's share is the attention that its sentences receive.
 */
#include "summarize.h"

#include <stdlib.h>

static bool is_heading(const struct document *doc, int64_t i)
{
    return doc->sentences[i].worth == 1;
}

/* Whether a section begins with sentence i. */
static bool begins(const struct document *doc, int64_t i, bool headings)
{
    if (i == 0)
        return true;
    if (!headings)
        return doc->sentences[i].segment != doc->sentences[i - 1].segment;
    return is_heading(doc, i) && (!is_heading(doc, i - 1) ||
                                  doc->sentences[i].turn != doc->sentences[i - 1].turn);
}

static double candidates_mass(const struct document *doc, const float *mass,
                              const struct section *section)
{
    double sum = 0;

    for (int64_t i = section->begin; i < section->end; i++)
        sum += doc->sentences[i].candidate ? (double)mass[i] : 0;
    return sum;
}

bool sections_find(struct sections *s, const struct document *doc, const float *mass)
{
    bool headings = false;
    double all = 0;

    *s = (struct sections){ .list = malloc(((size_t)doc->n + 1) * sizeof(*s->list)) };
    if (!s->list)
        return false;
    for (int64_t i = 0; i < doc->n && !headings; i++)
        headings = is_heading(doc, i) && !doc->sentences[i].candidate;
    for (int64_t i = 0; i < doc->n; i++) {
        struct section *last;

        if (begins(doc, i, headings))
            s->list[s->n++] = (struct section){ .heading = i, .begin = i, .end = i };
        last = &s->list[s->n - 1];
        if (headings && is_heading(doc, i) && last->begin == i)
            last->begin++;
        last->end++;
    }
    for (int64_t k = 0; k < s->n; k++)
        all += s->list[k].share = candidates_mass(doc, mass, &s->list[k]);
    for (int64_t k = 0; k < s->n; k++)
        s->list[k].share = all > 0 ? s->list[k].share / all : 1 / (double)s->n;
    return true;
}

void sections_finish(struct sections *s)
{
    free(s->list);
    *s = (struct sections){ 0 };
}

int64_t sections_of(const struct sections *s, int64_t i)
{
    int64_t low = 0, high = s->n;          /* the section is in [low, high) */

    if (s->n == 0)
        return -1;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;

        if (s->list[middle].heading <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}
