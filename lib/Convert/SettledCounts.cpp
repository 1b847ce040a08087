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

#include <cmath>
#include <cstring>
#include <set>

using namespace mpopt;
using namespace mpopt::convert;
using llvm::ArrayRef;
using llvm::StringRef;
using onnx::TensorProto;

/// Ops that give the elements of operand 0 another shape or order.
static constexpr StringRef kViews[] = {"Identity",  "Reshape", "Flatten",
                                       "Squeeze",   "Expand",  "Unsqueeze",
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

static FloatRange combine(StringRef op, const FloatRange &a,
                          const FloatRange &b, const ComputeError &error) {
  return op == "Add"   ? range::add(a, b)
         : op == "Sub" ? range::sub(a, b)
         : op == "Mul" ? range::mul(a, b)
                       : range::div(a, b, error);
}

std::vector<FloatRange> SettledCounts::compute(const Node &node) {
  StringRef op = node.proto->op_type();
  bool isFloat = node.outputs.front()->kind.isFloat();
  auto error = ComputeError::in(low);
  std::vector<FloatRange> first = find(node.inputs.front());
  if (llvm::is_contained({"Add", "Sub", "Mul", "Div"}, op) &&
      (isFloat || op != "Div")) {
    std::vector<FloatRange> second = find(node.inputs.back());
    // Which elements meet is known if one operand has a single number.
    if (first.size() != 1 && second.size() != 1)
      return {};
    std::vector<FloatRange> results;
    for (const FloatRange &a : first)
      for (const FloatRange &b : second)
        results.push_back(combine(op, a, b, error));
    return results;
  }
  if (op == "Cast" ? isFloat : llvm::is_contained(kViews, op))
    return first;
  std::optional<UnaryFunction> function = parseUnaryFunction(op.lower());
  if (!function || node.proto->attribute_size() > 0 || node.inputs.size() != 1)
    return {};
  for (FloatRange &x : first)
    x = apply(Unary{*function}, x, error);
  return first;
}

std::vector<FloatRange> SettledCounts::find(const Value *value) {
  if (!value)
    return {};
  auto [it, isNew] = known.try_emplace(value);
  if (!isNew)
    return it->second;
  std::vector<FloatRange> found;
  const TensorProto *stored = value->constant ? value->constant : value->stored;
  if (stored)
    found = read(*stored);
  else if (const Node *node = value->maker;
           node && onnx_import::normalizeDomain(node->proto->domain()).empty() &&
           node->bodies.empty() && !node->inputs.empty())
    found = compute(*node);
  // In FP32 or low, whichever the plan takes.
  if (value->kind.isFloat())
    for (FloatRange &x : found)
      x = join(join(x, x.store(FloatFormat::f32())), x.store(low));
  return known[value] = std::move(found);
}

bool SettledCounts::holds(const Value *value) {
  std::vector<FloatRange> elements = find(value);
  return !elements.empty() && llvm::all_of(elements, [](const FloatRange &x) {
    return x.isFinite() && std::trunc(x.finite.lo) == std::trunc(x.finite.hi);
  });
}
