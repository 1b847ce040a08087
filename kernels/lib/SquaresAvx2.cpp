//===- SquaresAvx2.cpp - Sums of squares with AVX2
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Squares.h"

#include "Avx2.h"

#include "SquaresBody.h"

mpopt::kernels::SquareKernels mpopt::kernels::avx2Squares() {
  return {sumSquares, addRows};
}

MPOPT_AVX2_END
