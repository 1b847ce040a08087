//===- PlacedProbe.h - A probe in a TorchScript graph -----------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Standard library only: the code that inserts probes knows LibTorch and no
// MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_TORCHSCRIPT_PLACEDPROBE_H
#define MPOPT_IMPORT_TORCHSCRIPT_PLACEDPROBE_H

#include "mpopt/Import/GraphPlace.h"

namespace mpopt::torchscript {

struct PlacedProbe {
  int64_t id;
  GraphPlace place;
  int64_t channelAxis = -1; ///< Axis along which ranges are kept; -1: none.
};

} // namespace mpopt::torchscript

#endif // MPOPT_IMPORT_TORCHSCRIPT_PLACEDPROBE_H
