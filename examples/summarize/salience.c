/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One number per sentence: how much of the document's attention it receives, as
 * LexRank's centrality (Erkan and Radev 2004, section 3.2) with attention as the
 * walk, and three priors that hold for texts of any kind. Very short sentences say
 * little; what comes first introduces; and what is addressed to somebody in the
 * text ("you", "we", "I") needs its setting, while a summary speaks from outside.
 * Mass and voice are standard scores among the sentences that have a vector, so the
 * weights need no unit; one without a vector, of mass 0, only has the rest of the
 * score. One set of weights for every document.
 */
#include "summarize.h"

#include <math.h>

static const double mass_weight = 0.7;
static const double length_weight = 3.0;
static const double full_length = 12;      /* words; longer gains nothing */
static const double voice_weight = 1.0;
static const double start_weight = 0.3;
static const double start_share = 0.05;    /* of the document: where the start fades */

struct moments {
    double mean, deviation;
};

static double log_mass(const float *mass, int64_t i)
{
    return log((double)mass[i] > 1e-30 ? (double)mass[i] : 1e-30);
}

static double voice(const struct vectors *v, int64_t i)
{
    return (double)v->address[i];
}

/* Mean and deviation of n values, given by their sum and sum of squares. */
static struct moments moments_of(double sum, double squares, int64_t n)
{
    const double count = n > 0 ? (double)n : 1;
    const double mean = sum / count, variance = squares / count - mean * mean;

    return (struct moments){ mean, variance > 1e-18 ? sqrt(variance) : 1 };
}

const char *const salience_names[SALIENCE_PARTS] = {
    [PART_MASS] = "mass", [PART_LENGTH] = "length", [PART_POSITION] = "position",
    [PART_VOICE] = "voice"
};

void salience_score(const struct document *doc, const struct vectors *v, const float *mass,
                    float *score, float (*parts)[SALIENCE_PARTS])
{
    double sum[2] = { 0 }, squares[2] = { 0 };
    struct moments of_mass, of_voice;
    int64_t n = 0;

    for (int64_t i = 0; i < doc->n; i++) {
        const double a = log_mass(mass, i), b = voice(v, i);

        if (mass[i] <= 0)
            continue;
        sum[0] += a;
        sum[1] += b;
        squares[0] += a * a;
        squares[1] += b * b;
        n++;
    }
    of_mass = moments_of(sum[0], squares[0], n);
    of_voice = moments_of(sum[1], squares[1], n);
    for (int64_t i = 0; i < doc->n; i++) {
        const double words = (double)doc->sentences[i].words;
        const double length = words < full_length ? words / full_length : 1;
        const double start = exp(-(double)i / (start_share * (double)doc->n));

        double part[SALIENCE_PARTS] = {
            [PART_LENGTH] = length_weight * length, [PART_POSITION] = start_weight * start
        };
        double score_here = 0;

        if (mass[i] > 0) {
            part[PART_MASS] = mass_weight * (log_mass(mass, i) - of_mass.mean) / of_mass.deviation;
            part[PART_VOICE] = -voice_weight * (voice(v, i) - of_voice.mean) / of_voice.deviation;
        }
        for (int k = 0; k < SALIENCE_PARTS; k++) {
            score_here += part[k];
            if (parts)
                parts[i][k] = (float)part[k];
        }
        score[i] = (float)score_here;
    }
}
