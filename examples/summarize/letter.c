/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The lines of a message: what its sender wrote, and around that the greeting, the lines of others
 * with who wrote them, older messages below, the signature. Words for these in ten languages.
 */
#include "letter.h"
#include "mime.h"

#include <string.h>

enum { GREETING_WORDS = 6, CLOSING_WORDS = 6, NAME_WORDS = 8 };

/* A line with one of these, and a colon at its end, says who wrote what follows. */
static const char *const wrote[] = {
    "wrote", "schrieb", "a écrit", "escribió", "ha scritto", "escreveu", "schreef", "пишет",
    "написал", "写道", "書きま",
};

/* What begins a line before an older message. */
static const char *const original[] = {
    "-----original message", "-----ursprüngliche nachricht", "-----message d'origine",
    "-----mensaje original", "-----messaggio originale", "-----mensagem original",
    "-----oorspronkelijk bericht", "-----Исходн", "----- original message", "-------- original",
    "-------- urspr",
};

static const char *const closings[] = {
    "best", "kind regards", "regards", "cheers", "thanks", "thank you", "many thanks",
    "sincerely", "yours", "warm regards", "sent from", "get outlook", "all the best", "see you",
    "mit freundlichen", "freundliche gr", "viele gr", "liebe gr", "beste gr", "schöne gr",
    "herzliche gr", "gruß", "gesendet mit", "von meinem iphone", "danke und", "vg", "lg",
    "cordialement", "bien cordialement", "bien à", "amicalement", "envoyé de", "saludos",
    "un saludo", "un cordial saludo", "atentamente", "gracias", "enviado desde",
    "cordiali saluti", "distinti saluti", "saluti", "un caro saluto", "grazie", "inviato da",
    "atenciosamente", "cumprimentos", "melhores cumprimentos", "abraços", "obrigad",
    "enviado do", "met vriendelijke", "vriendelijke groet", "groet", "hartelijke groet",
    "С уважен", "Спасибо", "此致", "祝好", "以上",
};

enum state { WRITTEN, CLOSED, SIGNED, OLDER };

struct reader {
    struct prose prose;
    enum state state;
    bool begun;                        /* a line was there */
    int64_t first;                     /* block of the stream behind the sender's name */
    size_t name_begin, name_end;       /* the sender's name in the stream; empty: not told */
};

static bool begins(const char *begin, const char *end, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(list[i]);

        if ((size_t)(end - begin) >= length && line_same(begin, list[i], length))
            return true;
    }
    return false;
}

static bool says_wrote(const char *begin, const char *end)
{
    const bool colon = end > begin && (end[-1] == ':' || (end - begin >= 3 &&
                                                          memcmp(end - 3, "：", 3) == 0));

    for (size_t i = 0; colon && i < sizeof(wrote) / sizeof(*wrote); i++) {
        if (line_has(begin, end, wrote[i]))
            return true;
    }
    return false;
}

/* A short line that ends no sentence and ends with a comma, a colon or nothing. */
static bool is_greeting(const char *begin, const char *end)
{
    return line_words(begin, end, GREETING_WORDS + 1) <= GREETING_WORDS &&
           end - begin < 80 && (end[-1] == ',' || end[-1] == '!' || end[-1] == ':' ||
                                (end - begin >= 3 && (memcmp(end - 3, "，", 3) == 0 ||
                                                      memcmp(end - 3, "：", 3) == 0)));
}

static bool is_closing(const char *begin, const char *end)
{
    return line_words(begin, end, CLOSING_WORDS + 1) <= CLOSING_WORDS &&
           begins(begin, end, closings, sizeof(closings) / sizeof(*closings));
}

/* The sender's name, as furniture that what was written points to. */
static void name_sender(struct reader *r, const char *name, size_t origin)
{
    struct stream *const s = r->prose.stream;
    const int64_t n = s->n;

    stream_open(s, BLOCK_FURNITURE);
    stream_put_for(s, name, strlen(name), origin);
    stream_close(s);
    r->name_begin = s->n > n ? s->blocks[n].begin : 0;
    r->name_end = s->n > n ? s->blocks[n].end : 0;
    r->first = s->n;
}

/* What was written since then is the sender's. */
static void sign(struct reader *r)
{
    struct stream *const s = r->prose.stream;

    for (int64_t i = r->first; i < s->n && r->name_end > 0; i++) {
        if (s->blocks[i].kind == BLOCK_PARAGRAPH || s->blocks[i].kind == BLOCK_ITEM) {
            s->blocks[i].label_begin = r->name_begin;
            s->blocks[i].label_end = r->name_end;
        }
    }
}

