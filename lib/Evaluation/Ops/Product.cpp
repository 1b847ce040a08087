//===- Product.cpp - Products of matrices
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "mpopt/Dialect/EinsumSupport.h"
#include "mpopt/Dialect/Ops/LinearOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

/// An operand whose last two axes are matrices, `swapped` where the depth comes
/// before the rows; leading axes are broadcast to `leading`.
static Matrices matricesOf(const Array &array, bool swapped,
                           ArrayRef<int64_t> leading) {
  Shape shape(leading);
  shape.append(array.shape.end() - 2, array.shape.end());
  Matrices made;
  made.batch = mpopt::sizeOf(leading);
  made.rows = shape[shape.size() - 2];
  made.depth = shape.back();
  made.numbers = array.size() == mpopt::sizeOf(shape)
                     ? array.numbers
                     : broadcast(array, shape).numbers;
  return swapped ? made.transposed() : made;
}

/// The matrix of all rows of an operand whose axes but the last are its rows.
static Matrices rowsOf(const Array &array) {
  int64_t depth = array.shape.back();
  return {1, depth ? array.size() / depth : 0, depth, array.numbers};
}

/// alpha times the product, with one axis of a vector dropped.
static std::optional<Array> multiply(OpResult which, Array lhs, bool swapLhs,
                                     Array rhs, bool swapRhs, double alpha,
                                     Evaluation &in) {
  if (lhs.rank() == 0 || rhs.rank() == 0)
    return std::nullopt;
  bool isRow = lhs.rank() == 1, isColumn = rhs.rank() == 1;
  if (isRow)
    lhs.shape.insert(lhs.shape.begin(), 1);
  if (isColumn)
    rhs.shape.push_back(1);
  auto leading = broadcastShapes(Shape(ArrayRef(lhs.shape).drop_back(2)),
                                 Shape(ArrayRef(rhs.shape).drop_back(2)));
  if (failed(leading) || !*leading)
    return std::nullopt;
  Shape shape = **leading;
  std::optional<Matrices> made;
  if (rhs.rank() == 2 && !swapLhs) {
    // One matrix for all rows: scales of rows and of the tensor are those of
    // the whole operand.
    made = in.multiply(which, rowsOf(lhs), matricesOf(rhs, !swapRhs, {}));
  } else {
    made = in.multiply(which, matricesOf(lhs, swapLhs, shape),
                       matricesOf(rhs, !swapRhs, shape));
  }
  if (!made)
    return std::nullopt;
  int64_t rows = lhs.shape[lhs.shape.size() - (swapLhs ? 1 : 2)];
  if (!isRow)
    shape.push_back(rows);
  if (!isColumn)
    shape.push_back(made->depth);
  Array result{std::move(shape), std::move(made->numbers)};
  if (alpha != 1)
    for (float &number : result.numbers)
      number = float(number * alpha);
  return result.size() == mpopt::sizeOf(result.shape) ? std::optional(result)
                                                      : std::nullopt;
}

static bool addBias(Array &result, const Array *bias, double factor) {
  auto joined = broadcastShapes(result.shape, bias->shape);
  if (failed(joined) || !*joined || **joined != result.shape)
    return false;
  forEachIndex(result.shape, result.strides(),
               broadcastStrides(*bias, result.shape),
               [&](int64_t target, int64_t source) {
                 result.numbers[size_t(target)] +=
                     float(factor * bias->numbers[size_t(source)]);
               });
  return true;
}

