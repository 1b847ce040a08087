//===- Quantized.h - Which tensor scales which ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CHECKPOINT_QUANTIZED_H
#define MPOPT_LIB_CHECKPOINT_QUANTIZED_H

#include "mpopt/Checkpoint/Checkpoint.h"

#include <array>
#include <map>

namespace mpopt::checkpoints {

/// The tensor that a scale beside the codes belongs to.
enum class ScaleRole { Weight, Second, Input, Query, Key, Value, Output };
inline constexpr size_t kRoles = 7;

struct Scale {
  const StoredTensor *tensor = nullptr;
  /// The codes' numbers are divided by it, not multiplied.
  bool divides = false;
  explicit operator bool() const { return tensor; }
};

/// A module of the model: codes, if it holds some, and scales.
struct Module {
  const StoredTensor *codes = nullptr;
  std::array<Scale, kRoles> scales;
  Scale of(ScaleRole role) const { return scales[size_t(role)]; }
};

/// By name.
using Modules = std::map<std::string, Module>;

/// The modules that hold codes or scales, by the names that ModelOpt,
/// compressed-tensors, transformers' fine-grained FP8 and vLLM give tensors.
Modules findModules(const Checkpoint &checkpoint);

/// The name with each number replaced by `*`; all, or the last one only.
std::string maskNumbers(llvm::StringRef name, bool lastOnly = false);
unsigned countNumbers(llvm::StringRef name);

/// Modules whose weights servers join into one matrix, in one scope: q, k and
/// v, gate and up. Groups of at least two.
std::vector<std::vector<std::string>> findJoined(const Modules &modules);

} // namespace mpopt::checkpoints

#endif // MPOPT_LIB_CHECKPOINT_QUANTIZED_H
