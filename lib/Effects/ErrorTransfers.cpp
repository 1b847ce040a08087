//===- ErrorTransfers.cpp - How ops carry errors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that are linear in an operand carry its error as they do numbers: their
// own transfer functions are asked, with errors in place of numbers. They are
// asked of a copy of the op that reads arguments, so that nothing is matched
// around it. What kernels round on the way, in both computations, is a share of
// the magnitudes of the operands, which is added to the operands' errors.
//
//===----------------------------------------------------------------------===//

#include "ErrorBounds.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/FunctionTable.h"
#include "mpopt/Numerics/Steepness.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Ranges/Value/CellSupport.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/ForwardingContext.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpopt;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

double ErrorBounds::unitsOf(const FloatFormat &format) {
  return format.unitRoundoff() + FloatFormat::f32().unitRoundoff();
}

//===----------------------------------------------------------------------===//
// Tools
//===----------------------------------------------------------------------===//

AbstractValue ErrorBounds::largestOf(Operation *op) const {
  double largest = 0;
  for (Value operand : op->getOperands())
    if (isFloat(operand))
      largest = std::max(largest, of(operand).value_or(kInfinity));
  return AbstractValue::within(-largest, largest,
                               ranges.of(op->getResult(0)).rank());
}

ErrorBounds::Error ErrorBounds::map(ValueRange operands,
                                    Formula formula) const {
  SmallVector<AbstractValue, 6> values;
  for (Value operand : operands) {
    values.push_back(ranges.of(operand));
    values.push_back(errors.lookup(operand));
  }
  for (AbstractValue &value : values)
    value.dropClaims();
  AbstractValue::Dims dims = broadcastGroups(values, context.groupLimit());
  std::vector<Cell> cells(countGroups(dims));
  SmallVector<Element, 4> elements(operands.size());
  bool known = true;
  forEachGroup(dims, values, [&](size_t group, ArrayRef<size_t> at) {
    for (size_t index = 0; index < elements.size(); ++index)
      elements[index] = {
          cells::bound(values[2 * index].cell(at[2 * index])),
          values[2 * index + 1].cell(at[2 * index + 1]).absMax()};
    double error = formula(elements) * (1 + 1e-9);
    known &= std::isfinite(error);
    cells[group] = {-error, error};
  });
  if (!known)
    return std::nullopt;
  return AbstractValue(dims, cells);
}

namespace {
/// Has values for the arguments that a copied op reads.
class ImageContext : public ForwardingContext<> {
public:
  ImageContext(TransferContext &base, Operation *op) : ForwardingContext(base) {
    current = op;
  }
  const AbstractValue &of(Value value) override {
    auto found = given.find(value);
    return found == given.end() ? base.of(value) : found->second;
  }
  const AbstractValue &preRounding(Value value) override { return of(value); }
  void setArgument(BlockArgument, AbstractValue) override {}
  void walk(Region &) override {}

  llvm::DenseMap<Value, AbstractValue> given;
  std::optional<AbstractValue> result;

protected:
  void setValue(Value value, AbstractValue pre) override {
    if (value == current->getResult(0))
      result = std::move(pre);
  }
};
} // namespace

ErrorBounds::Error
ErrorBounds::image(Operation *op, ArrayRef<const AbstractValue *> operands) {
  if (!isa<RangeOpInterface>(op))
    return std::nullopt;
  SmallVector<Type> types;
  for (auto [operand, value] : llvm::zip(op->getOperands(), operands))
    if (value)
      types.push_back(operand.getType());
  OpBuilder builder = OpBuilder::atBlockEnd(scratch->getBody());
  auto function = func::FuncOp::create(builder, op->getLoc(), "image",
                                       builder.getFunctionType(types, {}));
  Block *body = function.addEntryBlock();
  Operation *copy = op->clone();
  body->push_back(copy);
  ImageContext context(this->context, copy);
  unsigned next = 0;
  for (auto [index, value] : llvm::enumerate(operands)) {
    if (!value)
      continue;
    BlockArgument argument = body->getArgument(next++);
    copy->setOperand(index, argument);
    context.given[argument] = *value;
  }
  cast<RangeOpInterface>(copy).transfer(context);
  function.erase();
  Error result = std::move(context.result);
  if (!result || result->mayBeNonFinite())
    return std::nullopt;
  for (CellRef cell : result->mutableCells()) {
    double bound = cell.absMax();
    if (!std::isfinite(bound))
      return std::nullopt;
    cell = Cell{-bound, bound};
  }
  result->dropClaims();
  result->source = LikelySource::Unknown;
  return result->limited(this->context.groupLimit());
}

