//===- StorageTypes.h - How elements of a type are stored -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_STORAGETYPES_H
#define MPOPT_DIALECT_STORAGETYPES_H

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Numerics/ConstantLimits.h"
#include "mpopt/Numerics/StorageFormat.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// Without scale and zero point; nothing for what is no integer or float.
std::optional<StorageFormat> storageFormatOf(mlir::Type elementType);

/// The format of the codes, with their axis or blocks; scale and zero point are
/// operands.
std::optional<StorageFormat> storageFormatOf(mp::QuantizeOp op);
std::optional<StorageFormat> storageFormatOf(mp::DequantizeOp op);
std::optional<StorageFormat> storageFormatOf(mp::FakeQuantizeOp op);

/// True if a cast makes numbers of a constant's codes (integers and floats of 8
/// bits and fewer) that a product reads, be it times a scale.
bool isCastOfCodes(mp::CastOp cast);

/// True if the module has codes in the place of numbers.
bool isQuantized(mlir::ModuleOp module);

/// On a cast of a constant: the limits within which a converter writes it, two
/// numbers (dense f64).
inline constexpr llvm::StringLiteral kLimitsAttr = "mp.limits";

/// Those of a cast; none for others.
ConstantLimits limitsOf(mp::CastOp cast);
void setLimits(mp::CastOp cast, const ConstantLimits &limits);

} // namespace mpopt

#endif // MPOPT_DIALECT_STORAGETYPES_H
