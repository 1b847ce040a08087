//===- Normalization.cpp - Decomposed Layer-, RMS-, Instance- and GroupNorm
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   u = x                     (RMSNorm)    or  u = x - mean(x)
//   s = sqrt(mean(u^2) + eps)              or  its inverse
//   y = u / s [* scale [+ bias]]
//
// in the forms that exporters write: Pow 2, Mul of itself or of two equal
// differences, ReduceMean or ReduceSum over a number, E[x^2] - E[x]^2, Sqrt and
// Div, Reciprocal and Mul, Pow -0.5, an eps added to the root, and TensorFlow's
// x * k + (bias - mean * k). GroupNorm works on a reshaped x, also around an
// instance normalisation, as the TorchScript exporter writes it. Statistics
// over the batch are none of these.
//
//===----------------------------------------------------------------------===//

#include "Idioms.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/TypeSupport.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::idioms;

namespace {
/// A mean over axes and the ops that compute it.
struct Mean {
  Value input;
  Axes axes;
};

/// x - mean(x), or x itself.
struct Deviation {
  Value input;
  bool centred = false;
  Axes axes;
};

class Normalization {
public:
  explicit Normalization(Operation *root) : root(root) {}
  bool match(Marker &marker);

private:
  std::optional<Mean> matchMean(Value value);
  std::optional<Deviation> matchCentred(Value value);
  std::optional<Value> matchSquare(Value value);
  bool matchVariance(Value value);
  bool matchDifferenceOfMeans(Value value);
  Operation *matchQuotient();
  Operation *findQuotient(Value scale, bool inverse);
  Operation *matchScaledForm(Operation *product);
  bool isNumerator(Value value);
  void add(Operation *op) {
    if (!llvm::is_contained(members, op))
      members.push_back(op);
  }

  Operation *root;
  Deviation deviation;
  Members members;
};
} // namespace

/// ReduceMean(x), or ReduceSum(x) over a number of elements.
std::optional<Mean> Normalization::matchMean(Value value) {
  Operation *op = getMaker(value);
  if (!op)
    return std::nullopt;
  if (isa<mp::DivOp, mp::MulOp>(op)) {
    auto scaled = splitNumber(op);
    auto sum = scaled ? getMaker<mp::ReduceSumOp>(scaled->first) : nullptr;
    if (!sum ||
        (isa<mp::DivOp>(op) && !isSameBehind(op->getOperand(0), scaled->first)))
      return std::nullopt;
    add(op);
    op = sum;
  } else if (!isa<mp::ReduceMeanOp>(op)) {
    return std::nullopt;
  }
  std::optional<Axes> axes = getReducedAxes(op, ShapeFacts());
  if (!axes)
    return std::nullopt;
  add(op);
  return Mean{op->getOperand(0), *axes};
}

std::optional<Deviation> Normalization::matchCentred(Value value) {
  auto sub = getMaker<mp::SubOp>(value);
  if (!sub)
    return std::nullopt;
  size_t before = members.size();
  add(sub);
  std::optional<Mean> mean = matchMean(sub.getRhs());
  if (mean && isSameBehind(mean->input, sub.getLhs()))
    return Deviation{peel(sub.getLhs()), true, mean->axes};
  members.truncate(before);
  return std::nullopt;
}

/// The squared value. Two differences that are computed twice count as one.
std::optional<Value> Normalization::matchSquare(Value value) {
  Operation *op = getMaker(value);
  size_t before = members.size();
  auto sameOrCentred = [&](Value lhs, Value rhs) {
    if (isSameBehind(lhs, rhs))
      return true;
    std::optional<Deviation> left = matchCentred(lhs);
    std::optional<Deviation> right = left ? matchCentred(rhs) : std::nullopt;
    return right && left->input == right->input && left->axes == right->axes;
  };
  Value squared = getSquared(op, {sameOrCentred, getRoundNumber});
  if (!squared) {
    members.truncate(before);
    return std::nullopt;
  }
  add(op);
  return squared;
}

/// mean(x^2) - mean(x)^2, perhaps clipped at 0.
bool Normalization::matchDifferenceOfMeans(Value value) {
  auto sub = getMaker<mp::SubOp>(value);
  if (!sub)
    return false;
  add(sub);
  std::optional<Mean> ofSquares = matchMean(sub.getLhs());
  std::optional<Value> squared =
      ofSquares ? matchSquare(ofSquares->input) : std::nullopt;
  std::optional<Value> squaredMean =
      squared ? matchSquare(sub.getRhs()) : std::nullopt;
  std::optional<Mean> mean =
      squaredMean ? matchMean(*squaredMean) : std::nullopt;
  if (!mean || !isSameBehind(mean->input, *squared) ||
      mean->axes != ofSquares->axes)
    return false;
  deviation = {peel(*squared), true, mean->axes};
  return true;
}

