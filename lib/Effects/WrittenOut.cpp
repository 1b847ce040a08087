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

/// log(softmax(x)), whose gradient is that of a logarithm at numbers next to 0
/// times numbers next to 0.
static std::optional<WrittenOut> matchLogOfSoftmax(mp::LogOp log) {
  auto softmax = peel(log.getInput()).getDefiningOp<mp::SoftmaxOp>();
  if (!softmax || softmax.getFlatten())
    return std::nullopt;
  WrittenOut found;
  found.kind = mp::LogSoftmaxOp::getOperationName().split('.').second;
  found.meaning = getMeaning(found.kind, log.getContext());
  found.members = {softmax, log};
  found.small.push_back(softmax.getResult());
  found.result = log;
  found.input = softmax.getInput();
  found.axes.push_back(int64_t(softmax.getAxis()));
  return found;
}

/// The operand of a sum with a number, or of a limit from below; null for other
/// ops. The number is added to `epsilon`.
static Value skipGuard(Operation *op, double &epsilon) {
  if (auto clip = dyn_cast<mp::ClipOp>(op)) {
    auto least = clip.getMin() ? getSplatConstant(clip.getMin()) : std::nullopt;
    if (!least || clip.getMax())
      return {};
    epsilon += *least;
    return clip.getInput();
  }
  if (!isa<mp::AddOp, mp::MaxOp>(op))
    return {};
  auto split = splitNumber(op);
  if (!split)
    return {};
  epsilon += split->second;
  return split->first;
}

/// p of a root of order p; 0 for other ops.
static double orderOf(Operation *op) {
  if (isa<mp::SqrtOp>(op))
    return 2;
  auto power =
      isa<mp::PowOp>(op) ? getSplatConstant(op->getOperand(1)) : std::nullopt;
  return power && *power > 0 && *power <= 1 ? 1 / *power : 0;
}

/// The op that takes powers of an order; null if it is another op.
static Operation *matchPower(Operation *op, double order) {
  // Orders are written in few digits.
  constexpr double kSame = 1e-3;
  if (!op || !op->hasOneUse())
    return nullptr;
  auto power =
      isa<mp::PowOp>(op) ? getSplatConstant(op->getOperand(1)) : std::nullopt;
  if (power ? std::fabs(*power - order) < kSame * order
            : order == 2 && getSquared(op))
    return op;
  return nullptr;
}

/// The root of order p of a sum or mean of powers of order p.
static std::optional<WrittenOut> matchNorm(Operation *root) {
  WrittenOut found;
  found.order = orderOf(root);
  if (found.order == 0)
    return std::nullopt;
  found.members = {root};
  Operation *op = getMaker(root->getOperand(0));
  Value inner = op && op->hasOneUse() ? skipGuard(op, found.epsilon) : Value();
  if (inner) {
    found.members.push_back(op);
    op = getMaker(inner);
  }
  if (!isa_and_present<mp::ReduceSumOp, mp::ReduceMeanOp,
                       mp::ReduceSumSquareOp>(op) ||
      !op->hasOneUse() || !getReducedAxes(op, ShapeFacts()))
    return std::nullopt;
  found.members.push_back(op);
  found.averaged.push_back(op->getResult(0));
  if (!isa<mp::ReduceSumSquareOp>(op)) {
    op = matchPower(getMaker(op->getOperand(0)), found.order);
    if (!op)
      return std::nullopt;
    found.members.push_back(op);
    found.averaged.push_back(op->getResult(0));
  }
  found.kind = mp::NormOp::getOperationName().split('.').second;
  found.meaning = getMeaning(found.kind, root->getContext());
  found.result = root;
  found.input = op->getOperand(0);
  found.isSum = std::fmod(found.order, 2) != 0;
  return found;
}

