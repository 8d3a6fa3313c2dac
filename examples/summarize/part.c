/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The text of a part: its sentences, and those of other parts that say most, as text before and
 * behind it (Cao and Wang 2023, section 3.2). Parts end where sentences do, and where a segment
 * does if one ends in the last third (Moro and Ragazzi 2022: semantic self-segmentation).
 */
#include "part.h"

#ifdef SUMMARIZE_MODEL

#include <stdlib.h>
#include <string.h>

enum { SPARE_TOKENS = 8 };

/* What stands before sentences of other parts, and before the part (section 3.2). */
static const char words_before[] = "Previous important sentences:",
                  words_here[] = "Current chunk:", words_behind[] = "Next important sentences:";

int writer_failed(const struct writer *w)
{
    char line[sizeof(w->why.field) + sizeof(w->why.message) + 4];
    const bool usage = w->why.status == HEED_E_NOMEM || w->why.status == HEED_E_DEVICE_NOMEM;

    snprintf(line, sizeof(line), "%s%s%s", w->why.field, *w->why.field ? ": " : "",
             w->why.message);
    return complain(usage ? EXIT_FAILURE : EXIT_USAGE, line, NULL);
}

int writer_no_memory(void)
{
    return complain(EXIT_FAILURE, "not enough memory", NULL);
}

bool writer_ids(struct writer *w, int64_t n)
{
    free(w->ids);
    w->room_ids = n + n / 4;
    w->ids = malloc((size_t)w->room_ids * sizeof(*w->ids));
    return w->ids != NULL;
}

/* ---- the text of sentences -------------------------------------------------- */

static bool room_for(struct writer *w, size_t more)
{
    size_t room = w->room ? w->room : 4096;
    char *grown;

    while (room - w->bytes < more && room < SIZE_MAX / 2)
        room *= 2;
    if (room == w->room)
        return true;
    grown = realloc(w->text, room);
    if (!grown)
        return false;
    w->text = grown;
    w->room = room;
    return true;
}

/* White space becomes one space; what a terminal would obey has been left out of the text. */
static bool add_range(struct writer *w, size_t begin, size_t end)
{
    bool space = w->bytes > 0;

    if (!room_for(w, end - begin + 2))
        return false;
    for (size_t i = begin; i < end; i++) {
        const char c = w->doc->text[i];

        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            space = w->bytes > 0;
            continue;
        }
        if (space)
            w->text[w->bytes++] = ' ';
        space = false;
        w->text[w->bytes++] = c;
    }
    return true;
}

static bool add_words(struct writer *w, const char *words)
{
    const size_t n = strlen(words), begin = w->bytes;

    if (!room_for(w, n + 1))
        return false;
    if (w->bytes > 0)
        w->text[w->bytes++] = ' ';
    memcpy(w->text + w->bytes, words, n);
    w->bytes += n;
    return written_piece(w, begin, -1);
}

/* A speaker's name comes with each of his turns; `alone`: in any case. */
static bool add_sentence(struct writer *w, int64_t i, bool alone)
{
    const struct sentence *const s = &w->doc->sentences[i];
    const bool begins = alone || w->doc->sentences[i - 1].turn != s->turn;
    const size_t begin = w->bytes;
    bool good = true;

    if (begins && s->label_end > s->label_begin)
        good = add_range(w, s->label_begin, s->label_end);
    return good && add_range(w, s->begin, s->end) && written_piece(w, begin, i);
}

/* The ids of the text so far. */
static int tokenize(struct writer *w)
{
    int64_t n = 0;

    if (heed_model_tokens(w->model, w->text, w->bytes, 0, w->ids, w->room_ids, &n, &w->why) >= 0) {
        w->n_ids = n;
        return 0;
    }
    if (w->why.status != HEED_E_SHAPE)
        return writer_failed(w);
    if (!writer_ids(w, n))
        return writer_no_memory();
    if (heed_model_tokens(w->model, w->text, w->bytes, 0, w->ids, w->room_ids, &w->n_ids,
                          &w->why) < 0)
        return writer_failed(w);
    return 0;
}

/* Tokens of a text alone, and one more for what is between texts; negative: it failed. */
static int64_t tokens_in(struct writer *w, const char *text, size_t bytes)
{
    int64_t n = 0;

    if (heed_model_tokens(w->model, text, bytes, HEED_TOKENS_PLAIN, NULL, 0, &n, &w->why) < 0 &&
        w->why.status != HEED_E_SHAPE)
        return -1;
    return n + 1;
}

static int64_t tokens_of(struct writer *w, int64_t i)
{
    const struct sentence *const s = &w->doc->sentences[i];
    const size_t begin = s->label_end > s->label_begin ? s->label_begin : s->begin;

    return tokens_in(w, w->doc->text + begin, s->end - begin);
}

/* ---- parts -------------------------------------------------------------------- */

int64_t part_end(struct writer *w, int64_t most)
{
    int64_t end = w->read, tokens = SPARE_TOKENS, border = -1;

    for (; end < w->doc->n; end++) {
        const int64_t more = tokens_of(w, end);

        if (more < 0)
            return -1;
        if (end > w->read && tokens + more > most)
            break;
        if (end > w->read && w->doc->sentences[end].segment != w->doc->sentences[end - 1].segment &&
            3 * tokens >= 2 * most)
            border = end;
        tokens += more;
    }
    return border > 0 && end < w->doc->n ? border : end;
}

