//===- WrittenOut.cpp - Functions that a model writes out
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WrittenOut.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// The one tensor from elsewhere that members read, beside constants.
static Value findInput(const WrittenOut &composite) {
  llvm::SmallDenseSet<Operation *> members(composite.members.begin(),
                                           composite.members.end());
  Value input, source;
  for (Operation *op : composite.members)
    for (Value operand : op->getOperands()) {
      Value from = peel(operand);
      if (members.contains(from.getDefiningOp()) || isConstant(from) ||
          !isa<FloatType>(getElementType(operand)))
        continue;
      if (source && source != from)
        return {};
      source = from;
      if (!input)
        input = operand;
    }
  return input;
}

//===----------------------------------------------------------------------===//
// Norms of rows
//===----------------------------------------------------------------------===//

static bool isRowNorm(StringRef kind) {
  return ("mp." + kind).str() == mp::LayerNormOp::getOperationName() ||
         ("mp." + kind).str() == mp::RMSNormOp::getOperationName();
}

namespace {
/// The way from the root of a mean square to what is divided by it.
class Quotient {
public:
  explicit Quotient(ArrayRef<Operation *> members) : members(members) {}

  /// Finds the op that divides; members are in the order in which they run.
  bool find();

  Operation *op = nullptr, *root = nullptr;
  Value numerator;
  /// From the root on.
  SmallVector<Operation *, 4> way;

private:
  bool isOnWay(Value value) const {
    return llvm::is_contained(way, getMaker(value));
  }
  bool follow(Operation *member);

  ArrayRef<Operation *> members;
  bool inverse = false;
};
} // namespace

/// The power of a root, 1 / 2 or -1 / 2; 0 of other ops.
static double getRoot(Operation *op) {
  if (isa<mp::SqrtOp>(op))
    return 0.5;
  if (isa<mp::RsqrtOp>(op))
    return -0.5;
  std::optional<double> power =
      isa<mp::PowOp>(op) ? getSplatConstant(op->getOperand(1)) : std::nullopt;
  return power && std::fabs(*power) == 0.5 ? *power : 0;
}

/// False where the root is used in another way.
bool Quotient::follow(Operation *member) {
  bool first = isOnWay(member->getOperand(0));
  std::optional<std::pair<Value, double>> number;
  if (member->getNumOperands() == 2)
    number = splitNumber(member);
  if (isa<mp::ReciprocalOp>(member) || (isa<mp::DivOp>(member) && number)) {
    if (isa<mp::DivOp>(member) && first)
      return false;
    inverse = !inverse;
  } else if (isa<mp::DivOp>(member) && !first && !inverse) {
    op = member;
    numerator = member->getOperand(0);
  } else if (isa<mp::MulOp>(member) && inverse) {
    op = member;
    numerator = member->getOperand(first ? 1 : 0);
  } else if (!isa<mp::AddOp>(member) || !number) {
    return false; // else an epsilon beside the root
  }
  if (!op)
    way.push_back(member);
  return !numerator || !isConstant(peel(numerator));
}

bool Quotient::find() {
  for (Operation *member : members) {
    if (double power = root ? 0 : getRoot(member)) {
      root = member;
      inverse = power < 0;
      way.push_back(root);
    } else if (llvm::any_of(member->getOperands(),
                            [&](Value operand) { return isOnWay(operand); })) {
      if (!follow(member))
        return false;
      if (op)
        return true;
    }
  }
  return false;
}

/// Cuts a norm of rows to the quotient; false if there is none of that form.
static bool cutToQuotient(WrittenOut &norm, bool centred) {
  Quotient quotient(norm.members);
  if (!quotient.find())
    return false;
  norm.input = quotient.numerator;
  Operation *difference = nullptr;
  if (centred) {
    difference = getMaker<mp::SubOp>(quotient.numerator);
    if (!difference || !llvm::is_contained(norm.members, difference))
      return false;
    norm.input = difference->getOperand(0);
  }
  MaybeShape shape = getShape(norm.input);
  if (!shape)
    return false;
  for (Operation *op : norm.members)
    if (hasRole(op, Role::Reduction)) {
      auto axes = getReducedAxes(op, ShapeFacts());
      if (!axes || axes->empty() ||
          !llvm::equal(*axes, llvm::seq<int64_t>(axes->front(), shape->size())))
        return false;
      norm.axis = axes->front();
    }
  if (norm.axis < 0 ||
      llvm::is_contained(ArrayRef(*shape).drop_front(norm.axis), kDynamic))
    return false;
  if (auto guard = getMaker<mp::AddOp>(quotient.root->getOperand(0)))
    if (auto number = splitNumber(guard))
      norm.epsilon = number->second;
  SmallVector<Operation *, 8> all = std::move(norm.members);
  norm.members.assign(quotient.way.begin(), quotient.way.end());
  if (difference)
    norm.members.push_back(difference);
  norm.members.push_back(quotient.op);
  for (Operation *op : all) {
    if (op == quotient.root)
      break;
    if (op != difference)
      norm.averaged.push_back(op->getResult(0));
  }
  norm.averaged.push_back(quotient.root->getOperand(0));
  norm.result = quotient.op;
  return true;
}

