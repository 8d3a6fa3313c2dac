/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * JSON lines are written as results come. JUnit's suites say first how many cases they have, so
 * theirs wait in memory for the end.
 */
#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include "common/os.h"

#include <heed/heed.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct suite {
    char device[64], op[32];
    int64_t cases, failures, skipped;
    double seconds;
    struct buffer text;
};

struct report {
    FILE *json, *junit;
    struct suite *suites;
    int n_suites;
    char began[32];
    struct buffer properties; /* of every suite */
    bool lost;
};

/* ---- files --------------------------------------------------------------------------- */

/* "-": standard output; what is printed beside goes nowhere from then on. */
static FILE *file_open(const char *name)
{
    FILE *file;
    int copy;

    if (strcmp(name, "-"))
        return fopen(name, "w");
    fflush(stdout);
    copy = dup(STDOUT_FILENO);
    file = copy < 0 ? NULL : fdopen(copy, "w");
    if (file && freopen(os_nowhere, "w", stdout))
        return file;
    return NULL;
}

static bool file_close(FILE *file)
{
    const bool good = file && !ferror(file);

    return !file || (fclose(file) == 0 && good);
}

/* Writes what is in the buffer and empties it. */
static void flush_to(struct report *r, FILE *file, struct buffer *b)
{
    r->lost |= b->lost || fwrite(b->at ? b->at : "", 1, b->n, file) != b->n || fflush(file) != 0;
    buffer_free(b);
}

/* ---- JSON ---------------------------------------------------------------------------- */

static void json_text(struct buffer *b, const char *key, const char *text)
{
    if (!text)
        return;
    buffer_print(b, ",\"%s\":", key);
    buffer_json(b, text);
}

static void json_head(struct report *r, const struct run_facts *facts)
{
    const uint32_t v = heed_version();
    struct buffer b = { 0 };

    buffer_print(&b, "{\"type\":\"run\",\"tool\":\"heed-conform\",\"version\":\"%u.%u.%u\"",
                 (unsigned)(v >> 16), (unsigned)(v >> 8 & 255), (unsigned)(v & 255));
    json_text(&b, "build", facts->build);
    json_text(&b, "processor", facts->processor);
    json_text(&b, "plugin", facts->plugin);
    json_text(&b, "began", r->began);
    buffer_print(&b, ",\"seed\":%lld,\"options\":[", (long long)facts->seed);
    for (int i = 0; i < facts->n_arguments; i++) {
        buffer_add(&b, ",", i > 0);
        buffer_json(&b, facts->arguments[i]);
    }
    buffer_print(&b, "]}\n");
    flush_to(r, r->json, &b);
}

static const char *status_of(const struct told *told)
{
    return !told->ok ? "fail" : told->skip ? "skip" : "pass";
}

static void json_case(struct report *r, const struct told *told, const char *op, double seconds,
                      const struct aftermath *after)
{
    struct buffer b = { 0 };

    buffer_print(&b, "{\"type\":\"case\",\"status\":\"%s\"", status_of(told));
    json_text(&b, "op", op);
    json_text(&b, "device", told->device);
    json_text(&b, "family", told->what);
    json_text(&b, "case", told->line);
    json_text(&b, "verdict", told->ok ? NULL : told->word);
    json_text(&b, "reason", told->ok ? told->skip : told->why);
    if (told->worst >= 0 && isfinite(told->worst))
        buffer_print(&b, ",\"error_over_bound\":%.6g", told->worst);
    json_text(&b, "shrunk", after->shrunk);
    json_text(&b, "shrunk_reason", after->shrunk_why);
    if (after->shrunk)
        buffer_print(&b, ",\"tries\":%lld", (long long)after->tries);
    json_text(&b, "repeat", after->repeat);
    json_text(&b, "program", after->program);
    buffer_print(&b, ",\"seconds\":%.6f}\n", seconds);
    flush_to(r, r->json, &b);
}

