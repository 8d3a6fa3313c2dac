/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program of heed in the making: each function adds one operation. What goes wrong is said by
 * draft_plan(), so that a layer reads as what it computes.
 */
#ifndef MODEL_DRAFT_H
#define MODEL_DRAFT_H

#include "weights.h"

#include <heed/programs.h>

struct draft {
    struct block *blocks;      /* What steps point to. */
    heed_program_step *steps;
    uint32_t n_steps, room, n_args, n_temps;
    heed_status status;
    heed_report *report;
};

/* Part of an array of the program: its number, and how its elements lie. */
struct view {
    uint32_t array;
    uint64_t offset;           /* Bytes. */
    heed_tensor t;
};

/* Arrays below `n_args` are arguments, `n_temps` behind them temporaries. */
void draft_begin(struct draft *draft, uint32_t n_args, uint32_t n_temps, heed_report *report);

/* The plan, which has a workspace of its own; ends the draft in any case. */
heed_status draft_plan(struct draft *draft, heed_device *device, heed_plan **plan);

/* Zeroed memory that lives as long as the draft; NULL, with the status set: there is none. */
void *draft_memory(struct draft *draft, size_t bytes);

/* A step of the caller's own; desc and args of draft_memory(). */
void draft_step(struct draft *draft, const char *op, const void *desc, const void *args);

/* An absent view: a bias, an addend that is not there. */
#define NO_VIEW ((struct view){ 0, 0, { 0, 0, { 0 }, { 0 } } })

/* Rows of `d` channels, [batch][1][rows][d] side by side; and their heads, [batch][heads][rows]
 * [d / heads] of the same memory. */
struct view view_rows(uint32_t array, int64_t batch, int64_t rows, int64_t d);
struct view view_heads(struct view rows, int64_t heads);

/* Rows from `first` on, `n` of them. */
struct view view_part(struct view rows, int64_t first, int64_t n);

/* y = act(W x + bias) + add. */
void draft_linear(struct draft *draft, struct view x, struct view w, struct view bias,
                  uint32_t act, struct view add, struct view y);
void draft_norm(struct draft *draft, uint32_t kind, double eps, struct view x, struct view weight,
                struct view bias, struct view y);

/* y = act(x) * factor + add, where NO_VIEW is a factor of 1, or adds nothing. */
void draft_act(struct draft *draft, uint32_t act, struct view x, struct view factor,
               struct view add, struct view y);

#endif
