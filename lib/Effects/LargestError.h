//===- LargestError.h - Errors of few elements ------------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most of an output's error is that of many elements, whose largest follows
// from their root mean square. Where few elements have nearly all of it the
// largest is far more: the rows of attention that waver between two keys, and
// the elements that end on another step.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_LARGESTERROR_H
#define MPOPT_LIB_EFFECTS_LARGESTERROR_H

#include "mpopt/Effects/OutputEffects.h"

namespace mpopt {

class OutputGradients;

/// The part of an output's error that is whole steps of few elements, each of
/// which is one of the output's.
struct Stepped {
  mlir::Value value;
  /// Its part of the squared error, the square of one step, and the share
  /// of the elements.
  double square = 0, step = 0, share = 1;
};

/// True if each element of the output depends on one of the value's.
bool isElementwise(mlir::Value value, mlir::Value output);

/// The expected largest error of an element, in units of the output's root mean
/// square: of many, of the few rows that move, and of the few elements that are
/// a step off, if any.
/// Adds to `sums` those that it is the largest of, as OutputEffect has them.
/// `most` is the largest of many.
double largestError(const llvm::MapVector<mlir::Value, double> &squares,
                    double sum, double most, mlir::Block &body,
                    const RangeAnalysis &ranges,
                    const OutputGradients &gradients,
                    llvm::ArrayRef<Stepped> steps, double count,
                    std::vector<OutputEffect::Sum> &sums);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_LARGESTERROR_H
