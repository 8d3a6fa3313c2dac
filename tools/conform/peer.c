/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program behind --peer: started, asked, waited for, ended. It has a process group of its own,
 * so that whatever it starts goes with it.
 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE

#include "peer.h"

#include "common/command.h"
#include "common/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Set by a signal that would end this program: files must be taken away first. */
static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

bool peer_interrupted(void)
{
    return interrupted;
}

/* ---- the process --------------------------------------------------------------- */

static void child_run(const char *command, const int questions[2], const int answers[2])
{
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    dup2(questions[0], 0);
    dup2(answers[1], 1);
    for (int i = 0; i < 2; i++) { /* numbers below 2: this program has no standard input */
        if (questions[i] > 1)
            close(questions[i]);
        if (answers[i] > 1)
            close(answers[i]);
    }
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static bool child_start(struct peer *peer)
{
    int questions[2], answers[2];

    if (pipe(questions))
        return false;
    if (pipe(answers)) {
        close(questions[0]);
        close(questions[1]);
        return false;
    }
    fflush(stdout);
    peer->child = (int)fork();
    if (peer->child == 0)
        child_run(peer->command, questions, answers);
    close(questions[0]);
    close(answers[1]);
    peer->out = questions[1];
    peer->in = answers[0];
    fcntl(peer->out, F_SETFD, FD_CLOEXEC);
    fcntl(peer->in, F_SETFD, FD_CLOEXEC);
    peer->n = peer->begin = 0;
    return peer->child > 0;
}

/* Closes both ends, and gives the program a moment to end by itself. */
static void child_stop(struct peer *peer, bool kindly)
{
    if (peer->in < 0)
        return;
    close(peer->out);
    close(peer->in);
    peer->in = peer->out = -1;
    if (peer->child <= 0)
        return;
    for (int i = 0; i < 200 && waitpid(peer->child, &peer->status, WNOHANG) == 0; i++) {
        if (!kindly || i == 199) {
            kill(-peer->child, SIGKILL);
            kill(peer->child, SIGKILL);
            waitpid(peer->child, &peer->status, 0);
            break;
        }
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    }
    kill(-peer->child, SIGKILL);
    peer->child = 0;
}

bool peer_open(struct peer *peer, const char *text, int64_t seconds)
{
    char rest;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    *peer = (struct peer){ .command = text, .seconds = seconds, .in = -1, .out = -1 };
    if (strncmp(text, "fd:", 3) != 0)
        return true;
    peer->command = NULL;
    return sscanf(text, "fd:%d,%d%c", &peer->in, &peer->out, &rest) == 2 && peer->in >= 0 &&
           peer->out >= 0;
}

void peer_close(struct peer *peer)
{
    child_stop(peer, true);
}

bool peer_alive(struct peer *peer)
{
    return peer->in >= 0 || (peer->command && child_start(peer));
}

/* ---- lines --------------------------------------------------------------------- */

/* In parts that a pipe with room takes at once: a peer that does not read must not stop the kit. */
static int all_write(struct peer *peer, const char *text, size_t n, int64_t end)
{
    while (n > 0) {
        struct pollfd wait = { .fd = peer->out, .events = POLLOUT };
        const int64_t left = end - now();
        ssize_t done;

        if (left <= 0 || interrupted)
            return HEARD_NOTHING;
        if (poll(&wait, 1, left > 1000 ? 1000 : (int)left) <= 0)
            continue;
        done = write(peer->out, text, n < _POSIX_PIPE_BUF ? n : _POSIX_PIPE_BUF);
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
static int more_read(struct peer *peer, int64_t end)
{
    struct pollfd wait = { .fd = peer->in, .events = POLLIN };
    const int64_t left = end - now();
    ssize_t n;

    if (peer->begin > 0) {
        peer->n -= peer->begin;
        memmove(peer->answer, peer->answer + peer->begin, peer->n);
        peer->begin = 0;
    }
    if (peer->n + 1 >= sizeof peer->answer)
        return HEARD_RUBBISH;
    if (left <= 0 || interrupted)
        return HEARD_NOTHING;
    if (poll(&wait, 1, left > 1000 ? 1000 : (int)left) <= 0)
        return HEARD;
    n = read(peer->in, peer->answer + peer->n, sizeof peer->answer - 1 - peer->n);
    if (n <= 0)
        return n < 0 && errno == EINTR ? HEARD : HEARD_END;
    peer->n += (size_t)n;
    return HEARD;
}

/* The next line, ended by 0, in *line. */
static int line_read(struct peer *peer, char **line)
{
    const int64_t end = now() + peer->seconds * 1000;
    size_t searched = 0;

    for (;;) {
        char *const from = peer->answer + peer->begin;
        char *const stop = memchr(from + searched, '\n', peer->n - peer->begin - searched);
        int heard;

        if (stop) {
            *stop = '\0';
            peer->begin = (size_t)(stop + 1 - peer->answer);
            *line = from;
            return strlen(from) == (size_t)(stop - from) ? HEARD : HEARD_RUBBISH;
        }
        searched = peer->n - peer->begin;
        heard = more_read(peer, end);
        if (heard != HEARD)
            return heard;
    }
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
    child_stop(peer, heard == HEARD_END);
    if (heard == HEARD_END && peer->command && !peer->answers)
        peer->missing = command_not_started(peer->status);
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
    else if (signal_of(peer->status))
        snprintf(answer->why, sizeof answer->why, "crash: the peer died of signal %d (%s)",
                 signal_of(peer->status), strsignal(signal_of(peer->status)));
    else
        snprintf(answer->why, sizeof answer->why, "exit: the peer ended with status %d",
                 WEXITSTATUS(peer->status));
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

/* What it wrote before it was asked answers nothing. */
static int unasked(struct peer *peer)
{
    struct pollfd wait = { .fd = peer->in, .events = POLLIN };

    if (peer->n == peer->begin && poll(&wait, 1, 0) <= 0)
        return HEARD;
    if (peer->n == peer->begin && more_read(peer, now() + 1000) == HEARD_END)
        return HEARD_END;
    peer->answer[peer->n] = '\0';
    return HEARD_RUBBISH;
}

void peer_ask(struct peer *peer, const char *line, struct peer_answer *answer)
{
    char *heard = NULL;
    int how = unasked(peer);

    *answer = (struct peer_answer){ .status = STATUS_LOST };
    if (how != HEARD) {
        lost(peer, answer, how, "more than one line");
        return;
    }
    how = all_write(peer, line, strlen(line), now() + peer->seconds * 1000);
    if (how == HEARD)
        how = all_write(peer, "\n", 1, now() + peer->seconds * 1000);
    if (how == HEARD)
        how = line_read(peer, &heard);
    if (how == HEARD && answer_parse(heard, answer)) {
        peer->answers = true;
        return;
    }
    if (heard)
        text_plain(heard);
    lost(peer, answer, how == HEARD ? HEARD_RUBBISH : how, heard);
}
