//===- Evaluate.cpp - The results of functions on given arguments
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/transforms/Passes.h"

#include "mpopt/Evaluation/Evaluation.h"

#include "llvm/Support/JSON.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_EVALUATE
#include "passes/transforms/Passes.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

/// The elements of `mp.value`; nothing without it.
static std::optional<Array> readValue(func::FuncOp function, unsigned index) {
  auto given = function.getArgAttrOfType<DenseElementsAttr>(index, "mp.value");
  if (!given)
    return std::nullopt;
  Array array{Shape(given.getType().getShape()), {}};
  if (isa<FloatType>(given.getElementType())) {
    for (const llvm::APFloat &number : given.getValues<llvm::APFloat>())
      array.numbers.push_back(float(number.convertToDouble()));
  } else {
    bool isBit = given.getElementType().isInteger(1);
    for (const llvm::APInt &number : given.getValues<llvm::APInt>())
      array.numbers.push_back(isBit ? float(number.getBoolValue())
                                    : float(number.getSExtValue()));
  }
  return array;
}

static void write(llvm::json::OStream &json, const Array *array) {
  if (!array)
    return json.value(nullptr);
  json.object([&] {
    json.attributeArray("shape", [&] {
      for (int64_t dim : array->shape)
        json.value(dim);
    });
    json.attributeArray("numbers", [&] {
      for (float number : array->numbers) {
        std::string text;
        llvm::raw_string_ostream(text) << double(number);
        std::isfinite(number) ? json.value(double(number)) : json.value(text);
      }
    });
  });
}

namespace {
struct Evaluate : mpopt::impl::EvaluateBase<Evaluate> {
  using EvaluateBase::EvaluateBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      Evaluation evaluation;
      for (BlockArgument argument : function.getArguments())
        if (auto array = readValue(function, argument.getArgNumber()))
          evaluation.set(argument, std::move(*array));
      evaluation.run(function);
      llvm::json::OStream json(llvm::outs());
      json.object([&] {
        json.attribute("function", function.getName());
        json.attributeArray("results", [&] {
          for (Value result :
               function.getBody().front().getTerminator()->getOperands())
            write(json, evaluation.find(result));
        });
        json.attributeArray("unknown", [&] {
          for (Operation &op : function.getBody().front())
            if (llvm::any_of(op.getResults(), [&](Value result) {
                  return !evaluation.find(result);
                }))
              json.value(op.getName().getStringRef());
        });
      });
      llvm::outs() << '\n';
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
