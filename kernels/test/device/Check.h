//===- Check.h - Checks on a CUDA device ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_TEST_DEVICE_CHECK_H
#define MPOPT_KERNELS_TEST_DEVICE_CHECK_H

#include "mpopt/Kernels/Cuda.h"

#include <cstdint>
#include <cuda_runtime_api.h>
#include <string>
#include <vector>

namespace mpopt::kernels::device {

/// Prints what failed, and counts it; the first few of many.
void fail(const std::string &what);
int failures();

inline void check(bool holds, const std::string &what) {
  if (!holds)
    fail(what);
}
/// True if checks are to be short, for tools that slow everything down.
bool isShort();
/// Sets the name of the current check, which is printed if the runtime fails.
void setCurrent(const std::string &what);
/// Ends the program if the runtime itself is at fault.
void require(cudaError_t error, const char *what);
#define MPOPT_CUDA(call) ::mpopt::kernels::device::require(call, #call)

/// Memory on the device.
class Buffer {
public:
  explicit Buffer(size_t bytes) {
    MPOPT_CUDA(cudaMalloc(&memory, bytes ? bytes : 1));
  }
  Buffer(const void *data, size_t bytes) : Buffer(bytes) {
    if (bytes)
      MPOPT_CUDA(cudaMemcpy(memory, data, bytes, cudaMemcpyHostToDevice));
    // Streams of the checks do not wait for the default one, and memory that
    // is not pinned may be on its way still.
    MPOPT_CUDA(cudaDeviceSynchronize());
  }
  ~Buffer() { cudaFree(memory); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  char *at(size_t byte) const { return static_cast<char *>(memory) + byte; }

private:
  void *memory = nullptr;
};

class Stream {
public:
  Stream() {
    MPOPT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~Stream() { cudaStreamDestroy(stream); }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  operator cudaStream_t() const { return stream; }

  void wait() const { MPOPT_CUDA(cudaStreamSynchronize(stream)); }

private:
  cudaStream_t stream = nullptr;
};

/// One probe, of a recorder that all share, or that is its own.
class Probed {
public:
  explicit Probed(bool ownRecorder = false);
  ~Probed();
  Probed(const Probed &) = delete;
  Probed &operator=(const Probed &) = delete;

  void observe(const mpopt_tensor &tensor, cudaStream_t stream);
  /// After a flush.
  mpopt_record read(std::vector<mpopt_channel_range> *ranges = nullptr);
  /// As it is.
  mpopt_record peek();

  mpopt_recorder *recorder;
  const uint32_t id;

private:
  mpopt_cuda_probe *probe;
};

/// Describes how the records differ, apart from sums within their error bound;
/// empty if they do not.
std::string difference(mpopt_record got, mpopt_record wanted);

void checkEquality();
void checkGraphs();
void checkControls();
void checkConcurrency();
/// Prints, and fails for nothing.
void measure(size_t bytes);

} // namespace mpopt::kernels::device

#endif // MPOPT_KERNELS_TEST_DEVICE_CHECK_H
