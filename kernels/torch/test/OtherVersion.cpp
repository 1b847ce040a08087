//===- OtherVersion.cpp - A PyTorch that claims to be another one
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For test/python/instrument/test_torch_ops.py: preloaded, it answers for
// LibTorch what the op library asks for its version.
//
//===----------------------------------------------------------------------===//

#include <cstdlib>
#include <string>

namespace at {
__attribute__((visibility("default"))) std::string show_config() {
  const char *version = std::getenv("MPOPT_TEST_TORCH_VERSION");
  return std::string(
             "PyTorch built with:\n  - Build settings: TORCH_VERSION=") +
         (version ? version : "") + ", USE_CUDA=0\n";
}
} // namespace at
