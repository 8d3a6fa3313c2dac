/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Linux can end a process that acts on the judge, and lists threads.
 */
#define _GNU_SOURCE

#include "plugin.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Calls that name a process, and by which argument. */
static const struct {
    long call;
    int argument;
} acts[] = {
    { SYS_kill, 0 },
    { SYS_tkill, 0 },
    { SYS_tgkill, 0 },
    { SYS_rt_sigqueueinfo, 0 },
    { SYS_rt_tgsigqueueinfo, 0 },
    { SYS_pidfd_open, 0 },
    { SYS_prlimit64, 0 },
    { SYS_process_vm_writev, 0 },
    { SYS_ptrace, 1 },
};

enum { N_ACTS = sizeof acts / sizeof *acts, A_ACT = 7, FILTER = 2 + A_ACT * N_ACTS + 1 };

/* The judge, its group and everybody are out of reach. The lower half of an argument is the whole
 * of a process's number. */
static int filter_make(struct sock_filter f[FILTER], uint32_t judge, uint32_t group)
{
    int n = 0;

    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                          offsetof(struct seccomp_data, nr));
    for (int i = 0; i < N_ACTS; i++) {
        const uint32_t at =
            (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)acts[i].argument);

        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)acts[i].call, 0,
                                              A_ACT - 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at);
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, judge, 2, 0);
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, group, 1, 0);
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return n;
}

/* Where the system forbids filters there is none. */
void judge_shield(pid_t judge)
{
    struct sock_filter filter[FILTER];
    struct sock_fprog program = { .filter = filter };

    program.len = (unsigned short)filter_make(filter, (uint32_t)judge,
                                              (uint32_t)-getpgid(judge));
    child_tie(judge); /* without the judge it has nothing to do */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

enum { PF_EXITING = 4 }; /* <linux/sched.h>; set before pthread_join() returns */

static bool thread_lives(const char *number)
{
    char path[64], text[512] = "";
    unsigned flags = PF_EXITING;
    const char *end;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", number);
    file = fopen(path, "r");
    if (!file)
        return false;
    end = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL; /* behind the name */
    if (end)
        sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags);
    fclose(file);
    return !(flags & PF_EXITING);
}

int threads_now(void)
{
    DIR *const tasks = opendir("/proc/self/task");
    int n = 0;

    for (const struct dirent *task; tasks && (task = readdir(tasks));)
        n += task->d_name[0] != '.' && thread_lives(task->d_name);
    if (tasks)
        closedir(tasks);
    return n;
}
