/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The self-test's parts that need no device: inputs, and the judgement of outputs.
 */
#ifndef HEED_BACKENDS_DEVICE_SELFTEST_H
#define HEED_BACKENDS_DEVICE_SELFTEST_H

#include <stdint.h>

struct hk_test_input;

enum { HEED_TEST_GROUPS = 32 };

/* HEED_TEST_GROUPS of them. */
void heed_self_test_inputs(struct hk_test_input *in);

/* What a right device writes for so many of them: HK_TEST_WORDS words a group. */
void heed_self_test_expect(const struct hk_test_input *in, uint32_t groups, uint32_t *out);

/* "", or why the device is not EXACT: the first step, in the order of kernels/selftest.h, of which
 * some output differs. */
const char *heed_self_test_judge(const struct hk_test_input *in, uint32_t groups,
                                 const uint32_t *wanted, const uint32_t *got);

#endif
