//===- kernels.cpp - The passes over weights beside a plain sum
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints GB/s over weights that no cache holds, best of several runs, taken in
// turns with a sum of the same bytes on as many threads. Processor time, spread
// over the threads, so that what else runs on the machine counts little.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/Kernels/Linear.h"
#include "mpopt/Ranges/Weights/Kernels/Summary.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <ctime>

using namespace mpopt;

static constexpr uint64_t kBytes = 256 << 20;
static constexpr unsigned kRuns = 7;

static double seconds(llvm::function_ref<void()> work) {
  std::clock_t start = std::clock();
  work();
  return double(std::clock() - start) / CLOCKS_PER_SEC /
         llvm::parallel::strategy.compute_thread_count();
}

/// Eight chains of additions: bound by memory, not by their latency.
static uint64_t plainSum(const char *bytes, uint64_t size) {
  typedef uint64_t Words __attribute__((vector_size(64)));
  Words sums[8] = {};
  for (uint64_t at = 0; at + sizeof(sums) <= size; at += sizeof(sums)) {
    Words words[8];
    std::memcpy(words, bytes + at, sizeof(words));
    for (int chain = 0; chain < 8; ++chain)
      sums[chain] += words[chain];
  }
  uint64_t total = 0;
  for (Words &chain : sums)
    for (int lane = 0; lane < 8; ++lane)
      total += chain[lane];
  return total;
}

int main() {
  std::vector<uint16_t> data(kBytes / 2);
  // Any finite pattern will do for f32, f16 and bf16.
  uint32_t state = 1;
  for (uint16_t &word : data) {
    state = state * 1664525 + 1013904223;
    word = uint16_t(0x3800 | (state >> 16 & 0x83ff));
  }
  llvm::ArrayRef<char> bytes(reinterpret_cast<char *>(data.data()), kBytes);
  unsigned threads = llvm::parallel::strategy.compute_thread_count();
  std::vector<uint64_t> totals(threads);
  auto sum = [&] {
    llvm::parallelFor(0, threads, [&](size_t thread) {
      uint64_t part = kBytes / threads;
      totals[thread] = plainSum(bytes.data() + thread * part, part);
    });
  };

  constexpr uint64_t k = 4096;
  std::vector<double> list(k, 0.5);
  llvm::outs() << "dtype layout  inputs   norm    GB/s   sum GB/s  share\n";
  for (const char *type : {"f32", "f16", "bf16", "i8"})
    for (bool transposed : {false, true})
      for (bool perK : {true, false})
        for (bool norm : {false, true}) {
          if (norm && !perK)
            continue;
          LinearRequest request;
          request.weights.bytes = bytes;
          request.weights.format = FloatFormat::byName(type);
          request.k = k;
          request.n = kBytes * 8 / request.weights.bits() / k;
          request.transposed = transposed;
          request.wantNorm = norm;
          llvm::ArrayRef<double> inputs(list.data(), perK ? k : 1);
          request.inputs = {inputs, inputs, inputs, inputs, inputs};
          double best = 1e9, bestSum = 1e9;
          for (unsigned run = 0; run < kRuns; ++run) {
            bestSum = std::min(bestSum, seconds(sum));
            best = std::min(best, seconds([&] { linearSums(request); }));
          }
          llvm::outs() << llvm::format(
              "%-5s %-7s %-8s %-4s %7.1f %10.1f %5.0f%%\n", type,
              transposed ? "[N,K]" : "[K,N]", perK ? "per k" : "uniform",
              norm ? "yes" : "no", double(kBytes) / best / 1e9,
              double(kBytes) / bestSum / 1e9, 100 * bestSum / best);
          llvm::outs().flush();
        }

  llvm::outs() << "\ndtype groups  losses    GB/s   sum GB/s  share\n";
  for (const char *type : {"f32", "f16", "bf16", "i8"})
    for (bool byColumn : {true, false})
      for (bool losses : {true, false}) {
        if (losses && !FloatFormat::byName(type))
          continue;
        SummaryRequest request;
        request.weights.bytes = bytes;
        request.weights.format = FloatFormat::byName(type);
        request.columns = k;
        request.rows = kBytes * 8 / request.weights.bits() / k;
        request.byColumn = byColumn;
        request.target = losses ? &FloatFormat::f16() : nullptr;
        double best = 1e9, bestSum = 1e9;
        for (unsigned run = 0; run < kRuns; ++run) {
          bestSum = std::min(bestSum, seconds(sum));
          best = std::min(best, seconds([&] { summarizeWeight(request); }));
        }
        llvm::outs() << llvm::format(
            "%-5s %-7s %-6s %7.1f %10.1f %5.0f%%\n", type,
            byColumn ? "columns" : "rows", losses ? "yes" : "no",
            double(kBytes) / best / 1e9, double(kBytes) / bestSum / 1e9,
            100 * bestSum / best);
        llvm::outs().flush();
      }
  return totals[0] == 42;
}
