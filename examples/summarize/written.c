/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a model looked at as it wrote: the attention of its decoder, summed over the tokens of each
 * sentence of the document, for each sentence that was written.
 */
#include "part.h"

#include <stdlib.h>
#include <string.h>

void written_finish(struct written *written)
{
    free(written->text);
    free(written->list);
    free(written->mass);
    free(written->chosen);
    free(written->back);
    *written = (struct written){ .text = NULL };
}

bool written_begin(struct written *written, int64_t sentences)
{
    const size_t n = (size_t)sentences + 1;

    *written = (struct written){
        .mass = calloc(n, sizeof(*written->mass)), .chosen = calloc(n, sizeof(*written->chosen)),
        .back = malloc(n * sizeof(*written->back))
    };
    for (size_t i = 0; written->back && i < n; i++)
        written->back[i] = -1;
    return written->mass && written->chosen && written->back;
}

#ifdef SUMMARIZE_MODEL

/* ---- which tokens of a part are of which sentence --------------------------------- */

bool written_piece(struct writer *w, size_t begin, int64_t sentence)
{
    if (!w->written)
        return true;
    if (w->n_pieces == w->room_pieces) {
        const int64_t room = w->room_pieces ? 2 * w->room_pieces : 64;
        struct passage *const grown = realloc(w->pieces, (size_t)room * sizeof(*grown));

        if (!grown)
            return false;
        w->pieces = grown;
        w->room_pieces = room;
    }
    w->pieces[w->n_pieces++] = (struct passage){ begin, w->bytes, sentence };
    return true;
}

/* A piece has as many tokens as it adds to the one before: words begin anew between them. Negative:
 * a tokenizer that fails. */
static int64_t tokens_of_piece(struct writer *w, int64_t k)
{
    const struct passage *const p = &w->pieces[k];
    const size_t front = k > 0 ? w->pieces[k - 1].begin : p->begin;
    const int64_t both = part_count(w, front, p->end);
    const int64_t before = k > 0 ? part_count(w, front, w->pieces[k - 1].end) : 0;

    return both < 0 || before < 0 ? -1 : both > before ? both - before : 0;
}

int written_ask(struct writer *w, heed_generate_options *options)
{
    const int64_t rows = w->props.decoder_positions < SUMMARY_IDS ? w->props.decoder_positions
                                                                  : SUMMARY_IDS;
    int64_t at = 0;
    int status = part_lead(w, &at);

    free(w->groups);
    free(w->weights);
    w->groups = malloc((size_t)w->n_ids * sizeof(*w->groups));
    w->weights = malloc((size_t)(rows * (w->n_pieces + 1)) * sizeof(*w->weights));
    if (!w->groups || !w->weights)
        return writer_no_memory();
    for (int64_t i = 0; i < w->n_ids; i++)
        w->groups[i] = -1;
    for (int64_t k = 0; k < w->n_pieces && !status; k++) {
        const int64_t n = tokens_of_piece(w, k);

        if (n < 0)
            return writer_failed(w);
        for (int64_t i = 0; i < n; i++, at++)
            if (at < w->n_ids && w->pieces[k].sentence >= 0)
                w->groups[at] = (int32_t)k;
    }
    options->groups = w->groups;
    options->n_groups = w->n_pieces + 1;
    options->weights = w->weights;
    return status;
}

/* ---- what a sentence looked at ------------------------------------------------------ */

static void take(struct written_sentence *s, int64_t sentence, float share)
{
    int at = LOOKS;

    while (at > 0 && (s->at[at - 1] < 0 || share > s->share[at - 1]))
        at--;
    if (at == LOOKS)
        return;
    memmove(s->at + at + 1, s->at + at, (size_t)(LOOKS - 1 - at) * sizeof(*s->at));
    memmove(s->share + at + 1, s->share + at, (size_t)(LOOKS - 1 - at) * sizeof(*s->share));
    s->at[at] = sentence;
    s->share[at] = share;
}

/* Rows first to end of the weights are those of its tokens. */
static void look(struct writer *w, struct written_sentence *s, int64_t first, int64_t end)
{
    const int64_t groups = w->n_pieces + 1;
    double all = 0;

    for (int k = 0; k < LOOKS; k++)
        s->at[k] = -1;
    for (int64_t i = first; i < end; i++)
        for (int64_t k = 0; k < w->n_pieces; k++)
            all += (double)w->weights[i * groups + k];
    for (int64_t k = 0; k < w->n_pieces && all > 0; k++) {
        double sum = 0;

        if (w->pieces[k].sentence < 0)
            continue;
        for (int64_t i = first; i < end; i++)
            sum += (double)w->weights[i * groups + k];
        w->written->mass[w->pieces[k].sentence] += (float)(sum / all);
        take(s, w->pieces[k].sentence, (float)(sum / all));
    }
    for (int k = 0; k < LOOKS && s->at[k] >= 0; k++) {
        int64_t *const back = &w->written->back[s->at[k]];

        w->written->chosen[s->at[k]] = true;
        /* The first one that looked at nothing more, or else the first one. */
        if (*back < 0 || (k == 0 && w->written->list[*back].at[0] != s->at[0]))
            *back = w->written->n;
    }
}

static struct written_sentence *next_sentence(struct written *written)
{
    if (written->n == written->room) {
        const int64_t room = written->room ? 2 * written->room : 16;
        struct written_sentence *const grown =
            realloc(written->list, (size_t)room * sizeof(*grown));

        if (!grown)
            return NULL;
        written->list = grown;
        written->room = room;
    }
    return &written->list[written->n];
}

/* The token behind those whose text ends before byte `end`; negative: a tokenizer that fails. */
static int64_t tokens_before(struct writer *w, int64_t i, int64_t n, size_t end)
{
    uint64_t bytes = 0;

    for (; i < n; i++) {
        if (heed_model_text(w->model, w->out, i + 1, 0, NULL, 0, &bytes, &w->why) < 0 &&
            w->why.status != HEED_E_SHAPE)
            return -1;
        if (bytes > end)
            break;
    }
    return i;
}

int written_take(struct writer *w, const char *text, int64_t n)
{
    struct written *const all = w->written;
    const size_t size = strlen(text), base = all->bytes;
    char *const grown = realloc(all->text, base + size + 1);
    int64_t token = 1;                     /* nothing was looked at for the one that begins */

    if (!grown)
        return writer_no_memory();
    all->text = grown;
    w->base = base;
    memcpy(grown + base, text, size + 1);
    all->bytes += size;
    for (size_t begin = 0, end; begin < size; begin = end) {
        struct written_sentence *const s = next_sentence(all);
        bool cut;
        int64_t stop;

        end = sentence_end(w->doc->language, text, begin, size, &cut);
        stop = end < size ? tokens_before(w, token, n, end) : n;
        if (!s)
            return writer_no_memory();
        if (stop < 0)
            return writer_failed(w);
        *s = (struct written_sentence){ base + begin, base + end, w->parts, { 0 }, { 0 } };
        look(w, s, token, stop);
        all->n++;
        token = stop;
    }
    return 0;
}

#endif
