//===- Precision.cpp - The arithmetic a model is judged under
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Precision.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace mpopt;

//===----------------------------------------------------------------------===//
// Scales of operands
//===----------------------------------------------------------------------===//

static double powerOfTwo(double number, bool up) {
  int exponent;
  double mantissa = std::frexp(number, &exponent); // in [1/2, 1)
  return std::ldexp(1.0, up && mantissa != 0.5 ? exponent : exponent - 1);
}

StorageFormat OperandScaling::of(const Interval &range,
                                 double tensorMax) const {
  StorageFormat format = codes();
  double most = std::max(range.maxAbs(), least);
  if (rounding == Rounding::Unscaled)
    format.saturates = true;
  if (!(most > 0) || !std::isfinite(most) || rounding == Rounding::Unscaled)
    return format;
  if (hasZeroPoint) {
    Interval all = {std::min(range.lo, 0.0), std::max(range.hi, 0.0)};
    double scale = (all.hi - all.lo) / (format.codes.hi - format.codes.lo);
    return format.scaled(scale,
                         std::nearbyint(format.codes.lo - all.lo / scale));
  }
  double scale = most / format.codes.hi;
  switch (rounding) {
  case Rounding::None:
  case Rounding::Unscaled:
    break;
  case Rounding::Up:
    scale = powerOfTwo(scale, /*up=*/true);
    break;
  case Rounding::Floor:
    scale = powerOfTwo(most, /*up=*/false) /
            powerOfTwo(format.codes.hi, /*up=*/false);
    break;
  case Rounding::Codes: {
    const FloatFormat &codes = *FloatFormat::byName("f8E4M3FN");
    double unit = tensorMax / (format.codes.hi * codes.maxFinite);
    double rounded = codes.round(scale / unit) * unit;
    // A block whose scale is stored as 0 is read as 0: its steps are larger
    // than its numbers.
    scale = rounded > 0 ? rounded : 32 * scale;
    break;
  }
  }
  format.saturates = true;
  return format.scaled(scale);
}

//===----------------------------------------------------------------------===//
// Precisions
//===----------------------------------------------------------------------===//

using Grain = OperandScaling::Grain;
using Rounding = OperandScaling::Rounding;

static constexpr OperandRecipe sameForBoth(const OperandScaling &scaling,
                                           bool isStatic) {
  return {scaling, scaling, isStatic};
}

// docs/fp8.md names the frameworks that multiply so.
static constexpr llvm::StringLiteral kE4M3 = "f8E4M3FN", kE2M1 = "f4E2M1FN",
                                     kFnuz = "f8E4M3FNUZ";
static constexpr OperandRecipe
    kTensor = sameForBoth({kE4M3}, /*isStatic=*/true),
    kDynamic = sameForBoth({kE4M3}, /*isStatic=*/false),
    kRow = sameForBoth({kE4M3, Grain::Row}, /*isStatic=*/false),
    kBlock128 = {{kE4M3, Grain::Block, 128, Rounding::Up},
                 {kE4M3, Grain::Tile, 128, Rounding::Up},
                 /*isStatic=*/false},
    kTensorFnuz = sameForBoth({kFnuz}, /*isStatic=*/true),
    kDynamicFnuz = sameForBoth({kFnuz}, /*isStatic=*/false),
    kRowFnuz = sameForBoth({kFnuz, Grain::Row}, /*isStatic=*/false),
    kBlock128Fnuz = {{kFnuz, Grain::Block, 128, Rounding::Up},
                     {kFnuz, Grain::Tile, 128, Rounding::Up},
                     /*isStatic=*/false},
    kMx = sameForBoth({kE4M3, Grain::Block, 32, Rounding::Up},
                      /*isStatic=*/false),
    kMxFloor = sameForBoth({kE4M3, Grain::Block, 32, Rounding::Floor},
                           /*isStatic=*/false),
    kNvfp4 = sameForBoth({kE2M1, Grain::Block, 16, Rounding::Codes},
                         /*isStatic=*/false);

// PyTorch's `allow_tf32`: the operands lose 13 bits as they are read.
static constexpr OperandRecipe kTf32 =
    sameForBoth({"tf32", Grain::Tensor, 0, Rounding::Unscaled},
                /*isStatic=*/false);

