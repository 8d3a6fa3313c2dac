/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The parent of the processes in which a plug-in runs: it starts them, reads what they print,
 * waits, and ends whatever they started, also what has left their session.
 */
#define _DEFAULT_SOURCE

#include "plugin.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* ---- what it prints ---------------------------------------------------------- */

/* Only the end of it is kept. */
static void said_add(struct plugin *plugin, const char *text, size_t n)
{
    size_t keep = plugin->n_said;

    if (n >= SAID) {
        text += n - SAID;
        n = SAID;
    }
    if (keep + n > SAID) {
        memmove(plugin->said, plugin->said + keep + n - SAID, SAID - n);
        keep = SAID - n;
    }
    memcpy(plugin->said + keep, text, n);
    plugin->n_said = keep + n;
}

void plugin_drain(struct plugin *plugin, struct child *child)
{
    char block[4096];

    for (int i = 0; i < 16 && child->printed >= 0; i++) {
        const ssize_t n = read(child->printed, block, sizeof block);

        if (n > 0) {
            said_add(plugin, block, (size_t)n);
        } else if (n == 0) { /* it may have closed it and go on */
            close(child->printed);
            child->printed = -1;
        } else {
            return;
        }
    }
}

enum { SAID_LINES = 8 };

void plugin_said_print(struct plugin *plugin, FILE *to)
{
    size_t begin = plugin->n_said;
    bool new_line = true;

    for (int lines = 0; begin > 0; begin--) {
        lines += plugin->said[begin - 1] == '\n' && begin < plugin->n_said;
        if (lines == SAID_LINES)
            break;
    }
    for (size_t i = begin; i < plugin->n_said; i++) {
        const unsigned char letter = (unsigned char)plugin->said[i];

        if (new_line)
            fputs("# it printed: ", to);
        new_line = letter == '\n';
        fputc(new_line || isprint(letter) ? letter : '.', to);
    }
    if (!new_line)
        fputc('\n', to);
    plugin->n_said = 0;
}

/* Until it has printed something, or for so long. */
static void child_look(struct plugin *plugin, struct child *child, int64_t nanoseconds)
{
    struct timeval t = { .tv_usec = (suseconds_t)(nanoseconds / 1000) };
    fd_set set;

    if (child->printed < 0 || child->printed >= FD_SETSIZE) {
        rest(nanoseconds);
        return;
    }
    FD_ZERO(&set);
    FD_SET(child->printed, &set);
    if (select(child->printed + 1, &set, NULL, NULL, &t) > 0)
        plugin_drain(plugin, child);
}

/* ---- its end ----------------------------------------------------------------- */

/* false: it takes too long. */
static bool child_wait(struct plugin *plugin, struct child *child, int64_t seconds, int *state)
{
    const int64_t end = now() + seconds * 1000000000;
    int64_t pause = 50000;

    while (waitpid(child->pid, state, WNOHANG | WUNTRACED) == 0) {
        if (now() > end)
            return false;
        child_look(plugin, child, pause);
        pause = pause < 2000000 ? pause * 2 : pause;
    }
    return true;
}

enum { KIN = 256 };

/* Processes that a child started and that did not end with it: in its group, or elsewhere and now
 * this process's. Those that have ended are taken off the system's list. */
static int kin_left(const struct plugin *plugin, pid_t group, pid_t list[KIN])
{
    const int n = kin_list(list, KIN);
    int left = 0;

    for (int i = 0; i < n; i++) {
        if (list[i] != plugin->asked.pid && waitpid(list[i], NULL, WNOHANG) == 0)
            list[left++] = list[i];
    }
    if (left == 0 && (kill(-group, 0) == 0 || errno != ESRCH))
        list[left++] = -group;
    return left;
}

/* true: there were some. They have a moment to end by themselves; then they are ended, and what
 * they go on to start, too. */
static bool kin_end(const struct plugin *plugin, pid_t group)
{
    pid_t list[KIN];
    int n = kin_left(plugin, group, list);

    for (int i = 0; i < 20 && n > 0; i++) {
        rest(1000000);
        n = kin_left(plugin, group, list);
    }
    if (n == 0)
        return false;
    for (int round = 0; round < 1000 && n > 0; round++) {
        kill(-group, SIGKILL);
        for (int i = 0; i < n; i++)
            kill(list[i], SIGKILL);
        rest(100000);
        n = kin_left(plugin, group, list);
    }
    return true;
}

