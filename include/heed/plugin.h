/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel of somebody else behind heed's own descriptor: the one function that a plug-in exports
 * and the tables that it exchanges with its host. A plug-in needs the headers and links nothing of
 * heed. The host of today is `heed-conform --plugin`, which judges the kernel.
 */
#ifndef HEED_PLUGIN_H
#define HEED_PLUGIN_H

#include <heed/attn.h>
#include <heed/memory.h>
#include <heed/nn.h>
#include <heed/pool.h>
#include <heed/programs.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file plugin.h
 *
 * @section plugin A kernel as a plug-in
 *
 * A plug-in is a shared object that exports heed_kernel_entry(). The host opens it by an explicit
 * path, calls the entry once, and then, for every problem: query, prepare, any number of runs,
 * release. examples/plugin/ has complete ones.
 *
 * - **Operations** have names, those of their functions: "pool" is the one of heed_pool_plan(),
 *   whose descriptor is a heed_pool_desc, and so on; the programs are "lsg" and "poolingformer2"
 *   with heed_lsg_program_desc and heed_poolingformer_level2_desc. heed-conform --help lists them.
 *   A plug-in refuses names that it does not know: more may come with a minor version.
 * - **Meaning.** The descriptors, the arguments of their runs and docs/numerics.md say what must be
 *   computed. Before query the host has made sure that check of the "reference" device accepts the
 *   descriptor: no plug-in has to find mistakes in it. Its `numerics` is what the plug-in's table
 *   claims.
 * - **Operands.** run takes the arrays as heed_plan_run() does: one place for each row of
 *   heed_plan_operands(), which are the members of the operation's arguments in their order; of
 *   attention see heed_attn_args_of().
 * - **Refusing is honest.** query says HEED_E_UNSUPPORTED to whatever the kernel does not do, and
 *   names the field. What query accepts, prepare and run must do.
 * - **Memory** is the host processor's: heed_buf.handle is an address. Inputs may lie in memory
 *   that cannot be written, and what lies around an array may not be accessible: a kernel touches
 *   the elements that the descriptor and the arguments name and nothing else. It writes every
 *   element of an output but those that the operation leaves alone, in every run.
 * - **Memory of a device.** A plug-in whose table says so gets operands and workspace in memory of
 *   an OpenCL or a CUDA device: heed_buf.handle is a cl_mem, or a CUdeviceptr made a pointer, as in
 *   heed/opencl.h and heed/cuda.h, and `offset` counts bytes from there. Context, device and queue
 *   are the host's (heed_host_device). The rules above hold there as well. Descriptor and constant
 *   data lie in the host processor's memory all the same.
 * - **Nothing is kept.** The descriptor, the arrays that it points to and constant data may go when
 *   prepare returns; the memory of the arguments may go when run returns. Outputs are final then.
 *   With memory of a device, "when run returns" is: when what run gave to the host's queue is
 *   complete. Run may wait for that, and need not.
 * - **Tables** are sized. The host sets `size` of what it gives and of what it takes; either side
 *   touches only what both know. The major version must be the same, the minor one need not. New
 *   members come at the end, and a function that is NULL is one that the plug-in does not have.
 * - **Threads.** The host calls the entry once. query may be called at any time; prepare, run and
 *   release of different states at the same time; run and release of one state one after another.
 *   A plug-in must leave no thread, no process and no change of the floating-point environment
 *   behind when a function returns; threads that wait for work are allowed until release. Handlers
 *   and mask of signals, limits, alarm, working folder, file mask and standard files of the process
 *   stay as they are.
 */

enum {
    HEED_PLUGIN_MAJOR = 3,
    HEED_PLUGIN_MINOR = 1
};

/**
 * A device of the host's and a queue on it, for plug-ins that want operands in its memory. The
 * objects stay the host's and live as long as the plug-in is loaded.
 */
typedef struct heed_host_device {
    uint32_t size, kind;     /**< kind: that of the plug-in's table; 0: there is no device. */
    void *context;           /**< cl_context; CUcontext, current in the thread that calls. */
    void *device;            /**< cl_device_id; of CUDA NULL. */
    /** cl_command_queue, in order, or CUstream. What is given to it runs after all that the host
     * gave to it before, and what run computes must be complete when this queue is: work on another
     * queue waits for what is in this one by an event, and this one for that work. */
    void *queue;
    int64_t ordinal;         /**< CUdevice; N of OpenCL's device "opencl:N". */
} heed_host_device;

/**
 * What the host offers. Every pointer is valid, and everything lives as long as the plug-in is
 * loaded. No plug-in has to use any of it.
 */
typedef struct heed_host_api {
    uint32_t size, major, minor, reserved;
    const heed_allocator *allocator;   /**< For states and scratch. */
    const heed_executor *executor;     /**< For work on several threads; `parallel` is given. */
    const heed_logger *logger;         /**< For remarks to people. */
    /** Since minor version 1. Its `kind` is 0 in the entry; from query on it is what the table of
     * the plug-in has asked for. */
    const heed_host_device *device;
} heed_host_api;

/**
 * What a plug-in is. The entry fills it. The texts and `self` stay the plug-in's own and live as
 * long as it is loaded.
 */
