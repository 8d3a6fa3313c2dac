/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Linked into heed-conform: the device cuda:0 is the tests' driver, with a cuBLASLt that multiplies
 * in plain C, so the kit judges what heed gives that library and takes from it. No kernel runs but
 * the self-test, so the device is a partial one: it refuses what does not go to the library alone.
 * What the fakes would not forgive ends the program with status 4.
 */
#include "support/fake_cublaslt.h"
#include "support/fake_cuda.h"
#include "support/fake_right.h"

#include <heed/nn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MISTAKES = 4 };

heed_status __real_heed_linear_check(heed_device *, const heed_linear_desc *, heed_report *);
heed_status __real_heed_linear_plan(heed_device *, const heed_linear_desc *, heed_plan **,
                                    heed_report *);
heed_status __wrap_heed_linear_check(heed_device *, const heed_linear_desc *, heed_report *);
heed_status __wrap_heed_linear_plan(heed_device *, const heed_linear_desc *, heed_plan **,
                                    heed_report *);

__attribute__((constructor)) static void install(void)
{
    fake_cuda_reset();
    fake_cuda_install();
    fake_cublaslt_reset();
    fake.launched = compute_right;
}

__attribute__((destructor)) static void look(void)
{
    if (fake.mistakes == 0)
        return;
    fprintf(stderr, "%ld mistakes, first: %s\n", fake.mistakes, fake.mistake);
    _Exit(MISTAKES);
}

/* By the library alone: nothing follows the sums, whose type it has. */
static bool is_whole(const heed_linear_desc *desc, const heed_plan *plan)
{
    heed_plan_props props = { .size = sizeof props };

    return heed_plan_info(plan, &props) >= 0 &&
           strcmp(props.implementation, "linear-gemm cublaslt") == 0 && desc->bias.dtype == 0 &&
           desc->add.dtype == 0 && desc->act == HEED_ACT_NONE &&
           (desc->x.dtype != HEED_F32 || desc->y.dtype == HEED_F32);
}

static heed_status refuse(heed_report *report)
{
    if (report != NULL) {
        report->status = HEED_E_UNSUPPORTED;
        snprintf(report->field, sizeof report->field, "x");
        snprintf(report->message, sizeof report->message, "the library does not take that");
    }
    return HEED_E_UNSUPPORTED;
}

heed_status __wrap_heed_linear_plan(heed_device *device, const heed_linear_desc *desc,
                                    heed_plan **out, heed_report *report)
{
    heed_status status = __real_heed_linear_plan(device, desc, out, report);

    if (status < 0 || strcmp(heed_device_name(device), "cuda:0") != 0 || is_whole(desc, *out))
        return status;
    heed_plan_drop(*out);
    *out = NULL;
    return refuse(report);
}

heed_status __wrap_heed_linear_check(heed_device *device, const heed_linear_desc *desc,
                                     heed_report *report)
{
    heed_status status = __real_heed_linear_check(device, desc, report);
    heed_plan *plan = NULL;

    if (status < 0 || strcmp(heed_device_name(device), "cuda:0") != 0)
        return status;
    status = __wrap_heed_linear_plan(device, desc, &plan, report);
    heed_plan_drop(plan);
    return status;
}
