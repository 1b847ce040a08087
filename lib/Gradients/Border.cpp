//===- Border.cpp - Convolutions whose windows leave the image
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Border.h"

#include "mpopt/Dialect/WindowSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Work that is worth it: weights, and taps, all pairs of which are added up.
static constexpr int64_t kMostWeights = 1 << 24, kMostTaps = 64;
/// The border of longer dims does not count.
static constexpr int64_t kMostPlaces = 128;
static constexpr int kSteps = 24;
/// Means below this part of the inputs' squares do not count.
static constexpr double kLeastMean = 0.05;

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

/// The shares of all pairs of taps of a window; empty if it has no padding, or
/// if that is not known.
static std::vector<double> sharesOf(const Window &window,
                                    ArrayRef<int64_t> input,
                                    ArrayRef<int64_t> output) {
  std::vector<double> shares(1, 1.0);
  int64_t taps = 1;
  bool padded = false;
  for (auto [index, dim] : llvm::enumerate(window.dims)) {
    auto pads = window.pads(unsigned(index), input[2 + index]);
    if (!pads || dim.kernel * taps > kMostTaps)
      return {};
    padded |= pads->first > 0 || pads->second > 0;
    TapShares own(dim.kernel, dim.stride, dim.dilation, pads->first,
                  input[2 + index], output[2 + index]);
    int64_t all = taps * dim.kernel;
    std::vector<double> next(all * all);
    for (int64_t tap = 0; tap < all; ++tap)
      for (int64_t other = 0; other < all; ++other)
        next[tap * all + other] =
            shares[tap / dim.kernel * taps + other / dim.kernel] *
            own.both(tap % dim.kernel, other % dim.kernel);
    shares = std::move(next);
    taps = all;
  }
  return padded ? shares : std::vector<double>();
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

std::optional<std::pair<AbstractValue, double>>
mpopt::convolveToBorder(SpreadContext &ctx, mp::ConvOp op, double alike) {
  MaybeShape filter = getShape(op.getFilter()), input = getShape(op.getInput()),
             output = getShape(op.getResult());
  std::optional<WeightView> weights = ctx.weights(op.getFilter());
  if (!isKnown(filter) || !isKnown(input) || !isKnown(output) || !weights ||
      weights->splat || weights->size() > kMostWeights ||
      ctx.of(op.getInput()).rank() != input->size() ||
      !ctx.of(op.getInput()).hasLikely())
    return std::nullopt;
  AbstractValue x = ctx.of(op.getInput()).keeping({1});
  AbstractValue bias =
      op.getBias() ? ctx.of(op.getBias()) : AbstractValue({1}, Cell{});
  double means = 0, squares = 0;
  for (const Cell &cell : x.cells()) {
    means += cell.mean * cell.mean;
    squares += cell.mean * cell.mean + cell.variance;
  }
  if (!(means > kLeastMean * squares) || !std::isfinite(squares))
    return std::nullopt;
  Window window = Window::get(ArrayRef(*filter).drop_front(2), op.getStrides(),
                              op.getDilations(), op.getPads(), op.getAutoPad());
  std::vector<double> shares = sharesOf(window, *input, *output);
  if (shares.empty())
    return std::nullopt;

  int64_t outputs = (*filter)[0], channels = (*filter)[1];
  int64_t perGroup = outputs / std::max<int64_t>(op.getGroup(), 1);
  int64_t taps = weights->size() / (outputs * channels);
  double draws = ctx.elementsPerGroup(op.getResult(), size_t(outputs));
  // By tap, so that no addition waits for the one before.
  std::vector<double> row(channels * taps), sums(taps), powers(taps);
  std::vector<Cell> cells;
  double random = 0, all = 0;
  for (int64_t made = 0; made < outputs; ++made) {
    weights->read(made * channels * taps, row);
    sums.assign(taps, 0.0);
    powers.assign(taps, 0.0);
    for (int64_t channel = 0; channel < channels; ++channel) {
      int64_t source = made / perGroup * channels + channel;
      Cell cell = x.cell(x.groups() == 1 ? 0 : size_t(source));
      const double *from = &row[channel * taps];
      for (int64_t tap = 0; tap < taps; ++tap) {
        sums[tap] += from[tap] * cell.mean;
        powers[tap] += from[tap] * from[tap] * cell.variance;
      }
    }
    double mean = 0, square = 0, variance = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      variance += powers[tap] * shares[tap * taps + tap];
      mean += sums[tap] * shares[tap * taps + tap];
      for (int64_t other = 0; other < taps; ++other)
        square += sums[tap] * sums[other] * shares[tap * taps + other];
    }
    double border = std::max(0.0, square - mean * mean);
    random += variance;
    all += variance + border;
    Cell own = bias.cell(bias.groups() == 1 ? 0 : size_t(made));
    mean += own.mean;
    cells.push_back(SpreadContext::normalCell(
        {mean, mean * mean, mean * mean + variance + border}, draws));
  }
  AbstractValue::Dims dims(output->size(), 1);
  dims[1] = outputs;
  AbstractValue value(dims, cells);
  value.source = LikelySource::Propagated;
  return std::pair(std::move(value), all > 0 ? alike * random / all : 0);
}
