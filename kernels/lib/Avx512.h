//===- Avx512.h - Functions for AVX-512 in a unit for any x86 ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As Avx2.h, for the subsets F, BW, DQ and VL.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_AVX512_H
#define MPOPT_KERNELS_LIB_AVX512_H

#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(                                                  \
    __attribute__((                                                            \
        target("avx2,fma,f16c,popcnt,avx512f,avx512bw,avx512dq,avx512vl"))),   \
    apply_to = function)
#define MPOPT_AVX512_END _Pragma("clang attribute pop")
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,popcnt,avx512f,avx512bw,avx512dq,avx512vl")
#define MPOPT_AVX512_END _Pragma("GCC pop_options")
#endif

#endif // MPOPT_KERNELS_LIB_AVX512_H
