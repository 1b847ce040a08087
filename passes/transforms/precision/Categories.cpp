//===- Categories.cpp - Each op's category under a policy
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two things stand between an op's names and its category. Names of a dimension
// ("avg_pool3d") hold for that dimension only, and CPU autocast does treat
// avg_pool3d and avg_pool2d differently. And a member of a recognised idiom is
// judged as the composite: a framework that runs layer_norm as one kernel never
// asks its table about the rsqrt inside. Converters go node by node through the
// file, so for them a member is what it is.
//
//===----------------------------------------------------------------------===//

#include "passes/transforms/precision/Categories.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpopt;

/// The number before the last 'd' of "conv2d" or "conv_transpose2d.input".
static std::optional<int64_t> getNameDimension(StringRef name) {
  name = name.split('.').first;
  if (name.size() < 2 || name.back() != 'd' ||
      !llvm::isDigit(name[name.size() - 2]))
    return std::nullopt;
  return name[name.size() - 2] - '0';
}

/// `names` less those of another dimension than `op`'s data has, where the op
/// goes by names of several: the axes behind batch and channel count.
static SmallVector<StringRef> fitRank(ArrayRef<StringRef> names,
                                      Operation *op) {
  SmallVector<StringRef> fitting(names);
  llvm::SmallSet<int64_t, 3> dimensions;
  for (StringRef name : names)
    if (std::optional<int64_t> dimension = getNameDimension(name))
      dimensions.insert(*dimension);
  MaybeShape shape =
      op->getNumOperands() ? getShape(op->getOperand(0)) : std::nullopt;
  if (dimensions.size() < 2 || !shape)
    return fitting;
  llvm::erase_if(fitting, [&](StringRef name) {
    std::optional<int64_t> dimension = getNameDimension(name);
    return dimension && *dimension + 2 != int64_t(shape->size());
  });
  return fitting;
}

