//===- LargestError.h - Errors of few elements ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most of an output's error is that of many elements, whose largest follows
// from their root mean square. Where few elements have nearly all of it the
// largest is far more: the rows of attention that waver between two keys, and
// the elements that end on another step. Where errors are in proportion to the
// elements the largest element has the largest one.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_LARGESTERROR_H
#define MPOPT_LIB_EFFECTS_LARGESTERROR_H

#include "mpopt/Effects/OutputEffects.h"
#include "mpopt/Report/Effect.h"

namespace mpopt {

/// The part of an output's error that is whole steps of few elements, each of
/// which is one of the output's.
struct Stepped {
  mlir::Value value;
  /// Its part of the squared error, the square of one step, and the share
  /// of the elements.
  double square = 0, step = 0, share = 1;
};

/// The part of an output's error that comes by the scores of a softmax of which
/// few rows move.
struct Contended {
  /// The tensors in front of the scores, and the sum of their squares, of which
  /// `square` comes by the scores.
  std::vector<mlir::Value> values;
  double all = 0, square = 0;
  /// The share of its rows that moves, and the rows.
  double share = 1, rows = 1;
};

/// The part of an output's error that comes by few elements of a tensor, each
/// of which moves one row of the output.
struct Hit {
  mlir::Value value;
  /// Its part of the squared error, and how many a run has.
  double square = 0, count = 0;
};

/// The part of an output's error that is in proportion to its elements, or to
/// those of what is added to it: by each tensor's storage its share of `all`.
struct Proportional {
  std::vector<mlir::Value> values;
  /// The sum of its squares, and that of the squares of the errors that the
  /// largest elements have.
  double all = 0, largest = 0;
};

/// The squared error of an output, or of a part of it, in units of its root
/// mean square: by each tensor's storage, and in all.
struct SquaredError {
  llvm::MapVector<mlir::Value, double> squares;
  double sum = 0;
  /// The parts of it by quantisation, by QuantizationCause.
  ByCause byCause = {};
  std::vector<Stepped> steps;
  std::vector<Contended> contended;
  std::vector<Hit> hits;
  Proportional proportional;
  /// Of the output: samples, tokens or pixels.
  double rows = 1;
  /// It is a cast of integers or truth values: the share that changes counts,
  /// as it does of these.
  bool isOfWhole = false;
  /// The largest error as if all rows were hit alike, once `largestError` has
  /// been asked: that of causes which hit none.
  double even = 0;
};

/// True if each element of the output depends on one of the value's.
bool isElementwise(mlir::Value value, mlir::Value output);

/// The value whose elements the errors of `value` are in proportion to, each of
/// which is in one element of the output or more: the output, or an operand of
/// a sum on the way. Null if there is none.
mlir::Value findProportional(mlir::Value value, mlir::Value output);

/// The result of an exponential on the way, if what is behind it keeps the
/// proportion: an error of the exponent is a share of each number.
mlir::Value findExponential(mlir::Value value, mlir::Value output);

/// The expected largest error of `count` elements, in units of the output's
/// root mean square: of many, of the few rows that move or are hit, of the few
/// elements that are a step off, and of the largest elements, if any.
/// Adds to `sums` those that it is the largest of, as OutputEffect has them,
/// and takes the tensors of `error.contended`. `most` is the largest of many,
/// in units of the errors' root mean square.
double largestError(SquaredError &error, double count, double most,
                    std::vector<OutputEffect::Sum> &sums);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_LARGESTERROR_H
