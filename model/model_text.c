/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Texts of a model: its tokenizer, which is read with it where the folder has one.
 */
#include "file.h"
#include "model.h"
#include "say.h"
#include "tokenizer.h"

#include <stdlib.h>
#include <string.h>

enum { JSON_BYTES = 256 << 20 };

/* The older form: vocab.json and merges.txt. */
static heed_status load_pair(const char *folder, struct tokenizer **out, heed_report *report)
{
    char *vocab = NULL, *merges = NULL;
    size_t vocab_bytes = 0, merges_bytes = 0;
    heed_status status;

    status = file_load(folder, "vocab.json", JSON_BYTES, &vocab, &vocab_bytes, report);
    if (status >= 0)
        status = file_load(folder, "merges.txt", JSON_BYTES, &merges, &merges_bytes, report);
    if (status >= 0)
        status = tokenizer_create_bpe(vocab, vocab_bytes, merges, merges_bytes, out, report);
    free(vocab);
    free(merges);
    return status;
}

void model_read_tokenizer(struct heed_model *model, const char *folder)
{
    heed_report *const why = &model->no_tokenizer;
    heed_report first = { .size = sizeof first };
    size_t bytes;
    char *text;

    why->size = sizeof *why;
    if (file_load(folder, "tokenizer.json", JSON_BYTES, &text, &bytes, &first) >= 0) {
        if (tokenizer_create(text, bytes, &model->tokenizer, why) < 0)
            model->tokenizer = NULL;
        free(text);
        return;
    }
    *why = first;
    if (first.status == HEED_E_NOT_FOUND && load_pair(folder, &model->tokenizer, &first) < 0) {
        model->tokenizer = NULL;
        if (first.status != HEED_E_NOT_FOUND) /* else tokenizer.json is what is missing */
            *why = first;
    }
}

static heed_status ready(const heed_model *model, const void *from, uint64_t n, const void *to,
                         uint64_t room, const void *count, heed_report *report)
{
    const heed_report *const why = model ? &model->no_tokenizer : NULL;

    if (!model || (!from && n) || (!to && room) || !count)
        return say(report, HEED_E_NULL,
                   !model ? "model" : !from && n ? "in" : !to && room ? "out" : "count", 0, 0,
                   "a required pointer is NULL");
    if (!model->tokenizer)
        return say(report, why->status, why->field, why->wanted, why->got, "%s", why->message);
    return HEED_OK;
}

heed_status heed_model_tokens(const heed_model *model, const char *text, uint64_t bytes,
                              uint32_t flags, int32_t *ids, int64_t room, int64_t *n,
                              heed_report *report)
{
    heed_status status = ready(model, text, bytes, ids, room > 0, n, report);
    int32_t *got = NULL;
    size_t n_got = 0;

    if (status < 0)
        return status;
    if (flags & ~(uint32_t)HEED_TOKENS_PLAIN)
        return say(report, HEED_E_FLAG, "flags", HEED_TOKENS_PLAIN, flags, "an unknown flag");
    if (room < 0)
        return say(report, HEED_E_VALUE, "room", 0, room, "a negative room");
    status = tokenizer_encode(model->tokenizer, text ? text : "", bytes,
                              !(flags & HEED_TOKENS_PLAIN), &got, &n_got, report);
    if (status < 0)
        return status;
    *n = (int64_t)n_got;
    if ((int64_t)n_got > room)
        status = say(report, HEED_E_SHAPE, "room", (int64_t)n_got, room, "%lld ids do not fit",
                     (long long)n_got);
    else if (n_got > 0)
        memcpy(ids, got, n_got * sizeof *ids);
    free(got);
    return status < 0 ? status : say_done(report);
}

heed_status heed_model_text(const heed_model *model, const int32_t *ids, int64_t n,
                            uint32_t flags, char *text, uint64_t room, uint64_t *bytes,
                            heed_report *report)
{
    heed_status status = ready(model, ids, n > 0, text, room, bytes, report);
    size_t n_got = 0;
    char *got = NULL;

    if (status < 0)
        return status;
    if (flags)
        return say(report, HEED_E_FLAG, "flags", 0, flags, "an unknown flag");
    if (n < 0)
        return say(report, HEED_E_VALUE, "n", 0, n, "a negative number of ids");
    status = tokenizer_decode(model->tokenizer, ids, (size_t)n, false, &got, &n_got, report);
    if (status < 0)
        return status;
    *bytes = n_got;
    if (n_got >= room)
        status = say(report, HEED_E_SHAPE, "room", (int64_t)n_got + 1, (int64_t)room,
                     "%llu bytes and a NUL do not fit", (unsigned long long)n_got);
    else
        memcpy(text, got, n_got + 1);
    free(got);
    return status < 0 ? status : say_done(report);
}
