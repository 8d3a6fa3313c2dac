/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One kernel of kernels/kernels.def as C17: compiled once per row and number of buffers, with
 * HK_FILE and HK_KERNEL_NAME from the build.
 */
#include HK_FILE
