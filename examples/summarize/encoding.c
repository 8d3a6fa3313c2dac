/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which characters the bytes of a file are: UTF-8, UTF-16 by its mark or by its zeros, else
 * Windows-1252, which is Latin-1 with marks where that has controls. What is no text at all is
 * refused, with the name of a program that makes text of it.
 */
#include "read.h"

#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE = 1 << 16,              /* bytes that are looked at before they are read as text */
    FEW = 8                        /* controls that any text may have */
};

/* ---- what is no text ------------------------------------------------------- */

static const struct {
    const char *magic;
    size_t length;
    const char *why;
} refused[] = {
    { "%PDF-", 5, "this is a PDF file; try: pdftotext FILE - | heed-summarize -" },
    { "%!PS", 4, "this is PostScript; try: ps2ascii FILE | heed-summarize -" },
    { "PK\3\4", 4, "this is a ZIP archive, and none of the documents that are read; try: "
                   "pandoc -t plain FILE | heed-summarize -" },
    { "\xD0\xCF\x11\xE0", 4, "this is an old office document, or one with a password; try: "
                             "catdoc FILE | heed-summarize -" },
    { "\x1F\x8B", 2, "this is compressed; try: gzip -dc FILE | heed-summarize -" },
    { "BZh", 3, "this is compressed; try: bzip2 -dc FILE | heed-summarize -" },
    { "\xFD" "7zXZ", 5, "this is compressed; try: xz -dc FILE | heed-summarize -" },
    { "\x28\xB5\x2F\xFD", 4, "this is compressed; try: zstd -dc FILE | heed-summarize -" },
    { "{\\rtf", 5, "this is RTF; try: pandoc -f rtf -t plain FILE | heed-summarize -" },
    { ".TH ", 4, "this is the source of a man page; try: man -l FILE | heed-summarize -" },
    { ".\\\" ", 4, "this is the source of a man page; try: man -l FILE | heed-summarize -" },
    { ".Dd ", 4, "this is the source of a man page; try: man -l FILE | heed-summarize -" },
    { "\x7F" "ELF", 4, "this is a program" },
    { "\x89PNG", 4, "this is a picture" },
    { "\xFF\xD8\xFF", 3, "this is a picture" },
    { "GIF8", 4, "this is a picture" },
};

static bool is_control(unsigned char c)
{
    return c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\b' && c != 0x1B;
}

/* UTF-16 without a mark: every second byte is zero, and hardly any other. */
static enum encoding zeros(const char *bytes, size_t size)
{
    size_t zero[2] = { 0 };

    for (size_t i = 0; i < size; i++)
        zero[i % 2] += bytes[i] == 0;
    if (size >= 4 && zero[1] * 2 > size * 2 / 5 && zero[0] * 20 < zero[1])
        return ENCODING_UTF16LE;
    if (size >= 4 && zero[0] * 2 > size * 2 / 5 && zero[1] * 20 < zero[0])
        return ENCODING_UTF16BE;
    return ENCODING_UTF8;
}

static enum encoding wide(const char *bytes, size_t size)
{
    if (size >= 2 && memcmp(bytes, "\xFF\xFE", 2) == 0)
        return ENCODING_UTF16LE;
    if (size >= 2 && memcmp(bytes, "\xFE\xFF", 2) == 0)
        return ENCODING_UTF16BE;
    return zeros(bytes, size < SAMPLE ? size : SAMPLE);
}

/* Of a sample; zeros of UTF-16 are none. */
static bool has_many_controls(const char *bytes, size_t size)
{
    size_t controls = 0;

    for (size_t i = 0; i < size; i++)
        controls += is_control((unsigned char)bytes[i]);
    return controls > FEW && controls * 50 > size;
}

const char *encoding_refuse(const char *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        if (size >= refused[i].length && memcmp(bytes, refused[i].magic, refused[i].length) == 0)
            return refused[i].why;
    }
    if (wide(bytes, size) == ENCODING_UTF8) {
        const size_t part = size < SAMPLE ? size : SAMPLE;

        if (has_many_controls(bytes, part) || has_many_controls(bytes + size - part, part))
            return "this is no text: it has too many control characters";
    }
    return NULL;
}

/* ---- which characters ------------------------------------------------------ */

