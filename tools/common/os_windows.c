/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows: os.h and streams.h. Files and streams are bytes, as everywhere else.
 */
#define WIN32_LEAN_AND_MEAN
#include "os.h"
#include "streams.h"

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

const char os_nowhere[] = "NUL";

void os_folder_make(const char *path)
{
    _mkdir(path);
}

void *os_memory(size_t size, size_t align)
{
    return _aligned_malloc(size, align);
}

void os_memory_free(void *memory)
{
    _aligned_free(memory);
}

/* A stream that is closed has no number here, and nothing takes one. */
void streams_keep(void)
{
    FILE *const streams[] = { stdin, stdout, stderr };

    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        if (_fileno(streams[i]) >= 0)
            _setmode(_fileno(streams[i]), _O_BINARY);
    }
    _fmode = _O_BINARY;
}

/* ---- the terminal ------------------------------------------------------------- */

/* A console that does what a terminal's controls say, or can be made to. */
bool os_draws(void)
{
    const HANDLE console = GetStdHandle(STD_ERROR_HANDLE);
    DWORD mode;

    return GetConsoleMode(console, &mode) != 0 &&
           SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

int os_columns(void)
{
    CONSOLE_SCREEN_BUFFER_INFO about;

    if (GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &about) == 0)
        return 0;
    return about.srWindow.Right - about.srWindow.Left + 1;
}

bool os_stdout_is_terminal(void)
{
    return _isatty(_fileno(stdout)) != 0;
}

void os_stderr_write(const char *text, size_t n)
{
    DWORD done;

    WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, (DWORD)n, &done, NULL);
}

static void (*leave_by)(void);

/* FALSE: the system goes on with what it would have done. */
static BOOL WINAPI end_by(DWORD why)
{
    (void)why;
    leave_by();
    return FALSE;
}

void os_at_end(void (*leave)(void))
{
    leave_by = leave;
    SetConsoleCtrlHandler(end_by, TRUE);
}

/* ---- threads ------------------------------------------------------------------- */

bool os_stir_begin(void)
{
    return true;
}

/* It may hold any lock while it is stopped: nothing that takes one is called before it goes on. */
void os_stir(pthread_t thread)
{
    const HANDLE handle = pthread_gethandle(thread);

    if (handle == NULL || SuspendThread(handle) == (DWORD)-1)
        return;
    SleepEx(0, FALSE);
    ResumeThread(handle);
}

void os_stir_end(void)
{
}
