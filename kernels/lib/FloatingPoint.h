//===- FloatingPoint.h - The floating-point unit as we need it -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runtime may have told the processor to take subnormals for zero, which
// would hide them from the record, or may read the exception flags afterwards.
// So the mode is set for the time of the statistics and put back with its
// flags.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_FLOATINGPOINT_H
#define MPOPT_KERNELS_LIB_FLOATINGPOINT_H

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace mpopt::kernels {

#if defined(__x86_64__)
class PlainFloatingPoint {
public:
  PlainFloatingPoint() : saved(_mm_getcsr()) { _mm_setcsr(0x1F80); }
  ~PlainFloatingPoint() { _mm_setcsr(saved); }

private:
  unsigned saved;
};
#else
class PlainFloatingPoint {
public:
  PlainFloatingPoint() {
    std::fegetenv(&saved);
    std::fesetenv(FE_DFL_ENV);
  }
  ~PlainFloatingPoint() { std::fesetenv(&saved); }

private:
  std::fenv_t saved;
};
#endif

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_FLOATINGPOINT_H
