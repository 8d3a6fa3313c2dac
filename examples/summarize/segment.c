/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sentences to segments: Cao and Wang 2023 (AWESOME), appendix A, Algorithm 1. A
 * segment takes sentences until it has SEGMENT_MIN_WORDS; from then on a sentence
 * that is more like what follows it than like the segment starts the next one.
 * Unlike the algorithm as printed, the upper limit is tested before a sentence is
 * added, so no segment exceeds it, and every sentence is in exactly one segment. The
 * mean cosine to a set of unit vectors is the dot product with their sum, divided
 * by their number.
 */
#include "summarize.h"

#include <stdlib.h>
#include <string.h>

/* Mean cosine of sentence i to the sentences after it, up to SEGMENT_MIN_WORDS of
 * them; false when there are none. */
static bool similarity_ahead(const struct document *doc, const struct vectors *v, int64_t i,
                             double *similarity)
{
    double sum[VECTOR_MOST] = { 0 };
    int64_t words = 0, j = i + 1;

    for (; j < doc->n && words < SEGMENT_MIN_WORDS; j++) {
        vectors_add(v, j, sum);
        words += doc->sentences[j].words;
    }
    if (j == i + 1)
        return false;
    *similarity = vectors_dot_sum(v, i, sum) / (double)(j - i - 1);
    return true;
}

bool document_segment(struct document *doc, const struct vectors *v)
{
    double sum[VECTOR_MOST] = { 0 };
    int64_t begin = 0, words = 0, n = 0;

    free(doc->segments);
    doc->n_segments = 0;
    doc->segments = malloc(((size_t)doc->n + 2) * sizeof(*doc->segments));
    if (!doc->segments)
        return false;
    doc->segments[0] = 0;
    for (int64_t i = 0; i < doc->n; i++) {
        struct sentence *const s = &doc->sentences[i];
        bool close = i > begin && words + s->words > SEGMENT_MAX_WORDS;
        double ahead;

        if (i > begin && !close && words >= SEGMENT_MIN_WORDS &&
            similarity_ahead(doc, v, i, &ahead))
            close = ahead > vectors_dot_sum(v, i, sum) / (double)(i - begin);
        if (close) {
            doc->segments[++n] = begin = i;
            memset(sum, 0, (size_t)v->width * sizeof(*sum));
            words = 0;
        }
        vectors_add(v, i, sum);
        words += s->words;
        s->segment = (int32_t)n;
    }
    doc->n_segments = doc->n > 0 ? n + 1 : 0;
    doc->segments[doc->n_segments] = doc->n;
    return true;
}
