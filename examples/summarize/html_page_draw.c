/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The pictures of the page, drawn as SVG within it: scores along the document, and the pattern of
 * the local attention. Both have a bounded number of parts; in long documents a part stands for a
 * run of sentences.
 */
#include "html_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Heights are in parts of the picture's; above FLOOR are the marks of the chosen. */
enum { MOST_BARS = 320, HEIGHT = 100, FLOOR = 12, LEAST = 4 };

/* ---- scores along the document ------------------------------------------------ */

struct bar {
    int64_t first, end;            /* sentences */
    int64_t at;                    /* the one that it leads to; -1: none is shown */
    double score;                  /* the best */
    bool chosen;
};

static struct bar bar_of(const struct page *p, int64_t first, int64_t end)
{
    struct bar bar = { .first = first, .end = end, .at = -1, .score = -INFINITY };

    for (int64_t i = first; i < end; i++) {
        const double score = (double)p->r->score[i];
        const bool chosen = p->r->summary->chosen[i];

        if (p->shown[i] && (bar.at < 0 || (chosen && !bar.chosen)))
            bar.at = i;
        bar.chosen |= chosen;
        if (isfinite(score) && score > bar.score)
            bar.score = score;
    }
    return bar;
}

static void put_bar(const struct page *p, const struct bar *bar, int64_t x, double height)
{
    if (bar->at >= 0)
        fprintf(p->to, "<a href=\"#s%lld\"%s>", (long long)bar->at,
                bar->chosen ? "" : " tabindex=\"-1\"");
    fprintf(p->to, "<rect class=\"%s\" x=\"%lld\" y=\"%.1f\" width=\"1\" height=\"%.1f\"/>",
            bar->chosen ? "c" : "b", (long long)x, HEIGHT - height, height);
    if (bar->chosen)
        fprintf(p->to, "<rect class=\"c\" x=\"%lld\" y=\"0\" width=\"1\" height=\"8\"/>",
                (long long)x);
    fprintf(p->to, "<title>sentence %lld", (long long)bar->first + 1);
    if (bar->end > bar->first + 1)
        fprintf(p->to, " to %lld", (long long)bar->end);
    if (isfinite(bar->score))
        fprintf(p->to, ", %s %.3g", p->r->written ? "attention" : "score", bar->score);
    fprintf(p->to, "%s</title>%s\n",
            !bar->chosen ? "" : p->r->written ? ", looked at most" : ", in the summary",
            bar->at >= 0 ? "</a>" : "");
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The scores that are the lowest and the highest line of the picture: a few bars are lower. */
static void find_range(const struct bar *bars, int64_t n, double *low, double *high)
{
    double scores[MOST_BARS];
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++) {
        if (isfinite(bars[i].score))
            scores[count++] = bars[i].score;
    }
    qsort(scores, (size_t)count, sizeof(*scores), compare);
    *low = count > 0 ? scores[count / 20] : 0;
    *high = count > 0 ? scores[count - 1] : 0;
    if (*high <= *low)
        *low = *high - 1;
}

static void put_segments(const struct page *p, int64_t step)
{
    const struct document *const doc = p->r->doc;
    int64_t last = 0;

    for (int64_t k = 1; k < doc->n_segments; k++) {
        const int64_t x = doc->segments[k] / step;

        if (x > last)
            fprintf(p->to, "<path class=\"g\" d=\"M%lld %dV%d\"/>", (long long)x, FLOOR, HEIGHT);
        last = x;
    }
}

void page_put_strip(const struct page *p)
{
    const int64_t n = p->r->doc->n;
    const int64_t step = n > MOST_BARS ? (n + MOST_BARS - 1) / MOST_BARS : 1;
    const int64_t n_bars = (n + step - 1) / step;
    struct bar bars[MOST_BARS];
    double low, high;

    for (int64_t k = 0; k < n_bars; k++)
        bars[k] = bar_of(p, k * step, (k + 1) * step < n ? (k + 1) * step : n);
    find_range(bars, n_bars, &low, &high);
    fprintf(p->to, "<figure id=\"salience\" lang=\"en\"><h2>%s</h2>\n",
            p->r->written ? "Attention" : "Salience");
    fprintf(p->to, "<svg class=\"strip\" viewBox=\"0 0 %lld %d\" preserveAspectRatio=\"none\" "
            "role=\"group\" aria-label=\"Score of each sentence\">\n", (long long)n_bars, HEIGHT);
    put_segments(p, step);
    for (int64_t k = 0; k < n_bars; k++) {
        const double share = bars[k].score > low ? (bars[k].score - low) / (high - low) : 0;

        put_bar(p, &bars[k], k, LEAST + (HEIGHT - FLOOR - LEAST) * share);
    }
    fprintf(p->to, "</svg>\n<figcaption>From the first sentence to the last one: the higher a bar, "
            "the more the %s ", p->r->written ? "model looked at" : "document attends to");
    if (step > 1)
        fprintf(p->to, "the best of %lld sentences", (long long)step);
    else
        fputs("a sentence", p->to);
    fprintf(p->to, ". Bars with a mark above are %s; dashed lines part segments, runs of "
          "sentences that belong together.</figcaption></figure>\n",
            p->r->written ? "what a sentence of the summary looked at most" : "in the summary");
}

