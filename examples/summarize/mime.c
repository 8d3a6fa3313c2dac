/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * RFC 5322 fields, RFC 2047 words, RFC 2045 transfer encodings. Fields are cut at FIELD_BYTES.
 */
#include "mime.h"

#include <stdlib.h>
#include <string.h>

/* ---- transfer encodings ------------------------------------------------------ */

static int hex(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *const found = c ? strchr(digits, c >= 'a' && c <= 'f' ? c - 32 : c) : NULL;

    return found ? (int)(found - digits) : -1;
}

/* In header words an underscore is a space. `to` has room for `size` bytes. */
static size_t from_quoted(const char *at, size_t size, char *to, bool word)
{
    size_t used = 0;

    for (size_t i = 0; i < size; i++) {
        if (at[i] == '=' && i + 2 < size && hex(at[i + 1]) >= 0 && hex(at[i + 2]) >= 0) {
            to[used++] = (char)(hex(at[i + 1]) * 16 + hex(at[i + 2]));
            i += 2;
        } else if (at[i] == '=' && i + 1 < size && at[i + 1] == '\n') {
            i++;
        } else if (at[i] == '=' && i + 2 < size && at[i + 1] == '\r' && at[i + 2] == '\n') {
            i += 2;
        } else {
            to[used++] = word && at[i] == '_' ? ' ' : at[i];
        }
    }
    return used;
}

static size_t from_base64(const char *at, size_t size, char *to)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    int held = 0;
    size_t used = 0;

    for (size_t i = 0; i < size && at[i] != '='; i++) {
        const char *const letter = at[i] ? strchr(letters, at[i]) : NULL;

        if (!letter)
            continue;
        bits = bits << 6 | (uint32_t)(letter - letters);
        held += 6;
        if (held >= 8) {
            held -= 8;
            to[used++] = (char)(bits >> held & 0xFF);
        }
    }
    return used;
}

char *mime_decode(const struct header *header, const char *at, size_t size, size_t *length)
{
    char charset[FIELD_BYTES], *bytes = malloc(size + 1), *text;
    const char *const encoding = header->encoding, *const end = encoding + strlen(encoding);
    size_t used = size;

    if (!bytes)
        return NULL;
    if (line_has(encoding, end, "quoted-printable"))
        used = from_quoted(at, size, bytes, false);
    else if (line_has(encoding, end, "base64"))
        used = from_base64(at, size, bytes);
    else
        memcpy(bytes, at, size);
    mime_parameter(header->type, "charset", charset);
    text = encoding_convert(charset, bytes, used, length);
    free(bytes);
    return text;
}

/* ---- fields ------------------------------------------------------------------ */

static const char *const field_names[] = {
    "from", "to", "cc", "bcc", "subject", "date", "sent", "reply-to", "message-id", "in-reply-to",
    "references", "received", "return-path", "mime-version", "content-type", "delivered-to",
    "content-transfer-encoding", "von", "an", "gesendet", "betreff", "datum", "de", "envoyé",
    "objet", "para", "asunto", "enviado", "da", "oggetto", "inviato", "assunto", "van", "aan",
    "onderwerp", "verzonden"
};

/* Up to here people write them too. */
enum { SEEN_BY_PEOPLE = 8, MACHINES = 17 };

/* The number of the field that the line begins with, -1: none. */
static int field_of(const char *begin, const char *end)
{
    for (size_t i = 0; i < sizeof(field_names) / sizeof(*field_names); i++) {
        const size_t length = strlen(field_names[i]);

        if ((size_t)(end - begin) > length && line_same(begin, field_names[i], length) &&
            (begin[length] == ':' || ((size_t)(end - begin) > length + 1 && begin[length] == ' ' &&
                                      begin[length + 1] == ':')))
            return (int)i;
    }
    return -1;
}

bool mime_is_field(const char *begin, const char *end)
{
    return field_of(begin, end) >= 0;
}

/* An encoded word "=?charset?Q?text?=" at `at`; 0 if there is none. */
static size_t encoded_word(const char *at, const char *end, char to[FIELD_BYTES], size_t *used)
{
    const char *part[4] = { at + 2 };
    char charset[32], bytes[FIELD_BYTES], *text;
    size_t length, size;

    for (int i = 1; i < 4; i++) {
        const char *const mark = memchr(part[i - 1], '?', (size_t)(end - part[i - 1]));

        if (!mark)
            return 0;
        part[i] = mark + 1;
    }
    if (part[3] == end || *part[3] != '=' || (size_t)(part[1] - part[0]) > sizeof(charset) ||
        part[3] - part[2] > FIELD_BYTES)
        return 0;
    memcpy(charset, part[0], (size_t)(part[1] - part[0] - 1));
    charset[part[1] - part[0] - 1] = '\0';
    size = (size_t)(part[3] - part[2] - 1);
    size = *part[1] == 'B' || *part[1] == 'b' ? from_base64(part[2], size, bytes)
                                              : from_quoted(part[2], size, bytes, true);
    text = encoding_convert(charset, bytes, size, &length);
    if (text) {
        length = length < FIELD_BYTES - 1 - *used ? length : FIELD_BYTES - 1 - *used;
        memcpy(to + *used, text, length);
        *used += length;
    }
    free(text);
    return (size_t)(part[3] + 1 - at);
}

