//===- TileDecode.h - Decoding and rounding weights -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILEDECODE_H
#define MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILEDECODE_H

#include "TileVectors.h"

#include <bit>

namespace mpopt::kernels {

template <typename T> MPOPT_INLINE T read(const char *data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T)); // any alignment
  return value;
}

MPOPT_INLINE uint32_t track(uint32_t seen, float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value) & 0x7fffffff;
  // Signed, because the packed unsigned maximum is rarer.
  return int32_t(bits) > int32_t(seen) ? bits : seen;
}

MPOPT_INLINE float fromHalf(uint16_t bits) {
  // Exact, subnormals included: the exponents' biases differ by 112.
  float scaled = std::bit_cast<float>(uint32_t(bits & 0x7fff) << 13) * 0x1p112f;
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t special = scaled >= 65536.0f ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | sign | special);
}

/// A tile's neighbour continues each of its rows: its bytes are fetched while
/// this tile is summed. The hardware does not see that through the jumps.
MPOPT_INLINE void fetchNext(const char *end, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64)
    __builtin_prefetch(end + at, /*write=*/0, /*locality=*/2);
}

MPOPT_INLINE bool decodeAny(Element element, const char *data, size_t index,
                            size_t count, const float *table, float *to) {
  uint32_t seen = 0;
  size_t size = sizeOf(element);
  fetchNext(data + (index + count) * size, count * size);
  auto each = [&](auto decode) __attribute__((always_inline)) {
    for (size_t at = 0; at < count; ++at) {
      float value = decode(index + at);
      to[at] = value;
      seen = track(seen, value);
    }
  };
  switch (element) {
  case Element::F32:
    each([&](size_t at)
             __attribute__((always_inline)) { return read<float>(data, at); });
    break;
  case Element::F16:
    each([&](size_t at) __attribute__((always_inline)) {
      return fromHalf(read<uint16_t>(data, at));
    });
    break;
  case Element::BF16:
    each([&](size_t at) __attribute__((always_inline)) {
      return std::bit_cast<float>(uint32_t(read<uint16_t>(data, at)) << 16);
    });
    break;
  case Element::I8:
    each([&](size_t at) __attribute__((always_inline)) {
      return float(read<int8_t>(data, at));
    });
    break;
  case Element::U8:
    each([&](size_t at) __attribute__((always_inline)) {
      return float(read<uint8_t>(data, at));
    });
    break;
  case Element::Table:
    each([&](size_t at) __attribute__((always_inline)) {
      return table[read<uint8_t>(data, at)];
    });
    break;
  case Element::F64:
  case Element::F32AsF16: // read as F32 and rounded by roundAll
  case Element::F32AsBF16:
    return false;
  }
  return seen < 0x7f800000;
}

MPOPT_INLINE bool roundAll(const Rounding &rounding, float *values,
                           size_t count) {
  // Integer arithmetic on the pattern rounds what is normal in the format;
  // adding a number whose ulp is the format's smallest rounds what is not.
  uint32_t dropped = rounding.dropped;
  uint32_t half = dropped ? (1u << (dropped - 1)) - 1 : 0;
  uint32_t mask = ~((1u << dropped) - 1), odd = dropped ? 1 : 0;
  int32_t over = 0;
  for (size_t at = 0; at < count; ++at) {
    uint32_t bits = std::bit_cast<uint32_t>(values[at]);
    uint32_t sign = bits & 0x80000000u;
    uint32_t size = bits & 0x7fffffffu;
    float absolute = std::bit_cast<float>(size);
    uint32_t normal = (size + half + ((size >> dropped) & odd)) & mask;
    uint32_t tiny =
        std::bit_cast<uint32_t>((absolute + rounding.magic) - rounding.magic);
    bool overflows = absolute >= rounding.overflowFrom;
    uint32_t rounded = absolute < rounding.minNormal ? tiny : normal;
    rounded = overflows ? size : rounded;
    over |= overflows ? 1 : 0;
    values[at] = std::bit_cast<float>(rounded | sign);
  }
  return !over;
}

} // namespace mpopt::kernels

#endif // MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILEDECODE_H