static LogicalResult multiplyTwo(Operation *op, bool swapLhs, bool swapRhs,
                                 double alpha, Value bias, double beta,
                                 Evaluation &in) {
  const Array *lhs = in.find(op->getOperand(0)),
              *rhs = in.find(op->getOperand(1)),
              *added = bias ? in.find(bias) : nullptr;
  if (!lhs || !rhs || (bias && !added))
    return failure();
  std::optional<Array> made =
      multiply(op->getOpResult(0), *lhs, swapLhs, *rhs, swapRhs, alpha, in);
  if (!made || (bias && !addBias(*made, added, beta)))
    return failure();
  in.set(op->getResult(0), std::move(*made));
  return success();
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

namespace {
/// The labels of a sum of products of two operands, by their part in it.
struct Labels {
  std::string batch, lhs, rhs, summed;
};
} // namespace

/// Nothing where a label stands twice in one operand, or in one operand only
/// and not in the result.
static std::optional<Labels> sortLabels(StringRef lhs, StringRef rhs,
                                        StringRef result) {
  Labels labels;
  auto isUnique = [](StringRef text) {
    return llvm::all_of(text, [&](char c) { return text.count(c) == 1; });
  };
  if (!isUnique(lhs) || !isUnique(rhs) || !isUnique(result))
    return std::nullopt;
  for (char label : lhs) {
    bool isShared = rhs.contains(label), isKept = result.contains(label);
    if (!isShared && !isKept)
      return std::nullopt;
    (isShared ? isKept ? labels.batch : labels.summed : labels.lhs) += label;
  }
  for (char label : rhs)
    if (!lhs.contains(label)) {
      if (!result.contains(label))
        return std::nullopt;
      labels.rhs += label;
    }
  return labels;
}

/// The axes of an operand in the order batch, own, summed.
static std::optional<Matrices> arrange(const Array &array, StringRef text,
                                       StringRef batch, StringRef own,
                                       StringRef summed) {
  if (array.rank() != int64_t(text.size()))
    return std::nullopt;
  SmallVector<int64_t> axes;
  int64_t sizes[3] = {1, 1, 1};
  const StringRef parts[] = {batch, own, summed};
  for (auto [part, labels] : llvm::enumerate(parts))
    for (char label : labels) {
      axes.push_back(int64_t(text.find(label)));
      sizes[part] *= array.shape[size_t(axes.back())];
    }
  return Matrices{sizes[0], sizes[1], sizes[2], permute(array, axes).numbers};
}

/// Replaces the dots of a text by capital letters that no equation uses.
static std::optional<std::string> spellOut(StringRef text, int64_t rank) {
  if (!text.contains('.'))
    return text.str();
  int64_t dots = rank - int64_t(text.size()) + 1;
  if (dots < 0 || dots > 8)
    return std::nullopt;
  std::string labels;
  for (int64_t i = 0; i < dots; ++i)
    labels += char('0' + (8 - dots) + i);
  size_t at = text.find('.');
  return (text.take_front(at) + labels + text.drop_front(at + 1)).str();
}

static LogicalResult sumProducts(mp::EinsumOp op, Evaluation &in) {
  auto equation = EinsumEquation::parse(op.getEquation());
  if (!equation || op.getInputs().size() != 2 || equation->operands.size() != 2)
    return failure();
  const Array *lhs = in.find(op.getInputs()[0]),
              *rhs = in.find(op.getInputs()[1]);
  if (!lhs || !rhs)
    return failure();
  auto left = spellOut(equation->operands[0], lhs->rank()),
       right = spellOut(equation->operands[1], rhs->rank());
  if (!left || !right)
    return failure();
  int64_t dots = 0;
  for (const std::string *text : {&*left, &*right})
    dots = std::max<int64_t>(
        dots, llvm::count_if(*text, [](char c) { return c < 'A'; }));
  auto result =
      spellOut(equation->result, int64_t(equation->result.size()) - 1 + dots);
  std::optional<Labels> labels =
      result ? sortLabels(*left, *right, *result) : std::nullopt;
  if (!labels)
    return failure();
  auto a = arrange(*lhs, *left, labels->batch, labels->lhs, labels->summed),
       b = arrange(*rhs, *right, labels->batch, labels->rhs, labels->summed);
  if (!a || !b || a->batch != b->batch)
    return failure();
  std::optional<Matrices> made =
      in.multiply(op->getOpResult(0), std::move(*a), std::move(*b));
  if (!made)
    return failure();
  // The product has the axes batch, lhs, rhs.
  std::string order = labels->batch + labels->lhs + labels->rhs;
  Shape shape;
  for (char label : order) {
    size_t at = left->find(label);
    shape.push_back(at != std::string::npos ? lhs->shape[at]
                                            : rhs->shape[right->find(label)]);
  }
  SmallVector<int64_t> axes;
  for (char label : *result) {
    size_t at = order.find(label);
    if (at == std::string::npos)
      return failure();
    axes.push_back(int64_t(at));
  }
  in.set(op.getResult(),
         permute({std::move(shape), std::move(made->numbers)}, axes));
  return success();
}

LogicalResult evaluation::evaluateProduct(Operation *op, Evaluation &in) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::MatMulOp each) {
        return multiplyTwo(op, each.getTransA(), each.getTransB(),
                           each.getAlpha().convertToDouble(), {}, 0, in);
      })
      .Case([&](mp::GemmOp each) {
        return multiplyTwo(op, each.getTransA(), each.getTransB(),
                           each.getAlpha().convertToDouble(), each.getBias(),
                           each.getBeta().convertToDouble(), in);
      })
      .Case([&](mp::LinearOp each) {
        return multiplyTwo(op, false, true, 1, each.getBias(), 1, in);
      })
      .Case([&](mp::EinsumOp each) { return sumProducts(each, in); })
      .Default(failure());
}
