//===- MaskUse.cpp - Masks of attention scores
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention masks reach a model as integers (or floats) and become penalties:
// (1 - x) * -10000 in BERT, masked_fill(1 - x, (1 - x).bool(), lowest) in its
// descendants, log(x + 1e-45), where(x == 0, -Inf, scores). The first three say
// by themselves that x is 0 or 1: another number would make no sense there. The
// last one is true of a count, too, so it takes that nothing else is done with
// x but to weigh and to count by it; so does an average weighted by x.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/MaskUse.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Masking.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

/// The c that keeps log(x + c) finite.
static constexpr double kGuard = 1e-3;

namespace {
/// A value that is made of the mask x, or a truth value that says whether it is
/// 1 (kept) or 0.
enum class Form {
  Kept,    ///< x
  Dropped, ///< 1 - x
  Below    ///< x - 1
};

class MaskSearch {
public:
  explicit MaskSearch(Value input) : input(input) {}

  std::optional<MaskInput> run() {
    follow(input, Form::Kept);
    if (!penalty.empty())
      return MaskInput{"a mask: " + penalty, kept.value_or(1)};
    bool isInteger = isa<IntegerType>(getElementType(input));
    if (isInteger && selects && !contradicted)
      return MaskInput{"a mask: it only selects",
                       kept ? *kept : computed.value_or(1)};
    if (isInteger && averages && !contradicted)
      return MaskInput{"a mask: it only selects averaged elements"};
    return std::nullopt;
  }

private:
  void follow(Value value, Form form);
  void look(OpOperand &use, Form form);
  bool passesOn(OpOperand &use, Form form);
  void lookAtSub(SubOp op, unsigned operand, Form form);
  void lookAtMul(MulOp op, unsigned operand, Form form);
  void lookAtAdd(AddOp op, unsigned operand, Form form);
  void lookAtChoice(Value other, Form form);
  void lookAtSelection(Value chosen, Value other, Form form);
  void lookAtComparison(Operation *op, unsigned operand, Form form);
  void lookAtSum(Value sum, unsigned depth);

  Value input;
  llvm::SmallPtrSet<Value, 16> seen;
  std::string penalty;     ///< the use that nothing but a mask has
  std::optional<int> kept; ///< the element that masks nothing
  /// The element that takes what is computed, and no number that fills in.
  std::optional<int> computed;
  bool selects = false, averages = false, contradicted = false;
};
} // namespace

/// No score, no logit and no weight of a loss is scaled by as much.
static bool isPenalty(std::optional<double> number) {
  return number && *number <= maskedBelow();
}

static Form complement(Form form) {
  return form == Form::Kept ? Form::Dropped : Form::Kept;
}

static std::string print(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", number);
  return text;
}

void MaskSearch::lookAtSub(SubOp op, unsigned operand, Form form) {
  std::optional<double> other = getSplatConstant(op->getOperand(1 - operand));
  if (!other || *other != 1 || form == Form::Below)
    contradicted = true;
  else if (operand == 1)
    follow(op.getResult(), complement(form));
  else if (form == Form::Kept)
    follow(op.getResult(), Form::Below);
}

static bool holdsZeroOrOne(ConstantOp constant) {
  constexpr size_t kMost = 1 << 24; // a causal mask of 2048 positions in FP32
  std::optional<ConstantBytes> bytes = getConstantBytes(constant);
  Type element = getElementType(constant.getResult());
  if (!bytes || !element.isIntOrFloat() || bytes->data.size() > kMost)
    return false;
  size_t width = (element.getIntOrFloatBitWidth() + 7) / 8;
  auto floating = dyn_cast<FloatType>(element);
  uint64_t one = floating ? APFloat(floating.getFloatSemantics(), 1)
                                .bitcastToAPInt()
                                .getZExtValue()
                          : 1;
  for (ArrayRef<char> left = bytes->data; left.size() >= width;
       left = left.drop_front(width)) {
    uint64_t bits = 0;
    std::memcpy(&bits, left.data(), std::min(width, sizeof(bits)));
    if (bits != 0 && bits != one)
      return false;
  }
  return true;
}

/// True if each element is one of operand 0.
static bool copiesElements(Operation *op) {
  return isa<IdentityOp, ExpandOp>(op) || isViewLike(op) ||
         hasRole(op, Role::MovesElements);
}

/// True if the elements are 0 and 1, as those of a causal mask.
static bool isZeroOrOne(Value value, unsigned depth = 8) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (auto constant = dyn_cast<ConstantOp>(op))
    return holdsZeroOrOne(constant);
  if (auto cast = dyn_cast<CastOp>(op))
    return getElementType(cast.getInput()).isInteger(1) ||
           isZeroOrOne(cast.getInput(), depth - 1);
  if (isa<TriluOp>(op) || copiesElements(op))
    return isZeroOrOne(op->getOperand(0), depth - 1);
  return false;
}

