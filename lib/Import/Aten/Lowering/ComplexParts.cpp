//===- ComplexParts.cpp - One part of complex operands at a time ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Complex.h"

#include "mpopt/Dialect/Ops/CoreOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

namespace {
enum class Part { Real, Imaginary };

/// A node as it is for one part of its complex operands. What a write would
/// change is not followed: such a node fails.
class PartContext : public NodeContext {
public:
  PartContext(NodeContext &whole, Part part)
      : NodeContext(whole), whole(whole), part(part),
        values(whole.numOutputs()), lists(whole.numOutputs()) {}

  StringRef name() const override { return whole.name(); }
  StringRef overload() const override { return whole.overload(); }
  std::function<NodeContext &()> keep() const override { return whole.keep(); }
  bool has(StringRef input) const override { return whole.has(input); }
  Value tensor(StringRef input) override { return select(whole.tensor(input)); }
  bool isScalar(StringRef input) const override {
    return whole.isScalar(input);
  }
  std::optional<SmallVector<Value>> tensors(StringRef input) override {
    auto given = whole.tensors(input);
    if (given)
      for (Value &value : *given)
        value = select(value);
    return given;
  }
  std::optional<double> findNumber(StringRef input) const override {
    return whole.findNumber(input);
  }
  std::optional<SmallVector<double>>
  findNumbers(StringRef input) const override {
    return whole.findNumbers(input);
  }
  Value array(StringRef input) override { return whole.array(input); }
  Value shapeOf(StringRef input) override { return whole.shapeOf(input); }

  void setOutput(unsigned index, Value value) override {
    values[index] = value;
  }
  void setOutputTensors(unsigned index, ArrayRef<Value> given) override {
    lists[index].assign(given.begin(), given.end());
  }
  void setOutputNumber(unsigned, Value) override { failed = true; }
  void setAlias(unsigned index, StringRef input) override {
    values[index] = tensor(input);
  }
  void setOutputSharing(unsigned index, Value value, StringRef) override {
    values[index] = value;
  }
  void setView(unsigned index, StringRef, Value value,
               std::function<Value(Value)>,
               std::function<Value(Value, Value)>) override {
    values[index] = value;
  }
  void setOutputViews(unsigned index, StringRef,
                      ArrayRef<TensorView> views) override {
    for (const TensorView &view : views)
      lists[index].push_back(view.value);
  }
  void write(StringRef, Value) override { failed = true; }

  unsigned numOutputs() const override { return whole.numOutputs(); }
  std::optional<int64_t> findInt(StringRef input) const override {
    return whole.findInt(input);
  }
  std::optional<StringRef> findString(StringRef input) const override {
    return whole.findString(input);
  }
  std::optional<SmallVector<int64_t>> findInts(StringRef input) const override {
    return whole.findInts(input);
  }
  LogicalResult error(const Twine &reason) override {
    return whole.error(reason);
  }
  void finish(Operation *op) override { whole.finish(op); }

  std::vector<Value> &outputs() { return values; }
  std::vector<SmallVector<Value>> &listOutputs() { return lists; }
  bool hasFailed() const { return failed; }

private:
  Value select(Value value) {
    if (!value || !isComplex(value))
      return value;
    std::optional<ComplexParts> parts = findParts(value);
    failed |= !parts;
    if (!parts)
      return value;
    return part == Part::Real ? parts->real : parts->imaginary;
  }

  NodeContext &whole;
  Part part;
  std::vector<Value> values;
  std::vector<SmallVector<Value>> lists;
  bool failed = false;
};
} // namespace

static bool isComplexInput(NodeContext &context, StringRef input) {
  if (context.isScalar(input))
    return false;
  Value value = context.tensor(input);
  return value && isComplex(value);
}

/// The operands that have to be complex, if one is, for the parts to be the
/// parts of the result: with a real factor they are, with a real summand not.
static bool takesParts(NodeContext &context) {
  auto isOnlyComplex = [&](StringRef input) {
    return isComplexInput(context, input);
  };
  StringRef name = context.name();
  if (llvm::is_contained({"add", "sub"}, name))
    return isOnlyComplex("self") && isOnlyComplex("other");
  if (llvm::is_contained({"mul", "multiply"}, name))
    return isOnlyComplex("self") != isOnlyComplex("other");
  if (llvm::is_contained({"div", "divide", "true_divide"}, name))
    return isOnlyComplex("self") && !isOnlyComplex("other") &&
           !context.has("rounding_mode");
  if (llvm::is_contained({"cat", "concat", "stack"}, name)) {
    auto given = context.tensors("tensors");
    return given && !given->empty() && llvm::all_of(*given, isComplex);
  }
  // Functions of PyTorch that move elements or copy them and compute nothing.
  static constexpr StringRef kMoves[] = {
      "alias",      "chunk",   "clone",     "contiguous",
      "detach",     "expand",  "expand_as", "flatten",
      "flip",       "gather",  "index",     "index_select",
      "mT",         "mean",    "movedim",   "narrow",
      "neg",        "permute", "repeat",    "reshape",
      "reshape_as", "roll",    "select",    "slice",
      "squeeze",    "sum",     "t",         "transpose",
      "tril",       "triu",    "unflatten", "unsqueeze",
      "view",       "view_as", "zeros_like"};
  return llvm::is_contained(kMoves, name) && isOnlyComplex("self");
}

std::optional<LogicalResult> aten::lowerByParts(NodeContext &context,
                                                Lowering lowering) {
  if (llvm::is_contained({"abs", "absolute"}, context.name()) &&
      isComplexInput(context, "self"))
    return lowerComplexAbs(context);
  if (llvm::is_contained({"mul", "multiply"}, context.name()) &&
      isComplexInput(context, "self") && isComplexInput(context, "other"))
    return lowerComplexMul(context);
  // A dtype would be the complex one.
  if (context.has("dtype") || !takesParts(context))
    return std::nullopt;
  PartContext real(context, Part::Real), imaginary(context, Part::Imaginary);
  if (failed(lowering(real)) || failed(lowering(imaginary)) ||
      real.hasFailed() || imaginary.hasFailed())
    return context.unsupported();
  for (unsigned index = 0; index < context.numOutputs(); ++index) {
    ArrayRef<Value> left = real.listOutputs()[index],
                    right = imaginary.listOutputs()[index];
    if (!left.empty()) {
      SmallVector<Value> members;
      for (auto [a, b] : llvm::zip_equal(left, right))
        members.push_back(makeComplex(context, {a, b}));
      context.setOutputTensors(index, members);
      continue;
    }
    Value a = real.outputs()[index], b = imaginary.outputs()[index];
    if (!a || !b)
      return context.unsupported();
    // It may be a view: a write to either is then not followed.
    context.setOutputSharing(index, makeComplex(context, {a, b}), "self");
  }
  return success();
}
