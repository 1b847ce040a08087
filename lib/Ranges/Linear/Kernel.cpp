//===- Kernel.cpp - Coefficients times weights
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some rows of an operand's coefficients stay in registers while the results
// are added up.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "mpopt/Numerics/InstructionSets.h"

using namespace mpopt;
using namespace mpopt::linear;

namespace {
struct Loops {
  void (*add)(const WeightedSum &sum);
};
} // namespace

template <size_t count>
MPOPT_INLINE static void addRows(const WeightedSum &sum, size_t row) {
  for (size_t term = 0; term < sum.terms; ++term) {
    double *to = sum.to + term * sum.toStride + row;
    const double *weight = sum.weights + term * sum.weightOfTerm;
    double total[count];
    for (size_t i = 0; i < count; ++i)
      total[i] = to[i];
    const double *from = sum.from + row;
    for (size_t result = 0; result < sum.results; ++result) {
      for (size_t i = 0; i < count; ++i)
        total[i] += *weight * from[i];
      from += sum.fromStride;
      weight += sum.weightOfResult;
    }
    for (size_t i = 0; i < count; ++i)
      to[i] = total[i];
  }
}

/// `bytes` is the size of a vector: four of them hide the latency of an
/// addition.
template <size_t bytes>
MPOPT_INLINE static void addAll(const WeightedSum &sum) {
  constexpr size_t kWide = 4 * bytes / sizeof(double);
  size_t row = 0;
  for (; row + kWide <= sum.rows; row += kWide)
    addRows<kWide>(sum, row);
  for (; row < sum.rows; row += kRowUnit)
    addRows<kRowUnit>(sum, row);
}

// NOLINTBEGIN(bugprone-macro-parentheses): TARGET is an attribute.
#define LOOPS_FOR(NAME, BYTES, TARGET)                                         \
  namespace NAME {                                                             \
  TARGET static void add(const WeightedSum &sum) { addAll<BYTES>(sum); }       \
  static Loops all() { return {add}; }                                         \
  }
MPOPT_FOR_INSTRUCTION_SETS(LOOPS_FOR)
// NOLINTEND(bugprone-macro-parentheses)

void WeightedSum::add() const {
  static const std::vector<Loops> found = MPOPT_RUNNABLE_LOOPS(Loops);
  found.back().add(*this);
}
