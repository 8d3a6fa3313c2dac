/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A summary in words of its own, by a model from files: what the document's sentences say, in parts
 * that the model has positions for, becomes what it writes about each of them. Parts end where
 * sentences do, and where a segment does if one ends in the last third (Moro and Ragazzi 2022:
 * semantic self-segmentation). What a part knows of the others is a memory of those before, and the
 * sentences of the others that say most (Cao and Wang 2023: AWESOME).
 */
#include "part.h"

#include "progress.h"

#include <stdlib.h>
#include <string.h>

#ifdef SUMMARIZE_MODEL

/* ---- what is written -------------------------------------------------------------- */

static int tell(void *context, int64_t done, int64_t most)
{
    (void)context;
    progress_show(NULL, done, most);
    return 1;
}

/* What the model writes about w->ids, malloc'd. Ids are as many as there is room for. */
static int write_about(struct writer *w, char **text)
{
    heed_generate_options options = { .size = sizeof(options), .progress = tell };
    uint64_t bytes = 0;
    int64_t n = 0;
    int status = w->written ? written_ask(w, &options) : 0;

    if (status)
        return status;
    if (heed_model_generate_with(w->model, w->queue, w->memory, w->ids, w->n_ids, &options, w->out,
                                 SUMMARY_IDS, &n, &w->why) < 0)
        return writer_failed(w);
    if (heed_model_text(w->model, w->out, n, 0, NULL, 0, &bytes, &w->why) < 0 &&
        w->why.status != HEED_E_SHAPE)
        return writer_failed(w);
    *text = malloc(bytes + 1);
    if (!*text)
        return writer_no_memory();
    if (heed_model_text(w->model, w->out, n, 0, *text, bytes + 1, &bytes, &w->why) < 0)
        return writer_failed(w);
    return w->written ? written_take(w, *text, n) : 0;
}

/* What each sentence looked at that was written in this part. */
static void put_looks(const struct writer *w)
{
    const struct written *const all = w->written;

    for (int64_t i = 0; i < all->n; i++) {
        const struct written_sentence *const s = &all->list[i];

        if (s->part != w->parts)
            continue;
        putchar('\n');
        output_words(stdout, all->text + s->begin, s->end - s->begin);
        for (int k = 0; k < LOOKS && s->at[k] >= 0; k++)
            printf("  %3.0f %%  sentence %lld\n", 100 * (double)s->share[k],
                   (long long)s->at[k] + 1);
    }
}

static void put_looks_json(const struct writer *w)
{
    const struct written *const all = w->written;
    const char *front = "";

    fputs(",\"written\":[", stdout);
    for (int64_t i = 0; i < all->n; i++) {
        const struct written_sentence *const s = &all->list[i];

        if (s->part != w->parts)
            continue;
        printf("%s{\"begin\":%zu,\"end\":%zu,\"looks_at\":[", front, s->begin - w->base,
               s->end - w->base);
        for (int k = 0; k < LOOKS && s->at[k] >= 0; k++)
            printf("%s{\"index\":%lld,\"share\":%.6f}", k ? "," : "", (long long)s->at[k],
                   (double)s->share[k]);
        fputs("]}", stdout);
        front = ",";
    }
    putchar(']');
}

/* Does only the page have what is written? */
static bool silent(const struct writer *w)
{
    return w->options->quiet || (w->options->html && strcmp(w->options->html, "-") == 0);
}

static void put_part(struct writer *w, const char *text, int64_t end)
{
    const struct sentence *const first = &w->doc->sentences[w->read];

    progress_clear();
    if (silent(w)) {
        w->parts++;
        return;
    }
    if (w->options->json) {
        printf("%s{\"begin\":%zu,\"end\":%zu,\"sentences\":[%lld,%lld],\"tokens\":%lld,",
               w->parts ? "," : "", first->begin, w->doc->sentences[end - 1].end,
               (long long)w->read, (long long)end, (long long)w->n_ids);
        if (w->salient)
            printf("\"others\":[%lld,%lld],", (long long)w->before, (long long)w->behind);
        fputs("\"text\":", stdout);
        output_json_string(stdout, text);
        if (w->options->explain)
            put_looks_json(w);
        putchar('}');
    } else {
        if (w->parts)
            putchar('\n');
        output_words(stdout, text, strlen(text));
        if (w->options->explain)
            put_looks(w);
    }
    w->parts++;
}

