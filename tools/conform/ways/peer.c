/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program behind --peer: what it is asked, what it answers, and how it is lost.
 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE

#include "peer.h"

#include "common/json.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { KIND_MS = 1000 };

/* ---- the process --------------------------------------------------------------- */

bool peer_open(struct peer *peer, const char *text, int64_t seconds)
{
    char rest;

    signal(SIGPIPE, SIG_IGN);
    child_interrupts();
    *peer = (struct peer){ .command = text,
                           .seconds = seconds,
                           .child = { .to = -1, .from = -1, .errors = -1 } };
    if (strncmp(text, "fd:", 3) != 0)
        return true;
    peer->command = NULL;
    return sscanf(text, "fd:%d,%d%c", &peer->child.from, &peer->child.to, &rest) == 2 &&
           peer->child.from >= 0 && peer->child.to >= 0;
}

/* Closes both ends; kindly: it has a moment to end by itself. */
static void stop(struct peer *peer, bool kindly)
{
    child_close(&peer->child);
    if (peer->child.pid && kindly)
        child_wait(&peer->child, KIND_MS);
    child_end(&peer->child);
}

void peer_close(struct peer *peer)
{
    stop(peer, true);
}

bool peer_alive(struct peer *peer)
{
    if (peer->child.from >= 0)
        return true;
    peer->lines.n = peer->lines.begin = 0;
    return peer->command && child_command(&peer->child, peer->command, CHILD_TO | CHILD_FROM);
}

/* ---- answers -------------------------------------------------------------------- */

/* What a program died of, or what the shell says that it died of. */
static int signal_of(int status)
{
    if (WIFSIGNALED(status))
        return WTERMSIG(status);
    return WIFEXITED(status) && WEXITSTATUS(status) > 128 ? WEXITSTATUS(status) - 128 : 0;
}

/* Ends the program: what it says from now on belongs to no question. */
static void lost(struct peer *peer, struct peer_answer *answer, int heard, const char *line)
{
    answer->status = STATUS_LOST;
    stop(peer, heard == HEARD_END);
    if (heard == HEARD_END && peer->command && !peer->answers)
        peer->missing = child_not_started(&peer->child);
    if (heard == HEARD_NOTHING)
        snprintf(answer->why, sizeof answer->why, "hang: no answer in %lld seconds",
                 (long long)peer->seconds);
    else if (heard == HEARD_RUBBISH)
        snprintf(answer->why, sizeof answer->why,
                 "rubbish: the peer wrote '%.80s', which is no "
                 "answer",
                 line ? line : "a line without an end");
    else if (!peer->command)
        snprintf(answer->why, sizeof answer->why, "exit: the peer is gone");
    else if (signal_of(peer->child.status))
        snprintf(answer->why, sizeof answer->why, "crash: the peer died of signal %d (%s)",
                 signal_of(peer->child.status), strsignal(signal_of(peer->child.status)));
    else
        snprintf(answer->why, sizeof answer->why, "exit: the peer ended with status %d",
                 WEXITSTATUS(peer->child.status));
}

/* What is no letter would disturb the lines of TAP. */
static void text_plain(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20)
            *text = ' ';
    }
}

static bool answer_parse(const char *line, struct peer_answer *answer)
{
    static const char *const words[] = { "ok", "refused", "error", "unknown" };
    char word[16];

    if (!json_object(line) || !json_member(line, "status", word, sizeof word))
        return false;
    json_member(line, "field", answer->field, sizeof answer->field);
    json_member(line, "why", answer->why, sizeof answer->why);
    text_plain(answer->field);
    text_plain(answer->why);
    for (int i = 0; i < 4; i++) {
        if (strcmp(word, words[i]))
            continue;
        answer->status = i;
        return i != STATUS_REFUSED || answer->field[0];
    }
    return false;
}

void peer_ask(struct peer *peer, const char *line, struct peer_answer *answer)
{
    int64_t end = child_clock() + peer->seconds * 1000;
    char *heard = NULL;
    int how = child_silent(&peer->child, &peer->lines);

    *answer = (struct peer_answer){ .status = STATUS_LOST };
    if (how != HEARD) {
        lost(peer, answer, how, "more than one line");
        return;
    }
    how = child_tell(&peer->child, line, strlen(line), end);
    if (how == HEARD)
        how = child_tell(&peer->child, "\n", 1, end);
    end = child_clock() + peer->seconds * 1000; /* for the answer, once it is asked */
    if (how == HEARD)
        how = child_line(&peer->child, &peer->lines, end, &heard);
    if (how == HEARD && answer_parse(heard, answer)) {
        peer->answers = true;
        return;
    }
    if (heard)
        text_plain(heard);
    lost(peer, answer, how == HEARD ? HEARD_RUBBISH : how, heard);
}
