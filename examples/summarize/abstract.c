/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A summary in words of its own, by a model from files: what the document's sentences say, in parts
 * that the model has positions for, becomes what it writes about each of them. Parts end where
 * sentences do, and where a segment does if one ends in the last third (Moro and Ragazzi 2022:
 * semantic self-segmentation). What a part knows of the others is a memory of those before, and the
 * sentences of the others that say most (Cao and Wang 2023: AWESOME).
 */
#include "abstract.h"

#include "progress.h"

#include <stdlib.h>
#include <string.h>

#ifdef SUMMARIZE_MODEL

#include <heed/model.h>

enum { SUMMARY_IDS = 1 << 14, SPARE_TOKENS = 8 };

/* What stands before sentences of other parts, and before the part (section 3.2). */
static const char words_before[] = "Previous important sentences:",
                  words_here[] = "Current chunk:", words_behind[] = "Next important sentences:";

struct writer {
    const struct options *options;
    const struct document *doc;
    heed_runtime *runtime;
    heed_queue *queue;
    heed_model *model;
    heed_model_memory *memory;         /* NULL: parts know nothing of those before */
    heed_model_props props;
    const bool *salient;               /* NULL: nor of others */
    int64_t before, behind;            /* how many sentences of others this part gets */
    heed_report why;
    char *text;                        /* of the part in the making */
    size_t bytes, room;
    int32_t *ids, *out;
    int64_t n_ids, room_ids, read;     /* read: sentences of the parts before */
    int parts;
};

static int failed(const struct writer *w)
{
    char line[sizeof(w->why.field) + sizeof(w->why.message) + 4];
    const bool usage = w->why.status == HEED_E_NOMEM || w->why.status == HEED_E_DEVICE_NOMEM;

    snprintf(line, sizeof(line), "%s%s%s", w->why.field, *w->why.field ? ": " : "",
             w->why.message);
    return complain(usage ? EXIT_FAILURE : EXIT_USAGE, line, NULL);
}

static int no_memory(void)
{
    return complain(EXIT_FAILURE, "not enough memory", NULL);
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
    const size_t n = strlen(words);

    if (!room_for(w, n + 1))
        return false;
    if (w->bytes > 0)
        w->text[w->bytes++] = ' ';
    memcpy(w->text + w->bytes, words, n);
    w->bytes += n;
    return true;
}

