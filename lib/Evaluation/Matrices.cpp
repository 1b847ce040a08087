//===- Matrices.cpp - Operands of products as matrices
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Evaluation/Matrices.h"

#include "VectorClones.h"

#include <algorithm>

using namespace mpopt;

Matrices Matrices::transposed() const {
  Matrices result{batch, depth, rows, {}};
  result.numbers.resize(numbers.size());
  // In blocks of a cache line.
  constexpr int64_t kBlock = 16;
  for (int64_t each = 0; each < batch; ++each) {
    const float *from = matrix(each);
    float *to = result.matrix(each);
    for (int64_t i0 = 0; i0 < rows; i0 += kBlock)
      for (int64_t j0 = 0; j0 < depth; j0 += kBlock)
        for (int64_t i = i0; i < std::min(i0 + kBlock, rows); ++i)
          for (int64_t j = j0; j < std::min(j0 + kBlock, depth); ++j)
            to[j * rows + i] = from[i * depth + j];
  }
  return result;
}

/// Sums of a tile of the product stay in registers while the depth goes by: 4
/// rows of 16 columns are the 8 registers of AVX that leave room for operands.
static constexpr int64_t kRows = 4, kColumns = 16;

/// c[4, 16] += a[4, depth] b[depth, 16]
static inline __attribute__((always_inline)) void
addTile(const float *a, int64_t aStride, const float *b, int64_t bStride,
        int64_t depth, float *c, int64_t cStride) {
  float sums[kRows][kColumns] = {};
  for (int64_t k = 0; k < depth; ++k, b += bStride)
    for (int64_t i = 0; i < kRows; ++i) {
      float x = a[i * aStride + k];
      for (int64_t j = 0; j < kColumns; ++j)
        sums[i][j] += x * b[j];
    }
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j)
      c[i * cStride + j] += sums[i][j];
}

MPOPT_VECTOR_CLONES
static void addProduct(const float *a, int64_t rows, const float *b,
                       int64_t columns, int64_t depth, float *c) {
  // A panel of b of this depth stays in the first cache.
  constexpr int64_t kDepth = 256;
  for (int64_t k0 = 0; k0 < depth; k0 += kDepth) {
    int64_t deep = std::min(kDepth, depth - k0);
    for (int64_t j = 0; j < columns; j += kColumns)
      for (int64_t i = 0; i < rows; i += kRows) {
        if (i + kRows <= rows && j + kColumns <= columns) {
          addTile(a + i * depth + k0, depth, b + k0 * columns + j, columns,
                  deep, c + i * columns + j, columns);
          continue;
        }
        for (int64_t row = i; row < std::min(i + kRows, rows); ++row)
          for (int64_t k = k0; k < k0 + deep; ++k) {
            float x = a[row * depth + k];
            for (int64_t col = j; col < std::min(j + kColumns, columns); ++col)
              c[row * columns + col] += x * b[k * columns + col];
          }
      }
  }
}

Matrices mpopt::multiplyMatrices(const Matrices &lhs, const Matrices &rhs) {
  Matrices columns = rhs.transposed();
  Matrices result{std::max(lhs.batch, rhs.batch), lhs.rows, rhs.rows, {}};
  result.numbers.resize(size_t(result.batch * result.rows * result.depth));
  for (int64_t each = 0; each < result.batch; ++each)
    addProduct(lhs.matrix(lhs.batch == 1 ? 0 : each), lhs.rows,
               columns.matrix(rhs.batch == 1 ? 0 : each), rhs.rows, lhs.depth,
               result.matrix(each));
  return result;
}
