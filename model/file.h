/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Files of a model's folder. They are read, not mapped: a file that shrinks beside a mapping ends
 * the process.
 */
#ifndef MODEL_FILE_H
#define MODEL_FILE_H

#include <heed/heed.h>

#include <stdbool.h>

struct file {
    int handle;
    int64_t bytes;
};

/* Opens a regular file of a folder; `name` is one of the program's own, never one out of a file.
 * HEED_E_NOT_FOUND there is none; HEED_E_VALUE it is not regular, or longer than `most`. */
heed_status file_open(const char *folder, const char *name, int64_t most, struct file *file,
                      heed_report *report);
void file_close(struct file *file);

/* Bytes begin .. begin + bytes - 1; HEED_E_VALUE where the file ends before. */
heed_status file_read(const struct file *file, int64_t begin, int64_t bytes, void *to,
                      heed_report *report);

/* All of a small file, malloc'd, with a NUL behind it. */
heed_status file_load(const char *folder, const char *name, int64_t most, char **text,
                      size_t *bytes, heed_report *report);

#endif