AbstractValue ErrorBounds::withShare(Value value, double share) const {
  Error grown = map(value, [&](ArrayRef<Element> x) {
    return (x[0].error + share * x[0].most()) * kSlack;
  });
  return grown ? *grown : AbstractValue::top(ranges.of(value).rank());
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

ErrorBounds::Error ErrorBounds::carryElementwise(Operation *op) {
  OperandRange operands = op->getOperands();
  // What is computed of the operands' sum or product, in both precisions.
  double units = kExtra * unitsOf(context.functionFormat(op->getOperand(0)));
  auto sum = [&](ArrayRef<Element> x) {
    double error = 0;
    for (const Element &term : x)
      error += term.error + units * double(x.size()) * term.most();
    return error;
  };
  if (isa<mp::AddOp, mp::SubOp, mp::AddNOp>(op))
    return map(operands, sum);
  if (isa<mp::MeanNOp>(op))
    return map(operands,
               [&](ArrayRef<Element> x) { return sum(x) / double(x.size()); });
  if (isa<mp::MulOp>(op))
    return map(operands, [&](ArrayRef<Element> x) {
      return x[0].error * x[1].stored.maxAbs() + x[0].most() * x[1].error +
             units * x[0].most() * x[1].most();
    });
  if (isa<mp::DivOp>(op))
    return map(operands, [&](ArrayRef<Element> x) {
      double least = x[1].exact().minAbs(), own = x[1].stored.minAbs();
      if (!(least > 0) || !(own > 0))
        return kInfinity;
      double most = x[0].most() / least;
      return (x[0].error + most * x[1].error) / own +
             units * std::max(most, x[0].most() / own);
    });
  if (isa<mp::PowOp>(op)) {
    std::optional<double> exponent = cells::constantOf(context, operands[1]);
    if (!exponent || of(operands[1]).value_or(1) != 0 || *exponent == 0)
      return std::nullopt;
    double p = *exponent;
    bool natural = p >= 1 && p == std::floor(p);
    return map(operands[0], [&](ArrayRef<Element> x) {
      Interval at = x[0].exact();
      if (!natural && !(at.lo > 0))
        return kInfinity;
      double most = at.maxAbs(), least = natural ? 0 : at.lo;
      double slope = std::fabs(p) *
                     (p >= 1 ? std::pow(most, p - 1) : std::pow(least, p - 1));
      double result =
          std::max(std::pow(most, p), natural ? 0 : std::pow(least, p));
      return slope * x[0].error + (1 + std::fabs(p)) * units * result;
    });
  }
  if (isa<mp::MaxOp, mp::MinOp, mp::ClipOp>(op))
    return map(operands, [&](ArrayRef<Element> x) {
      double error = 0;
      for (const Element &each : x)
        error = std::max(error, each.error);
      return error;
    });
  if (isa<mp::PReluOp>(op))
    return map(operands, [&](ArrayRef<Element> x) {
      return x[0].error * std::max(1.0, x[1].most()) +
             x[0].most() * (x[1].error + units * x[1].most());
    });
  if (isa<mp::WhereOp>(op))
    return map(operands.drop_front(), [&](ArrayRef<Element> x) {
      return std::max(x[0].error, x[1].error);
    });
  return std::nullopt;
}

ErrorBounds::Error ErrorBounds::carryFunction(Operation *op) {
  std::optional<Unary> unary = getFunction(op);
  if (!unary || op->getNumOperands() != 1)
    return std::nullopt;
  Value operand = op->getOperand(0);
  FunctionFacts facts = getFacts(*unary);
  // What a kernel is off by; that of FP32 may clamp its argument.
  auto kernelError = [&](ComputeError error, double most, double argument) {
    constexpr double kClamped = 0x1p-22;
    error.absolute = facts.approximated ? error.absolute + kClamped
                     : facts.timesApproximated
                         ? (error.absolute + kClamped) * argument
                         : 0;
    KernelError kernel = facts.kernel;
    kernel.keepsSign = false;
    if (facts.divides)
      kernel.ulps += 1 + error.divisionUlps;
    return error.widen(Interval::symmetric(most), kernel, argument).hi - most +
           facts.margin * most;
  };
  ComputeError own = functionError(context, operand);
  ComputeError wide = ComputeError::in(FloatFormat::f32());
  return map(operand, [&](ArrayRef<Element> x) {
    Interval at = x[0].exact();
    Steepness steepness = getSteepness(*unary, at);
    Interval image = mpopt::image(*unary, at);
    if (!std::isfinite(steepness.slope) || !image.isBounded())
      return kInfinity;
    double carried =
        std::min(steepness.slope * x[0].error + steepness.jump, image.width());
    return carried + kernelError(own, image.maxAbs(), at.maxAbs()) +
           kernelError(wide, image.maxAbs(), at.maxAbs());
  });
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

ErrorBounds::Error ErrorBounds::carryCopies(Operation *op) {
  if (hasRole(op, Role::MovesElements | Role::Concatenation)) {
    SmallVector<AbstractValue> values(op->getNumOperands());
    SmallVector<const AbstractValue *> operands(op->getNumOperands());
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      if (isFloat(operand)) {
        values[index] = errors.lookup(operand);
        operands[index] = &values[index];
      }
    if (Error error = image(op, operands))
      return error;
    return largestOf(op);
  }
  // Chosen elements are off by what the operands are.
  auto reduction = op->getAttrOfType<StringAttr>("reduction");
  if (!hasRole(op, Role::Picks) || isa<mp::UniqueOp>(op) ||
      (reduction && reduction.getValue() != "none"))
    return std::nullopt;
  return largestOf(op);
}