/* A speaker's name comes with each of his turns; `alone`: in any case. */
static bool add_sentence(struct writer *w, int64_t i, bool alone)
{
    const struct sentence *const s = &w->doc->sentences[i];
    const bool begins = alone || w->doc->sentences[i - 1].turn != s->turn;

    if (begins && s->label_end > s->label_begin)
        return add_range(w, s->label_begin, s->label_end) && add_range(w, s->begin, s->end);
    return add_range(w, s->begin, s->end);
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
        return failed(w);
    free(w->ids);
    w->room_ids = n + n / 4;
    w->ids = malloc((size_t)w->room_ids * sizeof(*w->ids));
    if (!w->ids)
        return no_memory();
    if (heed_model_tokens(w->model, w->text, w->bytes, 0, w->ids, w->room_ids, &w->n_ids,
                          &w->why) < 0)
        return failed(w);
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

/* The sentence behind the part that begins at w->read and has at most `most` tokens; one at least.
 * Negative: a tokenizer that fails. */
static int64_t part_end(struct writer *w, int64_t most)
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

/* The next salient sentence from i on, by `step`, before `end`; or `end`. */
static int64_t salient_from(const struct writer *w, int64_t i, int64_t step, int64_t end)
{
    while (i != end && !w->salient[i])
        i += step;
    return i;
}

/* Sentences of other parts: the outermost first, one before and one behind the part in turn, until
 * one does not fit into the model's positions. Negative: a tokenizer that fails. */
static int64_t choose_others(struct writer *w, int64_t end)
{
    int64_t front = salient_from(w, 0, 1, w->read);
    int64_t back = salient_from(w, w->doc->n - 1, -1, end - 1);
    int64_t left = w->props.positions - SPARE_TOKENS, more = 0;
    const char *const words[3] = { words_before, words_here, words_behind };

    w->before = w->behind = 0;
    for (int i = 0; i < 3 && more >= 0; i++, left -= more)
        more = tokens_in(w, words[i], strlen(words[i]));
    for (int64_t i = w->read; i < end && more >= 0; i++, left -= more)
        more = tokens_of(w, i);
    while (more >= 0 && (front < w->read || back >= end)) {
        const bool past = front < w->read && (w->before <= w->behind || back < end);

        more = tokens_of(w, past ? front : back);
        left -= more;
        if (left < 0)
            break;
        if (past)
            front = salient_from(w, front + 1, 1, w->read);
        else
            back = salient_from(w, back - 1, -1, end - 1);
        w->before += past;
        w->behind += !past;
    }
    return more;
}

/* `n` salient sentences from i on, below their words. */
static bool add_others(struct writer *w, const char *words, int64_t i, int64_t n)
{
    bool good = n == 0 || add_words(w, words);

    for (; good && n > 0; i++, n--) {
        i = salient_from(w, i, 1, w->doc->n);
        good = add_sentence(w, i, true);
    }
    return good;
}

/* The first of the last `n` salient sentences. */
static int64_t last_others(const struct writer *w, int64_t n)
{
    int64_t i = w->doc->n;

    for (; n > 0; n--)
        i = salient_from(w, i - 1, -1, -1);
    return i;
}

/* The text of a part, with the others that were chosen. */
static bool add_part(struct writer *w, int64_t end)
{
    bool good = true;

    w->bytes = 0;
    if (w->before + w->behind > 0)
        good = add_others(w, words_before, 0, w->before) && add_words(w, words_here);
    for (int64_t i = w->read; i < end && good; i++)
        good = add_sentence(w, i, i == w->read);
    return good && add_others(w, words_behind, last_others(w, w->behind), w->behind);
}

/* The ids of a part. Sentences together may have more tokens than each alone: then fewer others. */
static int read_part(struct writer *w, int64_t end)
{
    int status;

    if (w->salient && choose_others(w, end) < 0)
        return failed(w);
    status = add_part(w, end) ? tokenize(w) : no_memory();
    while (!status && w->n_ids > w->props.positions && w->before + w->behind > 0) {
        if (w->behind >= w->before)
            w->behind--;
        else
            w->before--;
        status = add_part(w, end) ? tokenize(w) : no_memory();
    }
    return status;
}

/* ---- what is written -------------------------------------------------------------- */

static int tell(void *context, int64_t done, int64_t most)
{
    (void)context;
    progress_show(NULL, done, most);
    return 1;
}

/* What the model writes about w->ids, malloc'd. */
static int write_about(struct writer *w, char **text)
{
    const heed_generate_options options = { .size = sizeof(options), .progress = tell };
    uint64_t bytes = 0;
    int64_t n = 0;

    if (heed_model_generate_with(w->model, w->queue, w->memory, w->ids, w->n_ids, &options, w->out,
                                 SUMMARY_IDS, &n, &w->why) < 0)
        return failed(w);
    if (heed_model_text(w->model, w->out, n, 0, NULL, 0, &bytes, &w->why) < 0 &&
        w->why.status != HEED_E_SHAPE)
        return failed(w);
    *text = malloc(bytes + 1);
    if (!*text)
        return no_memory();
    return heed_model_text(w->model, w->out, n, 0, *text, bytes + 1, &bytes, &w->why) < 0
         ? failed(w) : 0;
}

static void put_part(struct writer *w, const char *text, int64_t end)
{
    const struct sentence *const first = &w->doc->sentences[w->read];

    progress_clear();
    if (w->options->json) {
        printf("%s{\"begin\":%zu,\"end\":%zu,\"sentences\":[%lld,%lld],\"tokens\":%lld,",
               w->parts ? "," : "", first->begin, w->doc->sentences[end - 1].end,
               (long long)w->read, (long long)end, (long long)w->n_ids);
        if (w->salient)
            printf("\"others\":[%lld,%lld],", (long long)w->before, (long long)w->behind);
        fputs("\"text\":", stdout);
        output_json_string(stdout, text);
        putchar('}');
    } else {
        if (w->parts)
            putchar('\n');
        output_words(stdout, text, strlen(text));
    }
    w->parts++;
}

/* One part: sentences from w->read on. */
static int write_part(struct writer *w, int64_t end)
{
    char *text = NULL;
    int status = read_part(w, end);

    if (!status && w->n_ids > w->props.positions) {
        char line[160];

        snprintf(line, sizeof(line), "the first %lld of %lld tokens are read%s",
                 (long long)w->props.positions, (long long)w->n_ids,
                 w->options->segments ? "" : "; --segments reads all");
        complain(0, "the model", line);
        w->ids[w->props.positions - 1] = w->ids[w->n_ids - 1];
        w->n_ids = w->props.positions;
    }
    if (!status)
        status = write_about(w, &text);
    if (!status)
        put_part(w, text, end);
    free(text);
    w->read = end;
    return status;
}

static int write_all(struct writer *w)
{
    const int64_t most = w->props.positions - (w->salient ? w->props.positions / 4 : 0);
    int status = 0;

    if (w->options->json) {
        fputs("{\"model\":", stdout);
        output_json_string(stdout, w->props.family);
        printf(",\"words\":%lld,\"parts\":[", (long long)w->doc->words);
    }
    while (w->read < w->doc->n && !status) {
        const int64_t end = w->options->segments ? part_end(w, most) : w->doc->n;

        status = end < 0 ? failed(w) : write_part(w, end);
    }
    if (w->options->json && !status)
        fputs("]}\n", stdout);
    return status;
}

static heed_status begin(struct writer *w)
{
    const struct options *const o = w->options;
    const heed_runtime_desc desc = { .size = sizeof(desc), .logger = progress_logger() };
    const heed_model_options options = {
        .size = sizeof(options),
        .attention = strcmp(o->attention, usual_attention) == 0 ? NULL : o->attention
    };
    heed_device *device;
    heed_status status = heed_runtime_create(&desc, &w->runtime, &w->why);

    if (status >= 0)
        status = heed_device_find(w->runtime, o->device, &device, &w->why);
    if (status >= 0)
        status = heed_queue_create(device, 0, &w->queue, &w->why);
    if (status >= 0)
        status = heed_model_open(w->queue, o->model, &options, &w->model, &w->why);
    return status < 0 ? status : heed_model_info(w->model, &w->props);
}

/* The memory of --memory, empty. */
static int remember(struct writer *w)
{
    const heed_model_memory_options options = {
        .size = sizeof(options),
        .kind = strcmp(w->options->memory, "attentive") == 0 ? HEED_MODEL_ATTENTIVE
                                                             : HEED_MODEL_COMPRESSIVE
    };

    if (heed_model_memory_create(w->model, w->queue, &options, &w->memory, &w->why) < 0)
        return failed(w);
    complain(0, "the model",
             "no weights for a memory: it compresses by means and maps by the identity");
    return 0;
}

int abstract_write(const struct options *o, const struct document *doc, const bool *salient)
{
    struct writer w = { .options = o, .doc = doc, .salient = salient,
                        .why = { .size = sizeof(w.why) }, .props = { .size = sizeof(w.props) } };
    int status;

    progress_enter(PROGRESS_WRITE);
    w.out = malloc(SUMMARY_IDS * sizeof(*w.out));
    status = !w.out ? no_memory() : begin(&w) < 0 ? failed(&w) : 0;
    if (!status && !w.props.decodes)
        status = complain(EXIT_USAGE, w.props.family, "a model without a decoder writes nothing");
    if (!status && o->memory)
        status = remember(&w);
    if (!status)
        status = write_all(&w);
    heed_model_memory_destroy(w.memory);
    heed_model_close(w.model);
    heed_queue_destroy(w.queue);
    heed_runtime_destroy(w.runtime);
    free(w.text);
    free(w.ids);
    free(w.out);
    return status;
}

const char *abstract_library(void)
{
    return "libheed-model";
}

#else

int abstract_write(const struct options *o, const struct document *doc, const bool *salient)
{
    (void)doc;
    (void)salient;
    return complain(EXIT_USAGE, o->model, "heed-summarize was built without libheed-model");
}

const char *abstract_library(void)
{
    return NULL;
}

#endif
