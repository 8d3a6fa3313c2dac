/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * POSIX systems: os.h and streams.h. What stands for a closed stream is open for the other
 * direction, so that EBADF is what using it gives, and a program whose output goes nowhere says so.
 */
#define _DEFAULT_SOURCE            /* sigaction, isatty, winsize in strict C */
#include "os.h"
#include "streams.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char os_nowhere[] = "/dev/null";

void os_folder_make(const char *path)
{
    mkdir(path, 0777);
}

void *os_memory(size_t size, size_t align)
{
    void *memory;

    return posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size) == 0
               ? memory
               : NULL;
}

void os_memory_free(void *memory)
{
    free(memory);
}

void streams_keep(void)
{
    static const int ways[] = {
        [STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_RDONLY
    };

    for (int i = 0; i < (int)(sizeof ways / sizeof *ways); i++) {
        if (fcntl(i, F_GETFD) < 0 && open(os_nowhere, ways[i]) < 0)  /* takes the first number */
            return;
    }
}

/* ---- the terminal ------------------------------------------------------------- */

bool os_draws(void)
{
    const char *const term = getenv("TERM");

    return term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO);
}

int os_columns(void)
{
#ifdef TIOCGWINSZ
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0)
        return size.ws_col;
#endif
    return 0;
}

bool os_stdout_is_terminal(void)
{
    return isatty(STDOUT_FILENO);
}

void os_stderr_write(const char *text, size_t n)
{
    while (n > 0) {
        const ssize_t done = write(STDERR_FILENO, text, n);

        if (done <= 0)
            return;
        text += done;
        n -= (size_t)done;
    }
}

static void (*leave_by)(void);

/* Of a signal that ends this process, by what it did before. */
static void end_by(int number)
{
    leave_by();
    raise(number);
}

void os_at_end(void (*leave)(void))
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    struct sigaction action = { .sa_handler = end_by, .sa_flags = (int)SA_RESETHAND }, old;

    leave_by = leave;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(ends[i], &action, NULL);
    }
}

/* ---- threads ------------------------------------------------------------------- */

enum { STIR = SIGURG };

static struct sigaction before;

static void wait_a_moment(int number)
{
    (void)number;
    nanosleep(&(struct timespec){ 0, OS_STIR_NS }, NULL);
}

bool os_stir_begin(void)
{
    struct sigaction action = { .sa_handler = wait_a_moment, .sa_flags = SA_RESTART };

    sigemptyset(&action.sa_mask);
    return sigaction(STIR, &action, &before) == 0;
}

void os_stir(pthread_t thread)
{
    pthread_kill(thread, STIR);
}

void os_stir_end(void)
{
    sigaction(STIR, &before, NULL);
}
