/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What every part of the check asks of fields, whatever object they belong to, and how a fault is
 * reported.
 */
#include "check_state.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- reports ---- */

void heed_check_object(struct heed_check *c, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(c->where.prefix, sizeof(c->where.prefix), format, list);
    va_end(list);
}

heed_status heed_check_fail(struct heed_check *c, heed_status status, const char *name,
                            int64_t wanted, int64_t got, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    status = heed_where_fail_list(&c->where, status, name, wanted, got, format, list);
    va_end(list);
    return status;
}

heed_status heed_check_nomem(struct heed_check *c)
{
    return heed_report_fill(c->where.report, HEED_E_NOMEM, NULL, 0, 0,
                            "no memory for the checked descriptor");
}

/* ---- fields of any object ---- */

heed_status heed_check_limits(struct heed_check *c, const struct heed_check_limit *limits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct heed_check_limit *l = &limits[i];

        if (l->value < l->low || l->value > l->high)
            return heed_check_fail(c, HEED_E_VALUE, l->name, l->value < l->low ? l->low : l->high,
                                   l->value, "%s", l->why);
    }
    return HEED_OK;
}

const char *heed_check_flags_hint(uint32_t flags)
{
    if (flags & HEED_SOURCE_CAUSAL)
        return "; HEED_SOURCE_CAUSAL belongs in sources[].flags";
    if (flags & HEED_SOURCE_END)
        return "; HEED_SOURCE_END belongs in sources[].flags";
    if (flags & HEED_ATTN_ALIGN_START)
        return "; HEED_ATTN_ALIGN_START belongs in the descriptor's flags, HEED_TERM_KEYS in terms";
    if (flags & HEED_ATTN_ALIGN_END)
        return "; HEED_ATTN_ALIGN_END belongs in the descriptor's flags, HEED_TERM_ROWS in terms";
    return flags & (HEED_ATTN_SCALE_GIVEN | HEED_ATTN_LSE_WITH_SINK)
               ? "; HEED_ATTN_* belong in the descriptor's flags, HEED_TERM_PHASE_* in terms"
               : "";
}

heed_status heed_check_flags(struct heed_check *c, uint32_t flags, uint32_t known)
{
    const uint32_t unknown = flags & ~known;

    if (unknown == 0)
        return HEED_OK;
    return heed_check_fail(c, HEED_E_FLAG, "flags", known, flags, "unknown flag bits 0x%x%s",
                           (unsigned)unknown, heed_check_flags_hint(unknown));
}

heed_status heed_check_reached(struct heed_check *c, const char *name, bool known, int64_t value)
{
    if (known && value >= -HEED_POSITION_MAX && value <= HEED_POSITION_MAX)
        return HEED_OK;
    return heed_check_fail(c, HEED_E_OVERFLOW, name,
                           known && value < 0 ? -HEED_POSITION_MAX : HEED_POSITION_MAX,
                           known ? value : 0, "positions, reaches and steps lie within 2^60 of 0");
}

heed_status heed_check_position(struct heed_check *c, const char *name, int64_t value)
{
    return heed_check_reached(c, name, true, value);
}
