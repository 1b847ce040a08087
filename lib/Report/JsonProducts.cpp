//===- JsonProducts.cpp - Products of operands with scales as JSON
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/Keys.h"
#include "mpopt/Report/ProductReport.h"

using namespace mpopt;
using llvm::json::OStream;

static void writeProduct(OStream &json, const ProductReport &product) {
  json.attribute("op", jsonText(product.op.name));
  json.attribute("type", jsonText(product.op.type));
  json.attribute("output", jsonText(product.output));
  json.attribute("snr_db", jsonNumber(product.decibels));
  json.attribute("effect", jsonNumber(product.rms));
  json.attributeArray("operands", [&] {
    for (const ProductReport::Operand &operand : product.operands)
      json.object([&] {
        json.attribute("tensor", jsonText(operand.tensor));
        json.attribute(keys::kConstant, operand.isConstant);
        json.attribute("clipped", operand.clipped);
        json.attribute("flushed", operand.flushed);
      });
  });
}

static void writeFloats(OStream &json, const ScalingReport &report) {
  json.attributeObject("fp8", [&] {
    json.attribute("recipe", report.recipe);
    json.attributeArray("gemms", [&] {
      for (const ProductReport &product : report.products)
        json.object([&] { writeProduct(json, product); });
    });
    json.attributeObject("recommended", [&] {
      json.attribute("max_error", report.aim);
      if (report.compared) {
        if (report.cheapest)
          json.attribute("recipe", *report.cheapest);
        else
          json.attribute("recipe", nullptr);
      }
      if (report.keep)
        json.attributeArray("keep", [&] {
          for (size_t index : *report.keep)
            json.value(jsonText(report.products[index].output));
        });
      else
        json.attribute("keep", nullptr);
    });
  });
}

/// The worst first.
static void writeRanking(OStream &json, const ScalingReport &report) {
  std::vector<const ProductReport *> ranked;
  for (const ProductReport &product : report.products)
    ranked.push_back(&product);
  llvm::stable_sort(ranked, [](const auto *lhs, const auto *rhs) {
    return lhs->error > rhs->error;
  });
  json.attributeArray("sensitivity", [&] {
    for (const ProductReport *product : ranked)
      json.object([&] {
        json.attribute("op", jsonText(product->op.name));
        json.attribute("expected_error", jsonNumber(product->error));
      });
  });
}

void mpopt::writeScaling(OStream &json, const ScalingReport &report) {
  if (report.ofFloats)
    writeFloats(json, report);
  else
    writeRanking(json, report);
}
