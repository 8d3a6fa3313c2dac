/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear for the threads of a work-group: stretches of neighbouring terms of a row of x or of an
 * output's weights, as they are stored, on their way to shared memory. A stretch is loaded at once
 * where its elements lie side by side at a multiple of its bytes (HK_LINEAR_AT_ONCE); else element
 * by element. Terms that do not exist are zeros.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_LINEAR_STAGE_H
#define HEED_BACKENDS_KERNELS_OPS_LINEAR_STAGE_H

#define HK_QUAD 4               /* terms of the shortest stretch */

/* A term: its tap and channel. */
struct hk_linear_term {
    hk_i64 tap, channel;
};

/* Term u; one: there is one tap. */
HK_INLINE struct hk_linear_term hk_linear_term_get(HK_GLOBAL const struct hk_linear *numbers,
                                                   hk_i64 u, const int one)
{
    struct hk_linear_term term;

    term.tap = 0;
    term.channel = u;
    if (!one && numbers->taps > 1) {
        if (u < 0x7fffffff)     /* GPUs make a division of 64 bits of some hundred instructions */
            term.tap = (hk_i32)u / (hk_i32)hk_min(numbers->in, 0x7fffffff);
        else
            term.tap = u / numbers->in;
        term.channel = u - term.tap * numbers->in;
    }
    return term;
}

HK_INLINE void hk_linear_term_next(HK_GLOBAL const struct hk_linear *numbers, const int one,
                                   struct hk_linear_term *term)
{
    term->channel++;
    if (!one && term->channel == numbers->in && numbers->taps > 1) {
        term->channel = 0;
        term->tap++;
    }
}

/* ---- elements, as they are stored ---- */

/* Words of four elements: those in blocks become numbers as they are loaded. */
HK_FN int hk_quad_words(hk_u32 dtype)
{
    return dtype == HK_F32 || HK_IN_BLOCKS(dtype) ? 4 : 2;
}

HK_FN hk_u32 hk_stored(hk_u32 dtype, HK_GLOBAL const char *base, hk_i64 index)
{
    return dtype == HK_F32 ? hk_word(((HK_GLOBAL const float *)base)[index])
                           : (hk_u32)((HK_GLOBAL const hk_u16 *)base)[index];
}

/* Four elements, from word 0 of raw on, as numbers. */
#define HK_RAW_F32(raw, i) hk_float((raw)[i])
#define HK_RAW_F16(raw, i) hk_from_f16((hk_u16)((raw)[(i) / 2] >> (i) % 2 * 16))
#define HK_RAW_BF16(raw, i) hk_from_bf16((hk_u16)((raw)[(i) / 2] >> (i) % 2 * 16))
#define HK_RAW(NAME, name, number, elements, bytes, arg)                                           \
    if (dtype == HK_##NAME) {                                                                      \
        HK_UNROLL                                                                                  \
        for (i = 0; i < HK_QUAD; i++)                                                              \
            out[i] = HK_RAW_##NAME(raw, i);                                                        \
    } else
HK_INLINE void hk_quad_widen(hk_u32 dtype, const hk_u32 *raw, float *out)
{
    int i;

    HK_FLOAT_TYPES(HK_RAW, 0)
    HK_UNREACHABLE();
}
#undef HK_RAW

/* ---- stretches ---- */

/* May stretches of `bytes` of lines that begin at base + i * line be loaded at once? */
HK_FN int hk_linear_aligned(HK_GLOBAL const char *base, hk_i64 line, hk_i64 bytes)
{
    return ((hk_address(base) | (hk_u64)line) & (hk_u64)(bytes - 1)) == 0;
}

/* A line: a row of x at its first tap, or an output's weights. */
struct hk_linear_line {
    HK_GLOBAL const char *base;
    hk_i64 tap, channel;                /* elements from one to the next */
    hk_i64 first, end;                  /* taps that it has */
    hk_u32 dtype;
};

HK_FN struct hk_linear_line hk_linear_x_line(const struct hk_linear_task *task, hk_i64 i)
{
    const hk_i64 row = i * task->numbers->stride - task->numbers->before;
    struct hk_linear_line line;

    line.base = task->x.base;
    line.dtype = task->x.dtype;
    line.tap = task->x.row / hk_size(line.dtype);
    line.channel = task->x.channel;
    line.first = -row;
    line.end = task->numbers->n - row;
    return line;
}

HK_FN struct hk_linear_line hk_linear_w_line(const struct hk_linear_task *task, hk_i64 o)
{
    struct hk_linear_line line;

    line.base = hk_byte(task->w, o * task->w_out * hk_size(task->w_dtype));
    line.dtype = task->w_dtype;
    line.tap = task->w_tap;
    line.channel = task->w_channel;
    line.first = 0;
    line.end = task->numbers->taps;
    return line;
}

/* Four words of a stretch: elements as they are stored, two of halves in a word. */
struct hk_linear_raw {
    hk_u32 word[4];
};

HK_FN hk_u32 hk_linear_stored(const struct hk_linear_line *line, const struct hk_linear_term *term)
{
    if (term->tap < line->first || term->tap >= line->end)
        return 0;
    if (HK_IN_BLOCKS(line->dtype))
        return hk_word(hk_channel_read(
            line->dtype,
            line->base + (term->tap - line->first) * line->tap * hk_size(line->dtype),
            term->channel));
    return hk_stored(line->dtype, line->base,
                     (term->tap - line->first) * line->tap + term->channel * line->channel);
}

/* `words` of them from term u on, then zeros. `one`: there is one tap. Nothing waits for the first
 * before it asks for the last. */
HK_INLINE void hk_linear_some(const struct hk_linear_task *task, const struct hk_linear_line *line,
                              hk_i64 u, int words, const int one, struct hk_linear_raw *raw)
{
    HK_GLOBAL const struct hk_linear *numbers = task->numbers;
    struct hk_linear_term term = hk_linear_term_get(numbers, u, one);
    int i;

    HK_UNROLL
    for (i = 0; i < 4; i++) {
        raw->word[i] = 0;
        if (i < words && u < task->terms)
            raw->word[i] = hk_linear_stored(line, &term);
        u++;
        hk_linear_term_next(numbers, one, &term);
        if (hk_quad_words(line->dtype) == 2) {
            if (i < words && u < task->terms)
                raw->word[i] |= hk_linear_stored(line, &term) << 16;
            u++;
            hk_linear_term_next(numbers, one, &term);
        }
    }
}

#endif
