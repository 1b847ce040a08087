//===- SettledCounts.cpp - Integers that no rounding moves
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters fold the positions of a sequence of fixed length and leave the
// logarithm of them that says to which bucket they belong. What a cast to
// integers makes of constants is known, and so is how far a rounding of each
// step moves its operand: if every element keeps its integer, the steps may be
// low as well as not.
//
//===----------------------------------------------------------------------===//

#include "SettledCounts.h"

#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/StorageFormat.h"
#include "mpopt/Numerics/Unary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <cstring>
#include <set>

using namespace mpopt;
using namespace mpopt::convert;
using llvm::ArrayRef;
using llvm::StringRef;
using onnx::TensorProto;
using range::Truth;

// Another shape or order of the elements of operand 0.
static constexpr StringRef kViews[] = {"Identity", "Reshape", "Flatten",
                                       "Squeeze",  "Expand",  "Unsqueeze",
                                       "Transpose"};

/// Distinct elements that are followed one by one: more than there are
/// distances in a sequence, and 2 ms of logarithms.
static constexpr size_t kMostElements = 4096;

template <typename T>
static std::vector<FloatRange> readDistinct(ArrayRef<char> raw) {
  std::set<double> distinct;
  for (size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    T element;
    std::memcpy(&element, raw.data() + at, sizeof(T));
    distinct.insert(double(element));
    if (distinct.size() > kMostElements)
      return {};
  }
  std::vector<FloatRange> points;
  for (double element : distinct)
    points.push_back(FloatRange::point(element));
  return points;
}

std::vector<FloatRange> SettledCounts::read(const TensorProto &tensor) {
  std::string storage;
  llvm::Expected<ArrayRef<char>> raw = tensors.read(tensor, storage);
  if (!raw) {
    llvm::consumeError(raw.takeError());
    return {};
  }
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return readDistinct<float>(*raw);
  case TensorProto::INT64:
    return readDistinct<int64_t>(*raw);
  case TensorProto::INT32:
    return readDistinct<int32_t>(*raw);
  default:
    return {};
  }
}

/// The integers that a cast makes, by truncation; of what is not finite each
/// runtime makes its own.
static FloatRange truncate(const FloatRange &x) {
  constexpr double kEnd = 0x1p63; // of INT64
  bool isKnown = x.isFinite() && x.finite.lo > -kEnd && x.finite.hi < kEnd;
  FloatRange result = FloatRange::of(
      isKnown ? Interval(std::trunc(x.finite.lo), std::trunc(x.finite.hi))
              : Interval(-kEnd, kEnd));
  result.integral = true;
  return result;
}

static Truth readTruth(const FloatRange &x) {
  return {x.contains(1), x.contains(0)};
}

/// What a kernel computes of one element of each operand.
static std::optional<FloatRange> computeElement(const Node &node,
                                                ArrayRef<FloatRange> x,
                                                const ComputeError &error) {
  StringRef op = node.proto->op_type();
  bool isFloat = node.outputs.front()->kind.isFloat();
  using range::Comparison;
  auto comparison = llvm::StringSwitch<std::optional<Comparison>>(op)
                        .Case("Equal", Comparison::Equal)
                        .Case("Less", Comparison::Less)
                        .Case("LessOrEqual", Comparison::LessEqual)
                        .Case("Greater", Comparison::Greater)
                        .Case("GreaterOrEqual", Comparison::GreaterEqual)
                        .Default(std::nullopt);
  if (x.size() == 3)
    return op == "Where"
               ? std::optional(range::where(readTruth(x[0]), x[1], x[2]))
               : std::nullopt;
  if (x.size() == 2 && comparison)
    return range::compare(*comparison, x[0], x[1]).toRange();
  if (x.size() == 2)
    return op == "Add"   ? std::optional(range::add(x[0], x[1]))
           : op == "Sub" ? range::sub(x[0], x[1])
           : op == "Mul" ? range::mul(x[0], x[1])
           : op == "Min" ? range::min(x[0], x[1])
           : op == "Max" ? range::max(x[0], x[1])
           : op == "Div" && isFloat
               ? std::optional(range::div(x[0], x[1], error))
               : std::nullopt;
  if (op == "Cast")
    return isFloat ? x[0] : truncate(x[0]);
  std::optional<UnaryFunction> function = parseUnaryFunction(op.lower());
  if (!function || node.proto->attribute_size() > 0)
    return std::nullopt;
  return apply(Unary{*function}, x[0], error);
}

SettledCounts::Elements SettledCounts::compute(const Value *value) {
  const Node &node = *value->maker;
  if (isView(node))
    return {value, find(node.inputs.front()).ranges};
  if (node.inputs.size() > 3)
    return {};
  Elements result{nullptr, {}};
  size_t count = 1;
  llvm::SmallVector<Elements, 3> operands;
  for (const Value *input : node.inputs) {
    const Elements &operand = operands.emplace_back(find(input));
    if (operand.ranges.empty())
      return {};
    if (operand.ranges.size() == 1)
      continue;
    // Which elements meet is known of those that began as the same ones.
    if (count > 1 && operand.source != result.source)
      return {};
    result.source = operand.source;
    count = operand.ranges.size();
  }
  for (size_t at = 0; at < count; ++at) {
    llvm::SmallVector<FloatRange, 3> x;
    for (const Elements &operand : operands)
      x.push_back(operand.ranges[operand.ranges.size() == 1 ? 0 : at]);
    auto range = computeElement(node, x, ComputeError::in(low));
    if (!range)
      return {};
    result.ranges.push_back(*range);
  }
  return result;
}

SettledCounts::Elements SettledCounts::find(const Value *value) {
  if (!value)
    return {};
  auto [it, isNew] = known.try_emplace(value);
  if (!isNew)
    return it->second;
  Elements found{value, {}};
  const TensorProto *stored = value->constant ? value->constant : value->stored;
  if (stored)
    found.ranges = read(*stored);
  else if (const Node *node = value->maker;
           node &&
           onnx_import::normalizeDomain(node->proto->domain()).empty() &&
           node->bodies.empty() && !node->inputs.empty())
    found = compute(value);
  // In FP32 or low, whichever the plan takes.
  if (value->kind.isFloat())
    for (FloatRange &x : found.ranges)
      x = join(join(x, x.store(FloatFormat::f32())), x.store(low));
  return known[value] = std::move(found);
}

bool convert::isView(const Node &node) {
  return onnx_import::normalizeDomain(node.proto->domain()).empty() &&
         llvm::is_contained(kViews, StringRef(node.proto->op_type()));
}

bool SettledCounts::isBelow(const Value *value, double most) {
  Elements elements = find(value);
  return !elements.ranges.empty() &&
         llvm::all_of(elements.ranges, [&](const FloatRange &x) {
           return x.isFinite() && x.finite.lo > -most && x.finite.hi < most;
         });
}

bool SettledCounts::holds(const Value *integers) {
  Elements elements = find(integers);
  if (elements.ranges.empty())
    return false;
  bool isPoint = llvm::all_of(elements.ranges, [](const FloatRange &x) {
    return x.isFinite() && x.finite.lo == x.finite.hi;
  });
  // A Where may leave out those that are not known.
  return isPoint || (!integers->uses.empty() &&
                     llvm::all_of(integers->uses, [&](const Use &use) {
                       return use.node && use.node->outputs.size() == 1 &&
                              use.node->outputs[0] &&
                              holds(use.node->outputs[0]);
                     }));
}
