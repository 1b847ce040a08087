//===- Reader.cpp - Weights decoded into tiles
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The common dtypes go through the vector loops; 64-bit ones, wide integers and
// 4-bit types, whose tensors are small or rare, one by one. Integers past 2^53
// are rounded to doubles.
//
//===----------------------------------------------------------------------===//

#include "Reader.h"

#include "llvm/ADT/APInt.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Parallel.h"

#include <atomic>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

using namespace mpopt;
using namespace mpopt::kernels;
using llvm::APFloat;
using llvm::APInt;

static_assert(std::endian::native == std::endian::little,
              "weights are little-endian and are read in place");

static double decodeFloat(const FloatFormat &format, uint64_t bits) {
  APFloat value(*format.semantics, APInt(format.bits, bits));
  bool inexact;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

WeightReader::WeightReader(const WeightTensor &weights) : weights(weights) {
  const FloatFormat *format = weights.format;
  unsigned bits = weights.bits();
  table.fill(0);
  if (format && bits <= 8) {
    for (unsigned pattern = 0; pattern < (1u << bits); ++pattern)
      table[pattern] = float(decodeFloat(*format, pattern));
    element = bits == 8 ? Element::Table : Element::F64;
  } else if (format == &FloatFormat::f16()) {
    element = Element::F16;
  } else if (format == &FloatFormat::bf16()) {
    element = Element::BF16;
  } else if (format == &FloatFormat::f32()) {
    element = Element::F32;
  } else if (!format && bits == 8) {
    element = weights.isSigned ? Element::I8 : Element::U8;
  }
  inFloat = format ? format->bits <= 32 : bits <= 16;

  limits = format && weights.limits;
  const FloatFormat *storage = weights.storage;
  if (!format || !storage || storage == format || storage->bits == 64 ||
      (storage->bits == 32 && inFloat))
    return;
  rounds = true;
  rounding.dropped = 24 - storage->digits;
  rounding.minNormal = float(storage->minNormal);
  rounding.magic = std::ldexp(float(storage->minSubnormal), 23);
  rounding.overflowFrom = roundedUp<float>(storage->overflowFrom);
}

const SumLoops<float> *WeightReader::direct() const {
  constexpr size_t first = size_t(Element::F32);
  static_assert(size_t(Element::F32AsBF16) - first + 1 == kDirect);
  if (limits)
    return nullptr;
  Element stored = element;
  if (rounds && element == Element::F32) {
    if (weights.storage == &FloatFormat::f16())
      stored = Element::F32AsF16;
    else if (weights.storage == &FloatFormat::bf16())
      stored = Element::F32AsBF16;
  }
  if ((rounds && stored == element) || stored == Element::F64 ||
      stored == Element::Table)
    return nullptr;
  return &loops().direct[size_t(stored) - first];
}

double WeightReader::decode(size_t index) const {
  unsigned bits = weights.bits();
  uint64_t pattern = 0;
  if (bits == 4)
    pattern = uint8_t(weights.bytes[index / 2]) >> (index % 2 * 4) & 15;
  else
    std::memcpy(&pattern, weights.bytes.data() + index * (bits / 8), bits / 8);
  if (weights.format)
    return bits <= 8 ? table[pattern] : decodeFloat(*weights.format, pattern);
  return weights.isSigned ? double(llvm::SignExtend64(pattern, bits))
                          : double(pattern);
}

static uint8_t flagOf(double value) {
  if (std::isnan(value))
    return WeightNaN;
  return value > 0 ? WeightPosInf : WeightNegInf;
}

void WeightReader::readDoubles(size_t index, size_t count, double *to,
                               Mark mark) const {
  bool isDouble = weights.format == &FloatFormat::f64();
  if (isDouble)
    std::memcpy(to, weights.bytes.data() + index * 8, count * 8);
  for (size_t at = 0; at < count; ++at) {
    double value = isDouble ? to[at] : decode(index + at);
    if (!std::isfinite(value)) {
      mark(at, flagOf(value));
      to[at] = 0;
      continue;
    }
    if (limits)
      value = weights.limits.apply(value);
    if (rounds) {
      double rounded = weights.storage->round(value);
      if (std::isfinite(rounded))
        value = rounded;
      else
        mark(at, WeightStorageOverflow);
    }
    to[at] = value;
  }
}

void WeightReader::readFloats(size_t index, size_t count, float *to,
                              Mark mark) const {
  if (!loops().decode(element, weights.bytes.data(), index, count, table.data(),
                      to))
    for (size_t at = 0; at < count; ++at)
      if (!std::isfinite(to[at])) {
        mark(at, flagOf(to[at]));
        to[at] = 0;
      }
  if (limits)
    for (size_t at = 0; at < count; ++at)
      to[at] = weights.limits.apply(to[at]);
  if (rounds && !loops().round(rounding, to, count))
    for (size_t at = 0; at < count; ++at)
      if (std::fabs(to[at]) >= rounding.overflowFrom)
        mark(at, WeightStorageOverflow);
}

template <typename T>
void WeightReader::read(size_t index, size_t count, T *to, Mark mark) const {
  constexpr bool wantFloat = std::is_same_v<T, float>;
  constexpr size_t piece = 512;
  assert((index + count) * weights.bits() <= weights.bytes.size() * 8 &&
         "fewer bytes than elements");
  if constexpr (wantFloat)
    if (element != Element::F64)
      return readFloats(index, count, to, mark);
  if constexpr (!wantFloat)
    if (element == Element::F64)
      return readDoubles(index, count, to, mark);
  std::conditional_t<wantFloat, double, float> other[piece];
  for (size_t at = 0; at < count; at += piece) {
    size_t length = std::min(piece, count - at);
    auto markHere = [&](size_t offset, uint8_t flag) {
      mark(at + offset, flag);
    };
    if constexpr (wantFloat)
      readDoubles(index + at, length, other, markHere);
    else
      readFloats(index + at, length, other, markHere);
    for (size_t offset = 0; offset < length; ++offset)
      to[at + offset] = T(other[offset]);
  }
}

template void WeightReader::read(size_t, size_t, float *, Mark) const;
template void WeightReader::read(size_t, size_t, double *, Mark) const;

void mpopt::kernels::mapPages(llvm::ArrayRef<char> bytes) {
  // Linux maps so much around a page that is missing (fault_around_bytes).
  constexpr size_t around = 64 << 10;
  for (size_t at = 0; at < bytes.size(); at += around)
    (void)*static_cast<const volatile char *>(bytes.data() + at);
}

void mpopt::kernels::forEachTask(size_t count, uint64_t bytes,
                                 llvm::function_ref<void(size_t)> task) {
  /// Below this, starting threads takes longer than the work.
  constexpr uint64_t threadsFrom = 2 << 20;
  unsigned threads = llvm::parallel::strategy.compute_thread_count();
  if (threads == 1 || count < 2 || bytes < threadsFrom) {
    for (size_t index = 0; index < count; ++index)
      task(index);
    return;
  }
  std::atomic<size_t> next = 0;
  llvm::parallelFor(0, threads, [&](size_t) {
    for (size_t index; (index = next++) < count;)
      task(index);
  });
}
