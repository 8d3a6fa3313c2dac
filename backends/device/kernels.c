/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The list of kernels, and their text in one piece. The compilers that are given it have no file
 * system to include from (OpenCL) or should not depend on one, so every #include "name" is replaced
 * by the file, with #line around it: a build log then still names file and line. Includes in <> are
 * left alone: they stand where only a host's compiler looks.
 */
#include "kernels.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct heed_kernel_row heed_kernel_rows[HEED_KERNELS] = {
#define HK_KERNEL(name, file, options) { #name, file, options },
#include "../kernels/kernels.def"
#undef HK_KERNEL
};

uint32_t heed_kernel_threads(enum heed_kernel kernel)
{
    static const char word[] = "-DHK_THREADS=";
    const char *at = strstr(heed_kernel_rows[kernel].options, word);

    assert(at != NULL);                 /* only of such rows is it asked */
    return at != NULL ? (uint32_t)strtoul(at + sizeof(word) - 1, NULL, 10) : 1;
}

enum { MAX_DEPTH = 16, MAX_TEXTS = 256, MARK_SIZE = 128 };

/* Two passes with the same calls: the first, with no `to`, measures. */
struct writer {
    const struct heed_kernel_text *texts;
    char *to;
    size_t used;
    unsigned char seen[MAX_TEXTS];      /* 1: guarded texts that are written, by place in texts */
};

static void put(struct writer *w, const char *text, size_t bytes)
{
    if (w->to != NULL)
        memcpy(w->to + w->used, text, bytes);
    w->used += bytes;
}

static void put_line_mark(struct writer *w, unsigned line, const char *name)
{
    char mark[MARK_SIZE];
    const int bytes = snprintf(mark, sizeof(mark), "#line %u \"%.80s\"\n", line, name);

    assert(bytes > 0 && bytes < MARK_SIZE);
    put(w, mark, (size_t)bytes);
}

static const char *end_of_line(const char *line)
{
    const char *end = strchr(line, '\n');

    return end != NULL ? end + 1 : line + strlen(line);
}

/* Is a second copy of the text empty? A guard is its first directive. */
static int guarded(const char *text)
{
    for (const char *line = text; *line != '\0'; line = end_of_line(line)) {
        if (*line == '#')
            return strncmp(line, "#ifndef ", 8) == 0;
    }
    return 0;
}

/* The name in a line `#include "name"`, and its length; NULL: the line is another. */
static const char *included(const char *line, size_t *length)
{
    static const char word[] = "include";
    const char *end = end_of_line(line), *close;

    line += strspn(line, " ");
    if (*line++ != '#')
        return NULL;
    line += strspn(line, " ");
    if (strncmp(line, word, sizeof(word) - 1) != 0)
        return NULL;
    line += sizeof(word) - 1;
    line += strspn(line, " ");
    if (*line++ != '"')
        return NULL;
    close = strchr(line, '"');
    if (close == NULL || close >= end)
        return NULL;
    *length = (size_t)(close - line);
    return line;
}

/* How many of `length` characters a folder has, with the slash behind it. */
static size_t folder_of(const char *name, size_t length)
{
    while (length > 0 && name[length - 1] != '/')
        length--;
    return length;
}

/* The place of the text that `name` means in the text `from`: beside it, or from folders further up
 * on; or -1. */
static int find(const struct heed_kernel_text *texts, const char *from, const char *name,
                size_t length)
{
    size_t folder = folder_of(from, strlen(from));

    for (; folder > 0 && length > 3 && memcmp(name, "../", 3) == 0; name += 3, length -= 3)
        folder = folder_of(from, folder - 1);
    for (int i = 0; texts[i].name != NULL; i++) {
        const char *text = texts[i].name;

        assert(i < MAX_TEXTS);
        if (strlen(text) == folder + length && memcmp(text, from, folder) == 0 &&
            memcmp(text + folder, name, length) == 0)
            return i;
    }
    return -1;
}

static int put_text(struct writer *w, const char *from, const char *name, size_t length,
                    unsigned depth)
{
    const int place = find(w->texts, from, name, length);
    const struct heed_kernel_text *text;
    unsigned number = 1;

    if (place < 0 || depth > MAX_DEPTH)
        return 0;
    text = &w->texts[place];
    if (w->seen[place])
        return 1;
    if (guarded(text->text))
        w->seen[place] = 1;
    put_line_mark(w, 1, text->name);
    for (const char *line = text->text, *end; *line != '\0'; line = end, number++) {
        size_t inner_length = 0;
        const char *inner = included(line, &inner_length);

        end = end_of_line(line);
        if (inner == NULL) {
            put(w, line, (size_t)(end - line));
            continue;
        }
        if (!put_text(w, text->name, inner, inner_length, depth + 1))
            return 0;
        put_line_mark(w, number + 1, text->name);
    }
    return 1;
}

char *heed_kernel_expand(const struct heed_kernel_text *texts,
                         const struct heed_services *services, const char *file, size_t *bytes)
{
    struct writer w = { .texts = texts };
    char *to;

    *bytes = 0;
    if (!put_text(&w, "", file, strlen(file), 0))
        return NULL;
    to = services->alloc(services->runtime, w.used + 1, 1);
    if (to == NULL)
        return NULL;
    w = (struct writer){ .texts = texts, .to = to };
    put_text(&w, "", file, strlen(file), 0);
    to[w.used] = '\0';
    *bytes = w.used;
    return to;
}

char *heed_kernel_source(const struct heed_services *services, const char *file, size_t *bytes)
{
    return heed_kernel_expand(heed_kernel_texts, services, file, bytes);
}
