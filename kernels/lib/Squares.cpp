//===- Squares.cpp - Sums of squares, by the best instructions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Squares.h"
#include "Partial.h"
#include "SquaresBody.h"

#include <algorithm>
#include <cstring>

using namespace mpopt::kernels;

template <class Decode>
static void widenWords(const typename Decode::Word *from, size_t count,
                       float *to) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = Decode::decode(from[i]);
    std::memcpy(to + i, &bits, sizeof(bits));
  }
}

static const SquareKernels &squareKernels() {
  static const SquareKernels kernels = [] {
#if defined(__x86_64__)
    if (chosenIsa() == Isa::Avx512)
      return avx512Squares();
    if (chosenIsa() == Isa::Avx2)
      return avx2Squares();
#endif
    return SquareKernels{sumSquares, addRows, widenWords<DecodeF16>};
  }();
  return kernels;
}

double mpopt_sum_squares(const float *x, uint64_t count) {
  return squareKernels().sum(x, count);
}

/// Calls piece(x, channel, count) for runs of elements of one channel.
template <class Piece>
static void forRuns(uint64_t from, size_t count, const mpopt_squares &to,
                    Piece piece) {
  uint64_t channel = from / to.inner % to.channels;
  uint64_t left = to.inner - from % to.inner;
  for (size_t i = 0; i < count;) {
    size_t run = std::min<uint64_t>(left, count - i);
    piece(i, channel, run);
    i += run;
    left = to.inner;
    channel = channel + 1 == to.channels ? 0 : channel + 1;
  }
}

static void addFloats(const float *x, uint64_t from, size_t count,
                      const mpopt_squares &to) {
  const SquareKernels &kernels = squareKernels();
  if (to.inner > 1)
    return forRuns(from, count, to,
                   [&](size_t i, uint64_t channel, size_t run) {
                     to.sums[channel] += kernels.sum(x + i, run);
                   });
  // The rest of a row, whole rows, the beginning of one.
  if (uint64_t channel = from % to.channels) {
    size_t head = std::min<uint64_t>(to.channels - channel, count);
    kernels.addRows(x, 1, head, to.sums + channel);
    x += head;
    count -= head;
  }
  size_t rows = count / to.channels, rest = count % to.channels;
  if (rows)
    kernels.addRows(x, rows, to.channels, to.sums);
  if (rest)
    kernels.addRows(x + rows * to.channels, 1, rest, to.sums);
}

static void addDoubles(const void *words, uint64_t from, size_t count,
                       const mpopt_squares &to) {
  forRuns(from, count, to, [&](size_t i, uint64_t channel, size_t run) {
    for (size_t end = i + run; i < end; ++i) {
      double value;
      std::memcpy(&value, static_cast<const char *>(words) + 8 * i, 8);
      to.sums[channel] += value * value;
    }
  });
}

/// At most kBlock elements.
static void toFloats(const void *words, uint32_t dtype, size_t count,
                     float *to) {
  auto *codes = static_cast<const uint8_t *>(words);
  uint16_t halves[kBlock];
  switch (dtype) {
  case MPOPT_F32:
    std::memcpy(to, words, count * sizeof(float));
    return;
  case MPOPT_F16:
    std::memcpy(halves, words, count * sizeof(*halves));
    return squareKernels().widenHalf(halves, count, to);
  case MPOPT_BF16:
    std::memcpy(halves, words, count * sizeof(*halves));
    return widenWords<DecodeBF16>(halves, count, to);
  case MPOPT_F8E4M3FN:
    return widenWords<DecodeE4M3FN>(codes, count, to);
  case MPOPT_F8E4M3FNUZ:
    return widenWords<DecodeE4M3FNUZ>(codes, count, to);
  case MPOPT_F8E5M2:
    return widenWords<DecodeE5M2>(codes, count, to);
  default:
    return widenWords<DecodeE5M2FNUZ>(codes, count, to);
  }
}

void mpopt::kernels::addSquares(const void *words, uint32_t dtype,
                                uint64_t from, size_t count,
                                const mpopt_squares &to) {
  if (dtype == MPOPT_F64)
    return addDoubles(words, from, count, to);
  if (dtype == MPOPT_F32 && uintptr_t(words) % alignof(float) == 0)
    return addFloats(static_cast<const float *>(words), from, count, to);
  unsigned bytes = dtypeKernel(dtype).bytes;
  float wide[kBlock];
  for (size_t at = 0; at < count; at += kBlock) {
    size_t here = std::min(kBlock, count - at);
    toFloats(static_cast<const char *>(words) + at * bytes, dtype, here, wide);
    addFloats(wide, from + at, here, to);
  }
}
