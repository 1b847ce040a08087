//===- Interpolation.cpp - Places between two neighbours
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// t[i] + (x - i) (t[i + 1] - t[i]) with i = floor(x): sampling that is written
// out, grids of features, tables of curves. Along several axes an index is a
// sum of such places times strides.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Propagate/Interpolation.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;

/// True if a user takes the fraction of the coordinate.
static bool hasFraction(mp::FloorOp floor) {
  Value x = peel(floor->getOperand(0), Peel::Rounded);
  return llvm::any_of(floor->getUsers(), [&](Operation *user) {
    return isa<mp::SubOp>(user) &&
           peel(user->getOperand(0), Peel::Rounded) == x;
  });
}

/// True if the op adds 1 to its other operand.
static bool addsOne(Operation *op) {
  return isa<mp::AddOp>(op) &&
         llvm::any_of(op->getOperands(), [](Value operand) {
           return getSplatConstant(operand) == 1.0;
         });
}

bool mpopt::isFloorOfInterpolation(Operation *op) {
  constexpr unsigned kMost = 64; // values of an index along three axes
  auto floor = dyn_cast_if_present<mp::FloorOp>(op);
  if (!floor || !hasFraction(floor))
    return false;
  // Each value with whether 1 was added on the way to it.
  SmallVector<std::pair<Value, bool>> work = {{op->getResult(0), false}};
  llvm::DenseMap<Value, unsigned> gathered;
  for (size_t at = 0; at < work.size() && work.size() < kMost; ++at) {
    auto [value, next] = work[at];
    for (Operation *user : value.getUsers()) {
      if (auto gather = dyn_cast<mp::GatherOp>(user)) {
        // A bit for the place and one for its neighbour.
        if (gather.getIndices() == value &&
            (gathered[gather.getInput()] |= next ? 2 : 1) == 3)
          return true;
      } else if (isa<mp::CastOp, mp::AddOp, mp::MulOp, mp::ClipOp, mp::MinOp,
                     mp::MaxOp>(user) ||
                 isViewLike(user)) {
        work.push_back({user->getResult(0), next || addsOne(user)});
      }
    }
  }
  return false;
}
