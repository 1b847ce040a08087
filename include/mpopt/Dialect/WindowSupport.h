//===- WindowSupport.h - Sliding windows of convolutions and pools -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of kernel, stride, dilation and padding that mp.conv, the
// pools and their importers share. Sizes agree with ONNX's shape inference.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_WINDOWSUPPORT_H
#define MPOPT_DIALECT_WINDOWSUPPORT_H

#include "mpopt/Dialect/CheckedDim.h"

#include "llvm/ADT/StringRef.h"

namespace mpopt {

/// One spatial dim of a window; `kernel` may be dynamic.
struct WindowDim {
  int64_t kernel = kDynamic;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t padBegin = 0;
  int64_t padEnd = 0;

  /// Input elements from a window's first to its last; dynamic if unknown.
  int64_t extent() const {
    return ((CheckedDim(kernel) - 1) * dilation + 1).get();
  }
};

struct Window {
  llvm::SmallVector<WindowDim, 3> dims;
  llvm::StringRef autoPad;
  bool ceil = false;

  /// Empty lists are the defaults. The lists' lengths have been verified.
  static Window get(llvm::ArrayRef<int64_t> kernel,
                    llvm::ArrayRef<int64_t> strides,
                    llvm::ArrayRef<int64_t> dilations,
                    llvm::ArrayRef<int64_t> pads,
                    llvm::StringRef autoPad = "NOTSET", bool ceil = false);

  /// Number of windows along a dim of `input` elements: dynamic if unknown or
  /// disputed, nothing if the dim is too small for any reading.
  std::optional<int64_t> outputDim(unsigned index, int64_t input) const;

  /// Padding at both ends of a dim of `input` elements; nothing if `autoPad`
  /// makes it depend on something unknown.
  std::optional<std::pair<int64_t, int64_t>> pads(unsigned index,
                                                  int64_t input) const;
};

/// An error unless the lists have `rank` entries (pads: twice as many), strides
/// and dilations are positive, and `autoPad` is known. `rank` is the number of
/// spatial dims; where it is unknown, lengths are not checked.
llvm::LogicalResult
verifyWindow(mlir::Operation *op, std::optional<int64_t> rank,
             llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> dilations,
             llvm::ArrayRef<int64_t> pads, llvm::StringRef autoPad = "NOTSET");

} // namespace mpopt

#endif // MPOPT_DIALECT_WINDOWSUPPORT_H
