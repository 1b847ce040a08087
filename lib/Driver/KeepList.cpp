//===- KeepList.cpp - mpopt --keep-fp32
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/KeepList.h"

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Support/Printable.h"

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
// re.match anchors it in front. One line: what would end it is written as
// printable() does, which is an escape of regular expressions, too.
static void writePattern(llvm::raw_ostream &os, StringRef name) {
  constexpr StringRef special = "\\^$.|?*+()[]{}";
  while (!name.empty()) {
    size_t length = std::min(name.find_first_of(special), name.size());
    os << printable(name.take_front(length));
    name = name.drop_front(length);
    if (name.empty())
      break;
    os << '\\' << name.front();
    name = name.drop_front();
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
