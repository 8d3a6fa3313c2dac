/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed on CUDA objects that the program has already: context, stream, events,
 * memory. Needs cuda.h of the CUDA toolkit (the driver API); the library itself
 * needs neither it nor a driver to be built or to have these symbols. A program
 * without CUDA objects of its own needs heed/heed.h only: the device "cuda:0".
 */
#ifndef HEED_CUDA_H
#define HEED_CUDA_H

#include <cuda.h>

#include <heed/heed.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file cuda.h
 *
 * @section cuda_use Attention between a program's own kernels
 *
 * @code
 * // context, ordinal, stream, q_ptr (CUdeviceptr), ..., written: the program's own
 * heed_device *device = NULL;
 * heed_queue *queue = NULL;
 * heed_event *before = NULL;
 *
 * if (heed_cuda_device(rt, context, ordinal, &device, &why) < 0 ||
 *     heed_cuda_queue(device, stream, &queue, &why) < 0 ||
 *     heed_cuda_event(device, written, &before, &why) < 0 ||
 *     heed_attn_plan(device, &desc, &plan, &why) < 0)
 *     goto failed;
 * args.q.handle = (void *)(uintptr_t)q_ptr;    // offset: bytes behind it
 * args.wait = &before;
 * args.n_wait = 1;
 * if (heed_attn_run(plan, queue, &args, NULL, &why) < 0)
 *     goto failed;
 * cuLaunchKernel(next, 64, 1, 1, 256, 1, 1, 0, stream, parameters, NULL);
 * @endcode
 *
 * Programs that use the runtime API have the primary context: cuCtxGetCurrent()
 * after any call of theirs gives it, and a cudaStream_t or cudaEvent_t is a CUstream
 * or CUevent.
 *
 * Rules besides those of heed.h:
 * - **Memory.** heed_buf.handle is (void *)(uintptr_t) of a CUdeviceptr, or any
 *   address that kernels of the device may use, such as managed memory.
 * - **Current context.** Every call that needs the context makes it current
 *   and puts back what it found. A destroyed context leaves its device lost:
 *   HEED_E_DEVICE_LOST.
 * - **No hidden waiting.** heed_attn_run() enqueues and returns.
 * - **Graphs.** heed_attn_run() can be captured, once the plan has run before, with
 *   a workspace of the caller's (HEED_PLAN_OWN_WORKSPACE ties runs together by events
 *   from outside the capture) and without `event`: else it answers HEED_E_UNSUPPORTED,
 *   nothing is enqueued, and the capture goes on. Plan and memory must live as long
 *   as the graph.
 * - **Threads** as in heed.h: one thread at a time for a heed_queue.
 */

/**
 * Makes a device over a context. The context stays the caller's and must live until the
 * runtime is destroyed, which ends the device; it is not in the list of devices.
 * Tests the device like one of the list, so call it once and keep the result.
 * Any thread.
 *
 * @param runtime keeps the device.
 * @param context a context of the device `ordinal`.
 * @param ordinal which device, as of cuDeviceGet().
 * @param out     receives the device.
 * @param report  may be NULL.
 * @return HEED_OK;
 *   HEED_E_NULL an argument is NULL;
 *   HEED_E_VALUE `ordinal` is negative;
 *   HEED_E_NOT_BUILT this library has no CUDA backend: the report says why;
 *   HEED_E_NOT_FOUND there is no driver, or no such device: the report says which;
 *   HEED_E_MISMATCH the context is of another device;
 *   HEED_E_NOMEM, HEED_E_DEVICE_NOMEM not enough memory: free some;
 *   HEED_E_UNSUPPORTED the device or driver lacks what heed needs: the report names it;
 *   HEED_E_KERNEL_BUILD, HEED_E_DEVICE, HEED_E_DEVICE_LOST from the vendor: the report
 *     has the code.
 */
HEED_API HEED_MUST_CHECK heed_status heed_cuda_device(heed_runtime *runtime, CUcontext context,
                                                      CUdevice ordinal, heed_device **out,
                                                      heed_report *report);

/**
 * Makes a queue over a stream of the device's context. The stream stays the caller's and
 * must live until heed_queue_destroy(), which waits for the work in it. Any thread.
 *
 * @param device of heed_cuda_device(), or "cuda:N", which uses the primary context.
 * @param stream NULL: the default stream of that context.
 * @param out    receives the queue.
 * @param report may be NULL.
 * @return HEED_OK;
 *   HEED_E_NULL `device` or `out` is NULL;
 *   HEED_E_NOT_BUILT this library has no CUDA backend;
 *   HEED_E_MISMATCH `device` is no CUDA device, or `stream` is of another context (a
 *     green context is one of its own);
 *   HEED_E_NOMEM the allocator gave NULL; the device's `usable` when negative;
 *   HEED_E_DEVICE, HEED_E_DEVICE_LOST from the vendor: the report has the code.
 */
HEED_API HEED_MUST_CHECK heed_status heed_cuda_queue(heed_device *device, CUstream stream,
                                                     heed_queue **out, heed_report *report);

/**
 * Makes an event of heed's that stands for one of CUDA's, to be given as a `wait` of a
 * run: the run starts after what the event was recorded behind when the run is
 * enqueued. The CUDA event stays the caller's and must live until
 * heed_event_destroy(). Any thread.
 *
 * @param device the runs that will wait for it are on this device.
 * @param event  recorded in any context of this process.
 * @param out    receives the event.
 * @param report may be NULL.
 * @return HEED_OK; HEED_E_NULL an argument is NULL; HEED_E_NOT_BUILT; HEED_E_MISMATCH
 *   `device` is no CUDA device; HEED_E_NOMEM; the device's `usable`; HEED_E_DEVICE,
 *   HEED_E_DEVICE_LOST.
 */
HEED_API HEED_MUST_CHECK heed_status heed_cuda_event(heed_device *device, CUevent event,
                                                     heed_event **out, heed_report *report);

/**
 * The CUDA event behind an event of a run on a CUDA device. It stays heed's and lives
 * until heed_event_destroy(), by which time nothing that is to be enqueued may need
 * it: cuStreamWaitEvent() before that is enough. Any thread.
 *
 * @param out receives the event.
 * @return HEED_OK; HEED_E_NULL an argument is NULL; HEED_E_NOT_BUILT; HEED_E_MISMATCH the
 *   event is of another kind of device; HEED_E_UNSUPPORTED the run was complete when it
 *   returned and there is nothing to wait for; HEED_E_DEVICE.
 */
HEED_API HEED_MUST_CHECK heed_status heed_cuda_event_get(const heed_event *event, CUevent *out);

#ifdef __cplusplus
}
#endif
#endif
