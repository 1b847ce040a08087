//===- LossBuilder.cpp - The ops of one loss
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One composite a loss wherever the dialect has it: its gradient is then an op,
// too, and not a chain that cancels. Formulas: docs/adjoint.md.
//
//===----------------------------------------------------------------------===//

#include "lib/Adjoint/Loss/LossBuilder.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Settings.h"

#include <numeric>

using namespace mlir;
using namespace mpopt;

InFlightDiagnostic LossBuilder::error() {
  return function.emitError() << "loss '" << term.str() << "': ";
}

bool mpopt::mayEqual(const MaybeShape &lhs, const MaybeShape &rhs) {
  if (!lhs || !rhs)
    return true;
  return lhs->size() == rhs->size() &&
         llvm::all_of(llvm::zip(*lhs, *rhs), [](auto dims) {
           auto [a, b] = dims;
           return a == b || a == kDynamic || b == kDynamic;
         });
}

FailureOr<Value> LossBuilder::getArgument(const Twine &twine,
                                          const MaybeShape &shape, Type element,
                                          StringRef what) {
  std::string name = twine.str();
  Type type = getTensorType(shape, element);
  for (BlockArgument argument : function.getArguments()) {
    auto its = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                     "mp.name");
    if (!its || its.getValue() != name)
      continue;
    Type given = getElementType(argument);
    bool fits = (isa<FloatType>(element) == isa<FloatType>(given) ||
                 isUnknown(given)) &&
                mayEqual(getShape(argument), shape);
    if (fits)
      markTarget(argument.getArgNumber(), what);
    if (!fits)
      return error() << what << " '" << name << "' is " << argument.getType()
                     << ", and needs to be " << type;
    return isa<FloatType>(element) ? ctx.cast(argument, element).value()
                                   : Value(argument);
  }
  auto attributes =
      DictionaryAttr::get(function.getContext(), ctx.word("mp.name", name));
  unsigned index = function.getNumArguments();
  if (failed(function.insertArgument(index, type, attributes, ctx.loc())))
    return failure();
  markTarget(index, what);
  return Value(function.getArgument(index));
}

void LossBuilder::markTarget(unsigned argument, StringRef what) {
  StringRef text = what == "target" ? getLossKindInfo(term.kind).name : what;
  function.setArgAttr(argument, kLossTargetAttr,
                      StringAttr::get(function.getContext(), text));
}

double LossBuilder::getMargin() const {
  return term.margin.value_or(getLossKindInfo(term.kind).margin.value_or(0));
}

