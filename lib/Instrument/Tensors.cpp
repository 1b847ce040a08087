//===- Tensors.cpp - What the analysis says of each tensor ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/Tensors.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Fingerprint.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Parameters.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/ExpectedCodes.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpopt;

namespace {
class Collector {
public:
  Collector(const RangeAnalysis &ranges,
            const llvm::StringMap<std::string> &fileDtypes,
            const llvm::StringSet<> &parameters,
            const Fingerprints &fingerprints)
      : ranges(ranges), fileDtypes(fileDtypes), parameters(parameters),
        fingerprints(fingerprints) {}

  void addArgument(BlockArgument argument);
  void addResults(Operation *op);
  /// Marks the tensors that the function returns.
  void markOutputs(Operation *function);

  std::vector<TensorFacts> tensors;

private:
  using Indices = llvm::SmallVector<unsigned, 4>;

  /// Facts about all values that a value depends on.
  struct Upstream {
    bool filed = true;
    bool rounded = false;
    const FloatFormat *narrowest = nullptr;
  };
  using Ops = llvm::SmallVector<Operation *, 2>;
  void add(Value value, Operation *op, Indices operands, Upstream upstream,
           const Ops &unseen);
  TensorFacts describe(Value value, Operation *op, std::string name);
  void addBounds(Value value, TensorFacts &facts) const;
  Ops gatherUnseen(Operation *op) const;
  void join(Upstream &upstream, ValueRange values) const;
  Indices gather(ValueRange values) const;

  const RangeAnalysis &ranges;
  const llvm::StringMap<std::string> &fileDtypes;
  const llvm::StringSet<> &parameters;
  const Fingerprints &fingerprints;
  llvm::StringSet<> names;
  /// By value: its tensor, or those that it was computed from.
  llvm::DenseMap<Value, Indices> sources;
  /// The tensor that a value is.
  llvm::DenseMap<Value, unsigned> own;
  /// By value that is no tensor: the ops that computed it from `sources`.
  llvm::DenseMap<Value, Ops> unseenOps;
  /// Values that are judged in the file's dtypes, with all they depend on.
  llvm::DenseSet<Value> filed;
  /// Values that an op computes and stores in 16 or 8 bits, and all that depend
  /// on them.
  llvm::DenseSet<Value> rounded;
  /// By value: the format with the fewest digits, among its own and those
  /// upstream; null: no float.
  llvm::DenseMap<Value, const FloatFormat *> narrowest;
};
} // namespace

Collector::Indices Collector::gather(ValueRange values) const {
  Indices found;
  for (Value value : values)
    if (auto it = sources.find(value); it != sources.end())
      for (unsigned index : it->second)
        if (!llvm::is_contained(found, index))
          found.push_back(index);
  return found;
}

// More are of no use to somebody who reads their names.
static constexpr size_t kMostUnseen = 8;

Collector::Ops Collector::gatherUnseen(Operation *op) const {
  Ops found;
  for (Value value : op->getOperands())
    if (auto it = unseenOps.find(value); it != unseenOps.end())
      for (Operation *unseen : it->second)
        if (found.size() < kMostUnseen && !llvm::is_contained(found, unseen))
          found.push_back(unseen);
  return found;
}

/// Ops that a node was lowered to are that node.
static bool isSameNode(Operation *a, Operation *b) {
  return getNodeName(a) == getNodeName(b) && getScope(a) == getScope(b);
}

static const FloatFormat *getNarrower(const FloatFormat *a,
                                      const FloatFormat *b) {
  if (!a || !b)
    return a ? a : b;
  return b->digits < a->digits ? b : a;
}

void Collector::join(Upstream &upstream, ValueRange values) const {
  for (Value value : values) {
    upstream.filed &= filed.contains(value);
    upstream.rounded |= rounded.contains(value);
    upstream.narrowest =
        getNarrower(upstream.narrowest, narrowest.lookup(value));
  }
}

// Ops whose results are elements of their operands: none makes an infinity.
static bool copiesElements(Operation *op) {
  if (!hasRole(op, Role::CopiesElements))
    return false;
  // Sums of what is scattered are new values.
  auto reduction = op->getAttrOfType<StringAttr>("reduction");
  return !reduction || mp::symbolizeScatterReduction(reduction.getValue()) ==
                           mp::ScatterReduction::None;
}

/// True if the op gives all elements of its operand 0 another order or shape,
/// whatever the input.
static bool reorders(Operation *op) {
  return isViewLike(op) && op->getNumResults() == 1 &&
         llvm::all_of(llvm::drop_begin(op->getOperands()), [](Value operand) {
           return operand.getDefiningOp<mp::ConstantOp>();
         });
}