/// x / (sum(x) + epsilon), or another norm of x below, along one axis.
static std::optional<WrittenOut> matchShares(mp::DivOp div) {
  constexpr unsigned kMostGuards = 2;
  WrittenOut found;
  found.members = {div};
  Operation *op = getMaker(div.getRhs(), Peel::CastsAndViews);
  for (unsigned guards = 0; op && guards < kMostGuards; ++guards) {
    Value inner = op->hasOneUse() ? skipGuard(op, found.epsilon) : Value();
    if (!inner)
      break;
    found.members.push_back(op);
    op = getMaker(inner, Peel::CastsAndViews);
  }
  if (!isa_and_present<mp::ReduceSumOp, mp::ReduceL1Op, mp::ReduceL2Op>(op) ||
      !op->hasOneUse() || !isSameBehind(op->getOperand(0), div.getLhs()))
    return std::nullopt;
  auto axes = getReducedAxes(op, ShapeFacts());
  MaybeShape from = getShape(div.getLhs()), to = getShape(op->getResult(0));
  if (!axes || axes->size() != 1 || !from || !to || from->size() != to->size())
    return std::nullopt;
  found.members.push_back(op);
  found.kind = mp::LpNormalizeOp::getOperationName().split('.').second;
  found.meaning = getMeaning(found.kind, div.getContext());
  found.averaged.push_back(op->getResult(0));
  found.result = div;
  found.input = div.getLhs();
  found.axes.push_back(axes->front());
  found.order = isa<mp::ReduceL2Op>(op) ? 2 : 1;
  found.isSum = isa<mp::ReduceSumOp>(op);
  return found;
}

std::vector<WrittenOut> mpopt::findWrittenOut(ModuleOp module) {
  std::vector<WrittenOut> found;
  module.walk([&](mp::LogOp log) {
    if (std::optional<WrittenOut> logarithm = matchLogOfSoftmax(log))
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
    auto div = dyn_cast<mp::DivOp>(op);
    if (std::optional<WrittenOut> norm = div ? matchShares(div) : matchNorm(op))
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
  state.addTypes(composite.input.getType());
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
      shares.result->getOperand(0), shares.axes.front(), APFloat(shares.order),
      APFloat(0.0));
}

/// A norm of rows, over the root of their length if it is one of a mean.
static Operation *makeLength(OpBuilder &builder, const WrittenOut &norm) {
  Operation *reduction = norm.averaged.front().getDefiningOp();
  Location loc = norm.result->getLoc();
  Value input = norm.members.back()->getOperand(0);
  auto axes = *getReducedAxes(reduction, ShapeFacts());
  OperationState state(loc, mp::NormOp::getOperationName());
  state.addOperands(input);
  state.addTypes(norm.result->getResultTypes());
  state.addAttribute("axes", builder.getDenseI64ArrayAttr(axes));
  state.addAttribute("keep_dims", reduction->getAttr("keep_dims"));
  state.addAttribute("ord", builder.getF64FloatAttr(norm.order));
  Operation *length = builder.create(state);
  std::optional<int64_t> count = cells::countAlong(*getShape(input), axes);
  if (!isa<mp::ReduceMeanOp>(reduction) || !count)
    return length;
  auto element = cast<FloatType>(getElementType(input));
  APFloat scale(std::pow(double(*count), -1 / norm.order));
  bool loses = false;
  scale.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &loses);
  auto type = RankedTensorType::get({}, element);
  auto factor = mp::ConstantOp::create(builder, loc, type,
                                       DenseElementsAttr::get(type, scale));
  return mp::MulOp::create(builder, loc, norm.result->getResult(0).getType(),
                           length->getResult(0), factor.getResult());
}

Operation *mpopt::fuse(const WrittenOut &composite) {
  Value result = composite.result->getResult(0);
  bool isShare = composite.order > 0 && isa<mp::DivOp>(composite.result);
  bool isLength = composite.order > 0 && !isShare;
  if (!isLength && composite.input.getType() != result.getType())
    return nullptr;
  OpBuilder builder(result.getContext());
  builder.setInsertionPointAfter(composite.result);
  Operation *made = isShare                  ? makeShares(builder, composite)
                    : isLength               ? makeLength(builder, composite)
                    : composite.path.empty() ? makeFunction(builder, composite)
                                             : makeNorm(builder, composite);
  if (made)
    result.replaceAllUsesWith(made->getResult(0));
  return made;
}