/* The value with encoded words resolved; white space between two of them goes. */
static void decode_words(char field[FIELD_BYTES])
{
    char to[FIELD_BYTES];
    const char *const end = field + strlen(field);
    size_t used = 0;
    bool word = false;

    for (const char *at = field; at < end && used + 1 < FIELD_BYTES;) {
        const char *const next = word ? line_skip_space(at, end) : at;
        size_t taken = 0;

        if (end - next > 6 && next[0] == '=' && next[1] == '?')
            taken = encoded_word(next, end, to, &used);
        word = taken > 0;
        if (taken > 0)
            at = next + taken;
        else
            to[used++] = *at++;
    }
    memcpy(field, to, used);
    field[used] = '\0';
}

static void append(char field[FIELD_BYTES], const char *begin, const char *end)
{
    const size_t used = strlen(field), size = (size_t)(end - begin);
    const size_t fits = size < FIELD_BYTES - 2 - used ? size : FIELD_BYTES - 2 - used;

    if (used + 2 >= FIELD_BYTES)
        return;
    memcpy(field + used, begin, fits);
    field[used + fits] = '\0';
    for (size_t i = used; i < used + fits; i++) {
        if (field[i] == '\0')
            field[i] = ' ';
    }
}

static char *value_of(struct header *h, const char *begin, const char *end)
{
    static const struct {
        const char *name;
        size_t offset;
    } kept[] = {
        { "from", offsetof(struct header, from) }, { "von", offsetof(struct header, from) },
        { "de", offsetof(struct header, from) },   { "da", offsetof(struct header, from) },
        { "van", offsetof(struct header, from) },
        { "subject", offsetof(struct header, subject) },
        { "betreff", offsetof(struct header, subject) },
        { "objet", offsetof(struct header, subject) },
        { "asunto", offsetof(struct header, subject) },
        { "oggetto", offsetof(struct header, subject) },
        { "assunto", offsetof(struct header, subject) },
        { "onderwerp", offsetof(struct header, subject) },
        { "content-type", offsetof(struct header, type) },
        { "content-transfer-encoding", offsetof(struct header, encoding) },
        { "content-disposition", offsetof(struct header, disposition) },
    };

    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        if (strlen(kept[i].name) == (size_t)(end - begin) &&
            line_same(kept[i].name, begin, (size_t)(end - begin)))
            return (char *)h + kept[i].offset;
    }
    return NULL;
}

const char *mime_header(const char *at, const char *end, struct header *h)
{
    struct line line = { .next = at };
    char *value = NULL;

    *h = (struct header){ .known = 0 };
    while (line.next < end) {
        const char *colon;
        int field;

        line = line_at(line.next, end);
        if (line_is_blank(line.begin, line.end))
            break;
        if (*line.begin == ' ' || *line.begin == '\t') {
            if (value)
                append(value, line.begin, line.end);
            continue;
        }
        colon = memchr(line.begin, ':', (size_t)(line.end - line.begin));
        value = NULL;
        if (!colon)
            continue;
        field = field_of(line.begin, line.end);
        h->known += field >= 0;
        h->machine = h->machine || (field >= SEEN_BY_PEOPLE && field < MACHINES);
        value = value_of(h, line.begin, line_trim(line.begin, colon));
        if (value) {
            *value = '\0';
            append(value, line_skip_space(colon + 1, line.end), line.end);
        }
    }
    decode_words(h->from);
    decode_words(h->subject);
    return line.next;
}

void mime_parameter(const char *field, const char *name, char value[FIELD_BYTES])
{
    const size_t length = strlen(name);
    size_t used = 0;

    for (const char *c = field; (c = strchr(c, ';')) != NULL;) {
        char quote;

        c = line_skip_space(c + 1, field + strlen(field));
        if (strlen(c) <= length || !line_same(c, name, length) || c[length] != '=')
            continue;
        c += length + 1;
        quote = *c == '"' ? '"' : ';';
        c += quote == '"';
        while (*c && *c != quote && used + 1 < FIELD_BYTES)
            value[used++] = *c++;
        break;
    }
    while (used > 0 && value[used - 1] == ' ')
        used--;
    value[used] = '\0';
}

void mime_person(char from[FIELD_BYTES])
{
    char *open = strchr(from, '<');
    size_t used = 0;

    if (!open || open == from)
        open = strpbrk(from, open ? "@>" : "@[");
    if (open)
        *open = '\0';
    for (const char *c = from; *c; c++) {
        if (*c != '"' && *c != '<' && *c != '\'' && (used > 0 || *c != ' '))
            from[used++] = *c;
    }
    while (used > 0 && from[used - 1] == ' ')
        used--;
    from[used] = '\0';
}
