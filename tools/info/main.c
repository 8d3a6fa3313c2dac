/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-info: what this build of heed is, and what it finds on this machine.
 */
#include "ask.h"
#include "picture.h"
#include "support.h"

#include "common/cache.h"
#include "common/text.h"

#include <heed/heed.h>

#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
    [HEED_DEVICE_REFERENCE] = "reference",
    [HEED_DEVICE_CPU] = "cpu",
    [HEED_DEVICE_OPENCL] = "opencl",
    [HEED_DEVICE_CUDA] = "cuda",
    [HEED_DEVICE_PLUGIN] = "plugin",
};
enum { N_KINDS = sizeof kind_names / sizeof *kind_names, WAIT = 120 };

static const char *kind_name(uint32_t kind)
{
    return kind > 0 && kind < N_KINDS ? kind_names[kind] : "unknown";
}

static void version_text(char *to, size_t size)
{
    const uint32_t v = heed_version();

    snprintf(to, size, "%u.%u.%u", (unsigned)(v >> 16), (unsigned)(v >> 8 & 0xff),
             (unsigned)(v & 0xff));
}

static void print_json(const struct found *found)
{
    char version[32];
    const char *comma = "";

    version_text(version, sizeof version);
    printf("{\"version\":\"%s\",\"numerics\":%d,\"backends\":[", version, HEED_NUMERICS_VERSION);
    for (uint32_t kind = 1; kind < N_KINDS; kind++) {
        if (!found->built[kind])
            continue;
        printf("%s\"%s\"", comma, kind_name(kind));
        comma = ",";
    }
    printf("],\"build\":");
    text_json_string(stdout, heed_build_text());
    printf(",\"default\":");
    text_json_string(stdout, found->preferred);
    printf(",\"devices\":[");
    for (uint32_t i = 0; i < found->count; i++) {
        const heed_device_props *p = &found->devices[i];

        printf("%s{\"name\":", i > 0 ? "," : "");
        text_json_string(stdout, p->name);
        printf(",\"kind\":\"%s\",\"usable\":%s,\"status\":\"%s\",\"width\":%u,\"exact\":%s,"
               "\"memory\":%llu,\"description\":",
               kind_name(p->kind), p->usable >= 0 ? "true" : "false",
               heed_status_name(p->usable), (unsigned)p->width, p->exact ? "true" : "false",
               (unsigned long long)p->memory);
        text_json_string(stdout, p->description);
        printf(",\"reason\":");
        text_json_string(stdout, p->reason);
        putchar('}');
    }
    comma = "";
    printf("],\"absent\":[");
    for (uint32_t kind = 1; kind < N_KINDS; kind++) {
        const heed_report *missing = &found->missing[kind];

        if (missing->status >= 0)
            continue;
        printf("%s{\"kind\":\"%s\",\"status\":\"%s\",\"reason\":", comma, kind_name(kind),
               heed_status_name(missing->status));
        text_json_string(stdout, missing->message);
        putchar('}');
        comma = ",";
    }
    printf("]}\n");
}

static int widest(const struct found *found, size_t offset, size_t least)
{
    size_t width = least;

    for (uint32_t i = 0; i < found->count; i++) {
        const size_t length = strlen((const char *)&found->devices[i] + offset);

        if (length > width)
            width = length;
    }
    return (int)width;
}

static void print_table(const struct found *found)
{
    char version[32];
    const int names = widest(found, offsetof(heed_device_props, name), strlen("device"));
    const int texts = widest(found, offsetof(heed_device_props, description),
                             strlen("description"));

    version_text(version, sizeof version);
    printf("heed %s, numerics version %d\nbackends compiled in:", version, HEED_NUMERICS_VERSION);
    for (uint32_t kind = 1; kind < N_KINDS; kind++) {
        if (found->built[kind])
            printf(" %s", kind_name(kind));
    }
    printf("\n%s", heed_build_text());
    printf("default device: %s\n\n", found->preferred[0] != '\0' ? found->preferred : "none");
    printf("%-*s  %7s  %5s  %-*s  %s\n", names, "device", "workers", "exact", texts, "description",
           "state");
    for (uint32_t i = 0; i < found->count; i++) {
        const heed_device_props *p = &found->devices[i];

        printf("%-*s  %7u  %5s  %-*s  ", names, p->name, (unsigned)p->width,
               p->exact ? "yes" : "no", texts, p->description);
        if (p->usable >= 0 && (p->exact || p->reason[0] == '\0'))
            puts("usable");
        else if (p->usable >= 0)
            printf("usable; not exact: %s\n", p->reason);
        else
            printf("refused: %s (%s)\n", p->reason[0] != '\0' ? p->reason : "no reason given",
                   heed_status_name(p->usable));
    }
    for (uint32_t kind = 1; kind < N_KINDS; kind++) {
        if (found->missing[kind].status < 0)
            printf("\n%s\n", found->missing[kind].message);
    }
}

