/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A row of the picture is a query row, a column a key. Each set of keys is a panel; sources that
 * read the same set share its panel, one colour each.
 */
#include "picture.h"

#include "common/text.h"
#include "patterns/pattern.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What rows see: seen[(row * columns + column)] = times, and the source that shows it. */
struct picture {
    const struct pattern_choice *choice;
    const struct pattern *pattern;
    int head;
    int64_t n_rows, n_columns, first[HEED_MECHANISM_KEYS]; /* column of each panel's first key */
    unsigned char *times, *source;
    double seen;                        /* pairs, repeated ones each time */
};

static int64_t keys_of(const struct pattern *p, uint32_t set)
{
    return p->sets[set].shape[p->sets[set].ndim - 2];
}

static heed_status row_look(struct picture *x, int64_t row, uint8_t *seen, heed_report *report)
{
    const heed_mechanism *m = &x->pattern->m;
    heed_status status = HEED_OK;

    for (uint32_t s = 0; s < m->desc.n_sources && status >= 0; s++) {
        const uint32_t set = m->keys[s];

        status = heed_attn_visible(&m->desc, NULL, 0, x->head, row, s, seen, report);
        for (int64_t j = 0; j < keys_of(x->pattern, set) && status >= 0; j++) {
            const int64_t at = row * x->n_columns + x->first[set] + j;

            x->seen += seen[j];
            if (seen[j] > 0)
                x->source[at] = (unsigned char)s;
            x->times[at] = (unsigned char)(x->times[at] + seen[j]);
        }
    }
    return status;
}

/* False: all is said. */
static bool look(struct picture *x)
{
    const struct pattern *p = x->pattern;
    heed_report report = { .size = sizeof report };
    heed_status status = HEED_OK;
    uint8_t *seen;

    x->n_rows = p->m.desc.q.shape[p->m.desc.q.ndim - 2];
    for (uint32_t set = p->n_sets; set-- > 0;) {    /* the text last, memories before it */
        x->first[set] = x->n_columns;
        x->n_columns += keys_of(p, set);
    }
    if (x->n_rows > PATTERN_PICTURE_EDGE || x->n_columns > PATTERN_PICTURE_EDGE) {
        fprintf(stderr, "heed-info: a picture has room for %d rows and keys, %s has %" PRId64
                " and %" PRId64 "\n", PATTERN_PICTURE_EDGE, x->choice->text, x->n_rows,
                x->n_columns);
        return false;
    }
    x->times = calloc((size_t)(x->n_rows * x->n_columns), 1);
    x->source = calloc((size_t)(x->n_rows * x->n_columns), 1);
    seen = malloc((size_t)x->n_columns);
    if (x->times == NULL || x->source == NULL || seen == NULL)
        status = HEED_E_NOMEM;
    for (int64_t row = 0; row < x->n_rows && status >= 0; row++)
        status = row_look(x, row, seen, &report);
    free(seen);
    if (status < 0)
        text_failure("heed-info", x->choice->text, status, &report);
    return status >= 0;
}

/* What is drawn, in words. */
static void caption(const struct picture *x, FILE *to)
{
    const double pairs = (double)x->n_rows * (double)x->n_columns;

    fprintf(to, "head %d of %" PRId64 ": %.0f pairs, %.1f %% of all", x->head,
            x->choice->v[PATTERN_H], x->seen, 100 * x->seen / pairs);
}

/* ---- characters ------------------------------------------------------------ */

static void print_characters(const struct picture *x)
{
    printf("%s (%s)\n", pattern_title(x->choice->kind), x->choice->text);
    caption(x, stdout);
    printf("\nkeys:");
    for (uint32_t set = x->pattern->n_sets; set-- > 0;)
        printf(" %" PRId64 " of %s%s", keys_of(x->pattern, set), x->pattern->labels[set],
               set > 0 ? "," : "");
    printf("; # is seen, a digit counts repeats\n\n");
    for (int64_t row = 0; row < x->n_rows; row++) {
        for (uint32_t set = x->pattern->n_sets; set-- > 0;) {
            if (set + 1 < x->pattern->n_sets)
                putchar(' ');
            for (int64_t j = 0; j < keys_of(x->pattern, set); j++) {
                const int times = x->times[row * x->n_columns + x->first[set] + j];

                putchar(times == 0 ? '.' : times == 1 ? '#' : times < 10 ? '0' + times : '9');
            }
        }
        putchar('\n');
    }
}

/* ---- SVG --------------------------------------------------------------------- */

enum { LEFT = 44, TOP = 74, GAP = 22, RIGHT = 16, LEGEND = 24, BOTTOM = 12, CHARACTER = 7 };