FailureOr<Value> LossBuilder::getTarget(Value prediction) {
  return getArgument(term.target, getShape(prediction),
                     getElementType(prediction), "target");
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

StringRef LossBuilder::getOpReduction() const {
  return reduction == LossReduction::SumThenBatchMean
             ? "sum"
             : getLossReductionName(reduction);
}

Value LossBuilder::overBatch(Value loss, Value prediction, unsigned axis) {
  if (reduction != LossReduction::SumThenBatchMean)
    return loss;
  MaybeShape shape = getShape(prediction);
  if (shape && shape->size() <= axis)
    return loss;
  if (shape && (*shape)[axis] != kDynamic)
    return Term(ctx, loss) / double((*shape)[axis]);
  return Term(ctx, loss) /
         ctx.cast(sizeOf(prediction, axis), getElementType(loss));
}

Term LossBuilder::sizeOf(Value value, unsigned axis) {
  Term dims = ctx.make<mp::ShapeOp>(
      {value}, {ctx.integer("start", axis), ctx.integer("end", axis + 1)});
  return ctx.make<mp::SqueezeOp>({dims, Value()}, {ctx.integers("axes", {0})});
}

Value LossBuilder::reduced(Value elements) {
  if (reduction == LossReduction::None)
    return elements;
  MaybeShape shape = getShape(elements);
  if (shape && shape->empty())
    return elements;
  if (reduction == LossReduction::Mean)
    return ctx.make<mp::ReduceMeanOp>({elements, Value()});
  return overBatch(ctx.make<mp::ReduceSumOp>({elements, Value()}), elements);
}

//===----------------------------------------------------------------------===//
// Losses of two tensors
//===----------------------------------------------------------------------===//

FailureOr<Value> LossBuilder::buildPair(Value x) {
  FailureOr<Value> target = getTarget(x);
  if (failed(target))
    return failure();
  NamedAttribute how = reductionAttribute();
  auto make = [&]() -> Value {
    switch (term.kind) {
    case LossKind::BceWithLogits:
      return ctx.make<mp::BinaryCrossEntropyWithLogitsOp>(
          {x, *target, Value(), Value()}, how);
    case LossKind::Bce:
      return ctx.make<mp::BinaryCrossEntropyOp>({x, *target, Value()}, how);
    case LossKind::L1:
      return ctx.make<mp::L1LossOp>({x, *target}, how);
    case LossKind::SmoothL1:
      if (term.delta)
        return ctx.make<mp::HuberLossOp>(
            {x, *target}, {how, ctx.number("delta", *term.delta)});
      if (term.beta == 0.0)
        return ctx.make<mp::L1LossOp>({x, *target}, how);
      return ctx.make<mp::SmoothL1LossOp>(
          {x, *target}, {how, ctx.number("beta", term.beta.value_or(1))});
    case LossKind::Kl:
      return ctx.make<mp::KlDivOp>({x, *target}, how);
    case LossKind::Hinge: // max(0, -t (x - 0) + margin)
      return ctx.make<mp::MarginRankingLossOp>(
          {x, ctx.zeros(x), *target}, {how, ctx.number("margin", getMargin())});
    default:
      return ctx.make<mp::MseLossOp>({x, *target}, how);
    }
  };
  return overBatch(make(), x);
}

FailureOr<Value> LossBuilder::buildFocal(Value prediction) {
  FailureOr<Value> target = getTarget(prediction);
  if (failed(target))
    return failure();
  Term x(ctx, prediction), t(ctx, *target);
  Term entropy = ctx.make<mp::BinaryCrossEntropyWithLogitsOp>(
      {x, t, Value(), Value()}, ctx.word("reduction", "none"));
  Term p = ctx.make<mp::SigmoidOp>({x});
  Term right = p * t + (1 - p) * (1 - t), wrong = 1 - right;
  double gamma = term.gamma.value_or(2), positive = term.alpha.value_or(0.25);
  std::optional<Term> weight;
  if (positive >= 0)
    weight = t * positive + (1 - t) * (1 - positive);
  Term loss = entropy;
  if (gamma == 2)
    loss = entropy * (wrong * wrong);
  else if (gamma == 1)
    loss = entropy * wrong;
  else if (gamma != 0)
    loss =
        entropy *
        Term(ctx, ctx.make<mp::PowOp>(
                      {wrong, ctx.scalar(gamma, getElementType(prediction))}));
  return reduced(weight ? *weight * loss : loss);
}

//===----------------------------------------------------------------------===//
// Losses over classes
//===----------------------------------------------------------------------===//

/// Scores and labels with the classes along axis 1, where the ops have them.
/// `flattens` allows one batch of all other axes.
static std::pair<Value, Value> moveClasses(GradientContext &ctx, Value scores,
                                           Value labels, int64_t axis,
                                           bool flattens) {
  MaybeShape shape = getShape(scores);
  int64_t rank = shape ? shape->size() : 0;
  if (rank == 2 && axis == 0)
    return {ctx.transposed(scores, {1, 0}), labels};
  if (rank <= 2 || axis == 1)
    return {scores, labels};
  if (axis == rank - 1 && (*shape)[axis] != kDynamic && flattens)
    return {ctx.reshaped(scores, {-1, (*shape)[axis]}),
            ctx.reshaped(labels, {-1})};
  SmallVector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  perm.erase(perm.begin() + axis);
  perm.insert(perm.begin() + 1, axis);
  return {ctx.transposed(scores, perm), labels};
}

FailureOr<Value> LossBuilder::buildClasses(Value x) {
  MaybeShape shape = getShape(x), labels;
  int64_t rank = shape ? shape->size() : 0;
  int64_t axis = term.classAxis.value_or(rank > 1 ? 1 : 0);
  if (axis < 0)
    axis += rank;
  if (!shape && term.classAxis && *term.classAxis != 1)
    return error() << "the rank of '" << term.predictions[0]
                   << "' is not known, and its classes need to be along axis 1";
  if (shape && rank == 0)
    return error() << "'" << term.predictions[0]
                   << "' is a scalar, without a class axis";
  if (shape && (axis < 0 || axis >= rank))
    return error() << "class_axis " << *term.classAxis << " is none of the "
                   << rank << (rank == 1 ? " axis" : " axes") << " of '"
                   << term.predictions[0] << "'";
  if (shape) {
    labels = shape;
    labels->erase(labels->begin() + axis);
  }
  FailureOr<Value> target =
      getArgument(term.target, labels, ctx.builder().getI64Type(), "target");
  if (failed(target))
    return failure();
  FailureOr<Value> advantage = Value();
  bool isPolicy = term.kind == LossKind::PolicyGradient;
  if (isPolicy)
    advantage = getArgument("advantage(" + term.target + ")", labels,
                            getElementType(x), "advantage");
  if (failed(advantage))
    return failure();

  auto [scores, numbers] =
      moveClasses(ctx, x, *target, axis,
                  /*flattens=*/!isPolicy && reduction != LossReduction::None);
  SmallVector<NamedAttribute> attributes = {
      isPolicy ? ctx.word("reduction", "none") : reductionAttribute()};
  if (term.ignoreIndex)
    attributes.push_back(ctx.integer("ignore_index", *term.ignoreIndex));
  if (term.labelSmoothing != 0)
    attributes.push_back(ctx.number("label_smoothing", term.labelSmoothing));
  if (term.kind == LossKind::Nll)
    return overBatch(
        ctx.make<mp::NllLossOp>({scores, numbers, Value()}, attributes), x);
  Term entropy =
      ctx.make<mp::CrossEntropyOp>({scores, numbers, Value()}, attributes);
  if (isPolicy)
    return reduced(entropy * Term(ctx, *advantage));
  return overBatch(entropy, x);
}

FailureOr<Value> LossBuilder::buildContrastive(Value x) {
  MaybeShape shape = getShape(x);
  if (shape && (shape->size() != 2 || !mayEqual(MaybeShape({(*shape)[0]}),
                                                MaybeShape({(*shape)[1]}))))
    return error() << "'" << term.predictions[0] << "' is " << x.getType()
                   << ", not a square matrix of similarities";
  auto diagonal = [&]() -> Value {
    if (shape && (*shape)[0] != kDynamic)
      return ctx.indices(llvm::to_vector(llvm::seq<int64_t>(0, (*shape)[0])));
    return ctx.make<mp::RangeOp>({ctx.index(0), sizeOf(x, 0), ctx.index(1)});
  };
  Value right = diagonal();
  Term rows =
      ctx.make<mp::CrossEntropyOp>({x, right, Value()}, reductionAttribute());
  Term columns = ctx.make<mp::CrossEntropyOp>(
      {ctx.transposed(x, {1, 0}), right, Value()}, reductionAttribute());
  return overBatch((rows + columns) * 0.5, x);
}

//===----------------------------------------------------------------------===//
// Losses of other shapes
//===----------------------------------------------------------------------===//

FailureOr<Value> LossBuilder::buildKlNormal(Value mean, Value logVariance) {
  if (!mayEqual(getShape(mean), getShape(logVariance)))
    return error() << "the mean is " << mean.getType()
                   << ", the logarithm of the variance "
                   << logVariance.getType();
  Term mu(ctx, mean), log(ctx, logVariance);
  Term variance = ctx.make<mp::ExpOp>({log});
  return reduced(((log + 1) - mu * mu - variance) * -0.5);
}

FailureOr<Value> LossBuilder::buildTriplet(ArrayRef<Value> rows) {
  for (auto [name, row] : llvm::zip(term.predictions, rows)) {
    MaybeShape shape = getShape(row);
    if ((shape && shape->empty()) || !mayEqual(shape, getShape(rows[0])))
      return error() << "'" << name << "' is " << row.getType()
                     << ", the anchor " << rows[0].getType();
  }
  SmallVector<NamedAttribute> attributes = {reductionAttribute()};
  if (term.margin)
    attributes.push_back(ctx.number("margin", getMargin()));
  return overBatch(ctx.make<mp::TripletMarginLossOp>(rows, attributes),
                   rows[0]);
}

FailureOr<Value> LossBuilder::buildCtc(Value x) {
  MaybeShape shape = getShape(x);
  size_t rank = shape ? shape->size() : 3;
  if (rank != 2 && rank != 3)
    return error() << "'" << term.predictions[0] << "' is " << x.getType()
                   << "; log-probabilities of steps, batch and classes have "
                      "rank 2 or 3";
  Shape batch, targets = {kDynamic};
  if (rank == 3) {
    batch.push_back(shape ? (*shape)[1] : kDynamic);
    targets.insert(targets.begin(), batch[0]);
  }
  Type i64 = ctx.builder().getI64Type();
  auto target = getArgument(term.target, targets, i64, "target");
  auto lengths =
      getArgument("lengths(" + term.target + ")", batch, i64, "length");
  // Every sequence fills its steps where they are known.
  auto steps = [&]() -> FailureOr<Value> {
    if (shape && (*shape)[0] != kDynamic &&
        !llvm::is_contained(batch, kDynamic))
      return Value(ctx.filled((*shape)[0], RankedTensorType::get(batch, i64)));
    return getArgument("steps(" + term.target + ")", batch, i64, "steps");
  }();
  if (failed(target) || failed(lengths) || failed(steps))
    return failure();
  Value loss = ctx.make<mp::CtcLossOp>({x, *target, *steps, *lengths},
                                       reductionAttribute());
  return rank == 3 ? overBatch(loss, x, /*axis=*/1) : loss;
}

FailureOr<Value> LossBuilder::build(ArrayRef<Value> predictions) {
  Value x = predictions[0];
  switch (term.kind) {
  case LossKind::CrossEntropy:
  case LossKind::Nll:
  case LossKind::PolicyGradient:
    return buildClasses(x);
  case LossKind::Focal:
    return buildFocal(x);
  case LossKind::KlNormal:
    return buildKlNormal(x, predictions[1]);
  case LossKind::Contrastive:
    return buildContrastive(x);
  case LossKind::Triplet:
    return buildTriplet(predictions);
  case LossKind::Ctc:
    return buildCtc(x);
  case LossKind::Sum:
  case LossKind::Mean:
    reduction =
        term.kind == LossKind::Sum ? LossReduction::Sum : LossReduction::Mean;
    return reduced(x);
  default:
    return buildPair(x);
  }
}
