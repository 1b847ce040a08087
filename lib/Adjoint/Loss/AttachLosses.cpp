//===- AttachLosses.cpp - A model with its loss
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds what a term is about, and puts the terms together.
//
//===----------------------------------------------------------------------===//

#include "lib/Adjoint/Loss/LossBuilder.h"
#include "mpopt/Adjoint/Differentiate.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpopt;

namespace {
struct Output {
  std::string name;
  Value value;
};

/// The terms of one function.
class Attachment {
public:
  Attachment(func::FuncOp function, ArrayRef<LossTerm> terms);

  FailureOr<Value> run();

private:
  func::FuncOp function;
  Operation *terminator;
  OpBuilder builder;
  SmallVector<LossTerm, 1> terms;
  SmallVector<Output> outputs;
  ShapeFacts facts;

  InFlightDiagnostic error(const LossTerm &term) {
    return function.emitError() << "loss '" << term.str() << "': ";
  }
  const Output *findOutput(StringRef name) const;
  bool hasArgument(StringRef name);
  LogicalResult complete(LossTerm &term);
  LogicalResult completeTarget(LossTerm &term);
  LogicalResult checkOptions(const LossTerm &term);
  FailureOr<Value> buildTerm(GradientContext &ctx, const LossTerm &term);
  void finishOps(Operation *made, const LossTerm &term);
  FailureOr<Value> append(Value loss);
};
} // namespace

/// All results, with their names or made-up ones.
static SmallVector<Output> listOutputs(func::FuncOp function) {
  SmallVector<Output> outputs;
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    auto given = function.getResultAttrOfType<StringAttr>(index, "mp.name");
    std::string name =
        given ? given.getValue().str() : getValueName(value).str();
    if (name.empty())
      name = "output" + std::to_string(index);
    outputs.push_back({name, value});
  }
  return outputs;
}

Attachment::Attachment(func::FuncOp function, ArrayRef<LossTerm> terms)
    : function(function),
      terminator(function.getBody().front().getTerminator()),
      builder(terminator), terms(terms), outputs(listOutputs(function)) {}

const Output *Attachment::findOutput(StringRef name) const {
  auto *found = llvm::find_if(
      outputs, [&](const Output &output) { return output.name == name; });
  return found == outputs.end() ? nullptr : found;
}

bool Attachment::hasArgument(StringRef name) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto its = function.getArgAttrOfType<StringAttr>(i, "mp.name"))
      if (its.getValue() == name)
        return true;
  return false;
}

LossTerm mpopt::chooseLossTerm(func::FuncOp function) {
  LossTerm term;
  SmallVector<Output> outputs = listOutputs(function);
  llvm::erase_if(outputs, [](const Output &output) {
    return !isDifferentiable(output.value.getType());
  });
  if (outputs.empty())
    return term;
  auto isScalar = [](const Output &output) {
    return getNumElements(getShape(output.value)) == 1;
  };
  auto isCalledLoss = [](const Output &output) {
    return StringRef(output.name).contains_insensitive("loss");
  };
  // Models that return a loss return what they predict besides: it is called
  // so, or is the only number among tensors.
  auto isNumber = [](const Output &output) {
    MaybeShape shape = getShape(output.value);
    return shape && shape->empty();
  };
  auto *loss = llvm::find_if(outputs, [&](const Output &output) {
    return isScalar(output) && isCalledLoss(output);
  });
  if (loss == outputs.end() && llvm::count_if(outputs, isNumber) == 1)
    loss = llvm::find_if(outputs, isNumber);
  const Output &first = loss == outputs.end() ? outputs.front() : *loss;
  term.predictions = {first.name};
  MaybeShape shape = getShape(first.value);
  StringRef name = first.name;
  if (isScalar(first) || isCalledLoss(first))
    term.kind = isScalar(first) ? LossKind::Sum : LossKind::Mean;
  else if (name.contains_insensitive("logit"))
    term.kind = shape && (shape->size() < 2 || shape->back() == 1)
                    ? LossKind::BceWithLogits
                    : LossKind::CrossEntropy;
  return term;
}

