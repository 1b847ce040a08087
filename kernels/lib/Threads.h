//===- Threads.h - The library's own threads -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_LIB_THREADS_H
#define MPOPT_KERNELS_LIB_THREADS_H

#include <cstddef>

namespace mpopt::kernels {

/// MPOPT_THREADS, or the processors that this process may use.
unsigned threadCount();

/// Runs task(data, i) for i in [0, count) on the caller and sleeping threads
/// that are started at first use. One caller at a time gets the threads;
/// another one runs its tasks itself meanwhile.
void runTasks(size_t count, void (*task)(void *data, size_t index), void *data);

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_THREADS_H
