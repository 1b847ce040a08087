//===- Recurrent.cpp - Gradients of recurrent cells
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "lib/Adjoint/Ops/GradientOp.h"
#include "mpopt/Dialect/Ops/RecurrentOps.h"

using namespace mlir;
using namespace mpopt;

void mpopt::attachRecurrentGradients(MLIRContext *context) {
  attachGradientOp<mp::RNNOp, mp::RNNGradOp>(context);
  attachGradientOp<mp::LSTMOp, mp::LSTMGradOp>(context);
  attachGradientOp<mp::GRUOp, mp::GRUGradOp>(context);
  attachGradientOp<mp::RNNCellOp, mp::RNNCellGradOp>(context);
  attachGradientOp<mp::LSTMCellOp, mp::LSTMCellGradOp>(context);
  attachGradientOp<mp::GRUCellOp, mp::GRUCellGradOp>(context);
}
