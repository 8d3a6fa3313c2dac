/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a process that reads a hostile file may do from here on: read files, which is how libraries
 * find tables of characters, take a bounded amount of memory and of processor time, and write to
 * one pipe. Elsewhere than on Linux only memory and time are bounded.
 */
#define _GNU_SOURCE                /* syscall numbers, MAP flags, O_CLOEXEC on old systems */
#include "read.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __linux__
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#if SANITIZED
void __sanitizer_set_report_fd(void *fd);
#endif

unsigned confine_seconds(const struct room *room, size_t size)
{
    return room->seconds + (unsigned)(size >> 18 < 86400 ? size >> 18 : 86400);
}

/* A macro, for the type of `what` is the system's. */
#define BOUND(what, soft, hard)                                                                    \
    setrlimit(what, &(const struct rlimit){ (rlim_t)(soft), (rlim_t)(hard) })

/* Bytes of data that the process has: what it got from its parent counts too. */
static uint64_t data_bytes(void)
{
    FILE *const file = fopen("/proc/self/statm", "r");
    unsigned long long pages = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- system calls ------------------------------------------------------------------ */

#ifdef __linux__

/* What a system says of its processor, and what the kernel calls that in a filter: numbers of calls
 * hang on it. Elsewhere there is no filter. */
static const struct { const char *machine; uint32_t name; } machines[] = {
    { "x86_64", AUDIT_ARCH_X86_64 }, { "aarch64", AUDIT_ARCH_AARCH64 },
    { "riscv64", AUDIT_ARCH_RISCV64 }, { "ppc64le", AUDIT_ARCH_PPC64LE },
    { "s390x", AUDIT_ARCH_S390X },
};

/* 0: unknown. */
static uint32_t machine_name(void)
{
    struct utsname system;

    if (uname(&system) != 0 || sizeof(void *) != 8)
        return 0;
    for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
        if (strcmp(machines[i].machine, system.machine) == 0)
            return machines[i].name;
    }
    return 0;
}

/* Those that need no look at what they are given. */
static const int calls[] = {
    SYS_read, SYS_readv, SYS_pread64, SYS_lseek, SYS_close, SYS_fstat, SYS_statx,
    SYS_faccessat, SYS_readlinkat, SYS_getdents64, SYS_getcwd, SYS_fcntl, SYS_mmap, SYS_munmap,
    SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_rt_sigaction, SYS_rt_sigprocmask,
    SYS_rt_sigreturn, SYS_sigaltstack, SYS_futex, SYS_getrandom, SYS_clock_gettime,
    SYS_clock_getres, SYS_gettimeofday, SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid,
    SYS_getegid, SYS_uname, SYS_sysinfo, SYS_sched_getaffinity, SYS_sched_yield, SYS_getrusage,
    SYS_restart_syscall, SYS_exit, SYS_exit_group,
#ifdef SYS_open                    /* older names of the same */
    SYS_stat, SYS_lstat, SYS_access, SYS_readlink,
#endif
#ifdef SYS_time
    SYS_time,
#endif
#ifdef SYS_newfstatat
    SYS_newfstatat,
#endif
};

enum { CALLS = sizeof(calls) / sizeof(*calls), MOST_STEPS = 2 * CALLS + 64 };

struct filter {
    struct sock_filter step[MOST_STEPS];
    unsigned short n;
};

static void add(struct filter *f, uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
    f->step[f->n++] = (struct sock_filter){ .code = code, .jt = yes, .jf = no, .k = value };
}

static void load(struct filter *f, size_t at)
{
    add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at, 0, 0);
}

static void end_with(struct filter *f, uint32_t what)
{
    add(f, BPF_RET | BPF_K, what, 0, 0);
}

/* Allowed where these bits of the low half of an argument are `value`. */
static void allow_if(struct filter *f, int call, int argument, uint32_t bits, uint32_t value)
{
    const union { uint16_t whole; uint8_t half[2]; } order = { .whole = 1 };
    const size_t low = order.half[0] ? 0 : sizeof(uint32_t);

    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 5);
    load(f, offsetof(struct seccomp_data, args) + (size_t)argument * sizeof(uint64_t) + low);
    add(f, BPF_ALU | BPF_AND | BPF_K, bits, 0, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    end_with(f, SECCOMP_RET_ALLOW);
    load(f, offsetof(struct seccomp_data, nr));
}

/* What is not in the lists fails with EPERM, so that a library that does without goes on. */
static void filter_calls(int to, int reports)
{
    const uint32_t writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
    const uint32_t machine = machine_name();
    struct filter f = { .n = 0 };

    if (machine == 0)
        return;
    load(&f, offsetof(struct seccomp_data, arch));
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, machine, 1, 0);
    end_with(&f, SECCOMP_RET_ERRNO | EPERM);
    load(&f, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < CALLS; i++) {
        add(&f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
        end_with(&f, SECCOMP_RET_ALLOW);
    }
    allow_if(&f, SYS_write, 0, UINT32_MAX, (uint32_t)to);
    if (reports >= 0)
        allow_if(&f, SYS_write, 0, UINT32_MAX, (uint32_t)reports);
    allow_if(&f, SYS_openat, 2, writes, 0);
#ifdef SYS_open
    allow_if(&f, SYS_open, 1, writes, 0);
#endif
    allow_if(&f, SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid());    /* abort() */
    end_with(&f, SECCOMP_RET_ERRNO | EPERM);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
              &(struct sock_fprog){ .len = f.n, .filter = f.step });
}

#endif

/* Only sanitizers report; what libraries say of a file is not for people. Returns where reports go;
 * -1: nowhere. */
static int silence(void)
{
    const int reports = SANITIZED ? dup(STDERR_FILENO) : -1;
    const int nothing = open("/dev/null", O_RDWR);

#if SANITIZED
    __sanitizer_set_report_fd((void *)(intptr_t)reports);
#endif
    for (int i = STDIN_FILENO; nothing >= 0 && i <= STDERR_FILENO; i++)
        dup2(nothing, i);
    return reports;
}

void confine(int to, uint64_t memory, unsigned seconds)
{
    const int reports = silence();
    const uint64_t most = data_bytes() + memory;

#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    BOUND(RLIMIT_CORE, 0, 0);
    BOUND(RLIMIT_CPU, seconds, seconds + 1);
    if (!SANITIZED)
        BOUND(RLIMIT_DATA, most, most);
#ifdef __linux__
    filter_calls(to, reports);
#else
    (void)to;
    (void)reports;
#endif
}
