//===- SampledStep.h - A training step on drawn inputs ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moments of single elements do not tell how far the terms of a gradient agree,
// or along which direction of a trained weight a signal lies. Where inputs and
// targets are declared and the step is small enough, it is evaluated on draws
// of them, forward and backward, with exact products and with products of
// operands as a recipe stores them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_SAMPLEDSTEP_H
#define MPOPT_LIB_EFFECTS_SAMPLEDSTEP_H

#include "mpopt/Effects/LayerProducts.h"
#include "mpopt/Evaluation/DrawnInputs.h"
#include "mpopt/Evaluation/Evaluation.h"
#include "mpopt/Evaluation/StoredOperand.h"

#include <cmath>

namespace mpopt {

/// How an operand of a layer's product is stored; nothing: exactly.
using ScalingOf = std::function<std::optional<OperandScaling>(
    size_t layer, size_t product, unsigned side)>;

/// The largest magnitudes of a layer's operands, by role; 0 if not known.
using LayerMagnitudes = std::vector<std::array<double, 3>>;

class SampledStep {
public:
  /// The effect of storing the operands of a product on it alone.
  struct Product {
    /// The square of signal over that of noise; NaN if either is 0.
    double ratio = NAN;
    std::array<StoredShares, 2> operands;
  };
  struct Draw;

  SampledStep(mlir::ModuleOp module, llvm::ArrayRef<Layer> layers,
              llvm::ArrayRef<ParameterGradient> parameters);
  ~SampledStep();

  /// Evaluates the exact step. False where something of it is not known: an
  /// input that is not declared, a dim that is open, an op that no family has,
  /// or more products than the budget pays for.
  bool evaluate();

  /// Makes known the magnitudes that give the scales of tensors under a recipe
  /// which takes them from so many earlier steps: those of other draws.
  void rememberSteps(int64_t steps);
  /// By layer, then product, of the exact operands.
  std::vector<std::vector<Product>> measure(const ScalingOf &scalings,
                                            int64_t steps) const;
  /// The root mean square of each parameter's gradient's error, of that of the
  /// gradient, over all draws or so many; NaN where it is not finite. May be
  /// asked by several threads.
  std::vector<double> errors(const ScalingOf &scalings, int64_t steps,
                             size_t draws = SIZE_MAX) const;

private:
  struct Role {
    size_t layer, product;
    /// The side of the product that the first operand is.
    unsigned lhs;
  };

  /// The squares of a product and of its error in a draw; 0 if it is not made.
  struct Squares {
    double signal = 0, noise = 0;
    std::array<StoredShares, 2> operands;
  };

  std::unique_ptr<Draw> draw(uint32_t seed) const;
  void ignoreTargets(mlir::Operation *loss, double counted,
                     RandomNumbers &random, Draw &draw) const;
  bool run(Draw &draw, double factor) const;
  std::optional<double> findLoss(Draw &draw) const;
  double findFactor(Draw &unrelated) const;
  void addDraws(size_t count);
  LayerMagnitudes earlier(size_t draw, int64_t steps) const;
  std::array<StoredShares, 2> store(const Role &role, size_t product,
                                    std::array<Matrices *, 2> operands,
                                    const ScalingOf &scalings,
                                    const LayerMagnitudes &largest) const;
  void measureOn(const Draw &draw, const ScalingOf &scalings,
                 const LayerMagnitudes &largest,
                 std::vector<std::vector<Squares>> &list) const;

  /// A handle, whose methods are not const.
  mutable mlir::func::FuncOp function;
  llvm::ArrayRef<Layer> layers;
  llvm::ArrayRef<ParameterGradient> parameters;
  llvm::DenseMap<mlir::Value, Role> roles;
  /// The ops that make products of layers, in program order.
  std::vector<mlir::Operation *> products;
  std::vector<std::unique_ptr<Draw>> draws;
  /// The magnitudes of steps that are not kept.
  std::vector<LayerMagnitudes> others;
  /// The terms of the loss with related targets over those with others.
  double factor = 1;
};

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_SAMPLEDSTEP_H
