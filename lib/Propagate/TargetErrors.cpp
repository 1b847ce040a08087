//===- TargetErrors.cpp - The error of a cross entropy's gradient
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nearly all of the square of p - [class is the target] is that of the targets,
// and the largest of them sets the scale: a format reads it exactly where the
// scale is its quotient, and a model that has not learnt has targets of nearly
// one size. Normal numbers of the same moments have another largest, and other
// errors.
//
//===----------------------------------------------------------------------===//

#include "ScaleGroups.h"

#include "mpopt/Numerics/Normal.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mpopt;

namespace {
/// The sizes 1 - p of targets. Of a model that has learnt -log p is
/// exponential with the loss L as its mean, E (1 - p)^2 = 2 L^2 / ((1 + L)
/// (1 + 2 L)); of another the logarithm of p is normal about that of 1 of all
/// classes.
class TargetSizes {
public:
  TargetSizes(const AbstractValue &value, const TargetElements &targets,
              double live);

  /// The size that this share of the targets stays below.
  double at(double share) const;
  /// The median of the largest of so many.
  double largestOf(double count) const {
    return at(std::exp2(-1 / std::max(count, 1.0)));
  }
  /// The error's square of other classes with this mean square: their p have
  /// one mean where nothing is learnt, else some are far larger.
  double errorOfOthers(double square, const StorageFormat &format) const {
    // Of many classes nearly all have no part in the error.
    constexpr double kFew = 1.0 / 32;
    double most = loss > 0 || mean < kFew ? 0 : unit * mean / (1 - mean),
           centre = std::min(most, std::sqrt(square));
    return roundingSquareOf(centre, square - centre * centre, format);
  }

private:
  double unit = 0, loss = 0;
  /// Of a model that has not learnt: the mean of p and the deviation of its
  /// logarithm.
  double mean = 0, deviation = 0;
};
} // namespace

TargetSizes::TargetSizes(const AbstractValue &value,
                         const TargetElements &targets, double live) {
  double share = 0, square = 0, groups = double(value.groups());
  for (size_t group = 0; group < value.groups(); ++group) {
    Cell cell = value.cell(group);
    double its = targets.share.cell(group).mean;
    unit = std::max({unit, std::fabs(cell.likelyLo), std::fabs(cell.likelyHi)});
    share += its / groups;
    square += (cell.mean * cell.mean + cell.variance -
               (1 - its) * targets.rest.cell(group).mean) /
              groups;
  }
  if (!(unit > 0) || !(share > 0))
    return;
  double part = square / share / (unit * unit);
  // As near to 1 the loss is that of a guess among a thousand classes.
  constexpr double kAll = 0.998;
  if (part < kAll) {
    part = std::max(part, 0.0);
    loss = (3 * part + std::sqrt(part * (8 + part))) / (4 * (1 - part));
    return;
  }
  mean = std::min(share / std::max(live, 1e-9), 0.5);
  double variation = std::max(part - 1, 0.0) * std::pow((1 - mean) / mean, 2);
  deviation = std::sqrt(std::log1p(variation));
}

double TargetSizes::at(double share) const {
  if (loss > 0)
    return unit * (1 - std::pow(1 - share, loss));
  double p = mean * std::exp(deviation * normalQuantile(1 - share) -
                             deviation * deviation / 2);
  return unit * std::max(1 - p, 0.0) / (1 - mean);
}

namespace {
/// What the elements that share a scale are expected to hold.
struct Scale {
  /// The chance of a target, and the targets where there is one.
  double chance = 0, targets = 0;
  /// The largest of the others, and of all with a target.
  double largest = 0, withTarget = 0;
  /// The mean square of a target's error, and the share of targets past the
  /// last number.
  double error = 0, clipped = 0;
};
} // namespace

static Interval upTo(double largest) { return {-largest, largest}; }

/// Targets that meet the scale of the largest of them, which is one of these.
static void setErrors(Scale &scale, const OperandScaling &scaling,
                      const TargetSizes &sizes, double most) {
  constexpr unsigned kPoints = 32;
  bool isAlone = scale.targets <= 1;
  auto add = [&](double size, double largest, double weight) {
    StorageFormat format = scaling.of(upTo(largest), most);
    double end = format.ends().maxAbs();
    constexpr double kRounded = 1 + 0x1p-20; // of a scale in FP32
    double error = format.round(std::min(size, end)) - size;
    scale.error += weight * error * error;
    scale.clipped += size > end * kRounded ? weight : 0;
  };
  double one = isAlone ? 0 : 1 / scale.targets;
  for (unsigned point = 0; point < kPoints; ++point) {
    double size = sizes.at((point + 0.5) / kPoints);
    add(isAlone ? size : std::min(size, scale.withTarget),
        isAlone ? size : scale.withTarget, (1 - one) / kPoints);
  }
  if (!isAlone)
    add(scale.withTarget, scale.withTarget, one);
}

