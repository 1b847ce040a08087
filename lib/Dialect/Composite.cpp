//===- Composite.cpp - Functions that a model writes out
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Composite.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

mp::IdiomAttr mpopt::getIdiom(Operation *op) {
  return op->getAttrOfType<mp::IdiomAttr>("mp.idiom");
}

StringRef mpopt::getKind(Operation *op) {
  mp::IdiomAttr idiom = getIdiom(op);
  return idiom ? idiom.getKind().getValue() : op->getName().stripDialect();
}

const OpMeaning *mpopt::getResultMeaning(Operation *op) {
  mp::IdiomAttr idiom = getIdiom(op);
  return idiom && idiom.getResult()
             ? getMeaning(idiom.getKind().getValue(), op->getContext())
             : getMeaning(op);
}

//===----------------------------------------------------------------------===//
// Operands of the members
//===----------------------------------------------------------------------===//

static Value findInput(const Composite &composite) {
  Value input, source;
  for (Operation *op : composite.members)
    for (Value operand : op->getOperands()) {
      Value from = peel(operand);
      if (composite.contains(from.getDefiningOp()) || isConstant(from) ||
          !isa<FloatType>(getElementType(operand)))
        continue;
      if (source && source != from)
        return {};
      source = from;
      if (!input)
        input = operand;
    }
  return input;
}

static SmallVector<int64_t, 4> findAxes(const Composite &composite) {
  SmallVector<int64_t, 4> found;
  for (Operation *op : composite.members) {
    if (!hasRole(op, Role::Reduction))
      continue;
    auto axes = getReducedAxes(op, ShapeFacts());
    if (!axes || (!found.empty() && *axes != found))
      return {};
    found = std::move(*axes);
  }
  return found;
}

bool Composite::reducesTail() const {
  MaybeShape shape = input ? getShape(input) : std::nullopt;
  return shape && !axes.empty() &&
         llvm::equal(axes, llvm::seq<int64_t>(axes.front(), shape->size()));
}

//===----------------------------------------------------------------------===//
// Row norms
//===----------------------------------------------------------------------===//

static bool isRoot(Operation *op) {
  std::optional<double> power =
      isa<mp::PowOp>(op) ? getSplatConstant(op->getOperand(1)) : std::nullopt;
  return isa<mp::SqrtOp, mp::RsqrtOp>(op) ||
         (power && std::fabs(*power) == 0.5);
}

/// The operand that a member on the path from the root divides by it; null if
/// the member only inverts the root, adds a number to it, or scales it.
static Value getNumerator(Operation *op, ArrayRef<Operation *> path) {
  if (!isa<mp::DivOp, mp::MulOp>(op))
    return {};
  for (Value operand : op->getOperands())
    if (!llvm::is_contained(path, getMaker(operand)) &&
        !isConstant(peel(operand)))
      return operand;
  return {};
}

/// Follows the root to the division; the path stays empty if the norm is of
/// another form, as x k + (b - mean(x) k) with a factor k.
static void describeNorm(Composite &norm) {
  SmallVector<Operation *, 4> path;
  Value numerator;
  for (Operation *op : norm.members) {
    bool follows = llvm::any_of(op->getOperands(), [&](Value operand) {
      return llvm::is_contained(path, getMaker(operand));
    });
    if (path.empty() ? !isRoot(op) : !follows)
      continue;
    numerator = path.empty() ? Value() : getNumerator(op, path);
    path.push_back(op);
    if (numerator)
      break;
  }
  if (!numerator)
    return;
  if (hasRole(norm.meaning, Role::Centring)) {
    auto difference = getMaker<mp::SubOp>(numerator);
    if (!norm.contains(difference))
      return;
    norm.difference = difference;
    numerator = difference.getLhs();
  }
  norm.input = numerator;
  if (auto guard = getMaker<mp::AddOp>(path.front()->getOperand(0)))
    if (auto number = splitNumber(guard))
      norm.epsilon = number->second;
  norm.path = std::move(path);
}

//===----------------------------------------------------------------------===//
// All composites
//===----------------------------------------------------------------------===//

Composites::Composites(Operation *root) {
  // Copies of a body keep the numbers of its composites.
  llvm::DenseMap<std::pair<Block *, int64_t>, size_t> indices;
  root->walk([&](Operation *op) {
    mp::IdiomAttr idiom = getIdiom(op);
    if (!idiom)
      return;
    size_t index =
        indices.try_emplace({op->getBlock(), idiom.getId()}, composites.size())
            .first->second;
    if (index == composites.size()) {
      Composite &added = composites.emplace_back();
      added.kind = idiom.getKind().getValue();
      added.meaning = getMeaning(added.kind, op->getContext());
    }
    ofMember[op] = index;
    composites[index].members.push_back(op);
    if (idiom.getResult())
      composites[index].result = op;
  });
  for (Composite &composite : composites) {
    composite.input = findInput(composite);
    composite.axes = findAxes(composite);
    if (hasRole(composite.meaning, Role::RowNorm))
      describeNorm(composite);
  }
}

const Composite *Composites::get(Operation *op) const {
  auto found = ofMember.find(op);
  return found == ofMember.end() ? nullptr : &composites[found->second];
}
