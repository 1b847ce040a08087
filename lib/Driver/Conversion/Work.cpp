//===- Work.cpp - Multiplications of products
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Work.h"

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/Arithmetic.h"

using namespace mlir;
using namespace mpopt;

static double countTrips(Operation *op) {
  auto loop = dyn_cast<mp::LoopOp>(op);
  std::optional<int64_t> trips =
      loop ? loop.getKnownTripCount(ShapeFacts()) : std::nullopt;
  return double(trips.value_or(1));
}

static void count(Region &region, double times, Work &work) {
  for (Operation &op : region.getOps()) {
    double macs = times * countMultiplications(&op);
    work.macs += macs;
    if (macs > 0 && getElementType(op.getResult(0)).isF32())
      work.wideMacs += macs;
    for (Region &body : op.getRegions())
      count(body, times * countTrips(&op), work);
  }
}

Work mpopt::countWork(ModuleOp module) {
  Work work;
  count(module.getBodyRegion(), 1, work);
  return work;
}
