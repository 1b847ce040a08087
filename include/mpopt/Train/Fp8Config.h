//===- Fp8Config.h - FP8 as a training configuration says it ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_TRAIN_FP8CONFIG_H
#define MPOPT_TRAIN_FP8CONFIG_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpopt {

/// How a recipe stores the operands of the three products of a layer.
struct Fp8Recipe {
  llvm::StringLiteral name;
  /// Names of the formats of activations and weights, and of gradients.
  llvm::StringLiteral forward, gradient;
  /// Elements along the contraction that share a scale; 0: the tensor, -1: the
  /// row.
  int64_t group;
  /// The number of which the sizes of a product are multiples.
  int64_t multiple;
  /// Steps whose amax give the scale; 0: the tensor's own.
  int64_t history = 0;
  /// The product of the weight's gradient stays in BF16.
  bool wideWeightGradient = false;

  static llvm::ArrayRef<Fp8Recipe> all();
  /// Null if there is none.
  static const Fp8Recipe *byName(llvm::StringRef name);
};

/// A setting that is wrong, or has no effect.
struct TrainFault {
  std::string rule;  ///< The rule's name.
  std::string key;   ///< As the file spells it.
  unsigned line = 0; ///< Counted from 1; 0: not known.
  std::string text;
};

/// The setting at which a finding is placed.
struct TrainKey {
  std::string key;
  unsigned line = 0;
};

struct TrainFp8 {
  /// The recipe; null if nothing is in FP8.
  const Fp8Recipe *recipe = nullptr;
  /// The setting that switches it on.
  TrainKey by;
  /// Parts of the names of modules that stay in BF16.
  std::vector<std::string> filters;
  TrainKey filtersBy;
  /// Layers of other sizes: padded, passed over, or refused by kernels.
  enum class Misfits { Refused, Padded, PassedOver } misfits = Misfits::Refused;
};

/// A layer that multiplies with a parameter.
struct LinearLayer {
  std::string name; ///< Of the module.
  int64_t inputs = 0, outputs = 0;
};

/// The faults of a configuration that the layers of a model show.
std::vector<TrainFault> judgeLayers(const TrainFp8 &fp8,
                                    llvm::ArrayRef<LinearLayer> layers);

} // namespace mpopt

#endif // MPOPT_TRAIN_FP8CONFIG_H
