//===- RunningStatistics.cpp - What a batch norm saw in training
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The running mean and variance of a batch normalisation are those that its
// input had in training, channel by channel: better than moments that were
// propagated as if elements were independent, as long as the model gets what it
// was trained on. An estimate that is off by far is of another input or of
// weights that were not trained with these statistics, and statistics that are
// the same for all channels are as somebody filled them in: then it stays.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Relations/RelationSupport.h"

#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/TrainedStatistics.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

/// The extremes of heavy tails, in those of a normal value.
static constexpr double kMostReach = 2;

/// The batch norm that reads `value`, with statistics that were trained.
static mp::BatchNormOp findReader(Value value) {
  for (Operation *user : value.getUsers())
    if (auto norm = dyn_cast<mp::BatchNormOp>(user))
      if (norm.getInput() == value && !norm.getTraining() && norm.getMean() &&
          norm.getVariance())
        return norm;
  return nullptr;
}

static bool isVector(const AbstractValue &value, size_t channels) {
  return value.source == LikelySource::Weight && value.rank() == 1 &&
         (value.groups() == channels || value.groups() == 1);
}

/// True if the norm's scale is the same for all channels, as before a training.
static bool isAsInitialised(mp::BatchNormOp norm, TransferContext &ctx) {
  return !norm.getScale() || ctx.of(norm.getScale()).constant();
}

/// The ratios of all channels, `whole` where one is not known. Those of single
/// channels are as uncertain as their estimates are. Filters that nobody
/// trained leave errors less alike than the signal is: halfway to independence.
static std::vector<double> getRatios(ArrayRef<StatisticsMatch> byChannel,
                                     double whole, bool asInitialised) {
  constexpr double kMost = 64;
  std::vector<double> ratios;
  for (const StatisticsMatch &match : byChannel) {
    double ratio = match.ratio();
    ratio = std::isfinite(ratio)
                ? std::clamp(ratio, whole / kMost, whole * kMost)
                : whole;
    ratios.push_back(asInitialised && ratio < 1 ? std::sqrt(ratio) : ratio);
  }
  return ratios;
}

void relations::expectStatistics(Value result, AbstractValue &value,
                                 TransferContext &ctx) {
  mp::BatchNormOp norm = findReader(result);
  std::optional<int64_t> channels =
      norm && ctx.rankOf(result) >= 2 ? ctx.dimOf(result, 1) : std::nullopt;
  if (!channels || *channels < 1 || !value.hasLikely() ||
      value.rank() != ctx.rankOf(result))
    return;
  const AbstractValue &means = ctx.of(norm.getMean());
  const AbstractValue &variances = ctx.of(norm.getVariance());
  size_t count = *channels;
  if (!isVector(means, count) || !isVector(variances, count) ||
      areFilled(means, variances, count))
    return;
  AbstractValue::Dims dims(value.dims());
  dims[1] = *channels;
  if (countGroups(dims) > std::max(value.groups(), ctx.maxGroups()))
    return;
  size_t inner = countGroups(ArrayRef(dims).drop_front(2));
  auto channelOf = [&](size_t group) { return group / inner % count; };
  auto of = [&](const AbstractValue &vector, size_t group) {
    return vector.cell(vector.groups() == 1 ? 0 : channelOf(group)).mean;
  };
  AbstractValue spread = value.regrouped(dims);
  StatisticsMatch match;
  std::vector<StatisticsMatch> byChannel(count);
  bool trained = false;
  for (size_t group = 0; group < spread.groups(); ++group) {
    double mean = of(means, group), variance = of(variances, group);
    match.add(spread.cell(group), mean, variance);
    byChannel[channelOf(group)].add(spread.cell(group), mean, variance);
    trained |= mean != 0 || variance != 1;
  }
  if (!trained || !match.isAlike())
    return;
  double reach =
      expectedExtreme(ctx.elementsPerGroup(result, spread.groups()), 1);
  for (auto [group, cell] : llvm::enumerate(spread.mutableCells())) {
    double mean = of(means, group), variance = of(variances, group);
    Likely likely = Likely::normal(mean, variance, reach);
    // The shape stays: how many deviations away the extremes are. Of channels
    // that were hardly expected to differ from one number it says little.
    if (cell.variance > 0) {
      double deviation = std::sqrt(cell.variance), own = std::sqrt(variance);
      double most = kMostReach * reach;
      likely.lo =
          mean - own * std::min((cell.mean - cell.likelyLo) / deviation, most);
      likely.hi =
          mean + own * std::min((cell.likelyHi - cell.mean) / deviation, most);
    }
    cells::setLikely(cell, likely);
  }
  value = std::move(spread);
  value.understated = std::make_shared<const std::vector<double>>(
      getRatios(byChannel, match.ratio(), isAsInitialised(norm, ctx)));
  value.trained = true;
}
