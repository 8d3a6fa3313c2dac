/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Post-processors: which ids stand before and behind those of a text. Each is a list of ids with
 * one place, SEQUENCE, where the ids of the text go.
 */
#include "tokens.h"

#include <stdlib.h>
#include <string.h>

enum { SEQUENCE = -1, LISTED_MOST = 64 };

/* The member "ids" of one special token: to the end of the list. */
static bool special_ids(struct json *j, int32_t *ids, size_t *n)
{
    struct json_text key;
    int64_t id;

    if (!json_object(j))
        return false;
    while (json_member(j, &key)) {
        if (!json_is(&key, "ids")) {
            if (!json_skip(j))
                return false;
            continue;
        }
        if (!json_array(j))
            return false;
        while (json_element(j)) {
            if (!json_integer(j, &id))
                return false;
            if (id < 0 || id > INT32_MAX || *n == LISTED_MOST)
                return json_fail(j, "an id beyond 2^31 - 1, or more than 64");
            ids[(*n)++] = (int32_t)id;
        }
    }
    return !j->error;
}

/* Of the special tokens of a template the one of this name. */
static bool special(struct tokenizer *t, struct json j, const struct json_text *name,
                    int32_t *ids, size_t *n)
{
    struct json_text key;
    bool found = false;

    if (json_object(&j))
        while (json_member(&j, &key)) {
            const bool same = key.bytes == name->bytes &&
                              memcmp(key.at, name->at, key.bytes) == 0;

            if (same && found)
                json_fail(&j, "it is there twice");
            if (!(same ? special_ids(&j, ids, n) : json_skip(&j)))
                break;
            found = found || same;
        }
    if (j.error || !found)
        return json_fail(&j, "a token that is not listed") ||
               read_wrong(t, &j, "post_processor.special_tokens");
    return true;
}

/* {"SpecialToken": {"id": "[CLS]", "type_id": 0}} or {"Sequence": {"id": "A", "type_id": 0}} */
static bool piece(struct tokenizer *t, struct json *j, struct step *step)
{
    struct json_text kind, key, name = { 0 };
    int found = 0;
    bool more;

    if (json_object(j) && json_member(j, &kind) && json_object(j))
        while (json_member(j, &key)) {
            const bool named = json_is(&key, "id");

            found += named;
            if (!(named ? json_string(j, &name) : json_skip(j)))
                break;
        }
    more = !j->error && json_member(j, &key);
    if (j->error || more || found != 1)
        return json_fail(j, "no piece of a template") || read_wrong(t, j, "post_processor.single");
    if (json_is(&kind, "SpecialToken"))
        return special(t, step->places[1], &name, step->ids, &step->n_ids);
    if (!json_is(&kind, "Sequence") || !json_is(&name, "A") || step->n_ids == LISTED_MOST)
        return read_fail(t, HEED_E_UNSUPPORTED, "post_processor.single",
                         "line %lld: a piece that is not known here", (long long)json_line(j));
    step->ids[step->n_ids++] = SEQUENCE;
    return true;
}

static bool one_sequence(struct tokenizer *t, const struct step *step)
{
    int sequences = 0;

    for (size_t i = 0; i < step->n_ids; i++)
        sequences += step->ids[i] == SEQUENCE;
    return sequences == 1 || read_fail(t, HEED_E_UNSUPPORTED, "post_processor.single",
                                       "%d places for the text", sequences);
}

static bool prepare_template(struct tokenizer *t, struct step *step)
{
    struct json *const j = &step->places[0];

    step->ids = memory_take(&t->memory, LISTED_MOST + 1, sizeof *step->ids);
    if (!step->ids)
        return read_memory(t, "post_processor");
    if (json_array(j))
        while (json_element(j))
            if (!piece(t, j, step))
                return false;
    if (j->error)
        return read_wrong(t, j, "post_processor.single");
    return one_sequence(t, step);
}

/* BERT's and RoBERTa's: cls before, sep behind. */
static bool prepare_pair(struct tokenizer *t, struct step *step)
{
    step->ids = memory_take(&t->memory, 3, sizeof *step->ids);
    if (!step->ids)
        return read_memory(t, "post_processor");
    step->ids[0] = step->tokens[1];
    step->ids[1] = SEQUENCE;
    step->ids[2] = step->tokens[0];
    step->n_ids = 3;
    return true;
}

/* That of byte-level tokenizers is about places in the text alone. */
static bool prepare_nothing(struct tokenizer *t, struct step *step)
{
    step->ids = memory_take(&t->memory, 1, sizeof *step->ids);
    if (!step->ids)
        return read_memory(t, "post_processor");
    step->ids[0] = SEQUENCE;
    step->n_ids = 1;
    return true;
}

#define AT(member) offsetof(struct step, member)
static const struct field no_fields[] = { { .name = NULL } },
    pair_fields[] = { { "sep", FIELD_TOKEN, true, AT(tokens[0]), NULL },
                      { "cls", FIELD_TOKEN, true, AT(tokens[1]), NULL },
                      { .name = NULL } },
    template_fields[] = { { "single", FIELD_PLACE, true, AT(places[0]), NULL },
                          { "special_tokens", FIELD_PLACE, true, AT(places[1]), NULL },
                          { .name = NULL } };

const struct step_kind processor_kinds[] = {
    { "RobertaProcessing", pair_fields, .prepare = prepare_pair },
    { "BertProcessing", pair_fields, .prepare = prepare_pair },
    { "TemplateProcessing", template_fields, .prepare = prepare_template },
    { "ByteLevel", no_fields, .prepare = prepare_nothing },
    { .name = NULL }
};

static void copy(const struct ids *from, struct ids *to)
{
    for (size_t i = 0; i < from->n; i++)
        ids_put(to, from->at[i]);
}

bool post_process(const struct tokenizer *t, bool special_too, struct ids *ids)
{
    for (size_t i = 0; i < t->processors.n; i++) {
        const struct step *const step = &t->processors.at[i];
        struct ids made = { 0 };

        for (size_t k = 0; k < step->n_ids; k++)
            if (step->ids[k] == SEQUENCE)
                copy(ids, &made);
            else if (special_too)
                ids_put(&made, step->ids[k]);
        made.failed = made.failed || ids->failed;
        free(ids->at);
        *ids = made;
    }
    return !ids->failed;
}
