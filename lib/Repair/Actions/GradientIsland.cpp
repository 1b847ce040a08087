//===- GradientIsland.cpp - Gradients that are kept in FP32
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gradient has the dtype of its value, so that both are widened together. The
// ops of the backward graph have the location of the op that they
// differentiate.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Repair/GradientIsland.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Repair/Places.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpopt;

/// Texts name so many ops.
static constexpr size_t kMostNames = 3;

static bool isNarrow(Operation *op) {
  auto low = [](Value value) { return isLowPrecision(getElementType(value)); };
  return isa<PrecisionOpInterface>(op) && !isa<mp::CastOp>(op) &&
         op->getNumRegions() == 0 && !op->hasAttr(kLossPartAttr) &&
         (llvm::any_of(op->getOperands(), low) ||
          llvm::any_of(op->getResults(), low));
}

/// Where the op that the gradient's op belongs to is in the model.
static Location getPlaceInModel(Operation *op) {
  return withValues(op->getLoc(), {});
}

void mpopt::fixByIsland(FindingBuilder &finding, Value gradient) {
  if (!finding.isDescribed() || !gradient || !gradient.getDefiningOp())
    return;
  llvm::SetVector<Operation *> around;
  addProducers(gradient, around);
  addReaders(gradient, around);
  llvm::DenseSet<Location> places;
  for (Operation *op : around)
    if (isNarrow(op) && !isViewLike(op) && !isa<UnknownLoc>(op->getLoc()))
      places.insert(getPlaceInModel(op));
  SmallVector<Operation *> kept;
  std::vector<std::string> names;
  gradient.getDefiningOp()->getParentOfType<ModuleOp>()->walk(
      [&](Operation *op) {
        if (!isNarrow(op) || !places.contains(getPlaceInModel(op)))
          return;
        kept.push_back(op);
        std::string name = getOpRef(op).name;
        if (!op->hasAttr(kBackwardAttr) && !llvm::is_contained(names, name))
          names.push_back(name);
      });
  if (names.empty())
    return;
  // Ops that only move a gradient have its dtype.
  for (size_t at = 0; at < kept.size(); ++at)
    if (kept[at]->hasAttr(kBackwardAttr))
      for (Operation *user : kept[at]->getUsers())
        if (isViewLike(user) && isNarrow(user) &&
            !llvm::is_contained(kept, user))
          kept.push_back(user);
  std::string text;
  for (auto [index, name] : llvm::enumerate(names)) {
    if (index == kMostNames) {
      text += " and " + std::to_string(names.size() - kMostNames) + " others";
      break;
    }
    text += (index ? ", " : "") + name;
  }
  finding.fix("keep-fp32",
              "compute " + text + " in f32, whose gradients are f32 then",
              FixAction::keep(kept));
}
