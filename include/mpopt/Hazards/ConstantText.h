//===- ConstantText.h - How findings speak about constants ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_HAZARDS_CONSTANTTEXT_H
#define MPOPT_HAZARDS_CONSTANTTEXT_H

#include "mpopt/Ranges/Weights/Kernels/Summary.h"

#include "llvm/ADT/Twine.h"

#include <string>

namespace mpopt {

/// `value` with at most six significant digits: `1e-12`, `65504`.
std::string formatNumber(double value);

/// "12 of 9216 values (0.13 %), the first at index 5, are `what`; largest
/// magnitude 75794.8".
std::string describeLoss(const WeightStats &stats, uint64_t lost, int64_t first,
                         const llvm::Twine &what);

} // namespace mpopt

#endif // MPOPT_HAZARDS_CONSTANTTEXT_H
