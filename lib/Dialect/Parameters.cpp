//===- Parameters.cpp - The constants that a model learns -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Parameters.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeSupport.h"

using namespace mlir;
using namespace mpopt;

/// True for an operand that an op computes with and that it may learn: not a
/// scale in a dtype of its own, nor the kept statistics of a batch norm.
static bool isLearned(OpOperand &use) {
  if (auto norm = dyn_cast<mp::BatchNormOp>(use.getOwner()))
    if (use.get() == norm.getMean() || use.get() == norm.getVariance())
      return false;
  auto precision = dyn_cast<PrecisionOpInterface>(use.getOwner());
  return precision && precision.isPrecisionOperand(use.getOperandNumber());
}

/// True for the type of what training does not change: a literal, or what a
/// module keeps beside its parameters.
static bool isFixed(StringRef type) {
  return type.ends_with("Constant") || type == "Buffer" ||
         type == "FrozenParameter";
}

bool mpopt::isParameter(Value value) {
  auto constant = value.getDefiningOp<mp::ConstantOp>();
  return constant && isa<FloatType>(getElementType(value)) &&
         !isFixed(getNodeType(constant)) &&
         llvm::any_of(value.getUses(), isLearned);
}