static std::vector<Scale> findScales(const ScaledOperand &operand,
                                     const ExpectedNumbers &expected,
                                     const ScaleGroups &groups,
                                     const TargetSizes &sizes, double most) {
  const TargetElements &targets = *expected.targets;
  double live = std::max(1 - expected.zero, 1e-9);
  std::vector<Scale> scales(groups.count);
  std::vector<SmallVector<ScaleMember>> others(groups.count);
  for (auto [group, index] : llvm::enumerate(groups.scaleOf)) {
    scales[index].targets += groups.each * targets.share.cell(group).mean;
    others[index].push_back(
        {groups.each * live, 0, targets.rest.cell(group).mean / live});
  }
  double one = expectedLargest(ScaleMember{groups.each * live, 0, 1});
  std::map<long, Scale> known;
  auto ofTargets = [&](double count) -> const Scale & {
    // Errors do not change by an eighth of an octave of targets.
    constexpr double kParts = 8;
    long key = std::lround(kParts * std::log2(std::max(count, 1.0)));
    auto [entry, isNew] = known.try_emplace(key);
    if (isNew) {
      Scale &its = entry->second;
      its.targets = std::exp2(double(key) / kParts);
      its.withTarget = sizes.largestOf(its.targets);
      setErrors(its, operand.scaling, sizes, most);
    }
    return entry->second;
  };
  for (auto [scale, members] : llvm::zip_equal(scales, others)) {
    scale.chance = targets.ofOnePosition ? std::min(scale.targets / live, 1.0)
                                         : -std::expm1(-scale.targets);
    if (scale.chance > 0)
      scale.targets = targets.ofOnePosition ? 1 : scale.targets / scale.chance;
    // Many classes have a scale of their own for as many positions.
    double largest = members.size() == 1
                         ? one * std::sqrt(members.front().variance)
                         : expectedLargest(members);
    scale.largest = std::min(largest, most);
    const Scale &its = ofTargets(scale.targets);
    scale.withTarget = std::max(scale.largest, its.withTarget);
    scale.error = its.error;
    scale.clipped = its.clipped;
  }
  return scales;
}

OperandError mpopt::errorOfTargets(const ScaledOperand &operand,
                                   const ExpectedNumbers &expected,
                                   TransferContext &ctx) {
  const AbstractValue &value = expected.value;
  const TargetElements &targets = *expected.targets;
  const OperandScaling &scaling = operand.scaling;
  OperandError result;
  result.error = AbstractValue::like(value);
  result.error.source = LikelySource::Propagated;
  double live = std::max(1 - expected.zero, 1e-9), all = 0;
  for (const Cell &share : targets.share.cells())
    all += share.mean * ctx.elementsPerGroup(operand.input, value.groups());
  TargetSizes sizes(value, targets, live);
  double most = sizes.largestOf(all);
  ScaleGroups groups(operand, value.dims(), ctx);
  std::vector<Scale> scales =
      findScales(operand, expected, groups, sizes, most);
  std::vector<NumberAndError> numbers;
  MutableCells cells = result.error.mutableCells();
  double carried = 0;
  for (auto [group, index] : llvm::enumerate(groups.scaleOf)) {
    const Scale &scale = scales[index];
    double share = targets.share.cell(group).mean,
           rest = targets.rest.cell(group).mean / live;
    StorageFormat beside = scaling.of(upTo(scale.withTarget), most),
                  alone = scaling.of(upTo(scale.largest), most);
    double other = scale.chance * sizes.errorOfOthers(rest, beside);
    if (scale.chance < 1)
      other += (1 - scale.chance) * sizes.errorOfOthers(rest, alone);
    double square = share * scale.error + std::max(live - share, 0.0) * other;
    numbers.push_back({meanSquare(value.cell(group)), square});
    cells[group] = Cell{0, 0, 0, square, 0, 0};
    result.clipped += share / live * scale.clipped / double(value.groups());
    // Scales of both kinds in their proportion.
    constexpr unsigned kEdges = 8;
    for (unsigned edge = value.groups() > kEdges ? kEdges - 1 : 0;
         edge < kEdges; ++edge) {
      carried += scale.chance;
      bool has = carried >= 0.5;
      carried -= has ? 1 : 0;
      result.flushAt.push_back((has ? beside : alone).flushAt());
    }
  }
  setAlong(result, operand, numbers);
  return result;
}