LogicalResult Attachment::checkOptions(const LossTerm &term) {
  const LossKindInfo &info = getLossKindInfo(term.kind);
  bool ignores =
      term.kind == LossKind::CrossEntropy || term.kind == LossKind::Nll;
  if (term.ignoreIndex && !ignores)
    return error(term) << info.name << " ignores no index";
  if (term.classAxis && !info.hasClasses)
    return error(term) << info.name << " has no class axis";
  if (term.labelSmoothing != 0 && term.kind != LossKind::CrossEntropy)
    return error(term) << info.name << " smooths no labels";
  if (term.margin && !info.margin)
    return error(term) << info.name << " has no margin";
  if ((term.beta || term.delta) && term.kind != LossKind::SmoothL1)
    return error(term) << info.name << " has no "
                       << (term.beta ? "beta" : "delta");
  if (term.beta && term.delta)
    return error(term) << "beta is of the smooth L1 loss, delta of Huber's, "
                          "and only one can be";
  if (term.delta && *term.delta == 0)
    return error(term) << "delta 0 leaves nothing of the loss";
  if ((term.gamma || term.alpha) && term.kind != LossKind::Focal)
    return error(term) << info.name << " has no "
                       << (term.gamma ? "gamma" : "alpha");
  if (term.alpha && *term.alpha > 1)
    return error(term) << "alpha is above 1";
  if (term.shareCounted && !info.takesTarget)
    return error(term) << info.name << " takes no target";
  bool reduces = term.kind == LossKind::Sum || term.kind == LossKind::Mean;
  if (term.reduction && reduces)
    return error(term) << info.name << " is a reduction itself";
  if (term.reduction == LossReduction::None && terms.size() > 1)
    return error(term) << "reduction none leaves nothing that can be added to "
                          "other terms";
  return success();
}

LogicalResult Attachment::completeTarget(LossTerm &term) {
  const LossKindInfo &info = getLossKindInfo(term.kind);
  if (!info.takesTarget) {
    // The diagonal is right, whatever holds its numbers.
    if (!term.target.empty() && term.kind != LossKind::Contrastive)
      return error(term) << info.name << " takes no target";
    term.target.clear();
  } else if (term.target.empty()) {
    unsigned targets = llvm::count_if(terms, [](const LossTerm &other) {
      return getLossKindInfo(other.kind).takesTarget;
    });
    term.target = targets == 1 && !hasArgument("target")
                      ? "target"
                      : "target(" + term.predictions[0] + ")";
  }
  return success();
}

/// Sets the names, and the class axis where several are possible.
LogicalResult Attachment::complete(LossTerm &term) {
  const LossKindInfo &info = getLossKindInfo(term.kind);
  if (term.kind == LossKind::Graph)
    return success();
  if (failed(checkOptions(term)))
    return failure();
  if (term.predictions.empty())
    for (const Output &output : outputs)
      if (isDifferentiable(output.value.getType()) &&
          term.predictions.size() < info.predictions)
        term.predictions.push_back(output.name);
  if (term.predictions.size() != info.predictions)
    return function.emitError()
           << "loss '" << info.name << "' needs " << info.predictions
           << (info.predictions == 1 ? " float output" : " float outputs")
           << ", not " << term.predictions.size();
  for (const std::string &name : term.predictions) {
    const Output *output = findOutput(name);
    if (!output)
      return error(term) << "no output is called '" << name << "'; there are: "
                         << llvm::join(llvm::map_range(outputs,
                                                       [](const Output &its) {
                                                         return its.name;
                                                       }),
                                       ", ");
    if (!isDifferentiable(output->value.getType()))
      return error(term) << "output '" << name << "' is "
                         << output->value.getType()
                         << ", and a prediction is of floats";
  }
  if (failed(completeTarget(term)))
    return failure();
  MaybeShape shape = getShape(findOutput(term.predictions[0])->value);
  if (info.hasClasses && !term.classAxis && shape && shape->size() > 2)
    term.classAxis = shape->size() == 3 ? 2 : 1;
  return success();
}

FailureOr<Value> Attachment::buildTerm(GradientContext &ctx,
                                       const LossTerm &term) {
  SmallVector<Value> predictions;
  for (const std::string &name : term.predictions) {
    Value value = findOutput(name)->value;
    if (term.lastPosition) {
      MaybeShape shape = getShape(value);
      int64_t rank = shape ? shape->size() : 0;
      bool classes = getLossKindInfo(term.kind).hasClasses;
      int64_t classAxis = term.classAxis.value_or(1);
      int64_t axis =
          classes && (classAxis == 1 || classAxis + rank == 1) ? 2 : 1;
      if (axis >= rank)
        return error(term) << "'" << name << "' has no axis of positions";
      value = ctx.make<mp::SliceOp>(
          {value, Value(), Value(), Value(), Value()},
          {ctx.integers("starts", {-1}),
           ctx.integers("ends", {std::numeric_limits<int64_t>::max()}),
           ctx.integers("axes", {axis})});
    }
    Type element = getElementType(value);
    predictions.push_back(ctx.cast(
        value, element.isF64() ? element : Type(builder.getF32Type())));
  }
  FailureOr<Value> loss =
      term.kind == LossKind::Graph
          ? inlineLossGraph(function, ctx, term,
                            [&](StringRef name) {
                              const Output *output = findOutput(name);
                              return output ? output->value : Value();
                            })
          : LossBuilder(function, ctx, term).build(predictions);
  if (failed(loss) || ctx.failed())
    return failure();
  return Value(ctx.scaled(*loss, term.weight));
}

