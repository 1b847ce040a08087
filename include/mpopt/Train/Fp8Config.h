//===- Fp8Config.h - FP8 as a training configuration says it ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_TRAIN_FP8CONFIG_H
#define MPOPT_TRAIN_FP8CONFIG_H

#include "mpopt/Numerics/Fp8Recipe.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpopt {

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
  /// The recipe, with what a file changes of it; nothing if nothing is in FP8.
  std::optional<Fp8Recipe> recipe;
  /// The setting that switches it on.
  TrainKey by;
  /// Parts of the names of modules that stay in BF16.
  std::vector<std::string> filters;
  TrainKey filtersBy;
  /// So many blocks at either end stay in BF16.
  int64_t keptAtStart = 0, keptAtEnd = 0;
  /// Layers of other sizes: padded, passed over, or refused by kernels.
  enum class Misfits { Refused, Padded, PassedOver } misfits = Misfits::Refused;
  /// Whether torchao multiplies; else TransformerEngine.
  bool isTorchao = false;
  /// The least amax, where it is said to be 0 or so small that the largest
  /// code over it leaves FP32: zeros have no scale then.
  std::optional<TrainKey> noEpsilon;
  /// Where the products of gradients are said to be added without a second
  /// accumulator.
  std::optional<TrainKey> addsOnce;

  /// Switches on the named recipe; nothing is in FP8 if there is none.
  void setRecipe(llvm::StringRef name);
};

/// The number of which the tokens of a pass over a rank's layers are multiples.
int64_t getTokenMultiple(const TrainFp8 &fp8);

/// A layer that multiplies with a parameter.
struct LinearLayer {
  std::string name; ///< Of the module.
  int64_t inputs = 0, outputs = 0;
};

/// By module: true if it stays in BF16. Nothing if names do not tell: they have
/// no numbers of blocks, or a filter goes by times that were measured.
std::optional<std::vector<bool>>
findKeptLayers(const TrainFp8 &fp8, llvm::ArrayRef<std::string> modules);

/// The faults of a configuration that the layers of a model show.
std::vector<TrainFault> judgeLayers(const TrainFp8 &fp8,
                                    llvm::ArrayRef<LinearLayer> layers);

} // namespace mpopt

#endif // MPOPT_TRAIN_FP8CONFIG_H
