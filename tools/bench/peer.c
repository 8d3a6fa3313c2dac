/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Three pipes and a child, which has a process group of its own, so that whatever it starts goes
 * with it. Writing to one that has ended must be an error, not a signal.
 *
 * What the shell says of a command that it cannot start is said by heed-bench, too. So what comes
 * on the standard error before the first answer waits, for a second at most, until it is known
 * whether there is a peer.
 */
#define _POSIX_C_SOURCE 200809L
#include "bench/peer.h"

#include "common/command.h"
#include "common/text.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HELD_MS = 1000, END_MS = 2000, STEP_MS = 5, LINE = 128 };

struct peer {
    const char *command;
    pid_t child;                        /* 0: it has ended, */
    int status;                         /* as waitpid has it */
    int to, from, errors;               /* -1: closed */
    bool answered;                      /* it has, once */
    bool holds;                         /* what comes on its standard error */
    char line[LINE], held[512];
    size_t n_line, n_held;
};

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

static void close_pair(int pair[2])
{
    close_end(&pair[0]);
    close_end(&pair[1]);
}

static void become(const char *command, int pipes[3][2])
{
    setpgid(0, 0);
    if (dup2(pipes[0][0], STDIN_FILENO) < 0 || dup2(pipes[1][1], STDOUT_FILENO) < 0
        || dup2(pipes[2][1], STDERR_FILENO) < 0)
        _exit(126);
    for (int i = 0; i < 3; i++) {
        for (int end = 0; end < 2; end++) {     /* this program may lack the first three */
            if (pipes[i][end] > STDERR_FILENO)
                close(pipes[i][end]);
        }
    }
    signal(SIGPIPE, SIG_DFL);           /* it is this program alone that ignores it */
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

struct peer *peer_start(const char *command)
{
    int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
    struct peer *peer = calloc(1, sizeof *peer);

    if (peer == NULL)
        return NULL;
    if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0 || pipe(pipes[2]) != 0)
        goto failed;
    signal(SIGPIPE, SIG_IGN);
    fflush(NULL);
    peer->child = fork();
    if (peer->child < 0)
        goto failed;
    if (peer->child == 0)
        become(command, pipes);
    close(pipes[0][0]);
    close(pipes[1][1]);
    close(pipes[2][1]);
    peer->command = command;
    peer->to = pipes[0][1];
    peer->from = pipes[1][0];
    peer->errors = pipes[2][0];
    peer->holds = true;
    return peer;
failed:
    for (int i = 0; i < 3; i++)
        close_pair(pipes[i]);
    free(peer);
    return NULL;
}

/* ---- what it says ---------------------------------------------------------------- */

static void release(struct peer *peer)
{
    fwrite(peer->held, 1, peer->n_held, stderr);
    peer->n_held = 0;
    peer->holds = false;
}

/* One read of its standard error. False: there is no more. */
static bool hear_error(struct peer *peer)
{
    const ssize_t n = read(peer->errors, peer->held + peer->n_held,
                           sizeof peer->held - peer->n_held);

    if (n > 0)
        peer->n_held += (size_t)n;
    if (!peer->holds || peer->n_held == sizeof peer->held)
        release(peer);
    return n > 0 || (n < 0 && errno == EINTR);
}

/* One read of its standard output. False: it has ended, or its line is too long. */
static bool hear(struct peer *peer)
{
    const ssize_t n = read(peer->from, peer->line + peer->n_line, LINE - 1 - peer->n_line);

    if (n > 0)
        peer->n_line += (size_t)n;
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Takes the first line out of what was read. */
static bool take_line(struct peer *peer, char line[LINE])
{
    const char *const end = memchr(peer->line, '\n', peer->n_line);
    size_t length;

    if (end == NULL)
        return false;
    length = (size_t)(end - peer->line);
    memcpy(line, peer->line, length);
    line[length] = '\0';
    peer->n_line -= length + 1;
    memmove(peer->line, end + 1, peer->n_line);
    return true;
}

static bool await_line(struct peer *peer, char line[LINE])
{
    while (!take_line(peer, line)) {
        struct pollfd ends[] = { { .fd = peer->errors, .events = POLLIN },
                                 { .fd = peer->from, .events = POLLIN } };
        const int ready = poll(ends, 2, peer->holds ? HELD_MS : -1);

        if (ready == 0)
            release(peer);
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready > 0 && ends[0].revents != 0 && !hear_error(peer))
            close_end(&peer->errors);
        if (ready > 0 && ends[1].revents != 0 && !hear(peer))
            return false;
    }
    return true;
}

/* ---- its end --------------------------------------------------------------------- */

/* Reads on while it waits: a pipe that is full would keep the peer. */
static bool has_ended(struct peer *peer)
{
    struct pollfd errors = { .fd = peer->errors, .events = POLLIN };

    if (poll(&errors, 1, STEP_MS) > 0 && !hear_error(peer))
        close_end(&peer->errors);
    return waitpid(peer->child, &peer->status, WNOHANG) > 0;
}

/* Of one that has ended: why the shell could not start it; NULL: it could. */
static const char *not_started(const struct peer *peer)
{
    return peer->answered ? NULL : command_not_started(peer->status);
}

/* Its input ends, so that it ends by itself; if it does not, it is ended. */
static void end(struct peer *peer)
{
    struct pollfd errors = { .fd = peer->errors, .events = POLLIN };
    struct timespec start, now;
    bool ended = false;

    if (peer->child == 0)
        return;
    close_end(&peer->to);
    close_end(&peer->from);
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        ended = has_ended(peer);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (!ended && (now.tv_sec - start.tv_sec) * 1000
                           + (now.tv_nsec - start.tv_nsec) / 1000000 < END_MS);
    kill(-peer->child, SIGKILL);
    if (!ended) {
        kill(peer->child, SIGKILL);
        while (waitpid(peer->child, &peer->status, 0) < 0 && errno == EINTR) {
        }
    }
    peer->child = 0;
    for (errors.fd = peer->errors; errors.fd >= 0 && poll(&errors, 1, 0) > 0;) {
        if (!hear_error(peer))
            break;
    }
    close_end(&peer->errors);
    if (not_started(peer) == NULL)
        release(peer);
}

void peer_stop(struct peer *peer)
{
    if (peer == NULL)
        return;
    end(peer);
    free(peer);
}

int peer_failure(const struct peer *peer)
{
    const char *const why = not_started(peer);

    if (why == NULL) {
        fputs("heed-bench: the peer ended, or answered something else than two numbers\n", stderr);
        return EXIT_FAILED;
    }
    fprintf(stderr, "heed-bench: --peer %.80s: cannot be started: %s\n", peer->command, why);
    return EXIT_USAGE;
}

bool peer_run(struct peer *peer, struct timing *out)
{
    static const char question[] = "run\n";
    const ssize_t length = sizeof question - 1;
    char line[LINE];
    struct timing t = { 0 };

    if (peer->child == 0)
        return false;
    if (write(peer->to, question, (size_t)length) != length || !await_line(peer, line)
        || sscanf(line, "%lf %lf", &t.cpu, &t.wall) != 2 || !isfinite(t.cpu) || !isfinite(t.wall)
        || !(t.cpu > 0) || !(t.wall > 0)) {
        end(peer);
        return false;
    }
    peer->answered = true;
    if (peer->holds)
        release(peer);
    *out = t;
    return true;
}
