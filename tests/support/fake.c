/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See fake.h.
 */
#include "fake.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256 };

/* What stands ALIGN bytes before every object. */
struct header {
    struct header *next;            /* of all since the reset */
    enum fake_kind kind;
    unsigned references;
    size_t bytes;
};

struct fake fake;
static struct header *objects;

void fake_reset(void)
{
    while (objects != NULL) {
        struct header *const next = objects->next;

        free(objects);
        objects = next;
    }
    memset(&fake, 0, sizeof(fake));
}

static struct header *header_of(const void *object)
{
    return (struct header *)((uintptr_t)object - ALIGN);
}

void *fake_create(enum fake_kind kind, size_t bytes)
{
    const size_t room = (2 * ALIGN + bytes) / ALIGN * ALIGN;
    struct header *const header = aligned_alloc(ALIGN, room);

    if (header == NULL)
        abort();
    memset(header, 0, room);
    *header = (struct header){ objects, kind, 1, bytes };
    objects = header;
    fake.alive[kind]++;
    return (char *)header + ALIGN;
}

bool fake_is(const void *object, enum fake_kind kind, const char *name)
{
    if (object != NULL && header_of(object)->kind == kind && header_of(object)->references > 0)
        return true;
    fake_mistake(name);
    return false;
}

bool fake_retain(void *object, enum fake_kind kind, const char *name)
{
    const bool is = fake_is(object, kind, name);

    if (is)
        header_of(object)->references++;
    return is;
}

bool fake_release(void *object, enum fake_kind kind, const char *name)
{
    const bool is = fake_is(object, kind, name);

    if (is && --header_of(object)->references == 0)
        fake.alive[kind]--;
    return is;
}

size_t fake_bytes(const void *object)
{
    return header_of(object)->bytes;
}

long fake_alive(void)
{
    long n = 0;

    for (int kind = 0; kind < FAKE_KINDS; kind++)
        n += fake.alive[kind];
    return n;
}

void fake_note(const char *name)
{
    const size_t used = strlen(fake.trace);

    snprintf(fake.trace + used, sizeof(fake.trace) - used, "%s ", name);
}

int fake_call(const char *name)
{
    fake.calls++;
    fake_note(name);
    if (fake.failed[0] != '\0' && fake.next[0] == '\0' && strncmp(name, "cuCtxP", 6) != 0)
        snprintf(fake.next, sizeof(fake.next), "%s", name);
    if (fake.poisoned)
        return fake.fail_code;
    if (fake.fail_name != NULL && strcmp(fake.fail_name, name) != 0)
        return 0;
    fake.counted++;
    if (fake.fail_at == 0 ? fake.fail_name == NULL : fake.counted != fake.fail_at)
        return 0;
    if (fake.failed[0] == '\0')
        snprintf(fake.failed, sizeof(fake.failed), "%s", name);
    fake.poisoned = fake.poison;
    return fake.fail_code;
}

void fake_mistake(const char *what)
{
    if (fake.mistakes++ == 0)
        snprintf(fake.mistake, sizeof(fake.mistake), "%s", what);
}

void fake_mend(void)
{
    fake.fail_name = NULL;
    fake.fail_at = 0;
    fake.poisoned = false;
}
