//===- AttentionScores.cpp - Scores inside an attention
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/AttentionScores.h"

#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Heads have an axis, or lie side by side in the last one.
std::optional<AttentionScores> AttentionScores::of(mp::AttentionOp op) {
  MaybeShape query = getShape(op.getQuery()), key = getShape(op.getKey());
  // A cap or kept keys make other scores.
  if (!query || !key || query->size() < 2 || key->size() < 2 ||
      op.getPastKey() || op.getSoftcap().convertToDouble() > 0)
    return std::nullopt;
  bool sideBySide = query->size() == 3 && op.getNumHeads() > 0;
  AttentionScores scores;
  scores.depth = double(query->back()) /
                 (sideBySide ? double(int64_t(op.getNumHeads())) : 1);
  scores.keys = double((*key)[key->size() - 2]);
  if (!(scores.depth >= 1) || !(scores.keys >= 2))
    return std::nullopt;
  scores.rows = countElements(op.getQuery()) / scores.depth;
  // A causal row sees half of the keys, on average.
  if (op.getIsCausal())
    scores.keys = (scores.keys + 1) / 2;
  scores.scale = op.getScale().convertToDouble();
  if (scores.scale == 0)
    scores.scale = 1 / std::sqrt(scores.depth);
  return scores;
}
