/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What blocks are, seen from those around them: short lines with rising numbers among paragraphs
 * are headings; what stands below "References", "Contents" or "License" is no part of the text, and
 * neither are notes "[1] ..." and the numbers of items.
 */
#include "read.h"

#include <string.h>

enum {
    HEADING_WORDS = 12,
    QUESTION_WORDS = 30,
    MOST_STEP = 3,                 /* between numbers of headings: some are overlooked */
    NAME_BYTES = 40
};

static const char *const apart[] = {   /* without numbers and marks; ASCII in any case */
    "acknowledgements", "acknowledgments", "authors", "bibliography", "contents", "contributors",
    "copyright", "copyright notice", "credits", "further reading", "index", "legal notice",
    "licence", "license", "licensing", "list of figures", "list of tables", "references",
    "related pages", "see also", "table of contents",
    "danksagung", "inhalt", "inhaltsverzeichnis", "literatur", "literaturverzeichnis", "lizenz",
    "siehe auch", "bibliographie", "références", "sommaire", "table des matières", "voir aussi",
    "bibliografía", "índice", "licencia", "referencias", "véase también", "bibliografia",
    "indice", "licenza", "riferimenti", "vedi anche", "licença", "referências", "ver também",
    "inhoud", "inhoudsopgave", "literatuur", "licentie", "referenties", "zie ook",
    "литература", "содержание", "см. также", "参考文献", "目录", "目次"
};

static bool is_apart(const char *begin, const char *end)
{
    begin += line_number(begin, end);
    while (end > begin && strchr(":. ", end[-1]))
        end--;
    for (size_t i = 0; i < sizeof(apart) / sizeof(*apart); i++) {
        if (strlen(apart[i]) == (size_t)(end - begin) &&
            line_same(begin, apart[i], (size_t)(end - begin)))
            return true;
    }
    return false;
}

/* "[12] ..." */
static bool is_note(const char *begin, const char *end)
{
    const char *c = begin + 1;

    if (begin == end || *begin != '[')
        return false;
    while (c < end && c - begin < 5 && *c >= '0' && *c <= '9')
        c++;
    return c > begin + 1 && end - c > 1 && *c == ']' && c[1] == ' ';
}

/* ---- headings with numbers --------------------------------------------------- */

/* The number of a short line alone, or of a question, between blocks that are no items; -1: it is
 * none. */
static int64_t heading_number(const struct stream *s, int64_t i)
{
    const struct block *const b = &s->blocks[i];
    const char *const begin = s->text + b->begin, *const end = s->text + b->end;
    const bool asks = end[-1] == '?';
    const int64_t most = asks ? QUESTION_WORDS : HEADING_WORDS;
    int64_t number = 0;

    if (b->kind != BLOCK_ITEM || i + 1 == s->n || s->blocks[i + 1].kind == BLOCK_ITEM ||
        (i > 0 && s->blocks[i - 1].kind == BLOCK_ITEM) || line_number(begin, end) == 0 ||
        (!asks && memchr(begin, '\n', (size_t)(end - begin))) ||
        line_words(begin, end, most + 1) > most || *begin < '0' || *begin > '9')
        return -1;
    for (const char *c = begin; c < end && c < begin + 4 && *c >= '0' && *c <= '9'; c++)
        number = number * 10 + (*c - '0');
    return number;
}

static void number_headings(struct stream *s)
{
    int64_t count = 0, last = -1;

    for (int64_t i = 0; i < s->n; i++) {
        const int64_t number = heading_number(s, i);

        if (number >= last && number <= last + MOST_STEP && number >= 0) {
            count++;
            last = number;
        }
    }
    last = -1;
    for (int64_t i = 0; i < s->n && count > 1; i++) {
        const int64_t number = heading_number(s, i);

        if (number >= last && number <= last + MOST_STEP && number >= 0) {
            s->blocks[i].kind = BLOCK_HEADING;
            last = number;
        }
    }
}

void stream_outline(struct stream *s)
{
    bool out = false;

    if (s->failed)
        return;
    number_headings(s);
    for (int64_t i = 0; i < s->n; i++) {
        struct block *const b = &s->blocks[i];
        const char *const begin = s->text + b->text_begin, *const end = s->text + b->end;

        if (b->kind == BLOCK_HEADING)
            out = is_apart(begin, end);
        else if (b->kind != BLOCK_TURN && (out || is_note(begin, end)))
            b->kind = BLOCK_FURNITURE;
        else if (b->kind == BLOCK_ITEM)
            b->text_begin += line_number(begin, end);
    }
}
