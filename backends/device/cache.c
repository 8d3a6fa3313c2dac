/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel cache: files named by their key, written under a temporary name and renamed. Nothing
 * is synchronised to the disk: what a crash leaves damaged is found out by its digest.
 */
#define _POSIX_C_SOURCE 200809L

#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT = 1, PATH_BYTES = 1024 };
#define CONTENTS_MAX (UINT64_C(1) << 28)

static const char magic[HEED_CACHE_AT_FORMAT] = { 'h', 'e', 'e', 'd', 'k', 'r', 'n', '\n' };

static void remark(const struct heed_services *services, const char *what, const char *path)
{
    char line[256];

    snprintf(line, sizeof(line), "kernel cache: %.60s: %.160s", what, path);
    services->log(services->runtime, 3, line);
}

static void put_number(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get_number(const uint8_t *from)
{
    uint64_t value = 0;

    for (int i = 0; i < 8; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

static void fill_header(uint8_t header[HEED_CACHE_HEADER], const uint8_t *key,
                        const void *contents, size_t bytes)
{
    struct heed_hash hash;

    memcpy(header, magic, sizeof(magic));
    put_number(header + HEED_CACHE_AT_FORMAT, FORMAT);
    put_number(header + HEED_CACHE_AT_BYTES, bytes);
    memcpy(header + HEED_CACHE_AT_KEY, key, HEED_HASH_BYTES);
    heed_hash_init(&hash);
    heed_hash_add(&hash, contents, bytes);
    heed_hash_finish(&hash, header + HEED_CACHE_AT_DIGEST);
}

void heed_cache_key(struct heed_hash *hash)
{
    char text[64];

    heed_hash_init(hash);
    snprintf(text, sizeof(text), "heed %d.%d.%d, cache %d", HEED_VERSION_MAJOR, HEED_VERSION_MINOR,
             HEED_VERSION_PATCH, FORMAT);
    heed_hash_add_text(hash, text);
}

bool heed_cache_wanted(const struct heed_services *services)
{
    return services->cache_dir != NULL && services->cache_dir[0] != '\0';
}

/* "<folder>/heed-<40 digits of the key><ending>"; false: there is no folder, or it is too long. */
static bool path_of(char path[PATH_BYTES], const struct heed_services *services,
                    const uint8_t *key, const char *ending)
{
    char digits[41];
    int length;

    if (!heed_cache_wanted(services))
        return false;
    for (int i = 0; i < 20; i++)
        snprintf(digits + 2 * i, 3, "%02x", (unsigned)key[i]);
    length = snprintf(path, PATH_BYTES, "%s/heed-%s%s", services->cache_dir, digits, ending);
    return length > 0 && length < PATH_BYTES;
}

static bool read_all(int file, uint8_t *to, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t n = read(file, to, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool write_all(int file, const uint8_t *from, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t n = write(file, from, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* The contents of an open file whose header must be the one that storing them would write. */
static void *read_file(const struct heed_services *services, int file, const uint8_t *key,
                       size_t *bytes)
{
    uint8_t header[HEED_CACHE_HEADER], expected[HEED_CACHE_HEADER];
    struct stat about;
    uint64_t length;
    uint8_t *contents;

    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_size <= HEED_CACHE_HEADER || !read_all(file, header, sizeof(header)))
        return NULL;
    length = (uint64_t)about.st_size - HEED_CACHE_HEADER;
    if (length > CONTENTS_MAX || get_number(header + HEED_CACHE_AT_BYTES) != length)
        return NULL;
    contents = services->alloc(services->runtime, (size_t)length, 1);
    if (contents == NULL)
        return NULL;
    if (read_all(file, contents, (size_t)length)) {
        fill_header(expected, key, contents, (size_t)length);
        if (memcmp(header, expected, sizeof(header)) == 0) {
            *bytes = (size_t)length;
            return contents;
        }
    }
    services->free(services->runtime, contents, (size_t)length, 1);
    return NULL;
}

void *heed_cache_load(const struct heed_services *services, const uint8_t key[HEED_HASH_BYTES],
                      size_t *bytes)
{
    char path[PATH_BYTES];
    void *contents;
    int file;

    if (!path_of(path, services, key, ""))
        return NULL;
    /* Not to wait for whoever might write to it, should it be a pipe. */
    file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return NULL;
    contents = read_file(services, file, key, bytes);
    close(file);
    if (contents == NULL)
        remark(services, "of no use, made anew", path);
    return contents;
}

/* The folder and those above it, as far as they are absent. */
static void make_folder(const char *folder)
{
    char path[PATH_BYTES];
    const size_t length = strlen(folder);

    if (length == 0 || length >= sizeof(path))
        return;
    memcpy(path, folder, length + 1);
    for (size_t i = 1; i < length; i++) {
        if (path[i] != '/')
            continue;
        path[i] = '\0';
        (void)mkdir(path, S_IRWXU);
        path[i] = '/';
    }
    (void)mkdir(path, S_IRWXU);
}

void heed_cache_store(const struct heed_services *services, const uint8_t key[HEED_HASH_BYTES],
                      const void *contents, size_t bytes)
{
    char path[PATH_BYTES], temporary[PATH_BYTES];
    uint8_t header[HEED_CACHE_HEADER];
    bool written;
    int file;

    if (bytes == 0 || bytes > CONTENTS_MAX ||
        !path_of(path, services, key, "") || !path_of(temporary, services, key, ".XXXXXX"))
        return;
    make_folder(services->cache_dir);
    file = mkstemp(temporary);              /* nobody else may read or write it */
    if (file < 0) {
        remark(services, "cannot write to", services->cache_dir);
        return;
    }
    fill_header(header, key, contents, bytes);
    written = write_all(file, header, sizeof(header)) && write_all(file, contents, bytes);
    written = close(file) == 0 && written;
    if (!written || rename(temporary, path) != 0) {
        (void)unlink(temporary);
        remark(services, "cannot write", path);
    }
}
