//===- RunRecords.cpp - What the probes of a run saw ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Instrument/RunRecords.h"

#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

using namespace mpopt;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

StringRef ProbeSight::dtype() const {
  switch (record.dtype) {
  case MPOPT_F32:
    return "f32";
  case MPOPT_U8:
    return "ui8";
  case MPOPT_I8:
    return "i8";
  case MPOPT_U16:
    return "ui16";
  case MPOPT_I16:
    return "i16";
  case MPOPT_I32:
    return "i32";
  case MPOPT_I64:
    return "i64";
  case MPOPT_BOOL:
    return "i1";
  case MPOPT_F16:
    return "f16";
  case MPOPT_F64:
    return "f64";
  case MPOPT_U32:
    return "ui32";
  case MPOPT_U64:
    return "ui64";
  case MPOPT_BF16:
    return "bf16";
  case MPOPT_F8E4M3FN:
    return "f8E4M3FN";
  case MPOPT_F8E4M3FNUZ:
    return "f8E4M3FNUZ";
  case MPOPT_F8E5M2:
    return "f8E5M2";
  case MPOPT_F8E5M2FNUZ:
    return "f8E5M2FNUZ";
  }
  return {};
}

llvm::ArrayRef<uint64_t> ProbeSight::codeCounts() const {
  // As many as 8 bits have.
  constexpr size_t kCodes = size_t(1) << 8;
  llvm::ArrayRef<uint64_t> counts(record.histogram, kCodes);
  bool isCode = record.dtype == MPOPT_U8 || record.dtype == MPOPT_I8;
  if (!isCode || (record.flags & MPOPT_MIXED_DTYPE) || !record.count ||
      std::accumulate(counts.begin(), counts.end(), uint64_t(0)) !=
          record.count)
    return {};
  return counts;
}

/// The record's number for a format that it counts for; nothing for others.
static std::optional<mpopt_format> getCounted(const ProbeSight &seen,
                                              const FloatFormat &format) {
  // The histogram is of floats; of integers the extremes tell.
  if (!seen.stored())
    return std::nullopt;
  if (format.name == "f16")
    return MPOPT_TO_F16;
  if (format.name == "bf16")
    return MPOPT_TO_BF16;
  if (format.name == "f8E4M3FN")
    return MPOPT_TO_E4M3;
  if (format.name == "f8E5M2")
    return MPOPT_TO_E5M2;
  if (format.name == "f32" && seen.hasDistribution())
    return MPOPT_TO_F32;
  return std::nullopt;
}

uint64_t ProbeSight::overflows(const FloatFormat &format) const {
  if (!finite())
    return 0;
  if (auto counted = getCounted(*this, format))
    return mpopt_record_format(&record, *counted).not_finite;
  return format.overflows(record.absmax);
}

uint64_t ProbeSight::flushes(const FloatFormat &format) const {
  if (!finite() || !nonZero())
    return 0;
  if (auto counted = getCounted(*this, format))
    return mpopt_record_format(&record, *counted).rounds_to_zero;
  return format.flushes(record.min_nonzero);
}

uint64_t ProbeSight::subnormals(const FloatFormat &format) const {
  auto counted = getCounted(*this, format);
  return counted ? mpopt_record_format(&record, *counted).subnormal : 0;
}

static std::optional<uint64_t> getStep(uint64_t step) {
  return step == MPOPT_NEVER ? std::nullopt : std::optional(step);
}

std::optional<uint64_t>
ProbeSight::overflowStep(const FloatFormat &format) const {
  if (auto counted = getCounted(*this, format))
    return getStep(record.first_overflow_step[*counted]);
  return getStep(record.absmax_step);
}

std::optional<uint64_t> ProbeSight::flushStep(const FloatFormat &format) const {
  if (auto counted = getCounted(*this, format))
    return getStep(record.first_flush_step[*counted]);
  return getStep(record.min_nonzero_step);
}

double ProbeSight::rootMeanSquare() const {
  uint64_t values = finite();
  return values ? std::sqrt(mpopt_exact_sum_value(&record.sum_squares) /
                            double(values))
                : 0;
}

size_t RunRecords::countGradients() const {
  return llvm::count_if(gradients,
                        [](const ProbeSight &seen) { return seen.ran(); });
}

namespace {
class Merger {
public:
  Merger(StringRef ledger, StringRef hash, llvm::ArrayRef<Probe> probes)
      : ledger(ledger), hash(hash) {
    runs.probes.resize(probes.size());
    runs.gradients.resize(probes.size());
    for (const Probe &probe : probes) {
      mpopt_record_init(&runs.probes[probe.id].record, uint32_t(probe.id),
                        MPOPT_VALUE);
      mpopt_record_init(&runs.gradients[probe.id].record, uint32_t(probe.id),
                        MPOPT_GRADIENT);
    }
  }

