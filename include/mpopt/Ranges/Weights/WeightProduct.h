//===- WeightProduct.h - Rows times constant weights ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weights' bytes are streamed once, which gives for each output channel
// centre and radius, the norm of its weights and the moments under
// independence. A row of known Euclidean norm bounds a channel by |x w| <= ‖x‖
// ‖w‖ and the new row by ‖x‖ times the matrix' operator norm (certified from
// above).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_WEIGHTPRODUCT_H
#define MPOPT_RANGES_WEIGHTS_WEIGHTPRODUCT_H

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Relations/GainedRows.h"
#include "mpopt/Ranges/Weights/ProductSupport.h"

namespace mpopt {

/// Weights whose operator norm is bounded better than by Frobenius' even where
/// no fact gives the norm of a row. The Gram matrix of 128 x 128 takes 2
/// million products, some 10 ops of an analysis.
inline constexpr uint64_t kSmallMatrix = 1 << 14;

/// True if an op may look at the norm of the value's rows.
bool mayReadNorm(mlir::Value value);

/// The product of an input [batch..., rows, k] with weights [weight batch...,
/// k, n].
struct WeightProduct {
  AbstractValue input;
  /// The weights as a value, and where their elements are read.
  mlir::Value constant;
  WeightSource weights;
  /// The leading dims of the weights.
  Shape batch;
  uint64_t k = 0, n = 0;
  /// The weights are stored as [n, k].
  bool transposed = false;
  double alpha = 1, beta = 1;
  /// The bias, with the rank of the result [batch..., rows, n].
  std::optional<AbstractValue> bias;
  /// Zero points of the weights: none, one, or one per output channel.
  std::vector<double> zeroPoints;
  /// Gains and bias of the rows, if they come from a normalisation.
  std::optional<GainedRows> gained;

  AbstractValue run(TransferContext &ctx, ProductResult &rules);

private:
  void runOnce(TransferContext &ctx, ProductResult &rules,
               const InputLists &inputs, uint64_t matrices, size_t first,
               const MutableCells &cells);

  AbstractValue::Dims dims;
  double inputNorm = kInfinity, operatorNorm = 0;
  GainedRows::Products products;
  bool wantNorm = false, lostWeights = false;
  std::optional<AbstractValue> biasCells;
};

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_WEIGHTPRODUCT_H
