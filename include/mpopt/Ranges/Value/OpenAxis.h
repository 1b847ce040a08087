//===- OpenAxis.h - The size of an axis of unknown size ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_VALUE_OPENAXIS_H
#define MPOPT_RANGES_VALUE_OPENAXIS_H

namespace mpopt {

/// The size that estimates take an axis of unknown size to have, other than the
/// leading one: one position is never all, and the extremes of 16 or 256 times
/// as many elements differ little.
inline constexpr double kOpenAxis = 64;

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_OPENAXIS_H
