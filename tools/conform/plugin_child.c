/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The process in which a plug-in runs: its limits, what it says of itself, and its end. It has a
 * session of its own, so that whatever it starts goes with it.
 */
#define _DEFAULT_SOURCE

#include "place.h"
#include "plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct control *fault_control; /* a handler of signals reaches nothing else */
static size_t fault_room;

/* ---- limits ---------------------------------------------------------------- */

/* Notes where it was, and whether a quarter of the memory allowed is still to be had; the
 * instruction is tried again and then ends the process. */
static void fault(int number, siginfo_t *info, void *context)
{
    const void *room =
        fault_room ? mmap(NULL, fault_room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;

    (void)number;
    (void)context;
    fault_control->memory_short = room == MAP_FAILED;
    fault_control->address = (uintptr_t)info->si_addr;
    fault_control->faulted = true;
}

static void faults_watch(const struct plugin *plugin)
{
    static unsigned char stack[1 << 16];
    const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action = { .sa_sigaction = fault,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND };

    fault_control = plugin->control;
    fault_room = (size_t)plugin->mebibytes << 18;
    sigemptyset(&action.sa_mask);
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

/* Address space in use, in bytes; where the system does not say, a guess. */
static uint64_t space_now(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    const bool good = file && fscanf(file, "%llu", &pages) == 1;

    if (file)
        fclose(file);
    return good ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : UINT64_C(1) << 30;
}

static void limits_set(const struct plugin *plugin)
{
    const rlim_t space = (rlim_t)(space_now() + (uint64_t)plugin->mebibytes * 1048576);
    const rlim_t seconds = (rlim_t)plugin->seconds * 64 + 1;
    const int nothing = open("/dev/null", O_RDWR);

    setsid();
    alarm((unsigned)plugin->seconds + 5); /* where the parent is gone */
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    setrlimit(RLIMIT_CPU, &(struct rlimit){ seconds, seconds });
    if (plugin->mebibytes)
        setrlimit(RLIMIT_AS, &(struct rlimit){ space, space });
    dup2(nothing, 0); /* what it prints is no line of TAP */
    dup2(nothing, 1);
}

/* ---- the host --------------------------------------------------------------- */

static void *host_alloc(void *context, size_t size, size_t align)
{
    void *pointer = NULL;

    (void)context;
    return posix_memalign(&pointer, align < sizeof pointer ? sizeof pointer : align, size)
               ? NULL
               : pointer;
}

static void host_free(void *context, void *pointer, size_t size, size_t align)
{
    (void)context;
    (void)size;
    (void)align;
    free(pointer);
}

static void host_parallel(void *context, uint32_t width, void (*body)(void *arg, uint32_t worker),
                          void *arg)
{
    (void)context;
    for (uint32_t i = width; i > 0; i--)
        body(arg, i - 1);
}

static void host_line(void *context, uint32_t level, const char *text)
{
    (void)context;
    fprintf(stderr, "plug-in (%u): %s\n", (unsigned)level, text);
}

/* Workers one after another, and in reverse order: no kernel may need more. */
static const heed_host_api host = {
    .size = sizeof host,
    .major = HEED_PLUGIN_MAJOR,
    .minor = HEED_PLUGIN_MINOR,
    .allocator = &(const heed_allocator){ .size = sizeof(heed_allocator),
                                          .alloc = host_alloc,
                                          .free = host_free },
    .executor = &(const heed_executor){ .size = sizeof(heed_executor),
                                        .width = 3,
                                        .parallel = host_parallel },
    .logger = &(const heed_logger){ .size = sizeof(heed_logger), .level = 2, .line = host_line },
};

static bool api_good(const heed_kernel_api *api, struct control *control)
{
    const char *what = api->major != HEED_PLUGIN_MAJOR ? "its major version is another"
                       : api->size < sizeof *api       ? "its table is too short"
                       : !api->name                    ? "it has no name"
                       : !api->query || !api->prepare || !api->run || !api->release
                           ? "it lacks a function"
                       : api->numerics < HEED_NUMERICS_EXACT || api->numerics > HEED_NUMERICS_FAST
                           ? "it claims no numerics"
                           : NULL;

    snprintf(control->why, sizeof control->why, "%s", what ? what : "");
    return !what;
}

static bool load(const struct plugin *plugin, heed_kernel_api *api)
{
    struct control *control = plugin->control;
    heed_kernel_entry_type *entry;
    void *object = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL), *symbol;

    symbol = object ? dlsym(object, HEED_KERNEL_ENTRY) : NULL;
    if (!symbol) {
        snprintf(control->why, sizeof control->why, "%s", dlerror());
        return false;
    }
    memcpy(&entry, &symbol, sizeof entry);
    *api = (heed_kernel_api){ .size = sizeof *api };
    control->stage = STAGE_ENTRY;
    snprintf(control->why, sizeof control->why, "it has filled no table");
    control->status = entry(HEED_PLUGIN_MAJOR, &host, api);
    if (control->status != HEED_OK || !api_good(api, control))
        return false;
    control->numerics = api->numerics;
    snprintf(control->name, sizeof control->name, "%s", api->name);
    snprintf(control->build, sizeof control->build, "%s", api->build ? api->build : "");
    return true;
}

/* ---- a case ----------------------------------------------------------------- */

heed_status plugin_ask(const struct plugin *plugin, const heed_kernel_api *api,
                       const heed_attn_desc *desc)
{
    struct control *control = plugin->control;

    control->stage = STAGE_QUERY;
    control->report = (heed_report){ .size = sizeof control->report };
    control->status = api->query(api->self, desc, &control->report);
    control->report.field[sizeof control->report.field - 1] = 0;
    control->report.message[sizeof control->report.message - 1] = 0;
    return control->status;
}

/* Garbage, behind which a page ends. */
static bool workspace_make(struct trial *t, const heed_plan_props *props)
{
    const uint64_t align = props->workspace_align ? props->workspace_align : 1,
                   size = props->workspace_size, page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t room = (size + align + page - 1) / page * page;
    unsigned char *at;

    if (size == 0)
        return true;
    if ((align & (align - 1)) || size > UINT64_C(1) << 40 || align > UINT64_C(1) << 30)
        return false;
    at = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + room, page, PROT_NONE))
        return false;
    memset(at, 0xa5, room);
    at += room - size;
    at -= (uintptr_t)at % align;
    t->args.workspace = (heed_buf){ at, 0 };
    t->args.workspace_size = size;
    return true;
}