static int usage(FILE *to, int code)
{
    fprintf(to, "usage: heed-info [--support|--mechanisms] [--json] [--wait SECONDS]\n"
            "       heed-info --pattern NAME[:key=value,...]|list [--head N] [--svg]\n"
            "Prints heed's version, the backends compiled in, and every device with the reason\n"
            "why it cannot be used, or gives other bits than the reference, if so. Devices that\n"
            "are not the host's are opened for this, in a process of their own that may take so\n"
            "many seconds for each (%d); what they compile is kept in HEED_CACHE_DIR (empty:\n"
            "nowhere), or \"heed\" in XDG_CACHE_HOME or ~/.cache.\n"
            "  --support  instead: which operation each device offers, in which element type and\n"
            "             with which promise about its bits, with the reason where it does not\n"
            "  --mechanisms  the same of the mechanisms of heed/mechanisms.h, in small cases\n"
            "  --json     the same as one object of JSON\n"
            "  --pattern  draws which keys the rows of a head (0) see under a mechanism of\n"
            "             heed/mechanisms.h, as characters or as SVG; list: the names, and the\n"
            "             numbers that each takes\n", WAIT);
    return code;
}

/* 0: not a number of seconds. */
static int seconds_of(const char *text)
{
    char *rest;
    const long seconds = strtol(text, &rest, 10);

    return *text != '\0' && *rest == '\0' && seconds > 0 && seconds <= 86400 ? (int)seconds : 0;
}

static int print_support(const heed_runtime_desc *desc, bool mechanisms, bool json)
{
    heed_runtime *runtime = NULL;
    heed_report report = { .size = sizeof report };
    const heed_status status = heed_runtime_create(desc, &runtime, &report);

    if (status < 0) {
        text_failure("heed-info", "cannot create a runtime", status, &report);
        return EXIT_FAILED;
    }
    support_print(runtime, mechanisms, json);
    heed_runtime_destroy(runtime);
    return fflush(stdout) != 0 ? EXIT_FAILED : EXIT_DONE;
}

static int print_devices(const heed_runtime_desc *desc, int seconds, bool json)
{
    struct found found = { 0 };
    heed_report report = { .size = sizeof report };
    const heed_status status = ask_devices(desc, seconds, &found, &report);

    if (status < 0)
        text_failure("heed-info", "cannot describe the devices", status, &report);
    else if (json)
        print_json(&found);
    else
        print_table(&found);
    free(found.devices);
    return status < 0 || fflush(stdout) != 0 ? EXIT_FAILED : EXIT_DONE;
}

static int print_pattern(const char *pattern, int head, bool svg)
{
    if (strcmp(pattern, "list") != 0)
        return picture_print(pattern, head, svg);
    picture_list(stdout);
    return fflush(stdout) != 0 ? EXIT_FAILED : EXIT_DONE;
}

struct asked {
    const char *pattern;                /* NULL: none */
    int seconds, head;
    bool json, support, mechanisms, svg, help;
};

/* False: a line is on stderr. */
static bool read_arguments(int argc, char **argv, struct asked *asked)
{
    int64_t head;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            asked->json = true;
        } else if (strcmp(argv[i], "--support") == 0) {
            asked->support = true;
        } else if (strcmp(argv[i], "--mechanisms") == 0) {
            asked->support = asked->mechanisms = true;
        } else if (strcmp(argv[i], "--svg") == 0) {
            asked->svg = true;
        } else if (strcmp(argv[i], "--wait") == 0 && i + 1 < argc && seconds_of(argv[i + 1]) > 0) {
            asked->seconds = seconds_of(argv[++i]);
        } else if (strcmp(argv[i], "--pattern") == 0 && i + 1 < argc) {
            asked->pattern = argv[++i];
        } else if (strcmp(argv[i], "--head") == 0 && i + 1 < argc &&
                   text_integer(argv[i + 1], 0, 1023, &head)) {
            asked->head = (int)head;
            i++;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            asked->help = true;
        } else {
            fprintf(stderr, "heed-info: unknown argument \"%s\" (see --help)\n", argv[i]);
            return false;
        }
    }
    if (!asked->help && asked->pattern == NULL && (asked->svg || asked->head > 0)) {
        fprintf(stderr, "heed-info: --svg and --head go with --pattern (see --help)\n");
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    char room[CACHE_ROOM];
    const heed_runtime_desc desc = { .size = sizeof desc, .cache_dir = cache_folder(room) };
    struct asked asked = { .seconds = WAIT };

    if (!read_arguments(argc, argv, &asked))
        return EXIT_USAGE;
    if (asked.help)
        return usage(stdout, EXIT_DONE);
    if (asked.pattern != NULL)
        return print_pattern(asked.pattern, asked.head, asked.svg);
    return asked.support ? print_support(&desc, asked.mechanisms, asked.json)
                         : print_devices(&desc, asked.seconds, asked.json);
}
