//===- ForeignConstant.cpp - MP623: codes of other numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/rules/Rules.h"

#include "mpopt/Dialect/FloatTwin.h"
#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Numerics/FactorSums.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_FOREIGNCONSTANT
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct ForeignConstant
    : RangeRule<ForeignConstant, mpopt::impl::ForeignConstantBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

void ForeignConstant::judge(Operation *op, const RangeAnalysis &) {
  auto twin = op->getAttrOfType<DictionaryAttr>(kForeignConstantAttr);
  if (!twin)
    return;
  std::string name = "'" + twin.getAs<StringAttr>("name").str() + "'";
  double factor = twin.getAs<FloatAttr>("factor").getValueAsDouble(),
         rest = twin.getAs<FloatAttr>("rest").getValueAsDouble();
  std::string message;
  if (rest > FactorSums::kMostRest)
    message = "the codes are not those of " + name +
              " in the float model, whatever their scale: " +
              formatNumber(std::round(100 * rest)) + " % of its square is lost";
  else if (factor < 0)
    message =
        "the numbers have the opposite sign of " + name + " in the float model";
  else
    message =
        "the numbers are " +
        formatNumber(std::round(100 * std::max(factor, 1 / factor)) / 100) +
        " times too " + (factor < 1 ? "large" : "small") + " for " + name +
        " in the float model";
  report(op, op->getResult(0)).message(message);
}
