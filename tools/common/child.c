/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A signal may reach a child before it has its session, so each goes to the child and to its group.
 */
#define _XOPEN_SOURCE 700
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIPES = 3 };

int64_t child_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void rest(int64_t nanoseconds)
{
    nanosleep(&(struct timespec){ .tv_nsec = (long)nanoseconds }, NULL);
}

/* ---- its beginning -------------------------------------------------------------- */

static void end_close(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

/* [i]: what is read, and what is written. */
static bool pipes_make(int ends[PIPES][2], unsigned pipes)
{
    bool good = true;

    for (int i = 0; i < PIPES; i++) {
        ends[i][0] = ends[i][1] = -1;
        if (pipes & 1u << i && good)
            good = pipe(ends[i]) == 0;
    }
    for (int i = 0; i < PIPES && !good; i++) {
        end_close(&ends[i][0]);
        end_close(&ends[i][1]);
    }
    return good;
}

/* mine: which end of the first pipe is this process's; of the others it is the other one. */
static void pipes_take(struct child *child, int ends[PIPES][2], int mine)
{
    int *const to[PIPES] = { &child->to, &child->from, &child->errors };

    for (int i = 0; i < PIPES; i++) {
        const int end = i == 0 ? mine : !mine;

        *to[i] = ends[i][end];
        end_close(&ends[i][!end]);
    }
}

pid_t child_fork(struct child *child, unsigned pipes)
{
    int ends[PIPES][2];
    pid_t pid;

    child->pid = child->status = 0;
    child->to = child->from = child->errors = -1;
    if (!pipes_make(ends, pipes))
        return -1;
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        setsid();
    pipes_take(child, ends, pid != 0);
    if (pid < 0) {
        child_close(child);
        end_close(&child->errors);
        return -1;
    }
    if (pid > 0) {
        child->pid = pid;
        fcntl(child->to, F_SETFD, FD_CLOEXEC);
        fcntl(child->from, F_SETFD, FD_CLOEXEC);
        fcntl(child->errors, F_SETFD, FD_CLOEXEC);
        fcntl(child->errors, F_SETFL, O_NONBLOCK);
    }
    return pid;
}

bool child_command(struct child *child, const char *command, unsigned pipes)
{
    const pid_t pid = child_fork(child, pipes);

    if (pid == 0) {
        const int ends[PIPES] = { child->to, child->from, child->errors };

        for (int i = 0; i < PIPES; i++) {
            if (ends[i] >= 0 && dup2(ends[i], i) < 0)
                _exit(126);
        }
        for (int i = 0; i < PIPES; i++) {
            if (ends[i] >= PIPES)
                close(ends[i]);
        }
        signal(SIGPIPE, SIG_DFL);       /* it is this program alone that may ignore it */
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return pid > 0;
}

/* POSIX, sh: 127 is no such file, 126 one that is no program. */
const char *child_not_started(const struct child *child)
{
    const int code = WIFEXITED(child->status) ? WEXITSTATUS(child->status) : 0;

    return code == 127 ? strerror(ENOENT) : code == 126 ? strerror(EACCES) : NULL;
}

/* ---- its end -------------------------------------------------------------------- */

void child_close(struct child *child)
{
    end_close(&child->to);
    end_close(&child->from);
}

static void errors_hear(struct child *child)
{
    char block[4096];

    for (int i = 0; i < 16 && child->errors >= 0; i++) {
        const ssize_t n = read(child->errors, block, sizeof block);

        if (n > 0)
            child->hear(child->context, block, (size_t)n);
        else if (n == 0)                /* it may have closed it and go on */
            end_close(&child->errors);
        else
            return;
    }
}

int child_wait(struct child *child, int64_t milliseconds)
{
    const int64_t end = child_clock() + milliseconds;
    int64_t pause = 50000;

    while (milliseconds == CHILD_EVER &&
           waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR) {
    }
    if (milliseconds == CHILD_EVER)
        return CHILD_ENDED;
    while (waitpid(child->pid, &child->status, WNOHANG | WUNTRACED) == 0) {
        if (child_clock() > end)
            return CHILD_RUNS;
        errors_hear(child);
        rest(pause);
        pause = pause < 2000000 ? pause * 2 : pause;
    }
    return WIFSTOPPED(child->status) ? CHILD_STOPPED : CHILD_ENDED;
}

enum { KIN = 256 };

/* Processes that a child started and that did not end with it: in its group, or elsewhere and now
 * this process's. Those that have ended are taken off the system's list. */
static int kin_left(const struct child *child, pid_t list[KIN])
{
    const int n = kin_list(list, KIN);
    int left = 0;

    for (int i = 0; i < n; i++) {
        if ((child->sibling == NULL || list[i] != child->sibling->pid) &&
            waitpid(list[i], NULL, WNOHANG) == 0)
            list[left++] = list[i];
    }
    if (left == 0 && (kill(-child->pid, 0) == 0 || errno != ESRCH))
        list[left++] = -child->pid;
    return left;
}

/* true: there were some. They have a moment to end by themselves; then they are ended, and what
 * they go on to start, too. */
static bool kin_end(const struct child *child)
{
    pid_t list[KIN];
    int n = kin_left(child, list);

    for (int i = 0; i < 20 && n > 0; i++) {
        rest(1000000);
        n = kin_left(child, list);
    }
    if (n == 0)
        return false;
    for (int round = 0; round < 1000 && n > 0; round++) {
        kill(-child->pid, SIGKILL);
        for (int i = 0; i < n; i++)
            kill(list[i], SIGKILL);
        rest(100000);
        n = kin_left(child, list);
    }
    return true;
}

bool child_end(struct child *child)
{
    bool runs = false, left = false;

    child_close(child);
    if (child->pid > 0) {
        runs = waitpid(child->pid, &child->status, WNOHANG) == 0;
        if (runs) {
            kill(-child->pid, SIGKILL);
            kill(child->pid, SIGKILL);
            while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR) {
            }
        }
        left = kin_end(child);
    }
    errors_hear(child);
    end_close(&child->errors);
    child->pid = 0;
    return left && !runs;
}

/* ---- lines ----------------------------------------------------------------------- */

/* Set by a signal that would end this program: what lies in files must be taken away first. */
static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

void child_interrupts(void)
{
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
}

bool child_interrupted(void)
{
    return interrupted;
}

/* A second at most, as a signal may come right before it. */
static bool ready(struct child *child, int end, short events, int64_t left)
{
    struct pollfd wait[] = { { .fd = end, .events = events },
                             { .fd = child->errors, .events = POLLIN } };
    const int n = poll(wait, 2, left > 1000 ? 1000 : (int)left);

    if (n > 0 && wait[1].revents)
        errors_hear(child);
    return n > 0 && wait[0].revents;
}

/* In parts that a pipe with room takes at once: one that does not read must not stop this
 * program. */
int child_tell(struct child *child, const char *text, size_t n, int64_t end)
{
    while (n > 0) {
        const int64_t left = end - child_clock();
        ssize_t done;

        if (left <= 0 || interrupted)
            return HEARD_NOTHING;
        if (!ready(child, child->to, POLLOUT, left))
            continue;
        done = write(child->to, text, n < _POSIX_PIPE_BUF ? n : _POSIX_PIPE_BUF);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return HEARD_END;
        text += done;
        n -= (size_t)done;
    }
    return HEARD;
}

/* Makes room for more, and reads it. */
static int more_read(struct child *child, struct child_lines *lines, int64_t end)
{
    const int64_t left = end - child_clock();
    ssize_t n;

    if (lines->begin > 0) {
        lines->n -= lines->begin;
        memmove(lines->text, lines->text + lines->begin, lines->n);
        lines->begin = 0;
    }
    if (lines->n + 1 >= sizeof lines->text)
        return HEARD_RUBBISH;
    if (left <= 0 || interrupted)
        return HEARD_NOTHING;
    if (!ready(child, child->from, POLLIN, left))
        return HEARD;
    n = read(child->from, lines->text + lines->n, sizeof lines->text - 1 - lines->n);
    if (n <= 0)
        return n < 0 && errno == EINTR ? HEARD : HEARD_END;
    lines->n += (size_t)n;
    return HEARD;
}

int child_line(struct child *child, struct child_lines *lines, int64_t end, char **line)
{
    size_t searched = 0;

    for (;;) {
        char *const from = lines->text + lines->begin;
        char *const stop = memchr(from + searched, '\n', lines->n - lines->begin - searched);
        int heard;

        if (stop != NULL) {
            *stop = '\0';
            lines->begin = (size_t)(stop + 1 - lines->text);
            *line = from;
            return strlen(from) == (size_t)(stop - from) ? HEARD : HEARD_RUBBISH;
        }
        searched = lines->n - lines->begin;
        heard = more_read(child, lines, end);
        if (heard != HEARD)
            return heard;
    }
}

int child_silent(struct child *child, struct child_lines *lines)
{
    struct pollfd wait = { .fd = child->from, .events = POLLIN };

    if (lines->n == lines->begin && poll(&wait, 1, 0) <= 0)
        return HEARD;
    if (lines->n == lines->begin && more_read(child, lines, child_clock() + 1000) == HEARD_END)
        return HEARD_END;
    return HEARD_RUBBISH;
}
