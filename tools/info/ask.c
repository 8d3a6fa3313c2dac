/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A child makes the runtime and describes one device after the other into a pipe, opened where that
 * is asked for, telling before each step what it is about to do. When it falls silent or dies, the
 * step it was at is the answer for that device, and another child goes on behind it. The parent
 * touches no driver.
 */
#define _POSIX_C_SOURCE 200809L

#include "steps.h"

#include "common/child.h"
#include "common/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(void *context, const struct message *message)
{
    const struct child *const child = context;

    if (write(child->from, message, sizeof *message) != (ssize_t)sizeof *message)
        _exit(EXIT_FAILURE);
}

struct asked {
    struct child child;
    struct message last;                /* END: it has come to its end */
    char fate[96];                      /* else what became of it, in words */
};

static heed_status begin(const heed_runtime_desc *desc, const struct ask *ask, uint32_t first,
                         struct asked *asked)
{
    const pid_t parent = getpid();
    pid_t pid;

    *asked = (struct asked){ .last.what = 0 };
    pid = child_fork(&asked->child, CHILD_FROM);
    if (pid == 0) {
        child_tie(parent);
        steps_describe(desc, ask, first, tell, &asked->child);
        _exit(EXIT_SUCCESS);
    }
    terminal_expect();
    return pid > 0 ? HEED_OK : HEED_E_NOMEM;
}

/* false: nothing came in time, or nothing will. */
static bool listen(const struct asked *asked, int seconds, struct message *message)
{
    struct pollfd ready = { .fd = asked->child.from, .events = POLLIN };
    int n;

    do
        n = poll(&ready, 1, seconds * 1000);
    while (n < 0 && errno == EINTR);
    return n > 0 && read(ready.fd, message, sizeof *message) == (ssize_t)sizeof *message;
}

enum { DYING_MS = 100, GIVING_BACK_MS = 2000 };

/* Says what became of a child that fell silent; ends it if it still runs. */
static void end(struct asked *asked, int seconds)
{
    const bool good = asked->last.what == END;
    const int how = child_wait(&asked->child, good ? GIVING_BACK_MS : DYING_MS);
    const int status = asked->child.status;

    terminal_wipe();                            /* of what the child has shown */
    if (how != CHILD_ENDED)
        snprintf(asked->fate, sizeof asked->fate, "the driver did not answer in %d s", seconds);
    else if (WIFSIGNALED(status))
        snprintf(asked->fate, sizeof asked->fate, "the driver ended the process (signal %d)",
                 WTERMSIG(status));
    else
        snprintf(asked->fate, sizeof asked->fate, "the driver ended the process (exit status %d)",
                 WEXITSTATUS(status));
    child_end(&asked->child);
}

/* The device at which a child stopped. */
static heed_status add_broken(struct found *found, const struct asked *asked)
{
    heed_device_props props = { .size = sizeof props, .width = 1, .usable = HEED_E_DEVICE };

    memcpy(props.name, asked->last.props.name, sizeof props.name);
    props.kind = strncmp(props.name, "opencl", 6) == 0 ? HEED_DEVICE_OPENCL
                 : strncmp(props.name, "cuda", 4) == 0 ? HEED_DEVICE_CUDA
                                                       : HEED_DEVICE_PLUGIN;
    snprintf(props.reason, sizeof props.reason, "%s", asked->fate);
    return steps_add(found, &props, "");
}

/* Which driver it was cannot be told: those of all vendors are listed in one go. */
static void miss_all(struct found *found, const struct asked *asked)
{
    static const struct {
        uint32_t kind;
        const char *name;
    } kinds[] = { { HEED_DEVICE_OPENCL, "opencl" }, { HEED_DEVICE_CUDA, "cuda" } };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        heed_report *const report = &found->missing[kinds[i].kind];

        report->status = HEED_E_DEVICE;
        found->built[kinds[i].kind] = true;
        snprintf(report->message, sizeof report->message, "%s: devices cannot be listed: %s",
                 kinds[i].name, asked->fate);
    }
}

heed_status ask_devices(const heed_runtime_desc *desc, const struct ask *ask, struct found *found,
                        heed_report *why)
{
    heed_status status = HEED_OK;
    uint32_t first = 0;

    *found = (struct found){ .count = 0 };
    while (status >= 0) {
        struct asked asked;
        struct message message;

        status = begin(desc, ask, first, &asked);
        if (status < 0)
            return status;
        while (status >= 0 && asked.last.what != END && listen(&asked, ask->seconds, &message)) {
            asked.last = message;
            status = steps_take(found, &message, why);
        }
        end(&asked, ask->seconds);
        if (status < 0 || asked.last.what == END)
            break;
        if (asked.last.what != OPENING) {
            miss_all(found, &asked);
            break;
        }
        status = add_broken(found, &asked);
        first = asked.last.index + 1;
    }
    return status;
}
