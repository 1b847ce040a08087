//===- OutputEffects.h - What roundings do to a model's outputs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expected error of each float output in the precision that a module has,
// against the same model in FP32, and the tensors that it comes from.
// docs/effect.md derives it. Estimates, no bounds.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EFFECTS_OUTPUTEFFECTS_H
#define MPOPT_EFFECTS_OUTPUTEFFECTS_H

#include "mpopt/Hazards/FindingList.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Report/Effect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Value.h"
#include "mlir/Pass/AnalysisManager.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <optional>
#include <vector>

namespace mpopt {

class ChangedDecisions;
class NonFinite;
class RangeAnalysis;

/// The size that an open dim of the inputs is taken to have.
struct AssumedSize {
  std::string dim;
  int64_t size;
};

/// The reason why an error is not known.
struct Unknown {
  /// A clause that ends a sentence.
  std::string why;
  /// The integer input of which nothing is declared; may be empty.
  std::string input = {};
  /// The op that stops an estimate; may be null.
  mlir::Operation *op = nullptr;
};

/// The parts of an error that the storage of each tensor causes.
struct CausedError {
  /// The square of each part; they add up to at least the square of the error,
  /// but where few rows of a softmax move.
  llvm::MapVector<mlir::Value, double> squares;

  /// A sum over some of `squares`, none named: over all. The square of the
  /// error is at most the largest of these sums, each times its factor.
  struct Sum {
    std::vector<mlir::Value> values;
    double factor = 1;
  };
  std::vector<Sum> sums;
};

/// One output.
struct OutputEffect : CausedError {
  /// The value that the main function returns, and its name.
  mlir::Value value;
  std::string name;
  /// The largest error of an element, of the largest magnitude; the root mean
  /// square of the errors, of the elements'. Nothing where they are not known.
  std::optional<double> error, rms;
  /// Why they are not known; nothing where they are.
  std::optional<Unknown> unknown;
  /// The most that `error`, or the error by some tensors, can be.
  double limit = kInfinity;
  /// The error by quantising weights, by quantising activations and by clipping
  /// these (QuantizationCause), each alone; nothing if nothing is quantised.
  std::optional<ByCause> byCause;
  /// The blocks of a quantised model's output, each of its own magnitude; empty
  /// if it is none of blocks.
  std::vector<EffectSlice> slices;
  /// It is expected to become Inf or NaN.
  bool nonFinite = false;
  /// The sizes of open dims with which all that is so, if it depends on them.
  std::vector<AssumedSize> sizes;
};

/// The effect of rounding on an output of integers or truth values. Its parts
/// are those of `share`, which grows as the errors of the decisive operands.
struct OutputDecision : CausedError {
  mlir::Value value;
  std::string name = {};
  /// The share of its elements that change; nothing where that is not known.
  std::optional<double> share = {};
  /// The tensor by whose errors they change that are not known; may be null.
  mlir::Value unknown = {};
};

/// The root mean square error of an output that a first-order estimate of
/// `linear` gives. However far errors move it, the output keeps its
/// distribution: the difference of two draws of it is 2 (1 - r), r their
/// correlation, which is 1 - e^2 / 2 at first, and falls by that share with
/// each further error.
double withLimit(double linear);
/// The inverse.
double withoutLimit(double rms);

class OutputEffects {
public:
  /// `findings` say where ops make Inf and NaN of finite numbers. Parts of
  /// decisions take the gradients of what decides, and are found on demand.
  OutputEffects(mlir::ModuleOp module, mlir::AnalysisManager analyses,
                llvm::ArrayRef<FindingList::Entry> findings,
                bool attributeDecisions = false);

  /// The float outputs, in the model's order. Empty if nothing is stored in
  /// narrow formats.
  std::vector<OutputEffect> outputs;

  /// The outputs of integers and truth values, in the model's order. Empty if
  /// no float decides about any.
  std::vector<OutputDecision> decisions;

  /// The values whose storage errors `value` holds: itself, or those of which
  /// it has copies.
  llvm::SmallVector<mlir::Value, 2> sourcesOf(mlir::Value value) const;
  /// The expected error of an output by the storage errors of `values` alone.
  /// Nothing where it is not known.
  std::optional<double> errorBy(llvm::ArrayRef<mlir::Value> values,
                                const OutputEffect &output) const;
  /// True if Inf or NaN that begins at `value` is expected in the output.
  bool reaches(mlir::Value value, size_t output) const;
  /// The values at which Inf or NaN begins that is expected in the output.
  llvm::SmallVector<mlir::Value> originsOf(size_t output) const;

private:
  void findOutputs(mlir::ModuleOp module);
  void setShares(const ChangedDecisions &changed);
  /// Sets the parts by the errors of what decides, one of `deciders` for each
  /// tensor.
  void attribute(llvm::ArrayRef<OutputEffect> deciders);
  void addReached(const NonFinite &nonFinite);

  /// The keys of all outputs' `squares`.
  llvm::DenseSet<mlir::Value> rounded;
  /// Finds out what is not known of outputs with sizes for open dims. True if
  /// all of them are known then.
  bool assumeSizes(mlir::ModuleOp module, const RangeAnalysis &ranges,
                   llvm::ArrayRef<FindingList::Entry> findings,
                   bool attributeDecisions);

  /// For each tensor at which Inf or NaN is expected to begin the outputs that
  /// it reaches, a bit each.
  llvm::MapVector<mlir::Value, llvm::SmallVector<bool, 4>> reached;
};

} // namespace mpopt

#endif // MPOPT_EFFECTS_OUTPUTEFFECTS_H
