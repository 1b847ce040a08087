//===- FloatBlock.h - One block of floats, whatever the vectors ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block is read once from memory: extremes and sums go through registers, and
// exponent fields, as bytes, to a buffer that the first-level cache holds,
// where they are counted. What is rare in a tensor costs a second look at the
// block: Inf and NaN, subnormals, values in a bin with a format's edge.
//
// Included by each unit for one instruction set, after its target is set. The
// unit's dtypes are one of the formats below, and give: scan<special>();
// countFields() for multiples of `round` fields; countRange(); and origin(i),
// where the i-th field of the buffer comes from.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_FLOATBLOCK_H
#define MPOPT_KERNELS_LIB_FLOATBLOCK_H

#include "FloatFields.h"
#include "FloatSums.h"

namespace {

/// Bytes by which a scan asks for its data before it needs them: processors do
/// so by themselves up to the end of a page only. An address behind the tensor
/// is no fault.
constexpr int kAhead = 4096;

struct F32Format {
  using Decode = DecodeF32;
  using Words = Full;
  static constexpr unsigned mantissa = 23, top = 255, bias = 127;
  static constexpr uint32_t mantissaMask = (1u << mantissa) - 1;
  /// A power of two is one of 2^23 patterns: a scan asks for them, and finds
  /// none in most tensors.
  static constexpr bool kSeesPowers = true;
  static constexpr uint32_t inf = kInf32;
};

struct F16Format {
  using Decode = DecodeF16;
  using Words = Narrow;
  static constexpr unsigned mantissa = 10, top = 31, bias = 15;
  static constexpr uint32_t mantissaMask = (1u << mantissa) - 1;
  static constexpr bool kSeesPowers = false;
  static constexpr uint32_t inf = 0x7C00;
};

struct BF16Format {
  using Decode = DecodeBF16;
  using Words = Narrow;
  static constexpr unsigned mantissa = 7, top = 255, bias = 127;
  static constexpr uint32_t mantissaMask = (1u << mantissa) - 1;
  static constexpr bool kSeesPowers = false;
  static constexpr uint32_t inf = 0x7F80;
};

/// Result of a scan of a block. Patterns are the dtype's own.
struct Scan {
  /// Largest pattern as a signed and as an unsigned number: the largest
  /// positive value, and the negative one with the largest magnitude, if there
  /// are any.
  int32_t mostSigned = 0;
  uint32_t mostUnsigned = 0;
  /// Smallest magnitude minus one, where zero counts as the largest number.
  uint32_t least = ~0u;
  uint64_t nan = 0, posInf = 0, negInf = 0;
  /// False if no normal magnitude is a power of two.
  bool powers = false;
  alignas(64) double sums[kLanes] = {};
  alignas(64) double squares[kLanes] = {};
};

} // namespace

template <class Words>
static void storeExtremes(__m256i mostSigned, __m256i mostUnsigned,
                          __m256i least, Scan &scan) {
  auto greater = [](auto a, auto b) { return a > b; };
  auto less = [](auto a, auto b) { return a < b; };
  if constexpr (Words::bits == 16) {
    scan.mostSigned = foldWords<int16_t>(mostSigned, INT16_MIN, greater);
    scan.mostUnsigned = foldWords<uint16_t>(mostUnsigned, 0, greater);
    scan.least = foldWords<uint16_t>(least, UINT16_MAX, less);
  } else {
    scan.mostSigned = foldWords<int32_t>(mostSigned, INT32_MIN, greater);
    scan.mostUnsigned = foldWords<uint32_t>(mostUnsigned, 0, greater);
    scan.least = foldWords<uint32_t>(least, UINT32_MAX, less);
  }
}

/// Extremes from the scan's patterns (see Scan).
template <class Dtype>
static void widenByScan(const Scan &scan, uint64_t zeros, Partial &partial) {
  using Word = typename Dtype::Decode::Word;
  auto value = [](uint32_t pattern) {
    return valueOf(Dtype::Decode::decode(Word(pattern)));
  };
  constexpr uint32_t sign = Dtype::Words::absMask + 1;
  bool any = scan.least <= Dtype::Words::absMask;
  double least = any ? value(scan.least + 1) : 0;
  if (any)
    partial.widenNonzero(least);
  if (scan.mostUnsigned > sign)
    partial.widen(-value(scan.mostUnsigned & ~sign),
                  scan.mostSigned > 0 ? value(uint32_t(scan.mostSigned))
                  : zeros             ? 0
                                      : -least);
  else if (any || zeros)
    partial.widen(zeros ? 0 : least,
                  scan.mostSigned > 0 ? value(uint32_t(scan.mostSigned)) : 0);
}