static struct outcome outcome_of(int state)
{
    struct outcome outcome = { .ending = EXITED };

    if (WIFSTOPPED(state))
        outcome = (struct outcome){ .ending = STOPPED, .signal = WSTOPSIG(state) };
    else if (WIFSIGNALED(state))
        outcome = (struct outcome){ .ending = SIGNALLED, .signal = WTERMSIG(state) };
    else if (WEXITSTATUS(state))
        outcome.signal = WEXITSTATUS(state);
    else
        outcome.ending = ENDED;
    return outcome;
}

/* A copy that no child changes any more; its texts end. */
static void control_copy(struct plugin *plugin, const struct control *control)
{
    struct control *const copy = &plugin->copy;

    memcpy(copy, control, sizeof *copy);
    copy->stage = copy->stage < 0 || copy->stage > STAGE_END ? STAGE_LOAD : copy->stage;
    copy->name[sizeof copy->name - 1] = copy->build[sizeof copy->build - 1] = '\0';
    copy->why[sizeof copy->why - 1] = copy->changed[sizeof copy->changed - 1] = '\0';
    copy->report.field[sizeof copy->report.field - 1] = '\0';
    copy->report.message[sizeof copy->report.message - 1] = '\0';
}

struct outcome plugin_wait(struct plugin *plugin, struct control *control, struct child *child,
                           int64_t seconds)
{
    struct outcome outcome = { .ending = HUNG };
    int state = 0;

    if (child_wait(plugin, child, seconds, &state))
        outcome = outcome_of(state);
    if (outcome.ending == HUNG || outcome.ending == STOPPED) {
        kill(-child->pid, SIGKILL);
        kill(child->pid, SIGKILL);
        waitpid(child->pid, &state, 0);
        kin_end(plugin, child->pid);
    } else {
        outcome.left = kin_end(plugin, child->pid);
    }
    plugin_drain(plugin, child);
    if (child->printed >= 0)
        close(child->printed);
    control_copy(plugin, control);
    return outcome;
}

/* ---- its beginning ------------------------------------------------------------- */

static void pair_close(const int ends[2])
{
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0)
            close(ends[i]);
    }
}

/* Three pipes: what it prints, questions, answers. */
struct pipes {
    int printed[2], ask[2], say[2];
};

static bool pipes_make(struct pipes *p, bool asked)
{
    *p = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
    if (pipe(p->printed) == 0 && (!asked || (pipe(p->ask) == 0 && pipe(p->say) == 0)))
        return true;
    pair_close(p->printed);
    pair_close(p->ask);
    pair_close(p->say);
    return false;
}

bool plugin_start(struct plugin *plugin, struct control *control, plugin_work *work, void *arg,
                  bool asked, struct child *child)
{
    const pid_t judge = getpid();
    struct pipes pipes;

    memset(control, 0, sizeof *control);
    if (!pipes_make(&pipes, asked))
        return false;
    fflush(stdout);
    child->pid = fork();
    if (child->pid == 0) {
        plugin->control = control;
        *child = (struct child){ 0, pipes.printed[1], pipes.ask[0], pipes.say[1] };
        guard_limits(plugin, child);
        judge_shield(judge);
        plugin_child(plugin, work, arg);
        _exit(0);
    }
    close(pipes.printed[1]);
    if (asked) {
        close(pipes.ask[0]);
        close(pipes.say[1]);
    }
    if (child->pid > 0) {
        child->printed = pipes.printed[0];
        child->ask = pipes.ask[1];
        child->say = pipes.say[0];
        fcntl(child->printed, F_SETFL, O_NONBLOCK);
        return true;
    }
    child->pid = 0;
    close(pipes.printed[0]);
    if (asked) {
        close(pipes.ask[1]);
        close(pipes.say[0]);
    }
    return false;
}

struct outcome plugin_fork(struct plugin *plugin, plugin_work *work, void *arg)
{
    struct child child;

    if (!plugin_start(plugin, plugin->control, work, arg, false, &child))
        return (struct outcome){ .ending = NO_CHILD };
    return plugin_wait(plugin, plugin->control, &child, plugin->seconds);
}
