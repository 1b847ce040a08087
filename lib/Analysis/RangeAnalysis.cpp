//===- RangeAnalysis.cpp - The range of every tensor of a module
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plain walk in program order: values are defined before they are used, and
// bodies are the business of the ops that have them (`TransferContext::walk`),
// so no fixpoint solver is needed. Constants are summarised when somebody asks:
// linear ops read the bytes of their weights themselves.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Analysis/RangeAnalysis.h"

#include "mpopt/Analysis/ChangedModule.h"
#include "mpopt/Analysis/InputRanges.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Interfaces/Interfaces.h"
#include "mpopt/Support/WeightStore.h"
#include "mpopt/Transfer/ConstantRange.h"
#include "mpopt/Transfer/RangeInterface.h"
#include "mpopt/Transfer/Relations.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace mpopt;

namespace {
struct Entry {
  AbstractValue pre, stored;
};
} // namespace

class RangeAnalysis::Driver : public TransferContext {
public:
  explicit Driver(Operation *module);
  Driver(Driver &base, BlockArgument argument, AbstractValue value);
  Driver(Driver &base, const ChangedModule &change, Operation *module);

  const AbstractValue &of(Value value) override { return get(value).stored; }
  const AbstractValue &preRounding(Value value) override {
    return get(value).pre;
  }
  std::optional<WeightView> weights(Value value) override;
  // Elements of shapes do not depend on what inputs hold.
  const ShapeFacts &shapes() override {
    return base && !originals ? base->facts : facts;
  }
  const TargetProfile &target() override { return *profile; }
  size_t maxGroups() const override { return groupLimit; }
  unsigned jobs() const override { return threads; }
  SharedSums sharedSums() override { return shared; }
  void setArgument(BlockArgument argument, AbstractValue value) override {
    setValue(argument, std::move(value));
  }
  void walk(Region &region) override;
  bool computes(Value value) const { return entries.contains(value); }

  std::vector<Operation *> varied, unknown;
  std::shared_ptr<const TargetProfile> profile;

protected:
  void setValue(Value value, AbstractValue pre) override;

private:
  const Entry &get(Value value);
  void visit(Operation *op);
  bool losesTrack(Operation *op);
  void propagate(Block &body, const ChangedModule &change);
  bool isAsBefore(Value result);
  void visitFunction(FunctionOpInterface function);
  Entry summarize(mp::ConstantOp constant);
  AbstractValue summarizeOnce(const WeightView &view);

  /// Where a variation finds what it does not compute itself.
  Driver *base = nullptr;
  /// Of a changed copy: by which name.
  const llvm::DenseMap<Value, Value> *originals = nullptr;
  // Entries do not move: transfer functions hold references to several.
  llvm::DenseMap<Value, std::unique_ptr<Entry>> entries;
  ShapeFacts facts;
  size_t groupLimit = 0;
  unsigned threads = 0;
  SharedSums shared;
  /// The same as `unknown`: bodies of loops are walked several times.
  llvm::DenseSet<Operation *> counted;
};

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// What every value of a dtype is, whatever a transfer function says.
static void fitInteger(AbstractValue &value, IntegerType type, Value of) {
  AbstractValue all = TransferContext::anything(of);
  const Cell &range = all.cell(0);
  bool wraps = value.mayBeNonFinite();
  for (const Cell &cell : value.cells())
    wraps |= !cell.empty() && (cell.lo < range.lo || cell.hi > range.hi);
  if (wraps) {
    LikelySource source = value.source;
    Cell likely = value.hull();
    value = all;
    // The estimate stays if it fits: wrapping is not what one expects.
    Cell &cell = value.mutableCells().front();
    if (source != LikelySource::Unknown && likely.likelyLo >= range.lo &&
        likely.likelyHi <= range.hi) {
      likely.lo = range.lo;
      likely.hi = range.hi;
      cell = likely;
      value.source = source;
    }
  }
  value.nan = value.posInf = value.negInf = false;
  value.integral = true;
}

/// Axes that the type does not have, or has in another size, are merged: a
/// transfer function need not know what type inference learnt elsewhere.
static void fitShape(AbstractValue &value, Value of) {
  MaybeShape shape = getShape(of);
  size_t rank = shape ? shape->size() : 0;
  if (rank == value.rank()) {
    for (size_t axis = 0; axis < rank; ++axis)
      if (value.dims()[axis] != 1 && (*shape)[axis] >= 0 &&
          value.dims()[axis] != (*shape)[axis])
        value = value.merging(axis);
    return;
  }
  AbstractValue merged(AbstractValue::Dims(rank, 1), value.hull());
  merged.copyFlags(value);
  value = std::move(merged);
}

