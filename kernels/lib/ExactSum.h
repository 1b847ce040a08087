//===- ExactSum.h - A sum of doubles without rounding --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every double is an integer multiple of 2^-1074 below 2^2098, and 34 limbs
// hold 2176 bits: room for 2^77 addends. Integer addition does not care for
// order, hence neither does a record for the order of threads, steps or ranks.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_EXACTSUM_H
#define MPOPT_KERNELS_LIB_EXACTSUM_H

#include "Element.h"

namespace mpopt::kernels {

/// Adds `word` to the limb; returns the carry.
MPOPT_HD uint64_t addLimb(uint64_t &limb, uint64_t word) {
  limb += word;
  return limb < word;
}

MPOPT_HD uint64_t subtractLimb(uint64_t &limb, uint64_t word) {
  uint64_t borrow = limb < word;
  limb -= word;
  return borrow;
}

/// `bits` is the pattern of a double.
MPOPT_HD void exactSumAdd(mpopt_exact_sum &sum, uint64_t bits) {
  unsigned field = unsigned(bits >> 52) & 0x7FF;
  uint64_t mantissa = bits & 0xFFFFFFFFFFFFFull;
  if (field == 0x7FF) {
    ++sum.lost;
    return;
  }
  if (field)
    mantissa |= 1ull << 52;
  unsigned position = field ? field - 1 : 0;
  unsigned shift = position % 64;
  int at = int(position / 64);
  bool negative = bits >> 63;
  uint64_t low = mantissa << shift;
  // At most 53 bits, so that a carry fits as well.
  uint64_t high = shift ? mantissa >> (64 - shift) : 0;
  high +=
      negative ? subtractLimb(sum.limb[at], low) : addLimb(sum.limb[at], low);
  for (++at; high && at < MPOPT_SUM_LIMBS; ++at)
    high = negative ? subtractLimb(sum.limb[at], high)
                    : addLimb(sum.limb[at], high);
}

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_EXACTSUM_H
