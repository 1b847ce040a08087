//===- PlacedProbe.h - A probe in a TorchScript graph -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Standard library only: the code that inserts probes knows LibTorch and no
// MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_TORCHSCRIPT_PLACEDPROBE_H
#define MPOPT_IMPORT_TORCHSCRIPT_PLACEDPROBE_H

#include "mpopt/Import/GraphPlace.h"

#include <functional>

namespace mpopt::torchscript {

struct PlacedProbe {
  int64_t id;
  GraphPlace place;
  int64_t channelAxis = -1; ///< Axis along which ranges are kept; -1: none.
  /// The gradient is recorded, too. Not of members of lists, nor in loops that
  /// the importer unrolled.
  bool gradient = false;
  /// The place reads a parameter, of which the gradient alone is recorded:
  /// where it enters ops as it is, or (`isCast`) cast to 16 bits.
  bool isParameter = false, isCast = false;
};

/// The devices for which an op is on autocast's 16-bit list.
struct AutocastLists {
  bool cpu = false, cuda = false;

  bool any() const { return cpu || cuda; }
};

/// By the name of an aten op without its namespace, `conv2d` or
/// `conv2d.padding`.
using FindLists = std::function<AutocastLists(const std::string &)>;

} // namespace mpopt::torchscript

#endif // MPOPT_IMPORT_TORCHSCRIPT_PLACEDPROBE_H
