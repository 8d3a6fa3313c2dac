/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "say.h"
#include "tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beside what is counted, buffers of added tokens are taken while a file is read. */
enum { FIXED = 12 << 20 };

struct file {
    struct json model, normalizer, splitter, processor, decoder, added;
};

static bool null_text(struct json *j)
{
    static const char text[] = "null";

    json_begin(j, text, sizeof text - 1);
    return true;
}

/* Where the parts of the file are; of what is read nothing may be there twice. */
static bool find_parts(struct tokenizer *t, struct json *j, struct file *file)
{
    static const struct field fields[] = {
        { "model", FIELD_PLACE, true, offsetof(struct file, model), NULL },
        { "normalizer", FIELD_PLACE, false, offsetof(struct file, normalizer), NULL },
        { "pre_tokenizer", FIELD_PLACE, false, offsetof(struct file, splitter), NULL },
        { "post_processor", FIELD_PLACE, false, offsetof(struct file, processor), NULL },
        { "decoder", FIELD_PLACE, false, offsetof(struct file, decoder), NULL },
        { "added_tokens", FIELD_PLACE, false, offsetof(struct file, added), NULL },
        { .name = NULL }
    };

    null_text(&file->normalizer);
    null_text(&file->splitter);
    null_text(&file->processor);
    null_text(&file->decoder);
    json_begin(&file->added, "[]", 2);
    return read_fields(t, j, "tokenizer", fields, file) &&
           (json_end(j) || read_wrong(t, j, "tokenizer"));
}

static bool named(struct span text, const char *name)
{
    return text.at && text.bytes == strlen(name) && memcmp(text.at, name, text.bytes) == 0;
}

/* Older files have no type: the kind is known by its members, as in the public library. */
static bool read_model(struct tokenizer *t, struct json *j)
{
    static const struct model_kind *const kinds[] = { &model_bpe, &model_wordpiece,
                                                      &model_unigram };
    struct values {
        struct span type;
        struct json merges, unk_id;
    } values = { .type = { NULL, 0 } };
    static const struct field fields[] = {
        { "type", FIELD_TEXT, false, offsetof(struct values, type), NULL },
        { "merges", FIELD_PLACE, false, offsetof(struct values, merges), NULL },
        { "unk_id", FIELD_PLACE, false, offsetof(struct values, unk_id), NULL },
        { .name = NULL }
    };
    struct json look = *j;

    if (!read_fields(t, &look, "model", fields, &values))
        return false;
    if (!values.type.at)
        t->model.kind = kinds[values.merges.begin ? 0 : values.unk_id.begin ? 2 : 1];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (named(values.type, kinds[i]->name))
            t->model.kind = kinds[i];
    if (!t->model.kind)
        return read_fail(t, HEED_E_UNSUPPORTED, "model.type", "\"%.*s\" is not known here",
                         (int)(values.type.bytes < 40 ? values.type.bytes : 40), values.type.at);
    return t->model.kind->read(t, j);
}

static bool check_ids(struct tokenizer *t)
{
    t->n_ids = t->model.vocab.n;
    for (size_t i = 0; i < t->added.n_ids; i++)
        if (t->added.by_id[i]->id >= t->n_ids)
            t->n_ids = (int64_t)t->added.by_id[i]->id + 1;
    for (size_t i = 0; i < t->processors.n; i++)
        for (size_t k = 0; k < t->processors.at[i].n_ids; k++)
            if (t->processors.at[i].ids[k] >= t->n_ids)
                return read_fail(t, HEED_E_VALUE, "post_processor", "the id %d of %lld",
                                 (int)t->processors.at[i].ids[k], (long long)t->n_ids);
    return true;
}

static bool read_file(struct tokenizer *t, struct json *j)
{
    struct file file;

    memset(&file, 0, sizeof file);
    return find_parts(t, j, &file) && read_model(t, &file.model) &&
           read_steps(t, &file.normalizer, "normalizer", normalizer_kinds, "normalizers",
                      &t->normalizers) &&
           added_read(t, &file.added) &&
           read_steps(t, &file.splitter, "pre_tokenizer", splitter_kinds, "pretokenizers",
                      &t->splitters) &&
           read_steps(t, &file.processor, "post_processor", processor_kinds, "processors",
                      &t->processors) &&
           read_steps(t, &file.decoder, "decoder", decoder_kinds, "decoders", &t->decoders) &&
           check_ids(t);
}

/* ---- vocab.json and merges.txt */

static void put_special(const struct tokenizer *t, const char *name, bool left,
                        struct buffer *json)
{
    const int32_t id = trie_find(&t->model.vocab.trie, name, strlen(name));
    char text[200];

