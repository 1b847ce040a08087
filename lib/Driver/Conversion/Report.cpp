//===- Report.cpp - What a conversion says of itself
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Report.h"

#include "Verify.h"

#include "mpopt/Effects/Severity.h"
#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/RuleTable.h"
#include "mpopt/Report/TextStyle.h"
#include "mpopt/Support/Printable.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace mpopt;
using llvm::StringRef;
using llvm::json::OStream;

static void writeKept(OStream &json, const Conversion &made) {
  json.attributeArray("kept", [&] {
    for (const KeptNode &kept : made.kept)
      json.object([&] {
        json.attribute("node", jsonText(kept.name));
        json.attribute("type", jsonText(kept.type));
        json.attribute("scope", jsonText(kept.scope));
        if (kept.operands.empty())
          json.attribute("operands", nullptr);
        else
          json.attributeArray("operands", [&] {
            for (unsigned operand : kept.operands)
              json.value(int64_t(operand));
          });
        json.attribute("why", jsonText(kept.why));
      });
  });
}

static void writeVerified(OStream &json, const VerifiedConversion &verified) {
  auto write = [&](StringRef key, llvm::ArrayRef<VerifiedValue> values) {
    json.attributeArray(key, [&] {
      for (const VerifiedValue &value : values)
        json.object([&] {
          json.attribute("name", jsonText(value.name));
          json.attribute("error", jsonNumber(value.error));
          json.attribute("changed", value.changed);
          json.attribute("lost", int64_t(value.lost));
          if (!value.misfit.empty())
            json.attribute("misfit", jsonText(value.misfit));
        });
    });
  };
  json.attributeObject("verified", [&] {
    json.attribute("runs", int64_t(verified.runs));
    write("outputs", verified.outputs);
    if (!verified.tensors.empty())
      write("tensors", verified.tensors);
  });
}

static void writeScaled(OStream &json, const Conversion &made) {
  json.attributeArray("scaled", [&] {
    for (const TensorInFp8 &operand : made.scaled)
      json.object([&] {
        json.attribute("tensor", jsonText(operand.tensor));
        json.attribute("to", "f8E4M3FN");
        json.attribute("scales", llvm::json::Array(operand.scales));
      });
  });
}

void mpopt::writeConversion(llvm::raw_ostream &os, const Options &options,
                            const JudgedConversion &judged, StringRef version) {
  const Conversion &made = judged.made;
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", "mpopt-convert/1");
    json.attributeObject("tool", [&] {
      json.attribute("name", "mpopt");
      json.attribute("version", version);
    });
    json.attribute("model", jsonText(options.models.front()));
    json.attribute("output", jsonText(options.output));
    json.attribute("to", options.convert.to);
    json.attribute("copied", judged.isCopy);
    writeKept(json, made);
    if (options.convert.withFixes)
      json.attributeArray("fixes", [&] {
        for (const std::string &fix : judged.fixes)
          json.value(jsonText(fix));
      });
    json.attributeArray("io", [&] {
      for (const ConvertedBorder &border : made.io)
        json.object([&] {
          json.attribute("name", jsonText(border.name));
          json.attribute("from", border.from);
          json.attribute("to", border.to);
        });
    });
    json.attributeArray("bytes", [&] {
      json.value(int64_t(made.bytesBefore));
      json.value(int64_t(made.bytesAfter));
    });
    json.attributeArray("casts", [&] {
      for (const InsertedCast &cast : made.casts)
        json.object([&] {
          json.attribute("tensor", jsonText(cast.tensor));
          json.attribute("scope", jsonText(cast.scope));
          json.attribute("to", cast.to);
          json.attribute("why", jsonText(cast.why));
        });
    });
    if (!made.scaled.empty())
      writeScaled(json, made);
    json.attribute("expected_error", judged.error ? jsonNumber(*judged.error)
                                                  : llvm::json::Value(nullptr));
    json.attribute("macs_fp32_share", judged.work.wideShare());
    json.attribute("bytes_cast", made.castBytes);
    if (judged.verified)
      writeVerified(json, *judged.verified);
    if (!judged.obstacle.empty())
      json.attribute("obstacle", jsonText(judged.obstacle));
  });
  json.flush();
  os << '\n';
}

