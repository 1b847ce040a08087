//===- LayerProducts.h - The three products of a layer ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer multiplies by a parameter: y = x w^T, and backward dx = dy w and
// dw = dy^T x. What a recipe of FP8 does to the operands of each is the error
// of storing them (OperandErrors.h), scaled along what that product adds up
// over; GradientErrors carries it on to the gradients of the parameters.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EFFECTS_LAYERPRODUCTS_H
#define MPOPT_EFFECTS_LAYERPRODUCTS_H

#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Effects/GradientErrors.h"
#include "mpopt/Gradients/LossScale.h"
#include "mpopt/Hazards/Zeros.h"
#include "mpopt/Numerics/Fp8Recipe.h"
#include "mpopt/Propagate/OperandErrors.h"
#include "mpopt/Report/LayerReport.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace mpopt {

class FlushedShares;

struct LayerProduct {
  LayerPass pass;
  /// The result of the product, times alpha.
  mlir::OpResult result;
  double alpha = 1;
  /// As rolesOf(pass) lists them.
  std::array<mlir::Value, 2> operands;
  std::array<OperandLayout, 2> layouts;
  /// The products that an element of the result is the sum of.
  double terms = 1;
  /// False for the gradient of an input that nothing in front learns by; the
  /// result is another product's then.
  bool isComputed = true;
};

struct Layer {
  mlir::Operation *op;
  mlir::Value parameter;
  std::string module;
  /// Stays in BF16.
  bool kept = false;
  /// Rows, contraction and columns of its own product; -1 if not known.
  int64_t m = -1, k = -1, n = -1;
  std::vector<LayerProduct> products;

  bool fits(int64_t multiple) const;
};

/// The layers of a module that holds its backward graph, under recipes.
class ScaledLayers {
public:
  ScaledLayers(mlir::ModuleOp module, mlir::AnalysisManager analyses);
  ~ScaledLayers();

  /// The names of the modules.
  std::vector<std::string> modules() const;
  /// Keeps all products of these layers in BF16.
  void keep(const std::vector<bool> &kept);

  /// Evaluates the step under a recipe on drawn inputs (SampledStep); false
  /// where that is not possible, and errors are estimated.
  bool sample(const Fp8Recipe &recipe);
  /// The error of a parameter's gradient in a step that was sampled.
  std::optional<double> sampledError(mlir::Value gradient) const;

  /// The errors that a recipe adds to what products make.
  /// Layers are its sources.
  AddedErrors errorsOf(const Fp8Recipe &recipe);
  unsigned count() const { return unsigned(layers.size()); }
  /// `errors`: of the step with errorsOf(recipe), by layer; it is walked again
  /// with those of other recipes. `aims`: errors of the parameters' gradients.
  /// A step that was sampled does not need them.
  Fp8Report describe(const Fp8Recipe &recipe, GradientErrors &errors,
                     llvm::ArrayRef<double> aims);

private:
  struct Estimate {
    double signal = 0, noise = 0;
    std::array<const OperandError *, 2> operands;
  };

  struct Sample;

  void findLayers();
  LayerReport describeLayer(const Layer &layer, const Fp8Recipe &recipe);
  void describeSampled(Fp8Report &report, const Fp8Recipe &recipe);
  std::vector<std::vector<double>> sampleAlone(const Fp8Recipe &recipe);
  std::optional<std::vector<size_t>>
  findSampledKept(const Fp8Recipe &recipe,
                  llvm::ArrayRef<std::vector<double>> alone, double aim);
  /// With the layers that are kept in BF16.
  std::function<std::optional<OperandScaling>(size_t layer, size_t product,
                                              unsigned side)>
  scalingsOf(const Fp8Recipe &recipe, llvm::ArrayRef<size_t> kept) const;
  void chooseSampled(Fp8Report &report, const Fp8Recipe &own,
                     llvm::ArrayRef<double> aims);
  /// `known`: the largest error of a gradient under each recipe.
  static void
  recommend(Fp8Report &report,
            llvm::ArrayRef<std::pair<const Fp8Recipe *, double>> known,
            llvm::ArrayRef<double> aims);
  void addGradient(mlir::Operation *op, Layer &layer);
  ScaledOperand operandOf(const Layer &layer, const LayerProduct &product,
                          unsigned side, const Fp8Recipe &recipe) const;
  const OperandError &errorOf(const ScaledOperand &operand);
  OperandError computeError(const ScaledOperand &operand) const;
  Estimate estimate(const Layer &layer, const LayerProduct &product,
                    const Fp8Recipe &recipe);
  double zeroGroups(const ScaledOperand &operand);
  LayerReport::Operand describeOperand(const ScaledOperand &operand,
                                       const OperandError &error);
  /// By parameter, with all layers in FP8.
  std::vector<double> errorsIn(const GradientErrors &errors) const;
  /// By layer, then parameter, with that layer alone in FP8.
  std::vector<std::vector<double>>
  errorsByLayer(const GradientErrors &errors) const;
  /// `own`: the largest error under the report's recipe; NaN if that is
  /// changed.
  void choose(Fp8Report &report, double own, GradientErrors &errors,
              llvm::ArrayRef<double> aims);

  mlir::ModuleOp module;
  const RangeAnalysis &ranges;
  const TrainingEstimate &step;
  const GradientAnalysis &gradients;
  FlushedShares &shares;
  /// Of the positions, those that the loss ignores; nothing if not declared.
  std::optional<double> padding;
  /// By how many rows lie next to each other.
  std::map<int64_t, ZeroRowShare> zeroRows;
  /// The target's FP8 ends at 240 and 57344.
  bool isFnuz;
  std::vector<Layer> layers;
  std::unique_ptr<Sample> sampled;
  std::map<std::vector<uint64_t>, OperandError> known;
};

} // namespace mpopt

#endif // MPOPT_EFFECTS_LAYERPRODUCTS_H
