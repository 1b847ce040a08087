//===- MappedArchive.h - An archive whose weights stay in the file -*- C++ -*-//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LibTorch copies every record into memory of its own. This adapter maps the
// file, leaves out the copy of large weight records (the allocated pages are
// never touched), and remembers which bytes each buffer stands for.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_MAPPEDARCHIVE_H
#define MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_MAPPEDARCHIVE_H

#include <caffe2/serialize/read_adapter_interface.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mpopt::torchscript {

/// Bytes [begin, end) of the archive.
struct FileRange {
  uint64_t begin, end;
  /// Nothing looks at what is in memory.
  bool isUnread;
};

class MappedArchive : public caffe2::serialize::ReadAdapterInterface {
public:
  /// Reads that fall into one of `weights` (sorted, disjoint: stored records of
  /// tensors) that is unread, and are longer than a page, are not copied.
  MappedArchive(const std::string &path, std::vector<FileRange> weights);
  ~MappedArchive() override;

  size_t size() const override { return length; }
  size_t read(uint64_t position, void *buffer, size_t count,
              const char *what) const override;

  /// The byte of the archive that `address` stands for, negative if none does:
  /// the memory was filled in another way (an inflated record).
  int64_t offsetOf(const void *address) const;
  const char *bytes() const { return data; }

private:
  const char *data = nullptr;
  size_t length = 0;
  std::vector<FileRange> weights;
  /// Start of a buffer -> what was read into it.
  mutable std::map<uintptr_t, FileRange> buffers;
};

} // namespace mpopt::torchscript

#endif // MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_MAPPEDARCHIVE_H
