/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Functions of MPI that count what passes through them, or fail when they are told, by the
 * profiling interface that every MPI has (MPI 3.1, section 14).
 */
#include "world.h"

struct traffic traffic;

static uint64_t bytes_of(int count, MPI_Datatype type)
{
    int size = 0;

    PMPI_Type_size(type, &size);
    return (uint64_t)size * (uint64_t)count;
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    const uint64_t bytes = bytes_of(count, type);

    traffic.longest = bytes > traffic.longest ? bytes : traffic.longest;
    traffic.bytes_out += bytes;
    traffic.messages_out++;
    return PMPI_Isend(buf, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    traffic.bytes_in += bytes_of(count, type);
    traffic.messages_in++;
    return PMPI_Irecv(buf, count, type, from, tag, comm, request);
}

int MPI_Alltoall(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype other,
                 MPI_Comm comm)
{
    if (traffic.fail_alltoall)
        return MPI_ERR_OTHER;
    return PMPI_Alltoall(from, n, type, to, m, other, comm);
}
