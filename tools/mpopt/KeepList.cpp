//===- KeepList.cpp - mpopt --keep-fp32
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeepList.h"

#include "mpopt/Report/JsonSupport.h"

#include "llvm/ADT/SetVector.h"

using namespace mpopt;
using llvm::StringRef;
using llvm::json::OStream;

static void writeOps(llvm::raw_ostream &os, llvm::ArrayRef<KeptOpRef> ops) {
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", "mpopt-keep/1");
    json.attributeArray("ops", [&] {
      for (const KeptOpRef &kept : ops)
        json.object([&] {
          json.attribute("name", jsonText(kept.op.name));
          json.attribute("type", jsonText(kept.op.type));
          json.attributeArray("why", [&] {
            for (const std::string &print : kept.why)
              json.value(print);
          });
        });
    });
  });
  json.flush();
}

// A regular expression that matches the name and nothing else; Python's
// re.match anchors it in front.
static void writePattern(llvm::raw_ostream &os, StringRef name) {
  for (char c : name) {
    if (StringRef("\\^$.|?*+()[]{}").contains(c))
      os << '\\';
    os << c;
  }
  os << "$\n";
}

unsigned mpopt::writeKeepList(llvm::raw_ostream &os, StringRef file,
                              llvm::ArrayRef<KeptOpRef> ops) {
  bool patterns = file.ends_with(".autocast.txt");
  bool arguments = file.ends_with(".ort.json") || file.ends_with(".occ.json");
  if (!patterns && !arguments) {
    writeOps(os, ops);
    os << '\n';
    return 0;
  }
  unsigned leftOut = 0;
  llvm::SetVector<StringRef> names;
  for (const KeptOpRef &kept : ops)
    if (kept.unnamed)
      ++leftOut;
    else
      names.insert(kept.op.name);
  if (patterns) {
    for (StringRef name : names)
      writePattern(os, name);
    return leftOut;
  }
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attributeArray("node_block_list", [&] {
      for (StringRef name : names)
        json.value(jsonText(name));
    });
  });
  json.flush();
  os << '\n';
  return leftOut;
}
