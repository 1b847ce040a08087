//===- ConstantUses.cpp - What narrower formats do to constants
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A constant is used in a narrower format where a cast of it, of whatever
// origin, through ops that only move its elements, has one. Where the whole
// model is stored in a format (`mp.precision` fp16 or bf16) so are parameters
// that an op takes in a dtype of their own, without a cast to show it,
// unless the op is one that a fix keeps in FP32 (`mp.kept`).
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/ConstantUses.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Weights/Kernels/SharedSums.h"
#include "mpopt/Support/WeightStore.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mpopt;

double ConstantUse::flushedShare() const {
  return stats.nonZero() ? double(stats.flushes) / double(stats.nonZero()) : 0;
}

FindingBuilder mpopt::describe(FindingBuilder finding, const ConstantUse &use) {
  return finding.tensor(use.value())
      .dtype(use.type)
      .bound(use.stats.min, use.stats.max);
}

FindingBuilder mpopt::describeLimited(FindingBuilder finding,
                                      const ConstantUse &use,
                                      const llvm::Twine &change) {
  return describe(finding, use)
      .message(change + ", the policy's limit for constants")
      .cause(use.value(), "is written within the limit")
      .fix("keep-fp32", "keep the op that uses it in f32");
}

//===----------------------------------------------------------------------===//
// Which formats
//===----------------------------------------------------------------------===//

namespace {
struct NarrowedUses {
  llvm::SmallVector<OpOperand *, 2> operands;
  ConstantLimits limits;
};
using UsesByType = llvm::SmallMapVector<Type, NarrowedUses, 2>;
} // namespace

/// Follows `value`, which holds the constant's elements in `type` (null: in its
/// own), to the ops that compute with it.
static void followUses(Value value, Type type, const FloatFormat &own,
                       UsesByType &uses, unsigned depth = 0) {
  // Views of views of weights are a handful deep.
  if (depth > 8)
    return;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    auto cast = dyn_cast<mp::CastOp>(user);
    if (cast) {
      Type to = getElementType(cast.getResult());
      const FloatFormat *format = getFloatFormat(to);
      if (!format)
        continue; // to integers or booleans
      const FloatFormat &current = type ? *getFloatFormat(type) : own;
      if (ConstantLimits limits = limitsOf(cast))
        uses[to].limits = limits;
      followUses(cast.getResult(), format->losesValuesOf(current) ? to : type,
                 own, uses, depth + 1);
      continue;
    }
    if (isViewLike(user) && use.getOperandNumber() == 0) {
      for (Value result : user->getResults())
        followUses(result, type, own, uses, depth + 1);
      continue;
    }
    if (type && isReadInside(use))
      uses[type].operands.push_back(&use);
  }
}

/// The format in which a whole-model conversion stores everything, or null.
static Type getStorageType(ModuleOp module) {
  auto type = module->getAttrOfType<TypeAttr>(kLowTypeAttr);
  bool stores = !getPrecision(module).weights.empty();
  return stores && type ? type.getValue() : Type();
}

static UsesByType collectUses(mp::ConstantOp constant, Type storage) {
  UsesByType uses;
  const FloatFormat *own = getFloatFormat(getElementType(constant.getResult()));
  if (!own)
    return uses;
  followUses(constant.getResult(), {}, *own, uses);
  const FloatFormat *stored = storage ? getFloatFormat(storage) : nullptr;
  if (!stored || uses.contains(storage) || !stored->losesValuesOf(*own))
    return uses;
  for (OpOperand &use : constant.getResult().getUses())
    if (isa<PrecisionOpInterface>(use.getOwner()) &&
        !isa<mp::CastOp>(use.getOwner()) &&
        !use.getOwner()->hasAttr("mp.kept") && isReadInside(use))
      uses[storage].operands.push_back(&use);
  return uses;
}

//===----------------------------------------------------------------------===//
// How much is lost
//===----------------------------------------------------------------------===//

static SummaryRequest makeRequest(mp::ConstantOp constant, Type target,
                                  const ConstantBytes &bytes) {
  auto type = cast<RankedTensorType>(constant.getType());
  SummaryRequest request;
  request.weights.bytes = bytes.data;
  request.weights.format = getFloatFormat(type.getElementType());
  request.columns = bytes.splat ? 1 : uint64_t(type.getNumElements());
  request.target = getFloatFormat(target);
  if (!bytes.splat)
    request.channel = channelOf(type.getShape());
  return request;
}

/// From the one element of a splat to all.
static void spread(WeightStats &stats, uint64_t count) {
  stats.elements = count;
  for (uint64_t *number : {&stats.zeros, &stats.nans, &stats.infinities,
                           &stats.overflows, &stats.flushes, &stats.subnormals})
    *number *= count;
}