bool Normalization::matchVariance(Value value) {
  Operation *op = getMaker(value);
  // The guard in front of the root.
  if (isa_and_present<mp::AddOp, mp::MaxOp>(op) && op->getNumOperands() == 2)
    if (auto guarded = splitNumber(op)) {
      add(op);
      op = getMaker(guarded->first);
    }
  if (isa_and_present<mp::ClipOp, mp::ReluOp>(op)) {
    add(op);
    op = getMaker(op->getOperand(0));
  }
  if (!op)
    return false;
  size_t before = members.size();
  if (isa<mp::SubOp>(op)) {
    if (matchDifferenceOfMeans(op->getResult(0)))
      return true;
    members.truncate(before);
    return false;
  }
  if (auto variance = dyn_cast<mp::VarianceOp>(op)) {
    std::optional<Axes> axes = getReducedAxes(variance, ShapeFacts());
    if (!axes)
      return false;
    add(variance);
    deviation = {peel(variance.getInput()), true, *axes};
    return true;
  }
  std::optional<Mean> mean = matchMean(op->getResult(0));
  std::optional<Value> squared = mean ? matchSquare(mean->input) : std::nullopt;
  if (!squared)
    return false;
  if (std::optional<Deviation> centred = matchCentred(*squared)) {
    deviation = *centred;
    return centred->axes == mean->axes;
  }
  deviation = {peel(*squared), false, mean->axes};
  return true;
}

/// `value` is what is to be divided by the root.
bool Normalization::isNumerator(Value value) {
  if (!deviation.centred)
    return peel(value) == deviation.input;
  size_t before = members.size();
  std::optional<Deviation> centred = matchCentred(value);
  if (centred && centred->input == deviation.input &&
      centred->axes == deviation.axes)
    return true;
  members.truncate(before);
  return false;
}

/// `product` = 1/s [* scale]: x * product + (bias - mean(x) * product).
Operation *Normalization::matchScaledForm(Operation *product) {
  Operation *ofInput = nullptr, *ofMean = nullptr;
  size_t before = members.size();
  for (Operation *user : getUsers(product->getResult(0))) {
    Value other = isa<mp::MulOp>(user)
                      ? otherOperand(user, product->getResult(0))
                      : Value();
    if (!other)
      continue;
    if (peel(other) == deviation.input) {
      ofInput = user;
      continue;
    }
    std::optional<Mean> mean = matchMean(other);
    if (mean && peel(mean->input) == deviation.input &&
        mean->axes == deviation.axes)
      ofMean = user;
  }
  Operation *sum = ofInput ? getOnlyUser(ofInput->getResult(0)) : nullptr;
  Operation *shift = ofMean ? getOnlyUser(ofMean->getResult(0)) : nullptr;
  if (!isa_and_present<mp::AddOp>(sum) || !isa_and_present<mp::SubOp>(shift) ||
      !otherOperand(sum, shift->getResult(0)) ||
      !isSameBehind(shift->getOperand(1), ofMean->getResult(0))) {
    members.truncate(before);
    return nullptr;
  }
  for (Operation *op : {product, ofInput, ofMean, shift, sum})
    add(op);
  return sum;
}

/// The op that divides by `scale`, or multiplies by it if it is the inverse.
Operation *Normalization::findQuotient(Value scale, bool inverse) {
  for (Operation *user : getUsers(scale)) {
    if (!inverse && isa<mp::DivOp>(user) &&
        isSameBehind(user->getOperand(1), scale) &&
        isNumerator(user->getOperand(0))) {
      add(user);
      return user;
    }
    if (!inverse || !isa<mp::MulOp>(user))
      continue;
    Value other = otherOperand(user, scale);
    if (other && isNumerator(other)) {
      add(user);
      return user;
    }
    if (deviation.centred && other && isParameter(other))
      if (Operation *sum = matchScaledForm(user))
        return sum;
  }
  // Without a scale the product is the inverse itself.
  if (inverse && deviation.centred)
    if (Operation *maker = getMaker(scale))
      return matchScaledForm(maker);
  return nullptr;
}

