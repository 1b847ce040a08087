//===- WrittenOut.cpp - Functions that a model writes out
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WrittenOut.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Cuts a norm of trailing axes to the quotient; false if there is none.
static bool cutToQuotient(WrittenOut &norm) {
  if (norm.path.empty() || !norm.reducesTail() ||
      llvm::is_contained(
          ArrayRef(*getShape(norm.input)).drop_front(norm.axes.front()),
          kDynamic))
    return false;
  for (Operation *op : norm.members) {
    if (op == norm.path.front())
      break;
    // E[x^2] - E[x]^2 cancels, and roundings in front of it count for more.
    if (isa<mp::SubOp>(op) && !isSameBehind(op->getOperand(0), norm.input))
      return false;
    if (op != norm.difference)
      norm.averaged.push_back(op->getResult(0));
  }
  norm.averaged.push_back(norm.path.front()->getOperand(0));
  norm.members.assign(norm.path.begin(), norm.path.end());
  if (norm.difference)
    norm.members.push_back(norm.difference);
  norm.result = norm.path.back();
  return true;
}

/// A norm of rows, or rows over one.
static std::optional<WrittenOut> matchRows(Operation *op) {
  std::optional<Length> length = mpopt::matchLength(op);
  if (!length)
    return std::nullopt;
  WrittenOut found;
  found.kind = length->divided ? mp::LpNormalizeOp::getOperationName()
                               : mp::NormOp::getOperationName();
  found.kind = found.kind.split('.').second;
  found.meaning = getMeaning(found.kind, op->getContext());
  found.members.append(length->members);
  found.result = op;
  found.input = length->input;
  found.axes.append(length->axes);
  found.epsilon = length->epsilon;
  found.averaged.append(length->sums);
  found.length = std::move(length);
  return found;
}

/// log(sum(e^x)) and log(cumsum(e^x)): written out, the gradient is that of a
/// logarithm at sums that may be next to 0, times terms that are. An output of
/// the latter follows each of the numbers up to its place with that number's
/// share of the sum, so that it moves as an average of them does, at most as
/// one. Nothing for a sum whose terms something else reads.
static std::optional<WrittenOut> matchLogOfSum(mp::LogOp log) {
  Value of = peel(log.getInput());
  auto row = of.getDefiningOp<mp::ReduceSumOp>();
  auto running = of.getDefiningOp<mp::CumSumOp>();
  if (!row && (!running || running.getExclusive()))
    return std::nullopt;
  Operation *sum = of.getDefiningOp();
  auto exponential = peel(sum->getOperand(0)).getDefiningOp<mp::ExpOp>();
  if (!exponential)
    return std::nullopt;
  WrittenOut found;
  found.kind = mp::IdentityOp::getOperationName();
  if (row) {
    if (!exponential->hasOneUse() || !sum->hasOneUse())
      return std::nullopt;
    found.kind = mp::ReduceLogSumExpOp::getOperationName();
    found.sum = sum;
  }
  found.kind = found.kind.split('.').second;
  found.meaning = getMeaning(found.kind, log.getContext());
  found.members = {exponential, sum, log};
  found.averaged = {exponential.getResult(), sum->getResult(0)};
  found.result = log;
  found.input = exponential.getInput();
  return found;
}

std::vector<WrittenOut> mpopt::findWrittenOut(ModuleOp module) {
  std::vector<WrittenOut> found;
  module.walk([&](mp::LogOp log) {
    if (std::optional<WrittenOut> logarithm = matchLogOfSum(log))
      found.push_back(std::move(*logarithm));
  });
  Composites composites(module);
  for (const Composite &composite : composites.all()) {
    WrittenOut written{composite};
    if (written.result && written.input &&
        (!hasRole(written.meaning, Role::RowNorm) || cutToQuotient(written)))
      found.push_back(std::move(written));
  }
  module.walk([&](Operation *op) {
    if (op->getNumResults() != 1 || composites.get(op))
      return;
    if (std::optional<WrittenOut> norm = matchRows(op))
      found.push_back(std::move(*norm));
  });
  return found;
}