/// Sets how the ops that compute with a parameter take it. Its elements may get
/// another order before they are cast.
static void findUses(Value value, TensorFacts &facts) {
  for (Operation *user : value.getUsers()) {
    if (auto cast = dyn_cast<mp::CastOp>(user);
        cast && isLowPrecision(getElementType(cast.getResult())))
      facts.castTo = getDtypeName(getElementType(cast.getResult()));
    else if (reorders(user))
      findUses(user->getResult(0), facts);
    else
      facts.usedAsIs = true;
  }
}

/// The first op that reads the value, past casts and views.
static OpOperand *findFirstUse(Value value) {
  OpOperand *first = nullptr;
  for (OpOperand &use : value.getUses())
    if (!first ||
        (use.getOwner()->getBlock() == first->getOwner()->getBlock() &&
         use.getOwner()->isBeforeInBlock(first->getOwner())))
      first = &use;
  if (!first)
    return nullptr;
  Operation *user = first->getOwner();
  bool passes = isa<mp::CastOp>(user) || reorders(user);
  OpOperand *behind = passes ? findFirstUse(user->getResult(0)) : nullptr;
  return behind ? behind : first;
}

/// TensorFacts::structure of a value that `op` computes; null: an argument.
static std::string getStructure(Value value, Operation *op,
                                const Fingerprints &fingerprints) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    std::string place = "argument-" + std::to_string(argument.getArgNumber());
    return op ? fingerprints.get(op, place) : place;
  }
  // All constants are alike: their place is that where they are read.
  if (isa<mp::ConstantOp>(op)) {
    OpOperand *use = findFirstUse(value);
    return use ? fingerprints.get(use->getOwner(),
                                  "operand-" +
                                      std::to_string(use->getOperandNumber()))
               : "";
  }
  unsigned result = cast<OpResult>(value).getResultNumber();
  std::string print =
      fingerprints.get(op, result ? "result-" + std::to_string(result) : "");
  return isa<mp::CastOp>(op) ? "cast-" + print : print;
}

void Collector::add(Value value, Operation *op, Indices operands,
                    Upstream upstream, const Ops &unseen) {
  std::string name = getTensorPath(value);
  // Every value has its dtype from the file, or an op that a precision put in.
  bool asFiled = upstream.filed;
  if (auto cast = dyn_cast_or_null<mp::CastOp>(op))
    asFiled &= cast.getOrigin() == mp::CastOrigin::Model;
  if (auto known = fileDtypes.find(name); known != fileDtypes.end())
    asFiled &= known->second == getDtypeName(getElementType(value));
  if (asFiled)
    filed.insert(value);
  // A cast is one of the file's, which no runtime leaves out.
  bool computes = op && !isa<mp::CastOp>(op) && !copiesElements(op);
  if (upstream.rounded || (computes && isLowPrecision(getElementType(value))))
    rounded.insert(value);
  const FloatFormat *least = upstream.narrowest;
  if (isa<TensorType>(value.getType()))
    least = getNarrower(least, getFloatFormat(getElementType(value)));
  narrowest[value] = least;
  if (!isa<TensorType>(value.getType()) || name.empty() ||
      !names.insert(name).second) {
    sources[value] = std::move(operands);
    Ops &ops = unseenOps[value] = unseen;
    if (computes && !getNodeName(op).empty() && ops.size() < kMostUnseen)
      ops.push_back(op);
    return;
  }
  TensorFacts facts = describe(value, op, std::move(name));
  facts.asFiled = asFiled;
  facts.afterRounding = upstream.rounded;
  facts.narrowest = least ? least->name.str() : "";
  addBounds(value, facts);
  facts.operands = std::move(operands);
  for (Operation *other : unseen)
    if (!op || !isSameNode(other, op))
      facts.unseen.push_back(getOpName(other));
  own[value] = unsigned(tensors.size());
  sources[value] = {unsigned(tensors.size())};
  tensors.push_back(std::move(facts));
}

/// The facts that the tensor and the op that computes it, if any, hold.
TensorFacts Collector::describe(Value value, Operation *op, std::string name) {
  TensorFacts facts;
  facts.name = std::move(name);
  if (op)
    facts.op = {getOpName(op), getOpType(op), getScopeText(op)};
  facts.structure = getStructure(value, op, fingerprints);
  Type element = getElementType(value);
  facts.dtype = getDtypeName(element);
  facts.fileDtype = fileDtypes.lookup(facts.name);
  if (MaybeShape shape = getShape(value)) {
    facts.shape.emplace();
    for (int64_t dim : *shape)
      facts.shape->push_back(dim < 0 ? -1 : dim);
  }
  facts.isFloat = isa<FloatType>(element);
  facts.isConstant = isa_and_nonnull<mp::ConstantOp>(op);
  facts.isParameter = facts.isConstant && parameters.contains(facts.name);
  if (facts.isParameter)
    findUses(value, facts);
  facts.isMoved = op && isViewLike(op);
  facts.copies = op && copiesElements(op);
  facts.isLayer = hasRole(op, Role::Layer);
  if (op)
    if (FileLineColLoc line = getSourceLine(op->getLoc()))
      facts.location = SourceLine{line.getFilename().str(), line.getLine()};
  return facts;
}

