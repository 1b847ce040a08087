//===- DimOrigin.cpp - Dims that are one and the same
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dim goes up through ops whose result has it from an operand. Where several
// operands are broadcast, each that is no 1 must have it from the same dim.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/DimOrigin.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The number of elements of a vector or a scalar.
static std::optional<int64_t> countElements(Value value) {
  return getNumElements(getShape(value));
}

std::optional<DimOrigin> mpopt::findDimOf(Value sizes, int64_t index,
                                          const ShapeFacts &facts) {
  while (Operation *op = sizes.getDefiningOp()) {
    if (auto shape = dyn_cast<mp::ShapeOp>(op)) {
      MaybeShape of = getShape(shape.getInput());
      int64_t start = shape.getStart(), rank = of ? int64_t(of->size()) : 0;
      start += start < 0 ? rank : 0;
      int64_t axis = std::max<int64_t>(start, 0) + index;
      return of && axis < rank
                 ? std::optional(DimOrigin{shape.getInput(), axis})
                 : std::nullopt;
    }
    if (auto concat = dyn_cast<mp::ConcatOp>(op)) {
      Value part;
      for (Value operand : concat->getOperands()) {
        std::optional<int64_t> count = countElements(operand);
        if (!count)
          return std::nullopt;
        if (index < *count) {
          part = operand;
          break;
        }
        index -= *count;
      }
      if (!part)
        return std::nullopt;
      sizes = part;
      continue;
    }
    if (auto gather = dyn_cast<mp::GatherOp>(op)) {
      auto at = facts.constants(gather.getIndices());
      std::optional<int64_t> count = countElements(gather.getInput());
      if (!at || at->size() != 1 || !count)
        return std::nullopt;
      index = at->front() < 0 ? at->front() + *count : at->front();
      sizes = gather.getInput();
      continue;
    }
    if (auto where = dyn_cast<mp::WhereOp>(op)) {
      // PyTorch's export keeps sizes that are no -1; none of a shape is.
      auto equal = where.getCondition().getDefiningOp<mp::EqualOp>();
      auto than = equal ? facts.constants(equal.getRhs()) : std::nullopt;
      if (!than || equal.getLhs() != where.getRhs() ||
          countElements(where.getRhs()) != countElements(sizes) ||
          !llvm::all_of(*than, [](int64_t size) { return size == -1; }))
        return std::nullopt;
      sizes = where.getRhs();
      continue;
    }
    bool keepsOrder =
        isa<mp::CastOp, mp::ReshapeOp>(op) || hasRole(op, Role::Rearranges);
    if (!keepsOrder || isa<mp::TransposeOp>(op) ||
        countElements(op->getOperand(0)) != countElements(sizes))
      return std::nullopt;
    sizes = op->getOperand(0);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

static bool isSame(const DimOrigin &lhs, const DimOrigin &rhs) {
  return lhs.tensor == rhs.tensor && lhs.axis == rhs.axis;
}

/// The name of an input's dim: dims of one name have one size (ONNX IR).
static StringRef getDimName(const DimOrigin &dim) {
  auto argument = dyn_cast<BlockArgument>(dim.tensor);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  auto names = function && argument.getOwner()->isEntryBlock()
                   ? function.getArgAttrOfType<ArrayAttr>(
                         argument.getArgNumber(), "mp.dim_params")
                   : ArrayAttr();
  auto name = names && dim.axis < int64_t(names.size())
                  ? dyn_cast<StringAttr>(names[dim.axis])
                  : StringAttr();
  return name ? name.getValue() : StringRef();
}

static bool isEqual(const DimOrigin &lhs, const DimOrigin &rhs) {
  StringRef name = getDimName(lhs);
  return isSame(lhs, rhs) || (!name.empty() && name == getDimName(rhs));
}

namespace {
/// Goes up from dims, as far as the budget allows.
class DimWalk {
public:
  explicit DimWalk(const ShapeFacts &facts) : facts(facts) {}
  DimOrigin of(DimOrigin dim);

private:
  std::optional<DimOrigin> before(DimOrigin dim);
  std::optional<DimOrigin> beforeMove(Operation *op, DimOrigin dim,
                                      const Shape &shape);
  std::optional<DimOrigin> ofAll(OperandRange operands, DimOrigin dim);

  const ShapeFacts &facts;
  /// Residual streams have many ways up.
  llvm::DenseMap<std::pair<Value, int64_t>, DimOrigin> known;
  /// The ops of a deep model, of which a dim passes a few in each layer.
  unsigned budget = 1 << 12;
};
} // namespace

/// The common origin of the operands' dims that are aligned with the result's.
std::optional<DimOrigin> DimWalk::ofAll(OperandRange operands, DimOrigin dim) {
  int64_t fromLast = int64_t(getShape(dim.tensor)->size()) - dim.axis;
  std::optional<DimOrigin> common;
  for (Value operand : operands) {
    MaybeShape shape = getShape(operand);
    if (!shape)
      return std::nullopt;
    int64_t axis = int64_t(shape->size()) - fromLast;
    if (axis < 0 || (*shape)[axis] == 1)
      continue;
    DimOrigin own = of({operand, axis});
    if (common && !isEqual(*common, own))
      return std::nullopt;
    common = own;
  }
  return common;
}

static SmallVector<int64_t> listLongAxes(const Shape &shape) {
  SmallVector<int64_t> axes;
  for (auto [axis, dim] : llvm::enumerate(shape))
    if (dim != 1)
      axes.push_back(int64_t(axis));
  return axes;
}

/// The same for an op that moves or repeats elements.
std::optional<DimOrigin> DimWalk::beforeMove(Operation *op, DimOrigin dim,
                                             const Shape &shape) {
  int64_t rank = int64_t(shape.size());
  Value input = op->getOperand(0);
  MaybeShape from = getShape(input);
  if (auto transpose = dyn_cast<mp::TransposeOp>(op)) {
    auto perm = transpose.getPerm();
    return DimOrigin{input, perm ? (*perm)[dim.axis] : rank - 1 - dim.axis};
  }
  if (auto reshape = dyn_cast<mp::ReshapeOp>(op))
    return findDimOf(reshape.getShape(), dim.axis, facts);
  if (auto expand = dyn_cast<mp::ExpandOp>(op)) {
    int64_t own = from ? dim.axis - (rank - int64_t(from->size())) : 0;
    if (!from || countElements(expand.getShape()) != rank ||
        (own >= 0 && (*from)[own] != 1))
      return std::nullopt;
    return findDimOf(expand.getShape(), dim.axis, facts);
  }
  if (auto gather = dyn_cast<mp::GatherOp>(op)) {
    MaybeShape indices = getShape(gather.getIndices());
    if (!indices || gather.getAxis() != 0 ||
        dim.axis >= int64_t(indices->size()))
      return std::nullopt;
    return DimOrigin{gather.getIndices(), dim.axis};
  }
  if (!from || !isa<mp::UnsqueezeOp, mp::SqueezeOp>(op))
    return std::nullopt;
  // Dims of 1 come and go; the others stay in order.
  SmallVector<int64_t> before = listLongAxes(*from),
                       after = listLongAxes(shape);
  auto at = llvm::find(after, dim.axis);
  if (before.size() != after.size() || at == after.end())
    return std::nullopt;
  return DimOrigin{input, before[at - after.begin()]};
}

/// The dim of an operand that a dim of a result is.
std::optional<DimOrigin> DimWalk::before(DimOrigin dim) {
  Operation *op = dim.tensor.getDefiningOp();
  MaybeShape shape = getShape(dim.tensor);
  if (!op || !shape || op->getNumOperands() == 0 || budget == 0)
    return std::nullopt;
  --budget;
  int64_t rank = int64_t(shape->size());
  if (isa<mp::AddOp, mp::SubOp, mp::MulOp, mp::DivOp, mp::PowOp, mp::WhereOp>(
          op))
    return ofAll(op->getOperands(), dim);
  if (auto product = dyn_cast<mp::MatMulOp>(op)) {
    MaybeShape lhs = getShape(product.getLhs()),
               rhs = getShape(product.getRhs());
    if (!lhs || !rhs || lhs->size() < 2 || rhs->size() < 2)
      return std::nullopt;
    if (dim.axis < rank - 2)
      return ofAll(op->getOperands().take_front(2), dim);
    bool isRow = dim.axis == rank - 2;
    Value from = isRow ? product.getLhs() : product.getRhs();
    bool isLast = isRow ? product.getTransA() : !product.getTransB();
    return DimOrigin{from, int64_t(getShape(from)->size()) - (isLast ? 1 : 2)};
  }
  // Reduced axes that are kept are 1.
  constexpr Role kKeepsShape = Role::RowNorm | Role::Softmax | Role::Reduction |
                               Role::Root | Role::Square | Role::Reciprocal |
                               Role::Rectifier | Role::Saturating |
                               Role::Exponential | Role::Negation;
  MaybeShape input = getShape(op->getOperand(0));
  if (input && input->size() == shape->size() &&
      (isa<mp::CastOp>(op) || hasRole(op, kKeepsShape)))
    return DimOrigin{op->getOperand(0), dim.axis};
  return beforeMove(op, dim, *shape);
}

DimOrigin DimWalk::of(DimOrigin dim) {
  std::pair<Value, int64_t> key = {dim.tensor, dim.axis};
  if (auto its = known.find(key); its != known.end())
    return its->second;
  while (std::optional<DimOrigin> next = before(dim))
    dim = *next;
  known[key] = dim;
  return dim;
}

bool mpopt::areSameDim(DimOrigin lhs, DimOrigin rhs, const ShapeFacts &facts) {
  DimWalk walk(facts);
  return isEqual(walk.of(lhs), walk.of(rhs));
}
