/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows: system.h, and the parts of others that need more of a system than C has. Processes do
 * not fork here: what a format's reader may not touch cannot be taken away from it, so documents
 * that libraries of others take apart are not read.
 */
#define WIN32_LEAN_AND_MEAN
#include "../read.h"
#include "../system.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/* A stream that is closed has no number here, and nothing takes one. */
void system_streams(void)
{
    FILE *const streams[] = { stdin, stdout, stderr };

    for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++) {
        if (_fileno(streams[i]) >= 0)
            _setmode(_fileno(streams[i]), _O_BINARY);
    }
}

double system_clock(void)
{
    LARGE_INTEGER ticks, second;

    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&second);
    return (double)ticks.QuadPart / (double)second.QuadPart;
}

/* ---- the console ------------------------------------------------------------ */

int system_columns(void)
{
    CONSOLE_SCREEN_BUFFER_INFO about;

    if (GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &about) == 0)
        return 0;
    return about.srWindow.Right - about.srWindow.Left;
}

bool system_draw(const char *text, size_t n)
{
    DWORD done;

    return WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, (DWORD)n, &done, NULL) != 0;
}

static void (*leave_by)(void);

/* FALSE: the system goes on with what it would have done. */
static BOOL WINAPI end_by(DWORD why)
{
    (void)why;
    leave_by();
    return FALSE;
}

void system_at_end(void (*leave)(void))
{
    leave_by = leave;
    SetConsoleCtrlHandler(end_by, TRUE);
}

/* ---- documents -------------------------------------------------------------- */

bool apart_read(struct stream *stream, const struct format *format, const struct source *source,
                struct failure *why)
{
    (void)stream;
    (void)source;
    why->usage = true;
    snprintf(why->text, sizeof(why->text), "%s files are not read on this system", format->name);
    return false;
}

/* ---- character sets --------------------------------------------------------- */

static const struct { const char *name; UINT page; } sets[] = {
    { "koi8-r", 20866 }, { "koi8-u", 21866 }, { "gb2312", 936 }, { "gbk", 936 },
    { "gb18030", 54936 }, { "big5", 950 }, { "shift_jis", 932 }, { "euc-jp", 20932 },
    { "iso-2022-jp", 50220 }, { "euc-kr", 949 }, { "macintosh", 10000 },
};

/* 0: unknown. */
static UINT page_of(const char *charset)
{
    static const char iso[] = "iso-8859-", windows[] = "windows-", dos[] = "cp";
    static const struct { const char *prefix; long low, high; UINT from; } series[] = {
        { iso, 1, 15, 28590 }, { windows, 874, 1258, 0 }, { dos, 437, 1258, 0 },
    };

    for (size_t i = 0; i < sizeof(series) / sizeof(*series); i++) {
        const size_t length = strlen(series[i].prefix);
        const long number = _strnicmp(charset, series[i].prefix, length) == 0
                                ? strtol(charset + length, NULL, 10)
                                : 0;

        if (number >= series[i].low && number <= series[i].high)
            return series[i].from + (UINT)number;
    }
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
        if (_stricmp(charset, sets[i].name) == 0)
            return sets[i].page;
    }
    return 0;
}

/* What the system makes of bytes that are not of the set stands in their place. */
static char *convert(UINT page, const char *bytes, int size, size_t *length)
{
    const int units = MultiByteToWideChar(page, 0, bytes, size, NULL, 0);
    wchar_t *const wide = malloc(((size_t)units + 1) * sizeof(*wide));
    char *const text = malloc((size_t)units * 3 + 16);

    *length = 0;
    if (wide && text && units > 0) {
        MultiByteToWideChar(page, 0, bytes, size, wide, units);
        *length = (size_t)WideCharToMultiByte(CP_UTF8, 0, wide, units, text, units * 3 + 16, NULL,
                                              NULL);
    }
    free(wide);
    return text;
}

bool encoding_by_name(const char *charset, const char *bytes, size_t size, char **text,
                      size_t *length)
{
    const UINT page = page_of(charset);

    if (page == 0 || !IsValidCodePage(page) || size > INT32_MAX / 4)
        return false;
    *text = convert(page, bytes, (int)size, length);
    return true;
}

/* ---- the page ----------------------------------------------------------------- */

static bool about(const char *file, BY_HANDLE_FILE_INFORMATION *to)
{
    const HANDLE handle = CreateFileA(file, 0, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                                      OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    const bool known = handle != INVALID_HANDLE_VALUE &&
                       GetFileInformationByHandle(handle, to) != 0;

    if (handle != INVALID_HANDLE_VALUE)
        CloseHandle(handle);
    return known;
}

/* Whether a file is one of those that the text came from. */
static bool is_read(const struct inputs *in, const char *file)
{
    BY_HANDLE_FILE_INFORMATION there, read;

    if (!about(file, &there))
        return false;
    for (int64_t i = 0; i < in->n; i++) {
        if (about(in->list[i].name, &read) &&
            read.dwVolumeSerialNumber == there.dwVolumeSerialNumber &&
            read.nFileIndexHigh == there.nFileIndexHigh &&
            read.nFileIndexLow == there.nFileIndexLow)
            return true;
    }
    return false;
}

/* Written beside the file and put in its place when all of it is there. */
bool output_html_file(const char *file, const struct report *r, struct failure *why)
{
    const size_t size = strlen(file) + 16;
    char *beside;
    FILE *to;
    bool good;

    if (is_read(r->inputs, file)) {
        why->usage = true;
        return output_html_failed(why, "it is the file that is read");
    }
    beside = malloc(size);
    if (!beside)
        return output_html_failed(why, "not enough memory");
    snprintf(beside, size, "%s.%08lx", file, GetCurrentProcessId());
    to = fopen(beside, "wbx");
    good = to ? output_html_close(to, r, why) : output_html_failed(why, strerror(errno));
    if (good && !MoveFileExA(beside, file, MOVEFILE_REPLACE_EXISTING))
        good = output_html_failed(why, "the file cannot be replaced");
    if (to && !good)
        remove(beside);
    free(beside);
    return good;
}
