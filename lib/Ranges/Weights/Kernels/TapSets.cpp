//===- TapSets.cpp - Which taps lie inside the input
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per axis a set is a bit mask; the kernel's sets are the product of the axes'.
//
//===----------------------------------------------------------------------===//

#include "TapSets.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>
#include <set>

using namespace mpopt;
using namespace mpopt::kernels;

/// Sets of all axes together; more would cost more than they are worth.
static constexpr size_t kMaxSets = 4096;
static constexpr int64_t kMaxKernel = 64;

/// True if sums of an axis' numbers and of the products below do not overflow.
static bool isModest(const ConvolutionAxis &axis) {
  constexpr int64_t kMost = int64_t(1) << 59;
  auto fits = [](int64_t a, int64_t b) {
    int64_t product;
    return !llvm::MulOverflow(a, b, product) && product <= kMost;
  };
  auto isSmall = [](int64_t number) {
    return number >= -kMost && number <= kMost;
  };
  return isSmall(axis.padBegin) && isSmall(axis.padEnd) &&
         isSmall(axis.outputPadding) && fits(axis.kernel, axis.dilation) &&
         fits(axis.stride, std::max<int64_t>(axis.inputSize, 1));
}

int64_t ConvolutionAxis::outputSize(bool transposed) const {
  if (inputSize < 0 || !isModest(*this))
    return -1;
  int64_t reach = dilation * (kernel - 1) + 1;
  if (transposed)
    return std::max<int64_t>(0, stride * (inputSize - 1) + reach - padBegin -
                                    padEnd + outputPadding);
  int64_t room = inputSize + padBegin + padEnd - reach;
  return room < 0 ? 0 : room / stride + 1;
}

std::optional<int64_t> ConvolutionAxis::input(int64_t position, int64_t tap,
                                              bool transposed) const {
  int64_t index = transposed ? position + padBegin - tap * dilation
                             : position * stride - padBegin + tap * dilation;
  if (transposed) {
    if (index < 0 || index % stride != 0)
      return std::nullopt;
    index /= stride;
  }
  if (index < 0 || index >= inputSize)
    return std::nullopt;
  return index;
}

namespace {
using Masks = std::set<uint64_t>;

/// Adds the set of taps inside at each of some positions.
class KnownMasks {
public:
  KnownMasks(const ConvolutionAxis &axis, bool transposed, Masks &masks)
      : axis(axis), transposed(transposed), size(axis.outputSize(transposed)),
        masks(masks) {}

  void addAll() {
    if (transposed)
      addPhases();
    else
      addSlides();
  }

private:
  void add(int64_t position) {
    if (position < 0 || position >= size)
      return;
    uint64_t mask = 0;
    for (int64_t tap = 0; tap < axis.kernel; ++tap)
      if (axis.input(position, tap, transposed))
        mask |= uint64_t(1) << tap;
    masks.insert(mask);
  }

  /// A set changes only at positions where a tap enters or leaves the input.
  void addSlides() {
    add(0);
    for (int64_t tap = 0; tap < axis.kernel; ++tap) {
      int64_t enters = axis.padBegin - tap * axis.dilation;
      add(llvm::divideCeilSigned(enters, axis.stride));
      add(llvm::divideCeilSigned(enters + axis.inputSize, axis.stride));
    }
  }

  /// The same among the positions of each phase, which are `stride` apart; to a
  /// phase without taps no input adds anything.
  void addPhases() {
    std::set<int64_t> phases;
    for (int64_t tap = 0; tap < axis.kernel; ++tap) {
      int64_t first = tap * axis.dilation - axis.padBegin;
      int64_t step = llvm::divideFloorSigned(first, axis.stride);
      int64_t phase = first - step * axis.stride;
      add(phase);
      for (int64_t at : {step, step + axis.inputSize})
        if (at >= 0 && at <= size / axis.stride)
          add(phase + at * axis.stride);
      if (phase < size)
        phases.insert(phase);
    }
    if (int64_t(phases.size()) < std::min(size, axis.stride))
      masks.insert(0);
  }

  const ConvolutionAxis &axis;
  bool transposed;
  int64_t size;
  Masks &masks;
};
} // namespace

/// The taps of `all` but the first `begin` and the last `end`.
static uint64_t cut(const std::vector<int64_t> &all, size_t begin, size_t end) {
  uint64_t mask = 0;
  for (size_t at = begin; at + end < all.size(); ++at)
    mask |= uint64_t(1) << all[at];
  return mask;
}

static void addUnknown(const ConvolutionAxis &axis, bool transposed,
                       Masks &masks) {
  if (transposed) {
    // A phase's taps that lie inside are neighbours, at a border only some.
    // A phase without taps sees none, as the others may.
    std::map<int64_t, std::vector<int64_t>> phases;
    for (int64_t tap = 0; tap < axis.kernel; ++tap)
      phases[tap * axis.dilation % axis.stride].push_back(tap);
    for (const auto &[phase, taps] : phases)
      for (size_t begin = 0; begin <= taps.size(); ++begin)
        for (size_t end = 0; begin + end <= taps.size(); ++end)
          masks.insert(cut(taps, begin, end));
    return;
  }
  std::vector<int64_t> taps;
  for (int64_t tap = 0; tap < axis.kernel; ++tap)
    taps.push_back(tap);
  auto outside = [&](int64_t pad) {
    return std::min<int64_t>(
        llvm::divideCeil(uint64_t(std::max<int64_t>(pad, 0)),
                         uint64_t(axis.dilation)),
        axis.kernel);
  };
  for (int64_t begin = 0; begin <= outside(axis.padBegin); ++begin)
    for (int64_t end = 0; end <= outside(axis.padEnd); ++end)
      masks.insert(cut(taps, begin, end));
}

std::optional<std::vector<TapSet>>
mpopt::kernels::tapSets(const ConvolutionRequest &request) {
  std::vector<TapSet> sets = {{0}};
  for (const ConvolutionAxis &axis : request.axes) {
    if (axis.kernel > kMaxKernel || !isModest(axis))
      return std::nullopt;
    Masks masks;
    if (axis.outputSize(request.transposed) >= 0)
      KnownMasks(axis, request.transposed, masks).addAll();
    else
      addUnknown(axis, request.transposed, masks);
    if (masks.size() * sets.size() > kMaxSets)
      return std::nullopt;
    std::vector<TapSet> product;
    bool sawEmpty = false;
    for (const TapSet &set : sets)
      for (uint64_t mask : masks) {
        TapSet next;
        for (uint32_t tap : set)
          for (int64_t at = 0; at < axis.kernel; ++at)
            if (mask >> at & 1)
              next.push_back(uint32_t(tap * axis.kernel + at));
        if (next.empty() && std::exchange(sawEmpty, true))
          continue;
        product.push_back(std::move(next));
      }
    sets = std::move(product);
  }
  return sets;
}
