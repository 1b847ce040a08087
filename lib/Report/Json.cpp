//===- Json.cpp - Reports as JSON
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schema is a contract (docs/json.md): keys may be added, none changes its
// meaning.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/Keys.h"
#include "mpopt/Report/Report.h"
#include "mpopt/Report/RuleTable.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;
using llvm::json::OStream;

llvm::json::Value mpopt::jsonNumber(double value) {
  if (std::isnan(value))
    return nullptr;
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  return value;
}

std::string mpopt::jsonText(StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

// Names come from files and need not be UTF-8, which JSON must be.
static void attribute(OStream &json, StringRef key, StringRef text) {
  json.attribute(key, jsonText(text));
}

static void attribute(OStream &json, StringRef key,
                      const std::optional<Interval> &interval) {
  if (!interval)
    return;
  json.attributeObject(key, [&] {
    json.attribute("lo", jsonNumber(interval->lo));
    json.attribute("hi", jsonNumber(interval->hi));
  });
}

static void writeLocation(OStream &json,
                          const std::optional<SourceLine> &location) {
  if (location)
    json.attributeObject("location", [&] {
      attribute(json, "file", location->file);
      json.attribute("line", location->line);
    });
}

static void writeWatch(OStream &json, const Watch &watch) {
  json.attribute("test", StringRef(toString(watch.test)));
  json.attribute("part", watch.part);
  attribute(json, "tensor", watch.tensor);
  json.attribute("dtype", watch.dtype);
  if (!watch.against.empty())
    attribute(json, "against", watch.against);
  if (watch.threshold != 0)
    json.attribute("threshold", watch.threshold);
  if (watch.axis >= 0)
    json.attribute("axis", watch.axis);
  if (watch.test == Decision::SumError) {
    json.attribute("terms", watch.terms);
    json.attribute("pairwise", watch.pairwise);
    json.attribute("one_sign", watch.oneSign);
  }
  if (!watch.factor.empty())
    attribute(json, "factor", watch.factor);
  if (watch.scale != 0)
    json.attribute("scale", watch.scale);
  if (watch.test != Decision::Domain && watch.test != Decision::GradientRatio)
    return;
  json.attribute("lo", jsonNumber(watch.lo));
  json.attribute("hi", jsonNumber(watch.hi));
  json.attribute("open", watch.open);
}

/// The key is the loss scale, as a number.
static void writeGradient(OStream &json, const GradientReport &gradient) {
  attribute(json, "parameter", gradient.name);
  json.attribute("dtype", gradient.dtype);
  json.attributeArray(keys::kShape, [&] {
    for (int64_t dim : gradient.shape)
      json.value(dim);
  });
  if (gradient.known) {
    json.attributeObject("likely", [&] {
      json.attribute("rms", jsonNumber(gradient.rms));
      json.attribute("absmax", jsonNumber(gradient.absMax));
      json.attribute("zero", gradient.zero);
      json.attributeObject("hist", [&] {
        for (auto [exponent, share] : gradient.sizes)
          json.attribute(std::to_string(exponent), share);
      });
    });
    json.attributeObject("flushed", [&] {
      json.attribute("1", gradient.lostUnscaled);
      json.attribute("65536", gradient.lostUsual);
    });
    if (gradient.error)
      json.attribute("expected_error", jsonNumber(*gradient.error));
    else
      json.attribute("expected_error", nullptr);
  } else {
    json.attribute("likely", nullptr);
  }
  json.attributeArray("bound", [&] {
    json.value(jsonNumber(gradient.bound.lo));
    json.value(jsonNumber(gradient.bound.hi));
  });
}

static void writeTraining(OStream &json, const TrainingReport &training) {
  json.attributeObject("training", [&] {
    json.attributeArray("loss", [&] {
      for (const std::string &term : training.loss)
        json.value(jsonText(term));
    });
    json.attributeArray("settings", [&] {
      for (const StepSetting &setting : training.settings)
        json.object([&] {
          json.attribute("name", setting.name);
          json.attribute("value", jsonText(setting.value));
          json.attribute("source", jsonText(setting.source));
        });
    });
    json.attributeObject("scale", [&] {
      const ScaleReport &scale = training.scale;
      auto exponent = [](std::optional<int> value) {
        return value ? llvm::json::Value(*value) : nullptr;
      };
      bool isKnown =
          llvm::any_of(training.parameters, [](const GradientReport &gradient) {
            return gradient.known;
          });
      json.attribute("needed",
                     isKnown ? llvm::json::Value(scale.needed) : nullptr);
      json.attribute("lo", exponent(scale.lo));
      json.attribute("hi", exponent(scale.hi));
      json.attribute("recommended", scale.recommended
                                        ? jsonNumber(*scale.recommended)
                                        : nullptr);
      json.attributeArray("limited_by", [&] {
        json.value(jsonText(scale.top));
        json.value(jsonText(scale.bottom));
      });
      json.attribute("lost_at_any", scale.floor);
    });
    json.attributeArray("gradients", [&] {
      for (const GradientReport &gradient : training.parameters)
        json.object([&] { writeGradient(json, gradient); });
    });
    json.attributeArray("updates", [&] {
      for (const UpdateReport &update : training.updates)
        json.object([&] {
          attribute(json, "parameter", update.parameter);
          json.attribute("size", jsonNumber(update.size));
          json.attributeObject("lost", [&] {
            json.attribute("f16", update.lostF16);
            json.attribute("bf16", update.lostBF16);
          });
        });
    });
    if (training.fp8)
      json.attributeObject("fp8", [&] { writeLayers(json, *training.fp8); });
    if (training.memory)
      writeMemory(json, *training.memory);
  });
}

static void writeOp(OStream &json, const OpRef &op) {
  json.attributeObject("op", [&] {
    attribute(json, "name", op.name);
    attribute(json, "type", op.type);
    attribute(json, "scope", op.scope);
    attribute(json, "kind", op.kind);
  });
}

static void writeFinding(OStream &json, const Finding &finding) {
  json.attribute("rule", finding.rule);
  const RuleInfo *rule = findRule(finding.rule);
  json.attribute("name", rule ? StringRef(rule->name) : StringRef());
  json.attribute("severity", StringRef(toString(finding.severity)));
  json.attribute("certainty", StringRef(toString(finding.certainty)));
  if (finding.byTraining)
    json.attribute("reachable", "training");
  if (!finding.witness.empty())
    attribute(json, "witness", finding.witness);
  writeOp(json, finding.op);
  attribute(json, "tensor", finding.tensor);
  json.attribute("dtype", finding.dtype);
  attribute(json, "bound", finding.bound);
  attribute(json, "likely", finding.likely);
  attribute(json, "message", finding.message);
  json.attributeArray("cause", [&] {
    for (const Cause &cause : finding.causes)
      json.object([&] {
        attribute(json, "tensor", cause.tensor);
        attribute(json, "op", cause.op);
        attribute(json, "why", cause.why);
        writeLocation(json, cause.location);
      });
  });
  json.attributeArray("fixes", [&] {
    for (const Fix &fix : finding.fixes)
      json.object([&] {
        json.attribute("kind", fix.kind);
        json.attribute("safe", fix.safe);
        attribute(json, "text", fix.text);
      });
  });
  if (!finding.watches.empty())
    json.attributeArray("decided_by", [&] {
      for (const Watch &watch : finding.watches)
        json.object([&] { writeWatch(json, watch); });
    });
  if (finding.effect)
    json.attributeObject("effect", [&] {
      attribute(json, "output", finding.effect->output);
      json.attribute("expected_error", jsonNumber(finding.effect->error));
    });
  writeLocation(json, finding.location);
  if (!finding.root.empty())
    json.attribute("root", finding.root);
  json.attribute("fingerprint", finding.fingerprint);
  if (!finding.counts())
    json.attribute("standing", StringRef(toString(finding.standing)));
  if (!finding.reason.empty())
    attribute(json, "reason", finding.reason);
}

void mpopt::writeBaselineEntry(OStream &json, const BaselineEntry &entry) {
  json.attribute("fingerprint", jsonText(entry.fingerprint));
  attribute(json, "rule", entry.rule);
  json.attribute("severity", StringRef(toString(entry.severity)));
  json.attribute("certainty", StringRef(toString(entry.certainty)));
  attribute(json, "op", entry.op);
  attribute(json, "message", entry.message);
}

static void writeTriedInputs(OStream &json, const TriedInputs &tried) {
  json.attributeObject("tried_inputs", [&] {
    json.attributeArray("inputs", [&] {
      for (const auto &[input, bound] : tried.inputs)
        json.object([&] {
          attribute(json, "input", input);
          json.attribute("lo", jsonNumber(bound.lo));
          json.attribute("hi", jsonNumber(bound.hi));
        });
    });
    attribute(json, "output", tried.worst.output);
    json.attribute("expected_error", jsonNumber(tried.worst.error));
    json.attribute("level", tried.worst.level);
    json.attribute("unknown", tried.open);
  });
}

static void writeEffects(OStream &json, llvm::ArrayRef<EffectReport> effects) {
  json.attributeArray("effects", [&] {
    for (const EffectReport &effect : effects)
      json.object([&] {
        attribute(json, "output", effect.output);
        json.attribute("expected_error", jsonNumber(effect.error));
        json.attribute("expected_rms", jsonNumber(effect.rms));
        if (effect.byCause)
          json.attributeObject("by", [&] {
            for (auto [cause, error] :
                 llvm::zip(kQuantizationCauses, *effect.byCause))
              json.attribute(cause, jsonNumber(error));
          });
        if (!effect.slices.empty())
          json.attributeArray("slices", [&] {
            for (const EffectSlice &slice : effect.slices)
              json.object([&] {
                json.attribute("from", slice.from);
                json.attribute("to", slice.to);
                json.attribute("axis", slice.axis);
                json.attribute("expected_error", jsonNumber(slice.error));
              });
          });
        if (!effect.unknown.empty())
          attribute(json, "unknown", effect.unknown);
        if (!effect.undeclared.empty())
          attribute(json, "undeclared", effect.undeclared);
        if (effect.stop)
          writeOp(json, *effect.stop);
        // Scripts read these keys; no analysis bounds errors yet.
        json.attribute("bound", nullptr);
        json.attribute("absolute_bound", nullptr);
        if (!effect.sizes.empty())
          json.attributeObject("assumed_dims", [&] {
            for (const auto &[dim, size] : effect.sizes)
              json.attribute(jsonText(dim), size);
          });
        json.attributeArray("causes", [&] {
          for (const EffectReport::Cause &cause : effect.causes)
            json.object([&] {
              attribute(json, "fingerprint", cause.fingerprint);
              json.attribute("share", cause.share);
            });
        });
        json.attributeArray("tensors", [&] {
          for (const EffectReport::Tensor &tensor : effect.tensors)
            json.object([&] {
              attribute(json, "tensor", tensor.tensor);
              json.attribute("share", tensor.share);
            });
        });
      });
  });
}

static void writeDecisions(OStream &json,
                           llvm::ArrayRef<DecisionReport> decisions) {
  json.attributeArray("decisions", [&] {
    for (const DecisionReport &decision : decisions)
      json.object([&] {
        attribute(json, "output", decision.output);
        attribute(json, "elements", decision.elements);
        json.attribute("changed", jsonNumber(decision.share));
        if (!decision.unknown.empty())
          attribute(json, "unknown", decision.unknown);
      });
  });
}

void mpopt::writeAssumptions(OStream &json,
                             llvm::ArrayRef<Assumption> assumptions) {
  json.attributeArray("assumptions", [&] {
    for (const Assumption &assumption : assumptions)
      json.object([&] {
        attribute(json, "input", assumption.input);
        json.attribute("lo", jsonNumber(assumption.bound.lo));
        json.attribute("hi", jsonNumber(assumption.bound.hi));
        json.attribute("mean", jsonNumber(assumption.mean));
        json.attribute(keys::kStd, jsonNumber(assumption.std));
        json.attribute("source", assumption.source);
        if (!assumption.why.empty())
          attribute(json, "why", assumption.why);
        if (assumption.byElement)
          json.attribute("by_element", true);
      });
  });
}

static void writeModel(OStream &json, const ModelReport &report,
                       StringRef version) {
  json.attribute("schema", "mpopt-report/1");
  json.attributeObject("tool", [&] {
    json.attribute("name", "mpopt");
    json.attribute("version", version);
  });
  json.attributeObject("model", [&] {
    attribute(json, "path", report.path);
    json.attribute("format", report.format);
    json.attribute("nodes", report.nodes);
    json.attribute("parameters", report.parameters);
  });
  json.attribute("precision", report.precision);
  if (!report.policy.empty())
    attribute(json, "policy", report.policy);
  if (!report.target.empty())
    json.attributeObject("target", [&] {
      attribute(json, "name", report.target);
      attribute(json, "summary", report.targetSummary);
    });
}

static void writeCounts(OStream &json, const ModelReport &report) {
  json.attributeObject("coverage", [&] {
    json.attribute("ops", report.ops);
    json.attribute("modelled", report.modelled);
    json.attributeObject("unmodelled", [&] {
      for (const auto &[type, count] : report.unmodelled)
        json.attribute(jsonText(type), count);
    });
    json.attributeObject("unknown_ranges", [&] {
      for (const auto &[type, count] : report.unknownRanges)
        json.attribute(jsonText(type), count);
    });
  });
  json.attributeObject("summary", [&] {
    SeverityCounts counts = countSeverities(report.findings);
    json.attribute("error", counts.error);
    json.attribute("warning", counts.warning);
    json.attribute("note", counts.note);
    json.attribute("certain", report.certain);
    json.attribute("likely", report.likely);
    json.attribute("possible", report.possible);
    json.attribute("consequences", report.consequences);
    json.attribute("proved", report.proved);
    json.attribute("tensors", report.tensors);
  });
}

void mpopt::writeReportFields(OStream &json, const ModelReport &report,
                              StringRef version,
                              llvm::function_ref<void(size_t)> more) {
  writeModel(json, report, version);
  writeAssumptions(json, report.assumptions);
  writeCounts(json, report);
  if (!report.settings.empty())
    attribute(json, "settings", report.settings);
  if (report.baseline)
    json.attributeObject("baseline", [&] {
      attribute(json, "file", report.baseline->file);
      json.attribute("known", report.baseline->known);
      json.attributeArray("fixed", [&] {
        for (const BaselineEntry &entry : report.baseline->fixed)
          json.object([&] { writeBaselineEntry(json, entry); });
      });
    });
  if (report.safeInputs)
    json.attributeArray("safe_input", [&] {
      for (const SafeScale &scale : *report.safeInputs)
        json.object([&] {
          attribute(json, "input", scale.input);
          json.attribute("proved", scale.proved);
          json.attribute("likely", scale.likely);
        });
    });
  if (!report.effects.empty()) {
    writeEffects(json, report.effects);
    if (report.tried)
      writeTriedInputs(json, *report.tried);
    json.attribute("effect_warning", jsonNumber(report.effectWarning));
  }
  if (report.scaling)
    writeScaling(json, *report.scaling);
  if (!report.decisions.empty())
    writeDecisions(json, report.decisions);
  if (report.training)
    writeTraining(json, *report.training);
  if (!report.warnings.empty())
    json.attributeArray("warnings", [&] {
      for (const std::string &warning : report.warnings)
        json.value(jsonText(warning));
    });
  json.attributeArray("findings", [&] {
    for (size_t index = 0; index < report.findings.size(); ++index)
      json.object([&] {
        writeFinding(json, report.findings[index]);
        if (more)
          more(index);
      });
  });
}

bool mpopt::isFailing(const Finding &finding, std::optional<Severity> failOn) {
  return finding.counts() && !finding.byTraining && !finding.byWitness &&
         failOn && finding.severity >= *failOn;
}

SeverityCounts mpopt::countSeverities(llvm::ArrayRef<Finding> findings) {
  SeverityCounts counts;
  for (const Finding &finding : findings) {
    if (!finding.counts() || finding.byTraining || finding.byWitness)
      continue;
    counts.error += finding.severity == Severity::Error;
    counts.warning += finding.severity == Severity::Warning;
    counts.note += finding.severity == Severity::Note;
  }
  return counts;
}

void mpopt::writeJson(llvm::raw_ostream &os,
                      llvm::ArrayRef<ModelReport> reports,
                      const WriteOptions &options) {
  OStream json(os, /*IndentSize=*/2);
  if (!options.several) {
    json.object(
        [&] { writeReportFields(json, reports.front(), options.version); });
  } else {
    json.object([&] {
      json.attribute("schema", "mpopt-reports/1");
      json.attributeArray("reports", [&] {
        for (const ModelReport &report : reports)
          json.object(
              [&] { writeReportFields(json, report, options.version); });
      });
    });
  }
  json.flush();
  os << '\n';
}
