//===- Step.h - How results depend on operands ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step puts an op's operands in the place of its result in a form: each
// element of the result lies between two linear forms of elements of the
// operands. It describes what a kernel computes from the operands as they are
// stored, before the result is stored: the error of its own arithmetic, for any
// order of additions, is part of it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_LINEAR_STEP_H
#define MPOPT_LIB_RANGES_LINEAR_STEP_H

#include "Form.h"

#include "mpopt/Ranges/Value/TransferContext.h"

#include <memory>

namespace mpopt::linear {

/// A run with some box, without its coefficients.
class Trace {
public:
  /// An operand's elements that take part.
  void read(mlir::Value value, const Box &box);
  /// A number that is the same for boxes of other positions only if
  /// coefficients are, too.
  void note(int64_t number) { signature.push_back(number); }

  std::map<mlir::Value, Box, ByProgramOrder> boxes;
  llvm::SmallVector<int64_t, 64> signature;
};

class Step {
public:
  virtual ~Step() = default;

  /// The elements of operands on which those in `box` depend.
  virtual void trace(const Box &box, Trace &trace) const = 0;
  /// Adds to the coefficients of the operands, which are covered.
  virtual void pull(const Part &part, Forms &forms) const = 0;
  /// The cost of a row for the results in `box`, in half nanoseconds.
  virtual double cost(const Box &box) const { return costOf(box, 0); }
  /// The op moves or chooses numbers that are stored, and makes no new ones.
  virtual bool isExact() const { return false; }
  /// A sum of many products: where a form is worth looking at.
  virtual bool isContraction() const { return false; }
  /// The distance of positions that read the same elements relative to their
  /// own place.
  virtual int64_t period() const { return 1; }
  /// Weights that it holds.
  virtual size_t held() const { return 0; }

protected:
  /// For sums of so many products: measured on ACAS Xu networks
  /// (bench/acasxu.py under perf), where a product takes 1/30 ns and the rest
  /// of a step, its errors and the interval of the form 2 ns an element.
  static double costOf(const Box &box, double products) {
    return double(box.volume()) * (4 + products / 16);
  }
};

/// The step of the op that makes `result`; null where there is none, or where
/// it does not hold for all values that the operands may have.
std::unique_ptr<Step> makeStep(mlir::OpResult result, TransferContext &ctx);

// The families, null for other ops.
std::unique_ptr<Step> makePointwise(mlir::OpResult result,
                                    TransferContext &ctx);
std::unique_ptr<Step> makeProduct(mlir::OpResult result, TransferContext &ctx);
std::unique_ptr<Step> makeWindow(mlir::OpResult result, TransferContext &ctx);
std::unique_ptr<Step> makeView(mlir::OpResult result, TransferContext &ctx);
std::unique_ptr<Step> makeTable(mlir::OpResult result, TransferContext &ctx);
std::unique_ptr<Step> makeRows(mlir::OpResult result, TransferContext &ctx);

/// The bound of a cell of a value of `format`, as it is stored. An element that
/// is stored as an infinity, which few steps admit, counts as if it were
/// rounded in a format without a largest number.
inline Interval boundOf(const AbstractValue &value, const Cell &cell,
                        const FloatFormat &format) {
  Interval bound =
      cell.empty() ? Interval::empty() : Interval{cell.lo, cell.hi};
  return value.mayBeInf() ? bound.widened(format.epsilon()) : bound;
}

/// The elements of a constant; nothing if they are many or not all finite.
std::optional<std::vector<double>>
readWeights(const std::optional<WeightView> &view);

/// The numbers of a vector of `count` parameters, all `none` where there is no
/// vector; nothing if they are not known, each for itself.
std::optional<std::vector<double>> readParameter(mlir::Value value,
                                                 size_t count, double none,
                                                 TransferContext &ctx);

/// The error of `terms` products or additions in `format` on results whose
/// terms' magnitudes sum up to `sum`, and what their coefficients are off by.
double contractionError(const FloatFormat &format, double terms, double sum);

} // namespace mpopt::linear

#endif // MPOPT_LIB_RANGES_LINEAR_STEP_H
