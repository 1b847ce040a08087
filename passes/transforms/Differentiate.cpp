//===- Differentiate.cpp - Append the backward graph of a result
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/transforms/Passes.h"

#include "mpopt/Adjoint/Differentiate.h"
#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace mpopt {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/transforms/Passes.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

/// True for an operand that an op computes with and that it may learn: not a
/// scale in a dtype of its own, nor the kept statistics of a batch norm.
static bool isLearned(OpOperand &use) {
  if (auto norm = dyn_cast<mp::BatchNormOp>(use.getOwner()))
    if (use.get() == norm.getMean() || use.get() == norm.getVariance())
      return false;
  auto precision = dyn_cast<PrecisionOpInterface>(use.getOwner());
  return precision && precision.isPrecisionOperand(use.getOperandNumber());
}

/// True for a float constant that some op may learn, and that the model does
/// not write as a literal in its graph.
static bool isParameter(Value value) {
  auto constant = value.getDefiningOp<mp::ConstantOp>();
  return constant && isa<FloatType>(getElementType(value)) &&
         !getNodeType(constant).ends_with("Constant") &&
         llvm::any_of(value.getUses(), isLearned);
}

static bool isFloat(Value value) {
  return isa<TensorType>(value.getType()) &&
         isa<FloatType>(getElementType(value));
}

/// Its name in the model, or as a result.
static StringRef nameOf(func::FuncOp function, Value value) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, operand] : llvm::enumerate(terminator->getOperands()))
    if (operand == value)
      if (auto name =
              function.getResultAttrOfType<StringAttr>(index, "mp.name"))
        return name.getValue();
  return getValueName(value);
}

namespace {
struct Differentiate : mpopt::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override;
  LogicalResult run(func::FuncOp function);
  Value findResult(func::FuncOp function);
  SmallVector<Value> findWanted(func::FuncOp function);
  Value makeSeed(func::FuncOp function, Value result, OpBuilder &builder);
};
} // namespace

/// The function's value of that name, or its first float result.
Value Differentiate::findResult(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    auto name = function.getResultAttrOfType<StringAttr>(index, "mp.name");
    if (of.empty() ? isFloat(value) : name && name.getValue() == of)
      return value;
  }
  for (Operation &op : function.getBody().front())
    for (Value value : op.getResults())
      if (!of.empty() && isFloat(value) && getValueName(value) == of)
        return value;
  return {};
}

SmallVector<Value> Differentiate::findWanted(func::FuncOp function) {
  bool parameters = wrt == "parameters", inputs = wrt == "inputs",
       all = wrt == "all";
  llvm::StringSet<> names;
  SmallVector<StringRef> parts;
  StringRef(wrt).split(parts, ';');
  for (StringRef part : parts)
    names.insert(part.trim());
  llvm::SmallSetVector<Value, 8> wanted;
  auto consider = [&](Value value, bool kind) {
    StringRef name = getValueName(value);
    if (isFloat(value) && !name.empty() &&
        (all || kind || names.contains(name)))
      wanted.insert(value);
  };
  for (Value argument : function.getArguments())
    consider(argument, inputs);
  for (Operation &op : function.getBody().front())
    for (Value value : op.getResults())
      consider(value, parameters && isParameter(value));
  return wanted.takeVector();
}

