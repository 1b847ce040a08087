//===- ScaleDump.cpp - mpopt --scales
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/ScaleDump.h"

#include "mpopt/Report/JsonSupport.h"

using namespace mpopt;
using llvm::json::OStream;

static void writeScale(OStream &json, const TensorScale &scale) {
  if (scale.scales.size() == 1)
    json.attribute("scale", scale.scales.front());
  else
    json.attributeArray("scale", [&] {
      for (double number : scale.scales)
        json.value(number);
    });
  json.attribute("certainty", scale.isProved ? "proved" : "likely");
  if (scale.isConstant)
    return;
  json.attribute("headroom_bits", scale.headroom);
  json.attribute("snr_db", scale.decibels);
}

void mpopt::dumpScales(llvm::raw_ostream &os, llvm::StringRef precision,
                       llvm::ArrayRef<TensorScale> scales) {
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", "mpopt-scales/1");
    json.attribute("precision", precision);
    json.attributeObject("tensors", [&] {
      for (const TensorScale &scale : scales)
        json.attributeObject(jsonText(scale.tensor),
                             [&] { writeScale(json, scale); });
    });
  });
  json.flush();
  os << '\n';
}