static constexpr OperandRecipe byIntegers(llvm::StringLiteral activations,
                                          Grain ofWeights) {
  return {{activations, Grain::Tensor, 0, Rounding::None,
           /*hasZeroPoint=*/true},
          {"i8", ofWeights},
          /*isStatic=*/true};
}
// As ONNX Runtime's quantiser names them: activations, then weights.
static constexpr OperandRecipe kU8S8 = byIntegers("ui8", Grain::Row),
                               kS8S8 = byIntegers("i8", Grain::Row),
                               kA16W8 = byIntegers("ui16", Grain::Row),
                               kU8S8PerTensor =
                                   byIntegers("ui8", Grain::Tensor),
                               kS8S8PerTensor = byIntegers("i8", Grain::Tensor),
                               kA16W8PerTensor =
                                   byIntegers("ui16", Grain::Tensor);

static constexpr Precision byOperands(llvm::StringLiteral name,
                                      const OperandRecipe &operands, double aim,
                                      double warning, double error,
                                      unsigned cost = 0) {
  return {name,      "",  "",      "",    /*byPolicy=*/false,
          &operands, aim, warning, error, cost};
}

/// Errors of 5 to 10 % are what an eighth of rounding does to sound networks:
/// half of what is an error is aimed at, three quarters are a warning.
static constexpr Precision byFloats(llvm::StringLiteral name,
                                    const OperandRecipe &operands,
                                    unsigned cost = 0) {
  return byOperands(name, operands, 0.125, 0.18, 0.25, cost);
}
static constexpr Precision byCodes(llvm::StringLiteral name,
                                   const OperandRecipe &operands) {
  return byOperands(name, operands, /*aim=*/0.01, 0, 0);
}

// A row each: its name, and the formats of weights, activations, accumulators.
static constexpr Precision kPrecisions[] = {
    {"as-is", "", "", "", /*byPolicy=*/false},
    {"fp16", "f16", "f16", "", /*byPolicy=*/false},
    {"bf16", "bf16", "bf16", "", /*byPolicy=*/false},
    {"autocast-fp16", "", "f16", "", /*byPolicy=*/true},
    {"autocast-bf16", "", "bf16", "", /*byPolicy=*/true},
    byOperands("tf32", kTf32, /*aim=*/0.01, 0, 0),
    byFloats("fp8-e4m3:tensor", kTensor, 1),
    byFloats("fp8-e4m3:dynamic", kDynamic, 2),
    byFloats("fp8-e4m3:row", kRow, 3),
    byFloats("fp8-e4m3:block128", kBlock128, 4),
    byFloats("fp8-e4m3:mx", kMx, 5),
    byFloats("fp8-e4m3:mx_floor", kMxFloor),
    byFloats("fp8-e4m3fnuz:tensor", kTensorFnuz, 1),
    byFloats("fp8-e4m3fnuz:dynamic", kDynamicFnuz, 2),
    byFloats("fp8-e4m3fnuz:row", kRowFnuz, 3),
    byFloats("fp8-e4m3fnuz:block128", kBlock128Fnuz, 4),
    byFloats("nvfp4", kNvfp4),
    byCodes("int8:u8s8", kU8S8),
    byCodes("int8:s8s8", kS8S8),
    byCodes("int8:a16w8", kA16W8),
    byCodes("int8:u8s8,per-tensor", kU8S8PerTensor),
    byCodes("int8:s8s8,per-tensor", kS8S8PerTensor),
    byCodes("int8:a16w8,per-tensor", kA16W8PerTensor)};

/// Other spellings.
static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral>
    kSpellings[] = {{"fp8-e4m3", "fp8-e4m3:tensor"},
                    {"fp8-e4m3fnuz", "fp8-e4m3fnuz:tensor"},
                    {"mxfp8", "fp8-e4m3:mx"},
                    {"int8", "int8:u8s8"},
                    {"int8:per-tensor", "int8:u8s8,per-tensor"}};

llvm::ArrayRef<Precision> Precision::all() { return kPrecisions; }

const Precision *Precision::byName(llvm::StringRef name) {
  for (const auto &[spelling, meant] : kSpellings)
    if (name == spelling)
      name = meant;
  const Precision *found = llvm::find_if(
      kPrecisions, [&](const Precision &row) { return row.name == name; });
  return found == std::end(kPrecisions) ? nullptr : found;
}
