//===- Matrices.h - Operands of products as matrices ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_EVALUATION_MATRICES_H
#define MPOPT_EVALUATION_MATRICES_H

#include "mpopt/Evaluation/Array.h"

namespace mpopt {

/// An operand of a product [batch, rows, depth], whose products are added along
/// the last axis.
struct Matrices {
  int64_t batch = 1, rows = 0, depth = 0;
  std::vector<float> numbers;

  float *matrix(int64_t index) { return numbers.data() + index * rows * depth; }
  const float *matrix(int64_t index) const {
    return numbers.data() + index * rows * depth;
  }
  /// With rows and depth exchanged.
  Matrices transposed() const;
};

/// [batch, rows of lhs, rows of rhs]: lhs rhs^T for each batch. An operand with
/// one batch is used for all.
Matrices multiplyMatrices(const Matrices &lhs, const Matrices &rhs);

} // namespace mpopt

#endif // MPOPT_EVALUATION_MATRICES_H
