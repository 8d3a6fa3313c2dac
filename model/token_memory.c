/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens.h"

#include <stdlib.h>
#include <string.h>

struct block {
    struct block *before, *behind;
    size_t bytes;
    max_align_t data[];
};

void *memory_take(struct memory *memory, size_t n, size_t size)
{
    struct block *block;
    size_t bytes;

    if (n > (SIZE_MAX - sizeof *block) / size) {
        memory->refused = true;
        return NULL;
    }
    bytes = n * size + sizeof *block;
    if (bytes > memory->left) {
        memory->refused = true;
        return NULL;
    }
    block = calloc(1, bytes);
    if (!block) {
        memory->failed = true;
        return NULL;
    }
    memory->left -= bytes;
    block->bytes = bytes;
    block->behind = memory->blocks;
    if (memory->blocks)
        memory->blocks->before = block;
    memory->blocks = block;
    return block->data;
}

void memory_give(struct memory *memory, void *taken)
{
    struct block *block;

    if (!taken)
        return;
    block = (struct block *)((char *)taken - offsetof(struct block, data));
    if (block->before)
        block->before->behind = block->behind;
    else
        memory->blocks = block->behind;
    if (block->behind)
        block->behind->before = block->before;
    memory->left += block->bytes;
    free(block);
}

void memory_finish(struct memory *memory)
{
    struct block *behind;

    for (struct block *block = memory->blocks; block; block = behind) {
        behind = block->behind;
        free(block);
    }
    memory->blocks = NULL;
}

bool array_room(void *array, size_t *room, size_t n, size_t size)
{
    size_t wanted = *room < 16 ? 16 : *room;
    void *at, *moved;

    if (n <= *room)
        return true;
    while (wanted < n && wanted <= SIZE_MAX / 2)
        wanted *= 2;
    if (wanted < n || wanted > SIZE_MAX / size)
        return false;
    memcpy(&at, array, sizeof at);      /* what it points at has any type */
    moved = realloc(at, wanted * size);
    if (!moved)
        return false;
    memcpy(array, &moved, sizeof moved);
    *room = wanted;
    return true;
}

bool buffer_room(struct buffer *buffer, size_t more)
{
    if (buffer->failed || more > SIZE_MAX - buffer->bytes ||
        !array_room(&buffer->at, &buffer->room, buffer->bytes + more, 1))
        buffer->failed = true;
    return !buffer->failed;
}

void buffer_put(struct buffer *buffer, const char *at, size_t bytes)
{
    if (bytes == 0 || !buffer_room(buffer, bytes))
        return;
    memcpy(buffer->at + buffer->bytes, at, bytes);
    buffer->bytes += bytes;
}

void buffer_code(struct buffer *buffer, uint32_t code)
{
    char *to;

    if (!buffer_room(buffer, 4))
        return;
    to = buffer->at + buffer->bytes;
    if (code < 0x80) {
        to[0] = (char)code;
        buffer->bytes += 1;
    } else if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        buffer->bytes += 2;
    } else if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        buffer->bytes += 3;
    } else {
        to[0] = (char)(0xf0 | code >> 18);
        to[1] = (char)(0x80 | (code >> 12 & 0x3f));
        to[2] = (char)(0x80 | (code >> 6 & 0x3f));
        to[3] = (char)(0x80 | (code & 0x3f));
        buffer->bytes += 4;
    }
}

void buffer_finish(struct buffer *buffer)
{
    free(buffer->at);
    *buffer = (struct buffer){ 0 };
}

/* How many bytes at `at` are a character, or the beginning of one that does not go on: then *whole
 * is false, and at least one. */
static size_t part(const unsigned char *at, const unsigned char *end, bool *whole)
{
    const size_t n = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 :
                     *at < 0xf5 ? 4 : 0;
    unsigned char low = 0x80, high = 0xbf;
    size_t i;

    *whole = false;
    if (n == 0)
        return 1;
    if (*at == 0xe0)
        low = 0xa0;
    if (*at == 0xed)
        high = 0x9f;
    if (*at == 0xf0)
        low = 0x90;
    if (*at == 0xf4)
        high = 0x8f;
    for (i = 1; i < n; i++) {
        if (at + i == end || at[i] < low || at[i] > high)
            return i;
        low = 0x80;
        high = 0xbf;
    }
    *whole = true;
    return n;
}

