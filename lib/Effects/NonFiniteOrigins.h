//===- NonFiniteOrigins.h - Where Inf and NaN begin -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_EFFECTS_NONFINITEORIGINS_H
#define MPOPT_LIB_EFFECTS_NONFINITEORIGINS_H

#include "mpopt/Hazards/FindingList.h"
#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Propagate/NonFinite.h"

namespace mpopt {

/// The values that are expected to be stored as Inf or NaN although they are
/// finite in FP32, and results of which a finding states that. `sites` must
/// outlive what is returned.
NonFinite::Origins findOrigins(const OverflowSites &sites,
                               llvm::ArrayRef<FindingList::Entry> findings);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_NONFINITEORIGINS_H
