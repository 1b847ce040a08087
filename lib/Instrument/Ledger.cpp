//===- Ledger.cpp - What each probe is there for --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/Ledger.h"

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/Keys.h"

using namespace mpopt;
using llvm::StringRef;
using llvm::json::OStream;

static void writeInterval(OStream &json, StringRef key,
                          const Interval &interval) {
  json.attributeObject(key, [&] {
    json.attribute("lo", jsonNumber(interval.lo));
    json.attribute("hi", jsonNumber(interval.hi));
  });
}

static void writeTensor(OStream &json, const TensorFacts &tensor) {
  json.attribute("tensor", jsonText(tensor.name));
  if (!tensor.op.name.empty())
    json.attributeObject("op", [&] {
      json.attribute("name", jsonText(tensor.op.name));
      json.attribute("type", jsonText(tensor.op.type));
      json.attribute("scope", jsonText(tensor.op.scope));
    });
  if (!tensor.structure.empty())
    json.attribute("structure", tensor.structure);
  json.attribute("dtype", tensor.dtype);
  if (!tensor.fileDtype.empty())
    json.attribute("file_dtype", tensor.fileDtype);
  if (tensor.shape)
    json.attributeArray(keys::kShape, [&] {
      for (int64_t dim : *tensor.shape)
        json.value(dim);
    });
  else
    json.attribute(keys::kShape, nullptr);
  writeInterval(json, "bound", tensor.bound);
  json.attribute("as_filed", tensor.asFiled);
  if (!tensor.narrowest.empty())
    json.attribute("narrowest", tensor.narrowest);
  if (tensor.afterRounding)
    json.attribute("after_rounding", true);
  if (tensor.isConstant)
    json.attribute(keys::kConstant, true);
  if (tensor.copies)
    json.attribute("copies", true);
  if (tensor.isLayer)
    json.attribute("layer", true);
  json.attribute("nan", tensor.nan);
  json.attribute("posinf", tensor.posInf);
  json.attribute("neginf", tensor.negInf);
  json.attribute("min_nonzero", jsonNumber(tensor.minNonZero));
  if (tensor.likely)
    writeInterval(json, "likely", *tensor.likely);
  if (tensor.codes)
    json.attributeObject(keys::kCodes, [&] {
      json.attribute("least", jsonNumber(tensor.codes->codes.lo));
      json.attribute("most", jsonNumber(tensor.codes->codes.hi));
      json.attribute("zero", jsonNumber(tensor.codes->zero));
      json.attribute("used", tensor.codes->used);
      json.attribute("at_ends", tensor.codes->atEnds);
      json.attribute("at_zero", tensor.codes->atZero);
    });
  if (tensor.location)
    json.attributeObject("location", [&] {
      json.attribute("file", jsonText(tensor.location->file));
      json.attribute("line", tensor.location->line);
    });
}

static void writeProbe(OStream &json, const Probe &probe) {
  json.attribute("id", probe.id);
  json.attribute("role", toString(probe.role));
  writeTensor(json, probe.tensor);
  if (probe.channelAxis >= 0)
    json.attribute("channel_axis", probe.channelAxis);
  if (probe.gradient)
    json.attribute(keys::kGradient, true);
  if (probe.cast)
    json.attribute(keys::kCast, true);
  if (probe.isLoss)
    json.attribute("loss", true);
  json.attributeArray("fingerprints", [&] {
    for (const std::string &print : probe.fingerprints)
      json.value(print);
  });
  json.attributeArray("from", [&] {
    for (int64_t id : probe.from)
      json.value(id);
  });
  if (probe.fromMore)
    json.attribute("from_more", true);
  if (!probe.tensor.unseen.empty())
    json.attributeArray("unseen", [&] {
      for (const std::string &op : probe.tensor.unseen)
        json.value(jsonText(op));
    });
  if (!probe.blocked.empty())
    json.attributeArray("blocked", [&] {
      for (int64_t id : probe.blocked)
        json.value(id);
    });
  json.attributeArray("via", [&] {
    for (const std::string &op : probe.via)
      json.value(jsonText(op));
  });
  if (probe.viaFrom >= 0)
    json.attribute("via_from", probe.viaFrom);
  if (probe.output)
    json.attribute("output", true);
}

static void writeKept(OStream &json, const KeptOpRef &kept) {
  json.attribute("name", jsonText(kept.op.name));
  json.attribute("type", jsonText(kept.op.type));
  json.attribute("scope", jsonText(kept.op.scope));
  if (kept.unnamed)
    json.attribute("unnamed", true);
  json.attributeArray("outputs", [&] {
    for (const std::string &output : kept.outputs)
      json.value(jsonText(output));
  });
  json.attributeArray("why", [&] {
    for (const std::string &print : kept.why)
      json.value(print);
  });
}

std::string mpopt::writeLedger(const Ledger &ledger, StringRef version) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("schema", "mpopt-probes/1");
    json.attribute("model_sha256", ledger.modelSha256);
    json.attribute("precision", ledger.report.precision);
    json.attribute("probe_with", ledger.probeWith);
    writeAssumptions(json, ledger.report.assumptions);
    json.attributeArray("probes", [&] {
      for (const Probe &probe : ledger.plan.probes)
        json.object([&] { writeProbe(json, probe); });
    });
    json.attributeArray("unprobed", [&] {
      for (const Unprobed &tensor : ledger.plan.unprobed)
        json.object([&] {
          json.attribute("tensor", jsonText(tensor.tensor));
          json.attribute("why", jsonText(tensor.why));
        });
    });
    json.attributeArray("keep", [&] {
      for (const KeptOpRef &kept : ledger.keep)
        json.object([&] { writeKept(json, kept); });
    });
    json.attributeObject(
        "report", [&] { writeReportFields(json, ledger.report, version); });
  });
  json.flush();
  os << '\n';
  return text;
}
