//===- SampleGroups.cpp - Channels of a sample that differ
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SampleGroups.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;

/// A larger file takes too long, and more groups than this are not kept.
static constexpr uint64_t kMostElements = uint64_t(1) << 24, kMostGroups = 4096;

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

std::shared_ptr<const ElementBounds> SampleGroups::take() const {
  // The squared spread of the logarithms of deviations: they differ by a fifth.
  constexpr double kLeastGain = 0.05;
  const Axis *best = nullptr;
  double most = kLeastGain;
  for (const Axis &axis : axes)
    if (auto gain = gainOfGroups(axis.halves[0], axis.halves[1]);
        gain && *gain > most) {
      most = *gain;
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