  Error add(const std::string &path);
  RunRecords runs;

private:
  Error checkHeader(const std::string &path, const mpopt_file_header &header);
  Error addProbe(const std::string &path, kernels::ProbeRecord &probe);
  ProbeSight &getSight(const mpopt_record &record);

  StringRef ledger, hash;
  /// The processes that wrote the files: a file read twice would count twice.
  std::set<std::tuple<std::string, uint64_t, uint64_t>> processes;
};
} // namespace

static std::string getText(const char *text, size_t room) {
  return std::string(text, strnlen(text, room));
}

Error Merger::checkHeader(const std::string &path,
                          const mpopt_file_header &header) {
  std::string recorded =
      llvm::toHex(llvm::ArrayRef(header.ledger), /*LowerCase=*/true);
  if (recorded.find_first_not_of('0') == std::string::npos)
    return llvm::createStringError(
        path + ": does not say of which ledger it is a record");
  if (recorded != hash)
    return llvm::createStringError(path + ": is a record of another ledger (" +
                                   recorded.substr(0, 12) + "...) than '" +
                                   ledger.str() + "' (" +
                                   hash.substr(0, 12).str() + "...)");
  std::string host = getText(header.host, sizeof(header.host));
  if (!processes.insert({host, header.pid, header.start_ns}).second)
    return llvm::createStringError(
        path + ": is the record of a run that was given already");
  std::string runtime = getText(header.runtime, sizeof(header.runtime));
  if (!runtime.empty() && !llvm::is_contained(runs.runtimes, runtime))
    runs.runtimes.push_back(std::move(runtime));
  return Error::success();
}

ProbeSight &Merger::getSight(const mpopt_record &record) {
  if (record.kind == MPOPT_VALUE)
    return runs.probes[record.probe];
  if (record.kind == MPOPT_GRADIENT)
    return runs.gradients[record.probe];
  auto [entry, isNew] =
      runs.others.try_emplace({record.kind, int64_t(record.probe)});
  if (isNew)
    mpopt_record_init(&entry->second.record, record.probe, record.kind);
  return entry->second;
}

Error Merger::addProbe(const std::string &path, kernels::ProbeRecord &probe) {
  if (probe.record.kind >= MPOPT_KINDS)
    return llvm::createStringError(path +
                                   ": has a record of the unknown kind " +
                                   Twine(probe.record.kind));
  if (probe.record.probe >= runs.probes.size())
    return llvm::createStringError(path + ": has a record of probe " +
                                   Twine(probe.record.probe) + ", which '" +
                                   ledger + "' does not have");
  ProbeSight &sight = getSight(probe.record);
  bool first = !sight.ran();
  if (!mpopt_record_merge(&sight.record, &probe.record))
    return llvm::createStringError(path + ": the record of probe " +
                                   Twine(probe.record.probe) +
                                   " is of another version");
  // Calls that were skipped say nothing of channels.
  if (!probe.record.calls)
    return Error::success();
  if (sight.record.channels == 0 ||
      (sight.record.flags & MPOPT_CHANNELS_DROPPED))
    sight.channels.clear();
  else if (first)
    sight.channels = std::move(probe.channels);
  else if (sight.channels.size() == probe.channels.size())
    mpopt_channels_merge(sight.channels.data(), probe.channels.data(),
                         uint32_t(sight.channels.size()));
  else
    sight.channels.clear();
  return Error::success();
}

Error Merger::add(const std::string &path) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> file =
      readInputFile(path);
  if (!file)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(file.takeError()));
  StringRef bytes = (*file)->getBuffer();
  kernels::RecordFileResult parsed =
      kernels::parseRecordFile(bytes.data(), bytes.size());
  if (!parsed.error.empty())
    return llvm::createStringError(path + ": " + parsed.error);
  if (Error error = checkHeader(path, parsed.file.header))
    return error;
  if (!parsed.file.damage.empty())
    runs.warnings.push_back(path + ": " + parsed.file.damage);
  else if (!parsed.file.closed)
    runs.warnings.push_back(path + ": the run did not end in order; these are "
                                   "its records until then");
  for (kernels::ProbeRecord &probe : parsed.file.probes)
    if (Error error = addProbe(path, probe))
      return error;
  ++runs.files;
  runs.paths.push_back(path);
  return Error::success();
}

llvm::Expected<RunRecords> mpopt::readRuns(llvm::ArrayRef<std::string> paths,
                                           StringRef ledger,
                                           StringRef ledgerHash,
                                           llvm::ArrayRef<Probe> probes) {
  Merger merger(ledger, ledgerHash, probes);
  for (const std::string &path : paths)
    if (Error error = merger.add(path))
      return error;
  return std::move(merger.runs);
}
