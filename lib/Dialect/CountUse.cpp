//===- CountUse.cpp - The meaning of numbers to compute with
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions are multiplied by frequencies, and so are the time steps of
// diffusion models; sines and cosines of the products enter the network. A
// mask of padding compares lengths with the positions 0, 1, 2, ...
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/CountUse.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mpopt;

/// The training steps of the diffusion models of public libraries
/// (`num_train_timesteps` of diffusers), and no more than the positions of a
/// short text.
static constexpr int64_t kUsualSteps = 1000;
/// A cast, two expansions, a product and a concatenation with casts between
/// them are ten ops; 64 uses are those of positions that all layers share.
static constexpr unsigned kMostSteps = 12, kMostUses = 64;

namespace {
class CountSearch {
public:
  bool isAngle = false;
  /// The length of the longest row of numbers that it is compared with.
  int64_t compared = 0;

  void follow(Value value, unsigned depth);

private:
  void look(OpOperand &use, unsigned depth);

  llvm::SmallPtrSet<Value, 16> seen;
};
} // namespace

/// True if no input decides what `value` holds, as far as a few ops tell.
static bool isFixed(Value value, unsigned depth = kMostSteps) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || op->getNumRegions() != 0)
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return isFixed(operand, depth - 1);
  });
}

/// True if the other operands of the use are fixed.
static bool hasFixedOthers(OpOperand &use) {
  return llvm::all_of(use.getOwner()->getOpOperands(), [&](OpOperand &other) {
    return &other == &use || isFixed(other.get());
  });
}

void CountSearch::look(OpOperand &use, unsigned depth) {
  Operation *op = use.getOwner();
  if (isa<mp::SinOp, mp::CosOp>(op)) {
    isAngle = true;
    return;
  }
  if (isa<mp::LessOp, mp::LessEqualOp, mp::GreaterOp, mp::GreaterEqualOp>(op)) {
    Value other = op->getOperand(1 - use.getOperandNumber());
    std::optional<int64_t> count = getNumElements(getShape(other));
    if (count && *count > 1 && isFixed(other) && !getSplatConstant(other))
      compared = std::max(compared, *count);
    return;
  }
  bool moves = isa<mp::CastOp, mp::IdentityOp>(op) || isViewLike(op) ||
               hasRole(op, Role::Negation);
  bool scales = hasRole(op, Role::Arithmetic | Role::Contraction);
  if (op->getNumResults() == 1 &&
      ((moves && use.getOperandNumber() == 0) ||
       hasRole(op, Role::Concatenation) || (scales && hasFixedOthers(use))))
    follow(op->getResult(0), depth - 1);
}

void CountSearch::follow(Value value, unsigned depth) {
  if (depth == 0 || seen.size() == kMostUses || !seen.insert(value).second)
    return;
  for (OpOperand &use : value.getUses())
    look(use, depth);
}

std::optional<CountUse> mpopt::findCountUse(Value input) {
  CountSearch search;
  search.follow(input, kMostSteps);
  if (search.compared > 0)
    return CountUse{{1, double(search.compared)},
                    "a length, taken for 1 to " +
                        std::to_string(search.compared) +
                        ": compared with as many numbers"};
  if (!search.isAngle)
    return std::nullopt;
  // No position is behind the longest sequence.
  int64_t count = kUsualSteps;
  if (MaybeShape shape = getShape(input))
    for (int64_t dim : *shape)
      count = std::max(count, dim);
  return CountUse{{0, double(count - 1)},
                  "a position or time step, taken for 0 to " +
                      std::to_string(count - 1) +
                      ": its sine or cosine is taken"};
}
