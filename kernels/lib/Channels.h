//===- Channels.h - Ranges per channel -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_LIB_CHANNELS_H
#define MPOPT_KERNELS_LIB_CHANNELS_H

#include "mpopt/Kernels/Statistics.h"

namespace mpopt::kernels {

/// Element i of the tensor belongs to channel (i / inner) % count.
struct Channels {
  uint64_t inner = 1;
  uint32_t count = 0;
};

/// None if the axis is not one of the tensor's.
Channels channelsOf(const mpopt_tensor &tensor);

/// Widens `ranges` by the finite ones of `count` elements, the first of which
/// is element `from` of the tensor. At most a block of them.
void widenChannels(const void *words, uint32_t dtype, uint64_t from,
                   size_t count, Channels channels,
                   mpopt_channel_range *ranges);

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_CHANNELS_H
