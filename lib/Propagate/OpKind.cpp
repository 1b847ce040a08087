//===- OpKind.cpp - How an op acts on values
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/OpKind.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

using namespace mlir;
using namespace mpopt;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

bool mpopt::roundsToWhole(Operation *op) {
  return isa_and_nonnull<mp::RoundOp, mp::FloorOp, mp::CeilOp, mp::TruncOp>(op);
}

/// Shapes and sizes do not depend on any element.
static bool readsElements(Operation *op) {
  return op->getNumOperands() > 0 && !isa<mp::ShapeOp, mp::SizeOp>(op);
}

/// Makes indices or truth values of floats, which it compares.
static bool decides(Operation *op) {
  return llvm::any_of(op->getOperands(), isFloat) &&
         llvm::none_of(op->getResults(), isFloat) && !isa<mp::CastOp>(op) &&
         !hasRole(op, Role::Quantization);
}

OpKind mpopt::getOpKind(Operation *op) {
  if (op->getNumRegions() > 0)
    return OpKind::Branch;
  if (!readsElements(op))
    return OpKind::Source;
  if (decides(op))
    return OpKind::Decide;
  if (roundsToWhole(op) || hasRole(op, Role::Quantization))
    return OpKind::Round;
  if (op->getNumOperands() <= 2 && getFunction(op))
    return OpKind::Elementwise;
  struct Row {
    Role roles;
    OpKind kind;
  };
  // The first row that an op has a role of: limits are picks as well.
  static constexpr Row kRows[] = {
      {Role::Rearranges | Role::Concatenation, OpKind::Copy},
      {Role::Gathers, OpKind::Gather},
      {Role::Picks | Role::Select | Role::Limit, OpKind::Select},
      {Role::Addition | Role::Subtraction | Role::Sum, OpKind::Linear},
      {Role::Multiplication | Role::Contraction, OpKind::Product},
      {Role::Division, OpKind::Quotient},
      {Role::Softmax | Role::Normalization, OpKind::Normalize}};
  if (isa<mp::CastOp>(op))
    return OpKind::Copy;
  for (const Row &row : kRows)
    if (hasRole(op, row.roles))
      return row.kind;
  return OpKind::Opaque;
}
