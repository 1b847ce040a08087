//===- ExactSum.cpp - A sum of doubles without rounding
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExactSum.h"

#include <cmath>
#include <cstring>

void mpopt_exact_sum_add(mpopt_exact_sum *sum, double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  mpopt::kernels::exactSumAdd(*sum, bits);
}

void mpopt_exact_sum_merge(mpopt_exact_sum *into, const mpopt_exact_sum *from) {
  uint64_t carry = 0;
  for (int i = 0; i < MPOPT_SUM_LIMBS; ++i) {
    // Limbs above or below the addend's digits change nothing, and need not
    // come into the cache: 0, or all ones with a carry.
    if (from->limb[i] + carry == 0)
      continue;
    uint64_t with;
    uint64_t first = __builtin_add_overflow(from->limb[i], carry, &with);
    carry = first | __builtin_add_overflow(into->limb[i], with, &into->limb[i]);
  }
  into->lost += from->lost;
}

double mpopt_exact_sum_value(const mpopt_exact_sum *sum) {
  uint64_t limb[MPOPT_SUM_LIMBS];
  bool negative = sum->limb[MPOPT_SUM_LIMBS - 1] >> 63;
  uint64_t carry = negative;
  for (int i = 0; i < MPOPT_SUM_LIMBS; ++i) {
    limb[i] = negative ? ~sum->limb[i] : sum->limb[i];
    carry = __builtin_add_overflow(limb[i], carry, &limb[i]);
  }
  int top = MPOPT_SUM_LIMBS - 1;
  while (top >= 0 && !limb[top])
    --top;
  if (top < 0)
    return 0;
  // The leading 64 bits, the last one sticky for all that is below: then the
  // conversion to double rounds as the whole number would.
  int lead = __builtin_clzll(limb[top]);
  uint64_t head = limb[top] << lead;
  bool below = false;
  if (top > 0) {
    if (lead)
      head |= limb[top - 1] >> (64 - lead);
    below = (limb[top - 1] << lead) != 0;
    for (int i = 0; i < top - 1 && !below; ++i)
      below = limb[i] != 0;
  }
  head |= below;
  int exponent = 64 * top - lead - 1074;
  // Below 2^-1022 the integer itself has at most 52 bits and nothing rounds.
  double value = exponent + 63 >= -1022 ? std::ldexp(double(head), exponent)
                                        : std::ldexp(double(limb[0]), -1074);
  return negative ? -value : value;
}
