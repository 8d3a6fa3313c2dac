/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The process that a plug-in finds: its limits, its faults noted, and what of it must be the same
 * when run has returned.
 */
#define _DEFAULT_SOURCE

#include "plugin.h"

#include <fcntl.h>
#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* ---- limits ---------------------------------------------------------------- */

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

enum { DESCRIPTORS = 256 };

/* What it prints goes to the parent, no line of TAP; of the parent's files it has none. */
static void files_set(const struct child *child)
{
    const int nothing = open("/dev/null", O_RDWR);

    dup2(nothing, 0);
    dup2(child->errors, 1);
    dup2(child->errors, 2);
    for (int i = 3; i < DESCRIPTORS; i++) {
        if (i != child->to && i != child->from)
            close(i);
    }
}

void guard_limits(const struct plugin *plugin, const struct child *child)
{
    const rlim_t most = (rlim_t)plugin->mebibytes * 1048576,
                 space = (rlim_t)space_now() + most;
    const rlim_t seconds = (rlim_t)plugin->seconds * 64 + 1;

    signal(SIGPIPE, SIG_DFL); /* which the parent leaves alone */
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    if (child->to < 0) { /* the one that is asked lives as long as there are questions */
        alarm((unsigned)plugin->seconds + 5); /* where the parent is gone */
        setrlimit(RLIMIT_CPU, &(struct rlimit){ seconds, seconds });
    }
    if (plugin->mebibytes && !plugin->memory) /* drivers map what their devices have */
        setrlimit(RLIMIT_AS, &(struct rlimit){ space, space });
    if (plugin->mebibytes)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ most, most });
    files_set(child);
}

/* ---- faults ----------------------------------------------------------------- */

static struct control *fault_control; /* a handler of signals reaches nothing else */
static size_t fault_room;

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

void guard_faults(const struct plugin *plugin)
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

/* ---- floating point --------------------------------------------------------------- */

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* No operand is known to the compiler, and bits are compared: where subnormals are taken for 0 they
 * are equal to it. */
static bool rounds_plainly(void)
{
    volatile float least = 0x1p-149f, normal = 0x1p-126f, half = 0.5f, more = 1 + 0x1p-23f,
                   tiny = 0x1p-24f;

    return fegetround() == FE_TONEAREST && bits_of(normal * half) == 0x00400000 &&
           bits_of(least + normal) == 0x00800001 && bits_of(more + tiny) == 0x3f800002;
}

static sigjmp_buf trap;

static void trapped(int number)
{
    siglongjmp(trap, number);
}

/* Does one of the exceptions raise a signal? */
static bool traps(void)
{
    struct sigaction action = { .sa_handler = trapped }, old;
    volatile float zero = 0, one = 1, three = 3, big = 0x1p127f, small = 0x1p-126f, sink;
    volatile bool found = true;
    sigset_t signal, mask;

    sigemptyset(&action.sa_mask);
    sigemptyset(&signal);
    sigaddset(&signal, SIGFPE);
    sigaction(SIGFPE, &action, &old);
    sigprocmask(SIG_UNBLOCK, &signal, &mask);
    if (sigsetjmp(trap, 0) == 0) {
        sink = zero / zero;
        sink = one / zero;
        sink = big * big;
        sink = small * small;
        sink = one / three;
        (void)sink;
        found = false;
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGFPE, &old, NULL);
    return found;
}

bool guard_float(void)
{
    return rounds_plainly() && !traps();
}

/* ---- what must stay ------------------------------------------------------------ */

enum { SIGNALS = 32, FILES = 3, TIMERS = 3, SLACK_US = 100000 };

static const int limits[] = { RLIMIT_AS, RLIMIT_CORE, RLIMIT_CPU, RLIMIT_DATA,
                              RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_STACK };
enum { LIMITS = sizeof limits / sizeof *limits };
static const int timers[TIMERS] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };

struct surroundings {
    struct sigaction action[SIGNALS];
    sigset_t mask;
    struct rlimit limit[LIMITS];
    struct stat folder, file[FILES];
    int open[FILES];
    mode_t made;
    int64_t left[TIMERS]; /* microseconds; 0: it does not run */
    int64_t from, to;     /* between which they were read, of a clock that nobody sets */
    int threads;
};

static struct surroundings before;

static int64_t microseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void surroundings_of(struct surroundings *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 1; i < SIGNALS; i++)
        sigaction(i, NULL, &s->action[i]);
    sigprocmask(SIG_SETMASK, NULL, &s->mask);
    for (int i = 0; i < LIMITS; i++)
        getrlimit(limits[i], &s->limit[i]);
    stat(".", &s->folder);
    for (int i = 0; i < FILES; i++)
        s->open[i] = fstat(i, &s->file[i]);
    s->made = umask(022);
    umask(s->made);
    s->from = microseconds();
    for (int i = 0; i < TIMERS; i++) {
        struct itimerval timer = { .it_value = { 0, 0 } };

        getitimer(timers[i], &timer);
        s->left[i] = (int64_t)timer.it_value.tv_sec * 1000000 + timer.it_value.tv_usec;
    }
    s->to = microseconds();
    s->threads = threads_now();
}

void guard_note(void)
{
    surroundings_of(&before);
}

static bool file_same(const struct stat *x, const struct stat *y)
{
    return x->st_dev == y->st_dev && x->st_ino == y->st_ino;
}

static const char *signals_changed(const struct surroundings *now)
{
    for (int i = 1; i < SIGNALS; i++) {
        if (before.action[i].sa_handler != now->action[i].sa_handler)
            return "handlers of signals";
        if (sigismember(&before.mask, i) != sigismember(&now->mask, i))
            return "the mask of signals";
    }
    return NULL;
}

/* What the alarm has left is what it had, less what has gone by. */
static bool timers_changed(const struct surroundings *now)
{
    for (int i = 0; i < TIMERS; i++) {
        if (!now->left[i] != !before.left[i])
            return true;
    }
    return before.left[0] - now->left[0] > now->to - before.from + SLACK_US ||
           before.left[0] - now->left[0] < now->from - before.to - SLACK_US;
}

bool guard_threads_left(void)
{
    return threads_now() > before.threads;
}

const char *guard_changed(void)
{
    struct surroundings now;
    const char *signals;

    surroundings_of(&now);
    signals = signals_changed(&now);
    if (signals)
        return signals;
    for (int i = 0; i < LIMITS; i++) {
        if (before.limit[i].rlim_cur != now.limit[i].rlim_cur)
            return "limits";
    }
    for (int i = 0; i < FILES; i++) {
        if (before.open[i] != now.open[i] || !file_same(&before.file[i], &now.file[i]))
            return "the standard files";
    }
    return !file_same(&before.folder, &now.folder) ? "the working folder"
           : before.made != now.made               ? "the mask of new files"
           : timers_changed(&now)                  ? "the alarm"
                                                   : NULL;
}
