/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One page with summary, sections, scores, document and attention, in a file of its own. Links lead
 * from each sentence of the summary to its place in the document and back. A document with more
 * than SHOWN sentences is not shown as a whole, but around what the summary has.
 */
#include "html_page.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHOWN = 5000,                  /* sentences; with more, only neighbours of the chosen ones */
    NEIGHBOURS = 8,                /* to each side */
    LISTED = 400,                  /* sections; with more, only those that the summary has */
    FEW = 12                       /* sections that are listed without asking */
};

/* ---- sections ---------------------------------------------------------------- */

/* The next part begins with sentence `first`. */
static void add_part(struct page *p, int64_t block, int64_t file, int64_t first)
{
    p->parts[p->n_parts++] = (struct part){ .block = block, .file = file, .first = first };
}

static void take_headings(struct page *p)
{
    const struct document *const doc = p->r->doc;
    const struct stream *const stream = &p->r->reading->stream;
    const bool several = p->r->inputs->n > 1;
    int64_t sentence = 0, last = -1;

    for (int64_t b = 0; b < stream->n; b++) {
        const int64_t file = several ? inputs_file(p->r->inputs, stream->blocks[b].begin) : -1;

        if (file != last)
            add_part(p, -1, file, sentence);
        last = file;
        if (stream->blocks[b].kind == BLOCK_HEADING) {
            if (p->n_parts == 0 && sentence > 0)
                add_part(p, -1, -1, 0);
            add_part(p, b, -1, sentence);
        }
        while (sentence < doc->n && doc->sentences[sentence].begin < stream->blocks[b].end)
            sentence++;
    }
}

static void count_chosen(struct page *p)
{
    const bool few = p->n_parts <= LISTED;

    for (int64_t k = 0; k < p->n_parts; k++) {
        struct part *const s = &p->parts[k];

        s->end = k + 1 < p->n_parts ? p->parts[k + 1].first : p->r->doc->n;
        for (int64_t i = s->first; i < s->end; i++)
            s->chosen += p->r->summary->chosen[i];
        s->listed = few || s->chosen > 0;
    }
}

static bool find_sections(struct page *p)
{
    const struct document *const doc = p->r->doc;
    const struct stream *const stream = &p->r->reading->stream;
    int64_t most = doc->n_segments + p->r->inputs->n + 2;

    for (int64_t b = 0; b < stream->n; b++)
        most += stream->blocks[b].kind == BLOCK_HEADING;
    p->parts = malloc((size_t)most * sizeof(*p->parts));
    if (!p->parts)
        return false;
    take_headings(p);
    p->headed = p->n_parts > 0;
    for (int64_t k = 0; !p->headed && k < doc->n_segments; k++)
        add_part(p, -1, -1, doc->segments[k]);
    if (p->n_parts == 0)
        add_part(p, -1, -1, 0);
    count_chosen(p);
    return true;
}

/* ---- what of the document is shown ------------------------------------------- */

static void show(struct page *p, int64_t begin, int64_t end)
{
    for (int64_t i = begin < 0 ? 0 : begin; i < end && i < p->r->doc->n; i++)
        p->shown[i] = true;
}

static bool find_shown(struct page *p)
{
    const int64_t n = p->r->doc->n;

    p->shown = calloc((size_t)n + 1, sizeof(*p->shown));
    if (!p->shown)
        return false;
    if (n <= SHOWN)
        show(p, 0, n);
    for (int64_t i = 0, shown = 0; i < n; i++) {   /* nothing is walked over twice */
        if (p->r->summary->chosen[i]) {
            show(p, i - NEIGHBOURS > shown ? i - NEIGHBOURS : shown, i + NEIGHBOURS + 1);
            shown = i + NEIGHBOURS + 1;
        }
    }
    for (int64_t k = 0; k < p->n_parts; k++) {
        if (p->parts[k].listed)
            show(p, p->parts[k].first, p->parts[k].first + 1);
    }
    for (int64_t i = 0; i < n; i++)
        p->n_hidden += !p->shown[i];
    return true;
}