ConstantUses::ConstantUses(Operation *root) {
  auto module = cast<ModuleOp>(root);
  Type storage = getStorageType(module);
  Memo &memo =
      module.getContext()->getLoadedDialect<mp::MPDialect>()->getWeights().memo;
  module.walk([&](mp::ConstantOp constant) {
    auto type = cast<RankedTensorType>(constant.getType());
    UsesByType uses = collectUses(constant, storage);
    if (uses.empty() || type.getNumElements() == 0)
      return;
    std::optional<ConstantBytes> bytes = getConstantBytes(constant);
    if (!bytes)
      return;
    for (auto &[target, narrowed] : uses) {
      if (narrowed.operands.empty())
        continue;
      ConstantUse use = {
          constant, target, narrowed.operands,
          weightLosses(makeRequest(constant, target, *bytes), &memo),
          narrowed.limits};
      if (bytes->splat)
        spread(use.stats, uint64_t(type.getNumElements()));
      if (use.limits)
        use.stats.overflows = use.stats.flushes = use.stats.lostChannels = 0;
      if (use.isReduced() || use.isRaised() || use.stats.overflows ||
          use.stats.flushes || use.stats.subnormals)
        losses.push_back(std::move(use));
    }
  });
}

bool ConstantUses::isInvalidated(
    const AnalysisManager::PreservedAnalyses &analyses) {
  return !analyses.isPreserved<ConstantUses>();
}

//===----------------------------------------------------------------------===//
// The purpose of a constant
//===----------------------------------------------------------------------===//

/// True if a zero at operand `index` breaks the op.
static bool breaksAtZero(Operation *op, unsigned index) {
  if (index == divisorOperand(op))
    return true;
  if (index != 0)
    return false;
  if (hasRole(op, Role::Power)) {
    std::optional<double> exponent = getSplatConstant(op->getOperand(1));
    return exponent && *exponent < 0;
  }
  return hasRole(op, Role::PoleAtZero);
}

/// Roots keep a zero, and their derivative is infinite there; what matters more
/// is what comes behind them.
static bool isRoot(Operation *op, unsigned index) {
  if (hasRole(op, Role::Root))
    return true;
  if (!hasRole(op, Role::Power) || index != 0)
    return false;
  std::optional<double> exponent = getSplatConstant(op->getOperand(1));
  return exponent && *exponent > 0 && *exponent < 1;
}

/// An op whose result stays away from zero only thanks to the constant.
static bool isSafeguard(Operation *op, unsigned index) {
  if (hasRole(op, Role::Select))
    return index != 0;
  // The lower one of two limits comes first.
  if (hasRole(op, Role::LimitsBelow))
    return !hasRole(op, Role::LimitsAbove) || index == 1;
  return hasRole(op, Role::Addition);
}

static bool passesOn(Operation *op, unsigned index) {
  return index == 0 && (isa<mp::CastOp>(op) || isViewLike(op));
}

/// A square, sum or length of numbers that only the constant keeps away from
/// zero: of a row of zeros it is that of the constant.
static bool gathersGuarded(Operation *op, unsigned index) {
  if (hasRole(op, Role::Multiplication))
    return op->getNumOperands() == 2 && op->getOperand(0) == op->getOperand(1);
  return index == 0 &&
         hasRole(op, Role::Square | Role::MagnitudeSum | Role::Sum) &&
         !hasRole(op, Role::Addition);
}

/// Finds the guard along uses, cut off where they get wide (`budget`) or long.
static bool follow(OpOperand &use, bool safeguarded, unsigned depth,
                   unsigned &budget, Guard &guard) {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (budget == 0 || depth == 0)
    return false;
  --budget;
  if (breaksAtZero(op, index)) {
    guard.op = op;
    return true;
  }
  bool safeguard = !safeguarded && isSafeguard(op, index);
  bool root = isRoot(op, index);
  bool gathers = safeguarded && gathersGuarded(op, index);
  if (!safeguard && !root && !gathers && !passesOn(op, index))
    return false;
  if (safeguard || root || gathers)
    guard.path.push_back(op);
  for (OpOperand &next : op->getResult(0).getUses())
    if (follow(next, safeguarded || safeguard, depth - 1, budget, guard))
      return true;
  // Nothing is divided by the root, but it is one.
  if (root) {
    guard.path.pop_back();
    guard.op = op;
    return true;
  }
  if (safeguard || gathers)
    guard.path.pop_back();
  return false;
}

Guard mpopt::findGuard(OpOperand &use) {
  Guard guard;
  unsigned budget = 64;
  follow(use, false, 8, budget, guard);
  return guard;
}
