//===- Avx2.h - Functions for AVX2 in a unit compiled for any x86 --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Include last. What follows, up to MPOPT_AVX2_END, is compiled for AVX2, FMA
// and F16C; inline functions of the headers before it are not, and so cannot
// spread into units that run elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_AVX2_H
#define MPOPT_KERNELS_LIB_AVX2_H

#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))),         \
                             apply_to = function)
#define MPOPT_AVX2_END _Pragma("clang attribute pop")
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#define MPOPT_AVX2_END _Pragma("GCC pop_options")
#endif

#endif // MPOPT_KERNELS_LIB_AVX2_H
