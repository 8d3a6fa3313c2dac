/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The OpenCL driver of the tests as a library in the loader's place, for tests of programs.
 * HEED_FAKE_OPENCL tells it what to do when a function is called: "abort BuildProgram",
 * "sleep GetDeviceIDs", "fail CreateContext" (and everything after that).
 */
#define _POSIX_C_SOURCE 200809L     /* sleep */

#include "fake_opencl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void misbehave(const char *name)
{
    static bool ready;
    const char *const told = getenv("HEED_FAKE_OPENCL");
    const char *const whom = told != NULL ? strchr(told, ' ') : NULL;

    if (!ready)
        fake_opencl_reset();
    ready = true;
    if (whom == NULL || strcmp(whom + 1, name) != 0)
        return;
    if (told[0] == 'a')
        abort();
    if (told[0] == 's')
        sleep(600);
    fake.fail_at = fake.counted + 1;
    fake.poison = true;
    fake.fail_code = HEED_CL_OUT_OF_RESOURCES;
}

static int told_call(const char *name)
{
    misbehave(name);
    return fake_call(name);
}

/* The same source, its calls behind misbehave(), its functions under the vendor's names. */
#define fake_call told_call
#include "fake_opencl.c"
#undef fake_call

#define EXPORT(result, name, parameters)                                                           \
    extern result cl##name parameters __attribute__((alias(#name), visibility("default")));
HEED_OPENCL_FUNCTIONS(EXPORT)
#undef EXPORT
