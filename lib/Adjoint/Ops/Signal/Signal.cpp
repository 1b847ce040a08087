//===- Signal.cpp - Gradients of transforms
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/Ops/SignalOps.h"

using namespace mlir;
using namespace mpopt;

void mpopt::attachSignalGradients(MLIRContext *context) {
  attachGradientOp<mp::DFTOp, mp::DFTGradOp>(context);
  attachGradientOp<mp::STFTOp, mp::STFTGradOp>(context);
  attachNoGradient<mp::MelWeightMatrixOp, mp::WindowOp>(context);
}
