//===- SampleGroups.cpp - Channels of a sample that differ
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SampleGroups.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;

/// A larger file takes too long, and more groups than this are not kept.
static constexpr uint64_t kMostElements = uint64_t(1) << 24, kMostGroups = 4096;

void SampleGroups::Tally::add(double value) {
  ++count;
  sum += value;
  squares += value * value;
  hull = mpopt::hull(hull, value);
}

void SampleGroups::Tally::add(const Tally &other) {
  count += other.count;
  sum += other.sum;
  squares += other.squares;
  hull = mpopt::hull(hull, other.hull);
}

double SampleGroups::Tally::variance() const {
  return std::max(0.0, squares / count - mean() * mean());
}

void SampleGroups::begin(const NpyHeader &header) {
  if (header.byColumns || header.shape.size() < 2 || header.shape[0] < 2 ||
      header.count > kMostElements)
    return;
  shape = header.shape;
  uint64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= uint64_t(shape[axis]))
    if (auto size = uint64_t(shape[axis]);
        axis > 0 && size > 1 && size <= kMostGroups)
      axes.push_back({axis,
                      stride,
                      size,
                      {std::vector<Tally>(size), std::vector<Tally>(size)}});
  half = header.count / uint64_t(shape[0]) * uint64_t(shape[0] / 2);
}

void SampleGroups::add(llvm::ArrayRef<double> block) {
  for (Axis &axis : axes)
    for (auto [offset, value] : llvm::enumerate(block)) {
      uint64_t at = next + offset;
      axis.halves[at >= half][at / axis.stride % axis.size].add(value);
    }
  next += block.size();
}

/// The gain in log-likelihood per element of the second half by the groups.
double SampleGroups::gainOf(const Axis &axis) {
  // With fewer elements moments are a matter of chance.
  constexpr double kFewest = 8;
  // Groups that do not vary are no infinite gain.
  constexpr double kLeastVariance = 1e-6;
  Tally all[2];
  for (size_t part : {0, 1})
    for (const Tally &group : axis.halves[part]) {
      if (group.count < kFewest)
        return 0;
      all[part].add(group);
    }
  // Twice the negative logarithm, less a constant.
  auto surprise = [](const Tally &seen, double mean, double variance) {
    return seen.count * std::log(variance) +
           (seen.squares - 2 * mean * seen.sum + seen.count * mean * mean) /
               variance;
  };
  double variance = all[0].variance();
  if (!(variance > 0) || !std::isfinite(variance))
    return 0;
  double gain = surprise(all[1], all[0].mean(), variance);
  for (auto [fitted, seen] : llvm::zip(axis.halves[0], axis.halves[1]))
    gain -= surprise(seen, fitted.mean(),
                     std::max(fitted.variance(), kLeastVariance * variance));
  return gain / (2 * all[1].count);
}

std::shared_ptr<const ElementBounds> SampleGroups::take() const {
  // The squared spread of the logarithms of deviations: they differ by a fifth.
  constexpr double kLeastGain = 0.05;
  const Axis *best = nullptr;
  double most = kLeastGain;
  for (const Axis &axis : axes)
    if (double gain = gainOf(axis); gain > most) {
      most = gain;
      best = &axis;
    }
  if (!best)
    return nullptr;
  auto bounds = std::make_shared<ElementBounds>();
  bounds->shape.assign(shape.size() - best->axis, 1);
  bounds->shape.front() = int64_t(best->size);
  for (auto [first, second] : llvm::zip(best->halves[0], best->halves[1])) {
    Tally group = first;
    group.add(second);
    bounds->lo.push_back(group.hull.lo);
    bounds->hi.push_back(group.hull.hi);
    bounds->mean.push_back(group.mean());
    bounds->std.push_back(std::sqrt(group.variance()));
  }
  return bounds;
}