/* One part: sentences from w->read on. */
static int write_part(struct writer *w, int64_t end)
{
    char *text = NULL;
    int status = part_read(w, end);

    if (!status && w->kept)
        status = recall_others(w, end);
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
    const int64_t most = w->props.positions - (w->salient && !w->kept ? w->props.positions / 4 : 0);
    const bool json = w->options->json && !silent(w);
    int status = 0;

    if (json) {
        fputs("{\"model\":", stdout);
        output_json_string(stdout, w->props.family);
        printf(",\"words\":%lld,\"parts\":[", (long long)w->doc->words);
    }
    while (w->read < w->doc->n && !status) {
        const int64_t end = w->options->segments ? part_end(w, most) : w->doc->n;

        status = end < 0 ? writer_failed(w) : write_part(w, end);
    }
    if (json && !status)
        fputs("]}\n", stdout);
    return status;
}

static heed_status begin(struct writer *w)
{
    const struct options *const o = w->options;
    const heed_runtime_desc desc = { .size = sizeof(desc), .logger = progress_logger() };
    const heed_model_options options = {
        .size = sizeof(options),
        .attention = o->attention == usual_attention ? NULL : o->attention /* given, or not */
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

/* What --memory and --salient keep, and what has no weights there. */
static const struct remembering {
    const char *name, *plain;
    uint32_t kind;
} ways[] = {
    { "compressive", "no weights for a memory: it compresses by means", HEED_MODEL_COMPRESSIVE },
    { "attentive", "no weights for a memory: its maps are the identity", HEED_MODEL_ATTENTIVE },
    { "kv", "no weights for salient states: they are taken as they are", HEED_MODEL_SALIENT },
};

/* The memory of --memory or --salient kv. */
static int remember(struct writer *w)
{
    const char *const name = w->options->memory ? w->options->memory : w->options->salient;
    heed_model_memory_options options = { .size = sizeof(options) };
    const struct remembering *way = ways;

    while (strcmp(way->name, name) != 0)
        way++;
    options.kind = way->kind;
    if (heed_model_memory_create(w->model, w->queue, &options, &w->memory, &w->why) < 0)
        return writer_failed(w);
    complain(0, "the model", way->plain);
    return way->kind == HEED_MODEL_SALIENT ? recall_all(w) : 0;
}

int abstract_write(const struct options *o, const struct document *doc, const bool *salient,
                   struct written *written)
{
    struct writer w = { .options = o, .doc = doc, .salient = salient, .written = written,
                        .why = { .size = sizeof(w.why) }, .props = { .size = sizeof(w.props) } };
    int status;

    progress_enter(PROGRESS_WRITE);
    w.out = malloc(SUMMARY_IDS * sizeof(*w.out));
    status = !w.out ? writer_no_memory() : begin(&w) < 0 ? writer_failed(&w) : 0;
    if (!status && !w.props.decodes)
        status = complain(EXIT_USAGE, w.props.family, "a model without a decoder writes nothing");
    if (!status && (o->memory || (o->salient && strcmp(o->salient, "kv") == 0)))
        status = remember(&w);
    if (!status && written)
        memcpy(written->family, w.props.family, sizeof(written->family));
    if (!status)
        status = write_all(&w);
    if (written)
        written->parts = w.parts;
    heed_model_memory_destroy(w.memory);
    heed_model_close(w.model);
    heed_queue_destroy(w.queue);
    heed_runtime_destroy(w.runtime);
    free(w.text);
    free(w.ids);
    free(w.kept);
    free(w.states);
    free(w.rows);
    free(w.out);
    free(w.pieces);
    free(w.groups);
    free(w.weights);
    return status;
}

const char *abstract_library(void)
{
    return "libheed-model";
}

#else

int abstract_write(const struct options *o, const struct document *doc, const bool *salient,
                   struct written *written)
{
    (void)doc;
    (void)salient;
    (void)written;
    return complain(EXIT_USAGE, o->model, "heed-summarize was built without libheed-model");
}

const char *abstract_library(void)
{
    return NULL;
}

#endif
