//===- LossGraph.cpp - Losses that are graphs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loss that a model has itself, and one that is a file of its own.
//
//===----------------------------------------------------------------------===//

#include "lib/Adjoint/Loss/LossBuilder.h"
#include "mpopt/Adjoint/Differentiate.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeInference.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// The loss of the model itself
//===----------------------------------------------------------------------===//

static StringRef getResultName(func::FuncOp function, unsigned index) {
  auto name = function.getResultAttrOfType<StringAttr>(index, "mp.name");
  return name ? name.getValue() : StringRef();
}

/// The results that are terms by themselves.
static llvm::DenseSet<unsigned> findLosses(func::FuncOp function,
                                           ArrayRef<LossTerm> terms) {
  llvm::DenseSet<unsigned> losses;
  Operation *terminator = function.getBody().front().getTerminator();
  for (const LossTerm &term : terms)
    if (term.kind == LossKind::Sum || term.kind == LossKind::Mean)
      for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
        if (llvm::is_contained(term.predictions,
                               getResultName(function, index)) &&
            getNumElements(getShape(value)) == 1)
          losses.insert(index);
  return losses;
}

/// Values that depend on an argument called so.
static llvm::DenseSet<Value> findDependent(func::FuncOp function,
                                           ArrayRef<std::string> names) {
  llvm::DenseSet<Value> dependent;
  for (BlockArgument argument : function.getArguments())
    if (llvm::is_contained(names, getInputName(argument)))
      dependent.insert(argument);
  for (Operation &op : function.getBody().front())
    if (llvm::any_of(op.getOperands(),
                     [&](Value value) { return dependent.contains(value); }))
      dependent.insert_range(op.getResults());
  return dependent;
}

void mpopt::markLossPart(func::FuncOp function, ArrayRef<LossTerm> terms,
                         ArrayRef<std::string> targets) {
  llvm::DenseSet<unsigned> losses = findLosses(function, terms);
  if (losses.empty())
    return;
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  bool predicts = false;
  for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
    predicts |= !losses.contains(index) && isDifferentiable(value.getType());
  llvm::DenseSet<Value> dependent = findDependent(function, targets);
  llvm::DenseSet<Operation *> part;
  auto isLossUse = [&](OpOperand &use) {
    Operation *user = block.findAncestorOpInBlock(*use.getOwner());
    return user == terminator ? losses.contains(use.getOperandNumber())
                              : part.contains(user);
  };
  for (Operation &op : llvm::reverse(block)) {
    // A product is none of a loss: it runs as the lists have it, and so does
    // all that is in front of it.
    if (&op == terminator || isa<mp::ConstantOp>(op) || op.use_empty() ||
        hasRole(&op, Role::Contraction) ||
        !llvm::all_of(op.getUses(), isLossUse))
      continue;
    if (!predicts && llvm::none_of(op.getResults(), [&](Value result) {
          return dependent.contains(result);
        }))
      continue;
    part.insert(&op);
    op.setAttr(kLossPartAttr, UnitAttr::get(op.getContext()));
  }
}

//===----------------------------------------------------------------------===//
// A loss of its own
//===----------------------------------------------------------------------===//

namespace {
/// Writes a graph behind a model.
class Inliner {
public:
  Inliner(func::FuncOp function, GradientContext &ctx, const LossTerm &term,
          llvm::function_ref<Value(StringRef)> findOutput)
      : function(function), ctx(ctx), term(term), graph(term.graph),
        findOutput(findOutput) {}

  FailureOr<Value> run();

private:
  InFlightDiagnostic error() {
    return function.emitError() << "loss '" << term.str() << "': ";
  }
  FailureOr<Value> bind(BlockArgument input);
  FailureOr<Value> fit(Value value, BlockArgument input, StringRef name);
  FailureOr<OpOperand *> findLoss();
  void place(Operation *op);

  func::FuncOp function;
  GradientContext &ctx;
  const LossTerm &term;
  func::FuncOp graph;
  llvm::function_ref<Value(StringRef)> findOutput;
  unsigned predictions = 0;
};
} // namespace

