//===- Element.h - What one element counts for ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The per-element logic, shared by the CPU code and the CUDA kernel, so that
// the tests of one are tests of the other. Everything is done on bit patterns:
// the patterns of non-negative floats are ordered as their values, and no mode
// of the floating-point unit can change the answer.
//
// Narrow formats are decoded to FP32, which holds all of their values.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_ELEMENT_H
#define MPOPT_KERNELS_LIB_ELEMENT_H

#include "mpopt/Kernels/Record.h"

#ifdef __CUDACC__
#define MPOPT_HD __host__ __device__ __forceinline__
#else
#define MPOPT_HD inline
#endif
/// Only the device's compiler knows these.
#ifdef __CUDA_ARCH__
#define MPOPT_UNROLL _Pragma("unroll")
#define MPOPT_NO_UNROLL _Pragma("unroll 1")
#else
#define MPOPT_UNROLL
#define MPOPT_NO_UNROLL
#endif

namespace mpopt::kernels {

/// Extremes of finite FP32 and FP64 magnitudes, as bit patterns.
constexpr uint32_t kInf32 = 0x7F800000u;
constexpr uint64_t kInf64 = 0x7FF0000000000000ull;

/// The dtype of a record whose calls had both: the narrower float, since what
/// is lost is lost in it. The numbers rise from FP32 to FP8, but for FP64's.
MPOPT_HD uint32_t narrowerDtype(uint32_t lhs, uint32_t rhs) {
  uint32_t left = lhs == MPOPT_F64 ? 0 : lhs;
  uint32_t right = rhs == MPOPT_F64 ? 0 : rhs;
  return left > right ? lhs : rhs;
}

MPOPT_HD int highestBit(uint64_t word) {
#ifdef __CUDA_ARCH__
  return 63 - __clzll(static_cast<long long>(word));
#else
  return 63 - __builtin_clzll(word);
#endif
}

/// The histogram's bin of a finite non-zero FP32 magnitude.
MPOPT_HD int binOf(uint32_t magnitude) {
  if (magnitude >> 23)
    return MPOPT_BIN_OF_EXPONENT(int(magnitude >> 23) - 127);
  return MPOPT_BIN_OF_EXPONENT(highestBit(magnitude) - 149);
}

/// The same for FP64, whose range ends in the two outer bins.
MPOPT_HD int binOf(uint64_t magnitude) {
  int bin = MPOPT_BIN_OF_EXPONENT(int(magnitude >> 52) - 1023);
  return bin < 0 ? 0 : bin > MPOPT_BINS - 1 ? MPOPT_BINS - 1 : bin;
}

/// Which counter of mpopt_edge.
enum EdgeKind { BeyondMax = 0, NotFinite = 1, RoundsToZero = 2 };
constexpr int kEdgeKinds = 3;

/// Calls add(format, kind) for each edge counter that a finite non-zero
/// magnitude belongs to. The patterns are those of the table in Record.h.
template <class Add> MPOPT_HD void edgesOf(uint32_t magnitude, Add add) {
  switch (magnitude >> 23) {
  case 127 + 127:
    if (magnitude > 0x7F7F0000u)
      add(MPOPT_TO_BF16, BeyondMax);
    if (magnitude >= 0x7F7F8000u)
      add(MPOPT_TO_BF16, NotFinite);
    break;
  case 127 + 15:
    if (magnitude > 0x477FE000u)
      add(MPOPT_TO_F16, BeyondMax);
    if (magnitude >= 0x477FF000u)
      add(MPOPT_TO_F16, NotFinite);
    if (magnitude > 0x47600000u)
      add(MPOPT_TO_E5M2, BeyondMax);
    if (magnitude >= 0x47700000u)
      add(MPOPT_TO_E5M2, NotFinite);
    break;
  case 127 + 8:
    if (magnitude > 0x43E00000u)
      add(MPOPT_TO_E4M3, BeyondMax);
    if (magnitude > 0x43E80000u)
      add(MPOPT_TO_E4M3, NotFinite);
    break;
  case 127 - 10:
    if (magnitude == 0x3A800000u)
      add(MPOPT_TO_E4M3, RoundsToZero);
    break;
  case 127 - 17:
    if (magnitude == 0x37000000u)
      add(MPOPT_TO_E5M2, RoundsToZero);
    break;
  case 127 - 25:
    if (magnitude == 0x33000000u)
      add(MPOPT_TO_F16, RoundsToZero);
    break;
  case 0:
    if (magnitude == 0x00008000u)
      add(MPOPT_TO_BF16, RoundsToZero);
    break;
  }
}

template <class Add> MPOPT_HD void edgesOf(uint64_t magnitude, Add add) {
  switch (int(magnitude >> 52) - 1023) {
  case 127:
    if (magnitude > 0x47EFE00000000000ull)
      add(MPOPT_TO_BF16, BeyondMax);
    if (magnitude >= 0x47EFF00000000000ull)
      add(MPOPT_TO_BF16, NotFinite);
    if (magnitude > 0x47EFFFFFE0000000ull)
      add(MPOPT_TO_F32, BeyondMax);
    if (magnitude >= 0x47EFFFFFF0000000ull)
      add(MPOPT_TO_F32, NotFinite);
    break;
  case 15:
    if (magnitude > 0x40EFFC0000000000ull)
      add(MPOPT_TO_F16, BeyondMax);
    if (magnitude >= 0x40EFFE0000000000ull)
      add(MPOPT_TO_F16, NotFinite);
    if (magnitude > 0x40EC000000000000ull)
      add(MPOPT_TO_E5M2, BeyondMax);
    if (magnitude >= 0x40EE000000000000ull)
      add(MPOPT_TO_E5M2, NotFinite);
    break;
  case 8:
    if (magnitude > 0x407C000000000000ull)
      add(MPOPT_TO_E4M3, BeyondMax);
    if (magnitude > 0x407D000000000000ull)
      add(MPOPT_TO_E4M3, NotFinite);
    break;
  case -10:
    if (magnitude == 0x3F50000000000000ull)
      add(MPOPT_TO_E4M3, RoundsToZero);
    break;
  case -17:
    if (magnitude == 0x3EE0000000000000ull)
      add(MPOPT_TO_E5M2, RoundsToZero);
    break;
  case -25:
    if (magnitude == 0x3E60000000000000ull)
      add(MPOPT_TO_F16, RoundsToZero);
    break;
  case -134:
    if (magnitude == 0x3790000000000000ull)
      add(MPOPT_TO_BF16, RoundsToZero);
    break;
  case -150:
    if (magnitude == 0x3690000000000000ull)
      add(MPOPT_TO_F32, RoundsToZero);
    break;
  }
}

/// A float of `mantissa` bits and that exponent bias as FP32 bits; the pattern
/// has no sign bit. Inf and NaN are the callers'.
MPOPT_HD uint32_t widen(uint32_t magnitude, int mantissa, int bias) {
  uint32_t field = magnitude >> mantissa;
  uint32_t fraction = magnitude & ((1u << mantissa) - 1);
  if (field)
    return (field + 127 - bias) << 23 | fraction << (23 - mantissa);
  if (!fraction)
    return 0;
  int top = highestBit(fraction);
  return uint32_t(top - mantissa + 1 - bias + 127) << 23 |
         ((fraction << (23 - top)) & 0x7FFFFFu);
}

/// One struct a dtype: Word is what lies in memory, decode gives FP32 bits.
struct DecodeF32 {
  using Word = uint32_t;
  static MPOPT_HD uint32_t decode(Word word) { return word; }
};

struct DecodeBF16 {
  using Word = uint16_t;
  static MPOPT_HD uint32_t decode(Word word) { return uint32_t(word) << 16; }
};

struct DecodeF16 {
  using Word = uint16_t;
  static MPOPT_HD uint32_t decode(Word word) {
    uint32_t magnitude = word & 0x7FFFu;
    uint32_t sign = uint32_t(word & 0x8000u) << 16;
    if (magnitude >= 0x7C00u)
      return sign | kInf32 | (magnitude & 0x3FFu) << 13;
    return sign | widen(magnitude, 10, 15);
  }
};

struct DecodeE4M3FN {
  using Word = uint8_t;
  static MPOPT_HD uint32_t decode(Word word) {
    uint32_t magnitude = word & 0x7Fu;
    uint32_t sign = uint32_t(word & 0x80u) << 24;
    return sign | (magnitude == 0x7Fu ? 0x7FC00000u : widen(magnitude, 3, 7));
  }
};

struct DecodeE5M2 {
  using Word = uint8_t;
  static MPOPT_HD uint32_t decode(Word word) {
    uint32_t magnitude = word & 0x7Fu;
    uint32_t sign = uint32_t(word & 0x80u) << 24;
    if (magnitude >= 0x7Cu)
      return sign | kInf32 | (magnitude & 3u) << 21;
    return sign | widen(magnitude, 2, 15);
  }
};

/// The FNUZ formats have one NaN, in place of -0.
struct DecodeE4M3FNUZ {
  using Word = uint8_t;
  static MPOPT_HD uint32_t decode(Word word) {
    uint32_t sign = uint32_t(word & 0x80u) << 24;
    return word == 0x80u ? 0x7FC00000u : sign | widen(word & 0x7Fu, 3, 8);
  }
};

struct DecodeE5M2FNUZ {
  using Word = uint8_t;
  static MPOPT_HD uint32_t decode(Word word) {
    uint32_t sign = uint32_t(word & 0x80u) << 24;
    return word == 0x80u ? 0x7FC00000u : sign | widen(word & 0x7Fu, 2, 16);
  }
};

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_ELEMENT_H
