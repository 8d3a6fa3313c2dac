/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-info: what this build of heed is, and what it finds on this machine.
 */
#include "ask.h"
#include "picture.h"
#include "support.h"

#include "common/cache.h"
#include "common/command.h"
#include "common/compiling.h"
#include "common/streams.h"
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
        printf(",\"kind\":\"%s\",\"usable\":%s,\"status\":\"%s\",\"width\":%u,\"tested\":%s,"
               "\"exact\":%s,\"memory\":%llu,\"description\":",
               kind_name(p->kind), p->usable >= 0 ? "true" : "false",
               heed_status_name(p->usable), (unsigned)p->width, p->untested ? "false" : "true",
               p->exact ? "true" : "false", (unsigned long long)p->memory);
        text_json_string(stdout, p->description);
        printf(",\"reason\":");
        text_json_string(stdout, p->reason);
        printf(",\"gemm\":");
        text_json_string(stdout, found->gemm[i]);
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

/* Of devices that use one, the library behind FAST, or why it is not there. */
static void print_gemm(const struct found *found, int names)
{
    bool first = true;

    for (uint32_t i = 0; i < found->count; i++) {
        if (found->gemm[i][0] == '\0')
            continue;
        if (first)
            printf("\n%-*s  %s\n", names, "device", "products of matrices for FAST");
        first = false;
        printf("%-*s  %s\n", names, found->devices[i].name, found->gemm[i]);
    }
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
               p->untested ? "?" : p->exact ? "yes" : "no", texts, p->description);
        if (p->untested)
            puts("usable; not tested yet (--test)");
        else if (p->usable >= 0 && (p->exact || p->reason[0] == '\0'))
            puts("usable");
        else if (p->usable >= 0)
            printf("usable; not exact: %s\n", p->reason);
        else
            printf("refused: %s (%s)\n", p->reason[0] != '\0' ? p->reason : "no reason given",
                   heed_status_name(p->usable));
    }
    print_gemm(found, names);
    for (uint32_t kind = 1; kind < N_KINDS; kind++) {
        if (found->missing[kind].status < 0)
            printf("\n%s\n", found->missing[kind].message);
    }
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
    return EXIT_DONE;
}

/* false: there is none of that name. */
static bool keep_one(struct found *found, const char *name)
{
    for (uint32_t i = 0; i < found->count; i++) {
        if (strcmp(found->devices[i].name, name) != 0)
            continue;
        found->devices[0] = found->devices[i];
        memmove(found->gemm[0], found->gemm[i], sizeof *found->gemm);
        found->count = 1;
        return true;
    }
    return false;
}

static int no_device(const struct found *found, const char *name)
{
    const char *comma = "";

    fputs("heed-info: --device: wanted one of ", stderr);
    for (uint32_t i = 0; i < found->count; i++) {
        fprintf(stderr, "%s%s", comma, found->devices[i].name);
        comma = ", ";
    }
    fprintf(stderr, "; got \"%.80s\"\n", name);
    return EXIT_USAGE;
}

static int print_devices(const heed_runtime_desc *desc, const struct ask *ask, bool json)
{
    struct found found = { 0 };
    heed_report report = { .size = sizeof report };
    const heed_status status = ask_devices(desc, ask, &found, &report);
    int code = status < 0 ? EXIT_FAILED : EXIT_DONE;

    if (status < 0)
        text_failure("heed-info", "cannot describe the devices", status, &report);
    else if (ask->device != NULL && !keep_one(&found, ask->device))
        code = no_device(&found, ask->device);
    else if (json)
        print_json(&found);
    else
        print_table(&found);
    free(found.devices);
    free(found.gemm);
    return code;
}

static int print_pattern(const char *pattern, int head, bool svg)
{
    if (strcmp(pattern, "list") != 0)
        return picture_print(pattern, head, svg);
    picture_list(stdout);
    return EXIT_DONE;
}

struct asked {
    const char *pattern;                /* NULL: none */
    const char *device;                 /* NULL: all */
    int64_t seconds, head;              /* head < 0: not named */
    bool json, support, mechanisms, svg, names, test;
};

