//===- Fp8Recipe.cpp - FP8 in training
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Fp8Recipe.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;

using Grain = OperandScaling::Grain;
using Rounding = OperandScaling::Rounding;

// StorageFormat::byName.
static constexpr llvm::StringLiteral kE4M3 = "f8E4M3FN", kE5M2 = "f8E5M2",
                                     kE2M1 = "f4E2M1FN";

static constexpr OperandScaling atLeast(OperandScaling scaling, double least) {
  scaling.least = least;
  return scaling;
}

// torchao/float8/float8_utils.py: EPS, below which no amax counts.
static constexpr double kEpsilon = 1e-12;
static constexpr OperandScaling
    kTensor = {kE4M3},
    kTensor5 = {kE5M2}, kOne = {kE4M3, Grain::Tensor, 0, Rounding::Unscaled},
    kOne5 = {kE5M2, Grain::Tensor, 0, Rounding::Unscaled},
    kNow = atLeast(kTensor, kEpsilon), kNow5 = atLeast(kTensor5, kEpsilon),
    kRow = atLeast({kE4M3, Grain::Row, 0, Rounding::Up}, kEpsilon),
    k128 = {kE4M3, Grain::Block, 128, Rounding::Up},
    k128By128 = {kE4M3, Grain::Tile, 128, Rounding::Up},
    kMx = {kE4M3, Grain::Block, 32, Rounding::Up},
    kMx5 = {kE5M2, Grain::Block, 32, Rounding::Up},
    kFp4 = {kE2M1, Grain::Block, 16, Rounding::Codes},
    kFp4By16 = {kE2M1, Grain::Tile, 16, Rounding::Codes};

// TransformerEngine's recipes (transformer_engine/common/recipe), torchao's
// (torchao/float8/config.py), Megatron-LM's default history of 1.
// `delayed_cold` is the first step of a delayed recipe, whose scales are 1. By
// cost: scales that are known beforehand, of a tensor, of rows, of blocks.
static constexpr Fp8Recipe kRecipes[] = {
    {"delayed", kTensor, kTensor, kTensor5, 16, 1, 0, 1024},
    {"delayed_recent", kTensor, kTensor, kTensor5, 16, 0, 0, 1},
    {"delayed_cold", kOne, kOne, kOne5, 1, 0, 0, 1},
    {"current", kNow, kNow, kNow5, 16, 2, 3},
    {"rowwise", kRow, kRow, kRow, 16, 3},
    {"rowwise_gw_hp", kRow, kRow, kRow, 16, 5, 0, 0, true},
    {"block128", k128, k128By128, k128, 128, 4},
    {"mxfp8", kMx, kMx, kMx, 32, 0, 4},
    {"mxfp8_e5m2", kMx, kMx, kMx5, 32},
    {"nvfp4", kFp4, kFp4, kFp4, 16, 0, 2},
    {"nvfp4_2d", kFp4, kFp4By16, kFp4, 16, 0, 1}};

llvm::ArrayRef<Fp8Recipe> Fp8Recipe::all() { return kRecipes; }

const Fp8Recipe *Fp8Recipe::byName(llvm::StringRef name) {
  const auto *found = llvm::find_if(
      kRecipes, [&](const Fp8Recipe &recipe) { return recipe.name == name; });
  return found == std::end(kRecipes) ? nullptr : found;
}

bool Fp8Recipe::isAsNamed() const {
  const Fp8Recipe &named = *byName(name);
  return gradient.format == named.gradient.format &&
         wideWeightGradient == named.wideWeightGradient;
}

OperandScaling Fp8Recipe::of(LayerPass pass, LayerRole role) const {
  if (wideWeightGradient && pass == LayerPass::WeightGradient)
    return kUnscaledBF16;
  OperandScaling scaling = role == LayerRole::Input    ? input
                           : role == LayerRole::Weight ? weight
                                                       : gradient;
  if (wideWeightGradient && pass == LayerPass::InputGradient &&
      role == LayerRole::Weight)
    scaling.grain = Grain::Tensor;
  return scaling;
}
