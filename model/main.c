/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-model: what a checkpoint makes of ids or of a text.
 */
#define _POSIX_C_SOURCE 200809L    /* isatty, clock_gettime */

#include <heed/model.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: heed-model COMMAND DIR [OPTION]... < INPUT\n"
    "\n"
    "Runs the encoder or the encoder-decoder of DIR, a folder with config.json, model.safetensors\n"
    "and tokenizer.json, on what is read from standard input.\n"
    "\n"
    "Commands:\n"
    "  info                 what the model is; reads nothing\n"
    "  write                a text to what the model writes about it: its summary, if it was\n"
    "                       trained for that\n"
    "  tokens               a text to its ids\n"
    "  states               ids to the encoder's rows, binary32 of this machine\n"
    "  logits               ids to the rows of --next, binary32 of this machine\n"
    "  generate             ids to ids\n"
    "\n"
    "Ids are numbers with white space between them, those that begin and end texts included.\n"
    "\n"
    "Options:\n"
    "  --device NAME        cpu, reference, opencl:0, ... (heed-info lists them)\n"
    "  --threads N          of a host device; 0: as many as there are processors\n"
    "  --weights TYPE       what matrices become: f32, f16, bf16, q8_0, q4_0\n"
    "  --attention SPEC     of the encoder: full, longformer:WINDOW[:GLOBALS]\n"
    "  --next \"ID ...\"      logits: what the decoder has so far, from its start token on\n"
    "  --beams N            generate: how many sequences go on at a time\n"
    "  --min-length N, --max-length N, --no-repeat N, --length-penalty X\n"
    "  --stopping KIND      estimate, first, never\n"
    "  --help, --version\n";

struct options {
    const char *command, *folder, *device, *next;
    heed_model_options model;
    heed_generate_options generate;
    uint32_t threads;
};

/* What a command works with. */
struct session {
    const struct options *options;
    heed_runtime *runtime;
    heed_queue *queue;
    heed_model *model;
    heed_model_props props;
    int32_t *ids;
    int64_t n;
    char *text;
    size_t bytes;
    heed_report why;
};

/* ---- what people see while they wait ---- */

static struct {
    double begin;              /* 0: stderr is no terminal. */
    int shown;
} bar;