/// True if the value is only subtracted.
static bool isSubtracted(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUses(), [](OpOperand &use) {
           return isa<NegOp>(use.getOwner()) ||
                  (isa<SubOp>(use.getOwner()) && use.getOperandNumber() == 1);
         });
}

void MaskSearch::lookAtMul(MulOp op, unsigned operand, Form form) {
  Value other = op->getOperand(1 - operand);
  std::optional<double> factor = getSplatConstant(other);
  // scores - (1 - x) 10000
  if (factor && isSubtracted(op.getResult()))
    factor = -*factor;
  if (form == Form::Dropped && isPenalty(factor))
    penalty = "1 - x is scaled by " + print(*factor);
  else if (form == Form::Below && factor && isPenalty(-*factor))
    penalty = "x - 1 is scaled by " + print(*factor);
  else if (form == Form::Kept && isPenalty(factor) &&
           isa<IntegerType>(getElementType(input)) &&
           reachesSoftmax(op.getResult()))
    penalty = "x is scaled by " + print(*factor), kept = 0;
  else if ((factor && *factor == 1) || isZeroOrOne(other) ||
           peel(other, Peel::CastsAndViews) == input)
    follow(op.getResult(), form);
  // Else it weighs what it is multiplied by.
}

/// log(x + c).
void MaskSearch::lookAtAdd(AddOp op, unsigned operand, Form form) {
  std::optional<double> other = getSplatConstant(op->getOperand(1 - operand));
  bool isGuard = form == Form::Kept && other && *other > 0 && *other <= kGuard;
  for (Operation *user : op->getUsers())
    if (isGuard && isa<LogOp>(user)) {
      penalty = "the logarithm of x + " + print(*other) + " is taken";
      return;
    }
  contradicted = true;
}

/// The complement where a condition says, else `other`.
void MaskSearch::lookAtChoice(Value other, Form form) {
  std::optional<double> number = getSplatConstant(other);
  if (form == Form::Dropped && isPenalty(number))
    penalty = "1 - x gives way to " + print(*number);
}

/// `chosen` where x is of that form, else `other`.
void MaskSearch::lookAtSelection(Value chosen, Value other, Form form) {
  selects = true;
  bool drops = isPenalty(getSplatConstant(chosen));
  if (!kept && drops != isPenalty(getSplatConstant(other)))
    kept = (form == Form::Kept) != drops;
  bool fills = isConstant(chosen);
  if (!computed && fills != isConstant(other))
    computed = (form == Form::Kept) != fills;
}

/// The truth of the comparison of a number, which is `operand`, with another.
static bool compare(Operation *op, unsigned operand, double number,
                    double other) {
  double lhs = operand == 0 ? number : other,
         rhs = operand == 0 ? other : number;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](EqualOp) { return lhs == rhs; })
      .Case([&](NotEqualOp) { return lhs != rhs; })
      .Case([&](LessOp) { return lhs < rhs; })
      .Case([&](LessEqualOp) { return lhs <= rhs; })
      .Case([&](GreaterOp) { return lhs > rhs; })
      .Default([&](Operation *) { return lhs >= rhs; });
}

void MaskSearch::lookAtComparison(Operation *op, unsigned operand, Form form) {
  std::optional<double> other = getSplatConstant(op->getOperand(1 - operand));
  if (!other || *other < 0 || *other > 1)
    contradicted = true;
  if (!other)
    return;
  auto holds = [&](double x) {
    double number = form == Form::Kept      ? x
                    : form == Form::Dropped ? 1 - x
                                            : x - 1;
    return compare(op, operand, number, *other);
  };
  if (holds(0) != holds(1))
    follow(op->getResult(0), holds(1) ? Form::Kept : Form::Dropped);
}

/// The number of elements that an average is divided by, at least an epsilon.
void MaskSearch::lookAtSum(Value sum, unsigned depth) {
  for (OpOperand &use : sum.getUses()) {
    Operation *op = use.getOwner();
    if (isa<DivOp>(op) && use.getOperandNumber() == 1)
      averages = true;
    else if (depth > 0 && op->getNumResults() == 1 &&
             (isa<CastOp, MaxOp, ClipOp, AddOp>(op) || copiesElements(op)))
      lookAtSum(op->getResult(0), depth - 1);
  }
}

/// Follows copies and parts of the value, alone or combined with other truth
/// values.
bool MaskSearch::passesOn(OpOperand &use, Form form) {
  Operation *op = use.getOwner();
  if (op->getNumResults() != 1)
    return false;
  bool isTruth = getElementType(use.get()).isInteger(1);
  bool copies = use.getOperandNumber() == 0 && copiesElements(op);
  bool combines =
      isTruth && isa<LogicalAndOp, LogicalOrOp, BitwiseAndOp, BitwiseOrOp>(op);
  bool inverts = isTruth && isa<LogicalNotOp, BitwiseNotOp>(op);
  if (copies || combines || hasRole(op, Role::Concatenation))
    follow(op->getResult(0), form);
  else if (inverts)
    follow(op->getResult(0), complement(form));
  else
    return false;
  return true;
}

