//===- RecordWriter.h - Writing .mprec files -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_LIB_RECORDWRITER_H
#define MPOPT_KERNELS_LIB_RECORDWRITER_H

#include "mpopt/Kernels/RecordFile.h"

#include <csignal>

namespace mpopt::kernels {

/// A file-size limit sends SIGXFSZ, which ends a process that does not expect
/// it. While one of these lives the thread holds it back, and it is left as
/// EFBIG. Four calls of the system: one for all records of a flush.
class NoFileSizeSignal {
public:
  NoFileSizeSignal();
  NoFileSizeSignal(const NoFileSizeSignal &) = delete;
  ~NoFileSizeSignal();

private:
  sigset_t signals, saved;
  bool before;
};

/// One open record file. The caller sees to it that one thread uses it at a
/// time, and holds a NoFileSizeSignal where it writes. Functions return 0 or an
/// errno.
class RecordWriter {
public:
  RecordWriter() = default;
  RecordWriter(const RecordWriter &) = delete;
  ~RecordWriter();

  /// Opens the file that the pattern names (Recorder.h), or that name with -2,
  /// -3 ... before its suffix where another process has it open. A record file
  /// left there is replaced; any other file is refused with EEXIST.
  int open(const std::string &pattern, const uint8_t ledger[32],
           const std::string &runtime);
  bool isOpen() const { return fd >= 0; }

  /// Where a probe is in the file; 0: not yet.
  struct Place {
    uint64_t offset = 0;
    uint32_t channels = 0;
    uint64_t sequence = 0;
  };
  int write(Place &place, const mpopt_record &record,
            const mpopt_channel_range *channels);
  /// Says in the header whether the recorder was closed in order.
  int setClosed(bool closed);

  /// Drops the file without a trace: for a forked child, whose parent has it.
  void abandon();

  const std::string &path() const { return name; }
  uint64_t bytes() const { return end; }

private:
  int tryOpen(const std::string &path);
  int put(const void *data, size_t size, uint64_t offset);

  int fd = -1;
  bool regular = false;
  bool closed = false;
  std::string name;
  uint64_t end = 0;
  std::vector<char> buffer;
};

/// The pattern with %p, %h, %l and %% filled in.
std::string expandPattern(const std::string &pattern, const uint8_t ledger[32]);

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_RECORDWRITER_H