/* ---- the pattern of attention -------------------------------------------------- */

/* Levels of weight: the colours of the style. */
static const struct {
    double least;
    const char *what;
} levels[] = {
    { 0, "under 2 %" }, { 0.02, "2 to 5 %" }, { 0.05, "5 to 10 %" }, { 0.1, "10 to 20 %" },
    { 0.2, "more" }
};
enum { LEVELS = sizeof(levels) / sizeof(*levels) };

static int level_of(const struct pattern *pattern, int64_t row, int64_t column)
{
    const double weight = pattern_weight(pattern, row, column);
    int level = LEVELS - 1;

    if (!(weight > 0))
        return -1;
    while (level > 0 && weight < levels[level].least)
        level--;
    return level;
}

/* Cells of one level as one line with gaps, row after row. */
static void put_level(const struct page *p, int level)
{
    const struct pattern *const pattern = p->r->pattern;

    fprintf(p->to, "<path class=\"l%d\" d=\"", level);
    for (int64_t i = 0; i < pattern->cells; i++) {
        int64_t pen = -1;

        for (int64_t j = 0, end; j < pattern->cells; j = end) {
            end = j + 1;
            if (level_of(pattern, i, j) != level)
                continue;
            while (end < pattern->cells && level_of(pattern, i, end) == level)
                end++;
            if (pen < 0)
                fprintf(p->to, "M%lld %lld.5", (long long)j, (long long)i);
            else
                fprintf(p->to, "m%lld 0", (long long)(j - pen));
            fprintf(p->to, "h%lld", (long long)(end - j));
            pen = end;
        }
    }
    fputs("\"/>\n", p->to);
}

/* Numbers of sentences at both axes, and marks where the summary has one. */
static void put_axes(const struct page *p, double unit)
{
    const struct pattern *const pattern = p->r->pattern;
    const int64_t n = p->r->doc->n, cells = pattern->cells;
    int64_t marked = -1;

    fprintf(p->to, "<path class=\"a\" d=\"M0 0H%lldV%lldH0Z\"/>\n", (long long)cells,
            (long long)cells);
    for (int k = 0; k <= 4; k++) {
        const int64_t sentence = k * (n - 1) / 4;
        const double x = (double)(sentence / pattern->step) + 0.5;

        if (k > 0 && sentence == (k - 1) * (n - 1) / 4)
            continue;
        fprintf(p->to, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">%lld</text>"
                "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"end\">%lld</text>\n",
                x, -unit, (long long)sentence + 1, -unit, x + unit / 2, (long long)sentence + 1);
    }
    fputs("<path class=\"m\" d=\"", p->to);
    for (int64_t i = 0; i < n; i++) {
        const int64_t cell = i / pattern->step;

        if (!p->r->summary->chosen[i] || cell == marked)
            continue;
        marked = cell;
        fprintf(p->to, "M%lld %lldh%.2fv1h%.2fz", (long long)cells, (long long)cell, unit, -unit);
        fprintf(p->to, "M%lld %lldv%.2fh1v%.2fz", (long long)cell, (long long)cells, unit, -unit);
    }
    fputs("\"/>\n", p->to);
}

static void put_legend(const struct page *p)
{
    fputs("<ul class=\"k\">", p->to);
    for (int k = 0; k < LEVELS; k++)
        fprintf(p->to, "<li><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><path class=\"l%d\" "
                "d=\"M0 .5h1\"/></svg> %s</li>", k, levels[k].what);
    fputs("</ul>\n", p->to);
}

static const char *what_is_seen(const char *attention)
{
    const char *what = "", *name;

    for (size_t i = 0; (name = encoder_name(i, &what)) != NULL; i++) {
        if (strcmp(name, attention) == 0)
            return what;
    }
    return "";
}

void page_put_pattern(const struct page *p)
{
    const struct pattern *const pattern = p->r->pattern;
    /* Figures are as large on the page, whatever the number of cells. */
    const double unit = (double)pattern->cells / 50, side = (double)pattern->cells + 10 * unit;

    fputs("<figure id=\"attention\" lang=\"en\"><h2>Attention</h2>\n", p->to);
    fprintf(p->to, "<svg class=\"pattern\" viewBox=\"%.2f %.2f %.2f %.2f\" font-size=\"%.2f\" "
            "role=\"img\" aria-label=\"Which sentences a sentence sees\">\n",
            -8 * unit, -4 * unit, side, side - 4 * unit, 2 * unit);
    for (int k = 0; k < LEVELS; k++)
        put_level(p, k);
    put_axes(p, unit);
    fputs("</svg>\n<figcaption>A row is the sentence that looks, a column the one that it sees at "
          "first, by the attention <b>", p->to);
    page_put_string(p->to, p->r->attention);
    fputs("</b>: ", p->to);
    page_put_string(p->to, what_is_seen(p->r->attention));
    if (pattern->step > 1)
        fprintf(p->to, ". A cell stands for %lld by %lld sentences", (long long)pattern->step,
                (long long)pattern->step);
    fputs(". Marks at the right and below are sentences of the summary. The darkness (in a dark "
          "page the brightness) is the share of the attention that it gives to others:", p->to);
    fputs("</figcaption>\n", p->to);
    put_legend(p);
    fputs("</figure>\n", p->to);
}
