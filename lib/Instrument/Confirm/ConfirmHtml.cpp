//===- ConfirmHtml.cpp - A confirmation as an HTML file -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page of the report, whose map has the tensors that were probed, each with
// what the run saw of it.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Instrument/Confirm.h"
#include "mpopt/Report/Page.h"

#include "llvm/ADT/STLExtras.h"

#include <iterator>

using namespace mpopt;

static ExponentCounts getExponents(const mpopt_record &record) {
  llvm::ArrayRef<uint64_t> bins(record.histogram);
  const auto *first = llvm::find_if(bins, [](uint64_t count) { return count; });
  if (first == bins.end())
    return {};
  ExponentCounts exponents;
  exponents.first = int(first - bins.begin()) - MPOPT_BIN_OF_EXPONENT(0);
  for (uint64_t count : bins.drop_front(first - bins.begin()))
    exponents.counts.push_back(double(count));
  while (exponents.counts.back() == 0)
    exponents.counts.pop_back();
  return exponents;
}

static std::optional<SeenTensor> getSeen(const ProbeSight &sight) {
  if (!sight.ran())
    return std::nullopt;
  const mpopt_record &record = sight.record;
  SeenTensor seen;
  seen.dtype = sight.dtype();
  seen.count = record.count;
  seen.zero = record.zero;
  seen.nan = record.nan;
  seen.inf = sight.infinite();
  if (sight.finite())
    seen.absMax = record.absmax;
  if (sight.nonZero())
    seen.minNonZero = record.min_nonzero;
  if (sight.stored() && sight.hasDistribution())
    seen.exponents = getExponents(record);
  return seen;
}

static ModelMap makeMap(const Ledger &ledger, const RunRecords &runs) {
  ModelMap map;
  // By probe: its place in the map, or none.
  std::vector<std::optional<unsigned>> places(ledger.plan.probes.size());
  for (const Probe &probe : ledger.plan.probes) {
    const TensorFacts &facts = probe.tensor;
    if (probe.role == ProbeRole::Scalar)
      continue;
    MapTensor tensor;
    tensor.name = facts.name;
    tensor.dtype = facts.dtype;
    tensor.op = facts.op;
    tensor.location = facts.location;
    tensor.bound = facts.bound;
    tensor.nan = facts.nan;
    tensor.posInf = facts.posInf;
    tensor.negInf = facts.negInf;
    tensor.minNonZero = facts.minNonZero;
    tensor.likely = facts.likely;
    tensor.isInput = facts.op.name.empty();
    tensor.isOutput = probe.output;
    tensor.seen = getSeen(runs.probes[probe.id]);
    tensor.seenGradient = getSeen(runs.gradients[probe.id]);
    for (int64_t from : probe.from)
      if (size_t(from) < places.size() && places[from])
        tensor.operands.push_back(*places[from]);
    places[probe.id] = unsigned(map.tensors.size());
    map.tensors.push_back(std::move(tensor));
  }
  return map;
}

void mpopt::writeConfirmPage(llvm::json::OStream &json, const Ledger &ledger,
                             const RunRecords &runs,
                             const Confirmation &confirmation,
                             llvm::StringRef version) {
  writeConfirmFields(json, ledger, runs, confirmation, version);
  writeMap(json, makeMap(ledger, runs));
}

void mpopt::writeConfirmHtml(llvm::raw_ostream &os, const Ledger &ledger,
                             const RunRecords &runs,
                             const Confirmation &confirmation,
                             const WriteOptions &options) {
  writePage(os, "confirm", options.version, [&](llvm::json::OStream &json) {
    json.object([&] {
      writeConfirmPage(json, ledger, runs, confirmation, options.version);
    });
  });
}