static heed_status compute(struct trial *t, const heed_kernel_api *api, void *state)
{
    heed_status status = api->run(state, &t->args);

    if (status != HEED_OK || !t->again)
        return status;
    if (t->args.workspace_size)
        memset(t->args.workspace.handle, 0x5a, (size_t)t->args.workspace_size);
    plugin_memory_refill(&t->memory);
    return api->run(state, &t->args);
}

/* A kernel that keeps a pointer to them finds nonsense. */
static void descriptor_spoil(struct trial *t)
{
    struct call *call = &t->call;

    memset(&call->desc, 0xee, sizeof call->desc);
    memset(call->source, 0xee, sizeof call->source);
    memset(call->term, 0xee, sizeof call->term);
    memset(call->bias, 0xee, sizeof call->bias);
    memset(call->slot, 0xee, sizeof call->slot);
    plugin_memory_allow(&t->memory, CONSTANT, PROT_NONE);
}

static bool float_plain(void)
{
    volatile float least = 0x1p-149f, more = 1 + 0x1p-23f, tiny = 0x1p-24f;
    const float one = least * 1.0f, two = more + tiny;

    return fegetround() == FE_TONEAREST && one == 0x1p-149f && two == 1 + 0x1p-22f;
}

void plugin_compute(const struct plugin *plugin, const heed_kernel_api *api, void *arg)
{
    struct trial *t = arg;
    struct control *control = plugin->control;
    heed_plan_props props = { .size = sizeof props };
    void *state = NULL;

    if (!plugin_memory_protect(&t->memory))
        _exit(1);
    if (plugin_ask(plugin, api, &t->call.desc) != HEED_OK)
        return;
    control->stage = STAGE_PREPARE;
    control->status = api->prepare(api->self, &t->call.desc, &state, &props);
    if (control->status != HEED_OK)
        return;
    descriptor_spoil(t);
    control->bad_workspace = !workspace_make(t, &props);
    if (control->bad_workspace)
        return;
    control->stage = STAGE_RUN;
    control->status = compute(t, api, state);
    control->float_changed = !float_plain();
    plugin_memory_allow(&t->memory, OUTPUT, PROT_READ); /* final from now on */
    if (control->status != HEED_OK)
        return;
    control->stage = STAGE_RELEASE;
    api->release(state);
    control->stage = STAGE_END;
}

/* ---- parent and child ------------------------------------------------------- */

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void rest(int64_t nanoseconds)
{
    nanosleep(&(struct timespec){ .tv_nsec = (long)nanoseconds }, NULL);
}

/* false: it takes too long. */
static bool child_wait(pid_t child, int64_t seconds, int *state)
{
    const int64_t end = now() + seconds * 1000000000;
    int64_t pause = 50000;

    while (waitpid(child, state, WNOHANG) == 0) {
        if (now() > end)
            return false;
        rest(pause);
        pause = pause < 2000000 ? pause * 2 : pause;
    }
    return true;
}

/* Processes that the child started and that did not end with it. */
static bool group_there(pid_t group)
{
    for (int i = 0; i < 20; i++) {
        if (kill(-group, 0) && errno == ESRCH)
            return false;
        rest(1000000);
    }
    return true;
}

static struct outcome child_end(const struct plugin *plugin, pid_t child)
{
    struct outcome outcome = { .ending = HUNG };
    int state = 0;

    if (child_wait(child, plugin->seconds, &state)) {
        outcome.ending = WIFSIGNALED(state)               ? SIGNALLED
                         : WIFEXITED(state) && state == 0 ? ENDED
                                                          : EXITED;
        outcome.signal = WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state);
        outcome.left = group_there(child);
        kill(-child, SIGKILL);
        return outcome;
    }
    kill(child, SIGKILL);
    kill(-child, SIGKILL);
    waitpid(child, &state, 0);
    return outcome;
}

struct outcome plugin_fork(struct plugin *plugin,
                           void (*work)(const struct plugin *, const heed_kernel_api *, void *arg),
                           void *arg)
{
    struct control *control = plugin->control;
    heed_kernel_api api;
    pid_t child;

    control->stage = STAGE_LOAD;
    control->status = HEED_OK;
    control->address = 0;
    control->faulted = control->memory_short = false;
    control->float_changed = control->bad_workspace = false;
    fflush(stdout);
    child = fork();
    if (child < 0)
        return (struct outcome){ .ending = NO_CHILD };
    if (child == 0) {
        limits_set(plugin);
        faults_watch(plugin);
        if (load(plugin, &api) && work)
            work(plugin, &api, arg);
        _exit(0);
    }
    return child_end(plugin, child);
}
