//===- OnDevice.h - A while on a device, unseen by the caller ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_CUDA_ONDEVICE_H
#define MPOPT_KERNELS_CUDA_ONDEVICE_H

#include <cuda_runtime_api.h>

namespace mpopt::kernels::cuda {

/// The thread is on the device, and what it does there on streams of its own
/// (memory, copies, waiting) leaves captures alone, its own and other threads'.
/// Afterwards the caller's device is current again, and no error is left. Where
/// the thread had no device yet, it has none: setting one would start it.
class OnDevice {
public:
  explicit OnDevice(int device) {
    cudaThreadExchangeStreamCaptureMode(&mode);
    cudaGetDevice(&before);
    known = contexts().get && contexts().get(&context) == 0;
    // Without a context the runtime goes by what it was told last.
    changed = before != device || (known && !context);
    if (changed)
      cudaSetDevice(device);
  }
  ~OnDevice() {
    if (changed && known)
      contexts().set(context);
    else if (changed)
      cudaSetDevice(before);
    cudaThreadExchangeStreamCaptureMode(&mode);
    cudaGetLastError();
  }
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;

private:
  /// The driver's, which this library does not link.
  struct Contexts {
    int (*get)(void **context) = nullptr;
    int (*set)(void *context) = nullptr;

    Contexts() {
      void *getter = entry("cuCtxGetCurrent"),
           *setter = entry("cuCtxSetCurrent");
      if (!getter || !setter)
        return;
      get = reinterpret_cast<int (*)(void **)>(getter);
      set = reinterpret_cast<int (*)(void *)>(setter);
    }
    static void *entry(const char *name) {
      void *function = nullptr;
      cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
      cudaError_t error = cudaGetDriverEntryPointByVersion(
          name, &function, 12000, cudaEnableDefault, &found);
#else
      cudaError_t error =
          cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
      return error == cudaSuccess && found == cudaDriverEntryPointSuccess
                 ? function
                 : nullptr;
    }
  };
  static const Contexts &contexts() {
    static const Contexts all;
    return all;
  }

  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  int before = 0;
  bool changed = false, known = false;
  void *context = nullptr;
};

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_CUDA_ONDEVICE_H
