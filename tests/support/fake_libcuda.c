/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA driver of the tests as a library in the driver's place, for tests of programs. Modules
 * that are functions of the host (struct fake_cuda_host) are run, for one thread after another.
 * HEED_FAKE_CUDA in the environment says from which call on all fail.
 */
#include "fake_cuda.c"

/* No backend is in the library. */
void heed_cuda_api_set(const struct heed_cuda_api *api, const char *reason)
{
    (void)api;
    (void)reason;
}

void heed_cuda_nvrtc_set(const struct heed_cuda_nvrtc *api, const char *reason)
{
    (void)api;
    (void)reason;
}

__attribute__((constructor)) static void begin(void)
{
    const char *const from = getenv("HEED_FAKE_CUDA");

    fake_cuda_reset();
    fake.fail_at = from != NULL ? strtol(from, NULL, 10) : 0;
    fake.fail_code = 700;
    fake.poison = fake.fail_at > 0;
}

#define EXPORT(member, symbol, arguments)                                                          \
    extern int exported_##member arguments __asm__(symbol)                                         \
        __attribute__((alias(#member), visibility("default")));
HEED_CUDA_DRIVER(EXPORT)
HEED_CUDA_OPTIONAL(EXPORT)
#undef EXPORT
