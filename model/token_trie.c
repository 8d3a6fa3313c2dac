/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A trie as one table of hashed edges: a node is the slot of the edge that leads to it, eight
 * bytes. No edge is farther from its place than PROBES slots, whatever the words are: where one
 * would be, the table is built again, larger and with another seed, until the memory refuses it.
 */
#include "tokens.h"

#include <string.h>

enum { PROBES = 256, ROOM_MOST = (1 << 24) - 2, TRIES = 48 };
static const uint32_t EMPTY = UINT32_MAX;

static uint32_t place(const struct trie *trie, uint32_t edge)
{
    const uint64_t mixed = (edge + (uint64_t)trie->seed * 0x9e3779b1u) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(((mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u >> 32) * trie->room >> 32);
}

int64_t trie_root(const struct trie *trie)
{
    return trie->room;
}

/* The slot of an edge, or the empty one where it may go; TRIE_NONE: it is too far. */
static int64_t slot_of(const struct trie *trie, uint32_t edge)
{
    uint32_t at = place(trie, edge);

    for (int i = 0; i < PROBES; i++) {
        if (trie->slots[at].edge == edge || trie->slots[at].edge == EMPTY)
            return at;
        if (++at == trie->room)
            at = 0;
    }
    return TRIE_NONE;
}

int64_t trie_step(const struct trie *trie, int64_t node, unsigned char byte)
{
    int64_t at;

    if (node < 0 || trie->room == 0)
        return TRIE_NONE;
    at = slot_of(trie, (uint32_t)node << 8 | byte);
    return at < 0 || trie->slots[at].edge == EMPTY ? TRIE_NONE : at;
}

int64_t trie_walk(const struct trie *trie, int64_t node, const char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes && node >= 0; i++)
        node = trie_step(trie, node, (unsigned char)at[i]);
    return node;
}

int32_t trie_value(const struct trie *trie, int64_t node)
{
    return node < 0 || node == trie->room ? -1 : trie->slots[node].value;
}

int32_t trie_find(const struct trie *trie, const char *at, size_t bytes)
{
    return trie_value(trie, trie_walk(trie, trie_root(trie), at, bytes));
}

enum filled { FILLED, TOO_SMALL };

static enum filled fill(struct trie *trie, const char *pool, const struct word *words, size_t n,
                        bool *twice)
{
    const uint32_t most = trie->room - trie->room / 3;
    uint32_t used = 0;

    for (uint32_t i = 0; i < trie->room; i++)
        trie->slots[i] = (struct trie_slot){ .edge = EMPTY, .value = -1 };
    for (size_t i = 0; i < n; i++) {
        int64_t node = trie_root(trie);

        if (words[i].at == WORD_HOLE)
            continue;
        for (uint32_t k = 0; k < words[i].bytes; k++) {
            const uint32_t edge = (uint32_t)node << 8 | (unsigned char)pool[words[i].at + k];

            node = slot_of(trie, edge);
            if (node < 0)
                return TOO_SMALL;
            if (trie->slots[node].edge == EMPTY) {
                if (++used > most)
                    return TOO_SMALL;
                trie->slots[node].edge = edge;
            }
        }
        if (node == trie->room)
            continue;   /* a word without bytes */
        if (trie->slots[node].value >= 0 && twice)
            *twice = true;
        trie->slots[node].value = (int32_t)i;
    }
    return FILLED;
}

/* A table of a size; TOO_SMALL: none is there. */
static enum filled try(struct trie *trie, struct memory *memory, uint64_t room, uint32_t seed,
                       const char *pool, const struct word *words, size_t n, bool *twice)
{
    *trie = (struct trie){ memory_take(memory, room, sizeof *trie->slots), (uint32_t)room, seed };
    if (twice)
        *twice = false;
    if (trie->slots && fill(trie, pool, words, n, twice) == FILLED)
        return FILLED;
    memory_give(memory, trie->slots);
    *trie = (struct trie){ 0 };
    return TOO_SMALL;
}

bool trie_build(struct trie *trie, struct memory *memory, const char *pool,
                const struct word *words, size_t n, bool *twice)
{
    uint64_t room = (uint64_t)n * 2 + 64;

    for (uint32_t seed = 0; seed < TRIES && room <= ROOM_MOST; seed++, room += room / 4) {
        if (try(trie, memory, room, seed, pool, words, n, twice) == FILLED)
            return true;
        if (memory->refused || memory->failed)
            return false;
    }
    memory->refused = true;
    return false;
}
