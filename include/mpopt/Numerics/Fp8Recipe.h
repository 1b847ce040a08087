//===- Fp8Recipe.h - FP8 in training ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_FP8RECIPE_H
#define MPOPT_NUMERICS_FP8RECIPE_H

#include "mpopt/Numerics/Precision.h"

#include <array>

namespace mpopt {

/// The products of a layer y = x w^T: its own, dx = dy w and dw = dy^T x.
enum class LayerPass { Forward, InputGradient, WeightGradient };
inline constexpr std::array kLayerPasses = {
    LayerPass::Forward, LayerPass::InputGradient, LayerPass::WeightGradient};
enum class LayerRole { Input, Weight, Gradient };

/// The operands of each product in the order in which reports list them.
constexpr std::array<LayerRole, 2> rolesOf(LayerPass pass) {
  switch (pass) {
  case LayerPass::Forward:
    return {LayerRole::Input, LayerRole::Weight};
  case LayerPass::InputGradient:
    return {LayerRole::Gradient, LayerRole::Weight};
  case LayerPass::WeightGradient:
    break;
  }
  return {LayerRole::Input, LayerRole::Gradient};
}

/// The operands of a product that stays in BF16.
inline constexpr OperandScaling kUnscaledBF16 = {
    "bf16", OperandScaling::Grain::Tensor, 0,
    OperandScaling::Rounding::Unscaled};

/// How a recipe stores the operands of the three products of a layer.
struct Fp8Recipe {
  llvm::StringLiteral name;
  OperandScaling input, weight, gradient;
  /// The number of which the sizes of a product are multiples.
  int64_t multiple;
  /// Ranks by cost on Hopper and on Blackwell; 0: not of that device.
  unsigned onHopper = 0, onBlackwell = 0;
  /// Steps whose amax give the scale; 0: the tensor's own.
  int64_t history = 0;
  /// The product of the weight's gradient stays in BF16, and the weight has one
  /// scale in that of the input's.
  bool wideWeightGradient = false;

  OperandScaling of(LayerPass pass, LayerRole role) const;
  /// False if a configuration changed what its name stands for.
  bool isAsNamed() const;

  static llvm::ArrayRef<Fp8Recipe> all();
  /// Null if there is none.
  static const Fp8Recipe *byName(llvm::StringRef name);
};

} // namespace mpopt

#endif // MPOPT_NUMERICS_FP8RECIPE_H
