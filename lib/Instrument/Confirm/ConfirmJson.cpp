//===- ConfirmJson.cpp - A confirmation as JSON ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The report, with `status` and `observed` in each finding (docs/json.md).
//
//===----------------------------------------------------------------------===//

#include "mpopt/Instrument/Confirm.h"
#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/Keys.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;
using llvm::json::OStream;

namespace {
class Writer {
public:
  Writer(OStream &json, const Ledger &ledger, const RunRecords &runs,
         const Confirmation &confirmation)
      : json(json), ledger(ledger), runs(runs), confirmation(confirmation) {}

  void writeStatus(size_t index);
  void writeRest();
  void writeSummary();
  void writeExceeded();

private:
  void writeObserved(const ProbeSight &seen, StringRef judged);
  void writeProbeName(int64_t probe);
  void writeOp(const OpRef &op);
  void writeBeginning(const FirstBad &first, llvm::ArrayRef<ProbeSight> sights,
                      llvm::ArrayRef<BadValues> bad);
  void writeBeginnings(llvm::ArrayRef<FirstBad> beginnings,
                       llvm::ArrayRef<ProbeSight> sights,
                       llvm::ArrayRef<BadValues> bad);
  void writeGradients();
  void writeScale(StringRef key, const BestScale &scale);
  void writeCodes(const SeenCodes &codes);
  void writeAgainst(const RunComparison &against);

  OStream &json;
  const Ledger &ledger;
  const RunRecords &runs;
  const Confirmation &confirmation;
};
} // namespace

static void writeStep(OStream &json, StringRef key,
                      std::optional<uint64_t> step) {
  if (step && *step != MPOPT_NEVER)
    json.attribute(key, int64_t(*step));
  else
    json.attribute(key, nullptr);
}

void Writer::writeOp(const OpRef &op) {
  json.attributeObject("op", [&] {
    json.attribute("name", jsonText(op.name));
    json.attribute("type", jsonText(op.type));
    json.attribute("scope", jsonText(op.scope));
  });
}

void Writer::writeProbeName(int64_t id) {
  const TensorFacts &tensor = ledger.plan.probes[id].tensor;
  json.attribute("probe", id);
  json.attribute("tensor", jsonText(tensor.name));
  if (!tensor.op.name.empty())
    writeOp(tensor.op);
}

// Statistics of a probe, with the margins in the format that was judged.
void Writer::writeObserved(const ProbeSight &seen, StringRef judged) {
  const mpopt_record &record = seen.record;
  bool any = seen.finite() > 0;
  json.attribute("dtype", seen.dtype());
  json.attribute("calls", record.calls);
  if (record.skipped)
    json.attribute("skipped", record.skipped);
  json.attribute("count", record.count);
  json.attribute("nan", record.nan);
  json.attribute("posinf", record.pos_inf);
  json.attribute("neginf", record.neg_inf);
  json.attribute("zero", record.zero);
  auto value = [&](StringRef key, double number, bool there) {
    if (there)
      json.attribute(key, jsonNumber(number));
    else
      json.attribute(key, nullptr);
  };
  value(keys::kMin, record.min, any);
  value(keys::kMax, record.max, any);
  value("absmax", record.absmax, any);
  value("min_nonzero", record.min_nonzero, seen.nonZero() > 0);
  if (seen.stored()) {
    bool sums = any && seen.hasDistribution();
    value("mean", mpopt_record_mean(&record), sums);
    value(keys::kStd, mpopt_record_stddev(&record), sums);
  }
  // Keys of the JSON, and the names of their formats.
  static constexpr std::pair<StringRef, StringRef> kFormats[] = {
      {"f16", "f16"},
      {"bf16", "bf16"},
      {"e4m3", "f8E4M3FN"},
      {"e5m2", "f8E5M2"}};
  json.attributeObject("overflow", [&] {
    for (auto [key, name] : kFormats)
      json.attribute(key, seen.overflows(*FloatFormat::byName(name)));
  });
  json.attributeObject("underflow", [&] {
    for (auto [key, name] : kFormats)
      json.attribute(key, seen.flushes(*FloatFormat::byName(name)));
  });
  const FloatFormat *format = FloatFormat::byName(judged);
  bool edges = format && std::isfinite(format->overflowFrom);
  value("bits_to_overflow",
        edges && record.absmax > 0
            ? std::log2(format->overflowFrom / record.absmax)
            : 0,
        edges && any && record.absmax > 0);
  value("bits_to_flush",
        edges && seen.nonZero() && format->flushAt > 0
            ? std::log2(record.min_nonzero / format->flushAt)
            : 0,
        edges && seen.nonZero() && format->flushAt > 0);
}

