//===- PoolWindows.h - A pool's windows over kept axes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements along an axis are distinguished, so are the windows that
// slide over it. Pools reduce one axis after another: the maximum of maxima,
// the mean of means.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_OPS_POOLING_POOLWINDOWS_H
#define MPOPT_LIB_RANGES_OPS_POOLING_POOLWINDOWS_H

#include "mpopt/Ranges/Value/AbstractValue.h"

namespace mpopt {

/// One spatial axis of a pool, all of it known.
struct PoolAxis {
  int64_t inputs, outputs, kernel, stride = 1, dilation = 1, padBegin = 0;
};

/// How a window's bound follows from its elements' bounds.
enum class PoolBound {
  Hull,      ///< Any of the elements.
  Maximum,   ///< The largest of the elements, all of which are finite.
  Mean,      ///< Their mean; any of them where the window leaves the input.
  Magnitude, ///< The mean of the largest |x|, as a point.
};

/// `value` with the last axes replaced by the windows that slide over them; an
/// axis that is merged stays so. Nothing if a window has no element.
std::optional<AbstractValue> slideWindows(const AbstractValue &value,
                                          llvm::ArrayRef<PoolAxis> axes,
                                          PoolBound bound);

/// True if some window reaches past the input.
bool anyWindowLeaves(llvm::ArrayRef<PoolAxis> axes);

} // namespace mpopt

#endif // MPOPT_LIB_RANGES_OPS_POOLING_POOLWINDOWS_H
