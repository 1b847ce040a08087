//===- Loss.cpp - Losses, from ONNX ---------------------------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/Onnx/Lowering.h"

#include "mpopt/Dialect/Ops/LossOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

void onnx_import::registerLossLowerings(LoweringRegistry &registry) {}
