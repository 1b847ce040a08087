//===- RecordWriter.cpp - Writing .mprec files
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock on the file (flock) keeps two processes apart even if their pattern
// names the same one; the kernel drops it when the process dies.
//
//===----------------------------------------------------------------------===//

#include "RecordWriter.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpopt::kernels;

static std::string hostName() {
  char name[64] = {};
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

std::string mpopt::kernels::expandPattern(const std::string &pattern,
                                          const uint8_t ledger[32]) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      path += pattern[i];
      continue;
    }
    switch (char key = pattern[++i]) {
    case 'p':
      path += std::to_string(::getpid());
      break;
    case 'h':
      path += hostName();
      break;
    case 'l':
      for (int byte = 0; byte < 4; ++byte) {
        path += "0123456789abcdef"[ledger[byte] >> 4];
        path += "0123456789abcdef"[ledger[byte] & 15];
      }
      break;
    case '%':
      path += '%';
      break;
    default:
      path += '%';
      path += key;
    }
  }
  return path;
}

RecordWriter::~RecordWriter() { abandon(); }

void RecordWriter::abandon() {
  if (fd >= 0)
    ::close(fd);
  fd = -1;
}

/// True if the file may be replaced: it is empty, or a record file.
static bool mayReplace(int fd) {
  char magic[8];
  ssize_t got = ::pread(fd, magic, sizeof(magic), 0);
  return got == 0 || (got == sizeof(magic) &&
                      !std::memcmp(magic, MPOPT_FILE_MAGIC, sizeof(magic)));
}

int RecordWriter::tryOpen(const std::string &path) {
  int opened = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (opened < 0)
    return errno;
  int error = 0;
  struct stat status;
  if (::fstat(opened, &status) != 0)
    error = errno;
  regular = !error && S_ISREG(status.st_mode);
  if (regular) {
    // A file system without locks is no reason not to record.
    if (::flock(opened, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      error = EWOULDBLOCK;
    else if (!mayReplace(opened))
      error = EEXIST;
    else if (::ftruncate(opened, 0) != 0)
      error = errno;
  }
  if (error) {
    ::close(opened);
    return error;
  }
  fd = opened;
  name = path;
  return 0;
}

int RecordWriter::open(const std::string &pattern, const uint8_t ledger[32],
                       const std::string &runtime) {
  std::string path = expandPattern(pattern, ledger);
  name = path;
  size_t slash = path.rfind('/'), dot = path.rfind('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash))
    dot = path.size();
  int error = tryOpen(path);
  for (int i = 2; error == EWOULDBLOCK && i < 10000; ++i)
    error = tryOpen(path.substr(0, dot) + "-" + std::to_string(i) +
                    path.substr(dot));
  if (error)
    return error;

  using namespace std::chrono;
  mpopt_file_header header = {};
  std::memcpy(header.magic, MPOPT_FILE_MAGIC, sizeof(header.magic));
  header.endian = MPOPT_FILE_ENDIAN;
  header.version = MPOPT_FILE_VERSION;
  header.header_bytes = sizeof(header);
  header.record_bytes = sizeof(mpopt_record);
  std::memcpy(header.ledger, ledger, sizeof(header.ledger));
  header.pid = uint64_t(::getpid());
  header.start_ns = uint64_t(
      duration_cast<nanoseconds>(system_clock::now().time_since_epoch())
          .count());
  std::string host = hostName();
  host.copy(header.host, sizeof(header.host) - 1);
  runtime.copy(header.runtime, sizeof(header.runtime) - 1);
  header.checksum =
      mpopt_checksum(0, &header, offsetof(mpopt_file_header, checksum));
  end = sizeof(header);
  return put(&header, sizeof(header), 0);
}

NoFileSizeSignal::NoFileSizeSignal() {
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  before = sigismember(&pending, SIGXFSZ) == 1;
  pthread_sigmask(SIG_BLOCK, &signals, &saved);
}

NoFileSizeSignal::~NoFileSizeSignal() {
  timespec none = {};
  while (!before && sigtimedwait(&signals, nullptr, &none) == SIGXFSZ)
    ;
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
}

int RecordWriter::put(const void *data, size_t size, uint64_t offset) {
  const char *from = static_cast<const char *>(data);
  while (size) {
    ssize_t done = ::pwrite(fd, from, size, off_t(offset));
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return done < 0 ? errno : EIO;
    from += done;
    size -= size_t(done);
    offset += uint64_t(done);
  }
  return 0;
}

int RecordWriter::write(Place &place, const mpopt_record &record,
                        const mpopt_channel_range *channels) {
  // A probe whose first calls were skipped has its channels only later: then it
  // gets a second extent, which readers prefer.
  if (record.channels > place.channels)
    place = {};
  bool fresh = place.offset == 0;
  uint32_t room = fresh ? record.channels : place.channels;
  size_t copyBytes = mpopt_copy_bytes(room);
  size_t head = fresh ? sizeof(mpopt_extent) : 0;
  // A new extent is written with both of its copies, so that the next one has
  // its place.
  buffer.assign(head + copyBytes * (fresh ? 2 : 1), 0);
  if (fresh) {
    mpopt_extent extent = {
        MPOPT_EXTENT_MAGIC, record.probe, record.kind, room, copyBytes, 0};
    extent.checksum =
        mpopt_checksum(0, &extent, offsetof(mpopt_extent, checksum));
    std::memcpy(buffer.data(), &extent, sizeof(extent));
  }
  char *body = buffer.data() + head + sizeof(mpopt_copy);
  std::memcpy(body, &record, sizeof(record));
  if (record.channels)
    std::memcpy(body + sizeof(record), channels,
                record.channels * sizeof(mpopt_channel_range));
  mpopt_copy copy = {place.sequence + 1, 0};
  copy.checksum =
      mpopt_checksum(copy.sequence, body, copyBytes - sizeof(mpopt_copy));
  std::memcpy(buffer.data() + head, &copy, sizeof(copy));

  if (fresh) {
    if (int error = put(buffer.data(), buffer.size(), end)) {
      // A partial extent is invalid. If it stays, readers report it.
      [[maybe_unused]] int ignored = regular ? ::ftruncate(fd, off_t(end)) : 0;
      return error;
    }
    place.offset = end;
    place.channels = room;
    end += buffer.size();
  } else {
    // Odd sequences are in copy 0, even ones in copy 1.
    uint64_t at = place.offset + sizeof(mpopt_extent) +
                  (copy.sequence % 2 ? 0 : copyBytes);
    if (int error = put(buffer.data(), buffer.size(), at))
      return error;
  }
  place.sequence = copy.sequence;
  return 0;
}

int RecordWriter::setClosed(bool now) {
  if (now == closed)
    return 0;
  uint64_t word = now;
  int error = put(&word, sizeof(word), offsetof(mpopt_file_header, closed));
  if (!error)
    closed = now;
  return error;
}