/// True if a value is a constant, moved or converted at most.
static bool isParameter(Value value) {
  // Casts, transposes and reshapes of weights are a handful in a row. Without
  // an end, each value of a long chain would be followed to its start.
  constexpr unsigned kMaxMoves = 16;
  for (unsigned moves = 0; moves <= kMaxMoves; ++moves) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (isa<mp::ConstantOp>(op))
      return true;
    if (!isa<mp::CastOp>(op) && !isViewLike(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// How many features a product with a parameter has for its bias to add to;
/// nothing for other ops, and for those that have their bias already.
static std::optional<int64_t> getOutputFeatures(Operation *op) {
  auto dim = [](Value parameter, int64_t fromEnd, int64_t fromFront) {
    MaybeShape shape = getShape(parameter);
    if (!shape || !isParameter(parameter) || shape->size() < 2)
      return std::optional<int64_t>();
    return std::optional<int64_t>(fromEnd ? (*shape)[shape->size() - fromEnd]
                                          : (*shape)[fromFront]);
  };
  if (auto product = dyn_cast<mp::MatMulOp>(op))
    return dim(product.getRhs(), product.getTransB() ? 2 : 1, 0);
  if (auto gemm = dyn_cast<mp::GemmOp>(op); gemm && !gemm.getBias())
    return dim(gemm.getRhs(), 0, gemm.getTransB() ? 0 : 1);
  if (auto conv = dyn_cast<mp::ConvOp>(op); conv && !conv.getBias())
    return dim(conv.getFilter(), 0, 0);
  return std::nullopt;
}

/// True if `op` adds the bias of a linear layer or convolution: a parameter
/// with one element a feature, to a product with a parameter that nobody else
/// reads, moved at most (exporters of Keras models put a Squeeze in between).
/// For inputs of more than two dims exporters write torch's linear in these two
/// ops; the sum belongs to the product and does not promote to the bias's
/// dtype.
static bool addsLinearBias(Operation *op) {
  if (!isa<mp::AddOp>(op))
    return false;
  for (unsigned side : {0, 1}) {
    Value bias = op->getOperand(1 - side);
    std::optional<int64_t> count = getNumElements(getShape(bias));
    Operation *product = op->getOperand(side).getDefiningOp();
    while (product && isViewLike(product) && product->hasOneUse())
      product = product->getOperand(0).getDefiningOp();
    if (count && product && product->hasOneUse() && isParameter(bias) &&
        getOutputFeatures(product) == *count && *count > 1)
      return true;
  }
  return false;
}

/// PyTorch's exporters and decompositions write the square in a norm as a
/// power, which autocast runs in FP32. A product of a number by itself is the
/// user's: autocast leaves it in 16 bits, and no kernel of a norm runs.
void Categories::findWrittenNorms(ModuleOp module) {
  if (policy.getKind() != PolicyKind::Autocast ||
      policy.getFramework() != Framework::PyTorch)
    return;
  llvm::DenseSet<int64_t> means, squares;
  module.walk([&](Operation *op) {
    mp::IdiomAttr idiom = getIdiom(op);
    if (idiom && hasRole(op, Role::Mean))
      means.insert(idiom.getId());
    else if (idiom && isa<mp::MulOp>(op) && getSquared(op))
      squares.insert(idiom.getId());
  });
  for (int64_t id : squares)
    if (means.contains(id))
      writtenNorms.insert(id);
}

Categories::Categories(ModuleOp module, const Policy &policy) : policy(policy) {
  findWrittenNorms(module);
  module.walk([&](Operation *op) {
    if (std::optional<Category> category = find(op))
      categories[op] = *category;
    if (auto precision = dyn_cast<PrecisionOpInterface>(op)) {
      ArrayRef<unsigned> fixed = policy.getFixedOperands(
          precision.getFrameworkNames(policy.getFramework()));
      if (!fixed.empty())
        fixedOperands[op] = fixed;
    }
  });
}

std::optional<Category> Categories::find(Operation *op) const {
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  if (!precision)
    return std::nullopt;
  if (op->hasAttr(kLossPartAttr) && policy.getKind() == PolicyKind::Autocast)
    return Category::Fp32;
  mp::IdiomAttr idiom = getIdiom(op);
  if (idiom && policy.getKind() != PolicyKind::Converter &&
      !writtenNorms.contains(idiom.getId())) {
    StringRef name =
        getCompositeName(idiom.getKind().getValue(), policy.getFramework());
    if (!name.empty())
      return policy.lookup(name);
  }
  // A part of a framework's op is listed as that, or not at all (""), unless
  // the op is unlisted and composed of what is.
  if (auto name = op->getAttrOfType<StringAttr>("mp.listed_as");
      name && policy.getKind() == PolicyKind::Autocast &&
      policy.getFramework() == Framework::PyTorch) {
    if (name.empty())
      return std::nullopt;
    std::optional<Category> category = policy.lookup({name.getValue()});
    if (category || op->hasAttr("mp.kernel"))
      return category;
  }
  if (policy.getKind() == PolicyKind::Autocast && addsLinearBias(op))
    return policy.lookup({"linear"});
  return policy.lookup(
      fitRank(precision.getFrameworkNames(policy.getFramework()), op));
}

std::optional<Category> Categories::get(Operation *op) const {
  auto found = categories.find(op);
  if (found == categories.end())
    return std::nullopt;
  return found->second;
}

bool Categories::governs(OpOperand &operand) const {
  auto precision = dyn_cast<PrecisionOpInterface>(operand.getOwner());
  return isa<FloatType>(getElementType(operand.get())) && precision &&
         precision.isPrecisionOperand(operand.getOperandNumber()) &&
         !llvm::is_contained(fixedOperands.lookup(operand.getOwner()),
                             operand.getOperandNumber());
}

void Categories::annotate(ModuleOp module) const {
  module.walk([&](Operation *op) {
    if (std::optional<Category> category = get(op))
      op->setAttr("mp.category",
                  StringAttr::get(op->getContext(), toString(*category)));
  });
}
