//===- Samples.h - Tensors of the evaluations of samples --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The response of a filter depends on how the elements of its input vary
// together: a tone fills one bin of a spectrum, a smooth image sums up in an
// integral image. Moments of single elements do not tell. Where samples of an
// input are declared, the ops behind it are evaluated on them, in double as far
// as they add up, and the estimate of a result is what its samples show. Bounds
// do not change.
//
// An op is evaluated if it is linear, all its operands are samples or
// constants, a family of this folder has it, and the budget pays for its
// products. Behind a square or a logarithm estimates are propagated: what comes
// of them is far from normal, and a mean and a deviation, which is all that
// errors are estimated by, say less of it than the formulas do that know the
// function.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_SAMPLES_SAMPLES_H
#define MPOPT_LIB_RANGES_SAMPLES_SAMPLES_H

#include "mpopt/Ranges/Value/TransferContext.h"

#include "llvm/ADT/DenseMap.h"

#include <array>
#include <vector>

namespace mpopt::samples {

/// The elements of a tensor in several evaluations, one after another.
struct Array {
  /// 1 for a constant, which is the same in all evaluations.
  int64_t count = 1;
  Shape shape;
  std::vector<float> numbers;

  static Array zeros(int64_t count, Shape shape);
  /// The elements of one evaluation.
  int64_t size() const;
  /// From one element to the next along an axis.
  int64_t stride(size_t axis) const;
  llvm::ArrayRef<float> evaluation(int64_t index) const {
    return llvm::ArrayRef(numbers).slice(
        size_t(count == 1 ? 0 : index * size()), size_t(size()));
  }
  llvm::MutableArrayRef<float> evaluation(int64_t index) {
    return llvm::MutableArrayRef(numbers).slice(size_t(index * size()),
                                                size_t(size()));
  }
};

class Samples {
public:
  explicit Samples(TransferContext &ctx) : ctx(ctx) {}
  /// The samples of a changed copy: those of `base` for what is not computed
  /// again, by `originals`.
  void readFrom(Samples &base,
                const llvm::DenseMap<mlir::Value, mlir::Value> &originals);

  /// Takes the samples that `mp.assume` of an argument declares.
  void declare(mlir::BlockArgument argument);
  /// Evaluates the op that makes `result`; null where it is not evaluated.
  const Array *evaluate(mlir::OpResult result);

  // For the families.
  bool isSampled(mlir::Value value) const { return lookUp(value); }
  /// The elements of a value: samples, or a constant; null for others.
  const Array *find(mlir::Value value);
  /// False if so many products are not paid for.
  bool spend(double products);
  TransferContext &ctx;

private:
  const Array *lookUp(mlir::Value value) const;

  /// Null for a result that is not evaluated.
  llvm::DenseMap<mlir::Value, std::unique_ptr<Array>> arrays, constants;
  Samples *base = nullptr;
  const llvm::DenseMap<mlir::Value, mlir::Value> *originals = nullptr;
  /// A tenth of a second of multiplications, and 64 MiB of numbers.
  double products = 0x1p28, elements = 0x1p24;
};

/// Replaces the estimate of a value by what its samples show: of each group
/// where groups differ in the same way from sample to sample, else of all.
void estimate(AbstractValue &value, const Array &array);

using Result = std::optional<Array>;

// The families; nothing for other ops.
Result evaluateView(mlir::OpResult result, Samples &samples);
Result evaluateProduct(mlir::OpResult result, Samples &samples);
Result evaluateTransform(mlir::OpResult result, Samples &samples);
/// A window that an op makes, the same in all evaluations.
Result makeWindow(mlir::Value value, TransferContext &ctx);
Result evaluateSum(mlir::OpResult result, Samples &samples);
Result evaluatePointwise(mlir::OpResult result, Samples &samples);

} // namespace mpopt::samples

#endif // MPOPT_LIB_RANGES_SAMPLES_SAMPLES_H