/* ---- frame ------------------------------------------------------------------- */

static void put_names(const struct page *p)
{
    const int64_t more = p->r->inputs->n - 1;

    page_put_name(p->to, p->r->file);
    if (more > 0) {
        fputs(" and ", p->to);
        page_put_count(p->to, more, "more file");
    }
}

static void put_head(const struct page *p)
{
    fprintf(p->to, "<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "style-src 'sha256-%s'; base-uri 'none'; form-action 'none'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n"
            "<meta name=\"referrer\" content=\"no-referrer\">\n"
            "<meta name=\"generator\" content=\"heed-summarize\">\n<title>",
            language_code(p->r->doc->language, NULL), page_style_hash);
    put_names(p);
    fputs(": summary</title>\n<style>", p->to);
    for (size_t i = 0; page_style[i]; i++)
        fputs(page_style[i], p->to);
    fputs("</style>\n</head>\n", p->to);
}

/* Words of the document, as a summary of all of it would count them. */
static int64_t all_words(const struct document *doc)
{
    int64_t words = doc->words;

    for (int64_t i = 0; i < doc->n; i++) {
        if (summary_names_speaker(doc, i, i - 1))
            words += doc->sentences[i].label_words;
    }
    return words;
}

static void put_keywords(const struct page *p)
{
    const struct keywords *const k = p->r->keywords;

    fputs("<p>Keywords:", p->to);
    for (int64_t i = 0; i < k->n; i++) {
        fprintf(p->to, "%s <bdi>", i > 0 ? "," : "");
        page_put_range(p->to, p->r->doc->text, k->list[i].begin, k->list[i].end);
        fputs("</bdi>", p->to);
    }
    fputs("</p>\n", p->to);
}

/* Up to the number of the document's sentences. */
static void put_writer(const struct page *p, int64_t chosen)
{
    const struct written *const w = p->r->written;

    fputs("Written by a model (", p->to);
    page_put_string(p->to, w->family);
    fputs("): ", p->to);
    page_put_count(p->to, p->r->summary->words, "word");
    if (w->parts > 1) {
        fputs(" about ", p->to);
        page_put_count(p->to, w->parts, "part");
    }
    fprintf(p->to, ". Its sentences looked most at %lld of ", (long long)chosen);
}

static void put_header(const struct page *p)
{
    const struct report *const r = p->r;
    const char *language;
    int64_t chosen = 0;

    language_code(r->doc->language, &language);
    for (int64_t i = 0; i < r->doc->n; i++)
        chosen += r->summary->chosen[i];
    fputs("<a class=\"skip\" lang=\"en\" href=\"#document\">Skip to the document</a>\n"
          "<header lang=\"en\"><h1><bdi>", p->to);
    put_names(p);
    fputs("</bdi></h1>\n<p>", p->to);
    if (r->written)
        put_writer(p, chosen);
    else
        fprintf(p->to, "The summary has %lld of ", (long long)chosen);
    page_put_count(p->to, r->doc->n, "sentence");
    if (!r->written) {
        fprintf(p->to, ", %lld of ", (long long)r->summary->words);
        page_put_count(p->to, all_words(r->doc), "word");
    }
    fprintf(p->to, ". %s", language);
    if (r->inputs->n == 1)
        fprintf(p->to, ", read as %s", r->reading->format->name);
    if (r->device) {
        fputs(". Computed on ", p->to);
        page_put_string(p->to, r->device);
    }
    fputs(".</p>\n", p->to);
    if (r->query) {
        fputs("<p>What is said about: <bdi>", p->to);
        page_put_string(p->to, r->query);
        fputs("</bdi></p>\n", p->to);
    }
    if (r->keywords)
        put_keywords(p);
    fputs("</header>\n", p->to);
}

