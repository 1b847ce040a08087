//===- MappedArchive.cpp - An archive whose weights stay in the file ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MappedArchive.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpopt::torchscript;

// Weights above a page that nothing reads are not copied: their pages of
// memory stay untouched.
static constexpr size_t kPage = 4096;

MappedArchive::MappedArchive(const std::string &path,
                             std::vector<FileRange> weights)
    : weights(std::move(weights)) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || ::fstat(file, &status) != 0) {
    if (file >= 0)
      ::close(file);
    throw std::runtime_error("cannot open the archive");
  }
  length = status.st_size;
  void *mapped = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (mapped == MAP_FAILED)
    throw std::runtime_error("cannot map the archive");
  data = static_cast<const char *>(mapped);
}

MappedArchive::~MappedArchive() { ::munmap(const_cast<char *>(data), length); }

size_t MappedArchive::read(uint64_t position, void *buffer, size_t count,
                           const char *) const {
  if (position >= length)
    return 0;
  count = std::min<size_t>(count, length - position);
  auto after = std::ranges::upper_bound(weights, position, {}, &FileRange::end);
  bool isWeight = after != weights.end() && after->begin <= position &&
                  position + count <= after->end;
  auto start = reinterpret_cast<uintptr_t>(buffer);
  // The memory may have served another record before.
  auto old = buffers.lower_bound(start);
  if (old != buffers.begin()) {
    auto before = std::prev(old);
    if (before->first + (before->second.end - before->second.begin) > start)
      old = before;
  }
  while (old != buffers.end() && old->first < start + count)
    old = buffers.erase(old);
  if (isWeight)
    buffers[start] = {position, position + count, after->isUnread};
  if (!isWeight || !after->isUnread || count <= kPage)
    std::memcpy(buffer, data + position, count);
  return count;
}

int64_t MappedArchive::offsetOf(const void *address) const {
  auto at = reinterpret_cast<uintptr_t>(address);
  auto after = buffers.upper_bound(at);
  if (after == buffers.begin())
    return -1;
  auto [start, range] = *std::prev(after);
  if (at - start >= range.end - range.begin)
    return -1;
  return int64_t(range.begin + (at - start));
}
