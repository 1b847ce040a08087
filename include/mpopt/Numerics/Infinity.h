//===- Infinity.h - The one name of infinity --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_INFINITY_H
#define MPOPT_NUMERICS_INFINITY_H

#include <limits>

namespace mpopt {

/// Stands for an unbounded end, an overflow, or "none yet" in a minimum.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

} // namespace mpopt

#endif // MPOPT_NUMERICS_INFINITY_H
