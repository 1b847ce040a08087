//===- Precision.h - The arithmetic a model is judged under -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_PRECISION_H
#define MPOPT_NUMERICS_PRECISION_H

#include "mpopt/Numerics/StorageFormat.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mpopt {

/// How an operand of a product is stored: as codes of a narrow format, with a
/// scale for each group of elements, which is taken from the largest of them.
struct OperandScaling {
  /// The elements that share a scale: all, those of a row along the
  /// contraction, `size` neighbours along it, or `size` by `size` of a matrix.
  enum class Grain { Tensor, Row, Block, Tile };
  /// The scale that the largest magnitude asks for as it is, the next power of
  /// two, the power of two by the exponents alone (OCP's MX, which may clip),
  /// or itself stored in E4M3, against one of the tensor (NVFP4); or no scale.
  enum class Rounding { None, Up, Floor, Codes, Unscaled };

  /// StorageFormat::byName.
  llvm::StringLiteral format;
  Grain grain = Grain::Tensor;
  int64_t size = 0;
  Rounding rounding = Rounding::None;
  /// Integers with a zero point, so that codes span the range and not the
  /// largest magnitude to both sides.
  bool hasZeroPoint = false;
  /// The smallest magnitude that counts as a largest one.
  double least = 0;

  StorageFormat codes() const { return *StorageFormat::byName(format); }
  /// The format of a group whose elements span `range`, in a tensor of that
  /// largest magnitude.
  StorageFormat of(const Interval &range, double tensorMax) const;
};

/// How the operands of products are stored where nothing else is.
struct OperandRecipe {
  OperandScaling activations, weights;
  /// True if the scale of activations is settled before the model runs.
  bool isStatic = true;
};

struct Precision {
  /// As `--precision` spells it.
  llvm::StringLiteral name;
  /// The storage format of each role (StorageFormat::byName). Empty where
  /// weights and activations keep the dtypes of the file, and where
  /// accumulators are those of the target.
  llvm::StringLiteral weights, activations, accumulators;
  /// True if a policy says which ops compute in the format of activations; the
  /// weights are cast for those.
  bool byPolicy;
  /// Null unless the operands of products alone are narrow.
  const OperandRecipe *operands = nullptr;
  /// The error of an output that is aimed at, and those from which it is a
  /// warning or an error; 0 for those of all precisions.
  double aim = 0, warning = 0, error = 0;
  /// The rank by cost among those that are compared with it; 0 for none.
  unsigned cost = 0;

  bool isAsIs() const { return activations.empty() && !operands; }
  /// The part of the name behind the colon.
  llvm::StringRef recipe() const { return name.split(':').second; }

  static llvm::ArrayRef<Precision> all();
  static const Precision &asIs() { return all().front(); }
  /// Null if there is none.
  static const Precision *byName(llvm::StringRef name);
  /// The same; as-is if there is none.
  static const Precision &of(llvm::StringRef name) {
    const Precision *known = byName(name);
    return known ? *known : asIs();
  }
};

} // namespace mpopt

#endif // MPOPT_NUMERICS_PRECISION_H
