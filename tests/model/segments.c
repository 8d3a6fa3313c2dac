/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * segments FOLDER DEVICE THREADS KIND ROWS RATIO LAYERS: does what lines of standard input say,
 * with one memory, and writes a line for each: "encode ID...", "generate ID..." see the memory,
 * "states ID...", "write ID..." do not; "set FIRST END ID..." keeps these rows of the states of a
 * text; "reset". tests/model/segments.py compares all of that.
 */
#include <heed/model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, WRITTEN = 12 };

struct session {
    heed_runtime *runtime;
    heed_queue *queue;
    heed_model *model;
    heed_model_memory *memory;
    heed_model_props props;
    heed_report why;
};

static int64_t number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* HEED_MODEL_*; what is none is refused. */
static uint32_t kind_of(const char *name)
{
    return strcmp(name, "compressive") == 0 ? HEED_MODEL_COMPRESSIVE
         : strcmp(name, "attentive") == 0 ? HEED_MODEL_ATTENTIVE
         : strcmp(name, "salient") == 0 ? HEED_MODEL_SALIENT : UINT32_MAX;
}

static heed_status begin(struct session *s, char **argv)
{
    const heed_executor executor = { .size = sizeof executor, .width = (uint32_t)number(argv[3]) };
    const heed_runtime_desc desc = { .size = sizeof desc, .executor = &executor };
    const heed_model_memory_options options = {
        .size = sizeof options, .kind = kind_of(argv[4]),
        .rows = number(argv[5]), .ratio = number(argv[6]), .layers = number(argv[7]),
    };
    heed_device *device;
    heed_status status = heed_runtime_create(&desc, &s->runtime, &s->why);

    if (status >= 0)
        status = heed_device_find(s->runtime, argv[2], &device, &s->why);
    if (status >= 0)
        status = heed_queue_create(device, 0, &s->queue, &s->why);
    if (status >= 0)
        status = heed_model_open(s->queue, argv[1], NULL, &s->model, &s->why);
    if (status >= 0)
        status = heed_model_info(s->model, &s->props);
    if (status >= 0)
        status = heed_model_memory_create(s->model, s->queue, &options, &s->memory, &s->why);
    return status;
}

static heed_status encode(struct session *s, heed_model_memory *memory, const int32_t *ids,
                          int64_t n)
{
    const int64_t count = n * s->props.channels;
    float *states = malloc((size_t)count * sizeof *states);
    heed_status status = HEED_E_NOMEM;

    if (states)
        status = heed_model_encode_with(s->model, s->queue, memory, ids, n, states, &s->why);
    for (int64_t i = 0; status >= 0 && i < count; i++)
        printf("%a ", (double)states[i]);
    free(states);
    return status;
}

static heed_status set(struct session *s, const int32_t *numbers, int64_t n)
{
    float *states = malloc((size_t)(n * s->props.channels) * sizeof *states);
    heed_status status = HEED_E_NOMEM;

    if (states)
        status = heed_model_encode(s->model, s->queue, numbers + 2, n - 2, states, &s->why);
    if (status >= 0)
        status = heed_model_memory_set(s->memory, s->queue,
                                       states + numbers[0] * s->props.channels,
                                       numbers[1] - numbers[0], &s->why);
    free(states);
    return status;
}

static heed_status generate(struct session *s, heed_model_memory *memory, const int32_t *ids,
                            int64_t n)
{
    int32_t out[WRITTEN];
    int64_t n_out = 0;
    heed_status status = heed_model_generate_with(s->model, s->queue, memory, ids, n, NULL, out,
                                                  WRITTEN, &n_out, &s->why);

    for (int64_t i = 0; status >= 0 && i < n_out; i++)
        printf("%d ", (int)out[i]);
    return status;
}

static heed_status obey(struct session *s, char *line)
{
    const char *const command = strtok(line, " \n");
    int32_t ids[MOST];
    int64_t n = 0;

    if (!command)
        return HEED_E_VALUE;
    for (char *word = strtok(NULL, " \n"); word && n < MOST; word = strtok(NULL, " \n"))
        ids[n++] = (int32_t)number(word);
    if (strcmp(command, "encode") == 0)
        return encode(s, s->memory, ids, n);
    if (strcmp(command, "set") == 0 && n > 2)
        return set(s, ids, n);
    if (strcmp(command, "states") == 0)
        return encode(s, NULL, ids, n);
    if (strcmp(command, "generate") == 0)
        return generate(s, s->memory, ids, n);
    if (strcmp(command, "write") == 0)
        return generate(s, NULL, ids, n);
    if (strcmp(command, "reset") == 0)
        return heed_model_memory_reset(s->memory, s->queue, &s->why);
    return HEED_E_VALUE;
}

int main(int argc, char **argv)
{
    struct session s = { .props = { .size = sizeof s.props }, .why = { .size = sizeof s.why } };
    static char line[16 * MOST];
    heed_status status;

    if (argc != 8)
        return 2;
    status = begin(&s, argv);
    while (status >= 0 && fgets(line, sizeof line, stdin)) {
        status = obey(&s, line);
        putchar('\n');
    }
    if (status < 0)
        fprintf(stderr, "%s: %s: %s\n", heed_status_name(status), s.why.field, s.why.message);
    heed_model_memory_destroy(s.memory);
    heed_model_close(s.model);
    heed_queue_destroy(s.queue);
    heed_runtime_destroy(s.runtime);
    return status < 0;
}