Operation *Normalization::matchQuotient() {
  Value scale = root->getResult(0);
  bool inverse = isa<mp::RsqrtOp>(root) ||
                 (isa<mp::PowOp>(root) && isNumber(root->getOperand(1), -0.5));
  // An epsilon beside the root instead of under it.
  if (Operation *user = getOnlyUser(scale);
      !inverse && isa_and_present<mp::AddOp>(user) && splitNumber(user)) {
    add(user);
    scale = user->getResult(0);
  }
  if (Operation *found = findQuotient(scale, inverse))
    return found;
  for (Operation *user : getUsers(scale)) {
    bool inverts = isa<mp::ReciprocalOp>(user) ||
                   (isa<mp::DivOp>(user) && isNumber(user->getOperand(0), 1));
    if (inverse || !inverts)
      continue;
    size_t before = members.size();
    add(user);
    if (Operation *found = findQuotient(user->getResult(0), true))
      return found;
    members.truncate(before);
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Around the core
//===----------------------------------------------------------------------===//

/// A parameter that is no mere number: those belong to what follows.
static bool isGainOrBias(Value value) {
  return isParameter(value) && getNumElements(getShape(value)) != 1;
}

/// Appends `* scale` and `+ bias` behind `result`; the new result.
static Operation *takeAffine(Operation *result, Members &members) {
  for (bool sum : {false, true}) {
    Operation *user = getOnlyUser(result->getResult(0));
    bool wanted = user && (sum ? isa<mp::AddOp>(user) : isa<mp::MulOp>(user));
    Value other = wanted ? otherOperand(user, result->getResult(0)) : Value();
    if (!other || !isGainOrBias(other))
      continue;
    members.push_back(user);
    result = user;
  }
  return result;
}

/// The reshapes into groups and back, if there are both.
static Operation *takeReshapes(Value input, Operation *result,
                               Members &members) {
  Operation *before = getMaker(input);
  Operation *after = getOnlyUser(result->getResult(0));
  if (!isa_and_present<mp::ReshapeOp>(before) ||
      !isa_and_present<mp::ReshapeOp>(after))
    return nullptr;
  MaybeShape whole = getShape(before->getOperand(0)), grouped = getShape(input);
  // [N, C, ...] becomes [N, G, rest...]; a model that flattens its tokens in
  // front of a norm does something else.
  if (!whole || !grouped || grouped->size() < 3 || whole->size() < 3 ||
      whole->size() < grouped->size() - 1)
    return nullptr;
  // Groups divide the channels.
  int64_t channels = (*whole)[1], groups = (*grouped)[1];
  if (channels > 0 && groups > 0 && channels % groups != 0)
    return nullptr;
  MaybeShape restored = getShape(after->getResult(0));
  if (restored && restored->size() != whole->size())
    return nullptr;
  members.push_back(before);
  members.push_back(after);
  return after;
}

static bool isTail(ArrayRef<int64_t> axes, int64_t rank, int64_t from) {
  return llvm::equal(axes, llvm::seq<int64_t>(from, rank));
}

bool Normalization::match(Marker &marker) {
  add(root);
  if (!matchVariance(root->getOperand(0)) || deviation.axes.empty() ||
      deviation.axes.front() == 0)
    return false;
  Operation *result = matchQuotient();
  if (!result)
    return false;
  // A cast that is looked through may know less than its result does.
  MaybeShape shape = getShape(deviation.input);
  int64_t rank = shape ? int64_t(shape->size()) : -1;
  StringRef kind =
      deviation.centred ? getKind<mp::LayerNormOp>() : getKind<mp::RMSNormOp>();
  if (deviation.centred && rank >= 3 && isTail(deviation.axes, rank, 2)) {
    // The last axis of three alone is the usual LayerNorm, unless the groups
    // were made for it.
    Members around = members;
    if (Operation *after = takeReshapes(deviation.input, result, around)) {
      kind = getKind<mp::GroupNormOp>();
      result = after;
      members = std::move(around);
    } else if (rank >= 4) {
      kind = getKind<mp::InstanceNormOp>();
    }
  }
  result = takeAffine(result, members);
  return marker.mark(kind, members, result);
}

/// Reshape, InstanceNormalization, Reshape: what torch.onnx makes of GroupNorm.
static bool matchGroupedInstanceNorm(Operation *core, Marker &marker) {
  Members members = {core};
  Operation *result = takeReshapes(core->getOperand(0), core, members);
  if (!result)
    return false;
  result = takeAffine(result, members);
  return marker.mark<mp::GroupNormOp>(members, result);
}

bool idioms::matchNormalization(Operation *anchor, Marker &marker) {
  if (isa<mp::InstanceNormOp>(anchor))
    return matchGroupedInstanceNorm(anchor, marker);
  bool root =
      isa<mp::SqrtOp, mp::RsqrtOp>(anchor) ||
      (isa<mp::PowOp>(anchor) && (isNumber(anchor->getOperand(1), 0.5) ||
                                  isNumber(anchor->getOperand(1), -0.5)));
  return root && Normalization(anchor).match(marker);
}
