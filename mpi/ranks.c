/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What every file of libheed-mpi uses: reports, what ranks agree on, memory.
 */
#include "ranks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The size of the first version of a report, which is the least that a caller may state. */
#define REPORT_V1 304

heed_status heed_mpi_fill(heed_report *report, heed_status status, const char *field,
                          int64_t wanted, int64_t got, const char *format, ...)
{
    va_list arguments;

    *report =
        (heed_report){ .size = sizeof *report, .status = status, .wanted = wanted, .got = got };
    snprintf(report->field, sizeof report->field, "%s", field);
    va_start(arguments, format);
    vsnprintf(report->message, sizeof report->message, format, arguments);
    va_end(arguments);
    return status;
}

heed_status heed_mpi_result(heed_report *report, int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;

    if (code == MPI_SUCCESS)
        return HEED_OK;
    MPI_Error_string(code, text, &length);
    for (char *at = text; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    heed_mpi_fill(report, HEED_E_DEVICE, "comm", 0, 0, "%s: %s", call, text);
    report->native_code = code;
    return HEED_E_DEVICE;
}

heed_status heed_mpi_tell(heed_report *caller, const heed_report *report)
{
    if (caller && caller->size >= REPORT_V1) {
        const uint32_t size = caller->size;

        memcpy(caller, report, size < sizeof *report ? size : sizeof *report);
        caller->size = size;
    }
    return report->status;
}

heed_status heed_mpi_agree(const struct heed_mpi_team *team, heed_status mine, heed_report *report)
{
    struct {
        int status, rank;
    } in = { mine < 0 ? mine : 0, team->rank }, out;
    heed_report theirs;
    heed_status status = heed_mpi_result(
        report, MPI_Allreduce(&in, &out, 1, MPI_2INT, MPI_MINLOC, team->comm), "MPI_Allreduce");

    if (status < 0 || out.status == 0)
        return status;
    theirs = *report;
    status = heed_mpi_result(
        report, MPI_Bcast(&theirs, sizeof theirs, MPI_BYTE, out.rank, team->comm), "MPI_Bcast");
    if (status < 0)
        return status;
    *report = theirs;
    if (strncmp(theirs.message, "rank ", 5) != 0)
        snprintf(report->message, sizeof report->message, "rank %d: %.180s", out.rank,
                 theirs.message);
    return theirs.status;
}

heed_status heed_mpi_sized(heed_report *report, const void *given, uint32_t size, size_t v1,
                           void *to, size_t known, const char *field)
{
    if (size < v1)
        return heed_mpi_fill(report, HEED_E_SIZE, field, (int64_t)v1, size,
                             "the size is below that of the first version");
    for (size_t i = known; i < size; i++) {
        if (((const char *)given)[i] != 0)
            return heed_mpi_fill(report, HEED_E_NEWER, field, (int64_t)known, size,
                                 "bytes beyond what this library knows are not zero");
    }
    memset(to, 0, known);
    memcpy(to, given, size < known ? size : known);
    return HEED_OK;
}

/* ---- memory ---- */

/* Before the memory that is handed out; both are aligned as buffers are. */
struct heed_mpi_block {
    struct heed_mpi_block *next;
    heed_buf buf;
};
enum { HEADER = 64 };

void *heed_mpi_take(struct heed_mpi_memory *memory, int64_t count, size_t size, bool raw)
{
    struct heed_mpi_block *block;
    uint64_t bytes;
    heed_buf buf;

    if (count < 0 || (size > 0 && (uint64_t)count > (INT64_MAX - HEADER) / size))
        return NULL;
    bytes = HEADER + (uint64_t)count * size;
    if (heed_buf_create(memory->device, bytes, &buf, NULL) < 0)
        return NULL;
    block = buf.handle;
    *block = (struct heed_mpi_block){ memory->blocks, buf };
    memory->blocks = block;
    memory->bytes += bytes;
    if (!raw)
        memset((char *)block + HEADER, 0, (size_t)(bytes - HEADER));
    return (char *)block + HEADER;
}

void heed_mpi_release(struct heed_mpi_memory *memory)
{
    while (memory->blocks) {
        const heed_buf buf = memory->blocks->buf;

        memory->blocks = memory->blocks->next;
        heed_buf_destroy(memory->device, buf);
    }
}