void buffer_mend(struct buffer *buffer, const char *text, size_t bytes)
{
    const unsigned char *const begin = (const unsigned char *)(bytes > 0 ? text : "");
    const unsigned char *at = begin, *const end = begin + bytes, *from = begin;
    bool whole;

    while (at < end) {
        const size_t n = part(at, end, &whole);

        if (!whole) {
            buffer_put(buffer, (const char *)from, (size_t)(at - from));
            buffer_code(buffer, 0xfffd);
            from = at + n;
        }
        at += n;
    }
    buffer_put(buffer, (const char *)from, (size_t)(end - from));
}

bool utf8_valid(const char *text, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)(bytes > 0 ? text : "");
    const unsigned char *const end = at + bytes;
    bool whole = true;

    while (at < end && whole)
        at += part(at, end, &whole);
    return whole;
}

void ids_put(struct ids *ids, int32_t id)
{
    if (ids->failed || !array_room(&ids->at, &ids->room, ids->n + 1, sizeof *ids->at)) {
        ids->failed = true;
        return;
    }
    ids->at[ids->n++] = id;
}

size_t utf8_next(const char *text, uint32_t *code)
{
    const unsigned char *const at = (const unsigned char *)text;

    if (at[0] < 0x80) {
        *code = at[0];
        return 1;
    }
    if (at[0] < 0xe0) {
        *code = (uint32_t)(at[0] & 0x1f) << 6 | (at[1] & 0x3f);
        return 2;
    }
    if (at[0] < 0xf0) {
        *code = (uint32_t)(at[0] & 0x0f) << 12 | (uint32_t)(at[1] & 0x3f) << 6 | (at[2] & 0x3f);
        return 3;
    }
    *code = (uint32_t)(at[0] & 0x07) << 18 | (uint32_t)(at[1] & 0x3f) << 12 |
            (uint32_t)(at[2] & 0x3f) << 6 | (at[3] & 0x3f);
    return 4;
}

size_t utf8_last(const char *begin, const char *end, uint32_t *code)
{
    const char *at = end - 1;

    while (at > begin && ((unsigned char)*at & 0xc0) == 0x80)
        at--;
    return utf8_next(at, code);
}

void pieces_put(struct pieces *pieces, const char *at, size_t bytes, size_t origin)
{
    if (bytes == 0)
        return;
    if (!array_room(&pieces->at, &pieces->room, pieces->n + 1, sizeof *pieces->at)) {
        pieces->failed = true;
        return;
    }
    pieces->at[pieces->n].begin = pieces->text.bytes;
    buffer_put(&pieces->text, at, bytes);
    pieces->at[pieces->n].end = pieces->text.bytes;
    pieces->at[pieces->n].origin = origin < bytes ? origin : bytes;
    pieces->n++;
}

void pieces_clear(struct pieces *pieces)
{
    pieces->text.bytes = 0;
    pieces->n = 0;
}

void pieces_finish(struct pieces *pieces)
{
    buffer_finish(&pieces->text);
    buffer_finish(&pieces->work);
    free(pieces->at);
    *pieces = (struct pieces){ 0 };
}

void parts_end(struct parts *parts)
{
    if (!array_room(&parts->ends, &parts->room, parts->n + 1, sizeof *parts->ends)) {
        parts->failed = true;
        return;
    }
    parts->ends[parts->n++] = parts->text.bytes;
}

void parts_clear(struct parts *parts)
{
    parts->text.bytes = 0;
    parts->n = 0;
}

void parts_finish(struct parts *parts)
{
    buffer_finish(&parts->text);
    free(parts->ends);
    *parts = (struct parts){ 0 };
}