/* ---- summary ----------------------------------------------------------------- */

/* Where a sentence stands: its file if there are several, its heading if it has one, its number. */
static void put_where(const struct page *p, int64_t i, int64_t part)
{
    const struct part *const s = &p->parts[part];
    const struct inputs *const in = p->r->inputs;

    fputs("<small>", p->to);
    if (in->n > 1) {
        fputs("<bdi>", p->to);
        page_put_name(p->to, in->list[inputs_file(in, p->r->doc->sentences[i].begin)].name);
        fputs("</bdi>, ", p->to);
    }
    if (s->block >= 0) {
        const struct block *const b = &p->r->reading->stream.blocks[s->block];

        fputs("<bdi>", p->to);
        page_put_range(p->to, p->r->doc->text, b->begin, b->end);
        fputs("</bdi>, ", p->to);
    }
    fprintf(p->to, "<span lang=\"en\">sentence %lld</span></small>", (long long)i + 1);
}

/* The text of a sentence, as far as the summary has it. */
static void put_chosen(const struct page *p, const struct sentence *s)
{
    const char *const text = p->r->doc->text;
    const size_t end = summary_end(p->r->summary, p->r->doc, s);

    page_put_range(p->to, text, s->begin, end);
    if (end < s->end)
        fputs("&hellip;", p->to);
}

/* What a sentence of a model's looked at, with its share of the attention. */
static void put_looks(const struct page *p, const struct written_sentence *s)
{
    if (s->at[0] < 0)
        return;
    fputs("<small lang=\"en\">looked at sentence", p->to);
    for (int k = 0; k < LOOKS && s->at[k] >= 0; k++)
        fprintf(p->to, "%s <a href=\"#s%lld\">%lld</a> (%.0f %%)", k > 0 ? "," : "",
                (long long)s->at[k], (long long)s->at[k] + 1, 100 * (double)s->share[k]);
    fputs("</small>", p->to);
}

static void put_written(const struct page *p)
{
    const struct written *const w = p->r->written;

    fputs("<section id=\"summary\"><h2 lang=\"en\">Summary</h2>\n<ol>\n", p->to);
    for (int64_t i = 0; i < w->n; i++) {
        const struct written_sentence *const s = &w->list[i];

        if (s->at[0] >= 0)
            fprintf(p->to, "<li><a id=\"c%lld\" href=\"#s%lld\">", (long long)i,
                    (long long)s->at[0]);
        else
            fprintf(p->to, "<li><span id=\"c%lld\">", (long long)i);
        page_put_range(p->to, w->text, s->begin, s->end);
        fputs(s->at[0] >= 0 ? "</a> " : "</span> ", p->to);
        put_looks(p, s);
        fputs("</li>\n", p->to);
    }
    fputs("</ol>\n", p->to);
    if (w->n == 0)
        fputs("<p lang=\"en\">The model wrote nothing.</p>\n", p->to);
    fputs("</section>\n", p->to);
}

static void put_summary(const struct page *p)
{
    const struct document *const doc = p->r->doc;
    int64_t before = -1, part = 0;

    fputs("<section id=\"summary\"><h2 lang=\"en\">Summary</h2>\n<ol>\n", p->to);
    for (int64_t i = 0; i < doc->n; i++) {
        const struct sentence *const s = &doc->sentences[i];

        if (!p->r->summary->chosen[i])
            continue;
        while (part + 1 < p->n_parts && p->parts[part + 1].first <= i)
            part++;
        fputs("<li>", p->to);
        if (p->r->summary->cut == 0 && summary_names_speaker(doc, i, before)) {
            fputs("<b><bdi>", p->to);
            page_put_range(p->to, doc->text, s->label_begin, s->label_end);
            fputs("</bdi></b> ", p->to);
        }
        fprintf(p->to, "<a id=\"c%lld\" href=\"#s%lld\">", (long long)i, (long long)i);
        put_chosen(p, s);
        fputs("</a> ", p->to);
        put_where(p, i, part);
        fputs("</li>\n", p->to);
        before = i;
    }
    fputs("</ol>\n", p->to);
    if (before < 0)
        fputs("<p lang=\"en\">The text has no sentences.</p>\n", p->to);
    fputs("</section>\n", p->to);
}