/// Bounds as computed, flags as stored: as in --dump-ranges.
void Collector::addBounds(Value value, TensorFacts &facts) const {
  const AbstractValue &computed = ranges.preRounding(value);
  const AbstractValue &stored = ranges.of(value);
  Cell hull = computed.hull();
  facts.bound = hull.empty() ? Interval{0, 0} : Interval{hull.lo, hull.hi};
  facts.nan = stored.nan;
  facts.posInf = stored.posInf;
  facts.negInf = stored.negInf;
  facts.minNonZero = stored.minNonZero;
  if (computed.hasLikely() && !hull.empty())
    facts.likely = Interval{hull.likelyLo, hull.likelyHi};
  if (auto quantize = value.getDefiningOp<mp::QuantizeOp>();
      quantize && !isConstant(quantize.getInput()))
    facts.codes = expectCodes(quantize, ranges);
}

void Collector::addArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  bool isInput = isa_and_nonnull<FunctionOpInterface>(parent);
  // Arguments of a body come from any operand of its op, or from its own
  // results.
  Upstream upstream;
  if (!isInput)
    join(upstream, parent->getOperands());
  add(argument, isInput ? nullptr : parent,
      isInput ? Indices() : gather(parent->getOperands()), upstream,
      isInput ? Ops() : gatherUnseen(parent));
  if (auto it = own.find(argument); it != own.end() && !isInput)
    tensors[it->second].isMoved = tensors[it->second].copies = true;
  if (isInput && !tensors.empty() &&
      sources[argument] == Indices{unsigned(tensors.size() - 1)})
    tensors.back().isInput = true;
}

void Collector::addResults(Operation *op) {
  Indices operands = gather(op->getOperands());
  Upstream upstream;
  join(upstream, op->getOperands());
  // A result of control flow is what its bodies end with.
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      ValueRange yielded = block.getTerminator()->getOperands();
      join(upstream, yielded);
      Indices results = gather(yielded);
      auto add = [&](Indices &to) {
        for (unsigned index : results)
          if (!llvm::is_contained(to, index))
            to.push_back(index);
      };
      add(operands);
      // The next round may begin with them.
      if (isa<FunctionOpInterface>(op))
        continue;
      for (BlockArgument argument : block.getArguments())
        if (auto it = own.find(argument); it != own.end())
          add(tensors[it->second].operands);
    }
  for (Value result : op->getResults())
    add(result, op, operands, upstream, gatherUnseen(op));
}

void Collector::markOutputs(Operation *function) {
  for (Region &region : function->getRegions())
    for (Block &block : region)
      for (unsigned index : gather(block.getTerminator()->getOperands()))
        tensors[index].isOutput = true;
}

llvm::StringMap<std::string> mpopt::collectDtypes(ModuleOp module) {
  llvm::StringMap<std::string> dtypes;
  auto add = [&](Value value) {
    if (!isa<TensorType>(value.getType()))
      return;
    if (std::string name = getTensorPath(value); !name.empty())
      dtypes.try_emplace(name, getDtypeName(getElementType(value)));
  };
  module.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), add);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), add);
  });
  return dtypes;
}

llvm::StringSet<> mpopt::collectParameters(ModuleOp module) {
  llvm::StringSet<> names;
  module.walk([&](mp::ConstantOp constant) {
    if (isParameter(constant.getResult()))
      names.insert(getTensorPath(constant.getResult()));
  });
  return names;
}

llvm::StringMap<std::string> mpopt::collectOutputs(ModuleOp module) {
  llvm::StringMap<std::string> outputs;
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    Operation *terminator = function.getFunctionBody().front().getTerminator();
    for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
      if (auto name =
              function.getResultAttrOfType<StringAttr>(index, "mp.name"))
        outputs.try_emplace(name.getValue(), getTensorName(value));
    break;
  }
  return outputs;
}

// Bodies before the results of their op, so that each tensor comes after those
// it depends on.
static void visit(Operation *op, Collector &collector) {
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        collector.addArgument(argument);
      for (Operation &inner : block)
        visit(&inner, collector);
    }
  collector.addResults(op);
}

std::vector<TensorFacts>
mpopt::collectTensors(ModuleOp module, const RangeAnalysis &ranges,
                      const llvm::StringMap<std::string> &fileDtypes,
                      const llvm::StringSet<> &parameters) {
  Fingerprints fingerprints(module);
  Collector collector(ranges, fileDtypes, parameters, fingerprints);
  for (Operation &function : *module.getBody()) {
    visit(&function, collector);
    collector.markOutputs(&function);
  }
  return std::move(collector.tensors);
}