void Writer::writeStatus(size_t index) {
  const Finding &finding = ledger.report.findings[index];
  const FindingStatus &status = confirmation.statuses[index];
  if (status.isGradient)
    json.attribute(keys::kGradient, true);
  json.attribute("status", toString(status.status));
  if (!status.why.empty())
    json.attribute("status_why", jsonText(status.why));
  const std::vector<ProbeSight> &sights =
      status.isGradient ? runs.gradients : runs.probes;
  if (!status.probe || !sights[*status.probe].ran()) {
    json.attribute("observed", nullptr);
    return;
  }
  const Watch &watch = finding.watches[*status.watch];
  json.attributeObject("observed", [&] {
    json.attribute("probe", *status.probe);
    json.attribute("tensor", jsonText(watch.tensor));
    json.attribute("test", StringRef(toString(watch.test)));
    writeObserved(sights[*status.probe], watch.dtype);
    writeStep(json, "first_step", status.firstStep);
  });
}

void Writer::writeBeginning(const FirstBad &first,
                            llvm::ArrayRef<ProbeSight> sights,
                            llvm::ArrayRef<BadValues> bad) {
  auto observed = [&](int64_t probe) {
    writeObserved(sights[probe], ledger.plan.probes[probe].tensor.dtype);
  };
  writeProbeName(first.probe);
  if (first.isInput)
    json.attribute("op", nullptr);
  json.attribute("input", first.isInput);
  json.attribute("step", int64_t(first.step));
  json.attribute("shared_steps", first.sharesSteps);
  json.attribute("sure", first.isSure);
  json.attribute("reaches", toString(first.reaches));
  json.attribute("why", jsonText(first.why));
  json.attributeArray("chain", [&] {
    for (const std::string &op : first.chain)
      json.value(jsonText(op));
  });
  json.attributeObject("observed", [&] { observed(first.probe); });
  json.attributeArray("before", [&] {
    for (int64_t probe : first.before)
      json.object([&] {
        writeProbeName(probe);
        observed(probe);
        writeStep(json, "first_bad_step", bad[probe].step);
      });
  });
}

void Writer::writeBeginnings(llvm::ArrayRef<FirstBad> beginnings,
                             llvm::ArrayRef<ProbeSight> sights,
                             llvm::ArrayRef<BadValues> bad) {
  if (beginnings.empty())
    json.attribute("first_bad", nullptr);
  else
    json.attributeObject(
        "first_bad", [&] { writeBeginning(beginnings.front(), sights, bad); });
  json.attributeArray("beginnings", [&] {
    for (const FirstBad &first : beginnings)
      json.object([&] { writeBeginning(first, sights, bad); });
  });
}

void Writer::writeGradients() {
  size_t ran = runs.countGradients();
  if (!ran) {
    json.attribute("gradients", nullptr);
    return;
  }
  const RecordedGradients &gradients = confirmation.gradients;
  json.attributeObject("gradients", [&] {
    json.attribute("ran", int64_t(ran));
    writeBeginnings(gradients.beginnings, runs.gradients, gradients.bad);
    if (gradients.scales)
      json.attributeObject(keys::kLossScale, [&] {
        writeScale("f16", gradients.scales->f16);
        writeScale("e5m2", gradients.scales->e5m2);
      });
    else
      json.attribute(keys::kLossScale, nullptr);
    json.attributeArray("tensors", [&] {
      for (const Probe &probe : ledger.plan.probes)
        if (const ProbeSight &seen = runs.gradients[probe.id]; seen.ran())
          json.object([&] {
            writeProbeName(probe.id);
            json.attributeObject(
                "observed", [&] { writeObserved(seen, probe.tensor.dtype); });
          });
    });
  });
}

void Writer::writeScale(StringRef key, const BestScale &scale) {
  json.attributeObject(key, [&] {
    json.attribute(keys::kLog2, scale.exponent);
    json.attribute("overflow_at_1", scale.overflowBefore);
    json.attribute("flush_at_1", scale.flushBefore);
    json.attribute("flush", scale.flushAfter);
    json.attribute("subnormal_at_1", scale.subnormalBefore);
    json.attribute("subnormal", scale.subnormalAfter);
  });
}

void Writer::writeAgainst(const RunComparison &against) {
  json.attributeObject("against", [&] {
    json.attribute("files", int64_t(against.files));
    json.attributeArray("differences", [&] {
      for (const RunDifference &entry : against.differences)
        json.object([&] {
          json.attribute("tensor",
                         jsonText(ledger.plan.probes[entry.probe].tensor.name));
          json.attribute("kind", getKindName(entry.kind));
          json.attributeArray("dtypes", [&] {
            for (const std::string &dtype : entry.dtypes)
              json.value(dtype);
          });
          json.attributeArray("rms", [&] {
            for (double size : entry.rootMeanSquares)
              json.value(jsonNumber(size));
          });
          json.attribute("difference", jsonNumber(entry.difference));
          if (entry.elements)
            json.attribute("elements", jsonNumber(*entry.elements));
          json.attribute("explained", jsonNumber(entry.explained));
          if (against.findFirst(entry.kind) == &entry) {
            writeStep(json, "step", entry.step);
            json.attribute(
                "message",
                jsonText(describeDifference(
                    entry, ledger.plan.probes[entry.probe].tensor.name)));
          }
        });
    });
    json.attributeArray("incomparable", [&] {
      for (const RunComparison::Incomparable &entry : against.incomparable)
        json.object([&] {
          json.attribute("tensor", jsonText(entry.tensor));
          json.attribute("kind", getKindName(entry.kind));
          json.attribute("why", jsonText(entry.why));
        });
    });
  });
}

