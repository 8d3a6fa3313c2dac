/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Files of NumPy's format: "\x93NUMPY", the version, the length of the header, the header, which is
 * a literal of Python, and the elements. A file may be anybody's: nothing in it is believed.
 */
#define _XOPEN_SOURCE 700

#include "npy.h"

#include "common/types.h"

#include <heed/heed.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 4096 }; /* bytes; that of an array of 6 axes has at most 256 */

static const struct type boolean = { .bytes = 1, .name = "bool", .npy = { "b1", "u1" } };

static const struct type *type_of(int dtype)
{
    return dtype == NPY_BOOL ? &boolean : type_find((uint32_t)dtype);
}

const char *npy_dtype_name(int dtype)
{
    return type_of(dtype)->name;
}

static char native_order(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first ? '<' : '>';
}

/* ---- writing ----------------------------------------------------------------- */

bool npy_write(const char *path, const struct npy *array)
{
    const char *code = type_of(array->dtype)->npy[0];
    char header[512];
    unsigned char begin[10] = "\x93NUMPY\x01";
    FILE *file = fopen(path, "wb");
    size_t n;
    bool good;

    if (!file)
        return false;
    n = (size_t)snprintf(header, sizeof header,
                         "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                         code[1] == '1' ? '|' : native_order(), code);
    for (int i = 0; i < array->ndim; i++)
        n += (size_t)snprintf(header + n, sizeof header - n, "%lld,%s", (long long)array->shape[i],
                              i + 1 < array->ndim ? " " : "");
    n += (size_t)snprintf(header + n, sizeof header - n, "), }");
    while ((sizeof begin + n + 1) % 64)
        header[n++] = ' ';
    header[n++] = '\n';
    begin[8] = (unsigned char)(n & 255);
    begin[9] = (unsigned char)(n >> 8);
    good = fwrite(begin, 1, sizeof begin, file) == sizeof begin &&
           fwrite(header, 1, n, file) == n &&
           fwrite(array->data, 1, array->bytes, file) == array->bytes;
    return fclose(file) == 0 && good;
}

/* ---- reading ----------------------------------------------------------------- */

struct header {
    char code[8];
    bool fortran;
    int ndim;
    long long shape[NPY_AXES];
};

static const char *blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* "(2, 3)", "(2,)", "()"; behind it, or NULL. More axes than four are counted only. */
static const char *shape_parse(const char *at, struct header *h)
{
    if (*at != '(')
        return NULL;
    at = blanks(at + 1);
    while (*at >= '0' && *at <= '9') {
        char *end;
        long long n;

        errno = 0;
        n = strtoll(at, &end, 10);
        if (errno)
            return NULL;
        if (h->ndim < NPY_AXES)
            h->shape[h->ndim] = n;
        h->ndim++;
        at = blanks(end);
        if (*at != ',')
            break;
        at = blanks(at + 1);
    }
    return *at == ')' ? at + 1 : NULL;
}

static const char *text_parse(const char *at, char *out, size_t size)
{
    const char quote = *at;
    size_t n = 0;

    if (quote != '\'' && quote != '"')
        return NULL;
    for (at++; (unsigned char)*at >= 0x20 && *at != quote && n + 1 < size; at++)
        out[n++] = *at;
    out[n] = '\0';
    return *at == quote ? at + 1 : NULL;
}

static const char *bool_parse(const char *at, bool *out)
{
    *out = !strncmp(at, "True", 4);
    return *out ? at + 4 : !strncmp(at, "False", 5) ? at + 5 : NULL;
}

/* All three keys, once each, in any order. */
static bool header_parse(const char *at, struct header *h)
{
    unsigned seen = 0;

    *h = (struct header){ .ndim = 0 };
    at = blanks(at);
    if (*at++ != '{')
        return false;
    for (at = blanks(at); *at && *at != '}';) {
        char key[16];
        unsigned bit;

        at = text_parse(at, key, sizeof key);
        at = at ? blanks(at) : NULL;
        if (!at || *at++ != ':')
            return false;
        at = blanks(at);
        bit = !strcmp(key, "descr")           ? 1
              : !strcmp(key, "fortran_order") ? 2
              : !strcmp(key, "shape")         ? 4
                                              : 0;
        if (!bit || seen & bit)
            return false;
        seen |= bit;
        at = bit == 1   ? text_parse(at, h->code, sizeof h->code)
             : bit == 2 ? bool_parse(at, &h->fortran)
                        : shape_parse(at, h);
        if (!at)
            return false;
        at = blanks(at);
        at = *at == ',' ? blanks(at + 1) : at;
    }
    return seen == 7 && *at == '}' && *blanks(at + 1) == '\0';
}

static bool code_good(const struct header *h, int dtype)
{
    const char *const *codes = type_of(dtype)->npy;
    const char order = h->code[0];

    if (order != native_order() && order != '|' && order != '=')
        return false;
    for (int i = 0; i < 2 && codes[i]; i++) {
        if (!strcmp(h->code + 1, codes[i]))
            return true;
    }
    return false;
}

static void shape_text(int ndim, const long long *shape, char out[160])
{
    size_t n = 0;

    out[0] = '\0';
    for (int i = 0; i < ndim && i < NPY_AXES; i++)
        n += (size_t)snprintf(out + n, 96 - n, i ? ", %lld" : "%lld", shape[i]);
    if (ndim > NPY_AXES)
        snprintf(out + n, 96 - n, ", and more axes");
}

/* Is that the array which is wanted? */
static bool header_judge(const struct header *h, const struct npy *want, char *why, size_t size)
{
    bool same = h->ndim == want->ndim;
    long long shape[NPY_AXES] = { 0 };
    char wanted[160], got[160];

    for (int i = 0; i < want->ndim; i++) {
        shape[i] = want->shape[i];
        same = same && h->shape[i] == shape[i];
    }
    if (!code_good(h, want->dtype)) {
        snprintf(why, size, "dtype: wanted %s, got '%s'", npy_dtype_name(want->dtype), h->code);
        return false;
    }
    shape_text(want->ndim, shape, wanted);
    shape_text(h->ndim, h->shape, got);
    if (!same)
        snprintf(why, size, "shape: wanted (%s), got (%s)", wanted, got);
    else if (h->fortran && want->ndim > 1)
        snprintf(why, size, "shape: the elements lie in Fortran's order");
    return same && !(h->fortran && want->ndim > 1);
}

/* A plain file, whatever its name may be a link to. */
static FILE *file_open(const char *path, int64_t *bytes, char *why, size_t size)
{
    const int number = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat about;
    FILE *file;

    if (number < 0) {
        snprintf(why, size, errno == ENOENT ? "missing: there is no such file" : "file: %s",
                 strerror(errno));
        return NULL;
    }
    if (fstat(number, &about) || !S_ISREG(about.st_mode)) {
        snprintf(why, size, "file: it is no plain file");
        close(number);
        return NULL;
    }
    *bytes = (int64_t)about.st_size;
    file = fdopen(number, "rb");
    if (!file) {
        snprintf(why, size, "file: %s", strerror(errno));
        close(number);
    }
    return file;
}

static bool elements_read(FILE *file, int64_t bytes, const struct npy *want, char *why, size_t size)
{
    unsigned char begin[12] = { 0 };
    char text[HEADER + 1];
    struct header h;
    size_t length, at = 10;

    if (fread(begin, 1, 10, file) != 10 || memcmp(begin, "\x93NUMPY", 6) != 0 || begin[6] < 1 ||
        begin[6] > 3) {
        snprintf(why, size, "file: it is none of NumPy's, of version 1 to 3");
        return false;
    }
    length = begin[8] | (size_t)begin[9] << 8;
    if (begin[6] > 1) {
        at = fread(begin + 10, 1, 2, file) == 2 ? 12 : 0;
        length |= (size_t)begin[10] << 16 | (size_t)begin[11] << 24;
    }
    if (at == 0 || length > HEADER || fread(text, 1, length, file) != length) {
        snprintf(why, size, "file: its header is cut off, or too long");
        return false;
    }
    text[length] = '\0';
    if (strlen(text) != length || !header_parse(text, &h)) {
        snprintf(why, size, "file: its header is not as NumPy writes it");
        return false;
    }
    if (!header_judge(&h, want, why, size))
        return false;
    if (bytes != (int64_t)(at + length + want->bytes) ||
        fread(want->data, 1, want->bytes, file) != want->bytes) {
        snprintf(why, size, "file: it has %lld bytes, and %lld are wanted", (long long)bytes,
                 (long long)(at + length + want->bytes));
        return false;
    }
    return true;
}

bool npy_read(const char *path, const struct npy *want, char *why, size_t size)
{
    int64_t bytes;
    FILE *file = file_open(path, &bytes, why, size);
    bool good;

    if (!file)
        return false;
    good = elements_read(file, bytes, want, why, size);
    fclose(file);
    return good;
}