//===----------------------------------------------------------------------===//
// All functions
//===----------------------------------------------------------------------===//

/// log(softmax(x)), whose gradient is that of a logarithm at numbers next to 0
/// times numbers next to 0.
static std::optional<WrittenOut> matchLogOfSoftmax(mp::LogOp log) {
  auto softmax = peel(log.getInput()).getDefiningOp<mp::SoftmaxOp>();
  if (!softmax || softmax.getFlatten())
    return std::nullopt;
  WrittenOut found;
  found.kind = mp::LogSoftmaxOp::getOperationName().split('.').second.str();
  found.members = {softmax, log};
  found.small.push_back(softmax.getResult());
  found.result = log;
  found.input = softmax.getInput();
  return found;
}

std::vector<WrittenOut> mpopt::findWrittenOut(ModuleOp module) {
  MLIRContext *context = module.getContext();
  std::vector<WrittenOut> found;
  llvm::MapVector<int64_t, WrittenOut> byId;
  module.walk([&](Operation *op) {
    if (auto log = dyn_cast<mp::LogOp>(op))
      if (std::optional<WrittenOut> logarithm = matchLogOfSoftmax(log))
        found.push_back(std::move(*logarithm));
    auto idiom = op->getAttrOfType<mp::IdiomAttr>("mp.idiom");
    if (!idiom)
      return;
    WrittenOut &composite = byId[idiom.getId()];
    composite.members.push_back(op);
    if (idiom.getResult())
      composite.result = op;
  });
  for (auto &[id, composite] : byId) {
    if (!composite.result || composite.result->getNumResults() != 1)
      continue;
    StringRef kind = composite.result->getAttrOfType<mp::IdiomAttr>("mp.idiom")
                         .getKind()
                         .getValue();
    composite.kind = kind.str();
    if (!isRowNorm(kind))
      composite.input = findInput(composite);
    else if (!cutToQuotient(composite,
                            hasRole(getMeaning(kind, context), Role::Centring)))
      continue;
    if (composite.input)
      found.push_back(std::move(composite));
  }
  return found;
}

/// The axis over which a member reduces the input.
static std::optional<int64_t> findAxis(const WrittenOut &composite) {
  for (Operation *op : composite.members)
    if (auto softmax = dyn_cast<mp::SoftmaxOp>(op))
      return softmax.getAxis();
    else if (hasRole(op, Role::Reduction))
      if (auto axes = getReducedAxes(op, ShapeFacts());
          axes && axes->size() == 1)
        return axes->front();
  return std::nullopt;
}

static Operation *makeNorm(OpBuilder &builder, const WrittenOut &norm,
                           bool centred) {
  Value quotient = norm.result->getResult(0);
  APFloat epsilon(norm.epsilon);
  Location loc = norm.result->getLoc();
  Operation *made =
      centred ? mp::LayerNormOp::create(builder, loc, quotient.getType(),
                                        TypeRange(), norm.input, Value(),
                                        Value(), norm.axis, epsilon, TypeAttr())
                    .getOperation()
              : mp::RMSNormOp::create(builder, loc, quotient.getType(), Type(),
                                      norm.input, Value(), norm.axis, epsilon,
                                      TypeAttr())
                    .getOperation();
  quotient.replaceAllUsesWith(made->getResult(0));
  return made;
}

Operation *mpopt::fuse(const WrittenOut &composite) {
  Operation *result = composite.result;
  std::string name = "mp." + composite.kind;
  const OpMeaning *meaning = getMeaning(composite.kind, result->getContext());
  auto known = RegisteredOperationName::lookup(name, result->getContext());
  if (!meaning || !known ||
      composite.input.getType() != result->getResult(0).getType() ||
      (hasRole(meaning, Role::Normalization) && composite.axis < 0))
    return nullptr;
  OpBuilder builder(result->getContext());
  builder.setInsertionPointAfter(result);
  if (composite.axis >= 0)
    return makeNorm(builder, composite, hasRole(meaning, Role::Centring));
  OperationState state(result->getLoc(), name);
  state.addOperands(composite.input);
  state.addTypes(result->getResult(0).getType());
  if (hasRole(meaning, Role::Softmax)) {
    std::optional<int64_t> axis = findAxis(composite);
    if (!axis)
      return nullptr;
    state.addAttribute("axis", builder.getI64IntegerAttr(*axis));
  }
  Operation *made = builder.create(state);
  result->getResult(0).replaceAllUsesWith(made->getResult(0));
  return made;
}
