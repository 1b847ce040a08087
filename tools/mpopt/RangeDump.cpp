//===- RangeDump.cpp - mpopt --dump-ranges
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RangeDump.h"

#include "mpopt/Analysis/Names.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Report/JsonSupport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpopt;
using llvm::json::OStream;

static void writeTensor(OStream &json, Value value) {
  Type element = getElementType(value);
  json.attribute("dtype", getDtypeName(element));
  if (MaybeShape shape = getShape(value))
    json.attributeArray("shape", [&] {
      for (int64_t dim : *shape)
        json.value(dim < 0 ? int64_t(-1) : dim);
    });
  else
    json.attribute("shape", nullptr);
  json.attribute("lo", "-inf");
  json.attribute("hi", "inf");
  // What is no float for sure has none of these.
  bool maybe = !isa<IntegerType>(element);
  for (StringRef flag : {"nan", "posinf", "neginf"})
    json.attribute(flag, maybe);
  json.attribute("min_nonzero", 0);
  json.attributeObject("likely", [&] {
    json.attribute("lo", "-inf");
    json.attribute("hi", "inf");
    json.attribute("mean", nullptr);
    json.attribute("std", nullptr);
  });
}

static void writeNames(OStream &json, StringRef key,
                       llvm::ArrayRef<std::string> names) {
  json.attributeArray(key, [&] {
    for (StringRef name : names)
      json.value(jsonText(name));
  });
}

void mpopt::dumpRanges(llvm::raw_ostream &os, ModuleOp module,
                       const ImportResult &imported) {
  OStream json(os, /*IndentSize=*/1);
  llvm::StringSet<> written;
  auto write = [&](Value value) {
    std::string name = jsonText(getTensorPath(value));
    if (!isa<TensorType>(value.getType()) || name.empty() ||
        !written.insert(name).second)
      return;
    json.attributeObject(name, [&] { writeTensor(json, value); });
  };
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
    });
  });
  json.flush();
  os << '\n';
}
