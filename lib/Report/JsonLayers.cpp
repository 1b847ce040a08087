//===- JsonLayers.cpp - Layers of a step in FP8 as JSON
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/LayerReport.h"

using namespace mpopt;
using llvm::json::OStream;

static void writeSize(OStream &json, llvm::StringRef key, int64_t size) {
  json.attribute(key, size < 0 ? llvm::json::Value(nullptr) : size);
}

static void writeLayer(OStream &json, const LayerReport &layer) {
  json.attribute("op", jsonText(layer.op.name));
  json.attribute("type", jsonText(layer.op.type));
  json.attribute("output", jsonText(layer.output));
  json.attribute("weight", jsonText(layer.weight));
  writeSize(json, "m", layer.m);
  writeSize(json, "k", layer.k);
  writeSize(json, "n", layer.n);
  json.attribute("fits", layer.fits);
  json.attribute("effect", jsonNumber(layer.effect));
  for (const LayerReport::Product &product : layer.products)
    json.attributeObject(product.name, [&] {
      json.attribute("snr_db", jsonNumber(product.decibels));
      for (const LayerReport::Operand &operand : product.operands)
        json.attributeObject(operand.role, [&] {
          json.attribute("clipped", operand.clipped);
          json.attribute("flushed", operand.flushed);
          json.attribute("zero", operand.zero);
        });
    });
}

void mpopt::writeLayers(OStream &json, const Fp8Report &report) {
  json.attribute("recipe", report.recipe);
  json.attributeArray("gemms", [&] {
    for (const LayerReport &layer : report.layers)
      json.object([&] { writeLayer(json, layer); });
  });
  json.attributeArray("recommended", [&] {
    for (const Fp8Report::Choice &choice : report.recommended)
      json.object([&] {
        json.attribute("max_error", choice.aim);
        json.attribute("target", choice.device);
        json.attribute("recipe", choice.recipe
                                     ? llvm::json::Value(*choice.recipe)
                                     : nullptr);
      });
  });
  json.attributeArray("keep", [&] {
    for (const Fp8Report::Kept &kept : report.keep)
      if (kept.layers)
        json.object([&] {
          json.attribute("max_error", kept.aim);
          json.attributeArray("gemms", [&] {
            for (size_t index : *kept.layers)
              json.value(jsonText(report.layers[index].output));
          });
        });
  });
}
