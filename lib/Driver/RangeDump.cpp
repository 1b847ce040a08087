//===- RangeDump.cpp - mpopt --dump-ranges
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/RangeDump.h"

#include "mpopt/Dialect/Calibration.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/Keys.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using llvm::json::OStream;

/// 0 where it is not known, and where there is no other value than 0.
static double getMinNonZero(const AbstractValue &value) {
  Cell hull = value.hull();
  return hull.absMax() == 0 ? 0 : value.minNonZero;
}

static void writeLikely(OStream &json, Value value,
                        const RangeAnalysis &ranges) {
  const AbstractValue &computed = ranges.preRounding(value);
  Cell cell = computed.hull();
  bool known = computed.hasLikely() && !cell.empty();
  json.attribute("lo", known ? jsonNumber(cell.likelyLo) : "-inf");
  json.attribute("hi", known ? jsonNumber(cell.likelyHi) : "inf");
  json.attribute("mean", known ? jsonNumber(cell.mean) : nullptr);
  json.attribute(keys::kStd,
                 known ? jsonNumber(std::sqrt(cell.variance)) : nullptr);
}

static void writeTensor(OStream &json, Value value,
                        const RangeAnalysis &ranges) {
  Type element = getElementType(value);
  json.attribute("dtype", getDtypeName(element));
  if (MaybeShape shape = getShape(value))
    json.attributeArray(keys::kShape, [&] {
      for (int64_t dim : *shape)
        json.value(dim < 0 ? int64_t(-1) : dim);
    });
  else
    json.attribute(keys::kShape, nullptr);
  // Bounds as computed, flags as stored.
  Cell computed = ranges.preRounding(value).hull();
  const AbstractValue &stored = ranges.of(value);
  if (computed.empty()) {
    // No element is finite; an interval that is never left is [0, 0].
    computed = Cell{0, 0};
  }
  json.attribute("lo", jsonNumber(computed.lo));
  json.attribute("hi", jsonNumber(computed.hi));
  json.attribute("nan", stored.nan);
  json.attribute("posinf", stored.posInf);
  json.attribute("neginf", stored.negInf);
  json.attribute("min_nonzero", jsonNumber(getMinNonZero(stored)));
  json.attributeObject("likely", [&] { writeLikely(json, value, ranges); });
  if (std::optional<Interval> seen = getCalibrated(value))
    json.attributeArray("calibrated", [&] {
      json.value(jsonNumber(seen->lo));
      json.value(jsonNumber(seen->hi));
    });
}

static void writeNames(OStream &json, StringRef key,
                       llvm::ArrayRef<std::string> names) {
  json.attributeArray(key, [&] {
    for (StringRef name : names)
      json.value(jsonText(name));
  });
}

/// Results of the main function, in the order of the model's outputs.
static ValueRange getOutputs(ModuleOp module, const ImportResult &imported) {
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty() || (*functions.begin()).empty())
    return {};
  Block &body = (*functions.begin()).getBody().back();
  ValueRange outputs = body.getTerminator()->getOperands();
  // The loss and gradients follow.
  return outputs.size() >= imported.outputs.size()
             ? outputs.take_front(imported.outputs.size())
             : ValueRange();
}

void mpopt::dumpRanges(llvm::raw_ostream &os, ModuleOp module,
                       const ImportResult &imported,
                       const RangeAnalysis &ranges) {
  OStream json(os, /*IndentSize=*/1);
  llvm::StringSet<> written;
  ValueRange outputs = getOutputs(module, imported);
  auto writeAs = [&](StringRef path, Value value) {
    std::string name = jsonText(path);
    if (!isa<TensorType>(value.getType()) || name.empty() ||
        !written.insert(name).second)
      return;
    json.attributeObject(name, [&] { writeTensor(json, value, ranges); });
  };
  auto write = [&](Value value) { writeAs(getTensorPath(value), value); };
  json.object([&] {
    json.attribute("schema", "mpopt-ranges/1");
    writeNames(json, "inputs", imported.inputs);
    writeNames(json, "outputs", imported.outputs);
    json.attributeObject("tensors", [&] {
      module.walk<WalkOrder::PreOrder>([&](Operation *op) {
        llvm::for_each(op->getResults(), write);
        for (Region &region : op->getRegions())
          for (Block &block : region)
            llvm::for_each(block.getArguments(), write);
      });
      // Outputs whose tensor has no name, or a path besides.
      for (auto [name, value] : llvm::zip(imported.outputs, outputs))
        writeAs(name, value);
    });
  });
  json.flush();
  os << '\n';
}
