//===- Correlation.cpp - Values that are computed alike
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two models that score one text, a network and its running average, a layer
// before and after a change: the same ops with nearly equal weights. Products
// of one x with weights u and v correlate as u . v / (|u| |v|), and functions
// and sums that both pass keep it, to first order: their difference is as small
// as that of the weights, not as large as that of strangers.
//
// Operands that all differ lose by each, as a product of independent factors
// does. A sum of unlike terms is taken so, too, which errs towards strangers.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Relations/RelationSupport.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

/// The cosine of the elements of two constants, by as many as a layer's; 0 if
/// they are not known or all 0.
static double cosine(Value lhs, Value rhs, TransferContext &ctx) {
  constexpr int64_t kMost = 1 << 16;
  constexpr size_t kPiece = 1024;
  std::optional<WeightView> left = ctx.weights(lhs), right = ctx.weights(rhs);
  if (!left || !right || left->shape != right->shape || left->splat ||
      right->splat)
    return 0;
  double product = 0, squares = 0, others = 0;
  double first[kPiece], second[kPiece];
  int64_t size = std::min(left->size(), kMost);
  for (int64_t at = 0; at < size; at += kPiece) {
    size_t count = std::min<int64_t>(kPiece, size - at);
    left->read(at, MutableArrayRef(first, count));
    right->read(at, MutableArrayRef(second, count));
    for (size_t i = 0; i < count; ++i) {
      product += first[i] * second[i];
      squares += first[i] * first[i];
      others += second[i] * second[i];
    }
  }
  double both = std::sqrt(squares * others);
  return both > 0 && std::isfinite(both) ? product / both : 0;
}

/// `budget`: the pairs that may still be looked at, as towers with residual
/// streams have many ways through them.
static double correlateWithin(Value lhs, Value rhs, TransferContext &ctx,
                              unsigned &budget) {
  lhs = peel(lhs);
  rhs = peel(rhs);
  if (lhs == rhs)
    return 1;
  Operation *left = lhs.getDefiningOp(), *right = rhs.getDefiningOp();
  if (!left || !right || budget == 0 || lhs.getType() != rhs.getType() ||
      left->getName() != right->getName() ||
      left->getNumOperands() != right->getNumOperands() ||
      cast<OpResult>(lhs).getResultNumber() !=
          cast<OpResult>(rhs).getResultNumber() ||
      !areAttributesEqual(left, right))
    return 0;
  --budget;
  if (left->getNumOperands() == 0 || left->getNumRegions() != 0 ||
      !isPure(left) || !getFloatFormat(getElementType(lhs)))
    return 0;
  double product = 1;
  for (auto [a, b] : llvm::zip(left->getOperands(), right->getOperands())) {
    bool known = isConstant(a) && isConstant(b);
    if (known && (isSameExpression(a, b) || hasRole(left, Role::Addition)))
      continue;
    product *= known ? cosine(a, b, ctx) : correlateWithin(a, b, ctx, budget);
    if (product == 0)
      return 0;
  }
  return product;
}

double relations::correlate(Value lhs, Value rhs, TransferContext &ctx) {
  unsigned budget = 64;
  return correlateWithin(lhs, rhs, ctx, budget);
}