    if (id < 0)
        return;
    snprintf(text, sizeof text,
             "%s{\"id\":%d,\"content\":\"%s\",\"single_word\":false,\"lstrip\":%s,"
             "\"rstrip\":false,\"normalized\":false,\"special\":true}",
             json->bytes > 1 ? "," : "", (int)id, name, left ? "true" : "false");
    buffer_put(json, text, strlen(text));
}

static bool add_specials(struct tokenizer *t)
{
    static const char *const names[] = { "<s>", "<pad>", "</s>", "<unk>", "<mask>",
                                         "<|endoftext|>" };
    struct buffer json = { 0 };
    struct json j;
    bool done;

    buffer_put(&json, "[", 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put_special(t, names[i], strcmp(names[i], "<mask>") == 0, &json);
    buffer_put(&json, "]", 1);
    t->memory.failed = t->memory.failed || json.failed;
    json_begin(&j, json.at, json.bytes);
    done = json.failed ? read_memory(t, "added_tokens") : added_read(t, &j);
    buffer_finish(&json);
    return done;
}

static bool steps_of_text(struct tokenizer *t, const char *text, const char *place,
                          const struct step_kind *kinds, struct steps *steps)
{
    struct json j;

    json_begin(&j, text, strlen(text));
    return read_steps(t, &j, place, kinds, "", steps);
}

static bool read_pair(struct tokenizer *t, struct json *vocab, const char *merges, size_t bytes)
{
    static const char level[] = "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}";
    struct json end = *vocab;
    char around[120];

    /* Nothing may stand behind the vocabulary. */
    if (!json_skip(&end) || !json_end(&end))
        return read_wrong(t, &end, "vocab");
    if (!vocab_of_object(t, vocab) || !bpe_of_lines(t, merges, bytes) || !add_specials(t) ||
        !steps_of_text(t, level, "pre_tokenizer", splitter_kinds, &t->splitters) ||
        !steps_of_text(t, level, "decoder", decoder_kinds, &t->decoders))
        return false;
    if (tokenizer_id(t, "<s>") >= 0 && tokenizer_id(t, "</s>") >= 0) {
        snprintf(around, sizeof around,
                 "{\"type\":\"RobertaProcessing\",\"sep\":[\"</s>\",%d],\"cls\":[\"<s>\",%d]}",
                 (int)tokenizer_id(t, "</s>"), (int)tokenizer_id(t, "<s>"));
        if (!steps_of_text(t, around, "post_processor", processor_kinds, &t->processors))
            return false;
    }
    return check_ids(t);
}

/* ---- both */

static heed_status finished(struct tokenizer *t, bool done, struct tokenizer **out,
                            heed_report *report)
{
    const heed_status status = done ? say(report, HEED_OK, "", 0, 0, "%s", "") :
                               say(report, t->status, t->field, 0, 0, "%s", t->message);

    if (done)
        *out = t;
    else
        tokenizer_destroy(t);
    return status;
}

/* A tokenizer that may take so much memory as a file of these bytes. */
static struct tokenizer *begin(size_t bytes)
{
    struct tokenizer *const t = calloc(1, sizeof *t);

    if (t)
        t->memory.left = bytes <= SIZE_MAX / 4 ? bytes + bytes / 5 + FIXED : SIZE_MAX / 2;
    return t;
}

heed_status tokenizer_create(const char *text, size_t bytes, struct tokenizer **out,
                             heed_report *report)
{
    struct tokenizer *const t = begin(bytes);
    struct json j;

    if (!t)
        return say(report, HEED_E_NOMEM, "", 0, 0, "no memory");
    json_begin(&j, text, bytes);
    return finished(t, read_file(t, &j), out, report);
}

heed_status tokenizer_create_bpe(const char *vocab, size_t vocab_bytes, const char *merges,
                                 size_t merges_bytes, struct tokenizer **out,
                                 heed_report *report)
{
    struct tokenizer *const t =
        begin(merges_bytes <= SIZE_MAX - vocab_bytes ? vocab_bytes + merges_bytes : SIZE_MAX);
    struct json j;

    if (!t)
        return say(report, HEED_E_NOMEM, "", 0, 0, "no memory");
    json_begin(&j, vocab, vocab_bytes);
    return finished(t, read_pair(t, &j, merges, merges_bytes), out, report);
}

void tokenizer_destroy(struct tokenizer *t)
{
    if (!t)
        return;
    memory_finish(&t->memory);
    free(t);
}

int64_t tokenizer_ids(const struct tokenizer *t)
{
    return t->n_ids;
}

int32_t tokenizer_id(const struct tokenizer *t, const char *token)
{
    const size_t bytes = strlen(token);
    const int32_t added = trie_find(&t->added.by_content, token, bytes);

    return added >= 0 ? t->added.at[added].id : trie_find(&t->model.vocab.trie, token, bytes);
}

/* ---- texts to ids */

struct call {
    const struct tokenizer *t;
    struct line lines[2];
    struct founds as_is, in_normal;
    struct pieces pieces[2];
    struct scratch scratch;
    struct ids ids;
    bool failed;
};

static void finish(struct call *c)
{
    for (int i = 0; i < 2; i++) {
        buffer_finish(&c->lines[i].text);
        pieces_finish(&c->pieces[i]);
    }
    free(c->as_is.at);
    free(c->in_normal.at);
    free(c->scratch.symbols);
    free(c->scratch.heap);
    free(c->scratch.reached);
}

/* What lies between two added tokens: into pieces, and those into ids. */
static void encode_section(struct call *c, const char *text, size_t bytes, size_t origin)
{
    const struct tokenizer *const t = c->t;
    int which = 0;

    pieces_clear(&c->pieces[0]);
    pieces_put(&c->pieces[0], text, bytes, origin);
    for (size_t i = 0; i < t->splitters.n; i++) {
        const struct pieces *const in = &c->pieces[which];
        struct pieces *const out = &c->pieces[which ^ 1];

        pieces_clear(out);
        if (in->failed || in->text.failed)
            break;
        for (size_t k = 0; k < in->n; k++)
            t->splitters.at[i].kind->split(&t->splitters.at[i], in->text.at, in->at[k], out);
        which ^= 1;
    }
    for (int i = 0; i < 2; i++)
        c->failed = c->failed || c->pieces[i].failed || c->pieces[i].text.failed ||
                    c->pieces[i].work.failed;
    for (size_t k = 0; k < c->pieces[which].n && !c->failed; k++) {
        const struct piece *const piece = &c->pieces[which].at[k];

        t->model.kind->encode(t, c->pieces[which].text.at + piece->begin,
                              piece->end - piece->begin, &c->scratch, &c->ids);
        c->failed = c->scratch.failed || c->ids.failed;
    }
}

static void encode_between(struct call *c, const char *text, size_t bytes, bool first)
{
    const struct line *line;
    uint32_t code;
    int which;

    c->lines[0].origin = first && bytes > 0 ? utf8_next(text, &code) : 0;
    if (!normalize(&c->t->normalizers, text, bytes, c->lines, &which)) {
        c->failed = true;
        return;
    }
    line = &c->lines[which];
    added_find(c->t, true, line->text.at, line->text.bytes, &c->in_normal);
    c->failed = c->failed || c->in_normal.failed;
    for (size_t i = 0; i < c->in_normal.n && !c->failed; i++) {
        const struct found *const found = &c->in_normal.at[i];

        if (found->token)
            ids_put(&c->ids, found->token->id);
        else
            encode_section(c, line->text.at + found->begin, found->end - found->begin,
                           found->begin < line->origin ? line->origin - found->begin : 0);
    }
}

static bool encode_all(struct call *c, const char *text, size_t bytes)
{
    added_find(c->t, false, text, bytes, &c->as_is);
    c->failed = c->as_is.failed;
    for (size_t i = 0; i < c->as_is.n && !c->failed; i++) {
        const struct found *const found = &c->as_is.at[i];

        if (found->token)
            ids_put(&c->ids, found->token->id);
        else
            encode_between(c, text + found->begin, found->end - found->begin, found->begin == 0);
    }
    return !c->failed && !c->ids.failed;
}

heed_status tokenizer_encode(const struct tokenizer *t, const char *text, size_t bytes,
                             bool special, int32_t **ids, size_t *n, heed_report *report)
{
    struct call call = { .t = t };
    struct buffer mended = { 0 };
    const bool valid = bytes <= INT32_MAX && utf8_valid(text, bytes);
    bool done;

    if (bytes > INT32_MAX)
        return say(report, HEED_E_OVERFLOW, "bytes", INT32_MAX, (int64_t)bytes,
                   "a text of more than 2^31 - 1 bytes");
    if (!valid)
        buffer_mend(&mended, text, bytes);
    done = !mended.failed && encode_all(&call, valid ? text : mended.at,
                                        valid ? bytes : mended.bytes) &&
           post_process(t, special, &call.ids);
    finish(&call);
    buffer_finish(&mended);
    if (!done) {
        free(call.ids.at);
        return say(report, HEED_E_NOMEM, "", 0, 0, "no memory");
    }
    *ids = call.ids.at;
    *n = call.ids.n;
    return say(report, HEED_OK, "", 0, 0, "%s", "");
}

heed_status tokenizer_decode(const struct tokenizer *t, const int32_t *ids, size_t n,
                             bool special, char **text, size_t *bytes, heed_report *report)
{
    struct buffer out = { 0 };

    if (!decode(t, ids, n, special, &out)) {
        buffer_finish(&out);
        return say(report, HEED_E_NOMEM, "", 0, 0, "no memory");
    }
    *text = out.at;
    *bytes = out.bytes - 1;
    return say(report, HEED_OK, "", 0, 0, "%s", "");
}
