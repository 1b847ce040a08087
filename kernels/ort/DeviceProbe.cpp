//===- DeviceProbe.cpp - The CUDA library, if it is there
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loaded by hand, so that the op library itself needs no CUDA runtime. Whether
// there is a device is not asked before a session wants a kernel on it:
// starting the driver takes long.
//
//===----------------------------------------------------------------------===//

#include "DeviceProbe.h"

#include <dlfcn.h>
#include <string>

using namespace mpopt::ort;

static std::string besideThisLibrary(const char *name) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&besideThisLibrary), &info) ||
      !info.dli_fname)
    return name;
  std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + name;
}

template <class Function>
static bool find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

const DeviceProbes *mpopt::ort::deviceProbes() {
  static DeviceProbes probes;
  static const bool found = [] {
    void *library = dlopen(besideThisLibrary("libmpopt_cuda.so").c_str(),
                           RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return library && find(library, "mpopt_cuda_probe_create", probes.create) &&
           find(library, "mpopt_cuda_probe_observe", probes.observe) &&
           find(library, "mpopt_cuda_probe_destroy", probes.destroy) &&
           find(library, "mpopt_cuda_is_capturing", probes.isCapturing);
  }();
  return found ? &probes : nullptr;
}
