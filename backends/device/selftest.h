/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The self-tests' parts: inputs and the judgement of outputs, which need no device, and the way to
 * a device and back. That of matrix units: selftest_matrix.c.
 */
#ifndef HEED_BACKENDS_DEVICE_SELFTEST_H
#define HEED_BACKENDS_DEVICE_SELFTEST_H

#include "device.h"

struct hk_test_input;
struct hk_unit_input;
struct hk_unit_output;

enum { HEED_TEST_GROUPS = 32 };

/* HEED_TEST_GROUPS of them. */
void heed_self_test_inputs(struct hk_test_input *in);

/* What a right device writes for so many of them: HK_TEST_WORDS words a group. */
void heed_self_test_expect(const struct hk_test_input *in, uint32_t groups, uint32_t *out);

/* "", or why the device is not EXACT: the first step, in the order of selftest/selftest.h, of which
 * some output differs. */
const char *heed_self_test_judge(const struct hk_test_input *in, uint32_t groups,
                                 const uint32_t *wanted, const uint32_t *got);

/* One launch, with a blob and buffer 1, whose contents go there and come back. */
struct heed_test_sheet {
    struct heed_kernel_launch launch;
    const void *blob;
    size_t blob_bytes;
    void *got;
    size_t got_bytes;
};
heed_status heed_device_test(heed_device *, const struct heed_backend_offload *,
                             const struct heed_test_sheet *, struct heed_error_detail *);

/* ---- matrix units (docs/numerics.md section 11) ---- */

enum { HEED_UNIT_SETS = 40 };

/* HEED_UNIT_SETS of them. dtype: HEED_F16 or HEED_BF16. */
void heed_unit_test_inputs(uint32_t dtype, struct hk_unit_input *in);

/* "", or what unit `unit` (dialect/mma.h) does that section 11 does not allow; got: one for each
 * set. */
const char *heed_unit_test_judge(uint32_t dtype, uint32_t unit, const struct hk_unit_input *in,
                                 const struct hk_unit_output *got);

/* Runs the test on a device that may have the unit of its traits. *reason as above. */
heed_status heed_device_unit_test(heed_device *, const struct heed_backend_offload *,
                                  uint32_t dtype, const char **reason, struct heed_error_detail *);

#endif