/* ---- list of sections ---------------------------------------------------------- */

static void put_part(const struct page *p, int64_t k)
{
    const struct part *const s = &p->parts[k];
    const struct document *const doc = p->r->doc;

    if (s->block >= 0) {
        const struct block *const b = &p->r->reading->stream.blocks[s->block];

        fprintf(p->to, "<li><a href=\"#h%lld\">", (long long)k);
        page_put_range(p->to, doc->text, b->begin, b->end);
    } else if (s->file >= 0) {
        fprintf(p->to, "<li><a class=\"f\" href=\"#f%lld\">", (long long)s->file);
        page_put_name(p->to, p->r->inputs->list[s->file].name);
    } else {
        fprintf(p->to, "<li><a lang=\"en\" href=\"#s%lld\">", (long long)s->first);
        if (p->headed)
            fputs("Beginning", p->to);
        else
            fprintf(p->to, "Segment %lld, sentences %lld to %lld", (long long)k + 1,
                    (long long)s->first + 1, (long long)s->end);
    }
    fputs("</a>", p->to);
    if (s->chosen > 0)
        fprintf(p->to, p->r->written ? " <small lang=\"en\">%lld looked at</small>"
                              : " <small lang=\"en\">%lld in the summary</small>",
                (long long)s->chosen);
    fputs("</li>\n", p->to);
}

static void put_sections(const struct page *p)
{
    int64_t listed = 0;

    for (int64_t k = 0; k < p->n_parts; k++)
        listed += p->parts[k].listed;
    if (p->n_parts < 2)
        return;
    fprintf(p->to, "<nav id=\"sections\" aria-label=\"Sections\"><details%s><summary lang=\"en\">",
            listed <= FEW ? " open" : "");
    page_put_count(p->to, p->n_parts, p->headed ? "section" : "segment");
    if (listed < p->n_parts)
        fprintf(p->to, ", %lld of them here", (long long)listed);
    fputs("</summary>\n<ol>\n", p->to);
    for (int64_t k = 0; k < p->n_parts; k++) {
        if (p->parts[k].listed)
            put_part(p, k);
    }
    fputs("</ol></details></nav>\n", p->to);
}

/* ---- the page ------------------------------------------------------------------ */

static void put_page(const struct page *p)
{
    put_head(p);
    fputs("<body>\n", p->to);
    put_header(p);
    fputs("<main>\n<div class=\"side\">\n", p->to);
    (p->r->written ? put_written : put_summary)(p);
    put_sections(p);
    fputs("</div>\n<div class=\"text\">\n", p->to);
    if (p->r->doc->n > 0)
        page_put_strip(p);
    fputs("<article id=\"document\" tabindex=\"-1\"><h2 lang=\"en\">Document</h2>\n", p->to);
    if (p->n_hidden > 0)
        fprintf(p->to, "<p class=\"o\" lang=\"en\">The document is long: of its sentences, %lld of "
                "%lld are shown, those around the summary.</p>\n",
                (long long)(p->r->doc->n - p->n_hidden), (long long)p->r->doc->n);
    page_put_document(p);
    fputs("</article>\n", p->to);
    if (p->r->pattern && p->r->pattern->cells > 1)
        page_put_pattern(p);
    fputs("</div>\n</main>\n</body>\n</html>\n", p->to);
}

bool output_html(FILE *to, const struct report *r)
{
    struct page page = { .to = to, .r = r };
    const bool good = find_sections(&page) && find_shown(&page);

    if (good)
        put_page(&page);
    free(page.parts);
    free(page.shown);
    return good;
}