/* One for each source: blue, orange, green, violet. Readable without colour sight in this order. */
static const char *const colours[HEED_MECHANISM_SOURCES] = {
    "#2f6db5", "#e08a1e", "#2f9e77", "#8f5fb8",
};
static const char repeated[] = "#b3261e";

static int cell_size(const struct picture *x)
{
    const int64_t size = 660 / x->n_columns;

    return size > 12 ? 12 : size < 1 ? 1 : (int)size;
}

/* How a source chooses keys: its terms, or that it has lists. */
static void source_text(const struct picture *x, uint32_t s, char *to, size_t room)
{
    static const char *const kinds[] = {
        [HEED_TERM_ALL] = "all", [HEED_TERM_WINDOW] = "window", [HEED_TERM_GLOBAL] = "global",
    };
    const heed_source *source = &x->pattern->m.desc.sources[s];
    const char *kind = "all";
    size_t length;

    length = (size_t)snprintf(to, room, "%s: ", x->pattern->labels[x->pattern->m.keys[s]]);
    if (source->layout == HEED_LAYOUT_LISTED) {
        snprintf(to + length, room - length, "listed blocks");
        return;
    }
    if (source->flags & HEED_SOURCE_CAUSAL)
        kind = "causal";
    if (source->n_terms == 0)
        snprintf(to + length, room - length, "%s", kind);
    for (uint32_t t = 0; t < source->n_terms && length < room; t++) {
        assert(source->terms[t].kind < sizeof kinds / sizeof *kinds);   /* what builders use */
        kind = kinds[source->terms[t].kind];
        if (strstr(to, kind) == NULL)           /* each kind once, however many windows */
            length += (size_t)snprintf(to + length, room - length, "%s%s", t > 0 ? " + " : "",
                                       kind);
    }
}

static void draw_text(int x, int y, const char *style, const char *text)
{
    printf("<text x=\"%d\" y=\"%d\" %s>%s</text>\n", x, y, style, text);
}

/* The colour of a cell: that of its source, or the one of repeats. */
static bool has_colour(const struct picture *x, int64_t at, uint32_t colour)
{
    if (x->times[at] == 0)
        return false;
    return colour == x->pattern->m.desc.n_sources ? x->times[at] > 1 :
           x->times[at] == 1 && x->source[at] == colour;
}

/* The cells of one colour in a panel, as one path whose unit is a cell: each run is a line as thick
 * as a row. Nothing is printed where no cell has the colour. */
static void draw_cells(const struct picture *x, uint32_t set, uint32_t colour, const char *value)
{
    const int64_t n = keys_of(x->pattern, set);
    bool begun = false;

    for (int64_t row = 0; row < x->n_rows; row++) {
        const int64_t base = row * x->n_columns + x->first[set];

        for (int64_t j = 0, end; j < n; j = end) {
            for (end = j; end < n && has_colour(x, base + end, colour);)
                end++;
            if (end > j) {
                printf(begun ? "M" : "<path stroke=\"%s\" d=\"M", value);
                begun = true;
                printf("%" PRId64 " %" PRId64 "h%" PRId64, j, row, end - j);
            }
            end += end == j;
        }
    }
    if (begun)
        printf("\"/>\n");
}

/* Lines between cells, where these are large enough. */
static void draw_grid(int64_t columns, int64_t rows, int cell)
{
    if (cell < 6)
        return;
    printf("<path stroke=\"#fff\" stroke-width=\"%.3f\" d=\"", 1.0 / cell);
    for (int64_t i = 1; i < columns; i++)
        printf("M%" PRId64 "-.5v%" PRId64, i, rows);
    for (int64_t i = 1; i < rows; i++)
        printf("M0 %" PRId64 ".5h%" PRId64, i - 1, columns);
    printf("\"/>\n");
}

static void draw_panels(const struct picture *x, int cell)
{
    const int height = (int)x->n_rows * cell;
    const uint32_t n = x->pattern->m.desc.n_sources;
    int left = LEFT;

    for (uint32_t set = x->pattern->n_sets; set-- > 0;) {
        const int64_t columns = keys_of(x->pattern, set);
        const int width = (int)columns * cell;

        draw_text(left, TOP - 8, "class=\"label\"", x->pattern->labels[set]);
        printf("<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#e9ebee\"/>\n", left, TOP,
               width, height);
        printf("<g transform=\"translate(%d %g)scale(%d)\">\n", left, TOP + cell / 2.0, cell);
        for (uint32_t colour = 0; colour <= n; colour++)
            draw_cells(x, set, colour, colour < n ? colours[colour] : repeated);
        draw_grid(columns, x->n_rows, cell);
        printf("</g>\n");
        left += width + GAP;
    }
    printf("<text class=\"label\" transform=\"translate(%d %d) rotate(-90)\" "
           "text-anchor=\"middle\">rows</text>\n", LEFT - 12, TOP + height / 2);
}

