/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention to retrieved keys (Bertsch et al. 2023; Wu et al. 2022), and the windows in which a
 * document is encoded that is longer than its encoder (Bertsch et al. 2023, section 2.1).
 */
#include "memory.h"

#include "../core/error.h"

enum { DESC_V1 = 1200 };
_Static_assert(sizeof(heed_retrieval_desc) == DESC_V1, "heed_retrieval_desc may only grow");
_Static_assert(sizeof(heed_window) == 32, "heed_window is frozen");

/* q and o, and the text if there is one. */
static heed_status rows_open(struct heed_builder *b, const heed_retrieval_desc *d)
{
    int64_t n;
    heed_status status;

    if (d->text.k.ndim)
        return heed_builder_segment(b, &d->q, &d->o, &d->text);
    if (d->window)
        return heed_report_fill(b->report, HEED_E_VALUE, "window", 0, d->window,
                                "a window has no meaning without a text");
    b->m.desc.q = d->q;
    b->m.desc.o = d->o;
    status = heed_builder_extent(b, "q", &d->q, 2, &n);
    return status < 0 ? status : heed_builder_extent(b, "o", &d->o, 2, &n);
}

static heed_status list_there(const struct heed_builder *b, const heed_slot *list)
{
    if (list->t.ndim)
        return HEED_OK;
    return heed_report_fill(b->report, HEED_E_NULL, "list", 0, 0, "there is no list of keys");
}

heed_status heed_retrieval(const heed_retrieval_desc *given, heed_mechanism *out,
                           heed_report *report)
{
    struct heed_builder b;
    heed_retrieval_desc d;
    heed_source *source;
    int64_t n;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), 0, out, report);

    if (status >= 0)
        status = rows_open(&b, &d);
    if (status >= 0)
        status = heed_builder_keys(&b, "memory", &d.memory, &n);
    if (status >= 0)
        status = list_there(&b, &d.list);
    if (status >= 0)
        status = heed_builder_within(&b, "window", d.window, 0, HEED_MOST_WINDOW);
    if (status < 0)
        return status;
    source = heed_builder_source(&b, &d.memory, 1);
    source->layout = HEED_LAYOUT_LISTED;
    source->slot = heed_builder_slot(&b, HEED_MECHANISM_LIST, &d.list);
    if (d.text.k.ndim) {
        heed_builder_source(&b, &d.text, 0)->flags = HEED_SOURCE_CAUSAL;
        if (d.window)
            *heed_builder_term(&b) = (heed_term){ .kind = HEED_TERM_WINDOW, .left = d.window };
    }
    return heed_builder_finish(&b, out);
}

/* The last window ends at n; the others follow one another at `stride`. */
static heed_window window_at(int64_t n, int64_t length, int64_t margin, int64_t count, int64_t t)
{
    const int64_t stride = length - 2 * margin;
    heed_window w = { .begin = t * stride, .keep = t * stride + margin };

    if (t == 0)
        w.keep = 0;
    if (t == count - 1) {
        w.begin = n > length ? n - length : 0;
        w.end = w.keep_end = n;
        return w;
    }
    w.end = w.begin + length;
    w.keep_end = w.end - margin;
    return w;
}

heed_status heed_window_plan(int64_t n, int64_t length, int64_t overlap, heed_window *windows,
                             int64_t room, int64_t *count)
{
    int64_t margin, needed;

    if (!count || (!windows && room != 0))
        return HEED_E_NULL;
    if (n < 0 || length < 1 || overlap < 0 || overlap >= length || room < 0)
        return HEED_E_VALUE;
    margin = overlap / 2;
    needed = n > 0;
    if (n > length)
        needed += (n - length - 1) / (length - 2 * margin) + 1;
    if (windows && room < needed)
        return HEED_E_VALUE;
    for (int64_t t = 0; windows && t < needed; t++)
        windows[t] = window_at(n, length, margin, needed, t);
    *count = needed;
    return HEED_OK;
}
