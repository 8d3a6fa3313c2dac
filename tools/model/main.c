/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-model: what a checkpoint makes of ids or of a text.
 */
#include <heed/model.h>

#include "bar.h"
#include "common/command.h"
#include "common/streams.h"
#include "common/text.h"
#include "ids.h"
#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = TOOL;

struct options {
    const char *command, *folder, *device, *next;
    heed_model_options model;
    heed_generate_options generate;
    int64_t threads, beams, no_repeat, min_length;
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

static int failed(const struct session *s)
{
    bar_clear();
    fprintf(stderr, "%s: %s%s%s\n", name, s->why.field, *s->why.field ? ": " : "",
            s->why.message);
    return EXIT_USAGE;
}

/* ---- options ---- */

static bool choice(const char *text, const char *const *names, const uint32_t *values,
                   uint32_t *to)
{
    for (; *names; names++, values++)
        if (strcmp(*names, text) == 0) {
            *to = *values;
            return true;
        }
    return false;
}

#define TYPES "f32|f16|bf16|q8_0|q4_0"
#define KINDS "estimate|first|never"

static bool take_weights(void *state, const char *value, const char **wanted)
{
    static const char *const types[] = { "f32", "f16", "bf16", "q8_0", "q4_0", NULL };
    static const uint32_t dtypes[] = { HEED_F32, HEED_F16, HEED_BF16, HEED_Q8_0, HEED_Q4_0 };

    *wanted = "f32, f16, bf16, q8_0 or q4_0";
    return choice(value, types, dtypes, &((struct options *)state)->model.weights);
}

static bool take_stopping(void *state, const char *value, const char **wanted)
{
    static const char *const kinds[] = { "estimate", "first", "never", NULL };
    static const uint32_t stops[] = { HEED_STOP_ESTIMATE, HEED_STOP_FIRST, HEED_STOP_NEVER };

    *wanted = "estimate, first or never";
    return choice(value, kinds, stops, &((struct options *)state)->generate.stopping);
}

static bool take_penalty(void *state, const char *value, const char **wanted)
{
    heed_generate_options *const g = &((struct options *)state)->generate;
    char *end;

    *wanted = "a number";
    g->length_penalty = strtod(value, &end);
    g->flags |= HEED_GENERATE_PENALTY_GIVEN;
    return end != value && *end == 0;
}

static bool take_operand(void *state, const char *value, const char **wanted)
{
    struct options *const o = state;

    (void)wanted;
    if (o->folder) {
        complain("%s is one argument too many", value);
        return false;
    }
    *(o->command ? &o->folder : &o->command) = value;
    return true;
}

/* What an option that was not given has. */
enum { NOT_GIVEN = -1 };

static const struct command_option option_rows[] = {
#define AT(field) offsetof(struct options, field)
    { "--device", "DEVICE", "cpu, reference, opencl:0, ... (heed-info lists them)", AT(device), 0,
      0, NULL },
    { "--threads", "N", "of a host device; 0: as many as there are processors", AT(threads), 0,
      1024, NULL },
    { "--weights", TYPES, "what matrices become", 0, 0, 0, take_weights },
    { "--attention", "SPEC", "of the encoder: full, block:512, longformer:512:1, bigbird:64,\n"
      "lsg:norm:128:128:2:1 (what the numbers are stands in heed/model.h)",
      AT(model.attention), 0, 0, NULL },
    { "--next", "IDS", "logits: what the decoder has so far, from its start token on,\n"
      "in quotes", AT(next), 0, 0, NULL },
    { "--beams", "N", "write, generate: how many sequences go on at a time", AT(beams), 1, 1024,
      NULL },
    { "--min-length", "N", "tokens of a sequence, its start among them", AT(min_length), 0,
      INT32_MAX, NULL },
    { "--max-length", "N", "likewise", AT(generate.max_length), 1, INT32_MAX, NULL },
    { "--no-repeat", "N", "so many tokens stand nowhere twice; 0: any may", AT(no_repeat), 0,
      INT32_MAX, NULL },
    { "--length-penalty", "X", "scores are divided by the length to this power", 0, 0, 0,
      take_penalty },
    { "--stopping", KINDS, "when a search ends: the best sequence that goes on is worse\n"
      "than a finished one at its length, as many are finished as\n"
      "there are beams, or no length could make it better", 0, 0, 0, take_stopping },
#undef AT
};

static void print_commands(FILE *to)
{
    fputs("\nCommands:\n"
          "  info      what the model is; reads nothing\n"
          "  write     a text to what the model writes about it: its summary, if it was trained\n"
          "            for that\n"
          "  tokens    a text to its ids\n"
          "  vectors   lines to a row each, of unit length, binary32 of this machine: texts about\n"
          "            the same have a large product\n"
          "  states    ids to the encoder's rows, binary32 of this machine\n"
          "  logits    ids to the rows of --next, binary32 of this machine\n"
          "  generate  ids to ids\n"
          "  looks     ids to what each generated id looked at: a row of the decoder's attention\n"
          "            to each of them, binary32 of this machine\n", to);
}

static const struct command command_line = {
    .name = name,
    .usage = "heed-model COMMAND DIR [OPTION]... < FILE\n",
    .what = "Runs the encoder or the encoder-decoder of DIR, a folder with config.json,\n"
            "model.safetensors and tokenizer.json, on what is read from standard input: a text,\n"
            "or ids, numbers with white space between them, those that begin and end texts\n"
            "included.\n",
    .options = option_rows,
    .n_options = sizeof option_rows / sizeof *option_rows,
    .examples = "  heed-model info led-base-16384\n"
                "      what a folder is\n"
                "  heed-model write led-large-16384-arxiv --beams 4 < paper.txt\n"
                "      a summary of a paper\n"
                "  heed-model tokens bart-large-cnn < mail.txt\n"
                "      the ids of a text\n",
    .ends = "Exit status:\n"
            "  0 done, 1 standard output did not take all, 2 wrong usage, or a model or a text\n"
            "  that is none.\n",
    .more = print_commands,
    .operand = take_operand,
};

/* The numbers of options that have flags, or another width. */
static void settle(struct options *o)
{
    heed_generate_options *const g = &o->generate;

    g->beams = (uint32_t)o->beams;
    if (o->no_repeat != NOT_GIVEN) {
        g->no_repeat = o->no_repeat;
        g->flags |= HEED_GENERATE_NO_REPEAT_GIVEN;
    }
    if (o->min_length != NOT_GIVEN) {
        g->min_length = o->min_length;
        g->flags |= HEED_GENERATE_MIN_GIVEN;
    }
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
        fprintf(stderr, "%s: the text has %lld tokens, of which the first %lld are read\n",
                name, (long long)s->n, (long long)most);
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
        return EXIT_FAILED;             /* text_end() says so */
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
    status = ids_parse(s->options->next, &next, &m);
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

static int looks(struct session *s)
{
    float *rows = NULL;
    int64_t n = 0;
    const int status = rows_looks(s->model, s->queue, s->ids, s->n, &s->options->generate, &rows,
                                  &n, &s->why) < 0
                     ? failed(s) : write_floats(rows, n * s->n);

    free(rows);
    return status;
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
    putchar('\n');
    return 0;
}

static int write_text(struct session *s)
{
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

static int vectors(struct session *s)
{
    float *rows = NULL;
    int64_t n = 0;
    int status = rows_vectors(s->model, s->queue, s->text, s->bytes, &rows, &n, &s->why) < 0
               ? failed(s) : write_floats(rows, n * s->props.channels);

    free(rows);
    return status;
}

enum { READS_NOTHING, READS_IDS, READS_TEXT };

static const struct work {
    const char *name;
    int (*run)(struct session *s);
    int reads;
} works[] = { { "info", info, READS_NOTHING },  { "write", write_text, READS_TEXT },
              { "tokens", tokens, READS_TEXT }, { "vectors", vectors, READS_TEXT },
              { "states", states, READS_IDS },
              { "logits", logits, READS_IDS },  { "generate", generate, READS_IDS },
              { "looks", looks, READS_IDS } };

static int begin(struct session *s)
{
    const heed_executor executor = { .size = sizeof executor,
                                     .width = (uint32_t)s->options->threads };
    const heed_runtime_desc desc = { .size = sizeof desc, .executor = &executor };
    heed_device *device;
    heed_status status = heed_runtime_create(&desc, &s->runtime, &s->why);

    if (status < 0)
        return failed(s);
    status = heed_device_find(s->runtime, s->options->device, &device, &s->why);
    if (status < 0)
        return command_device(name, "--device", s->runtime,
                              s->options->device ? s->options->device : "cpu", status, &s->why);
    status = heed_queue_create(device, 0, &s->queue, &s->why);
    if (status >= 0)
        status = heed_model_open(s->queue, s->options->folder, &s->options->model, &s->model,
                                 &s->why);
    if (status >= 0)
        status = heed_model_info(s->model, &s->props);
    return status < 0 ? failed(s) : EXIT_DONE;
}

static int run(struct session *s)
{
    const char *const wanted = "info, write, tokens, vectors, states, logits, generate or looks";
    const struct work *work = NULL;
    int code = EXIT_DONE;

    for (size_t i = 0; s->options->command && i < sizeof works / sizeof *works; i++)
        if (strcmp(works[i].name, s->options->command) == 0)
            work = &works[i];
    if (!work)
        return command_wrong(name, "COMMAND", wanted, s->options->command);
    if (!s->options->folder)
        return command_wrong(name, "DIR", "a folder", NULL);
    if (work->reads == READS_IDS)
        code = ids_read(stdin, &s->ids, &s->n);
    else if (work->reads == READS_TEXT)
        code = read_text(s);
    if (code == EXIT_DONE)
        code = begin(s);
    return code == EXIT_DONE ? work->run(s) : code;
}

int main(int argc, char **argv)
{
    struct options options = {
        .model = { .size = sizeof options.model, .progress = tell_read },
        .generate = { .size = sizeof options.generate, .progress = tell_written },
        .no_repeat = NOT_GIVEN, .min_length = NOT_GIVEN,
    };
    struct session s = { .options = &options, .props = { .size = sizeof s.props },
                         .why = { .size = sizeof s.why } };
    int code;

    streams_keep();
    if (!command_read(&command_line, argc, argv, &options, &code))
        return text_end(name, code);
    settle(&options);
    bar_begin();
    code = run(&s);
    bar_clear();
    heed_model_close(s.model);
    heed_queue_destroy(s.queue);
    heed_runtime_destroy(s.runtime);
    free(s.text);
    free(s.ids);
    return text_end(name, code);
}
