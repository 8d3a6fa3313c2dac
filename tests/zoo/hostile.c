/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Faults of processes, for testing the kit that judges kernels.
 */
#define _GNU_SOURCE /* feenableexcept */

#include "hostile.h"

#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined __SSE2__
#include <immintrin.h>
#endif

/* ---- processes ---------------------------------------------------------------- */

/* A process that is in no group or session of its parent's, and whose parent has ended. */
heed_status escapes(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            setsid();
            sleep(60);
        }
        _exit(0);
    }
    return HEED_OK;
}

heed_status exits(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    exit(0);
}

heed_status exits_quietly(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    _exit(0);
}

heed_status exits_at_entry(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    exit(0);
}

heed_status exits_at_load(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    return HEED_OK;
}

__attribute__((constructor)) static void load(void)
{
    const char *const wanted = getenv("ZOO");

    if (wanted && strcmp(wanted, "exits_at_load") == 0)
        exit(0);
}

heed_status stops_itself(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    raise(SIGSTOP);
    return HEED_OK;
}

/* To nowhere. */
heed_status jumps(struct state *s, const heed_attn_args *args)
{
    static jmp_buf never;

    (void)s, (void)args;
    longjmp(never, 1);
}

heed_status kills_judge(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    kill(getppid(), SIGTERM);
    return HEED_OK;
}

heed_status kills_all(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    kill(-1, SIGCONT); /* which would do no harm */
    return HEED_OK;
}

/* ---- files ---------------------------------------------------------------------- */

/* Lines as the kit prints them. */
heed_status prints_tap(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    printf("not ok 1 - judged\n# bits: by the kernel\n1000 passed, 0 failed, 0 skipped\n");
    fflush(stdout);
    fprintf(stderr, "not ok 2 - judged\n");
    return HEED_OK;
}

heed_status prints_endlessly(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    for (volatile bool on = true; on;)
        printf("all is well\n");
    return HEED_OK;
}

heed_status fills_disk(struct state *s, const heed_attn_args *args)
{
    static char block[1 << 20];
    FILE *file = tmpfile();

    (void)s, (void)args;
    while (file && fwrite(block, sizeof block, 1, file) == 1)
        ;
    return HEED_OK;
}

heed_status closes_files(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    for (int i = 0; i < 256; i++)
        close(i);
    return HEED_OK;
}

/* ---- the process that it is in ------------------------------------------------------ */

static void handler(int number)
{
    (void)number;
    _exit(0);
}

heed_status handles_faults(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    signal(SIGSEGV, handler);
    return HEED_OK;
}

heed_status masks_signals(struct state *s, const heed_attn_args *args)
{
    sigset_t all;

    (void)s, (void)args;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    return HEED_OK;
}

heed_status stops_alarm(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    alarm(0);
    return HEED_OK;
}

/* One that rings when the case is done. */
heed_status alarms_soon(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    alarm(1);
    return HEED_OK;
}

/* Where there is no such bit, another change of the same word. */
static heed_status float_control(unsigned bit)
{
#if defined __SSE2__
    _mm_setcsr(_mm_getcsr() | bit);
#else
    (void)bit;
    fesetround(FE_DOWNWARD);
#endif
    return HEED_OK;
}

heed_status flushes_subnormals(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    return float_control(0x8000);
}

heed_status ignores_subnormals(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    return float_control(0x40);
}

heed_status enables_traps(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
#if defined FE_NOMASK_ENV
    if (feenableexcept(FE_INVALID | FE_DIVBYZERO) != -1)
        return HEED_OK;
#endif
    fesetround(FE_DOWNWARD); /* where this processor or library has no traps */
    return HEED_OK;
}

heed_status lowers_limits(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 16, 16 });
    return HEED_OK;
}

heed_status changes_folder(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    if (chdir("/"))
        abort();
    return HEED_OK;
}

heed_status changes_mask(struct state *s, const heed_attn_args *args)
{
    (void)s, (void)args;
    umask(0777);
    return HEED_OK;
}

/* ---- the judge ------------------------------------------------------------------------ */

/* Computes nothing, says in all memory that it shares that all went well, and ends. */
heed_status forges(struct state *s, const heed_attn_args *args)
{
    enum { AT_THE_END = 6 }; /* a stage of the kit's */
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], mode[5];
    unsigned long long low, high;

    (void)s, (void)args;
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%llx-%llx %4s", &low, &high, mode) == 3 && !strcmp(mode, "rw-s"))
            *(int *)(uintptr_t)low = AT_THE_END;
    }
    _exit(0);
}

static volatile float *output;

static void *write_later(void *arg)
{
    (void)arg;
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    *output = 1;
    return NULL;
}

/* Run has returned by then; who calls waits in release. */
heed_status writes_from_thread(struct state *s, const heed_attn_args *args)
{
    static pthread_t thread;

    (void)s;
    if (args) {
        output = (volatile float *)((char *)args->o.handle + args->o.offset);
        pthread_create(&thread, NULL, write_later, NULL);
    } else if (output) {
        pthread_join(thread, NULL);
    }
    return HEED_OK;
}

static void *sleep_long(void *arg)
{
    sleep(60);
    return arg;
}

heed_status leaves_thread(struct state *s, const heed_attn_args *args)
{
    pthread_t thread;

    (void)s, (void)args;
    if (pthread_create(&thread, NULL, sleep_long, NULL))
        abort();
    return HEED_OK;
}
