/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two pipes and a child. Writing to one that has ended must be an error, not a signal.
 */
#define _POSIX_C_SOURCE 200809L
#include "bench/peer.h"

#include "common/command.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct peer {
    pid_t child;                        /* 0: it has ended, */
    int status;                         /* as waitpid has it */
    FILE *to, *from;
};

static void close_pair(const int pair[2])
{
    if (pair[0] >= 0)
        close(pair[0]);
    if (pair[1] >= 0)
        close(pair[1]);
}

static void become(const char *command, const int in[2], const int out[2])
{
    if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0)
        _exit(126);
    close_pair(in);
    close_pair(out);
    signal(SIGPIPE, SIG_DFL);           /* it is this program alone that ignores it */
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

struct peer *peer_start(const char *command)
{
    int in[2] = { -1, -1 }, out[2] = { -1, -1 };
    struct peer *peer = calloc(1, sizeof *peer);

    if (peer == NULL)
        return NULL;
    if (pipe(in) != 0 || pipe(out) != 0)
        goto failed;
    signal(SIGPIPE, SIG_IGN);
    fflush(NULL);
    peer->child = fork();
    if (peer->child < 0)
        goto failed;
    if (peer->child == 0)
        become(command, in, out);
    close(in[0]);
    close(out[1]);
    peer->to = fdopen(in[1], "w");
    peer->from = fdopen(out[0], "r");
    if (peer->to != NULL && peer->from != NULL)
        return peer;
    peer_stop(peer);
    return NULL;
failed:
    close_pair(in);
    close_pair(out);
    free(peer);
    return NULL;
}

static void wait_for(struct peer *peer)
{
    while (peer->child > 0 && waitpid(peer->child, &peer->status, 0) < 0 && errno == EINTR) {
    }
    peer->child = 0;
}

void peer_stop(struct peer *peer)
{
    if (peer == NULL)
        return;
    if (peer->to != NULL)
        fclose(peer->to);
    if (peer->from != NULL)
        fclose(peer->from);
    wait_for(peer);
    free(peer);
}

const char *peer_not_started(const struct peer *peer)
{
    return peer->child > 0 ? NULL : command_not_started(peer->status);
}

bool peer_run(struct peer *peer, struct timing *out)
{
    char line[128];
    struct timing t = { 0 };

    if (fputs("run\n", peer->to) < 0 || fflush(peer->to) != 0 ||
        fgets(line, sizeof line, peer->from) == NULL) {
        wait_for(peer);
        return false;
    }
    if (sscanf(line, "%lf %lf", &t.cpu, &t.wall) != 2 || !(t.cpu > 0) || !(t.wall > 0))
        return false;
    *out = t;
    return true;
}
