//===- SquaresBody.h - Sums of squares, whatever the vectors ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain loops, of which the compiler makes vector code. Squares are added up in
// FP32 over a few, then in double. Those of numbers beyond 2^64 or below 2^-63
// leave the range of FP32: where a sum shows that they may have, it is formed
// again in double.
//
// Included by each unit for one instruction set, after its target is set.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_SQUARESBODY_H
#define MPOPT_KERNELS_LIB_SQUARESBODY_H

namespace {

/// False for what FP32 may have spoilt: below, squares may have become 0.
inline bool isSound(float sum) { return sum >= 1e-30f && sum <= 3e38f; }

/// The sum of lanes.
template <size_t count, class T> double foldSquares(const T (&lanes)[count]) {
  double sum = 0;
  for (T lane : lanes)
    sum += double(lane);
  return sum;
}

double sumWide(const float *x, size_t count) {
  constexpr size_t kWide = 16;
  double lanes[kWide] = {};
  size_t i = 0;
  for (; i + kWide <= count; i += kWide)
    for (size_t lane = 0; lane < kWide; ++lane)
      lanes[lane] += double(x[i + lane]) * double(x[i + lane]);
  for (; i < count; ++i)
    lanes[0] += double(x[i]) * double(x[i]);
  return foldSquares(lanes);
}

double sumSquares(const float *x, size_t count) {
  constexpr size_t kMany = 64, kFew = 8, kChunk = 4096;
  double sum = 0;
  for (size_t first = 0; first < count; first += kChunk) {
    size_t end = count - first < kChunk ? count : first + kChunk, i = first;
    float many[kMany] = {}, few[kFew] = {};
    for (; i + kMany <= end; i += kMany)
      for (size_t lane = 0; lane < kMany; ++lane)
        many[lane] += x[i + lane] * x[i + lane];
    for (size_t lane = 0; lane < kMany; ++lane)
      few[lane % kFew] += many[lane];
    for (; i + kFew <= end; i += kFew)
      for (size_t lane = 0; lane < kFew; ++lane)
        few[lane] += x[i + lane] * x[i + lane];
    double chunk = foldSquares(few);
    for (; i < end; ++i)
      chunk += double(x[i]) * double(x[i]);
    sum += isSound(float(chunk)) ? chunk : sumWide(x + first, end - first);
  }
  return sum;
}

/// Adds the squares of `rows` times `channels` numbers, the rows `stride`
/// apart. At most kRows and kChannels.
constexpr size_t kRows = 64, kChannels = 256;

void addPiece(const float *x, size_t rows, size_t stride, size_t channels,
              double *sums) {
  float pieces[kChannels] = {};
  size_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const float *a = x + row * stride, *b = a + stride, *c = b + stride,
                *d = c + stride;
    for (size_t i = 0; i < channels; ++i)
      pieces[i] += a[i] * a[i] + b[i] * b[i] + (c[i] * c[i] + d[i] * d[i]);
  }
  for (; row < rows; ++row)
    for (size_t i = 0; i < channels; ++i)
      pieces[i] += x[row * stride + i] * x[row * stride + i];
  bool sound = true;
  for (size_t i = 0; i < channels; ++i)
    sound &= isSound(pieces[i]);
  if (sound) {
    for (size_t i = 0; i < channels; ++i)
      sums[i] += double(pieces[i]);
    return;
  }
  for (row = 0; row < rows; ++row)
    for (size_t i = 0; i < channels; ++i) {
      double value = x[row * stride + i];
      sums[i] += value * value;
    }
}

void addWideRows(const float *x, size_t rows, size_t channels, double *sums) {
  for (size_t row = 0; row < rows; row += kRows)
    for (size_t first = 0; first < channels; first += kChannels)
      addPiece(x + row * channels + first,
               rows - row < kRows ? rows - row : kRows, channels,
               channels - first < kChannels ? channels - first : kChannels,
               sums + first);
}

void addRows(const float *x, size_t rows, size_t channels, double *sums) {
  // Several short rows are one long one, whose channels come several times.
  size_t together = kChannels / 2 / channels;
  if (together > 1 && rows >= together) {
    double several[kChannels] = {};
    size_t whole = rows / together;
    addWideRows(x, whole, together * channels, several);
    for (size_t i = 0, channel = 0; i < together * channels; ++i) {
      sums[channel] += several[i];
      channel = channel + 1 == channels ? 0 : channel + 1;
    }
    x += whole * together * channels;
    rows -= whole * together;
  }
  addWideRows(x, rows, channels, sums);
}

} // namespace

#endif // MPOPT_KERNELS_LIB_SQUARESBODY_H
