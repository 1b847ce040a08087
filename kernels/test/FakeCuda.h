//===- FakeCuda.h - A CUDA runtime and its devices, on the CPU
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Just what the host's side of libmpopt_cuda.so calls, so that it can be tested
// where there is no device. Its kernels are those of EmulatedKernels.cpp. Rules
// that a real runtime has are kept, and breaking them fails the call:
//
//   - device memory is not the host's to touch: it is mapped without access but
//     for the while in which a kernel or a copy runs
//   - a launch on another device's stream is refused
//   - a call that may be unsafe during a capture (memory, waiting) spoils it,
//     unless the thread is in the relaxed mode
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_TEST_FAKECUDA_H
#define MPOPT_KERNELS_TEST_FAKECUDA_H

#include <cstddef>
#include <cuda_runtime_api.h>
#include <functional>
#include <vector>

namespace mpopt::kernels::fake {

/// The work recorded by a capture.
struct Graph {
  std::vector<std::function<void()>> work;
  bool spoiled = false;
};

/// All as new, with so many devices, none of which has a context.
void reset(int devices);

cudaStream_t makeStream(int device);
/// Work on the stream waits until it is let go.
void hold(cudaStream_t stream);
void letGo(cudaStream_t stream);

/// In global mode.
void beginCapture(cudaStream_t stream);
Graph endCapture(cudaStream_t stream);
void replay(const Graph &graph, cudaStream_t stream);

/// Device memory with this in it.
void *upload(int device, const void *data, size_t bytes);

/// Queues `work`, as a launch does. `slot`: the one that it writes to, null if
/// there is none.
void launch(cudaStream_t stream, const void *slot, std::function<void()> work);

/// Kernels launched that write to slots so far.
int launches();
/// To how many slots they did.
size_t slots();
/// Copies to the host or waits that the library made so far.
int waits();
/// Allocations that succeed from now on; -1: all.
void allowAllocations(int count);
/// No call knows of a stream's captures from now on, as without a driver.
void breakCaptures(bool broken);
/// Launches fail from now on.
void breakLaunches(bool broken);
/// The device whose context the thread has; -1: none yet.
int contextOfThread();
/// True if the device was ever made current or used.
bool wasStarted(int device);

} // namespace mpopt::kernels::fake

#endif // MPOPT_KERNELS_TEST_FAKECUDA_H
