/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the shell says of a command that it cannot start is said by heed-bench, too. So what comes
 * on the standard error before the first answer waits, for a second at most, until it is known
 * whether there is a peer.
 */
#define _POSIX_C_SOURCE 200809L
#include "bench/peer.h"

#include "common/child.h"
#include "common/text.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELD_MS = 1000, END_MS = 2000 };

struct peer {
    const char *command;
    struct child child;                 /* pid 0: it has ended */
    int64_t seconds;                    /* that it has for an answer */
    int heard;                          /* what became of the last question */
    bool answered;                      /* it has, once */
    bool holds;                         /* what comes on its standard error */
    char held[512];
    size_t n_held;
    struct child_lines lines;
};

/* ---- what it says ---------------------------------------------------------------- */

static void release(struct peer *peer)
{
    fwrite(peer->held, 1, peer->n_held, stderr);
    peer->n_held = 0;
    peer->holds = false;
}

/* Takes what it writes on its standard error. */
static void hear(void *context, const char *text, size_t n)
{
    struct peer *const peer = context;
    const size_t room = sizeof peer->held - peer->n_held;

    if (peer->holds && n < room) {
        memcpy(peer->held + peer->n_held, text, n);
        peer->n_held += n;
        return;
    }
    release(peer);
    fwrite(text, 1, n, stderr);
}

struct peer *peer_start(const char *command, int64_t seconds)
{
    struct peer *peer = calloc(1, sizeof *peer);

    if (peer == NULL)
        return NULL;
    signal(SIGPIPE, SIG_IGN);
    *peer = (struct peer){ .command = command, .seconds = seconds, .holds = true,
                           .child = { .hear = hear, .context = peer } };
    if (child_command(&peer->child, command, CHILD_TO | CHILD_FROM | CHILD_ERRORS))
        return peer;
    free(peer);
    return NULL;
}

/* ---- its end --------------------------------------------------------------------- */

/* Of one that has ended: why the shell could not start it; NULL: it could. */
static const char *not_started(const struct peer *peer)
{
    return peer->answered ? NULL : child_not_started(&peer->child);
}

/* Its input ends, so that it ends by itself; if it does not, it is ended. */
static void end(struct peer *peer)
{
    if (peer->child.pid == 0)
        return;
    child_close(&peer->child);
    child_wait(&peer->child, END_MS);
    child_end(&peer->child);
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

    if (peer->heard == HEARD_NOTHING) {
        fprintf(stderr, "heed-bench: the peer did not answer in %lld s\n",
                (long long)peer->seconds);
        return EXIT_FAILED;
    }
    if (why == NULL) {
        fputs("heed-bench: the peer ended, or answered something else than two numbers\n", stderr);
        return EXIT_FAILED;
    }
    fprintf(stderr, "heed-bench: --peer %.80s: cannot be started: %s\n", peer->command, why);
    return EXIT_USAGE;
}

/* Its answer in *line. */
static int ask(struct peer *peer, char **line)
{
    static const char question[] = "run\n";
    const int64_t start = child_clock(), end = start + peer->seconds * 1000;
    int heard = child_tell(&peer->child, question, sizeof question - 1, end);

    if (heard == HEARD && peer->holds) {
        heard = child_line(&peer->child, &peer->lines, start + HELD_MS, line);
        if (heard != HEARD_NOTHING)
            return heard;
        release(peer);
        heard = HEARD;
    }
    return heard == HEARD ? child_line(&peer->child, &peer->lines, end, line) : heard;
}

static bool is_time(double seconds)
{
    return isfinite(seconds) && seconds > 0;
}

bool peer_run(struct peer *peer, struct timing *out)
{
    struct timing t = { 0 };
    char *line = NULL;

    if (peer->child.pid == 0)
        return false;
    peer->heard = ask(peer, &line);
    if (peer->heard != HEARD || sscanf(line, "%lf %lf", &t.cpu, &t.wall) != 2 ||
        !is_time(t.cpu) || !is_time(t.wall)) {
        end(peer);
        return false;
    }
    peer->answered = true;
    if (peer->holds)
        release(peer);
    *out = t;
    return true;
}
