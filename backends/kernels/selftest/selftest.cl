/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The self-test's device side: selftest.h on every set of operands. The blob is an empty plan,
 * then the inputs; buffer 1 takes the outputs. A group is a set.
 */
#define HK_THREADS 1
#define HK_VECTORS 1
#include "selftest.h"

#include "../attn/call.h"

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    HK_GLOBAL const struct hk_test_input *in =
        (HK_GLOBAL const struct hk_test_input *)(call->blob + sizeof(struct hk_plan));

    hk_test_group(in + group, (HK_GLOBAL hk_u32 *)hk_o(call) + group * HK_TEST_WORDS);
}

#include "../entry.h"
