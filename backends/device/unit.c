/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Has a vendor's device the matrix unit that its traits name? What a device says of itself suggests
 * one; it is there if its test (selftest_matrix.c) and the row that wants it compile and the test
 * ends well. If not, the log says so once, and plans go on with the other rows.
 */
#include "offload.h"
#include "selftest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- what a device may have ---- */

/* Beginnings of the names of AMD's GPUs, which are the compiler's targets. */
static const struct {
    const char *name;
    uint32_t unit;
} targets[] = {
    { "gfx908", 2 }, { "gfx90a", 2 }, { "gfx94", 2 },
    { "gfx950", 2 }, { "gfx11", 3 },  { "gfx120", 4 },
};

static uint32_t amd_unit(const char *name)
{
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        if (strncmp(name, targets[i].name, strlen(targets[i].name)) == 0)
            return targets[i].unit;
    }
    return 0;
}

static uint32_t intel_unit(const char *extensions, uint32_t least_lanes)
{
    static const char wanted[] = "cl_intel_subgroup_matrix_multiply_accumulate";
    const char *place = extensions;

    while ((place = strstr(place, wanted)) != NULL) {
        place += sizeof(wanted) - 1;
        if (*place == ' ' || *place == '\0')    /* names of others begin so */
            /* Where 8 lanes share an instruction registers do not suffice for 128 channels
             * (docs/measurements/2026-11-23-matrix-registers.md). */
            return least_lanes == 16 ? 6 : 0;
    }
    return 0;
}

uint32_t heed_unit_suggested(const struct heed_unit_hints *hints)
{
    switch (hints->vendor) {
    case HEED_VENDOR_AMD:
        return amd_unit(hints->name);
    case HEED_VENDOR_NVIDIA:
        return hints->capability >= 80;
    case HEED_VENDOR_INTEL:
        return intel_unit(hints->extensions, hints->least_lanes);
    default:                    /* no unit of theirs is known here */
        return 0;
    }
}

/* ---- what it has ---- */

/* One unit is tested at a time. */
static pthread_mutex_t testing = PTHREAD_MUTEX_INITIALIZER;

static void say_not(const void *state, uint32_t dtype, const char *reason)
{
    char text[200];

    snprintf(text, sizeof(text), "no matrix unit for %s: %.150s",
             dtype == HEED_F16 ? "f16" : "bf16", reason);
    heed_offload_log(state, HEED_OFFLOAD_WARNING, text);
}

/* Want of memory is no verdict, as nobody knows what comes next time. */
static bool is_verdict(heed_status status)
{
    return status != HEED_E_NOMEM && status != HEED_E_DEVICE_LOST;
}

/* A unit whose test does not compile or run is none, in this process; how a test that ran ended is
 * kept for others. */
static void find_verdict(heed_device *device, uint32_t dtype, struct heed_offload_verdict *verdict)
{
    const enum heed_kernel test = dtype == HEED_F16 ? HEED_KERNEL_test_matrix_f16
                                                    : HEED_KERNEL_test_matrix_bf16;
    const struct heed_vendor *const vendor = heed_offload_vendor(device);
    const struct heed_services *const services =
        ((const struct heed_device_state *)device->state)->services;
    struct heed_error_detail detail = { 0 };
    const char *reason = "";
    heed_status status;

    heed_offload_verdict_load(vendor, device->index, test, services, verdict);
    if (!verdict->known) {
        status = heed_device_unit_test(device, &vendor->offload, dtype, &reason, &detail);
        verdict->known = status >= 0 || is_verdict(status);
        if (status < 0)
            reason = detail.text[0] != '\0' ? detail.text : "its test does not run";
        snprintf(verdict->reason, sizeof(verdict->reason), "%.127s", reason);
        if (status >= 0)
            heed_offload_verdict_store(vendor, device->index, test, services, verdict);
    }
    if (verdict->known && verdict->reason[0] != '\0')
        say_not(device->state, dtype, verdict->reason);
}

/* The row compiles too; the plan that asks will find it compiled. */
static bool is_built(struct heed_offload_state *state, enum heed_kernel row)
{
    const uint32_t bit = UINT32_C(1) << (row - HEED_KERNEL_matrix_64_f16);
    struct heed_error_detail detail = { 0 };
    void *compiled;
    heed_status status;

    if (state->unbuilt & bit)
        return false;
    status = state->base.driver->kernel(state, row, 0, &compiled, &detail);
    if (status >= 0)
        return true;
    if (is_verdict(status)) {
        state->unbuilt |= bit;
        say_not(state, heed_unit_dtype(row), detail.text);
    }
    return false;
}

bool heed_offload_has_unit(heed_device *device, enum heed_kernel row)
{
    struct heed_offload_state *const state = device->state;
    const uint32_t dtype = heed_unit_dtype(row);
    struct heed_offload_verdict *const verdict = &state->unit[dtype != HEED_F16];
    bool has;

    assert(state->base.traits.mma != 0 && heed_kernel_is_matrix(row));
    pthread_mutex_lock(&testing);
    if (!verdict->known)
        find_verdict(device, dtype, verdict);
    has = verdict->known && verdict->reason[0] == '\0' && is_built(state, row);
    pthread_mutex_unlock(&testing);
    return has;
}
