//===- ActivationError.h - Rounding and clipping of numbers -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_PROPAGATE_ACTIVATIONERROR_H
#define MPOPT_LIB_PROPAGATE_ACTIVATIONERROR_H

#include "mpopt/Numerics/Likely.h"
#include "mpopt/Numerics/StorageError.h"

namespace mpopt {

/// Evaluations that a calibration takes: quantisers' examples have 8 to 128;
/// and those of a model after it in which an error is expected, as of
/// LargestError.
inline constexpr double kCalibration = 32, kRuns = 8;

/// Rounding and clipping of activations with settled scales, by moments.
class ActivationError {
public:
  /// `count`: elements of a group. `trust`: the factor by which numbers are
  /// expected past an end before that is believed. `rectifies`: those below 0
  /// are no error, since clipping is the rectifier that a quantiser left out.
  ActivationError(double count, double trust, bool rectifies);

  /// The error of a group in codes of `scaled`, whose scale may be 0.
  StorageError of(const Likely &x, const StorageFormat &scaled);

  /// The part of the groups' square that clipping adds.
  double clippedSquare() const { return clipped; }
  double clippedShare() const { return all > 0 ? clipped / all : 0; }
  /// The part of the square that is of numbers past what a calibration saw.
  double unseenShare() const { return all > 0 ? unseen / all : 0; }
  /// How many such numbers an evaluation is expected to have.
  double unseenCount() const { return hits; }

  /// Has `of` count numbers past the ends that no calibration of usual length
  /// meets. `bound`: that of the tensor; `groups`: its groups.
  void expectUnseen(const Interval &bound, size_t groups) {
    reach = bound;
    elements = count * double(groups);
  }

private:
  bool isPast(double number, double end, const Interval &ends) const;
  double unseenSquare(const Likely &x, const Interval &ends);

  double count, trust;
  bool rectifies;
  double all = 0, clipped = 0, unseen = 0, hits = 0;
  Interval reach = Interval::point(0);
  double elements = 0;
};

} // namespace mpopt

#endif // MPOPT_LIB_PROPAGATE_ACTIVATIONERROR_H
