//===- CheckedDim.h - Arithmetic on dims that may overflow ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file may write any 64-bit number as a dim, a stride or a pad. Numbers that
// are computed from such are unknown where they do not fit: no tensor is as
// large.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_CHECKEDDIM_H
#define MPOPT_DIALECT_CHECKEDDIM_H

#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/Support/CheckedArithmetic.h"

namespace mpopt {

/// A dim, or an offset, which may be negative; unknown if an operand was, or if
/// it overflows.
class CheckedDim {
public:
  /// `kDynamic` is unknown.
  CheckedDim(int64_t number)
      : number(number == kDynamic ? std::optional<int64_t>() : number) {}
  CheckedDim(std::optional<int64_t> number) : number(number) {}

  bool isKnown() const { return number.has_value(); }
  /// The number, which is known.
  int64_t operator*() const { return *number; }
  /// `kDynamic` if unknown.
  int64_t get() const { return number.value_or(kDynamic); }

  friend CheckedDim operator+(CheckedDim a, CheckedDim b) {
    return a.number && b.number ? llvm::checkedAdd(*a.number, *b.number)
                                : std::nullopt;
  }
  friend CheckedDim operator-(CheckedDim a, CheckedDim b) {
    return a.number && b.number ? llvm::checkedSub(*a.number, *b.number)
                                : std::nullopt;
  }
  friend CheckedDim operator*(CheckedDim a, CheckedDim b) {
    return a.number && b.number ? llvm::checkedMul(*a.number, *b.number)
                                : std::nullopt;
  }

private:
  std::optional<int64_t> number;
};

} // namespace mpopt

#endif // MPOPT_DIALECT_CHECKEDDIM_H
