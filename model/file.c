/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L

#include "file.h"

#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 4096, PIECE = 1 << 30 };

heed_status file_open(const char *folder, const char *name, int64_t most, struct file *file,
                      heed_report *report)
{
    char path[PATH];
    struct stat state;
    int handle;

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= PATH)
        return say(report, HEED_E_VALUE, name, PATH, 0, "the folder's name is too long");
    handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (handle < 0)
        return say(report, HEED_E_NOT_FOUND, name, 0, errno, "%s: %s", path, strerror(errno));
    if (fstat(handle, &state) != 0 || !S_ISREG(state.st_mode)) {
        close(handle);
        return say(report, HEED_E_VALUE, name, 0, 0, "%s is not a regular file", path);
    }
    if (state.st_size > most) {
        close(handle);
        return say(report, HEED_E_VALUE, name, most, state.st_size,
                   "a file of %lld bytes: at most %lld are read", (long long)state.st_size,
                   (long long)most);
    }
    *file = (struct file){ handle, state.st_size };
    return HEED_OK;
}

void file_close(struct file *file)
{
    if (file->handle >= 0)
        close(file->handle);
    file->handle = -1;
}

heed_status file_read(const struct file *file, int64_t begin, int64_t bytes, void *to,
                      heed_report *report)
{
    for (int64_t done = 0; done < bytes;) {
        const int64_t left = bytes - done;
        const ssize_t got = pread(file->handle, (char *)to + done,
                                  (size_t)(left < PIECE ? left : PIECE), begin + done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return say(report, HEED_E_VALUE, "file", begin + bytes, begin + done, "%s",
                       got < 0 ? strerror(errno) : "the file has become shorter");
        done += got;
    }
    return HEED_OK;
}

heed_status file_load(const char *folder, const char *name, int64_t most, char **text,
                      size_t *bytes, heed_report *report)
{
    struct file file;
    heed_status status = file_open(folder, name, most, &file, report);
    char *all;

    if (status < 0)
        return status;
    all = malloc((size_t)file.bytes + 1);
    status = all ? file_read(&file, 0, file.bytes, all, report)
                 : say_no_memory(report, file.bytes);
    file_close(&file);
    if (status < 0) {
        free(all);
        return status;
    }
    all[file.bytes] = 0;
    *text = all;
    *bytes = (size_t)file.bytes;
    return HEED_OK;
}