typedef struct heed_kernel_api {
    /** The host sets how much it knows, the plug-in how much of that it has filled. */
    uint32_t size;
    uint32_t major, minor;             /**< HEED_PLUGIN_MAJOR, HEED_PLUGIN_MINOR. */
    /** The claim about bits: HEED_NUMERICS_EXACT, those of the "reference" device;
     * HEED_NUMERICS_REPEAT, the same ones every time, wherever the arrays lie;
     * HEED_NUMERICS_FAST, any within the bound of docs/numerics.md. */
    uint32_t numerics;
    const char *name;                  /**< For reports, "mylib flash f32"; not NULL. */
    const char *build;                 /**< Version and compiler, for reports; may be NULL. */

    /**
     * Says whether the kernel does this. Has no side effect.
     *
     * @param self   that of this table.
     * @param op     name of the operation.
     * @param desc   its descriptor; legal, see above.
     * @param report the status, the field that is the reason, and a sentence; never NULL.
     * @return HEED_OK, then prepare must succeed; HEED_E_UNSUPPORTED, then the host takes another
     *   kernel (heed-conform counts a skip, by field). Nothing else is allowed. The field "op" says
     *   that the kernel does nothing of this operation, so that nobody asks about it further.
     */
    heed_status (*query)(void *self, const char *op, const void *desc, heed_report *report);

    /**
     * Makes what the runs of one problem need.
     *
     * @param op    name of the operation.
     * @param desc  one that query accepts.
     * @param state receives an object of the plug-in's, which release ends; may be set to NULL.
     * @param props the host sets `size`. The plug-in sets workspace_size and workspace_align, if
     *   its runs need memory; all else, numerics too, may stay as it is, which is zero.
     * @return HEED_OK; HEED_E_NOMEM, the host may free memory and try again; with memory of a
     *   device HEED_E_KERNEL_BUILD, the vendor's compiler refused the kernel, and HEED_E_DEVICE,
     *   any other error of the vendor's (to heed-conform both are failures). Nothing else is
     *   allowed. On an error there is nothing to release.
     */
    heed_status (*prepare)(void *self, const char *op, const void *desc, void **state,
                           heed_plan_props *props);

    /**
     * Computes. When it returns, the outputs are final.
     *
     * @param state that of prepare.
     * @param at    where element [0,...,0] of each operand lies; absent operands have no handle,
     *   nor have those whose data the descriptor had.
     * @param n     how many operands there are.
     * @param run   the workspace, of at least workspace_size bytes at a multiple of
     *   workspace_align (of a cl_mem its offset is that), with any contents; nothing to wait for.
     * @return HEED_OK; HEED_E_NOMEM, the host may free memory and try again; HEED_E_DEVICE as of
     *   prepare. Nothing else is allowed.
     */
    heed_status (*run)(void *state, const heed_buf *at, uint32_t n, const heed_run *run);

    /** Ends what prepare made. Touches no array. */
    void (*release)(void *state);

    void *self;                        /**< Given back to query and prepare; may be NULL. */

    /**
     * Of attention: the type to which the kernel rounds a weight, exp(y - max), before it
     * multiplies v with it: 0 or HEED_F32, it keeps binary32 or more; HEED_F16; HEED_BF16. Such a
     * kernel's bound is wider by one such rounding of each weight, in the products and in their
     * sum. It does not go with HEED_NUMERICS_EXACT.
     */
    uint32_t weights;
    /**
     * Since minor version 1: HEED_DEVICE_OPENCL or HEED_DEVICE_CUDA, operands and workspace lie in
     * memory of such a device; 0 or HEED_DEVICE_CPU, in the host processor's. A host whose table
     * ends before `device` knows the latter alone: such a plug-in answers HEED_E_SIZE then.
     */
    uint32_t memory;
} heed_kernel_api;

/**
 * The operands of an attention as its arguments: q, o or state_out, lse, sinks, state_in, then k
 * and v of each source, then the slots. Points into `at`. Both o and state_out are the second:
 * the descriptor says which of them it is.
 *
 * @param n_sources that of the descriptor.
 */
static inline heed_attn_args heed_attn_args_of(const heed_buf *at, uint32_t n, uint32_t n_sources,
                                               const heed_run *run)
{
    const uint32_t first_slot = 5 + 2 * n_sources;
    heed_attn_args args;

    args.size = sizeof args;
    args.kv_size = sizeof(heed_kv_bufs);
    args.q = at[0];
    args.o = args.state_out = at[1];
    args.lse = at[2];
    args.sinks = at[3];
    args.state_in = at[4];
    args.kv = (const heed_kv_bufs *)(const void *)(at + 5);
    args.slots = at + first_slot;
    args.n_slots = n - first_slot;
    args.workspace = run->workspace;
    args.workspace_size = run->workspace_size;
    args.wait = NULL;
    args.n_wait = 0;
    return args;
}

#if defined _WIN32
#define HEED_PLUGIN_EXPORT __declspec(dllexport)
#elif defined __GNUC__
#define HEED_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define HEED_PLUGIN_EXPORT
#endif

/** Name of the function below, for those who look it up. */
#define HEED_KERNEL_ENTRY "heed_kernel_entry"

/**
 * The only name that a plug-in exports; heed itself does not define it. Called once.
 *
 * @param host_major HEED_PLUGIN_MAJOR of the host.
 * @param host       what the host offers; lives as long as the plug-in is loaded.
 * @param out        zeroed but for `size`; to be filled as far as `size` reaches.
 * @return HEED_OK;
 *   HEED_E_NEWER the host speaks another major version; nothing was written;
 *   HEED_E_SIZE the host's tables end before what the plug-in cannot do without;
 *   HEED_E_UNSUPPORTED this processor cannot run the kernel;
 *   HEED_E_NOMEM there is no memory.
 */
HEED_PLUGIN_EXPORT heed_status heed_kernel_entry(uint32_t host_major, const heed_host_api *host,
                                                 heed_kernel_api *out);

/** Type of heed_kernel_entry(). */
typedef heed_status heed_kernel_entry_type(uint32_t host_major, const heed_host_api *host,
                                           heed_kernel_api *out);

#ifdef __cplusplus
}
#endif

#endif
