/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two OpenMP runtimes in a process have two pools of threads, which spin against each other.
 */
#ifndef HEED_INTEGRATIONS_GGML_RUNTIMES_H
#define HEED_INTEGRATIONS_GGML_RUNTIMES_H

#ifdef __cplusplus
extern "C" {
#endif

/* How many OpenMP runtimes are loaded; 0 also where the system does not tell. Any thread. */
int heed_attend_openmp_runtimes(void);

#ifdef __cplusplus
}
#endif
#endif