static bool has_repeats(const struct picture *x)
{
    for (int64_t i = 0; i < x->n_rows * x->n_columns; i++) {
        if (x->times[i] > 1)
            return true;
    }
    return false;
}

static void draw_legend(const struct picture *x, int y)
{
    const uint32_t n = x->pattern->m.desc.n_sources + has_repeats(x);
    int left = LEFT;

    for (uint32_t s = 0; s < n; s++) {
        const bool repeats = s == x->pattern->m.desc.n_sources;
        char text[96] = "more than once";

        if (!repeats)
            source_text(x, s, text, sizeof text);
        printf("<rect x=\"%d\" y=\"%d\" width=\"11\" height=\"11\" fill=\"%s\"/>\n", left, y - 10,
               repeats ? repeated : colours[s]);
        draw_text(left + 16, y, "class=\"label\"", text);
        left += 16 + CHARACTER * (int)strlen(text) + 18;
    }
}

/* At least as wide as its texts. */
static int picture_width(const struct picture *x, int cell)
{
    int width = LEFT + (int)x->n_columns * cell + GAP * ((int)x->pattern->n_sets - 1) + RIGHT;
    int texts = LEFT + RIGHT, heads = LEFT + RIGHT + CHARACTER * (int)strlen(x->choice->text);

    for (uint32_t s = 0; s < x->pattern->m.desc.n_sources; s++) {
        char text[96];

        source_text(x, s, text, sizeof text);
        texts += 16 + CHARACTER * (int)strlen(text) + 18;
    }
    texts += has_repeats(x) ? 16 + CHARACTER * 14 + 18 : 0;
    texts = texts > heads ? texts : heads;
    return width > texts ? width : texts;
}

static void print_svg(const struct picture *x)
{
    const int cell = cell_size(x), width = picture_width(x, cell);
    const int foot = TOP + (int)x->n_rows * cell;

    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
           "viewBox=\"0 0 %d %d\">\n", width, foot + LEGEND + BOTTOM, width,
           foot + LEGEND + BOTTOM);
    printf("<title>%s</title>\n", pattern_title(x->choice->kind));
    printf("<style>text{font-family:Helvetica,Arial,sans-serif;fill:#22262b}"
           ".title{font-size:16px;font-weight:bold}.label{font-size:12px}</style>\n"
           "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n");
    draw_text(LEFT, 22, "class=\"title\"", pattern_title(x->choice->kind));
    printf("<text x=\"%d\" y=\"40\" class=\"label\">", LEFT);
    caption(x, stdout);
    printf("</text>\n");
    draw_panels(x, cell);
    draw_legend(x, foot + LEGEND);
    printf("</svg>\n");
}

/* ---- calls --------------------------------------------------------------------- */

int picture_print(const char *text, int head, bool svg)
{
    struct pattern_choice choice;
    struct pattern pattern;
    struct picture x = { .choice = &choice, .pattern = &pattern, .head = head };
    heed_report report = { .size = sizeof report };
    char error[320];
    heed_status status;
    bool good;

    if (!pattern_parse(text, PATTERN_OF_PICTURE, &choice, error, sizeof error)) {
        fprintf(stderr, "heed-info: --pattern: %s (--pattern list names them)\n", error);
        return EXIT_USAGE;
    }
    if (head >= choice.v[PATTERN_H]) {
        fprintf(stderr, "heed-info: --head: wanted less than %d, the heads of %s; got %d\n",
                (int)choice.v[PATTERN_H], choice.text, head);
        return EXIT_USAGE;
    }
    status = pattern_make(&choice, &pattern, &report);
    if (status < 0) {
        text_failure("heed-info", choice.text, status, &report);
        return EXIT_USAGE;
    }
    good = look(&x);
    if (good && svg)
        print_svg(&x);
    else if (good)
        print_characters(&x);
    free(x.times);
    free(x.source);
    pattern_free(&pattern);
    return good ? EXIT_DONE : EXIT_FAILED;
}

void picture_list(FILE *to)
{
    for (uint32_t i = 0; pattern_name(i) != NULL; i++) {
        char keys[160];

        pattern_keys(i, PATTERN_OF_PICTURE, keys, sizeof keys);
        fprintf(to, "%-21s  %-35s  %s\n", pattern_name(i), pattern_title(i), keys);
    }
}

void picture_names(FILE *to)
{
    for (uint32_t i = 0; pattern_name(i) != NULL; i++)
        fprintf(to, "  %-21s %s\n", pattern_name(i), pattern_title(i));
}
