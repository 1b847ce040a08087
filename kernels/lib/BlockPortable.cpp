//===- BlockPortable.cpp - One block of elements, in plain C++
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definition of what the vector code must give, and what runs where there
// is none.
//
//===----------------------------------------------------------------------===//

#include "OneByOne.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>

using namespace mpopt::kernels;

/// FP32 and FP64, summed in double.
template <class Decode>
static void wideBlock(const void *data, size_t count, Partial &partial) {
  double sums[kLanes] = {}, squares[kLanes] = {};
  countElements<Decode>(data, 0, count, partial, [&](size_t i, double value) {
    sums[i % kLanes] += value;
    squares[i % kLanes] += value * value;
  });
  mpopt_exact_sum_add(&partial.sum, foldLanes(sums));
  mpopt_exact_sum_add(&partial.sumSquares, foldLanes(squares));
}

/// The 16-bit dtypes.
template <class Decode>
static void narrowBlock(const void *data, size_t count, Partial &partial) {
  size_t whole = shortSumCount(count);
  double most = 0, least = __builtin_inf();
  countElements<Decode>(data, 0, count, partial, [&](size_t i, double value) {
    if (i >= whole)
      return;
    double magnitude = value < 0 ? -value : value;
    most = std::max(most, magnitude);
    least = std::min(least, magnitude);
  });
  double sums[kLanes] = {}, squares[kLanes] = {};
  bool isBF16 = std::is_same_v<Decode, DecodeBF16>;
  if (isBF16 && (most >= 0x1p60 || least < 0x1p-60))
    sumWide<Decode>(data, 0, whole, sums, squares);
  else
    sumShort<Decode>(data, whole, sums, squares);
  sumWide<Decode>(data, whole, count, sums, squares);
  mpopt_exact_sum_add(&partial.sum, foldLanes(sums));
  mpopt_exact_sum_add(&partial.sumSquares, foldLanes(squares));
}

/// 256 codes: count them, and look at each code once at the end.
static void codeBlock(const void *data, size_t count, Partial &partial) {
  const auto *bytes = static_cast<const uint8_t *>(data);
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, bytes + i, 8);
    for (int j = 0; j < 8; ++j)
      ++partial.codes[j % 4][eight >> (8 * j) & 0xFF];
  }
  for (; i < count; ++i)
    ++partial.codes[0][bytes[i]];
  partial.unfolded += count;
}

template <class T>
static void integerBlock(const void *data, size_t count, Partial &partial) {
  T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::min();
  T words[256];
  const char *bytes = static_cast<const char *>(data);
  size_t zeros = 0;
  // By way of a buffer, since the data may lie at any address.
  for (size_t at = 0; at < count; at += std::size(words)) {
    size_t here = std::min(count - at, std::size(words));
    std::memcpy(words, bytes + at * sizeof(T), here * sizeof(T));
    for (size_t i = 0; i < here; ++i) {
      low = std::min(low, words[i]);
      high = std::max(high, words[i]);
      zeros += words[i] == 0;
    }
  }
  if (!count)
    return;
  partial.widen(double(low), double(high));
  partial.zero += zeros;
}

template <class Decode> static uint32_t decodeCode(uint8_t code) {
  return Decode::decode(code);
}

template <class T> static uint32_t decodeInteger(uint8_t code) {
  auto value = float(T(code));
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

DtypeKernel mpopt::kernels::portableKernel(uint32_t dtype) {
  switch (dtype) {
  case MPOPT_F32:
    return {wideBlock<DecodeF32>, 4, true};
  case MPOPT_F16:
    return {narrowBlock<DecodeF16>, 2, true};
  case MPOPT_BF16:
    return {narrowBlock<DecodeBF16>, 2, true};
  case MPOPT_F64:
    return {wideBlock<DecodeF64>, 8, true};
  case MPOPT_F8E4M3FN:
    return {codeBlock, 1, true, decodeCode<DecodeE4M3FN>};
  case MPOPT_F8E4M3FNUZ:
    return {codeBlock, 1, true, decodeCode<DecodeE4M3FNUZ>};
  case MPOPT_F8E5M2:
    return {codeBlock, 1, true, decodeCode<DecodeE5M2>};
  case MPOPT_F8E5M2FNUZ:
    return {codeBlock, 1, true, decodeCode<DecodeE5M2FNUZ>};
  case MPOPT_BOOL:
  case MPOPT_U8:
    return {codeBlock, 1, false, decodeInteger<uint8_t>};
  case MPOPT_I8:
    return {codeBlock, 1, false, decodeInteger<int8_t>};
  case MPOPT_U16:
    return {integerBlock<uint16_t>, 2};
  case MPOPT_I16:
    return {integerBlock<int16_t>, 2};
  case MPOPT_U32:
    return {integerBlock<uint32_t>, 4};
  case MPOPT_I32:
    return {integerBlock<int32_t>, 4};
  case MPOPT_U64:
    return {integerBlock<uint64_t>, 8};
  case MPOPT_I64:
    return {integerBlock<int64_t>, 8};
  }
  return {};
}