void Writer::writeSummary() {
  json.attributeObject("confirmation", [&] {
    json.attribute("files", int64_t(runs.files));
    json.attributeArray("runtimes", [&] {
      for (const std::string &runtime : runs.runtimes)
        json.value(jsonText(runtime));
    });
    unsigned ran = 0;
    for (const ProbeSight &seen : runs.probes)
      ran += seen.ran();
    json.attribute("probes", int64_t(llvm::count_if(
                                 ledger.plan.probes, [](const Probe &probe) {
                                   return probe.recordsValues();
                                 })));
    json.attribute("ran", ran);
    for (Status status : {Status::Confirmed, Status::Refuted,
                          Status::NotExercised, Status::NotObservable})
      json.attribute(toString(status), confirmation.count(status));
    json.attribute("comparable", confirmation.comparable);
    json.attributeArray("warnings", [&] {
      for (const std::string &warning : runs.warnings)
        json.value(jsonText(warning));
    });
  });
}

/// Inputs outside of their assumptions, and tensors outside of their bounds.
void Writer::writeExceeded() {
  json.attributeArray("outside_assumptions", [&] {
    for (const Outside &outside : confirmation.outside)
      json.object([&] {
        writeProbeName(outside.probe);
        json.attribute("kind", outside.kind);
        json.attribute("text", jsonText(outside.text));
      });
  });
  json.attributeArray("exceeded", [&] {
    for (const Exceeded &exceeded : confirmation.exceeded)
      json.object([&] {
        const TensorFacts &tensor = ledger.plan.probes[exceeded.probe].tensor;
        writeProbeName(exceeded.probe);
        json.attribute("kind", exceeded.kind);
        json.attribute("text", jsonText(exceeded.text));
        json.attributeObject("bound", [&] {
          json.attribute("lo", jsonNumber(tensor.bound.lo));
          json.attribute("hi", jsonNumber(tensor.bound.hi));
        });
        json.attributeObject("observed", [&] {
          writeObserved(runs.probes[exceeded.probe], tensor.dtype);
        });
      });
  });
}

void Writer::writeCodes(const SeenCodes &codes) {
  auto write = [&](StringRef key, const CodeShares &shares) {
    json.attributeObject(key, [&] {
      json.attribute("used", shares.used);
      json.attribute("at_ends", shares.atEnds);
      json.attribute("at_zero", shares.atZero);
    });
  };
  writeProbeName(codes.probe);
  write("expected", codes.expected);
  write("observed", codes.seen);
  json.attributeArray("histogram", [&] {
    for (uint64_t count : runs.probes[codes.probe].codeCounts())
      json.value(count);
  });
}

void Writer::writeRest() {
  writeSummary();
  writeBeginnings(confirmation.beginnings, runs.probes, confirmation.bad);
  writeGradients();
  if (confirmation.against)
    writeAgainst(*confirmation.against);
  writeExceeded();
  json.attributeArray("scales", [&] {
    for (const TensorScales &scales : confirmation.scales)
      json.object([&] {
        json.attribute("probe", scales.probe);
        json.attribute("tensor",
                       jsonText(ledger.plan.probes[scales.probe].tensor.name));
        writeScale("f16", scales.f16);
        writeScale("e4m3", scales.e4m3);
        writeScale("e5m2", scales.e5m2);
      });
  });
  json.attributeArray(keys::kCodes, [&] {
    for (const SeenCodes &codes : confirmation.codes)
      json.object([&] { writeCodes(codes); });
  });
}

void mpopt::writeConfirmFields(OStream &json, const Ledger &ledger,
                               const RunRecords &runs,
                               const Confirmation &confirmation,
                               StringRef version) {
  Writer writer(json, ledger, runs, confirmation);
  writeReportFields(json, ledger.report, version,
                    [&](size_t index) { writer.writeStatus(index); });
  writer.writeRest();
}

void mpopt::writeConfirmJson(llvm::raw_ostream &os, const Ledger &ledger,
                             const RunRecords &runs,
                             const Confirmation &confirmation,
                             const WriteOptions &options) {
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    writeConfirmFields(json, ledger, runs, confirmation, options.version);
  });
  json.flush();
  os << '\n';
}
