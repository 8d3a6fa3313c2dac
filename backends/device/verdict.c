/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How self-tests ended, kept in the cache for other processes: under a digest of the test's text,
 * its inputs, and what the vendor says that the device's arithmetic depends on (its name, the
 * versions of driver and compiler). So a device is tested once, and a list of devices can say how
 * that ended without compiling anything. A file's contents are a mark and the reason, which is
 * empty for a device that is exact.
 */
#include "../kernels/attn/blob.h"
#include "../kernels/selftest/selftest.h"
#include "../kernels/selftest/selftest_matrix.h"
#include "cache.h"
#include "offload.h"
#include "selftest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MARK = 'v' };

/* The test's inputs. false: no memory. */
static bool add_inputs(struct heed_hash *hash, const struct heed_services *services,
                       enum heed_kernel test)
{
    const bool unit = heed_kernel_needs_unit(test);
    const size_t size = unit ? HEED_UNIT_SETS * sizeof(struct hk_unit_input)
                             : HEED_TEST_GROUPS * sizeof(struct hk_test_input),
                 align = unit ? _Alignof(struct hk_unit_input) : _Alignof(struct hk_test_input);
    void *inputs = services->alloc(services->runtime, size, align);

    if (inputs == NULL)
        return false;
    memset(inputs, 0, size);
    if (unit)
        heed_unit_test_inputs(test == HEED_KERNEL_test_matrix_f16 ? HEED_F16 : HEED_BF16, inputs);
    else
        heed_self_test_inputs(inputs);
    heed_hash_add(hash, inputs, size);
    services->free(services->runtime, inputs, size, align);
    return true;
}

/* The test itself. false: no memory. */
static bool add_test(struct heed_hash *hash, const struct heed_services *services,
                     enum heed_kernel test)
{
    size_t bytes = 0;
    char *text = NULL;

    if (add_inputs(hash, services, test))
        text = heed_kernel_source(services, heed_kernel_rows[test].file, &bytes);
    if (text == NULL)
        return false;
    heed_hash_add_text(hash, text);
    services->free(services->runtime, text, bytes + 1, 1);
    return true;
}

/* false: nothing is kept, for there is no folder, or the device is none of the list's. */
static bool find_key(const struct heed_vendor *vendor, uint32_t index, enum heed_kernel test,
                     const struct heed_services *services, uint8_t key[HEED_HASH_BYTES])
{
    struct heed_hash hash;

    if (vendor->identify == NULL || index == UINT32_MAX || !heed_cache_wanted(services))
        return false;
    heed_cache_key(&hash);
    heed_hash_add_text(&hash, heed_kernel_rows[test].name);
    heed_hash_add_text(&hash, vendor->name);
    if (!vendor->identify(index, &hash) || !add_test(&hash, services, test))
        return false;
    heed_hash_finish(&hash, key);
    return true;
}

void heed_offload_verdict_store(const struct heed_vendor *vendor, uint32_t index,
                                enum heed_kernel test,
                                const struct heed_services *services,
                                const struct heed_offload_verdict *verdict)
{
    char contents[1 + sizeof(verdict->reason)] = { MARK };
    uint8_t key[HEED_HASH_BYTES];

    snprintf(contents + 1, sizeof(contents) - 1, "%s", verdict->reason);
    if (find_key(vendor, index, test, services, key))
        heed_cache_store(services, key, contents, strlen(contents));
}

/* Reasons are lines of printable ASCII. What else may stand in a file, whatever its digest, is no
 * verdict, above all not that of a device that is exact. */
static bool is_verdict(const char *contents, size_t bytes)
{
    if (contents[0] != MARK || bytes > sizeof(((struct heed_offload_verdict *)0)->reason))
        return false;
    for (size_t i = 1; i < bytes; i++) {
        if (contents[i] < ' ' || contents[i] > '~')
            return false;
    }
    return true;
}

void heed_offload_verdict_load(const struct heed_vendor *vendor, uint32_t index,
                               enum heed_kernel test,
                               const struct heed_services *services,
                               struct heed_offload_verdict *verdict)
{
    uint8_t key[HEED_HASH_BYTES];
    size_t bytes = 0;
    char *contents;

    if (!find_key(vendor, index, test, services, key))
        return;
    contents = heed_cache_load(services, key, &bytes);
    if (contents == NULL)
        return;
    if (is_verdict(contents, bytes)) {
        memset(verdict->reason, 0, sizeof(verdict->reason));
        memcpy(verdict->reason, contents + 1, bytes - 1);
        verdict->known = 1;
    }
    services->free(services->runtime, contents, bytes, 1);
}

void heed_offload_recall(const struct heed_vendor *vendor, uint32_t index,
                         const struct heed_services *services, heed_device_props *props)
{
    struct heed_offload_verdict verdict = { 0 };

    heed_offload_verdict_load(vendor, index, HEED_KERNEL_self_test, services, &verdict);
    if (!verdict.known)
        return;
    props->untested = 0;
    props->exact = verdict.reason[0] == '\0';
    memcpy(props->reason, verdict.reason, sizeof(props->reason));
}
