//===- Border.cpp - Convolutions whose windows leave the image
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Border.h"

#include "mpopt/Dialect/WindowSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Taps of which all pairs are added up.
static constexpr int64_t kMostTaps = 64;
/// The border of longer dims does not count.
static constexpr int64_t kMostPlaces = 128;
static constexpr int kSteps = 24;

TapShares::TapShares(int64_t taps, int64_t stride, int64_t dilation,
                     int64_t padBegin, int64_t input, int64_t output)
    : taps(taps), shares(taps * taps, 0.0) {
  // The first and the last place at which a tap lies inside.
  auto first = [&](int64_t tap) {
    return std::max<int64_t>(
        0, llvm::divideCeilSigned(padBegin - tap * dilation, stride));
  };
  auto last = [&](int64_t tap) {
    return std::min(
        output - 1,
        llvm::divideFloorSigned(input - 1 + padBegin - tap * dilation, stride));
  };
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t other = 0; other < taps; ++other) {
      int64_t places = std::min(last(tap), last(other)) -
                       std::max(first(tap), first(other)) + 1;
      shares[tap * taps + other] =
          double(std::max<int64_t>(places, 0)) / double(output);
    }
}

static bool isKnown(const MaybeShape &shape) {
  return shape && shape->size() > 2 &&
         llvm::all_of(*shape, [](int64_t dim) { return dim > 0; });
}

double mpopt::shareKept(int64_t taps, int64_t dilation, int64_t padBegin,
                        int64_t places) {
  std::vector<double> now(places, 1.0), next(places);
  double kept = 1;
  // Starting from an even profile, far fewer steps than this settle it.
  for (int step = 0; step < kSteps; ++step) {
    double before = 0, after = 0;
    for (int64_t place = 0; place < places; ++place) {
      next[place] = 0;
      for (int64_t tap = 0; tap < taps; ++tap)
        if (int64_t at = place - padBegin + tap * dilation;
            at >= 0 && at < places)
          next[place] += now[at] / double(taps);
      before += now[place];
      after += next[place];
    }
    kept = after / before;
    for (double &value : next)
      value /= after;
    std::swap(now, next);
  }
  return kept;
}

double mpopt::shareInside(mp::ConvGradOp op) {
  MaybeShape filter = getShape(op.getFilter()), input = getShape(op.getInput()),
             output = getShape(op.getGrad());
  if (!isKnown(filter) || !isKnown(input) || !isKnown(output))
    return 1;
  ArrayRef<int64_t> none;
  Window window = Window::get(ArrayRef(*filter).drop_front(2),
                              op.getStrides().value_or(none),
                              op.getDilations().value_or(none),
                              op.getPads().value_or(none), op.getAutoPad());
  double share = 1;
  for (auto [index, dim] : llvm::enumerate(window.dims)) {
    int64_t size = (*input)[2 + index], made = (*output)[2 + index];
    auto pads = window.pads(unsigned(index), size);
    if (!pads || dim.kernel > kMostTaps)
      return 1;
    if (dim.stride == 1 && size == made && size <= kMostPlaces) {
      share *= shareKept(dim.kernel, dim.dilation, pads->first, size);
      continue;
    }
    TapShares own(dim.kernel, dim.stride, dim.dilation, pads->first, size,
                  std::min(made, kMostPlaces));
    double sum = 0;
    for (int64_t tap = 0; tap < dim.kernel; ++tap)
      sum += own.both(tap, tap) / double(dim.kernel);
    share *= sum;
  }
  return share;
}
