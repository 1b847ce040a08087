//===- InstructionSets.h - Loops for several instruction sets ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A unit with hot loops defines `LOOPS_FOR(NAME, BYTES, TARGET)`, which makes a
// namespace NAME with functions of the attribute TARGET, for vectors of BYTES,
// and `Loops all()`, their table:
//
//   MPOPT_FOR_INSTRUCTION_SETS(LOOPS_FOR)
//   static const std::vector<Loops> found = MPOPT_RUNNABLE_LOOPS(Loops);
//
// gives the tables that the machine can run, portable code first. The loops
// themselves are MPOPT_INLINE, so that each of those functions has its own
// copy.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_INSTRUCTIONSETS_H
#define MPOPT_NUMERICS_INSTRUCTIONSETS_H

#include <cstddef>
#include <initializer_list>
#include <vector>

#define MPOPT_INLINE __attribute__((always_inline)) inline

#if defined(__x86_64__)
#define MPOPT_FOR_INSTRUCTION_SETS(LOOPS_FOR)                                  \
  LOOPS_FOR(baseline, 16, )                                                    \
  LOOPS_FOR(avx2, 32, __attribute__((target("avx2,fma,f16c"))))                \
  LOOPS_FOR(                                                                   \
      avx512, 64,                                                              \
      __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,f16c"))))
#define MPOPT_RUNNABLE_LOOPS(Loops)                                            \
  ::mpopt::findRunnable<Loops>({baseline::all, avx2::all, avx512::all})
#else
#define MPOPT_FOR_INSTRUCTION_SETS(LOOPS_FOR) LOOPS_FOR(baseline, 16, )
#define MPOPT_RUNNABLE_LOOPS(Loops)                                            \
  ::mpopt::findRunnable<Loops>({baseline::all})
#endif

namespace mpopt {

/// How many of those instruction sets this machine has, from the first on.
inline size_t countInstructionSets() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("f16c"))
    return 1;
  bool wide =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return wide ? 3 : 2;
#else
  return 1;
#endif
}

/// The tables of the first instruction sets, as many as this machine has.
template <typename Loops>
std::vector<Loops> findRunnable(std::initializer_list<Loops (*)()> tables) {
  std::vector<Loops> found;
  for (Loops (*table)() : tables)
    if (found.size() < countInstructionSets())
      found.push_back(table());
  return found;
}

/// The number, or the end of [least, most] beyond which it lies; NaN stays.
/// Compilers turn comparisons in this order into vector code.
MPOPT_INLINE double clampTo(double number, double least, double most) {
  number = number < least ? least : number;
  return most < number ? most : number;
}

} // namespace mpopt

#endif // MPOPT_NUMERICS_INSTRUCTIONSETS_H
