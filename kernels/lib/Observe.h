//===- Observe.h - The record of one call --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_LIB_OBSERVE_H
#define MPOPT_KERNELS_LIB_OBSERVE_H

#include "mpopt/Kernels/Statistics.h"

namespace mpopt::kernels {

/// As mpopt_record_observe, but what the call adds to `into` is left in
/// `record`, which need not be initialised, and in `channels`. Squares of
/// floats are added to `squares` if that is not null.
bool observeCall(mpopt_record &record, mpopt_channel_range *channels,
                 const mpopt_record &into, const mpopt_tensor &tensor,
                 uint64_t step, const mpopt_parallel *parallel,
                 const mpopt_squares *squares = nullptr);

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_OBSERVE_H
