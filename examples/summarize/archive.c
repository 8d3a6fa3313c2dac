/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Entries of ZIP archives, by libzip. What is unpacked is counted against the size of the file, so
 * that a small file cannot become gigabytes.
 */
#include "package.h"

#include <stdlib.h>
#include <string.h>

#ifdef SUMMARIZE_PACKAGES

#include <expat.h>
#include <zip.h>

const char *archive_library(void)
{
    static char text[64];

    snprintf(text, sizeof(text), "libzip %s, %s", zip_libzip_version(), XML_ExpatVersion());
    return text;
}

bool archive_open(struct archive *a, const struct source *source)
{
    zip_error_t error;
    zip_source_t *from;

    zip_error_init(&error);
    *a = (struct archive){ .left = UNPACKED_FREE + UNPACKED_TIMES * source->size };
    from = zip_source_buffer_create(source->text, source->size, 0, &error);
    a->zip = from ? zip_open_from_source(from, ZIP_RDONLY, &error) : NULL;
    if (from && !a->zip)
        zip_source_free(from);
    if (!a->zip)
        a->wrong = zip_error_code_zip(&error) == ZIP_ER_MEMORY
                   ? "not enough memory for the archive" : "this is a damaged ZIP archive, or none";
    zip_error_fini(&error);
    return a->zip;
}

void archive_close(struct archive *a)
{
    if (a->zip)
        zip_discard(a->zip);
    a->zip = NULL;
}

bool archive_has(const struct archive *a, const char *name)
{
    return zip_name_locate(a->zip, name, 0) >= 0;
}

bool entry_open(struct entry *e, struct archive *a, const char *name)
{
    const zip_int64_t index = a->wrong ? -1 : zip_name_locate(a->zip, name, 0);
    zip_stat_t stat;

    *e = (struct entry){ .archive = a };
    if (index < 0)
        return false;
    zip_stat_init(&stat);
    if (zip_stat_index(a->zip, (zip_uint64_t)index, 0, &stat) == 0 &&
        stat.valid & ZIP_STAT_ENCRYPTION_METHOD && stat.encryption_method != ZIP_EM_NONE) {
        a->wrong = "it is encrypted, and nobody is asked for a password here";
        return false;
    }
    e->file = zip_fopen_index(a->zip, (zip_uint64_t)index, 0);
    if (!e->file)
        a->wrong = "a part of it is packed as cannot be read, or is damaged";
    return e->file;
}

size_t entry_read(struct entry *e, void *to, size_t size)
{
    struct archive *const a = e->archive;
    const zip_int64_t n = a->wrong ? 0 : zip_fread(e->file, to, size);

    if (n < 0)
        a->wrong = "a part of it is damaged";
    else if ((size_t)n > a->left)
        a->wrong = "unpacked it has more than 100 times its bytes";
    if (a->wrong)
        return 0;
    a->left -= (size_t)n;
    return (size_t)n;
}

void entry_close(struct entry *e)
{
    if (e->file)
        zip_fclose(e->file);
    e->file = NULL;
}

char *archive_load(struct archive *a, const char *name, size_t *size)
{
    size_t capacity = (size_t)1 << 16, n = 1;
    char *bytes = NULL;
    struct entry e;

    *size = 0;
    if (!entry_open(&e, a, name))
        return NULL;
    bytes = malloc(capacity);
    while (bytes && n > 0) {
        if (*size == capacity) {
            char *const grown = realloc(bytes, capacity * 2);

            if (!grown)
                break;
            bytes = grown;
            capacity *= 2;
        }
        n = entry_read(&e, bytes + *size, capacity - *size);
        *size += n;
    }
    entry_close(&e);
    if (!bytes || n > 0)
        a->wrong = "a part of it needs more memory than such a file may";
    if (a->wrong) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

#else

const char *archive_library(void)
{
    return NULL;
}

#endif

/* ---- by their bytes ----------------------------------------------------- */

static bool is_zip(const struct source *source)
{
    return source->size > 64 && memcmp(source->text, "PK\3\4", 4) == 0;
}

static bool has(const char *begin, size_t size, const char *text)
{
    const size_t length = strlen(text);

    while (size >= length) {
        const char *const found = memchr(begin, text[0], size - length + 1);

        if (!found || memcmp(found, text, length) == 0)
            return found;
        size -= (size_t)(found + 1 - begin);
        begin = found + 1;
    }
    return false;
}

bool zip_mentions(const struct source *source, const char *text)
{
    return is_zip(source) && has(source->text, source->size, text);
}

/* The name is 30 bytes behind the start, and what it says is right behind it, as both formats that
 * have it want it. */
bool zip_is(const struct source *source, const char *type)
{
    const size_t length = strlen(type);

    return is_zip(source) && source->size > 38 + length &&
           memcmp(source->text + 30, "mimetype", 8) == 0 &&
           has(source->text + 38, source->size - 38 < 128 ? source->size - 38 : 128, type);
}
