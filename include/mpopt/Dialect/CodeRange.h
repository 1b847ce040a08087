//===- CodeRange.h - The numbers of a quantised type ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_CODERANGE_H
#define MPOPT_DIALECT_CODERANGE_H

#include "mlir/IR/Types.h"

#include <optional>
#include <utility>

namespace mpopt {

/// The least and the largest number of an integer or float type, to which
/// quantisation saturates; nothing for other types.
std::optional<std::pair<double, double>> getCodeRange(mlir::Type type);

} // namespace mpopt

#endif // MPOPT_DIALECT_CODERANGE_H