static void json_end(struct report *r, const struct tally *tally)
{
    struct buffer b = { 0 };

    buffer_print(&b, "{\"type\":\"summary\",\"cases\":%lld,\"passed\":%lld,\"failed\":%lld,"
                     "\"skipped\":%lld}\n",
                 (long long)tally->number, (long long)tally->passed, (long long)tally->failed,
                 (long long)tally->skipped);
    flush_to(r, r->json, &b);
}

/* ---- JUnit --------------------------------------------------------------------------- */

static void xml_attribute(struct buffer *b, const char *name, const char *text)
{
    buffer_print(b, " %s=\"", name);
    buffer_xml(b, text);
    buffer_add(b, "\"", 1);
}

static void property(struct buffer *b, const char *name, const char *text)
{
    if (!text)
        return;
    buffer_print(b, "   <property");
    xml_attribute(b, "name", name);
    xml_attribute(b, "value", text);
    buffer_print(b, "/>\n");
}

static void properties_make(struct report *r, const struct run_facts *facts)
{
    const uint32_t v = heed_version();
    struct buffer options = { 0 };
    char number[48];

    snprintf(number, sizeof number, "%u.%u.%u", (unsigned)(v >> 16), (unsigned)(v >> 8 & 255),
             (unsigned)(v & 255));
    property(&r->properties, "version", number);
    property(&r->properties, "build", facts->build);
    property(&r->properties, "processor", facts->processor);
    property(&r->properties, "plugin", facts->plugin);
    snprintf(number, sizeof number, "%lld", (long long)facts->seed);
    property(&r->properties, "seed", number);
    for (int i = 0; i < facts->n_arguments; i++) {
        buffer_add(&options, " ", i > 0);
        buffer_shell(&options, facts->arguments[i]);
    }
    property(&r->properties, "options", buffer_text(&options));
    r->lost |= options.lost;
    buffer_free(&options);
}

static struct suite *suite_of(struct report *r, const char *device, const char *op)
{
    struct suite *more;

    for (int i = r->n_suites; i-- > 0;) {
        if (!strcmp(r->suites[i].device, device) && !strcmp(r->suites[i].op, op))
            return &r->suites[i];
    }
    more = realloc(r->suites, ((size_t)r->n_suites + 1) * sizeof *more);
    if (!more) {
        r->lost = true;
        return NULL;
    }
    r->suites = more;
    r->suites[r->n_suites] = (struct suite){ .cases = 0 };
    snprintf(r->suites[r->n_suites].device, sizeof more->device, "%.63s", device);
    snprintf(r->suites[r->n_suites].op, sizeof more->op, "%.31s", op);
    return &r->suites[r->n_suites++];
}

static void xml_failure(struct buffer *b, const struct told *told, const struct aftermath *after)
{
    buffer_print(b, "   <failure");
    xml_attribute(b, "type", told->word);
    xml_attribute(b, "message", told->why);
    buffer_print(b, ">");
    buffer_xml(b, told->why);
    if (after->shrunk) {
        buffer_print(b, "\nshrunk: ");
        buffer_xml(b, after->shrunk);
        buffer_print(b, "\n");
        buffer_xml(b, after->shrunk_why);
    }
    if (after->repeat) {
        buffer_print(b, "\nrepeat: ");
        buffer_xml(b, after->repeat);
    }
    if (after->program) {
        buffer_print(b, "\nprogram: ");
        buffer_xml(b, after->program);
    }
    buffer_print(b, "</failure>\n");
}

static void xml_case(struct report *r, const struct told *told, const char *op, double seconds,
                     const struct aftermath *after)
{
    struct suite *const suite = suite_of(r, told->device, op);
    struct buffer *b;

    if (!suite)
        return;
    b = &suite->text;
    suite->cases++;
    suite->failures += !told->ok;
    suite->skipped += told->ok && told->skip;
    suite->seconds += seconds;
    buffer_print(b, "  <testcase classname=\"heed.");
    buffer_xml(b, suite->device);
    buffer_print(b, ".%s.", suite->op);
    buffer_xml(b, told->what);
    buffer_add(b, "\"", 1);
    xml_attribute(b, "name", told->line[0] ? told->line : told->what);
    buffer_print(b, " time=\"%.6f\"", seconds);
    if (told->ok && !told->skip) {
        buffer_print(b, "/>\n");
        return;
    }
    buffer_print(b, ">\n");
    if (!told->ok) {
        xml_failure(b, told, after);
    } else {
        buffer_print(b, "   <skipped");
        xml_attribute(b, "message", told->skip);
        buffer_print(b, "/>\n");
    }
    buffer_print(b, "  </testcase>\n");
}

