//===- CodeShares.h - How numbers take the codes of a format ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_CODESHARES_H
#define MPOPT_NUMERICS_CODESHARES_H

#include "mpopt/Numerics/Interval.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace mpopt {

/// Integer codes, as expected of a tensor or as counted of it.
struct CodeShares {
  Interval codes;  ///< The least and the greatest one that there is.
  double zero = 0; ///< The code of the number 0.
  /// How many codes there are from the least one to the greatest one in use.
  double used = 0;
  /// Shares of numbers with the first or the last code, unless it is that of 0,
  /// and with the code of 0. Numbers that are clipped have the former.
  double atEnds = 0, atZero = 0;
};

/// `counts` of the codes from `least` on, not all of which are 0; the ends and
/// the code of 0 are those of `expected`.
CodeShares countShares(llvm::ArrayRef<uint64_t> counts, int least,
                       const CodeShares &expected);

} // namespace mpopt

#endif // MPOPT_NUMERICS_CODESHARES_H