/// The value as the graph takes it.
FailureOr<Value> Inliner::fit(Value value, BlockArgument input,
                              StringRef name) {
  Type given = getElementType(value), wanted = getElementType(input);
  bool bothFloats = isa<FloatType>(given) && isa<FloatType>(wanted);
  bool fits = (bothFloats || given == wanted || isUnknown(given)) &&
              mayEqual(getShape(value), getShape(input));
  if (!fits)
    return error() << "'" << name << "' is " << value.getType()
                   << ", and the loss takes " << input.getType();
  return bothFloats ? ctx.cast(value, wanted).value() : value;
}

FailureOr<Value> Inliner::bind(BlockArgument input) {
  std::string name = getInputName(input);
  if (Value output = findOutput(name)) {
    ++predictions;
    return fit(output, input, name);
  }
  auto markTarget = [&](unsigned index) {
    function.setArgAttr(
        index, kLossTargetAttr,
        ctx.builder().getStringAttr(getLossKindInfo(LossKind::Graph).name));
  };
  for (BlockArgument argument : function.getArguments())
    if (getInputName(argument) == name) {
      markTarget(argument.getArgNumber());
      return fit(argument, input, name);
    }
  unsigned index = function.getNumArguments();
  auto attributes =
      DictionaryAttr::get(function.getContext(), ctx.word("mp.name", name));
  if (failed(function.insertArgument(index, input.getType(), attributes,
                                     ctx.loc())))
    return failure();
  markTarget(index);
  return Value(function.getArgument(index));
}

/// The result that is the loss.
FailureOr<OpOperand *> Inliner::findLoss() {
  Operation *terminator = graph.getBody().front().getTerminator();
  OpOperand *found = nullptr;
  unsigned single = 0;
  for (OpOperand &operand : terminator->getOpOperands()) {
    if (!isDifferentiable(operand.get().getType()))
      continue;
    if (getResultName(graph, operand.getOperandNumber()) == "loss")
      return &operand;
    if (getNumElements(getShape(operand.get())) == 1) {
      found = &operand;
      ++single;
    }
  }
  if (single != 1)
    return error() << "it has " << single
                   << " results of one float, and none is called 'loss'";
  return found;
}

/// Names of the graph are apart from those of the model.
void Inliner::place(Operation *op) {
  SmallVector<std::string> names;
  for (Value result : op->getResults())
    names.push_back(getValueName(result).str());
  std::string scope = "loss";
  if (StringRef own = getScope(op); !own.empty())
    scope += "/" + own.str();
  op->setLoc(makeOrigin(
      op->getContext(), getNodeName(op), getNodeType(op), scope,
      llvm::map_to_vector(
          names, [](const std::string &name) { return StringRef(name); }),
      UnknownLoc::get(op->getContext())));
}

FailureOr<Value> Inliner::run() {
  FailureOr<OpOperand *> loss = findLoss();
  if (failed(loss))
    return failure();
  IRMapping mapping;
  for (BlockArgument input : graph.getArguments()) {
    FailureOr<Value> value = bind(input);
    if (failed(value))
      return failure();
    mapping.map(input, *value);
  }
  if (!predictions)
    return error() << "none of its inputs is an output of the model";
  Block &body = graph.getBody().front();
  for (Operation &op : body.without_terminator()) {
    Operation *copy = ctx.builder().clone(op, mapping);
    copy->walk([&](Operation *inner) { place(inner); });
    if (copy->getNumRegions() == 0 && failed(inferTypes(copy, ctx.facts())))
      return failure();
  }
  Value result = mapping.lookup((*loss)->get());
  if (getNumElements(getShape(result)) != 1)
    return error() << "its result is " << result.getType()
                   << ", and a loss is one number";
  return result;
}

FailureOr<Value>
mpopt::inlineLossGraph(func::FuncOp function, GradientContext &ctx,
                       const LossTerm &term,
                       llvm::function_ref<Value(StringRef)> findOutput) {
  return Inliner(function, ctx, term, findOutput).run();
}