static void xml_suite(struct report *r, struct suite *suite)
{
    struct buffer b = { 0 };

    buffer_print(&b, " <testsuite");
    buffer_print(&b, " name=\"");
    buffer_xml(&b, suite->device);
    buffer_print(&b, " %s\" tests=\"%lld\" failures=\"%lld\" errors=\"0\" skipped=\"%lld\"",
                 suite->op, (long long)suite->cases, (long long)suite->failures,
                 (long long)suite->skipped);
    buffer_print(&b, " time=\"%.6f\" timestamp=\"%.19s\">\n  <properties>\n", suite->seconds,
                 r->began);
    property(&b, "device", suite->device);
    buffer_print(&b, "%s  </properties>\n", buffer_text(&r->properties));
    flush_to(r, r->junit, &b);
    flush_to(r, r->junit, &suite->text);
    buffer_print(&b, " </testsuite>\n");
    flush_to(r, r->junit, &b);
}

static void xml_end(struct report *r, const struct tally *tally)
{
    struct buffer b = { 0 };
    double seconds = 0;

    for (int i = 0; i < r->n_suites; i++)
        seconds += r->suites[i].seconds;
    buffer_print(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"heed-conform\""
                     " tests=\"%lld\" failures=\"%lld\" errors=\"0\" skipped=\"%lld\""
                     " time=\"%.6f\">\n",
                 (long long)tally->number, (long long)tally->failed, (long long)tally->skipped,
                 seconds);
    flush_to(r, r->junit, &b);
    for (int i = 0; i < r->n_suites; i++)
        xml_suite(r, &r->suites[i]);
    buffer_print(&b, "</testsuites>\n");
    flush_to(r, r->junit, &b);
}

/* ---- all ----------------------------------------------------------------------------- */

static void began_set(struct report *r)
{
    const time_t now = time(NULL);
    const struct tm *utc = gmtime(&now);

    if (!utc || strftime(r->began, sizeof r->began, "%Y-%m-%dT%H:%M:%SZ", utc) == 0)
        r->began[0] = '\0';
}

struct report *report_open(const char *json, const char *junit, const struct run_facts *facts)
{
    struct report *r = calloc(1, sizeof *r);

    if (r && json)
        r->json = file_open(json);
    if (r && junit)
        r->junit = file_open(junit);
    if (!r || (json && !r->json) || (junit && !r->junit)) {
        fprintf(stderr, "heed-conform: cannot write to %s\n", r && !r->json && json ? json : junit);
        report_close(r, NULL);
        return NULL;
    }
    began_set(r);
    properties_make(r, facts);
    if (r->json)
        json_head(r, facts);
    return r;
}

void report_add(struct report *r, const struct told *told, const char *op, double seconds,
                const struct aftermath *after)
{
    if (r->json)
        json_case(r, told, op, seconds, after);
    if (r->junit)
        xml_case(r, told, op, seconds, after);
}

bool report_close(struct report *r, const struct tally *tally)
{
    bool good;

    if (!r)
        return true;
    if (tally && r->json)
        json_end(r, tally);
    if (tally && r->junit)
        xml_end(r, tally);
    good = file_close(r->json);
    good = file_close(r->junit) && good;
    good = good && !r->lost && !r->properties.lost;
    for (int i = 0; i < r->n_suites; i++)
        buffer_free(&r->suites[i].text);
    buffer_free(&r->properties);
    free(r->suites);
    free(r);
    return good;
}
