//===- Page.cpp - Reports as one HTML file --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/Page.h"

#include "ReportWriters.h"

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Report/Keys.h"
#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <zlib.h>

using namespace mpopt;
using llvm::StringRef;
using llvm::json::OStream;

// The page, which lib/Report/Page is made into.
static constexpr llvm::StringLiteral kTemplate =
#include "Page.inc"
    ;
static constexpr llvm::StringLiteral kPlace = "<!-- data -->"; // of the data

/// Six digits are more than a plot shows.
static void writeNumber(OStream &json, double value) {
  if (!std::isfinite(value)) {
    json.value(jsonNumber(value));
    return;
  }
  json.rawValue(
      [&](llvm::raw_ostream &os) { os << llvm::format("%.6g", value); });
}

static void writeCounts(OStream &json, const ExponentCounts &exponents) {
  if (exponents.empty()) {
    json.value(nullptr);
    return;
  }
  json.array([&] {
    json.value(exponents.first);
    for (double count : exponents.counts)
      json.rawValue(
          [&](llvm::raw_ostream &os) { os << llvm::format("%.4g", count); });
  });
}

static void writeSeen(OStream &json, const std::optional<SeenTensor> &seen) {
  if (!seen) {
    json.value(nullptr);
    return;
  }
  json.object([&] {
    json.attribute("dtype", seen->dtype);
    json.attribute("count", seen->count);
    json.attribute("zero", seen->zero);
    json.attribute("nan", seen->nan);
    json.attribute("inf", seen->inf);
    json.attribute("absmax", jsonNumber(seen->absMax));
    json.attribute("min_nonzero", jsonNumber(seen->minNonZero));
    json.attributeBegin("exponents");
    writeCounts(json, seen->exponents);
    json.attributeEnd();
  });
}

using Column = llvm::function_ref<void(
    StringRef key, llvm::function_ref<void(const MapTensor &)> write)>;

/// Names, and where each tensor is in the sources.
static void writeNames(OStream &json, Column column) {
  auto text = [&](StringRef key, std::string MapTensor::*member) {
    column(key, [&](const MapTensor &tensor) {
      json.value(jsonText(tensor.*member));
    });
  };
  auto ofOp = [&](StringRef key, std::string OpRef::*member) {
    column(key, [&](const MapTensor &tensor) {
      json.value(jsonText(tensor.op.*member));
    });
  };
  text("tensor", &MapTensor::name);
  text("dtype", &MapTensor::dtype);
  ofOp("op", &OpRef::name);
  ofOp("type", &OpRef::type);
  ofOp("scope", &OpRef::scope);
  column("file", [&](const MapTensor &tensor) {
    json.value(tensor.location
                   ? llvm::json::Value(jsonText(tensor.location->file))
                   : nullptr);
  });
  column("line", [&](const MapTensor &tensor) {
    json.value(tensor.location ? tensor.location->line : 0);
  });
}

/// The statistics of each tensor's values.
static void writeRanges(OStream &json, Column column) {
  column("lo",
         [&](const MapTensor &tensor) { writeNumber(json, tensor.bound.lo); });
  column("hi",
         [&](const MapTensor &tensor) { writeNumber(json, tensor.bound.hi); });
  column("nonfinite", [&](const MapTensor &tensor) {
    json.value(int(tensor.nan) + 2 * tensor.posInf + 4 * tensor.negInf);
  });
  column("least", [&](const MapTensor &tensor) {
    writeNumber(json, tensor.minNonZero);
  });
  column("likely", [&](const MapTensor &tensor) {
    if (!tensor.likely) {
      json.value(nullptr);
      return;
    }
    json.array([&] {
      writeNumber(json, tensor.likely->lo);
      writeNumber(json, tensor.likely->hi);
    });
  });
  column("exponents",
         [&](const MapTensor &tensor) { writeCounts(json, tensor.exponents); });
}

// A column for each field: equal keys and alike values beside each other.
void mpopt::writeMap(OStream &json, const ModelMap &map) {
  auto column = [&](StringRef key,
                    llvm::function_ref<void(const MapTensor &)> write) {
    json.attributeArray(key, [&] {
      for (const MapTensor &tensor : map.tensors)
        write(tensor);
    });
  };
  json.attributeObject("map", [&] {
    writeNames(json, column);
    writeRanges(json, column);
    if (llvm::any_of(map.tensors, [](const MapTensor &tensor) {
          return tensor.seen || tensor.seenGradient;
        })) {
      column("seen",
             [&](const MapTensor &tensor) { writeSeen(json, tensor.seen); });
      column("seen_gradient", [&](const MapTensor &tensor) {
        writeSeen(json, tensor.seenGradient);
      });
    }
    column("operands", [&](const MapTensor &tensor) {
      json.array([&] {
        for (unsigned operand : tensor.operands)
          json.value(operand);
      });
    });
    column("role", [&](const MapTensor &tensor) {
      json.value(int(tensor.isInput) + 2 * tensor.isOutput);
    });
  });
}

/// All pages of rules: a reader may look for one that found nothing.
static void writeRules(OStream &json) {
  json.attributeArray("rules", [&] {
    for (const RuleInfo &rule : getRules())
      json.object([&] {
        json.attribute("id", StringRef(rule.id));
        json.attribute("name", StringRef(rule.name));
        json.attribute("summary", StringRef(rule.summary));
        json.attribute("what", StringRef(rule.what));
        json.attribute("why", StringRef(rule.why));
        json.attribute("example", StringRef(rule.example));
        json.attribute("instead", StringRef(rule.instead));
      });
  });
}

static std::string compressed(StringRef text) {
  uLongf size = compressBound(text.size());
  std::string bytes(size, '\0');
  if (compress2(reinterpret_cast<Bytef *>(bytes.data()), &size,
                reinterpret_cast<const Bytef *>(text.data()), text.size(),
                /*level=*/6) != Z_OK)
    llvm::report_fatal_error("zlib cannot compress a report");
  bytes.resize(size);
  return bytes;
}

void mpopt::writePage(llvm::raw_ostream &os, StringRef kind, StringRef version,
                      llvm::function_ref<void(OStream &)> writeReports) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream json(stream);
  json.object([&] {
    json.attribute("schema", "mpopt-page/1");
    json.attribute("kind", kind);
    json.attribute("version", version);
    json.attributeArray("reports", [&] { writeReports(json); });
    writeRules(json);
  });
  json.flush();
  auto [before, after] = StringRef(kTemplate).split(kPlace);
  os << before << llvm::encodeBase64(compressed(text)) << after;
}

void mpopt::writePageReport(OStream &json, const ModelReport &report,
                            StringRef version) {
  writeReportFields(json, report, version);
  if (report.map)
    writeMap(json, *report.map);
}

void mpopt::writeHtml(llvm::raw_ostream &os,
                      llvm::ArrayRef<ModelReport> reports,
                      const WriteOptions &options) {
  writePage(os, "check", options.version, [&](OStream &json) {
    for (const ModelReport &report : reports)
      json.object([&] { writePageReport(json, report, options.version); });
  });
}