/// Returns the loss, unless it is an output of that name.
FailureOr<Value> Attachment::append(Value loss) {
  const Output *taken = findOutput("loss");
  if (taken && taken->value == loss)
    return loss;
  StringRef name = taken ? "total_loss" : "loss";
  Operation *maker = loss.getDefiningOp();
  Location location = makeOrigin(builder.getContext(), name, "", "", {name},
                                 builder.getUnknownLoc());
  if (maker && getValueName(loss).empty() && loss.use_empty()) {
    maker->setLoc(location);
  } else {
    // A value that has another name already.
    loss = mp::IdentityOp::create(builder, location, loss.getType(), loss)
               .getResult();
  }
  auto attributes = builder.getDictionaryAttr(
      builder.getNamedAttr("mp.name", builder.getStringAttr(name)));
  if (failed(function.insertResult(function.getNumResults(), loss.getType(),
                                   attributes)))
    return failure();
  terminator->insertOperands(terminator->getNumOperands(), loss);
  return loss;
}

/// Marks the ops from `made` on, and says where they come from.
void Attachment::finishOps(Operation *made, const LossTerm &term) {
  Location location = makeOrigin(
      builder.getContext(), "loss/" + getLossKindInfo(term.kind).name.str(), "",
      "", {}, builder.getUnknownLoc());
  for (; made != terminator; made = made->getNextNode()) {
    made->setAttr(kLossPartAttr, builder.getUnitAttr());
    // Those of a graph have names of their own, in a scope.
    if (getScope(made).empty())
      made->setLoc(location);
    if (term.shareCounted && hasRole(made, Role::Loss))
      made->setAttr(kShareCountedAttr,
                    builder.getF64FloatAttr(*term.shareCounted));
  }
}

FailureOr<Value> Attachment::run() {
  bool chosen = terms.empty();
  if (chosen) {
    if (llvm::none_of(outputs, [](const Output &output) {
          return isDifferentiable(output.value.getType());
        }))
      return function.emitError()
             << "no output is of floats, and a loss needs one";
    terms.push_back(chooseLossTerm(function));
  }
  // The context only makes ops here; no gradient is asked for yet.
  auto isActive = [](Value) { return false; };
  auto sink = [](Value, Value) {};
  GradientContext ctx(builder, facts, terminator, {}, isActive, sink);
  Value total;
  SmallVector<Attribute> texts;
  for (LossTerm &term : terms) {
    std::string given = term.str();
    if (failed(complete(term)))
      return failure();
    std::string text = term.str();
    if (chosen)
      function.emitRemark()
          << "takes '" << text << "' as the loss, by the outputs";
    else if (given != text)
      function.emitRemark()
          << "reads the loss '" << given << "' as '" << text << "'";
    texts.push_back(builder.getStringAttr(text));

    Operation *before = terminator->getPrevNode();
    FailureOr<Value> loss = buildTerm(ctx, term);
    if (failed(loss))
      return failure();
    if (!total) {
      total = *loss;
    } else {
      if (getElementType(total) != getElementType(*loss)) {
        total = ctx.cast(total, builder.getF64Type());
        loss = ctx.cast(*loss, builder.getF64Type()).value();
      }
      total = Term(ctx, total) + Term(ctx, *loss);
    }
    Block &block = function.getBody().front();
    finishOps(before ? before->getNextNode() : &block.front(), term);
  }
  FailureOr<Value> loss = append(total);
  if (succeeded(loss))
    function->setAttr(kLossAttr, builder.getArrayAttr(texts));
  return loss;
}

FailureOr<Value> mpopt::attachLosses(func::FuncOp function,
                                     ArrayRef<LossTerm> terms) {
  return Attachment(function, terms).run();
}
