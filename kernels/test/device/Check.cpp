//===- Check.cpp - Checks on a CUDA device
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   mpopt-check-device [--no-speed] [--short] [MIB]
//
// Compares what a CUDA device records with what the CPU does, replays captured
// graphs, switches their probes, runs calls at the same time, and then measures
// the kernels beside a copy of the same bytes (1024 MiB of them). Exits with 0,
// 1 if a check failed, or 77 if there is no device.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <unistd.h>

using namespace mpopt::kernels;

static std::atomic<int> failed{0};

void device::fail(const std::string &what) {
  if (++failed <= 20)
    std::printf("FAILED: %s\n", what.c_str());
  std::fflush(stdout);
}

int device::failures() { return failed; }

static std::mutex currentMutex;
static std::string current;
void device::setCurrent(const std::string &what) {
  std::lock_guard<std::mutex> lock(currentMutex);
  current = what;
}

static bool shortened = false;
bool device::isShort() { return shortened; }

void device::require(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  std::lock_guard<std::mutex> lock(currentMutex);
  std::printf("FAILED: %s: %s (%s)\n", what, cudaGetErrorString(error),
              current.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

/// Where the recorders write to; removed at the end.
static const std::string &folder() {
  static const std::string name = [] {
    std::string pattern =
        std::filesystem::temp_directory_path() / "mpopt-check-XXXXXX";
    return std::string(mkdtemp(pattern.data()) ? pattern : "");
  }();
  return name;
}

static uint32_t nextNumber() {
  static std::atomic<uint32_t> count{0};
  return ++count;
}

static mpopt_recorder *open(uint32_t number) {
  uint8_t ledger[32] = {};
  std::memcpy(ledger, &number, sizeof(number));
  return mpopt_recorder_open((folder() + "/%l.mprec").c_str(), ledger,
                             "check-device");
}

device::Probed::Probed(bool ownRecorder)
    : recorder(open(ownRecorder ? nextNumber() : 0)), id(nextNumber()),
      probe(mpopt_cuda_probe_create(recorder, id, MPOPT_VALUE)) {
  if (probe)
    return;
  std::printf("FAILED: no probe on this device\n");
  std::_Exit(1);
}

device::Probed::~Probed() { mpopt_cuda_probe_destroy(probe); }

void device::Probed::observe(const mpopt_tensor &tensor, cudaStream_t stream) {
  check(mpopt_cuda_probe_observe(probe, &tensor, stream) == 1,
        "a tensor was refused");
}

mpopt_record device::Probed::read(std::vector<mpopt_channel_range> *ranges) {
  mpopt_recorder_flush(recorder);
  mpopt_record record;
  mpopt_record_init(&record, id, MPOPT_VALUE);
  mpopt_recorder_read(recorder, id, MPOPT_VALUE, &record,
                      ranges ? ranges->data() : nullptr,
                      ranges ? uint32_t(ranges->size()) : 0);
  return record;
}

mpopt_record device::Probed::peek() {
  mpopt_record record;
  mpopt_record_init(&record, id, MPOPT_VALUE);
  mpopt_recorder_read(recorder, id, MPOPT_VALUE, &record, nullptr, 0);
  return record;
}

static bool near(double got, double wanted, double error) {
  return got == wanted || std::fabs(got - wanted) <= error;
}

std::string device::difference(mpopt_record got, mpopt_record wanted) {
  wanted.probe = got.probe;
  // Only who goes by a recorder has steps of somebody's.
  constexpr uint32_t steps = MPOPT_STEPS_SHARED | MPOPT_STEPS_COUNTED;
  wanted.flags = (wanted.flags & ~steps) | (got.flags & steps);
  double squares = mpopt_exact_sum_value(&wanted.sum_squares);
  bool narrow = wanted.dtype == MPOPT_F16 || wanted.dtype == MPOPT_BF16 ||
                (wanted.flags & MPOPT_MIXED_DTYPE);
  double unit = narrow ? 0x1p-19 : 0x1p-40;
  // FP64's own sums overflow, at other places for another order.
  bool sums = wanted.dtype != MPOPT_F64 ||
              (!got.sum.lost && !got.sum_squares.lost && !wanted.sum.lost &&
               !wanted.sum_squares.lost);
  double magnitudes = std::sqrt(squares * double(got.count ? got.count : 1));
  if (sums &&
      !near(mpopt_exact_sum_value(&got.sum_squares), squares, unit * squares))
    return "sum of squares";
  if (sums && !near(mpopt_exact_sum_value(&got.sum),
                    mpopt_exact_sum_value(&wanted.sum), unit * magnitudes))
    return "sum";
  got.sum = wanted.sum;
  got.sum_squares = wanted.sum_squares;
  if (std::memcmp(&got, &wanted, sizeof(got)) == 0)
    return {};
  for (int bin = 0; bin < MPOPT_BINS; ++bin)
    if (got.histogram[bin] != wanted.histogram[bin])
      return "bin " + std::to_string(bin) + ": " +
             std::to_string(got.histogram[bin]) + " for " +
             std::to_string(wanted.histogram[bin]);
  const char *bytes = reinterpret_cast<const char *>(&got);
  const char *others = reinterpret_cast<const char *>(&wanted);
  size_t at = 0;
  while (bytes[at] == others[at])
    ++at;
  return "byte " + std::to_string(at) + " of the record (Record.h)";
}

static void run(const char *name, void (*checks)()) {
  int before = device::failures();
  // Before they run: a check that hangs is known, too.
  std::printf("%-12s ", name);
  std::fflush(stdout);
  device::setCurrent(name);
  checks();
  MPOPT_CUDA(cudaDeviceSynchronize());
  int failures = device::failures() - before;
  std::printf("%s\n",
              failures ? (std::to_string(failures) + " failed").c_str() : "ok");
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  size_t mebibytes = 1024;
  bool speed = true;
  for (int i = 1; i < argc; ++i)
    if (!std::strcmp(argv[i], "--no-speed"))
      speed = false;
    else if (!std::strcmp(argv[i], "--short"))
      shortened = true;
    else
      mebibytes = size_t(std::atoi(argv[i]));
  if (!mpopt_cuda_available()) {
    int devices = 0;
    cudaError_t error = cudaGetDeviceCount(&devices);
    std::printf("no CUDA device: nothing was checked (%s)\n",
                error == cudaSuccess ? "no code for it in this program"
                                     : cudaGetErrorString(error));
    return 77;
  }
  // Flushes only where they are asked for.
  setenv("MPOPT_FLUSH_MS", "1000000000", 0);
  cudaDeviceProp properties;
  MPOPT_CUDA(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, compute capability %d.%d, %d processors\n", properties.name,
              properties.major, properties.minor,
              properties.multiProcessorCount);
  run("equality", device::checkEquality);
  run("graphs", device::checkGraphs);
  run("controls", device::checkControls);
  run("concurrency", device::checkConcurrency);
  device::setCurrent("speed");
  if (speed && mebibytes)
    device::measure(mebibytes << 20);
  std::error_code ignored;
  std::filesystem::remove_all(folder(), ignored);
  std::printf("%d failed\n", device::failures());
  return device::failures() != 0;
}