static const char *const names[ENCODINGS] = { "UTF-8", "UTF-16LE", "UTF-16BE", "windows-1252" };

const char *encoding_name(enum encoding encoding)
{
    return names[encoding];
}

enum encoding encoding_find(const char *bytes, size_t size)
{
    const enum encoding first = wide(bytes, size);
    size_t bad = 0, good = 0, taken;

    if (first != ENCODING_UTF8)
        return first;
    for (size_t i = 0; i < size; i += taken) {
        const uint32_t code = utf8_next(bytes + i, bytes + size, &taken);

        bad += code == UTF8_BAD && taken == 1;
        good += taken > 1;
    }
    return bad > good ? ENCODING_LATIN1 : ENCODING_UTF8;
}

/* 80 to 9F of Windows-1252; what is not assigned is what Latin-1 has there. */
static const uint16_t windows[32] = {
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178
};

static uint32_t unit(enum encoding encoding, const char *at)
{
    const uint32_t a = (unsigned char)at[0], b = (unsigned char)at[1];

    return encoding == ENCODING_UTF16LE ? b << 8 | a : a << 8 | b;
}

/* One character of [at, end), at < end; not of UTF-8. */
static uint32_t next_code(enum encoding encoding, const char *at, const char *end, size_t *taken)
{
    uint32_t code, low;

    *taken = 1;
    if (encoding == ENCODING_LATIN1) {
        code = (unsigned char)*at;
        return code >= 0x80 && code < 0xA0 ? windows[code - 0x80] : code;
    }
    if (end - at < 2)
        return UTF8_BAD;
    *taken = 2;
    code = unit(encoding, at);
    if (code < 0xD800 || code > 0xDFFF)
        return code;
    low = code < 0xDC00 && end - at >= 4 ? unit(encoding, at + 2) : 0;
    if (low < 0xDC00 || low > 0xDFFF)
        return UTF8_BAD;
    *taken = 4;
    return 0x10000 + ((code & 0x3FF) << 10 | (low & 0x3FF));
}

char *encoding_decode(enum encoding encoding, const char *bytes, size_t size, size_t *length)
{
    const char *const end = bytes + size;
    size_t taken, need = 1, used = 0;
    char put[4], *text;

    for (const char *c = bytes; encoding != ENCODING_UTF8 && c < end; c += taken)
        need += utf8_put(next_code(encoding, c, end, &taken), put);
    text = malloc(encoding == ENCODING_UTF8 ? size + 1 : need);
    if (!text)
        return NULL;
    if (encoding == ENCODING_UTF8) {
        memcpy(text, bytes, size);
        used = size;
    }
    for (const char *c = bytes; encoding != ENCODING_UTF8 && c < end; c += taken)
        used += utf8_put(next_code(encoding, c, end, &taken), text + used);
    *length = used;
    return text;
}

size_t encoding_origin(enum encoding encoding, const char *bytes, size_t size, size_t at,
                       struct walk *walk)
{
    char put[4];
    size_t taken;

    if (encoding == ENCODING_UTF8)
        return at;
    if (walk->text > at)
        *walk = (struct walk){ 0 };
    while (walk->bytes < size) {
        const uint32_t code = next_code(encoding, bytes + walk->bytes, bytes + size, &taken);
        const size_t length = utf8_put(code, put);

        if (walk->text + length > at)
            break;
        walk->text += length;
        walk->bytes += taken;
    }
    return walk->bytes;
}

/* ---- character sets by name ------------------------------------------------ */

char *encoding_convert(const char *charset, const char *bytes, size_t size, size_t *length)
{
    const enum encoding found = encoding_find(bytes, size);
    char *text;

    if (!*charset || found == ENCODING_UTF16LE || found == ENCODING_UTF16BE ||
        line_has(charset, charset + strlen(charset), "utf-8") ||
        line_has(charset, charset + strlen(charset), "ascii"))
        return encoding_decode(found, bytes, size, length);
    if (line_has(charset, charset + strlen(charset), "iso-8859-1") &&
        strlen(charset) == strlen("iso-8859-1"))
        return encoding_decode(ENCODING_LATIN1, bytes, size, length);
    if (!encoding_by_name(charset, bytes, size, &text, length))
        return encoding_decode(found, bytes, size, length);
    return text;
}
