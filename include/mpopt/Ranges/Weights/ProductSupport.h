//===- ProductSupport.h - From sums of products to results ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers for matrix products and convolutions: weights as the kernels read
// them, operands as their inputs, and the result that a sum of products gives
// with alpha, bias, the accumulator's error and its overflow.
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
  /// The memo for passes over these weights. Passes over large ones are found
  /// by the place of their bytes, which is theirs for good only in the file.
  SharedSums sharedSums(TransferContext &ctx) const {
    return owned.empty() ? ctx.sharedSums() : SharedSums();
  }
  /// The elements that `tensor` points to where the kernels cannot read the
  /// file itself.
  std::vector<double> owned;
};

/// The elements of a constant where the kernels can read them; else nothing.
std::optional<WeightTensor> getTensor(const WeightView &view);

/// The weights of `value`; nothing if it is no constant.
std::optional<WeightSource> getWeightSource(TransferContext &ctx,
                                            mlir::Value value);

/// The same of a matrix that may be a transposed constant: `swapped` says so,
/// and the source has the constant's shape.
std::optional<WeightSource> getMatrixSource(TransferContext &ctx,
                                            mlir::Value value, bool &swapped);

/// Cells as the kernels' inputs, with one entry for all if there is one cell.
struct InputLists {
  std::vector<double> centre, radius, mean, variance, halfRange;

  void add(const Cell &cell);
  /// Reduces the lists to one entry if all cells are alike, for which the
  /// kernels are faster.
  void compress();
  /// True if no cell is bounded.
  bool unbounded() const;
  LinearInputs get() const;
};

/// A sum of products in real arithmetic.
struct ProductSum {
  Interval bound;
  /// An upper bound of the sum of the magnitudes of `count` products.
  double terms = 0;
  uint64_t count = 0;
  double mean = 0, variance = 0, tail = 0;
  /// An upper bound of the distance of the extremes from the mean, whatever the
  /// variance.
  double mostReach = kInfinity;
  /// No product is negative, so that rounding makes no sum negative.
  bool nonNegative = false;

  static ProductSum of(const LinearSums &sums, size_t channel, uint64_t count);
  static ProductSum of(const DotRange &dot, uint64_t count);
  /// Multiplies the estimate, and not the bound.
  void scaleEstimate(double factor);
  /// Cuts the sum, and the sum of the magnitudes, to `norm`.
  void limit(double norm);
};

/// The factor by which sums are expected to differ from their estimated
/// `means`, by what the constant biases that are added to them say
/// (BiasEvidence.h).
double scaleByBias(llvm::ArrayRef<double> means,
                   llvm::function_ref<Cell(size_t)> biasOf);

/// True if weights, of which each output has `count`, were shaped by training:
/// some are farther out than those of the normal or uniform distributions that
/// networks are initialised from.
bool areShaped(const AbstractValue &weights, double count);

/// Makes a result from sums of products, all in one accumulator format.
class ProductResult {
public:
  /// `result` is the value that is computed; the dtype of `operand` decides the
  /// accumulator.
  ProductResult(TransferContext &ctx, mlir::Value operand, mlir::Value result);

  /// Adds the flags and the likely source of an operand; a product may be Inf
  /// or NaN if the operand may be.
  void addOperand(const AbstractValue &value);
  /// Adds the flags of a bias to those of the sums.
  void addBias(const AbstractValue &value);
  /// Adds constant weights, whose Inf and NaN are known by channel as
  /// `WeightFlag`s.
  void addWeights(const AbstractValue &weights, llvm::ArrayRef<uint8_t> flags);
  /// Adds the `WeightFlag`s of products or partial sums that may not be finite.
  void addFlags(llvm::ArrayRef<uint8_t> flags);

  /// The cell of alpha sum + beta bias.
  Cell finish(ProductSum sum, double alpha, std::optional<Cell> bias,
              double beta);
  /// The expected distance of extremes from the mean, in standard deviations.
  double extreme() const { return reach; }
  void setExtreme(double deviations) { reach = deviations; }
  /// The same for the least of the elements of one group, where sums of
  /// positive terms are nearest to 0.
  void setLeast(double deviations) { leastReach = deviations; }
  /// The largest absolute error of a result so far.
  double error() const { return largestError; }

  /// Claims that rows of `count` elements along `axis` have at most the norm
  /// `bound` before the accumulator's error of `error` per element; the claim
  /// is kept where the cells do not imply it.
  static void setNorm(AbstractValue &value, int64_t axis, int64_t count,
                      double bound, double error);
  AbstractValue take(AbstractValue::Dims dims, Cells cells) const;

private:
  const FloatFormat *accumulator;
  double reach, leastReach;
  double largestError = 0;
  /// The error of sums of so many products, which most results are.
  std::optional<DotError> rounding;
  uint64_t roundedCount = 0;
  bool nan = false, posInf = false, negInf = false, integral = true;
  LikelySource source = LikelySource::Weight;
};

/// A result of sums of an unknown number of products: unbounded, but with the
/// sign of its terms, and zero if a factor is.
AbstractValue unboundedProducts(TransferContext &ctx, const AbstractValue &lhs,
                                const AbstractValue &rhs, size_t rank);

/// A bias with groups of its own as one with the groups `dims` of a result of
/// the same rank: axes of another size are merged first.
AbstractValue broadcastBias(const AbstractValue &bias,
                            llvm::ArrayRef<int64_t> dims);

/// x - zero for integers; zero points of several channels are merged.
AbstractValue minusZero(const AbstractValue &value, const AbstractValue &zero);

//===----------------------------------------------------------------------===//
// Products of two unknown tensors (Contraction.cpp)
//===----------------------------------------------------------------------===//

/// An operand whose axes have labels; equal labels are multiplied element by
/// element.
struct Labelled {
  AbstractValue value;
  llvm::SmallVector<int, 6> labels;
  /// The tensor's shape; a negative dim is unknown.
  Shape shape;
};

struct ContractionBias {
  double alpha = 1, beta = 1;
  /// The bias, with the result's rank.
  std::optional<AbstractValue> value;
};

/// The sum of a b over the labels that `result` lacks. The labels of an operand
/// are distinct.
AbstractValue contract(TransferContext &ctx, Labelled a, Labelled b,
                       llvm::ArrayRef<int> result, ProductResult &rules,
                       const ContractionBias &bias = {});

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_PRODUCTSUPPORT_H
