//===- Ranges.cpp - range(start, end, step) -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop over a range becomes a loop over counts: TorchScript asks how many
// there are and which index belongs to one.
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// The integer input if it is known now.
static std::optional<int64_t> findInteger(Evaluation &evaluation,
                                          unsigned index) {
  const Item &item = evaluation.input(index);
  return item.isStatic() ? std::optional(item.integer) : std::nullopt;
}

static LogicalResult getRangeLength(Evaluation &evaluation) {
  if (evaluation.numInputs() != 3)
    return failure();
  std::optional<int64_t> start = findInteger(evaluation, 0),
                         end = findInteger(evaluation, 1),
                         step = findInteger(evaluation, 2);
  if (!start || !end || !step)
    return failure();
  if (*step == 0)
    return evaluation.giveUnknown();
  bool isEmpty = *step > 0 ? *start >= *end : *start <= *end;
  if (isEmpty)
    return evaluation.give(Item::integerOf(0));
  uint64_t span = *step > 0 ? uint64_t(*end) - uint64_t(*start)
                            : uint64_t(*start) - uint64_t(*end);
  uint64_t stride = *step > 0 ? uint64_t(*step) : -uint64_t(*step);
  return evaluation.give(
      Item::integerOf(int64_t(span / stride + (span % stride != 0))));
}

/// start + count * step, for the inputs (count, start, step).
static LogicalResult deriveIndex(Evaluation &evaluation) {
  if (evaluation.numInputs() != 3)
    return failure();
  std::optional<int64_t> count = findInteger(evaluation, 0),
                         start = findInteger(evaluation, 1),
                         step = findInteger(evaluation, 2);
  if (!start || !step)
    return failure();
  if (count)
    return evaluation.give(Item::integerOf(
        int64_t(uint64_t(*start) + uint64_t(*count) * uint64_t(*step))));
  if (!evaluation.input(0).isNumber())
    return evaluation.giveUnknown();
  Value counted = evaluation.valueOf(evaluation.input(0));
  Value stride = evaluation.valueOf(evaluation.input(2));
  Value scaled = evaluation.make<mp::MulOp>(counted, stride);
  Value offset = evaluation.valueOf(evaluation.input(1));
  return evaluation.give(Item::computed(
      Item::Kind::Int, evaluation.make<mp::AddOp>(scaled, offset)));
}

void aten::registerRangeHandlers(HandlerTable &scalars) {
  scalars.add("__range_length", getRangeLength);
  scalars.add("__derive_index", deriveIndex);
}
