//===- PrintGradients.cpp - The estimates of gradients, as remarks
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/transforms/Passes.h"

#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Gradients/GradientAnalysis.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace mpopt {
#define GEN_PASS_DEF_PRINTGRADIENTS
#include "passes/transforms/Passes.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

static void printJson(StringRef name, Value value,
                      const GradientEstimate &estimate, const Spread &spread) {
  llvm::json::OStream out(llvm::outs());
  out.object([&] {
    out.attribute("name", name);
    std::string type;
    llvm::raw_string_ostream(type) << getElementType(value);
    out.attribute("dtype", type);
    out.attribute("rms", estimate.rms);
    out.attribute("absmax", estimate.absMax);
    out.attribute("zero", estimate.zero);
    out.attribute("alike", spread.alike);
    out.attribute("mean", estimate.mean);
    out.attribute("groups", estimate.groups);
    out.attribute("most", estimate.most);
    out.attributeArray("lost", [&] {
      for (size_t i = 0; i < LostShare::kCount; ++i)
        out.value(estimate.lost[i]);
    });
  });
  llvm::outs() << '\n';
}

namespace {
struct PrintGradients : mpopt::impl::PrintGradientsBase<PrintGradients> {
  using PrintGradientsBase::PrintGradientsBase;

  void runOnOperation() override {
    auto &gradients = getAnalysis<GradientAnalysis>();
    getOperation()->walk([&](Operation *op) {
      for (OpResult result : op->getResults()) {
        if (!gradients.isGradient(result) ||
            !isa<FloatType>(getElementType(result)))
          continue;
        GradientEstimate estimate = gradients.estimate(result);
        if (!estimate.known) {
          if (!json)
            op->emitRemark("unknown");
          continue;
        }
        if (json) {
          if (StringRef name = getValueName(result); !name.empty())
            printJson(name, result, estimate, gradients.spread(result));
          continue;
        }
        auto number = [](double value) {
          return llvm::formatv("{0}", llvm::format("%.4g", value)).str();
        };
        auto remark = op->emitRemark();
        if (op->getNumResults() > 1)
          remark << '#' << result.getResultNumber() << ": ";
        remark << "rms " << number(estimate.rms) << ", largest "
               << number(estimate.absMax) << ", zero " << number(estimate.zero)
               << ", lost " << number(estimate.lost.at(0)) << ", most 2^"
               << estimate.most;
      }
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
