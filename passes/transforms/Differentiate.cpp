//===- Differentiate.cpp - Append the backward graph of a result
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/transforms/Differentiate.h"

#include "passes/transforms/Passes.h"

#include "mpopt/Adjoint/Differentiate.h"
#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Parameters.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

namespace mpopt {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/transforms/Passes.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

bool mpopt::isTrainable(Value value) {
  return isParameter(value) && !getValueName(value).empty() &&
         !value.getDefiningOp()->hasAttr(kLossPartAttr);
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
/// The gradients of one function.
class Appender {
public:
  Appender(func::FuncOp function, const GradientRequest &request)
      : function(function), request(request),
        terminator(function.getBody().front().getTerminator()),
        builder(terminator) {}

  FailureOr<std::vector<std::string>> run(std::vector<OpReads> *reads);

private:
  Value findResult();
  SmallVector<Value> findWanted();
  Value makeSeed(Value result);
  void nameAll(const Gradients &gradients, Operation *before);
  void mark(Operation *before);
  LogicalResult appendResults(ArrayRef<Value> wanted,
                              const Gradients &gradients);

  func::FuncOp function;
  const GradientRequest &request;
  Operation *terminator;
  OpBuilder builder;
  std::vector<std::string> appended;
};
} // namespace

/// The function's value of that name, or its first float result.
Value Appender::findResult() {
  StringRef of = request.of;
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

SmallVector<Value> Appender::findWanted() {
  llvm::StringSet<> names;
  names.insert_range(request.names);
  auto isWanted = [&](Value value, StringRef name) {
    switch (request.wanted) {
    case GradientsOf::Parameters:
      return isTrainable(value);
    case GradientsOf::Inputs:
      return isa<BlockArgument>(value);
    case GradientsOf::All:
      return true;
    case GradientsOf::Names:
      return names.contains(name);
    }
    llvm_unreachable("every kind of values is known");
  };
  // A parameter stored in 16 bits is learned there.
  auto findLearned = [](Value value) {
    Operation *only = value.hasOneUse() ? *value.user_begin() : nullptr;
    return storesConstant(only) ? only->getResult(0) : value;
  };
  llvm::SmallSetVector<Value, 8> wanted;
  auto consider = [&](Value value) {
    StringRef name = getValueName(value);
    if (isFloat(value) && !name.empty() && !isInserted(value.getDefiningOp()) &&
        isWanted(value, name))
      wanted.insert(findLearned(value));
  };
  llvm::for_each(function.getArguments(), consider);
  for (Operation &op : function.getBody().front())
    llvm::for_each(op.getResults(), consider);
  return wanted.takeVector();
}

Value Appender::makeSeed(Value result) {
  StringRef seed = request.seed;
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
  auto dims = mp::ShapeOp::create(
      builder, location, getUnknownTensor(builder.getContext()), result);
  if (failed(inferTypes(dims, facts)))
    return {};
  return mp::FillOp::create(builder, location, result.getType(),
                            dims.getResult(),
                            ones(RankedTensorType::get({1}, element)))
      .getResult();
}

/// A sum passes its gradient on as it is, and one value is then the gradient of
/// several: each has a name.
void Appender::nameAll(const Gradients &gradients, Operation *before) {
  auto name = [&](Value value) {
    Value gradient = gradients.all.lookup(value);
    StringRef its = getValueName(value);
    Operation *maker = value.getDefiningOp();
    if (!gradient || its.empty() ||
        (isInserted(maker) && !storesConstant(maker)))
      return;
    std::string text = ("grad(" + its + ")").str();
    if (getValueName(gradient) != text)
      mp::IdentityOp::create(builder, withValues(gradient.getLoc(), {text}),
                             gradient.getType(), gradient);
  };
  for (Operation &op : function.getBody().front()) {
    llvm::for_each(op.getResults(), name);
    if (&op == before)
      break;
  }
}

/// Marks the ops behind `before`, which is null for all.
void Appender::mark(Operation *before) {
  Block &block = function.getBody().front();
  Operation *op = before ? before->getNextNode() : &block.front();
  for (; op != terminator; op = op->getNextNode())
    op->walk([&](Operation *inner) {
      inner->setAttr(kBackwardAttr, builder.getUnitAttr());
    });
}

static bool leadsToOpaque(Value value) {
  SmallVector<Value> work = {value};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers()) {
      if (isa<mp::OpaqueOp>(user))
        return true;
      if (seen.insert(user).second)
        llvm::append_range(work, user->getResults());
    }
  return false;
}

LogicalResult Appender::appendResults(ArrayRef<Value> wanted,
                                      const Gradients &gradients) {
  SmallVector<Value> returned;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Attribute> detached;
  for (auto [value, gradient] : llvm::zip(wanted, gradients.values)) {
    StringRef name = getValueName(value);
    if (!gradient) {
      Operation *maker = value.getDefiningOp();
      // A gradient through an op without a formula is not known, not absent.
      if (!gradients.lacking.empty() && leadsToOpaque(value))
        continue;
      if (!maker || isa<mp::ConstantOp>(maker) || storesConstant(maker))
        detached.push_back(builder.getStringAttr(name));
      continue;
    }
    Value shown = gradient;
    StringAttr text = builder.getStringAttr("grad(" + name + ")");
    // One gradient of two values: each has a name.
    if (StringRef its = getValueName(shown);
        isa<BlockArgument>(shown) || (!its.empty() && its != text))
      shown = mp::IdentityOp::create(
                  builder, withValues(shown.getLoc(), {text.getValue()}),
                  shown.getType(), shown)
                  .getResult();
    returned.push_back(shown);
    appended.push_back(name.str());
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
  return success();
}

FailureOr<std::vector<std::string>> Appender::run(std::vector<OpReads> *reads) {
  prepareGradients(function);
  Value result = request.value ? request.value : findResult();
  if (!result)
    return function.emitError()
           << (request.of.empty() ? "no float result to differentiate"
                                  : "no float value is called " + request.of);
  SmallVector<Value> wanted = findWanted();
  Operation *last = terminator->getPrevNode();
  Value start = makeSeed(result);
  if (!start)
    return failure();
  FailureOr<Gradients> gradients =
      differentiate(builder, result, start, wanted);
  if (failed(gradients) || failed(appendResults(wanted, *gradients)))
    return failure();
  if (reads)
    *reads = std::move(gradients->reads);
  if (request.marks) {
    nameAll(*gradients, last);
    mark(last);
    if (Operation *maker = start.getDefiningOp())
      maker->setAttr(kSeedAttr, builder.getUnitAttr());
  }
  if (!gradients->lacking.empty()) {
    SmallVector<NamedAttribute> counts;
    for (auto &[name, count] : gradients->lacking)
      counts.push_back(
          builder.getNamedAttr(name, builder.getI64IntegerAttr(count)));
    function->setAttr("mp.lacks_gradient", builder.getDictionaryAttr(counts));
  }
  return std::move(appended);
}

FailureOr<std::vector<std::string>>
mpopt::appendGradients(func::FuncOp function, const GradientRequest &request,
                       std::vector<OpReads> *reads) {
  return Appender(function, request).run(reads);
}

/// True if the op computes a gradient. Nobody needs one but for training, but
/// the gradients of indexing also scatter in models that do not train.
static bool isGradientOp(Operation *op) {
  StringRef forward = gradientOf(op);
  if (forward.empty())
    return false;
  const OpMeaning *meaning = getMeaning(forward, op->getContext());
  return meaning && !hasRole(meaning, Role::MovesElements);
}

bool mpopt::markOwnGradients(func::FuncOp function) {
  llvm::DenseSet<Operation *> backward;
  for (Operation &op : function.getBody().front()) {
    bool follows = llvm::any_of(op.getOperands(), [&](Value operand) {
      return backward.contains(operand.getDefiningOp());
    });
    if (follows || isGradientOp(&op))
      backward.insert(&op);
  }
  if (backward.empty())
    return false;
  auto unit = UnitAttr::get(function.getContext());
  for (Operation *op : backward)
    if (!op->hasTrait<OpTrait::IsTerminator>())
      op->walk([&](Operation *inner) { inner->setAttr(kBackwardAttr, unit); });
  function->setAttr(kHoldsGradientsAttr, unit);
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct Differentiate : mpopt::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override;
  GradientRequest getRequest() const;
};
} // namespace

GradientRequest Differentiate::getRequest() const {
  GradientRequest request;
  request.of = of;
  request.seed = seed;
  request.marks = mark;
  request.wanted = llvm::StringSwitch<GradientsOf>(wrt)
                       .Case("parameters", GradientsOf::Parameters)
                       .Case("inputs", GradientsOf::Inputs)
                       .Case("all", GradientsOf::All)
                       .Default(GradientsOf::Names);
  SmallVector<StringRef> parts;
  StringRef(wrt).split(parts, ';');
  for (StringRef part : parts)
    request.names.push_back(part.trim().str());
  return request;
}

void Differentiate::runOnOperation() {
  if (seed != "auto" && seed != "ones" && seed != "argument") {
    getOperation().emitError() << "no seed is called " << seed;
    return signalPassFailure();
  }
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal() &&
        failed(appendGradients(function, getRequest())))
      return signalPassFailure();
}
