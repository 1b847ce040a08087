//===- VectorClones.h - Loops compiled for wider vectors --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_EVALUATION_VECTORCLONES_H
#define MPOPT_LIB_EVALUATION_VECTORCLONES_H

// Without fused multiply-add, whose results are others, so that estimates are
// the same on all machines. Sanitizers run before what chooses a clone.
#if defined(__x86_64__) && !__has_feature(address_sanitizer) &&                \
    !__has_feature(thread_sanitizer)
#define MPOPT_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define MPOPT_VECTOR_CLONES
#endif

#endif // MPOPT_LIB_EVALUATION_VECTORCLONES_H
