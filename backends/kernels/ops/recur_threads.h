/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * recur for the threads of a work-group: a thread has a channel of v.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_RECUR_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_RECUR_THREADS_H

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    (void)call; (void)group;
}

#endif
