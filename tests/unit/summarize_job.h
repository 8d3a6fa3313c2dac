/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A document on its way through the demo, for its tests.
 */
#ifndef HEED_TESTS_UNIT_SUMMARIZE_JOB_H
#define HEED_TESTS_UNIT_SUMMARIZE_JOB_H

#include "examples/summarize/read.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Plain text as far as its sentences. */
static inline void read_plain(struct document *doc, struct stream *stream, const char *text)
{
    const struct source source = { .text = text, .size = strlen(text) };

    *stream = (struct stream){ 0 };
    plain_read(stream, &source);
    ck_assert(!stream->failed);
    ck_assert(document_split(doc, stream, language_named("en")));
}

/* A document and what is made of it. */
struct job {
    struct attend *attend;
    struct reading reading;
    struct document doc;
    struct vectors vectors;
    struct summary summary;
    float *mass, *score;
};

/* As far as the mass, on a device by name; with `limits`, if they are given. */
static inline void job_open(struct job *job, const char *name, const char *text,
                            const struct limits *limits)
{
    struct failure why = { .usage = false };

    *job = (struct job){ .attend = attend_open(name, &why) };
    ck_assert_msg(job->attend != NULL, "%s", why.text);
    if (limits)
        *attend_limits(job->attend) = *limits;
    job->reading.format = format_named("plain");
    ck_assert_msg(reading_do(&job->reading, text, strlen(text), NULL, &why), "%s", why.text);
    ck_assert(document_split(&job->doc, &job->reading.stream, language_named("en")));
    ck_assert(vectors_build(&job->vectors, &job->doc));
    ck_assert(document_segment(&job->doc, &job->vectors));
    job->mass = calloc((size_t)job->doc.n + 1, sizeof(*job->mass));
    ck_assert_ptr_nonnull(job->mass);
    ck_assert_msg(attend_mass(job->attend, &job->doc, &job->vectors, NULL, NULL, job->mass, &why),
                  "%s", why.text);
}

static inline void job_finish(struct job *job)
{
    free(job->mass);
    free(job->score);
    summary_finish(&job->summary);
    vectors_finish(&job->vectors);
    document_finish(&job->doc);
    reading_finish(&job->reading);
    attend_close(job->attend);
}

/* From the mass to the choice. */
static inline void job_choose(struct job *job, int64_t budget)
{
    struct failure why = { .usage = false };

    job->score = calloc((size_t)job->doc.n + 1, sizeof(*job->score));
    ck_assert_ptr_nonnull(job->score);
    salience_score(&job->doc, &job->vectors, job->mass, true, job->score, NULL);
    for (int64_t i = 0; i < job->doc.n; i++)
        ck_assert(isfinite(job->score[i]));
    ck_assert_msg(summary_choose(&job->summary, job->attend, &job->doc, &job->vectors, job->score,
                                 (struct budget){ .words = budget, .sentences = INT64_MAX }, NULL,
                                 &why), "%s", why.text);
}

#endif
