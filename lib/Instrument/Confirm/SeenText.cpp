//===- SeenText.cpp - What probes saw, in words ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SeenText.h"

#include "mpopt/Report/Keys.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;
using llvm::Twine;

std::string confirming::num(double value) {
  std::string out;
  llvm::raw_string_ostream(out) << llvm::format("%.4g", value);
  return out;
}

StringRef confirming::getNoun(bool isGradient) {
  return isGradient ? StringRef(keys::kGradient) : "value";
}

std::string confirming::describeProbe(const Probe &probe) {
  const TensorFacts &tensor = probe.tensor;
  if (tensor.op.name.empty())
    return tensor.name + " (input)";
  return tensor.name + " (" + tensor.op.name + ", " + tensor.op.type + ")";
}

/// How far values are from the two ends of a format.
static std::string describeMargins(const ProbeSight &seen,
                                   const FloatFormat &format) {
  double over = std::log2(format.overflowFrom / seen.record.absmax);
  std::string out = ", " + confirming::num(std::fabs(over)) + " bits " +
                    (over > 0 ? "below" : "past") + " overflow";
  if (format.flushAt > 0) {
    double flush = std::log2(seen.record.min_nonzero / format.flushAt);
    out += ", " + confirming::num(std::fabs(flush)) +
           (flush > 0 ? " above" : " past") + " flush to 0";
  }
  return out;
}

std::string confirming::describeSeen(const ProbeSight &seen, StringRef judged,
                                     StringRef noun, bool zeros) {
  const mpopt_record &record = seen.record;
  if (!seen.ran())
    return record.skipped ? "had no call that was recorded" : "never ran";
  std::string out = plural(record.count, noun);
  if (seen.finite())
    out += " in [" + num(record.min) + ", " + num(record.max) + "]";
  if (!seen.dtype().empty())
    out += " (" + seen.dtype().str() + ")";
  auto part = [&](uint64_t count, StringRef what) {
    if (count)
      out += (", " + Twine(count) + " " + what).str();
  };
  part(record.nan, "NaN");
  part(record.pos_inf, "Inf");
  part(record.neg_inf, "-Inf");
  if (zeros)
    part(record.zero, record.zero == 1 ? "zero" : "zeros");
  const FloatFormat *format = FloatFormat::byName(judged);
  if (!format || !seen.stored() || !seen.nonZero())
    return out;
  if (judged != seen.dtype()) {
    part(seen.overflows(*format), "that are Inf in " + judged.str());
    part(seen.flushes(*format), "that become 0 in " + judged.str());
  }
  if (std::isfinite(format->overflowFrom))
    out += describeMargins(seen, *format);
  return out;
}

std::string confirming::describeScale(const BestScale &scale, uint64_t values) {
  std::string out = "2^" + std::to_string(scale.exponent);
  if (scale.flushAfter)
    out += " (" + num(100.0 * double(scale.flushAfter) / double(values)) +
           " % lost)";
  return out;
}