/// The largest magnitude that a scan met.
template <class Dtype> static uint32_t mostOf(const Scan &scan) {
  uint32_t positive = scan.mostSigned > 0 ? uint32_t(scan.mostSigned) : 0;
  uint32_t negative = scan.mostUnsigned > Dtype::Words::absMask
                          ? scan.mostUnsigned & Dtype::Words::absMask
                          : 0;
  return positive > negative ? positive : negative;
}

/// One block, of which `whole` elements go by vectors. What it adds to `all`
/// and `fields` is counted by the caller.
template <class Dtype>
static void sumBlock(const void *data, size_t count, size_t whole,
                     uint8_t *fields, Scan &all, Partial &partial) {
  using Decode = typename Dtype::Decode;
  Scan scan;
  if (whole) {
    if (!partial.special)
      Dtype::template scan<false>(data, whole, scan, fields);
    if (partial.special || mostOf<Dtype>(scan) >= Dtype::inf) {
      scan = Scan();
      Dtype::template scan<true>(data, whole, scan, fields);
    }
    partial.special = scan.nan + scan.posInf + scan.negInf != 0;
    if constexpr (Dtype::top == 255 && Dtype::Words::bits == 16)
      if (mostOf<Dtype>(scan) >= kShortSumEnd ||
          scan.least + 1 < kShortSumBegin) {
        __builtin_memset(scan.sums, 0, sizeof(scan.sums));
        __builtin_memset(scan.squares, 0, sizeof(scan.squares));
        sumWide<Decode>(data, 0, whole, scan.sums, scan.squares);
      }
    all.mostSigned =
        scan.mostSigned > all.mostSigned ? scan.mostSigned : all.mostSigned;
    all.mostUnsigned = scan.mostUnsigned > all.mostUnsigned ? scan.mostUnsigned
                                                            : all.mostUnsigned;
    all.least = scan.least < all.least ? scan.least : all.least;
    all.nan += scan.nan;
    all.posInf += scan.posInf;
    all.negInf += scan.negInf;
    all.powers |= scan.powers;
  }
  // One element at a time, in the lanes where it belongs.
  countElements<Decode>(data, whole, count, partial,
                        [&](size_t i, double value) {
                          int lane = laneOf<Decode>(i);
                          scan.sums[lane] += value;
                          scan.squares[lane] += value * value;
                        });
  mpopt_exact_sum_add(&partial.sum, foldLanes(scan.sums));
  mpopt_exact_sum_add(&partial.sumSquares, foldLanes(scan.squares));
}

/// Up to kTile elements: sums block by block, fields all together.
template <class Dtype>
static void floatTile(const void *data, size_t count, Partial &partial) {
  constexpr size_t bytes = sizeof(typename Dtype::Decode::Word);
  alignas(64) uint8_t fields[kTile];
  Scan all;
  size_t whole = 0;
  for (size_t at = 0; at < count; at += kBlock) {
    size_t here = count - at < kBlock ? count - at : kBlock;
    // The tables of fields only pay for themselves with enough elements.
    size_t part = shortSumCount(here);
    sumBlock<Dtype>(static_cast<const char *>(data) + at * bytes, here, part,
                    fields + at, all, partial);
    whole = part ? at + part : whole;
  }
  if (!whole)
    return;
  uint64_t zeros = countBlockFields<Dtype>(
      data, whole, fields, mostOf<Dtype>(all),
      all.nan + all.posInf + all.negInf, all.powers, partial);
  // Field 0 is zero or subnormal.
  if (all.least < (1u << Dtype::mantissa) - 1)
    zeros -= countSubnormals<Dtype>(data, whole, partial);
  partial.zero += zeros;
  partial.nan += all.nan;
  partial.posInf += all.posInf;
  partial.negInf += all.negInf;
  widenByScan<Dtype>(all, zeros, partial);
}

#endif // MPOPT_KERNELS_LIB_FLOATBLOCK_H