/* ---- what parts get of others --------------------------------------------------- */

int64_t part_salient(const struct writer *w, int64_t i, int64_t step, int64_t end)
{
    while (i != end && !w->salient[i])
        i += step;
    return i;
}

/* What sentence i of another part takes; negative: a tokenizer that fails. */
static int64_t cost_of(struct writer *w, int64_t i)
{
    for (int64_t k = 0; k < w->n_kept; k++)
        if (w->kept[k].sentence == i)
            return w->kept[k].n;
    return w->kept ? 0 : tokens_of(w, i);
}

bool part_others(struct writer *w, int64_t end, int64_t left)
{
    int64_t front = part_salient(w, 0, 1, w->read);
    int64_t back = part_salient(w, w->doc->n - 1, -1, end - 1);

    w->before = w->behind = 0;
    while (front < w->read || back >= end) {
        const bool past = front < w->read && (w->before <= w->behind || back < end);
        const int64_t more = cost_of(w, past ? front : back);

        left -= more;
        if (more < 0 || left < 0)
            return more >= 0;
        if (past)
            front = part_salient(w, front + 1, 1, w->read);
        else
            back = part_salient(w, back - 1, -1, end - 1);
        w->before += past;
        w->behind += !past;
    }
    return true;
}

/* Of their text, as much as the model has positions for. */
static bool choose_texts(struct writer *w, int64_t end)
{
    const char *const words[3] = { words_before, words_here, words_behind };
    int64_t left = w->props.positions - SPARE_TOKENS, more = 0;

    for (int i = 0; i < 3 && more >= 0; i++, left -= more)
        more = tokens_in(w, words[i], strlen(words[i]));
    for (int64_t i = w->read; i < end && more >= 0; i++, left -= more)
        more = tokens_of(w, i);
    return more >= 0 && part_others(w, end, left);
}

/* `n` salient sentences from i on, below their words. */
static bool add_others(struct writer *w, const char *words, int64_t i, int64_t n)
{
    bool good = n == 0 || add_words(w, words);

    for (; good && n > 0; i++, n--) {
        i = part_salient(w, i, 1, w->doc->n);
        good = add_sentence(w, i, true);
    }
    return good;
}

int64_t part_last(const struct writer *w, int64_t n)
{
    int64_t i = w->doc->n;

    for (; n > 0; n--)
        i = part_salient(w, i - 1, -1, -1);
    return i;
}

/* The text of a part, with the others that were chosen. */
static bool add_part(struct writer *w, int64_t end)
{
    bool good = true;

    w->bytes = 0;
    w->n_pieces = 0;
    if (w->before + w->behind > 0)
        good = add_others(w, words_before, 0, w->before) && add_words(w, words_here);
    for (int64_t i = w->read; i < end && good; i++)
        good = add_sentence(w, i, i == w->read);
    return good && add_others(w, words_behind, part_last(w, w->behind), w->behind);
}

/* Sentences together may have more tokens than each alone: then there are fewer others. */
int part_read(struct writer *w, int64_t end)
{
    int status;

    w->before = w->behind = 0;
    if (w->salient && !w->kept && !choose_texts(w, end))
        return writer_failed(w);
    status = add_part(w, end) ? tokenize(w) : writer_no_memory();
    while (!status && w->n_ids > w->props.positions && w->before + w->behind > 0) {
        if (w->behind >= w->before)
            w->behind--;
        else
            w->before--;
        status = add_part(w, end) ? tokenize(w) : writer_no_memory();
    }
    return status;
}

int64_t part_count(struct writer *w, size_t begin, size_t end)
{
    return end > begin ? tokens_in(w, w->text + begin, end - begin) - 1 : 0;
}

int part_lead(struct writer *w, int64_t *lead)
{
    int64_t plain = part_tokens(w);
    int32_t *ids;
    int status = 0;

    *lead = 0;
    if (plain < 0)
        return writer_failed(w);
    ids = malloc((size_t)plain * sizeof(*ids) + 1);
    if (!ids)
        return writer_no_memory();
    if (heed_model_tokens(w->model, w->text, w->bytes, HEED_TOKENS_PLAIN, ids, plain, &plain,
                          &w->why) < 0)
        status = writer_failed(w);
    /* Of a text that was cut the last id is none of its own. */
    for (; !status && *lead + 1 < w->n_ids; ++*lead) {
        const int64_t left = w->n_ids - 1 - *lead, n = plain < left ? plain : left;

        if (memcmp(w->ids + *lead, ids, (size_t)n * sizeof(*ids)) == 0)
            break;
    }
    free(ids);
    return status;
}

/* ---- for states of sentences ---------------------------------------------------- */

bool part_alone(struct writer *w, int64_t end)
{
    bool good = true;

    w->bytes = 0;
    w->n_pieces = 0;
    for (int64_t i = w->read; i < end && good; i++)
        good = add_sentence(w, i, i == w->read);
    return good;
}

int64_t part_tokens(struct writer *w)
{
    return part_count(w, 0, w->bytes);
}

#endif
