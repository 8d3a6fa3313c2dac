/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See fake.h.
 */
#include "fake.h"

#include <stdio.h>
#include <string.h>

struct fake fake;

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