/// Facts say something about single elements, too, and bounds limit what one
/// expects, but for what flushed: a product with an epsilon that is stored as 0
/// is 0 for sure, and the estimate still says what it would have been.
static void fitCells(AbstractValue &value, const FloatFormat *format) {
  double flushed = format ? format->flushAt : 0;
  double limit = std::numeric_limits<double>::infinity();
  if (value.norm)
    limit = value.norm->bound;
  double lo = -limit, hi = limit;
  if (value.rowSum) {
    lo = std::max(lo, 0.0);
    hi = std::min(hi, value.rowSum->hi);
  }
  double smallest = std::numeric_limits<double>::max();
  bool likely = value.hasLikely();
  for (Cell &cell : value.mutableCells()) {
    if (cell.empty()) {
      cell.lo = std::numeric_limits<double>::infinity();
      cell.hi = -cell.lo;
      continue;
    }
    cell.lo = std::max(cell.lo, lo);
    cell.hi = std::min(cell.hi, hi);
    if (cell.lo > 0)
      smallest = std::min(smallest, cell.lo);
    else if (cell.hi < 0)
      smallest = std::min(smallest, -cell.hi);
    else if (cell.lo != 0 || cell.hi != 0)
      smallest = 0;
    if (!likely)
      continue;
    if (std::isnan(cell.mean) || std::isnan(cell.variance) ||
        std::isnan(cell.likelyLo) || std::isnan(cell.likelyHi)) {
      value.source = LikelySource::Unknown;
      continue;
    }
    bool lost = cell.absMax() <= flushed;
    double least = lost ? -flushed : cell.lo, most = lost ? flushed : cell.hi;
    cell.mean = std::clamp(cell.mean, least, std::max(least, most));
    cell.likelyLo = std::clamp(cell.likelyLo, least, cell.mean);
    cell.likelyHi =
        std::clamp(cell.likelyHi, cell.mean, std::max(cell.mean, most));
    // Popoviciu: what lies in an interval varies no more than its ends do.
    double half = (most - least) / 2;
    cell.variance = std::clamp(cell.variance, 0.0, half * half);
  }
  value.minNonZero = std::max(value.minNonZero, smallest);
  if (value.integral)
    value.minNonZero = std::max(value.minNonZero, 1.0);
}

/// Elements of small integer tensors that shape arithmetic follows are known
/// exactly, whatever a transfer function makes of them.
static void useElements(AbstractValue &pre, Value value,
                        const ShapeFacts &facts, size_t limit) {
  std::optional<SmallVector<int64_t>> known = facts.constants(value);
  MaybeShape shape = getShape(value);
  if (!known || known->empty() || known->size() > limit || !shape ||
      getNumElements(shape) != int64_t(known->size()))
    return;
  std::vector<Cell> cells;
  double least = std::numeric_limits<double>::max();
  for (int64_t element : *known) {
    if (std::abs(element) > (int64_t(1) << 53))
      return; // no double
    double number = element;
    cells.push_back(Cell{number, number, number, 0, number, number});
    if (element != 0)
      least = std::min(least, std::fabs(number));
  }
  pre = AbstractValue(AbstractValue::Dims(shape->begin(), shape->end()),
                      std::move(cells));
  pre.integral = true;
  pre.minNonZero = least;
  pre.source = LikelySource::Weight;
}

void RangeAnalysis::Driver::setValue(Value value, AbstractValue pre) {
  if (isa<IntegerType>(getElementType(value)))
    useElements(pre, value, shapes(), groupLimit);
  fitShape(pre, value);
  pre = pre.limited(groupLimit);
  Type element = getElementType(value);
  if (auto integer = dyn_cast<IntegerType>(element))
    fitInteger(pre, integer, value);
  refineByRelations(value, pre, *this);
  const FloatFormat *format = getFloatFormat(element);
  fitCells(pre, format);
  std::unique_ptr<Entry> &entry = entries[value];
  AbstractValue stored = pre.stored(format);
  if (entry)
    *entry = Entry{std::move(pre), std::move(stored)};
  else
    entry = std::make_unique<Entry>(Entry{std::move(pre), std::move(stored)});
}

/// Large weights are read once for all analyses of a context.
AbstractValue RangeAnalysis::Driver::summarizeOnce(const WeightView &view) {
  if (!shared.memo || view.data.size() < Memo::kLeastWeight)
    return summarizeWeights(view, groupLimit);
  MemoKey key;
  key.add('A');
  key.add(view.data.data());
  key.add(view.data.size());
  key.add(view.splat);
  key.add(view.elementType.getAsOpaquePointer());
  key.addAll(ArrayRef<int64_t>(view.shape));
  key.addAll(ArrayRef<const FloatFormat *>(view.roundings));
  key.add(groupLimit);
  if (auto known = shared.memo->find<AbstractValue>(key))
    return *known;
  auto value =
      std::make_shared<const AbstractValue>(summarizeWeights(view, groupLimit));
  shared.memo->keep(key, value, value->groups() * sizeof(Cell));
  return *value;
}