static Operation *makeNorm(OpBuilder &builder, const WrittenOut &norm) {
  Type type = norm.input.getType();
  APFloat epsilon(norm.epsilon);
  Location loc = norm.result->getLoc();
  if (hasRole(norm.meaning, Role::Centring))
    return mp::LayerNormOp::create(builder, loc, type, TypeRange(), norm.input,
                                   Value(), Value(), norm.axes.front(), epsilon,
                                   TypeAttr());
  return mp::RMSNormOp::create(builder, loc, type, Type(), norm.input, Value(),
                               norm.axes.front(), epsilon, TypeAttr());
}

/// The op that computes a function of one tensor; null if there is none.
static Operation *makeFunction(OpBuilder &builder,
                               const WrittenOut &composite) {
  OperationState state(composite.result->getLoc(),
                       ("mp." + composite.kind).str());
  if (!composite.meaning || !state.name.isRegistered() ||
      hasRole(composite.meaning, Role::Normalization))
    return nullptr;
  state.addOperands(composite.input);
  state.addTypes(composite.result->getResultTypes());
  if (composite.sum) {
    state.addOperands(composite.sum->getOperands().drop_front());
    state.addAttributes(composite.sum->getAttrs());
  }
  if (hasRole(composite.meaning, Role::Softmax)) {
    if (composite.axes.size() != 1)
      return nullptr;
    state.addAttribute("axis",
                       builder.getI64IntegerAttr(composite.axes.front()));
  }
  return builder.create(state);
}

static Operation *makeShares(OpBuilder &builder, const WrittenOut &shares) {
  return mp::LpNormalizeOp::create(
      builder, shares.result->getLoc(), shares.result->getResultTypes().front(),
      shares.result->getOperand(0), shares.axes.front(),
      APFloat(shares.length->order), APFloat(0.0));
}

/// A norm of rows, over the root of their length if it is one of a mean.
static Operation *makeNormOfRows(OpBuilder &builder, const WrittenOut &norm) {
  const Length &length = *norm.length;
  Location loc = norm.result->getLoc();
  Value input = length.members.back()->getOperand(0);
  auto count = cells::countAlong(*getShape(input), length.axes);
  Operation *sum = length.sums.front().getDefiningOp();
  OperationState state(loc, mp::NormOp::getOperationName());
  state.addOperands(input);
  state.addTypes(norm.result->getResultTypes());
  state.addAttribute("axes", builder.getDenseI64ArrayAttr(length.axes));
  state.addAttribute("keep_dims", sum->getAttr("keep_dims"));
  state.addAttribute("ord", builder.getF64FloatAttr(length.order));
  Operation *made = builder.create(state);
  if (!length.averaged || !count)
    return made;
  auto element = cast<FloatType>(getElementType(input));
  APFloat scale(std::pow(double(*count), -1 / length.order));
  bool loses = false;
  scale.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &loses);
  auto type = RankedTensorType::get({}, element);
  auto factor = mp::ConstantOp::create(builder, loc, type,
                                       DenseElementsAttr::get(type, scale));
  return mp::MulOp::create(builder, loc, norm.result->getResult(0).getType(),
                           made->getResult(0), factor.getResult());
}

Operation *mpopt::fuse(const WrittenOut &composite) {
  Value result = composite.result->getResult(0);
  const std::optional<Length> &length = composite.length;
  if ((!length || length->divided) && !composite.sum &&
      composite.input.getType() != result.getType())
    return nullptr;
  OpBuilder builder(result.getContext());
  builder.setInsertionPointAfter(composite.result);
  Operation *made;
  if (length)
    made = length->divided ? makeShares(builder, composite)
                           : makeNormOfRows(builder, composite);
  else
    made = composite.path.empty() ? makeFunction(builder, composite)
                                  : makeNorm(builder, composite);
  if (made)
    result.replaceAllUsesWith(made->getResult(0));
  return made;
}