/* Header lines of another message in the text; returns how many lines they are. */
static int header_lines(const char *at, const char *end)
{
    struct line line = { .next = at };
    int lines = 0;

    while (line.next < end) {
        line = line_at(line.next, end);
        if (!mime_is_field(line_skip_space(line.begin, line.end), line.end))
            break;
        lines++;
    }
    return lines;
}

bool letter_has_headers(const char *at, const char *end)
{
    struct line line = { .next = at };
    bool blank = false;

    while (line.next < end) {
        line = line_at(line.next, end);
        if (blank && header_lines(line.begin, end) >= 2)
            return true;
        blank = line_is_blank(line.begin, line.end);
    }
    return false;
}

static void furniture(struct reader *r, const char *begin, const char *end)
{
    prose_put(&r->prose, r->state == OLDER ? BLOCK_QUOTE : BLOCK_FURNITURE, begin, end);
}

static void older(struct reader *r, const char *begin, const char *end)
{
    prose_end(&r->prose);
    r->state = OLDER;
    furniture(r, begin, end);
}

/* "Ann wrote:" may be two lines: the open paragraph is the first one. */
static void wrote_line(struct reader *r, const char *begin, const char *end)
{
    struct stream *const s = r->prose.stream;

    if (s->open && s->kind == BLOCK_PARAGRAPH && r->prose.lines == 1)
        s->kind = BLOCK_FURNITURE;
    else
        prose_end(&r->prose);
    furniture(r, begin, end);
    prose_end(&r->prose);
}

static void body_line(struct reader *r, const char *begin, const char *end)
{
    const char rule = line_rule(begin, end);
    const bool dashes = end - begin == 2 && memcmp(begin, "--", 2) == 0;

    if (r->state == OLDER || r->state == SIGNED) {
        furniture(r, begin, end);
    } else if (dashes || (rule == '_' && end - begin >= 20)) {
        prose_end(&r->prose);
        r->state = SIGNED;
    } else if (begins(begin, end, original, sizeof(original) / sizeof(*original))) {
        older(r, begin, end);
    } else if (says_wrote(begin, end)) {
        wrote_line(r, begin, end);
    } else if (is_closing(begin, end)) {
        prose_end(&r->prose);
        r->state = CLOSED;
        furniture(r, begin, end);
    } else if (r->state == CLOSED && *begin != '>' &&
               line_words(begin, end, NAME_WORDS + 1) <= NAME_WORDS && end - begin < 120 &&
               !line_ends_sentence(begin, end)) {
        furniture(r, begin, end);
    } else if (!r->begun && is_greeting(begin, end)) {
        furniture(r, begin, end);
        prose_end(&r->prose);
    } else {
        r->state = WRITTEN;
        prose_line(&r->prose, begin, end);
    }
    r->begun = true;
}

/* A message within the text begins; returns where its own text does. */
static const char *next_message(struct reader *r, const char *at, const char *end)
{
    struct stream *const s = r->prose.stream;
    struct header h;
    const char *const body = mime_header(at, end, &h);

    prose_end(&r->prose);
    sign(r);
    mime_person(h.from);
    name_sender(r, h.from, prose_origin(&r->prose, at));
    stream_open(s, BLOCK_HEADING);
    stream_put_for(s, h.subject, strlen(h.subject), prose_origin(&r->prose, at));
    stream_close(s);
    r->state = WRITTEN;
    r->begun = false;
    return body;
}

void letter_read(struct stream *stream, const struct letter *letter)
{
    const char *const end = letter->text + letter->size;
    struct reader r = {
        .prose = { .stream = stream, .base = letter->text, .origin = letter->origin, .gap = 3,
                   .whole = letter->whole, .flags = PROSE_NO_SPEAKERS },
        .first = stream->n
    };
    struct line line = { .next = letter->text };
    bool blank = true;

    if (letter->sender)
        name_sender(&r, letter->sender, letter->origin);
    while (line.next < end && !stream->failed) {
        const char *begin, *stop;

        line = line_at(line.next, end);
        begin = line_skip_space(line.begin, line.end);
        stop = line_trim(begin, line.end);
        if (begin == stop) {
            prose_end(&r.prose);
        } else if (blank && r.state != OLDER && header_lines(line.begin, end) >= 2) {
            if (letter->quotes_headers)
                older(&r, begin, stop);
            else
                line.next = next_message(&r, line.begin, end);
        } else {
            body_line(&r, begin, stop);
        }
        blank = begin == stop || line_rule(begin, stop) != 0;
    }
    prose_end(&r.prose);
    sign(&r);
}
