//===- SquaresAvx512.cpp - Sums of squares with AVX-512
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Squares.h"

#include "Avx512.h"

#include "SquaresBody.h"

mpopt::kernels::SquareKernels mpopt::kernels::avx512Squares() {
  return {sumSquares, addRows};
}

MPOPT_AVX512_END
