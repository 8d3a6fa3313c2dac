/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Faults of faulty.def: what they do to the elements of arrays (faulty_change.c), the numbers that
 * these are (faulty_value.c), and the plug-in (faulty.c).
 */
#ifndef HEED_TESTS_ZOO_FAULTY_H
#define HEED_TESTS_ZOO_FAULTY_H

#include <heed/heed.h>

#include <stdbool.h>

enum { OPERANDS = 128, AXES = 6, LAST = -1 };

enum { OF_PLACE, OF_WORD, OF_GIVEN, OF_BESIDE, OF_AGAIN };

#define PLACE(name, what) FAULT_##name,
#define WORD(name, what) FAULT_##name,
#define GIVEN(name, operand, what) FAULT_##name,
#define BESIDE(name, what) FAULT_##name,
#define AGAIN(name, what) FAULT_##name,
enum {
#include "faulty.def"
    N_FAULTS
};
#undef PLACE
#undef WORD
#undef GIVEN
#undef BESIDE
#undef AGAIN

/* The fault of this process; N_FAULTS: none. */
extern int faulty_which;

/* An array in memory; what is said of its axes leaves out those of one element. */
struct view {
    unsigned char *at;
    uint32_t dtype;
    int64_t bytes, n, shape[AXES], stride[AXES]; /* stride: bytes */
    int channel, row, head, item;                /* axes; -1: there is none */
};

/* ---- faulty_value.c ---------------------------------------------------------------- */

/* Bytes of an element; 0: elements come in blocks. */
int64_t faulty_bytes(uint32_t dtype);
bool faulty_float(uint32_t dtype);
double faulty_value(const unsigned char *at, uint32_t dtype);
/* Writes a number of a type of floats. */
void faulty_put(unsigned char *at, uint32_t dtype, double x);
/* Rounded to f16 or bf16. */
double faulty_rounded(double x, uint32_t dtype);

/* false: it has no elements that can be told apart. */
bool faulty_view(struct view *, unsigned char *at, const heed_tensor *);
/* Coordinates of the i-th element, and its bytes behind the first one. */
void faulty_place(const struct view *, int64_t i, int64_t *c);
int64_t faulty_offset(const struct view *, const int64_t *c);

/* ---- faulty_change.c --------------------------------------------------------------- */

/* The output as the fault has it, in its place. old, right: its bytes from `low` on. */
void faulty_output(const struct view *, const unsigned char *old, const unsigned char *right,
                   int64_t low);
/* The copy of an input as the fault has it. */
void faulty_given(const struct view *copy, const struct view *whole);

#endif