static const struct command_option options[] = {
    { .name = "--test", .at = offsetof(struct asked, test),
      .help = "open every device and test its arithmetic, for which kernels are\n"
              "compiled; how a test ended is remembered where kernels are kept" },
    { .name = "--device", .value = "DEVICE", .at = offsetof(struct asked, device),
      .help = "the same of this device alone" },
    { .name = "--support", .at = offsetof(struct asked, support),
      .help = "instead: which operation each device offers, in which element\n"
              "type and with which promise about its bits, with the reason\n"
              "where it does not" },
    { .name = "--mechanisms", .at = offsetof(struct asked, mechanisms),
      .help = "the same of the mechanisms of heed/mechanisms.h, in small cases" },
    { .name = "--names", .at = offsetof(struct asked, names),
      .help = "only the names of the devices, one a line; none is opened" },
    { .name = "--json", .at = offsetof(struct asked, json),
      .help = "the same as one object of JSON" },
    { .name = "--wait", .value = "SECONDS",
      .at = offsetof(struct asked, seconds), .low = 1, .high = 86400,
      .help = "how long a device may take to answer (default 120)" },
    { .name = "--pattern", .value = "MECHANISM[:KEY=VALUE,...]|list",
      .at = offsetof(struct asked, pattern),
      .help = "draws which keys the rows of a head see under a mechanism of\n"
              "heed/mechanisms.h; list: the names, and the numbers that each takes" },
    { .name = "--head", .value = "N", .at = offsetof(struct asked, head), .low = 0,
      .high = 1023,
      .help = "the head that --pattern draws (default 0)" },
    { .name = "--svg", .at = offsetof(struct asked, svg),
      .help = "draws it as SVG instead of characters" },
};

static void print_mechanisms(FILE *to)
{
    fputs("\nMechanisms:\n", to);
    picture_names(to);
}

static const struct command command = {
    .name = "heed-info",
    .usage = "heed-info [--test|--device DEVICE] [--json] [--wait SECONDS]\n"
             "       heed-info --support|--mechanisms [--json]\n"
             "       heed-info --names\n"
             "       heed-info --pattern MECHANISM[:KEY=VALUE,...]|list [--head N] [--svg]\n",
    .what = "Prints heed's version, the backends compiled in, and every device with the reason\n"
            "why it cannot be used, or gives other bits than the reference, if so. Devices are\n"
            "asked for in a process of their own: one that hangs or aborts costs its line, not\n"
            "the list. Below stand the libraries that multiply matrices for FAST, with their\n"
            "versions, or why they are not used. Those that are not the host's are listed\n"
            "without being opened; --test opens them.\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .more = print_mechanisms,
    .examples = "  heed-info\n"
                "      the devices of this machine\n"
                "  heed-info --test\n"
                "      the same, and whether each gives the bits of the reference\n"
                "  heed-info --support --json\n"
                "      what each of them offers, for a program\n"
                "  heed-info --pattern longformer:n=24,window=5,globals=1\n"
                "      what rows see under a mechanism\n"
                "  heed-info --pattern lsg-stride --svg\n"
                "      the same as a picture\n",
    .ends = "Environment:\n"
            "  HEED_CACHE_DIR  where kernels that devices compile are kept (empty: nowhere);\n"
            "                  without it \"heed\" in XDG_CACHE_HOME or in ~/.cache\n"
            "\n"
            "Exit status:\n"
            "  0 done, 1 a device or the output failed, 2 wrong usage.\n",
};

/* Only names: a runtime lists them without opening what they name. */
static int print_names(const heed_runtime_desc *desc)
{
    heed_runtime *runtime = NULL;
    heed_report report = { .size = sizeof report };
    const heed_status status = heed_runtime_create(desc, &runtime, &report);

    if (status < 0) {
        text_failure("heed-info", "cannot create a runtime", status, &report);
        return EXIT_FAILED;
    }
    for (uint32_t i = 0; i < heed_device_count(runtime); i++)
        puts(heed_device_name(heed_device_get(runtime, i)));
    heed_runtime_destroy(runtime);
    return EXIT_DONE;
}

static int work(int argc, char **argv)
{
    char room[CACHE_ROOM];
    const heed_runtime_desc desc = {
        .size = sizeof desc, .logger = compiling_logger(), .cache_dir = cache_folder(room),
    };
    struct asked asked = { .seconds = WAIT, .head = -1 };
    struct ask ask;
    int code;

    if (!command_read(&command, argc, argv, &asked, &code))
        return code;
    if (asked.pattern == NULL && (asked.svg || asked.head >= 0))
        return command_wrong("heed-info", asked.svg ? "--svg" : "--head", "--pattern beside it",
                             NULL);
    if (asked.pattern != NULL)
        return print_pattern(asked.pattern, asked.head > 0 ? (int)asked.head : 0, asked.svg);
    if (asked.names)
        return print_names(&desc);
    if (asked.support || asked.mechanisms)
        return print_support(&desc, asked.mechanisms, asked.json);
    ask = (struct ask){ .seconds = (int)asked.seconds, .test = asked.test, .device = asked.device };
    return print_devices(&desc, &ask, asked.json);
}

int main(int argc, char **argv)
{
    streams_keep();
    return text_end("heed-info", work(argc, argv));
}