Entry RangeAnalysis::Driver::summarize(mp::ConstantOp constant) {
  Value value = constant.getResult();
  Type element = getElementType(value);
  std::optional<WeightView> view = weights(value);
  AbstractValue pre = view ? summarizeOnce(*view) : anything(value);
  if (isa<IntegerType>(element))
    pre.integral = true;
  fitCells(pre, getFloatFormat(element));
  return Entry{pre, pre.stored(getFloatFormat(element))};
}

const Entry &RangeAnalysis::Driver::get(Value value) {
  if (auto known = entries.find(value); known != entries.end())
    return *known->second;
  if (base) {
    Value known = originals ? originals->lookup(value) : value;
    if (known)
      return base->get(known);
  }
  std::unique_ptr<Entry> &entry = entries[value];
  if (auto constant = value.getDefiningOp<mp::ConstantOp>())
    entry = std::make_unique<Entry>(summarize(constant));
  else // never computed: a body that nobody walks
    entry = std::make_unique<Entry>(Entry{anything(value), anything(value)});
  return *entry;
}

std::optional<WeightView> RangeAnalysis::Driver::weights(Value value) {
  WeightView view;
  while (Operation *op = value.getDefiningOp()) {
    if (auto cast = dyn_cast<mp::CastOp>(op)) {
      const FloatFormat *to = getFloatFormat(getElementType(cast.getResult()));
      if (!to || cast.getSaturate() || cast.getRoundMode() ||
          !getFloatFormat(getElementType(cast.getInput())))
        return std::nullopt;
      view.roundings.insert(view.roundings.begin(), to);
    } else if (!isa<mp::IdentityOp>(op)) {
      break;
    }
    value = op->getOperand(0);
  }
  auto constant = value.getDefiningOp<mp::ConstantOp>();
  if (!constant)
    return std::nullopt;
  Type element = getElementType(value);
  if (!isa<FloatType>(element) && !isa<IntegerType>(element))
    return std::nullopt;
  view.elementType = element;
  view.shape = *getShape(value);
  std::optional<ConstantBytes> bytes = getConstantBytes(constant);
  if (!bytes)
    return std::nullopt;
  view.data = bytes->data;
  view.splat = bytes->splat;
  return view;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Neither a bound nor an estimate, and it may be NaN.
static bool isTop(const AbstractValue &value) {
  if (value.hasLikely() || !value.nan)
    return false;
  Cell hull = value.hull();
  return std::isinf(hull.lo) && std::isinf(hull.hi);
}

bool RangeAnalysis::Driver::losesTrack(Operation *op) {
  auto isUnknown = [&](Value value) {
    return !isa<IntegerType>(getElementType(value)) && isTop(of(value));
  };
  return llvm::any_of(op->getResults(), isUnknown) &&
         llvm::none_of(op->getOperands(), isUnknown);
}

void RangeAnalysis::Driver::visit(Operation *op) {
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    return visitFunction(function);
  if (isa<mp::ConstantOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
    return;
  if (auto elements = dyn_cast<ElementInferenceOpInterface>(op);
      elements && (!base || originals))
    for (OpResult result : op->getResults())
      facts.set(result,
                elements.inferElementsOf(result.getResultNumber(), facts));

  Operation *outer = std::exchange(current, op);
  auto transfer = dyn_cast<RangeOpInterface>(op);
  for (Value result : op->getResults())
    entries.erase(result);
  if (transfer)
    transfer.transfer(*this);
  for (Value result : op->getResults())
    if (!transfer || !entries.contains(result))
      setValue(result, anything(result));
  if ((!transfer || losesTrack(op)) && counted.insert(op).second)
    unknown.push_back(op);
  current = outer;
}

void RangeAnalysis::Driver::walk(Region &region) {
  for (Operation &op : region.getOps())
    visit(&op);
}

void RangeAnalysis::Driver::visitFunction(FunctionOpInterface function) {
  if (function.isExternal())
    return;
  for (BlockArgument argument : function.getArguments())
    setValue(argument,
             inputRange(argument, function.getArgAttrOfType<DictionaryAttr>(
                                      argument.getArgNumber(), "mp.assume")));
  walk(function.getFunctionBody());
}

/// Groups and ops together stay under this many cells, so that the time does
/// not depend on how wide the tensors are.
static constexpr size_t kCellBudget = 1 << 23;
static constexpr size_t kMostGroups = 8192, kFewestGroups = 64;

RangeAnalysis::Driver::Driver(Operation *module) {
  size_t ops = 0;
  module->walk([&](Operation *) { ++ops; });
  groupLimit = std::clamp(kCellBudget / (ops + 1), kFewestGroups, kMostGroups);
  if (auto jobs = module->getAttrOfType<IntegerAttr>("mp.jobs"))
    threads = jobs.getInt();
  if (auto *dialect = module->getContext()->getLoadedDialect<mp::MPDialect>())
    shared.memo = &dialect->getWeights().memo;
  shared.nearly = module->hasAttr("mp.trial");
  profile = TargetProfile::standard();
  if (auto name = module->getAttrOfType<StringAttr>("mp.target")) {
    llvm::Expected<std::shared_ptr<const TargetProfile>> found =
        TargetProfile::find(name);
    // Whoever sets the attribute checks it.
    if (found)
      profile = *found;
    else
      llvm::consumeError(found.takeError());
  }
  for (Region &region : module->getRegions())
    walk(region);
}

/// Ops of the function's body that read the argument or what it reaches,
/// themselves or in a body of theirs.
static std::vector<Operation *> findReached(BlockArgument argument) {
  Block *body = argument.getOwner();
  llvm::DenseSet<Operation *> seen;
  std::vector<Operation *> reached;
  SmallVector<Value> work = {argument};
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers()) {
      Operation *op = body->findAncestorOpInBlock(*user);
      if (!op || !seen.insert(op).second)
        continue;
      reached.push_back(op);
      llvm::append_range(work, op->getResults());
    }
  llvm::sort(reached, [](Operation *lhs, Operation *rhs) {
    return lhs->isBeforeInBlock(rhs);
  });
  return reached;
}

RangeAnalysis::Driver::Driver(Driver &base, BlockArgument argument,
                              AbstractValue value)
    : profile(base.profile), base(&base), groupLimit(base.groupLimit),
      threads(base.threads) {
  setValue(argument, std::move(value));
  varied = findReached(argument);
  for (Operation *op : varied)
    visit(op);
}

//===----------------------------------------------------------------------===//
// Changed copies
//===----------------------------------------------------------------------===//

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
    // What is 0 at one end, or far below the other, is so for a reason.
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

/// Whether what was computed is what the original has.
bool RangeAnalysis::Driver::isAsBefore(Value result) {
  Value original = originals->lookup(result);
  auto computed = entries.find(result);
  if (!original || original.getType() != result.getType() ||
      computed == entries.end())
    return false;
  const Entry &before = base->get(original);
  return isAlike(before.stored, computed->second->stored) &&
         isAlike(before.pre, computed->second->pre);
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
          entries.erase(result);
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
                              Operation *module)
    : profile(base.profile), base(&base), originals(&change.originals),
      groupLimit(base.groupLimit), threads(base.threads), shared(base.shared) {
  shared.nearly = true;
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
      if (change.wholly)
        visitFunction(function);
      else
        propagate(function.getFunctionBody().front(), change);
    }
}

