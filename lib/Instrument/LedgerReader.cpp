//===- LedgerReader.cpp - A ledger from its bytes -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/Ledger.h"

#include "mpopt/Report/JsonReader.h"
#include "mpopt/Report/Keys.h"
#include "mpopt/Support/BoundedJson.h"

using namespace mpopt;
using llvm::StringRef;

// Greater ids are damage: lists are indexed by them.
static constexpr int64_t kMostProbes = int64_t(1) << 20;

static void readTensor(JsonReader json, TensorFacts &tensor) {
  json.text("tensor", tensor.name, /*need=*/true);
  json.child("op", [&](JsonReader inner) { readOp(inner, tensor.op); });
  json.text("structure", tensor.structure);
  json.text("dtype", tensor.dtype, /*need=*/true);
  json.text("file_dtype", tensor.fileDtype);
  std::vector<int64_t> shape;
  bool ranked = json.has(keys::kShape);
  if (ranked)
    json.integers(keys::kShape, shape, -1, INT64_MAX);
  if (ranked)
    tensor.shape = std::move(shape);
  std::optional<Interval> bound;
  json.interval("bound", bound);
  tensor.bound = bound.value_or(Interval::whole());
  json.interval("likely", tensor.likely);
  json.child(keys::kCodes, [&](JsonReader inner) {
    CodeShares &codes = tensor.codes.emplace();
    inner.number("least", codes.codes.lo, /*need=*/true);
    inner.number("most", codes.codes.hi, /*need=*/true);
    inner.number("zero", codes.zero);
    inner.number("used", codes.used);
    inner.number("at_ends", codes.atEnds);
    inner.number("at_zero", codes.atZero);
  });
  json.flag("as_filed", tensor.asFiled);
  json.text("narrowest", tensor.narrowest);
  json.flag("after_rounding", tensor.afterRounding);
  json.flag(keys::kConstant, tensor.isConstant);
  json.flag("copies", tensor.copies);
  json.flag("layer", tensor.isLayer);
  json.flag("nan", tensor.nan);
  json.flag("posinf", tensor.posInf);
  json.flag("neginf", tensor.negInf);
  json.number("min_nonzero", tensor.minNonZero);
  json.child("location", [&](JsonReader inner) {
    SourceLine line;
    int64_t number = 0;
    inner.text("file", line.file);
    inner.integer("line", number, 0, UINT32_MAX);
    line.line = unsigned(number);
    tensor.location = std::move(line);
  });
}

static void readProbe(JsonReader json, int64_t expected, Probe &probe) {
  std::string role;
  json.integer("id", probe.id, 0, kMostProbes, /*need=*/true);
  if (!json.failed() && probe.id != expected)
    json.fail("id", "is out of order: probes are numbered from 0");
  json.text("role", role, /*need=*/true);
  if (json.failed())
    return;
  std::optional<ProbeRole> parsed = parseProbeRole(role);
  if (!parsed)
    return json.fail("role", "is no role of a probe");
  probe.role = *parsed;
  readTensor(json, probe.tensor);
  json.integer("channel_axis", probe.channelAxis, 0, INT32_MAX);
  json.flag(keys::kGradient, probe.gradient);
  json.flag(keys::kCast, probe.cast);
  json.flag("loss", probe.isLoss);
  probe.tensor.isInput = probe.role == ProbeRole::Input;
  json.texts("fingerprints", probe.fingerprints);
  // Dependencies of a tensor come before it, except those that a loop carries.
  json.integers("from", probe.from, 0, kMostProbes);
  json.flag("from_more", probe.fromMore);
  json.integers("blocked", probe.blocked, 0, kMostProbes);
  json.texts("unseen", probe.tensor.unseen);
  json.texts("via", probe.via);
  // Older ledgers do not say where the way begins.
  json.integer("via_from", probe.viaFrom, 0, kMostProbes);
  json.flag("output", probe.output);
}

llvm::Expected<Ledger> mpopt::readLedger(StringRef text) {
  llvm::Expected<llvm::json::Value> value = parseJson(text);
  if (!value)
    return llvm::createStringError("it " + llvm::toString(value.takeError()));
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError("it is JSON of another kind");
  Ledger ledger;
  std::string error, schema;
  JsonReader json(*object, "", error);
  json.text("schema", schema, /*need=*/true);
  if (!json.failed() && schema != "mpopt-probes/1")
    json.fail("schema", "is '" + schema + "', not 'mpopt-probes/1'");
  json.text("model_sha256", ledger.modelSha256, /*need=*/true);
  json.text("probe_with", ledger.probeWith);
  json.children(
      "probes",
      [&](JsonReader inner) {
        auto expected = int64_t(ledger.plan.probes.size());
        readProbe(inner, expected, ledger.plan.probes.emplace_back());
      },
      /*need=*/true);
  json.children("unprobed", [&](JsonReader inner) {
    Unprobed &tensor = ledger.plan.unprobed.emplace_back();
    inner.text("tensor", tensor.tensor);
    inner.text("why", tensor.why);
  });
  json.children("keep", [&](JsonReader inner) {
    KeptOpRef &kept = ledger.keep.emplace_back();
    readOp(inner, kept.op);
    inner.flag("unnamed", kept.unnamed);
    inner.texts("why", kept.why);
    inner.texts("outputs", kept.outputs);
  });
  json.child(
      "report", [&](JsonReader inner) { readReport(inner, ledger.report); },
      /*need=*/true);
  auto check = [&](int64_t id) {
    if (id >= int64_t(ledger.plan.probes.size()) && !json.failed())
      json.fail("probes",
                "names probe " + llvm::Twine(id) + ", which is not there");
  };
  for (const Probe &probe : ledger.plan.probes) {
    llvm::for_each(probe.from, check);
    check(probe.viaFrom);
  }
  if (!error.empty())
    return llvm::createStringError(error);
  return ledger;
}