std::string mpopt::sumUp(const Options &options,
                         const JudgedConversion &judged) {
  const Conversion &made = judged.made;
  std::string text = printable(options.output) + ": ";
  if (judged.isCopy)
    return text + "a copy: nothing in it is left to become " +
           options.convert.to;
  // A result that is FP32 for the most part is none that was asked for.
  constexpr double kLittle = 0.9;
  double wide = judged.work.wideShare();
  // Operands in FP8 are not counted.
  if (wide > kLittle && made.scaled.empty())
    text += llvm::formatv("only {0:P0} of the multiplications became low; ",
                          1 - wide)
                .str();
  text += plural(made.kept.size(), "node") + " of " +
          std::to_string(judged.nodes) + " in FP32, " +
          plural(made.casts.size(), "inserted cast");
  if (!judged.fixes.empty())
    text += ", " + plural(judged.fixes.size(), "finding") + " fixed";
  if (!made.scaled.empty())
    text += ", " + plural(made.scaled.size(), "tensor") + " in FP8";
  if (made.bytesBefore > 0)
    text += llvm::formatv(", weights {0:P0} of their size before",
                          double(made.bytesAfter) / double(made.bytesBefore))
                .str();
  if (judged.error)
    text +=
        llvm::formatv(", expected error {0:F3} %", *judged.error * 100).str();
  if (judged.verified)
    text += ", " + describe(*judged.verified);
  return text;
}

//===----------------------------------------------------------------------===//
// Of the analysis
//===----------------------------------------------------------------------===//

std::set<std::string> mpopt::listHazards(const ModelReport &report) {
  std::set<std::string> found;
  const RuleInfo *overflow = findRule("overflow");
  for (const Finding &finding : report.findings)
    if (const RuleInfo *rule = findRule(finding.rule);
        rule && rule->family == overflow->family && !rule->byEffect &&
        finding.severity > Severity::Note)
      found.insert(finding.rule + " " + std::string(rule->name) + " at '" +
                   finding.op.name + "'");
  return found;
}

std::optional<double> mpopt::getLargestError(const ModelReport &report) {
  if (report.effects.empty())
    return std::nullopt;
  double largest = 0;
  for (const EffectReport &effect : report.effects) {
    if (std::isnan(effect.error))
      return std::nullopt;
    largest = std::max(largest, effect.error);
  }
  return largest;
}

std::string mpopt::describeError(double error, double most) {
  if (std::isinf(error))
    return "an output is expected to become Inf or NaN";
  return llvm::formatv("the expected error is {0:F3} %, and {1:F3} % is asked "
                       "for",
                       error * 100, most * 100)
      .str();
}

//===----------------------------------------------------------------------===//
// The stamp
//===----------------------------------------------------------------------===//

static llvm::json::Object describeRequest(const Options &options) {
  const ConvertOptions &asked = options.convert;
  auto list = [](const std::vector<std::string> &words) {
    llvm::json::Array array;
    for (const std::string &word : words)
      array.push_back(jsonText(word));
    return array;
  };
  llvm::json::Object inputs;
  for (const auto &[name, range] : options.inputs) {
    std::string text;
    if (range.bound)
      text = llvm::formatv("{0}:{1}", range.bound->lo, range.bound->hi).str();
    if (range.mean)
      text += llvm::formatv("~{0},{1}", *range.mean, range.std.value_or(0));
    if (!range.file.empty())
      text += "@"; // names a path of this machine
    inputs[jsonText(name)] = text;
  }
  llvm::json::Array states;
  for (const CarriedState &state : asked.states)
    states.push_back(jsonText(state.input + "=" + state.output + ":" +
                              std::to_string(state.steps)));
  llvm::json::Object request{{"to", asked.to},
                             {"opset", int64_t(asked.opset)},
                             {"states", std::move(states)},
                             {"policy", jsonText(options.policy)},
                             {"target", options.target},
                             {"keep", list(asked.keep)},
                             {"never", list(asked.never)},
                             {"assume_fp16", list(asked.assumed)},
                             {"keep_io", list(asked.keepIo)},
                             {"keep_all_io", asked.keepsAllIo},
                             {"inputs", std::move(inputs)}};
  if (asked.maxError)
    request["max_error"] = *asked.maxError;
  if (asked.withFixes)
    request["fixes"] = true;
  return request;
}

std::string mpopt::makeStamp(const Options &options, StringRef sourceHash,
                             const Conversion &made) {
  llvm::json::Array kept;
  for (const KeptNode &node : made.kept)
    kept.push_back(jsonText(node.scope.empty() ? node.name
                                               : node.scope + "/" + node.name));
  llvm::json::Value stamp =
      llvm::json::Object{{"schema", "mpopt-converted/1"},
                         {"source_sha256", sourceHash},
                         {"request", describeRequest(options)},
                         {"kept", std::move(kept)}};
  return llvm::formatv("{0}", stamp).str();
}

bool mpopt::isStampOf(StringRef stamp, const Options &options) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(stamp);
  if (!value) {
    llvm::consumeError(value.takeError());
    return false;
  }
  const llvm::json::Object *object = value->getAsObject();
  const llvm::json::Object *request =
      object ? object->getObject("request") : nullptr;
  return request && *request == describeRequest(options);
}
