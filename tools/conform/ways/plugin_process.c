/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The parent of the processes in which a plug-in runs: it starts them, keeps what they print, and
 * says how they ended.
 */
#define _DEFAULT_SOURCE

#include "plugin.h"

#include <ctype.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what it prints ---------------------------------------------------------- */

/* Only the end of it is kept. */
static void said_add(void *context, const char *text, size_t n)
{
    struct plugin *const plugin = context;
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

/* ---- its end ----------------------------------------------------------------- */

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
    copy->device[sizeof copy->device - 1] = '\0';
    copy->why[sizeof copy->why - 1] = copy->changed[sizeof copy->changed - 1] = '\0';
    copy->report.field[sizeof copy->report.field - 1] = '\0';
    copy->report.message[sizeof copy->report.message - 1] = '\0';
}

struct outcome plugin_wait(struct plugin *plugin, struct control *control, struct child *child,
                           int64_t seconds)
{
    struct outcome outcome = { .ending = HUNG };

    if (child_wait(child, seconds * 1000) != CHILD_RUNS)
        outcome = outcome_of(child->status);
    outcome.left = child_end(child);
    control_copy(plugin, control);
    return outcome;
}

/* ---- its beginning ------------------------------------------------------------- */

bool plugin_start(struct plugin *plugin, struct control *control, plugin_work *work, void *arg,
                  bool asked, struct child *child)
{
    const pid_t judge = getpid();

    memset(control, 0, sizeof *control);
    *child = (struct child){ .hear = said_add, .context = plugin };
    if (!asked)
        child->sibling = &plugin->asked;
    if (child_fork(child, CHILD_ERRORS | (asked ? CHILD_TO | CHILD_FROM : 0)) == 0) {
        plugin->control = control;
        guard_limits(plugin, child);
        judge_shield(judge);
        plugin_child(plugin, work, arg);
        _exit(0);
    }
    return child->pid > 0;
}

struct outcome plugin_fork(struct plugin *plugin, plugin_work *work, void *arg)
{
    struct child child;

    if (!plugin_start(plugin, plugin->control, work, arg, false, &child))
        return (struct outcome){ .ending = NO_CHILD };
    return plugin_wait(plugin, plugin->control, &child, plugin->seconds);
}
