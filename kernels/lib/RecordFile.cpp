//===- RecordFile.cpp - Reading .mprec files
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing in the file is trusted: sizes are checked against the bytes there are
// before anything is read or allocated.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Kernels/RecordFile.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

using namespace mpopt::kernels;

static_assert(sizeof(mpopt_file_header) == 216 && sizeof(mpopt_extent) == 32 &&
                  sizeof(mpopt_copy) == 16,
              "the layout is what files hold: raise MPOPT_FILE_VERSION");

uint64_t mpopt_checksum(uint64_t seed, const void *data, size_t bytes) {
  constexpr uint64_t prime = 0x100000001B3ull;
  const char *from = static_cast<const char *>(data);
  uint64_t sum = seed ^ 0xCBF29CE484222325ull;
  for (; bytes; from += 8) {
    uint64_t word = 0;
    size_t here = std::min<size_t>(bytes, 8);
    std::memcpy(&word, from, here);
    sum = (sum ^ word) * prime;
    // The product's low bits hardly depend on the word's high ones.
    sum ^= sum >> 29;
    bytes -= here;
  }
  return sum;
}

static uint32_t swapped(uint32_t word) { return __builtin_bswap32(word); }

/// Empty if the header is one of ours.
static std::string checkHeader(const mpopt_file_header &header) {
  if (std::memcmp(header.magic, MPOPT_FILE_MAGIC, sizeof(header.magic)) != 0)
    return "not a record file";
  if (header.endian == swapped(MPOPT_FILE_ENDIAN))
    return "written on a machine of the other byte order";
  if (header.version != MPOPT_FILE_VERSION)
    return "version " + std::to_string(header.version) +
           " of the record file is not known";
  if (header.endian != MPOPT_FILE_ENDIAN ||
      header.header_bytes != sizeof(mpopt_file_header) ||
      header.record_bytes != sizeof(mpopt_record) ||
      header.checksum !=
          mpopt_checksum(0, &header, offsetof(mpopt_file_header, checksum)))
    return "damaged header";
  return {};
}

static bool holdsTogether(const mpopt_record &record,
                          const mpopt_extent &extent) {
  uint64_t special = 0;
  return record.version == MPOPT_RECORD_VERSION &&
         record.bytes == sizeof(mpopt_record) && record.probe == extent.probe &&
         record.kind == extent.kind && record.channels <= extent.channels &&
         !__builtin_add_overflow(record.nan, record.pos_inf, &special) &&
         !__builtin_add_overflow(special, record.neg_inf, &special) &&
         !__builtin_add_overflow(special, record.zero, &special) &&
         special <= record.count;
}

namespace {

class Parser {
public:
  Parser(const char *bytes, size_t size, RecordFile &file)
      : bytes(bytes), size(size), file(file) {}

  void parse() {
    while (at < size && file.damage.empty())
      parseExtent();
    if (spoiled)
      damage(std::to_string(spoiled) + " of the probes' records damaged");
  }

private:
  void damage(const std::string &what) {
    file.damage += (file.damage.empty() ? "" : ", ") + what;
  }

  void parseExtent() {
    mpopt_extent extent;
    if (size - at < sizeof(extent))
      return damage("ends early");
    std::memcpy(&extent, bytes + at, sizeof(extent));
    if (extent.magic != MPOPT_EXTENT_MAGIC ||
        extent.checksum !=
            mpopt_checksum(0, &extent, offsetof(mpopt_extent, checksum)) ||
        extent.channels > MPOPT_MAX_CHANNELS ||
        extent.copy_bytes != mpopt_copy_bytes(extent.channels))
      return damage("damaged after " + std::to_string(file.probes.size()) +
                    " probes");
    at += sizeof(extent);
    auto [known, isNew] =
        seen.try_emplace({extent.probe, extent.kind}, kNoRecord);
    // The first one may be of calls that were all skipped.
    if (!isNew &&
        (known->second == kNoRecord || file.probes[known->second].record.calls))
      return damage("probe " + std::to_string(extent.probe) + " twice");
    if (seen.size() > MPOPT_MAX_PROBES)
      return damage("more than " + std::to_string(MPOPT_MAX_PROBES) +
                    " probes");
    const char *newest = nullptr;
    uint64_t sequence = 0;
    bool written = false;
    for (int copy = 0; copy < 2; ++copy) {
      if (size - at < extent.copy_bytes) {
        damage("ends early");
        at = size;
        break;
      }
      mpopt_copy head;
      std::memcpy(&head, bytes + at, sizeof(head));
      written |= head.sequence != 0;
      if (head.sequence > sequence && whole(bytes + at, head, extent)) {
        newest = bytes + at;
        sequence = head.sequence;
      }
      at += extent.copy_bytes;
    }
    if (!newest)
      spoiled += written;
    else
      take(newest + sizeof(mpopt_copy), known->second);
  }

  static bool whole(const char *copy, const mpopt_copy &head,
                    const mpopt_extent &extent) {
    size_t rest = extent.copy_bytes - sizeof(head);
    mpopt_record record;
    std::memcpy(&record, copy + sizeof(head), sizeof(record));
    return head.checksum ==
               mpopt_checksum(head.sequence, copy + sizeof(head), rest) &&
           holdsTogether(record, extent);
  }

  /// Index: where the probe's record is among the file's.
  void take(const char *from, size_t &index) {
    ProbeRecord probe;
    std::memcpy(&probe.record, from, sizeof(probe.record));
    probe.channels.resize(probe.record.channels);
    if (!probe.channels.empty())
      std::memcpy(probe.channels.data(), from + sizeof(probe.record),
                  probe.channels.size() * sizeof(mpopt_channel_range));
    if (index != kNoRecord) {
      file.probes[index] = std::move(probe);
      return;
    }
    index = file.probes.size();
    file.probes.push_back(std::move(probe));
  }

  const char *bytes;
  size_t size;
  RecordFile &file;
  size_t at = sizeof(mpopt_file_header);
  size_t spoiled = 0;
  static constexpr size_t kNoRecord = SIZE_MAX;
  /// By probe and kind: the index of its record.
  std::map<std::pair<uint32_t, uint32_t>, size_t> seen;
};

} // namespace

RecordFileResult mpopt::kernels::parseRecordFile(const void *bytes,
                                                 size_t size) {
  RecordFileResult result;
  mpopt_file_header &header = result.file.header;
  if (size < sizeof(header)) {
    result.error = "not a record file: too short";
    return result;
  }
  std::memcpy(&header, bytes, sizeof(header));
  result.error = checkHeader(header);
  if (!result.error.empty())
    return result;
  header.host[sizeof(header.host) - 1] = 0;
  header.runtime[sizeof(header.runtime) - 1] = 0;
  result.file.closed = header.closed == 1;
  Parser(static_cast<const char *>(bytes), size, result.file).parse();
  return result;
}

RecordFileResult mpopt::kernels::readRecordFile(const std::string &path) {
  RecordFileResult result;
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(
      std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) {
    result.error = std::strerror(errno);
    return result;
  }
  std::vector<char> bytes;
  char chunk[1 << 16];
  while (size_t got = std::fread(chunk, 1, sizeof(chunk), file.get())) {
    bytes.insert(bytes.end(), chunk, chunk + got);
    if (bytes.size() >= sizeof(mpopt_file_header) &&
        !std::equal(bytes.begin(), bytes.begin() + 8, MPOPT_FILE_MAGIC))
      break;
  }
  if (std::ferror(file.get())) {
    result.error = std::strerror(errno);
    return result;
  }
  return parseRecordFile(bytes.data(), bytes.size());
}
