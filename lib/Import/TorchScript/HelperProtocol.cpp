//===- HelperProtocol.cpp - What mpopt and its helper say to each other ---===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/TorchScript/HelperProtocol.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mpopt;

static constexpr StringLiteral kCoverage = "mp.coverage";
static constexpr StringLiteral kWarnings = "mp.warnings";

void mpopt::torchscript::recordResult(ImportResult &result) {
  Operation *module = *result.module;
  Builder builder(module->getContext());
  SmallVector<NamedAttribute> unmodelled;
  for (const auto &[op, count] : result.coverage.unmodelled)
    unmodelled.push_back(
        builder.getNamedAttr(op, builder.getI64IntegerAttr(count)));
  module->setAttr(
      kCoverage,
      builder.getDictionaryAttr(
          {builder.getNamedAttr(
               "modelled", builder.getI64IntegerAttr(result.coverage.modelled)),
           builder.getNamedAttr("ops",
                                builder.getI64IntegerAttr(result.coverage.ops)),
           builder.getNamedAttr("unmodelled",
                                builder.getDictionaryAttr(unmodelled))}));
  SmallVector<StringRef> warnings(result.warnings.begin(),
                                  result.warnings.end());
  module->setAttr(kWarnings, builder.getStrArrayAttr(warnings));
}

void mpopt::torchscript::restoreResult(ImportResult &result) {
  Operation *module = *result.module;
  if (auto coverage = module->getAttrOfType<DictionaryAttr>(kCoverage)) {
    auto number = [&](StringRef name) -> unsigned {
      auto attribute = coverage.getAs<IntegerAttr>(name);
      return attribute ? attribute.getInt() : 0;
    };
    result.coverage = {number("ops"), number("modelled"), {}};
    if (auto unmodelled = coverage.getAs<DictionaryAttr>("unmodelled"))
      for (NamedAttribute entry : unmodelled)
        if (auto count = dyn_cast<IntegerAttr>(entry.getValue()))
          result.coverage.unmodelled[entry.getName().str()] = count.getInt();
  }
  if (auto warnings = module->getAttrOfType<ArrayAttr>(kWarnings))
    for (auto warning : warnings.getAsRange<StringAttr>())
      result.warnings.push_back(warning.str());
  module->removeAttr(kCoverage);
  module->removeAttr(kWarnings);
}

std::string mpopt::torchscript::printError(const ImportError &error) {
  std::string line;
  llvm::raw_string_ostream(line) << llvm::json::Value(
      llvm::json::Object{{"code", llvm::json::fixUTF8(error.code)},
                         {"node", llvm::json::fixUTF8(error.node)},
                         {"reason", llvm::json::fixUTF8(error.reason)}});
  return line;
}

std::optional<ImportError> mpopt::torchscript::parseError(StringRef line) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return std::nullopt;
  auto code = object->getString("code"), node = object->getString("node"),
       reason = object->getString("reason");
  if (!code || !node || !reason)
    return std::nullopt;
  return ImportError{code->str(), node->str(), reason->str()};
}
