/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Faults that have nothing to do with attention: what a kernel may do to its process, to the files
 * and to the process that judges it (hostile.c). They are run in place of zoo.c's other ones.
 */
#ifndef HEED_TESTS_ZOO_HOSTILE_H
#define HEED_TESTS_ZOO_HOSTILE_H

#include <heed/plugin.h>

struct state;

typedef heed_status hostile(struct state *, const heed_attn_args *);

hostile escapes, prints_tap, prints_endlessly, fills_disk, closes_files;
hostile exits, exits_quietly, jumps, stops_itself, handles_faults, masks_signals, stops_alarm;
hostile lowers_limits, changes_folder, changes_mask, kills_judge, kills_all, forges;
hostile writes_from_thread, leaves_thread, alarms_soon;
hostile flushes_subnormals, ignores_subnormals, enables_traps, exits_at_entry, exits_at_load;

#endif
