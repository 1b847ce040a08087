//===- MemoLock.h - The memo of sums, from several threads ------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_MEMOLOCK_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_MEMOLOCK_H

#include <mutex>

namespace mpopt {

/// Held by whoever uses a memo while ops are computed on several threads: the
/// summaries of constants, and the norms of small weights. Passes over large
/// weights are made by one thread.
std::mutex &memoLock();

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_MEMOLOCK_H
