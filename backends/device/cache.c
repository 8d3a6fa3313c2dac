/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel cache: files named by their key, written under a temporary name and renamed. Nothing
 * is synchronised to the disk: what a crash leaves damaged is found out by its digest. Every file
 * is reached through the open folder, whose owner and mode were looked at.
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
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, NAME_BYTES = 64 };
#define CONTENTS_MAX (UINT64_C(1) << 28)

static const char magic[HEED_CACHE_AT_FORMAT] = { 'h', 'e', 'e', 'd', 'k', 'r', 'n', '\n' };

static void say(const struct heed_services *services, uint32_t level, const char *what,
                const char *path)
{
    char line[256];

    snprintf(line, sizeof(line), "kernel cache: %.70s: %.160s", what, path);
    services->log(services->runtime, level, line);
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
    put_number(header + HEED_CACHE_AT_FORMAT, HEED_CACHE_FORMAT);
    put_number(header + HEED_CACHE_AT_BYTES, bytes);
    memcpy(header + HEED_CACHE_AT_KEY, key, HEED_HASH_BYTES);
    heed_hash_init(&hash);
    heed_hash_add(&hash, contents, bytes);
    heed_hash_finish(&hash, header + HEED_CACHE_AT_DIGEST);
}

bool heed_cache_wanted(const struct heed_services *services)
{
    return services->cache_dir != NULL && services->cache_dir[0] != '\0';
}

/* "heed-<40 digits of the key>" */
static void name_of(char name[NAME_BYTES], const uint8_t *key)
{
    int at = snprintf(name, NAME_BYTES, "heed-");

    for (int i = 0; i < 20; i++)
        at += snprintf(name + at, NAME_BYTES - (size_t)at, "%02x", (unsigned)key[i]);
}

/* Why what is open may hold what somebody else has put there; NULL: it may not. */
static const char *refuse(const struct stat *about)
{
    if (about->st_uid != geteuid())
        return "not used, another user owns it";
    return about->st_mode & (S_IWGRP | S_IWOTH) ? "not used, other users may write to it" : NULL;
}

/* The folder, open; -1: there is none that may be used. */
static int open_folder(const struct heed_services *services)
{
    const char *why = NULL;
    struct stat about;
    int folder;

    if (!heed_cache_wanted(services))
        return -1;
    folder = open(services->cache_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    if (fstat(folder, &about) == 0)
        why = refuse(&about);
    else
        why = "not used, nothing is known of it";
    if (why == NULL)
        return folder;
    close(folder);
    if (!atomic_exchange(services->cache_refused, true))
        say(services, 2, why, services->cache_dir);
    return -1;
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

    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || refuse(&about) != NULL ||
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
    const int folder = open_folder(services);
    char name[NAME_BYTES];
    void *contents;
    int file;

    if (folder < 0)
        return NULL;
    name_of(name, key);
    /* Not to wait for whoever might write to it, should it be a pipe. */
    file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    close(folder);
    if (file < 0)
        return NULL;
    contents = read_file(services, file, key, bytes);
    close(file);
    if (contents == NULL)
        say(services, 3, "of no use, made anew", name);
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

/* A new file beside the others, which nobody else may read or write; its name goes on from `name`.
 * -1: none can be made. */
static int open_temporary(int folder, char temporary[NAME_BYTES], const char *name)
{
    enum { TRIES = 100 };
    int file = -1;

    for (int i = 0; file < 0 && i < TRIES && (i == 0 || errno == EEXIST); i++) {
        struct timespec now = { 0 };

        (void)clock_gettime(CLOCK_REALTIME, &now);
        snprintf(temporary, NAME_BYTES, "%.45s.%08lx%02x", name,
                 ((unsigned long)now.tv_nsec ^ (unsigned long)getpid() << 16) & 0xFFFFFFFFul,
                 (unsigned)i);
        file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                      S_IRUSR | S_IWUSR);
    }
    return file;
}

void heed_cache_store(const struct heed_services *services, const uint8_t key[HEED_HASH_BYTES],
                      const void *contents, size_t bytes)
{
    char name[NAME_BYTES], temporary[NAME_BYTES];
    uint8_t header[HEED_CACHE_HEADER];
    int folder, file = -1;
    bool written;

    if (bytes == 0 || bytes > CONTENTS_MAX || !heed_cache_wanted(services))
        return;
    make_folder(services->cache_dir);
    folder = open_folder(services);
    name_of(name, key);
    if (folder >= 0)
        file = open_temporary(folder, temporary, name);
    if (file < 0) {
        if (!atomic_load(services->cache_refused))
            say(services, 3, "cannot write to", services->cache_dir);
        goto close_folder;
    }
    fill_header(header, key, contents, bytes);
    written = write_all(file, header, sizeof(header)) && write_all(file, contents, bytes);
    written = close(file) == 0 && written;
    if (!written || renameat(folder, temporary, folder, name) != 0) {
        (void)unlinkat(folder, temporary, 0);
        say(services, 3, "cannot write", name);
    }
close_folder:
    if (folder >= 0)
        close(folder);
}