//===----------------------------------------------------------------------===//
// RangeAnalysis
//===----------------------------------------------------------------------===//

RangeAnalysis::RangeAnalysis(Operation *module, AnalysisManager &manager) {
  if (const ChangedModule *change = getChange(manager))
    driver = std::make_unique<Driver>(*change->base->driver, *change, module);
  else
    driver = std::make_unique<Driver>(module);
}

RangeAnalysis::RangeAnalysis(Operation *module)
    : driver(std::make_unique<Driver>(module)) {}
RangeAnalysis::RangeAnalysis(const RangeAnalysis &base, BlockArgument argument,
                             AbstractValue value)
    : driver(
          std::make_unique<Driver>(*base.driver, argument, std::move(value))) {}
RangeAnalysis::RangeAnalysis(RangeAnalysis &&) = default;
RangeAnalysis::~RangeAnalysis() = default;

const AbstractValue &RangeAnalysis::of(Value value) const {
  return driver->of(value);
}
const AbstractValue &RangeAnalysis::preRounding(Value value) const {
  return driver->preRounding(value);
}
ArrayRef<Operation *> RangeAnalysis::varied() const { return driver->varied; }
bool RangeAnalysis::isVaried(Value value) const {
  return driver->computes(value);
}
ArrayRef<Operation *> RangeAnalysis::unknown() const { return driver->unknown; }
const TargetProfile &RangeAnalysis::target() const { return *driver->profile; }

bool RangeAnalysis::isInvalidated(
    const AnalysisManager::PreservedAnalyses &preserved) {
  return !preserved.isPreserved<RangeAnalysis>();
}
