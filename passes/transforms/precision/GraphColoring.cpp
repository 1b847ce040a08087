//===- GraphColoring.cpp - TensorFlow's auto mixed precision
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TensorFlow paints ops before it converts them, along the edges on which f32
// tensors flow:
//
//   1. allow ops are converted;
//   2. deny ops are not, nor is what they feed through infer ops, and through
//      clear ops that lead to another infer or deny op: the danger is still
//      there (Exp, then Add);
//   3. infer and clear ops with a converted op before and behind them are
//      converted;
//   4. so is every clear op next to a converted op, in both directions;
//   5. a cast to f32 is converted if all its users are.
//
// Then casts go where a converted op meets one that is not. Source:
// tensorflow/core/grappler/optimizers/auto_mixed_precision.cc (Optimize and the
// functions it calls). Not modelled: variable reads, tensor lists, and fused
// ops that grappler makes itself. Values that enter or leave a body of control
// flow keep their dtype, as do the results of the model (its fetch nodes).
//
//===----------------------------------------------------------------------===//

#include "passes/transforms/precision/Strategy.h"

#include "mpopt/Dialect/Interfaces/Interfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

using OpSet = llvm::DenseSet<Operation *>;

namespace {
/// The paint of every op, computed on the module as it is in the file.
class Painter {
public:
  Painter(ModuleOp module, const Categories &categories);

  bool isConverted(Operation *op) const { return converted.contains(op); }

private:
  enum Direction { Inputs = 1, Outputs = 2, Both = 3 };

  bool is(Operation *op, Category category) const {
    return categories.get(op) == category;
  }
  bool isInferOrClear(Operation *op) const {
    return is(op, Category::Infer) || is(op, Category::Clear);
  }
  /// All ops that can be reached from `roots` through ops that `enter` lets in,
  /// the roots included.
  OpSet reach(ArrayRef<Operation *> roots, Direction direction,
              function_ref<bool(Operation *)> enter) const;
  SmallVector<Operation *> select(function_ref<bool(Operation *)> keep) const;
  void deny();
  void convertBetween();
  void spreadThroughClear();
  void absorbCasts();

  const Categories &categories;
  SmallVector<Operation *> ops;
  OpSet converted, denied;
};

class GraphColoring : public PrecisionStrategy {
public:
  GraphColoring(ModuleOp module, const Categories &categories,
                FloatType lowType)
      : PrecisionStrategy(categories, lowType), painter(module, categories) {}

  void rewriteOperands(Operation *op) override;
  void prepareResults(Operation *op) override;

private:
  Painter painter;
  /// Values that were f32 in the model and are not any more.
  llvm::DenseSet<Value> narrowed;
};
} // namespace

static bool isF32(Value value) { return getElementType(value).isF32(); }

Painter::Painter(ModuleOp module, const Categories &categories)
    : categories(categories) {
  module.walk([&](Operation *op) {
    if (isa<PrecisionOpInterface>(op) && !isa<ConstantOp>(op) &&
        !op->getNumRegions() && !op->hasTrait<OpTrait::IsTerminator>() &&
        (llvm::any_of(op->getOperands(), isF32) ||
         llvm::any_of(op->getResults(), isF32)))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    if (is(op, Category::Allow))
      converted.insert(op);
  deny();
  convertBetween();
  spreadThroughClear();
  absorbCasts();
}

SmallVector<Operation *>
Painter::select(function_ref<bool(Operation *)> keep) const {
  SmallVector<Operation *> selected;
  llvm::copy_if(ops, std::back_inserter(selected), keep);
  return selected;
}

OpSet Painter::reach(ArrayRef<Operation *> roots, Direction direction,
                     function_ref<bool(Operation *)> enter) const {
  OpSet reached(roots.begin(), roots.end());
  SmallVector<Operation *> work(roots);
  auto visit = [&](Operation *next) {
    if (next && !reached.contains(next) && enter(next)) {
      reached.insert(next);
      work.push_back(next);
    }
  };
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (direction & Inputs)
      for (OpOperand &operand : op->getOpOperands())
        if (isF32(operand.get()) && categories.governs(operand))
          visit(operand.get().getDefiningOp());
    if (direction & Outputs)
      for (Value result : op->getResults())
        if (isF32(result))
          for (OpOperand &use : result.getUses())
            if (categories.governs(use))
              visit(use.getOwner());
  }
  return reached;
}

void Painter::deny() {
  OpSet upstream =
      reach(select([&](Operation *op) {
              return is(op, Category::Deny) || is(op, Category::Infer);
            }),
            Inputs, [&](Operation *op) { return is(op, Category::Clear); });
  denied = reach(select([&](Operation *op) { return is(op, Category::Deny); }),
                 Outputs, [&](Operation *op) { return upstream.contains(op); });
}

void Painter::convertBetween() {
  SmallVector<Operation *> allowed =
      select([&](Operation *op) { return is(op, Category::Allow); });
  OpSet downstream = reach(allowed, Outputs, [&](Operation *op) {
    return isInferOrClear(op) && !denied.contains(op);
  });
  OpSet between = reach(allowed, Inputs, [&](Operation *op) {
    return !is(op, Category::Allow) && downstream.contains(op);
  });
  converted.insert(between.begin(), between.end());
}

void Painter::spreadThroughClear() {
  SmallVector<Operation *> roots =
      select([&](Operation *op) { return converted.contains(op); });
  OpSet spread = reach(roots, Both, [&](Operation *op) {
    return is(op, Category::Clear) && !denied.contains(op);
  });
  converted.insert(spread.begin(), spread.end());
}

void Painter::absorbCasts() {
  for (Operation *op : ops) {
    auto cast = dyn_cast<CastOp>(op);
    if (cast && isF32(cast.getResult()) && !cast.use_empty() &&
        llvm::all_of(cast->getUsers(),
                     [&](Operation *user) { return isConverted(user); }))
      converted.insert(op);
  }
}

void GraphColoring::rewriteOperands(Operation *op) {
  bool converts = painter.isConverted(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (converts && isF32(value) && categories.governs(operand))
      casts.castOperand(operand, lowType, CastOrigin::Policy);
    else if (narrowed.contains(value) &&
             !(converts && categories.governs(operand)))
      casts.castOperand(operand, Float32Type::get(op->getContext()),
                        CastOrigin::Policy);
  }
}

void GraphColoring::prepareResults(Operation *op) {
  if (!painter.isConverted(op))
    return;
  for (Value result : op->getResults())
    if (isF32(result)) {
      result.setType(withElementType(result.getType(), lowType));
      narrowed.insert(result);
    }
}

std::unique_ptr<PrecisionStrategy>
mpopt::makeGraphColoring(ModuleOp module, const Categories &categories,
                         FloatType lowType) {
  return std::make_unique<GraphColoring>(module, categories, lowType);
}
