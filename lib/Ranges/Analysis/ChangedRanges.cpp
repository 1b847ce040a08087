//===- ChangedRanges.cpp - Ranges of a changed copy of a module
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy is computed from its changed ops on, until what comes out is what the
// original has.
//
//===----------------------------------------------------------------------===//

#include "RangeDriver.h"

#include "mpopt/Ranges/Analysis/InputRanges.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Settings.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace mpopt;

/// How far equal ranges may lie apart, relative to their size: a trial judges
/// by more than a few roundings.
static constexpr double kAlike = 1.0 / 4096;
/// So many ops behind the last that differs are computed as well: relations
/// between operands look at what is in front of them.
static constexpr unsigned kBehind = 6;

static bool isAlike(double lhs, double rhs, double size) {
  return lhs == rhs || std::fabs(lhs - rhs) <= kAlike * size;
}

static bool isAlike(const AbstractValue &lhs, const AbstractValue &rhs) {
  if (lhs.dims() != rhs.dims() || lhs.nan != rhs.nan ||
      lhs.posInf != rhs.posInf || lhs.negInf != rhs.negInf ||
      lhs.integral != rhs.integral || lhs.source != rhs.source ||
      lhs.norm.has_value() != rhs.norm.has_value() ||
      lhs.rowSum.has_value() != rhs.rowSum.has_value() ||
      !isAlike(lhs.minNonZero, rhs.minNonZero, lhs.minNonZero))
    return false;
  if (lhs.norm && (lhs.norm->axis != rhs.norm->axis ||
                   !isAlike(lhs.norm->bound, rhs.norm->bound, lhs.norm->bound)))
    return false;
  if (lhs.rowSum && (lhs.rowSum->axis != rhs.rowSum->axis ||
                     !isAlike(lhs.rowSum->lo, rhs.rowSum->lo, lhs.rowSum->hi) ||
                     !isAlike(lhs.rowSum->hi, rhs.rowSum->hi, lhs.rowSum->hi)))
    return false;
  bool likely = lhs.hasLikely();
  for (auto [a, b] : llvm::zip_equal(lhs.cells(), rhs.cells())) {
    if (a.empty() != b.empty())
      return false;
    if (a.empty())
      continue;
    double size = a.absMax();
    // Each end is compared by its own size: one that is 0, or far smaller than
    // the other, is so for a reason.
    if (!isAlike(a.lo, b.lo, std::fabs(a.lo)) ||
        !isAlike(a.hi, b.hi, std::fabs(a.hi)))
      return false;
    if (!likely)
      continue;
    double reach = std::max(std::fabs(a.likelyLo), std::fabs(a.likelyHi));
    if (std::isfinite(size))
      reach = std::min(reach, size);
    if (!isAlike(a.mean, b.mean, reach) ||
        !isAlike(a.variance, b.variance, a.variance) ||
        !isAlike(a.likelyLo, b.likelyLo, reach) ||
        !isAlike(a.likelyHi, b.likelyHi, reach))
      return false;
  }
  return true;
}

/// True if the computed range equals the original's.
bool RangeAnalysis::Driver::isAsBefore(Value result) {
  Value original = originals->lookup(result);
  auto computed = entries.find(result);
  if (!original || original.getType() != result.getType() ||
      computed == entries.end())
    return false;
  return isAlike(base->spread(original).alike, computed->second->spread.alike,
                 1) &&
         isAlike(base->preRounding(original), computed->second->pre) &&
         isAlike(base->of(original), of(result));
}

void RangeAnalysis::Driver::propagate(Block &body,
                                      const ChangedModule &change) {
  auto isBefore = [](Operation *lhs, Operation *rhs) {
    return lhs != rhs && lhs->isBeforeInBlock(rhs);
  };
  std::set<Operation *, decltype(isBefore)> pending(isBefore);
  llvm::DenseMap<Operation *, unsigned> patience;
  auto add = [&](Operation *op, unsigned more) {
    Operation *here = body.findAncestorOpInBlock(*op);
    if (!here || here->hasTrait<OpTrait::IsTerminator>())
      return;
    pending.insert(here);
    unsigned &known = patience[here];
    known = std::max(known, more);
  };
  for (Operation *op : change.changed)
    add(op, kBehind);
  while (!pending.empty()) {
    Operation *op = *pending.begin();
    pending.erase(pending.begin());
    varied.push_back(op);
    unsigned behind = kBehind;
    if (!isa<mp::ConstantOp>(op)) {
      visit(op);
      if (llvm::all_of(op->getResults(),
                       [&](Value result) { return isAsBefore(result); })) {
        for (Value result : op->getResults())
          forget(result);
        behind = patience[op] - 1;
      }
    }
    if (behind)
      for (Value result : op->getResults())
        for (Operation *user : result.getUsers())
          add(user, behind);
  }
}

RangeAnalysis::Driver::Driver(Driver &base, const ChangedModule &change,
                              Recompute what, Operation *module)
    : profile(base.profile), base(&base), originals(&change.originals),
      limit(base.limit), sampleCount(base.sampleCount), shared(base.shared) {
  shared.nearly = true;
  sampled.readFrom(base.sampled, change.originals);
  allowRelaxation(module->hasAttr(kEstimatesAttr) ? 0 : base.allowance,
                  base.contractions);
  // Known elements go by value: those of the copy are found anew, where shape
  // arithmetic may have them.
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto elements = dyn_cast<ElementInferenceOpInterface>(op);
    if (!elements)
      return;
    for (OpResult result : op->getResults()) {
      MaybeShape shape = getShape(result);
      if (isa<IntegerType>(getElementType(result)) ||
          (shape && shape->size() <= 1 && getNumElements(shape) <= 16))
        facts.set(result,
                  elements.inferElementsOf(result.getResultNumber(), facts));
    }
  });
  for (Region &region : module->getRegions())
    for (auto function : region.getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      Block &body = function.getFunctionBody().front();
      // Inputs that are stored in another format, or declared otherwise.
      for (BlockArgument argument : function.getArguments())
        if (Value original = originals->lookup(argument);
            original && (original.getType() != argument.getType() ||
                         getAssumption(original) != getAssumption(argument)))
          visitArgument(function, argument);
      if (what == Recompute::All)
        visitFunction(function);
      else if (what == Recompute::Reached)
        propagate(body, change);
      else
        for (Operation &op : body)
          if (change.changed.contains(&op))
            visit(&op);
    }
}

void mpopt::reuseRanges(AnalysisManager copy, const RangeAnalysis &base,
                        const ChangedModule &change, Recompute what) {
  assert(!copy.getCachedAnalysis<RangeAnalysis>() && "it is too late");
  auto &reused = copy.getAnalysis<ReusedRanges>();
  reused.base = &base;
  reused.change = &change;
  reused.what = what;
}
