/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed on OpenCL objects that the program has already: context, command queue,
 * events, memory. Needs the Khronos headers; the library itself needs neither
 * them nor an OpenCL loader to be built or to have these symbols. A program
 * without OpenCL objects of its own needs heed/heed.h only: the device "opencl:0".
 */
#ifndef HEED_OPENCL_H
#define HEED_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <heed/heed.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file opencl.h
 *
 * @section opencl_use Attention between a program's own kernels
 *
 * @code
 * // context, id, commands, q_mem, ..., written: the program's own
 * heed_device *device = NULL;
 * heed_queue *queue = NULL;
 * heed_event *before = NULL, *after = NULL;
 * cl_event done = NULL;
 *
 * if (heed_opencl_device(rt, context, id, &device, &why) < 0 ||
 *     heed_opencl_queue(device, commands, &queue, &why) < 0 ||
 *     heed_opencl_event(device, written, &before, &why) < 0 ||
 *     heed_attn_plan(device, &desc, &plan, &why) < 0)
 *     goto failed;
 * args.q.handle = q_mem;                       // a cl_mem; offset: bytes into it
 * args.wait = &before;
 * args.n_wait = 1;
 * if (heed_attn_run(plan, queue, &args, &after, &why) < 0 ||
 *     heed_opencl_event_get(after, &done) < 0)
 *     goto failed;
 * clEnqueueNDRangeKernel(commands, next, 1, NULL, &items, NULL, 1, &done, NULL);
 * clReleaseEvent(done);
 * @endcode
 *
 * Rules besides those of heed.h:
 * - **Memory.** heed_buf.handle is a cl_mem of the device's context, offset counts
 *   bytes into it. heed cannot see that two cl_mem share memory (sub-buffers, shared
 *   virtual memory): outputs must overlap nothing, and HEED_E_ALIAS is answered
 *   only where both have the same cl_mem.
 * - **Queues** in order and out of order: on both, a run is after what it waits for,
 *   its own parts are in order, and its event stands for all of it. On a queue out
 *   of order, name every dependency as an event.
 * - **No hidden waiting.** heed_attn_run() enqueues, flushes the queue, so that what
 *   waits for the run's event elsewhere need not, and returns; it never waits.
 * - **Threads** as in heed.h: one thread at a time for a heed_queue, and as
 *   OpenCL says for the program's own objects.
 */

/**
 * Makes a device over a context and one device of it. The context is retained until
 * the runtime is destroyed, which ends the device; it is not in the list of
 * devices. Tests the device like one of the list, so call it once and keep the result.
 * Any thread.
 *
 * @param runtime keeps the device.
 * @param context a context with `id` among its devices.
 * @param id      which device.
 * @param out     receives the device.
 * @param report  may be NULL.
 * @return HEED_OK;
 *   HEED_E_NULL an argument is NULL;
 *   HEED_E_NOT_BUILT this library has no OpenCL backend: the report says why;
 *   HEED_E_NOT_FOUND the OpenCL loader cannot be opened;
 *   HEED_E_MISMATCH `id` is not among the context's devices;
 *   HEED_E_NOMEM, HEED_E_DEVICE_NOMEM not enough memory: free some;
 *   HEED_E_UNSUPPORTED the device lacks what heed needs: the report names it;
 *   HEED_E_KERNEL_BUILD, HEED_E_DEVICE, HEED_E_DEVICE_LOST from the vendor: the report
 *     has the code.
 */
HEED_API HEED_MUST_CHECK heed_status heed_opencl_device(heed_runtime *runtime, cl_context context,
                                                        cl_device_id id, heed_device **out,
                                                        heed_report *report);

/**
 * Makes a queue over a command queue of the device's context, which is retained
 * until heed_queue_destroy(); that waits for the work in it. Any thread.
 *
 * @param device of heed_opencl_device(), or "opencl:N" where the program has
 *               learned its context.
 * @param commands in order or out of order, with or without profiling.
 * @param out    receives the queue.
 * @param report may be NULL.
 * @return HEED_OK;
 *   HEED_E_NULL an argument is NULL;
 *   HEED_E_NOT_BUILT this library has no OpenCL backend;
 *   HEED_E_MISMATCH `device` is no OpenCL device, or `commands` is of another context
 *     or device;
 *   HEED_E_UNSUPPORTED a queue that only kernels fill;
 *   HEED_E_NOMEM the allocator gave NULL; the device's `usable` when negative;
 *   HEED_E_DEVICE, HEED_E_DEVICE_LOST from the vendor: the report has the code.
 */
HEED_API HEED_MUST_CHECK heed_status heed_opencl_queue(heed_device *device,
                                                       cl_command_queue commands,
                                                       heed_queue **out, heed_report *report);

/**
 * Makes an event of heed's that stands for one of OpenCL's, to be given as a `wait` of
 * a run; user events too. Retained until heed_event_destroy(). Any thread.
 *
 * @param device the runs that will wait for it are on this device.
 * @param event  of the device's context.
 * @param out    receives the event.
 * @param report may be NULL.
 * @return HEED_OK; HEED_E_NULL an argument is NULL; HEED_E_NOT_BUILT; HEED_E_MISMATCH
 *   `device` is no OpenCL device, or `event` is of another context; HEED_E_NOMEM;
 *   the device's `usable`; HEED_E_DEVICE, HEED_E_DEVICE_LOST.
 */
HEED_API HEED_MUST_CHECK heed_status heed_opencl_event(heed_device *device, cl_event event,
                                                       heed_event **out, heed_report *report);

/**
 * The OpenCL event behind an event of a run on an OpenCL device. Retained for the
 * caller, who releases it by clReleaseEvent(); it may outlive `event`. Any thread.
 *
 * @param out receives the event.
 * @return HEED_OK; HEED_E_NULL an argument is NULL; HEED_E_NOT_BUILT; HEED_E_MISMATCH the
 *   event is of another kind of device; HEED_E_UNSUPPORTED the run was complete when it
 *   returned and there is nothing to wait for; HEED_E_DEVICE.
 */
HEED_API HEED_MUST_CHECK heed_status heed_opencl_event_get(const heed_event *event, cl_event *out);

#ifdef __cplusplus
}
#endif
#endif