Value Differentiate::makeSeed(func::FuncOp function, Value result,
                              OpBuilder &builder) {
  MaybeShape shape = getShape(result);
  bool single = getNumElements(shape) == 1;
  Type element = getElementType(result);
  if (seed == "argument" || (seed == "auto" && !single)) {
    std::string name = "seed(" + nameOf(function, result).str() + ")";
    auto attributes = builder.getDictionaryAttr(
        builder.getNamedAttr("mp.name", builder.getStringAttr(name)));
    unsigned index = function.getNumArguments();
    if (failed(function.insertArgument(index, result.getType(), attributes,
                                       result.getLoc())))
      return {};
    return function.getArgument(index);
  }
  auto ones = [&](RankedTensorType type) {
    return DenseElementsAttr::get(type,
                                  builder.getFloatAttr(element, 1).getValue());
  };
  Location location = withValues(result.getLoc(), {});
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (type && type.hasStaticShape())
    return mp::ConstantOp::create(builder, location, type, ones(type))
        .getResult();
  ShapeFacts facts;
  auto dims = mp::ShapeOp::create(builder, location,
                                  getUnknownTensor(&getContext()), result);
  if (failed(inferTypes(dims, facts)))
    return {};
  return mp::FillOp::create(builder, location, result.getType(),
                            dims.getResult(),
                            ones(RankedTensorType::get({1}, element)))
      .getResult();
}

/// Marks the ops behind `last`, and the one that makes the seed.
static void markBackward(func::FuncOp function, Operation *last, Value seed) {
  UnitAttr mark = UnitAttr::get(function.getContext());
  Operation *first =
      last ? last->getNextNode() : &function.getBody().front().front();
  for (Operation *op = first; op && !op->hasTrait<OpTrait::IsTerminator>();
       op = op->getNextNode())
    op->setAttr(kBackwardAttr, mark);
  if (Operation *maker = seed.getDefiningOp())
    maker->setAttr(kSeedAttr, mark);
}

LogicalResult Differentiate::run(func::FuncOp function) {
  prepareGradients(function);
  Value result = findResult(function);
  if (!result)
    return function.emitError()
           << (of.empty() ? "no float result to differentiate"
                          : "no float value is called " + of);
  SmallVector<Value> wanted = findWanted(function);
  Operation *terminator = function.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  Operation *last = terminator->getPrevNode();
  Value start = makeSeed(function, result, builder);
  if (!start)
    return failure();
  FailureOr<Gradients> gradients =
      differentiate(builder, result, start, wanted);
  if (failed(gradients))
    return failure();
  markBackward(function, last, start);

  SmallVector<Value> returned;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Attribute> detached;
  for (auto [value, gradient] : llvm::zip(wanted, gradients->values)) {
    StringRef name = getValueName(value);
    if (!gradient) {
      Operation *maker = value.getDefiningOp();
      if (!maker || isa<mp::ConstantOp>(maker))
        detached.push_back(builder.getStringAttr(name));
      continue;
    }
    StringAttr text = builder.getStringAttr("grad(" + name + ")");
    // One gradient of two values: each has a name.
    if (StringRef its = getValueName(gradient);
        isa<BlockArgument>(gradient) || (!its.empty() && its != text))
      gradient = mp::IdentityOp::create(
                     builder, withValues(gradient.getLoc(), {text.getValue()}),
                     gradient.getType(), gradient)
                     .getResult();
    returned.push_back(gradient);
    attributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr("mp.name", text)));
  }
  SmallVector<unsigned> places(returned.size(), function.getNumResults());
  if (failed(function.insertResults(places, ValueRange(returned).getTypes(),
                                    attributes)))
    return failure();
  terminator->insertOperands(terminator->getNumOperands(), returned);
  if (!detached.empty())
    function->setAttr("mp.detached", builder.getArrayAttr(detached));
  if (!gradients->lacking.empty()) {
    SmallVector<NamedAttribute> counts;
    for (auto &[name, count] : gradients->lacking)
      counts.push_back(
          builder.getNamedAttr(name, builder.getI64IntegerAttr(count)));
    function->setAttr("mp.lacks_gradient", builder.getDictionaryAttr(counts));
  }
  return success();
}

void Differentiate::runOnOperation() {
  if (seed != "auto" && seed != "ones" && seed != "argument") {
    getOperation().emitError() << "no seed is called " << seed;
    return signalPassFailure();
  }
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal() && failed(run(function)))
      return signalPassFailure();
}
