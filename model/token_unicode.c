/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Classes of characters. The public tokenizers take theirs from tables of several versions of
 * Unicode (letters and numbers 16, punctuation and marks 8); these are utf8proc's, of one. What
 * differs are characters that Unicode has got between those: docs/decisions.md says how many.
 */
#include "tokens.h"

#include <utf8proc.h>

bool unicode_white(uint32_t code)
{
    if (code < 0x80)
        return code == ' ' || (code >= 9 && code <= 13);
    return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
           code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

bool unicode_letter(uint32_t code)
{
    if (code < 0x80)
        return (code | 0x20) >= 'a' && (code | 0x20) <= 'z';
    switch (utf8proc_category((utf8proc_int32_t)code)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO: return true;
        default: return false;
    }
}

bool unicode_number(uint32_t code)
{
    if (code < 0x80)
        return code >= '0' && code <= '9';
    switch (utf8proc_category((utf8proc_int32_t)code)) {
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_NO: return true;
        default: return false;
    }
}

/* All that is neither a letter nor a digit in ASCII counts, "$" and "+" too. */
bool unicode_punctuation(uint32_t code)
{
    if (code < 0x80)
        return code > ' ' && code < 0x7f && !unicode_letter(code) && !unicode_number(code);
    switch (utf8proc_category((utf8proc_int32_t)code)) {
        case UTF8PROC_CATEGORY_PC:
        case UTF8PROC_CATEGORY_PD:
        case UTF8PROC_CATEGORY_PS:
        case UTF8PROC_CATEGORY_PE:
        case UTF8PROC_CATEGORY_PI:
        case UTF8PROC_CATEGORY_PF:
        case UTF8PROC_CATEGORY_PO: return true;
        default: return false;
    }
}

/* What \w of regular expressions is (UTS 18, annex C): letters, marks, decimal digits, connectors,
 * the two joiners, and letters in circles and squares, which are symbols by their category. */
bool unicode_word(uint32_t code)
{
    if (code < 0x80)
        return unicode_letter(code) || unicode_number(code) || code == '_';
    if (unicode_letter(code) || code == 0x200c || code == 0x200d ||
        (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f149) ||
        (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189))
        return true;
    switch (utf8proc_category((utf8proc_int32_t)code)) {
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_PC: return true;
        default: return false;
    }
}
