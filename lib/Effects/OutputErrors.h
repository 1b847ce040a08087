//===- OutputErrors.h - The errors of outputs by each tensor ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_EFFECTS_OUTPUTERRORS_H
#define MPOPT_LIB_EFFECTS_OUTPUTERRORS_H

#include "LargestError.h"
#include "OutputGradients.h"
#include "OutputSize.h"
#include "WholeShifts.h"

#include "mpopt/Propagate/ChangedDecisions.h"
#include "mpopt/Propagate/ErrorMoments.h"
#include "mpopt/Propagate/NonFinite.h"
#include "mpopt/Propagate/StorageErrors.h"

namespace mpopt {

/// All of an output, or one of the parts that it is joined of.
struct Part : SquaredError {
  size_t output = 0;
  mlir::Value value;
  std::optional<OutputSize> size;
  /// Why the error is not known; nothing where it is.
  std::optional<Unknown> unknown;
  bool isKnown() const { return !unknown; }
  void setUnknown(Unknown why) {
    if (isKnown())
      unknown = std::move(why);
  }
  /// Nothing but 0 is left of it by quantisation.
  bool isLost = false;
};

/// Sums up the squared errors that the storage of each tensor, its lost
/// elements and the choices that it changes bring into each output.
class OutputErrors {
public:
  /// `nonFinite` has been run over the module.
  OutputErrors(mlir::ModuleOp module, const RangeAnalysis &ranges,
               const NonFinite &nonFinite,
               llvm::ArrayRef<OutputEffect> outputs);

  /// Sets errors, or why they are not known.
  void judge(llvm::MutableArrayRef<OutputEffect> outputs);
  const ChangedDecisions &getDecisions() const { return decisions; }

private:
  /// A tensor whose elements are not those of FP32.
  struct Source {
    /// The tensor, and the one whose gradient its errors meet: the result of a
    /// function that is written out.
    mlir::Value value, place;
    /// Elements that became 0.
    NonFinite::Lost lost;
    /// Elements that end on another step or are another choice.
    StepError crossed;
    bool isStored = false;
    /// The tensor by whose errors choices change that are not estimated.
    mlir::Value unknown;
    /// The error by its quantisation.
    std::optional<QuantizationError> quantized;
    /// It is an operand of a product with scales, whose `quantized` depends on
    /// the groups of the gradient.
    bool isScaled = false;
  };
  void addAll();
  void add(mlir::Value value);
  /// By what storing the value rounds, loses and decides otherwise.
  void addStored(mlir::Value value);
  void add(Source source);
  std::optional<AbstractValue> errorOf(Source &source, mlir::Value gradient);
  /// The square that the source adds to a part's sum, by its storage error;
  /// nothing where it is not known, of which the part keeps the reason.
  std::optional<double> squareIn(Part &part, size_t index, const Source &source,
                                 mlir::Value gradient,
                                 const AbstractValue &error);
  /// The most that an Inf which begins at `origin` adds where a quotient
  /// absorbs it: what is behind is lost, and no more; infinite where none does.
  double squareOfAbsorbed(size_t index, mlir::Value origin);
  void addTo(Part &part, size_t index, const Source &source,
             const AbstractValue &error, double square);
  /// Errors that sums keep, where those are more than of independent ones.
  void addShifts(OutputEffect &output, llvm::ArrayRef<Part *> parts) const;
  void addProportional(Part &part, const Source &source, double square,
                       mlir::Value scale);
  void addHits(Part &part, size_t index, const Source &source,
               double square) const;

  mlir::Block &body;
  const RangeAnalysis &ranges;
  const NonFinite &nonFinite;
  std::vector<Part> parts;
  StorageErrors storage;
  QuantizationErrors quantization;
  ErrorMoments moments;
  OutputGradients gradients;
  ChangedDecisions decisions;
  /// By QuantizationCause; empty where nothing is judged by its quantisation.
  std::vector<WithoutCause> causes;
};

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_OUTPUTERRORS_H
