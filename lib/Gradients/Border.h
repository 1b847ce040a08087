//===- Border.h - Convolutions whose windows leave the image ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Taps that lie in the padding add 0. Where channels have means, as behind
// rectifiers, results at the border are smaller than those inside, which makes
// the mean over positions smaller and adds to their variance: on small images
// that is a good part of both, and it grows from layer to layer.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRADIENTS_BORDER_H
#define MPOPT_LIB_GRADIENTS_BORDER_H

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/TrainingOps.h"

#include <vector>

namespace mpopt {

/// For pairs of taps, the part of the output's positions at which both of them
/// lie inside the image; of one dim.
class TapShares {
public:
  TapShares(int64_t taps, int64_t stride, int64_t dilation, int64_t padBegin,
            int64_t input, int64_t output);
  double both(int64_t tap, int64_t other) const {
    return shares[tap * taps + other];
  }

private:
  int64_t taps;
  std::vector<double> shares;
};

/// The part of what is spread over `taps` that stays inside a dim, of numbers
/// that were spread that way many times: they are larger in the middle, and
/// lose less than numbers that are the same everywhere.
double shareKept(int64_t taps, int64_t dilation, int64_t padBegin,
                 int64_t places);
/// The part of the terms of a gradient that are not lost to the padding, dim by
/// dim; 1 if that is not known.
double shareInside(mp::ConvGradOp op);

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_BORDER_H
