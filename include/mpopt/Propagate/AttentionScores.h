//===- AttentionScores.h - Scores inside an attention -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PROPAGATE_ATTENTIONSCORES_H
#define MPOPT_PROPAGATE_ATTENTIONSCORES_H

#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Propagate/ErrorMoments.h"

namespace mpopt {

/// The sizes of an attention's scores, and the factor of q k^T.
struct AttentionScores {
  double rows = 0, keys = 0, depth = 0, scale = 0;

  static std::optional<AttentionScores> of(mp::AttentionOp op);

  /// The mean square of the scores' errors: K (n_q q_k + q_q n_k) for K terms,
  /// with n the squared errors and q the mean squares.
  double errorOf(const TensorMoments &query, const TensorMoments &key) const {
    return scale * scale * depth *
           (query.error * key.square + query.square * key.error);
  }
};

} // namespace mpopt

#endif // MPOPT_PROPAGATE_ATTENTIONSCORES_H
