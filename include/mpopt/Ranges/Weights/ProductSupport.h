//===- ProductSupport.h - From sums of products to results ------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What matrix products and convolutions share: weights as the kernels read
// them, operands as their inputs, and what becomes of a sum of products: alpha,
// bias, the accumulator's error and its overflow.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_PRODUCTSUPPORT_H
#define MPOPT_RANGES_WEIGHTS_PRODUCTSUPPORT_H

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Weights/Kernels/Dot.h"
#include "mpopt/Ranges/Weights/Kernels/Linear.h"

namespace mpopt {

/// A constant operand, ready for a kernel.
struct WeightSource {
  WeightTensor tensor;
  Shape shape;

  uint64_t size() const;
  /// What `tensor` points to where the kernels cannot read the file itself.
  std::vector<double> owned;
};

/// Nothing if `value` is no constant.
std::optional<WeightSource> getWeightSource(TransferContext &ctx,
                                            mlir::Value value);

/// Cells as the kernels' inputs; one entry for all if there is one cell.
struct InputLists {
  std::vector<double> centre, radius, mean, variance, halfRange;

  void add(const Cell &cell);
  /// To one entry where all are alike: the kernels have a faster way for that.
  void compress();
  /// Nothing bounds any of them.
  bool unbounded() const;
  LinearInputs get() const;
};

/// A sum of products in real arithmetic.
struct ProductSum {
  Interval bound;
  /// At least the sum of the products' magnitudes, of `count` products.
  double terms = 0;
  uint64_t count = 0;
  double mean = 0, variance = 0, tail = 0;
  /// The extremes are no farther from the mean than this, whatever the
  /// variance.
  double mostReach = kInfinity;
  /// No product is negative: rounding makes no sum of them so.
  bool nonNegative = false;

  static ProductSum of(const LinearSums &sums, size_t channel, uint64_t count);
  static ProductSum of(const DotRange &dot, uint64_t count);
  /// |sum| <= norm, and so is the sum of the magnitudes.
  void limit(double norm);
};

/// Makes a result of sums of products, in one accumulator.
class ProductResult {
public:
  /// `result` is where it goes; `operand` decides the accumulator.
  ProductResult(TransferContext &ctx, mlir::Value operand, mlir::Value result);

  /// Flags and the likely source of an operand, of which a product is Inf or
  /// NaN if it is.
  void addOperand(const AbstractValue &value);
  /// A bias' flags: sums with it.
  void addBias(const AbstractValue &value);
  /// Constant weights, whose Inf and NaN a pass over them has told by channel
  /// in `WeightFlag`s.
  void addWeights(const AbstractValue &weights, llvm::ArrayRef<uint8_t> flags);
  /// Products or partial sums that may not be finite.
  void addFlags(llvm::ArrayRef<uint8_t> flags);

  /// alpha sum + beta bias; `bias` may be null.
  Cell finish(ProductSum sum, double alpha, const Cell *bias, double beta);
  /// How many deviations from the mean extremes are expected.
  double extreme() const { return reach; }
  /// The largest error of a result so far.
  double error() const { return largestError; }

  /// Rows along `axis` of `count` elements have at most this norm before the
  /// accumulator's errors; kept where the cells say less.
  static void setNorm(AbstractValue &value, int64_t axis, int64_t count,
                      double bound, double error);
  AbstractValue take(AbstractValue::Dims dims, std::vector<Cell> cells) const;

private:
  const FloatFormat *accumulator;
  double reach;
  double largestError = 0;
  bool nan = false, posInf = false, negInf = false, integral = true;
  LikelySource source = LikelySource::Weight;
};

/// A result of sums of an unknown number of products: unbounded, but of the
/// sign of its terms, and zero if a factor is.
AbstractValue unboundedProducts(TransferContext &ctx, const AbstractValue &lhs,
                                const AbstractValue &rhs, size_t rank);

/// x - zero, of integers; zero points of several channels are merged.
AbstractValue minusZero(const AbstractValue &value, const AbstractValue &zero);

//===----------------------------------------------------------------------===//
// Products of two unknown tensors (Contraction.cpp)
//===----------------------------------------------------------------------===//

/// An operand whose axes have labels; equal labels are multiplied element by
/// element.
struct Labelled {
  AbstractValue value;
  llvm::SmallVector<int, 6> labels;
  /// Negative: unknown.
  Shape shape;
};

struct ContractionBias {
  double alpha = 1, beta = 1;
  /// Of the result's rank.
  std::optional<AbstractValue> value;
};

/// sum over the labels that `result` lacks of a b. Each operand's labels are
/// distinct.
AbstractValue contract(TransferContext &ctx, Labelled a, Labelled b,
                       llvm::ArrayRef<int> result, ProductResult &rules,
                       const ContractionBias &bias = {});

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_PRODUCTSUPPORT_H
