/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work for the tests of promises: every operation that the conformance kit knows, some cases of
 * each, with the results that the reference gives. An operation of the kit's table is kept to every
 * promise by that alone.
 */
#ifndef HEED_TESTS_PROMISES_OP_WORK_H
#define HEED_TESTS_PROMISES_OP_WORK_H

#include <heed/heed.h>

struct op_work;
struct op_run;

/* How many cases there are, of all operations in turn. */
int op_work_count(void);
/* Made in the default FP environment, whatever that of the moment is. */
struct op_work *op_work_start(int index);
const char *op_work_line(const struct op_work *); /* for heed-conform --case */
void op_work_finish(struct op_work *);
heed_status op_work_check(const struct op_work *, heed_device *);
heed_status op_work_plan(const struct op_work *, heed_device *, uint32_t flags, heed_plan **);

/* A run's memory: arrays, and for a plan its workspace, both of the device. */
struct op_run *op_run_start(const struct op_work *, heed_device *, heed_queue *,
                            const heed_plan *);
/* Moves every array of a run: `move` copies the n bytes that hold its elements, and the workspace,
 * and says where they lie now. */
typedef heed_buf op_mover(void *context, const void *bytes, size_t n, size_t element);
void op_run_move(struct op_run *, op_mover *, void *context);
/* The run alone: nothing but heed's own call. */
heed_status op_run_go(struct op_run *, const heed_plan *, heed_event **);
/* After one: 1 when outputs and states are those of the reference. No Check call. */
int op_run_right(struct op_run *);
void op_run_finish(struct op_run *);

/* Plans, runs and judges; fails the test. */
void op_work_try(const struct op_work *, heed_device *, heed_queue *, uint32_t flags,
                 const char *how);

#endif