void MaskSearch::look(OpOperand &use, Form form) {
  unsigned operand = use.getOperandNumber();
  Operation *op = use.getOwner();
  if (passesOn(use, form))
    return;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](CastOp cast) {
        bool isTruth = getElementType(cast.getResult()).isInteger(1);
        follow(cast.getResult(),
               isTruth && form == Form::Below ? Form::Dropped : form);
      })
      .Case([&](SubOp sub) { lookAtSub(sub, operand, form); })
      .Case([&](MulOp mul) { lookAtMul(mul, operand, form); })
      .Case([&](AddOp add) { lookAtAdd(add, operand, form); })
      .Case([&](MaskedFillOp fill) {
        if (operand == 0)
          lookAtChoice(fill.getValue(), form);
        else if (operand == 1)
          lookAtSelection(fill.getValue(), fill.getInput(), form);
      })
      .Case([&](AttentionOp attention) {
        selects = use.get() == attention.getMask();
        contradicted |= !selects;
        kept = form == Form::Kept;
      })
      .Case([&](WhereOp where) {
        if (operand > 0)
          lookAtChoice(where->getOperand(3 - operand), form);
        else
          lookAtSelection(where.getLhs(), where.getRhs(), form);
      })
      .Case<EqualOp, NotEqualOp, LessOp, LessEqualOp, GreaterOp,
            GreaterEqualOp>(
          [&](Operation *) { lookAtComparison(op, operand, form); })
      .Case([&](ReduceSumOp sum) {
        // A cast, a limit, an epsilon and an expansion, two views among them.
        constexpr unsigned kMost = 6;
        if (form == Form::Kept)
          lookAtSum(sum.getResult(), kMost);
      })
      // Ops that count and measure it take any number.
      .Case<CumSumOp, ReduceMaxOp, ReduceMinOp, ShapeOp, SizeOp, BitwiseAndOp,
            ExpandOp, func::ReturnOp>([](Operation *) {})
      .Default([&](Operation *) { contradicted = true; });
}

void MaskSearch::follow(Value value, Form form) {
  if (!seen.insert(value).second)
    return;
  // Truth values are 0 and 1 in any case: nothing contradicts that.
  bool before = contradicted, isTruth = getElementType(value).isInteger(1);
  for (OpOperand &use : value.getUses())
    look(use, form);
  if (isTruth)
    contradicted = before;
}

std::optional<MaskInput> mpopt::findMaskUse(Value input) {
  return MaskSearch(input).run();
}

//===----------------------------------------------------------------------===//
// The path of scores
//===----------------------------------------------------------------------===//

// A scale, a bias, a mask, a cap, two reshapes and casts around them are ten
// ops; 64 uses are those of a mask that all layers of a model share.
static constexpr unsigned kMostSteps = 10, kMostUses = 64;

/// True if scores that the op reads are still scores in its result.
static bool passesScores(Operation *op) {
  return op->getNumResults() == 1 &&
         (isa<CastOp>(op) ||
          hasRole(op, Role::Arithmetic | Role::Select | Role::Limit |
                          Role::Concatenation | Role::MovesElements |
                          Role::Quantization));
}

static bool reaches(OpOperand &use, unsigned depth, unsigned &budget,
                    llvm::function_ref<void(OpOperand &)> onPath) {
  if (budget == 0 || depth == 0)
    return false;
  --budget;
  Operation *op = use.getOwner();
  auto attention = dyn_cast<AttentionOp>(op);
  bool arrives = attention ? use.get() == attention.getMask() ||
                                 use.get() == attention.getBias()
                           : hasRole(op, Role::Maskable);
  if (!arrives &&
      !(passesScores(op) &&
        llvm::any_of(op->getResult(0).getUses(), [&](OpOperand &next) {
          // Codes are between any two of the ops.
          bool isStep = !hasRole(op, Role::Quantization);
          return reaches(next, depth - isStep, budget, onPath);
        })))
    return false;
  if (onPath)
    onPath(use);
  return true;
}

bool mpopt::reachesSoftmax(OpOperand &use) {
  unsigned budget = kMostUses;
  return reaches(use, kMostSteps, budget, nullptr);
}

bool mpopt::reachesSoftmax(Value value,
                           llvm::function_ref<void(OpOperand &)> onPath) {
  unsigned budget = kMostUses;
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    return reaches(use, kMostSteps, budget, onPath);
  });
}
