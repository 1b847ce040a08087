//===- Loss.cpp - Decomposed binary cross-entropy
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   (t - 1) * max(log(1 - p), -100) - t * max(log(p), -100)
//
// as torch.export and torch.onnx write PyTorch's op, of which the limits tell:
// the same formula by hand is several ops, which autocast runs.
//
//===----------------------------------------------------------------------===//

#include "Idioms.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::idioms;

/// PyTorch's least logarithm.
static constexpr double kLeast = -100;

/// The x of max(x, -100), whose op is added to `members`.
static Operation *matchLimited(Value value, Members &members) {
  auto max = getMaker<mp::MaxOp>(value);
  if (!max || max->getNumOperands() != 2)
    return nullptr;
  for (unsigned index : {0u, 1u})
    if (isNumber(max->getOperand(index), kLeast)) {
      members.push_back(max);
      return getMaker(max->getOperand(1 - index));
    }
  return nullptr;
}

/// The p of 1 - p, written as a difference or as a sum with -p.
static Value matchRest(Value value, Members &members) {
  Operation *op = getMaker(value);
  if (isa_and_present<mp::SubOp>(op) && isNumber(op->getOperand(0), 1)) {
    members.push_back(op);
    return op->getOperand(1);
  }
  if (!isa_and_present<mp::AddOp>(op))
    return {};
  for (unsigned index : {0u, 1u}) {
    auto negated = getMaker<mp::NegOp>(op->getOperand(index));
    if (!negated || !isNumber(op->getOperand(1 - index), 1))
      continue;
    members.append({negated, op});
    return negated->getOperand(0);
  }
  return {};
}

/// The p of log(1 - p).
static Value matchLogOfRest(Operation *op, Members &members) {
  Value p;
  if (isa_and_present<mp::LogOp>(op)) {
    p = matchRest(op->getOperand(0), members);
  } else if (isa_and_present<mp::Log1pOp>(op)) {
    auto negated = getMaker<mp::NegOp>(op->getOperand(0));
    if (!negated)
      return {};
    members.push_back(negated);
    p = negated->getOperand(0);
  }
  if (p)
    members.push_back(op);
  return p;
}

bool idioms::matchLoss(Operation *anchor, Marker &marker) {
  auto loss = dyn_cast<mp::SubOp>(anchor);
  auto left = loss ? getMaker<mp::MulOp>(loss.getLhs()) : mp::MulOp();
  auto right = left ? getMaker<mp::MulOp>(loss.getRhs()) : mp::MulOp();
  if (!right)
    return false;
  for (unsigned log : {0u, 1u})
    for (unsigned rest : {0u, 1u}) {
      Members members = {left, right};
      auto target = getMaker<mp::SubOp>(left->getOperand(1 - rest));
      if (!target || !isNumber(target.getRhs(), 1) ||
          !isSameBehind(target.getLhs(), right->getOperand(1 - log)))
        continue;
      Operation *positive = matchLimited(right->getOperand(log), members);
      Value p = matchLogOfRest(matchLimited(left->getOperand(rest), members),
                               members);
      if (!p || !isa_and_present<mp::LogOp>(positive) ||
          !isSameBehind(positive->getOperand(0), p))
        continue;
      members.append({target, positive, loss});
      return marker.mark<mp::BinaryCrossEntropyOp>(members, loss);
    }
  return false;
}
