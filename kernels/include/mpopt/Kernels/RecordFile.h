//===- RecordFile.h - The .mprec file ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A header, then one extent a probe in the order in which probes first ran:
//
//   mpopt_file_header
//   repeat: mpopt_extent, copy 0, copy 1
//   copy:   mpopt_copy, mpopt_record, mpopt_channel_range[channels]
//
// A probe whose first calls were skipped may have two extents: the later one,
// with room for its channels, counts.
//
// A flush overwrites the older of a probe's two copies, so the other one stays
// whole whenever the process dies; the reader takes the newer copy whose
// checksum holds. The file is bounded by the number of probes, never by the
// length of the run, and plain writes cannot stop the process on a full disk as
// a memory map would.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_RECORDFILE_H
#define MPOPT_KERNELS_RECORDFILE_H

#include "mpopt/Kernels/Record.h"

#include <string>
#include <vector>

#define MPOPT_FILE_VERSION 1u
#define MPOPT_FILE_MAGIC "MPREC\r\n\x1a"
#define MPOPT_FILE_ENDIAN 0x01020304u
#define MPOPT_EXTENT_MAGIC 0x42505845u // "EXPB"
#define MPOPT_MAX_PROBES (1u << 20)

/// Numbers are in the byte order of the machine; `endian` tells a reader of the
/// other one. Checksums: mpopt_checksum.
struct mpopt_file_header {
  char magic[8];
  uint32_t endian;
  uint32_t version;      // MPOPT_FILE_VERSION
  uint32_t header_bytes; // sizeof(mpopt_file_header)
  uint32_t record_bytes; // sizeof(mpopt_record)
  uint8_t ledger[32];    // SHA-256 of the ledger file, zeros if unknown
  uint64_t pid;
  uint64_t start_ns; // since 1970
  char host[64];     // both end in a zero byte
  char runtime[64];
  uint64_t checksum; // of the bytes before it
  uint64_t closed;   // 1 once the recorder was closed in order
};

struct mpopt_extent {
  uint32_t magic;
  uint32_t probe, kind;
  uint32_t channels; // room for; a copy may use none
  uint64_t copy_bytes;
  uint64_t checksum; // of the bytes before it
};

struct mpopt_copy {
  uint64_t sequence; // 0: never written
  uint64_t checksum; // of the rest of the copy, seeded with the sequence
};

/// Size of one copy with room for so many channels, in bytes.
constexpr uint64_t mpopt_copy_bytes(uint32_t channels) {
  return sizeof(mpopt_copy) + sizeof(mpopt_record) +
         uint64_t(channels) * sizeof(mpopt_channel_range);
}

/// After FNV-1a, on 64-bit words, the last one filled with zeros.
extern "C" uint64_t mpopt_checksum(uint64_t seed, const void *data,
                                   size_t bytes);

namespace mpopt::kernels {

struct ProbeRecord {
  mpopt_record record;
  /// Empty, or record.channels entries.
  std::vector<mpopt_channel_range> channels;
};

struct RecordFile {
  mpopt_file_header header;
  std::vector<ProbeRecord> probes;
  bool closed = false;
  /// Parts that were skipped and the reason, one line; empty if there are none.
  std::string damage;
};

/// `error` is empty if `file` counts.
struct RecordFileResult {
  std::string error;
  RecordFile file;
};

/// Refuses what is not a record file of this version. A file that ends early or
/// has a spoiled record gives the whole records and says so in `damage`.
RecordFileResult parseRecordFile(const void *bytes, size_t size);
RecordFileResult readRecordFile(const std::string &path);

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_RECORDFILE_H