static double now(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bar_clear(void)
{
    if (bar.shown)
        fprintf(stderr, "\r%*s\r", bar.shown, "");
    bar.shown = 0;
}

/* A line from half a second on. */
static void bar_show(const char *what, double part)
{
    if (bar.begin > 0 && now() - bar.begin > 0.5)
        bar.shown = fprintf(stderr, "\r%-10s %3.0f %%", what, 100 * part) - 1;
}

static void tell_read(void *context, uint64_t done, uint64_t all)
{
    (void)context;
    bar_show("reading", all ? (double)done / (double)all : 1);
}

static int tell_written(void *context, int64_t done, int64_t most)
{
    (void)context;
    bar_show("writing", (double)done / (double)most);
    return 1;
}

static int complain(const char *format, const char *what)
{
    bar_clear();
    fputs("heed-model: ", stderr);
    fprintf(stderr, format, what);
    fputc('\n', stderr);
    return 2;
}

static int failed(const struct session *s)
{
    bar_clear();
    fprintf(stderr, "heed-model: %s%s%s\n", s->why.field, *s->why.field ? ": " : "",
            s->why.message);
    return 2;
}

/* ---- options ---- */

static int integer(const char *text, int64_t low, int64_t high, int64_t *to)
{
    char *end;
    long long got;

    errno = 0;
    got = strtoll(text, &end, 10);
    if (end == text || *end || errno || got < low || got > high)
        return complain("%s is no number, or out of its range", text);
    *to = got;
    return 0;
}

static int choice(const char *text, const char *const *names, const uint32_t *values,
                  uint32_t *to)
{
    for (; *names; names++, values++)
        if (strcmp(*names, text) == 0) {
            *to = *values;
            return 0;
        }
    return complain("there is no %s", text);
}

static int number_option(struct options *o, const char *name, const char *value)
{
    static const char *const kinds[] = { "estimate", "first", "never", NULL };
    static const uint32_t stops[] = { HEED_STOP_ESTIMATE, HEED_STOP_FIRST, HEED_STOP_NEVER };
    static const char *const types[] = { "f32", "f16", "bf16", "q8_0", "q4_0", NULL };
    static const uint32_t dtypes[] = { HEED_F32, HEED_F16, HEED_BF16, HEED_Q8_0, HEED_Q4_0 };
    heed_generate_options *const g = &o->generate;
    int64_t number = 0;
    int status = 0;
    char *end;

    if (strcmp(name, "--weights") == 0)
        return choice(value, types, dtypes, &o->model.weights);
    if (strcmp(name, "--stopping") == 0)
        return choice(value, kinds, stops, &g->stopping);
    if (strcmp(name, "--length-penalty") == 0) {
        g->length_penalty = strtod(value, &end);
        g->flags |= HEED_GENERATE_PENALTY_GIVEN;
        return end == value || *end ? complain("%s is no number", value) : 0;
    }
    status = integer(value, 0, INT32_MAX, &number);
    if (strcmp(name, "--threads") == 0)
        o->threads = (uint32_t)number;
    else if (strcmp(name, "--beams") == 0)
        g->beams = (uint32_t)number;
    else if (strcmp(name, "--max-length") == 0)
        g->max_length = number;
    else if (strcmp(name, "--min-length") == 0)
        g->min_length = number, g->flags |= HEED_GENERATE_MIN_GIVEN;
    else if (strcmp(name, "--no-repeat") == 0)
        g->no_repeat = number, g->flags |= HEED_GENERATE_NO_REPEAT_GIVEN;
    else
        return complain("there is no option %s", name);
    return status;
}

static int parse(int argc, char **argv, struct options *o)
{
    static const struct {
        const char *name;
        size_t at;
    } texts[] = { { "--device", offsetof(struct options, device) },
                  { "--next", offsetof(struct options, next) },
                  { "--attention", offsetof(struct options, model.attention) } };

    for (int i = 1; i < argc; i++) {
        const char **text = NULL;
        int status = 0;

        if (argv[i][0] != '-') {
            if (o->folder)
                return complain("%s is one argument too many", argv[i]);
            *(o->command ? &o->folder : &o->command) = argv[i];
            continue;
        }
        if (i + 1 == argc)
            return complain("%s wants a value, or is no option", argv[i]);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (strcmp(argv[i], texts[k].name) == 0)
                text = (const char **)(void *)((char *)o + texts[k].at);
        if (text)
            *text = argv[i + 1];
        else
            status = number_option(o, argv[i], argv[i + 1]);
        if (status)
            return status;
        i++;
    }
    return o->folder ? 0 : complain("%s wants a folder", o->command ? o->command : "a command");
}

/* ---- ids ---- */

static int add_id(int32_t **ids, int64_t *n, int64_t *room, const char *word)
{
    int64_t id;

    if (integer(word, 0, INT32_MAX, &id))
        return 2;
    if (*n == *room) {
        const int64_t more = *room ? 2 * *room : 1024;
        int32_t *grown = realloc(*ids, (size_t)more * sizeof *grown);

        if (!grown)
            return complain("no memory for %s", "ids");
        *ids = grown;
        *room = more;
    }
    (*ids)[(*n)++] = (int32_t)id;
    return 0;
}

static int read_ids(FILE *from, int32_t **ids, int64_t *n)
{
    int64_t room = 0;
    char word[32];

    *ids = NULL;
    *n = 0;
    while (fscanf(from, "%31s", word) == 1)
        if (add_id(ids, n, &room, word))
            return 2;
    return *n ? 0 : complain("there are no %s", "ids");
}

static int parse_ids(const char *text, int32_t **ids, int64_t *n)
{
    int64_t room = 0;
    char word[32];
    int taken;

    *ids = NULL;
    *n = 0;
    for (; sscanf(text, "%31s%n", word, &taken) == 1; text += taken)
        if (add_id(ids, n, &room, word))
            return 2;
    return *n ? 0 : complain("--next wants %s", "ids");
}

/* ---- texts ---- */

static int read_text(struct session *s)
{
    size_t room = 0, got = 1;

    while (got > 0) {
        if (s->bytes == room) {
            char *grown;

            room = room ? 2 * room : 1 << 16;
            grown = realloc(s->text, room);
            if (!grown)
                return complain("no memory for %s", "the text");
            s->text = grown;
        }
        got = fread(s->text + s->bytes, 1, room - s->bytes, stdin);
        s->bytes += got;
    }
    return ferror(stdin) ? complain("standard input: %s", strerror(errno)) : 0;
}

/* The ids of the text that was read, as many as the model has positions for. */
static int tokenize(struct session *s, int64_t most)
{
    int64_t n = 0;

    if (heed_model_tokens(s->model, s->text, s->bytes, 0, NULL, 0, &n, &s->why) < 0 &&
        s->why.status != HEED_E_SHAPE)
        return failed(s);
    s->ids = malloc(((size_t)n + 1) * sizeof *s->ids);
    if (!s->ids)
        return complain("no memory for %s", "ids");
    if (heed_model_tokens(s->model, s->text, s->bytes, 0, s->ids, n, &s->n, &s->why) < 0)
        return failed(s);
    if (s->n > most) {
        bar_clear();
        fprintf(stderr, "heed-model: the text has %lld tokens, of which the first %lld are read\n",
                (long long)s->n, (long long)most);
        s->ids[most - 1] = s->ids[s->n - 1];
        s->n = most;
    }
    return s->n ? 0 : complain("there is no %s", "text");
}

/* ---- commands ---- */

static int write_floats(const float *x, int64_t n)
{
    bar_clear();
    if (fwrite(x, sizeof *x, (size_t)n, stdout) != (size_t)n || fflush(stdout))
        return complain("standard output: %s", strerror(errno));
    return 0;
}

static int info(struct session *s)
{
    const heed_model_props *const p = &s->props;

    printf("%-20s %s\n", "family", p->family);
    printf("%-20s %lld\n", "encoder layers", (long long)p->layers);
    if (p->decodes)
        printf("%-20s %lld\n", "decoder layers", (long long)p->decoder_layers);
    printf("%-20s %lld\n", "channels", (long long)p->channels);
    printf("%-20s %lld\n", "vocabulary", (long long)p->vocabulary);
    if (p->positions < INT32_MAX)
        printf("%-20s %lld\n", "positions", (long long)p->positions);
    printf("%-20s %.1f MB\n", "weights", (double)p->bytes / 1e6);
    return 0;
}

static int states(struct session *s)
{
    const int64_t n = s->n * s->props.channels;
    float *rows = malloc((size_t)n * sizeof *rows);
    int status;

    if (!rows)
        return complain("no memory for %s", "states");
    status = heed_model_encode(s->model, s->queue, s->ids, s->n, rows, &s->why) < 0
           ? failed(s) : write_floats(rows, n);
    free(rows);
    return status;
}

static int logits(struct session *s)
{
    int32_t *next = NULL;
    float *rows = NULL;
    int64_t m = 0;
    int status;

    if (!s->options->next)
        return complain("%s wants --next", "logits");
    status = parse_ids(s->options->next, &next, &m);
    if (!status && !(rows = malloc((size_t)(m * s->props.vocabulary) * sizeof *rows)))
        status = complain("no memory for %s", "logits");
    if (!status)
        status = heed_model_logits(s->model, s->queue, s->ids, s->n, next, m, rows, &s->why) < 0
               ? failed(s) : write_floats(rows, m * s->props.vocabulary);
    free(rows);
    free(next);
    return status;
}

static int generate(struct session *s)
{
    enum { ROOM = 1 << 16 };
    int32_t *out = malloc(ROOM * sizeof *out);
    int64_t n = 0;

    if (!out)
        return complain("no memory for %s", "ids");
    if (heed_model_generate(s->model, s->queue, s->ids, s->n, &s->options->generate, out, ROOM,
                            &n, &s->why) < 0) {
        free(out);
        return failed(s);
    }
    bar_clear();
    for (int64_t i = 0; i < n; i++)
        printf("%d%c", out[i], i + 1 < n ? ' ' : '\n');
    free(out);
    return 0;
}

static int tokens(struct session *s)
{
    const int status = tokenize(s, INT64_MAX);

    for (int64_t i = 0; !status && i < s->n; i++)
        printf("%d%c", s->ids[i], i + 1 < s->n ? ' ' : '\n');
    return status;
}

/* What comes out of a model reaches a terminal: control characters do not. */
static int put_text(const char *text)
{
    bar_clear();
    for (; *text; text++)
        if ((unsigned char)*text >= ' ' || *text == '\n' || *text == '\t')
            putchar(*text);
    return putchar('\n') == EOF || fflush(stdout) ? complain("standard output: %s",
                                                              strerror(errno)) : 0;
}

static int write_text(struct session *s)
{
    enum { ROOM = 1 << 16 };
    int32_t *out;
    int64_t n = 0;
    uint64_t bytes = 0;
    char *text = NULL;
    int status = tokenize(s, s->props.positions);

    if (status)
        return status;
    out = malloc(ROOM * sizeof *out);
    if (!out)
        return complain("no memory for %s", "ids");
    if (heed_model_generate(s->model, s->queue, s->ids, s->n, &s->options->generate, out, ROOM,
                            &n, &s->why) < 0)
        status = failed(s);
    if (!status && heed_model_text(s->model, out, n, 0, NULL, 0, &bytes, &s->why) < 0 &&
        s->why.status != HEED_E_SHAPE)
        status = failed(s);
    if (!status && !(text = malloc(bytes + 1)))
        status = complain("no memory for %s", "the text");
    if (!status)
        status = heed_model_text(s->model, out, n, 0, text, bytes + 1, &bytes, &s->why) < 0
               ? failed(s) : put_text(text);
    free(text);
    free(out);
    return status;
}

enum { READS_NOTHING, READS_IDS, READS_TEXT };

static const struct command {
    const char *name;
    int (*run)(struct session *s);
    int reads;
} commands[] = { { "info", info, READS_NOTHING },  { "write", write_text, READS_TEXT },
                 { "tokens", tokens, READS_TEXT }, { "states", states, READS_IDS },
                 { "logits", logits, READS_IDS },  { "generate", generate, READS_IDS } };

static heed_status begin(struct session *s)
{
    const heed_executor executor = { .size = sizeof executor, .width = s->options->threads };
    const heed_runtime_desc desc = { .size = sizeof desc, .executor = &executor };
    heed_device *device;
    heed_status status = heed_runtime_create(&desc, &s->runtime, &s->why);

    if (status >= 0)
        status = heed_device_find(s->runtime, s->options->device, &device, &s->why);
    if (status >= 0)
        status = heed_queue_create(device, 0, &s->queue, &s->why);
    if (status >= 0)
        status = heed_model_open(s->queue, s->options->folder, &s->options->model, &s->model,
                                 &s->why);
    return status < 0 ? status : heed_model_info(s->model, &s->props);
}

int main(int argc, char **argv)
{
    struct options options = {
        .model = { .size = sizeof options.model, .progress = tell_read },
        .generate = { .size = sizeof options.generate, .progress = tell_written },
    };
    struct session s = { .options = &options, .props = { .size = sizeof s.props },
                         .why = { .size = sizeof s.why } };
    const struct command *command = NULL;
    int status;

    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return fputs(usage, stdout) < 0;
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("heed-model %d.%d.%d\n", HEED_VERSION_MAJOR, HEED_VERSION_MINOR,
                      HEED_VERSION_PATCH) < 0;
    status = parse(argc, argv, &options);
    if (status)
        return status;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, options.command) == 0)
            command = &commands[i];
    if (!command)
        return complain("there is no command %s", options.command);
    if (command->reads == READS_IDS)
        status = read_ids(stdin, &s.ids, &s.n);
    else if (command->reads == READS_TEXT)
        status = read_text(&s);
    bar.begin = isatty(STDERR_FILENO) ? now() : 0;
    if (!status)
        status = begin(&s) < 0 ? failed(&s) : command->run(&s);
    bar_clear();
    heed_model_close(s.model);
    heed_queue_destroy(s.queue);
    heed_runtime_destroy(s.runtime);
    free(s.text);
    free(s.ids);
    return status;
}
