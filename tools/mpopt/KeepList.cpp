//===- KeepList.cpp - mpopt --keep-fp32
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeepList.h"

#include "mpopt/Report/JsonSupport.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mpopt;

void mpopt::writeKeepList(llvm::raw_ostream &os,
                          llvm::ArrayRef<Finding> findings) {
  // By scope and name, in the model's order.
  llvm::MapVector<std::pair<std::string, std::string>,
                  std::vector<const Finding *>,
                  std::map<std::pair<std::string, std::string>, unsigned>>
      ops;
  for (const Finding &finding : findings)
    if (llvm::any_of(finding.fixes,
                     [](const Fix &fix) { return fix.kind == "keep-fp32"; }))
      ops[{finding.op.scope, finding.op.name}].push_back(&finding);

  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", "mpopt-keep/1");
    json.attributeArray("ops", [&] {
      for (const auto &[op, reasons] : ops)
        json.object([&] {
          json.attribute("name", jsonText(op.second));
          json.attribute("type", jsonText(reasons.front()->op.type));
          json.attributeArray("why", [&] {
            for (const Finding *finding : reasons)
              json.value(finding->fingerprint);
          });
        });
    });
  });
  json.flush();
  os << '\n';
}
