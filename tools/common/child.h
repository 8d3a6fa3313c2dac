/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A child process: started, told, heard, waited for and ended with all that it has started. It
 * leads a session of its own, which is how its kin is found.
 */
#ifndef HEED_TOOLS_COMMON_CHILD_H
#define HEED_TOOLS_COMMON_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Pipes: what it reads, what it writes, and what it writes as errors. */
enum { CHILD_TO = 1, CHILD_FROM = 2, CHILD_ERRORS = 4 };

struct child {
    pid_t pid;                          /* 0: there is none */
    int status;                         /* of its end, as waitpid() has it */
    int to, from, errors;               /* -1: closed */
    /* Takes what it writes as errors while somebody waits for it: a full pipe would keep it. */
    void (*hear)(void *context, const char *text, size_t n);
    void *context;
    const struct child *sibling;        /* not to be ended with this one's kin; NULL: nobody */
};

/* As fork(): 0 in the child, whose ends of the pipes its copy of the struct has; -1: there is no
 * process, or no pipe. hear, context and sibling are the caller's and stay. */
pid_t child_fork(struct child *, unsigned pipes);
/* A command of the shell, whose standard streams the pipes are. false: there is no process. */
bool child_command(struct child *, const char *command, unsigned pipes);
/* Of one that has ended: why the shell could not start its command; NULL: it could. */
const char *child_not_started(const struct child *);

/* Its input ends, and nobody reads its output any more. */
void child_close(struct child *);
enum { CHILD_RUNS, CHILD_STOPPED, CHILD_ENDED };
/* Waits so long for it to end, or to be stopped by a signal; CHILD_EVER: for its end alone, and
 * without waking up, or hearing it. */
enum { CHILD_EVER = -1 };
int child_wait(struct child *, int64_t milliseconds);
/* Ends it, if it runs, and what it has started. true: it had ended by itself, and processes that it
 * had started went on. */
bool child_end(struct child *);

/* ---- lines -------------------------------------------------------------------- */

enum { CHILD_LINE = 1 << 16 };

struct child_lines {
    char text[CHILD_LINE];
    size_t n, begin;                    /* bytes read; the line that comes next */
};

/* What became of a question. */
enum { HEARD, HEARD_END, HEARD_NOTHING, HEARD_RUBBISH };

/* Milliseconds of a clock that nobody sets. */
int64_t child_clock(void);
/* Writes all of it before the clock shows `end`. Writing to one that has ended is HEARD_END where
 * SIGPIPE is ignored. */
int child_tell(struct child *, const char *text, size_t n, int64_t end);
/* The next line, ended by 0, in *line: it is there until the next call. */
int child_line(struct child *, struct child_lines *, int64_t end, char **line);
/* HEARD: it has written nothing that nobody has read. */
int child_silent(struct child *, struct child_lines *);

/* From now on SIGINT and SIGTERM do not end this process but what it waits for in lines. */
void child_interrupts(void);
bool child_interrupted(void);

/* ---- child_linux.c, absent/child_posix.c ---------------------------------------- */

/* In a child: it ends when `parent`, which has made it, does, however that ends. Systems that do
 * not offer this let the child go on. */
void child_tie(pid_t parent);
/* Processes that lose their parents become this process's. */
void kin_adopt(void);
/* The children of a process that adopts, as far as the system names them. */
int kin_list(pid_t *list, int room);

#endif
