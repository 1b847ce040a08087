//===- Sequence.cpp - Ops on lists and strings
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Adjoint/Ops/Families.h"

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/Ops/SequenceOps.h"

using namespace mlir;
using namespace mpopt;

void mpopt::attachSequenceGradients(MLIRContext *context) {
  attachNoGradient<
      mp::SequenceEmptyOp, mp::SequenceLengthOp, mp::OptionalHasElementOp,
      mp::StringConcatOp, mp::StringNormalizerOp, mp::StringSplitOp,
      mp::RegexFullMatchOp, mp::TfIdfVectorizerOp, mp::ImageDecoderOp>(context);
}
