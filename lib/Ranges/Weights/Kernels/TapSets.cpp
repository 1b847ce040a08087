//===- TapSets.cpp - Which taps lie inside the input
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Per axis a set is a bit mask; the kernel's sets are the product of the axes'.
//
//===----------------------------------------------------------------------===//

#include "TapSets.h"

#include <algorithm>
#include <set>

using namespace mpopt;
using namespace mpopt::kernels;

/// Sets of all axes together; more would cost more than they are worth.
static constexpr size_t kMaxSets = 4096;
static constexpr int64_t kMaxKernel = 64;

int64_t ConvolutionAxis::outputSize(bool transposed) const {
  if (inputSize < 0)
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

using Masks = std::set<uint64_t>;

static void addKnown(const ConvolutionAxis &axis, bool transposed,
                     Masks &masks) {
  int64_t size = axis.outputSize(transposed);
  auto add = [&](int64_t position) {
    uint64_t mask = 0;
    for (int64_t tap = 0; tap < axis.kernel; ++tap)
      if (axis.input(position, tap, transposed))
        mask |= uint64_t(1) << tap;
    masks.insert(mask);
  };
  // Positions farther from both ends than this see the whole kernel, and a
  // transposed one's phases repeat.
  int64_t border = axis.dilation * axis.kernel + axis.stride +
                   std::max(axis.padBegin, axis.padEnd) +
                   std::max<int64_t>(axis.outputPadding, 0) + 1;
  for (int64_t at = 0; at < std::min(size, border + axis.stride); ++at)
    add(at);
  for (int64_t at = std::max<int64_t>(0, size - border); at < size; ++at)
    add(at);
}

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
    for (int64_t phase = 0; phase < axis.stride; ++phase) {
      std::vector<int64_t> taps;
      for (int64_t tap = 0; tap < axis.kernel; ++tap)
        if (tap * axis.dilation % axis.stride == phase)
          taps.push_back(tap);
      for (size_t begin = 0; begin <= taps.size(); ++begin)
        for (size_t end = 0; begin + end <= taps.size(); ++end)
          masks.insert(cut(taps, begin, end));
    }
    return;
  }
  std::vector<int64_t> taps;
  for (int64_t tap = 0; tap < axis.kernel; ++tap)
    taps.push_back(tap);
  auto outside = [&](int64_t pad) {
    int64_t count =
        (std::max<int64_t>(pad, 0) + axis.dilation - 1) / axis.dilation;
    return std::min(count, axis.kernel);
  };
  for (int64_t begin = 0; begin <= outside(axis.padBegin); ++begin)
    for (int64_t end = 0; end <= outside(axis.padEnd); ++end)
      masks.insert(cut(taps, begin, end));
}

std::optional<std::vector<TapSet>>
mpopt::kernels::tapSets(const ConvolutionRequest &request) {
  std::vector<TapSet> sets = {{0}};
  for (const ConvolutionAxis &axis : request.axes) {
    if (axis.kernel > kMaxKernel)
      return std::nullopt;
    Masks masks;
    if (axis.inputSize >= 0)
      addKnown(axis, request.transposed, masks);
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
