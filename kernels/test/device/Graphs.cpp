//===- Graphs.cpp - Captured graphs, their controls, calls at the same time
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Reference.h"
#include "Check.h"

#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>

using namespace mpopt::kernels;
using namespace mpopt::kernels::device;
using namespace mpopt::kernels::test;

namespace {

class Graph {
public:
  /// Captures in the strictest mode.
  Graph(cudaStream_t stream, const std::function<void()> &work) {
    cudaGraph_t graph;
    MPOPT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    work();
    MPOPT_CUDA(cudaStreamEndCapture(stream, &graph));
    MPOPT_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
    MPOPT_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    MPOPT_CUDA(cudaGraphDestroy(graph));
  }
  ~Graph() { cudaGraphExecDestroy(executable); }
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  void replay(cudaStream_t stream) {
    MPOPT_CUDA(cudaGraphLaunch(executable, stream));
  }

  size_t nodes = 0;

private:
  cudaGraphExec_t executable = nullptr;
};

/// FP16 values on the device, with a tensor and the CPU's record of them.
class Sample {
public:
  explicit Sample(size_t size)
      : data(randomData(MPOPT_F16, size, 1, size)),
        memory(data.bytes.data(), data.bytes.size()),
        dims{int64_t(size / 10), 10} {
    tensor = {memory.at(0), MPOPT_F16, 2, dims, nullptr, 1, 0};
  }

  mpopt_record expected(uint64_t calls) const {
    std::vector<mpopt_channel_range> ranges(10, {kInf, -kInf});
    mpopt_record record;
    mpopt_record_init(&record, 1, MPOPT_VALUE);
    mpopt_tensor host = tensor;
    host.data = data.bytes.data();
    for (uint64_t step = 0; step < calls; ++step)
      mpopt_record_observe(&record, ranges.data(), &host, step, nullptr);
    return record;
  }

  Data data;
  Buffer memory;
  int64_t dims[2];
  mpopt_tensor tensor;
};

} // namespace

/// True if `record` holds each of its calls as a whole.
static bool isWhole(const mpopt_record &record, const mpopt_record &one) {
  uint64_t counted = std::accumulate(
      record.histogram, record.histogram + MPOPT_BINS,
      record.zero + record.nan + record.pos_inf + record.neg_inf);
  return record.count == record.calls * one.count && counted == record.count &&
         record.nan == record.calls * one.nan;
}

void device::checkGraphs() {
  Sample sample(500000);
  Stream stream;
  // The probe's first call ever, its first stream and its first channels.
  Probed probed;
  Graph graph(stream, [&] { probed.observe(sample.tensor, stream); });
  check(graph.nodes == 1, "a call is one node of a graph");
  for (int i = 0; i < 10; ++i)
    graph.replay(stream);
  stream.wait();
  std::string differs = difference(probed.read(), sample.expected(10));
  check(differs.empty(), "ten replays: " + differs);

  // Probes made within a capture, while another thread flushes and observes.
  std::atomic<bool> done{false};
  Probed others;
  Stream own;
  std::thread busy([&] {
    while (!done) {
      others.observe(sample.tensor, own);
      mpopt_recorder_flush(others.recorder);
    }
  });
  for (int i = 0; i < 20; ++i) {
    std::vector<std::unique_ptr<Probed>> made;
    Graph large(stream, [&] {
      for (int probe = 0; probe < 20; ++probe) {
        made.push_back(std::make_unique<Probed>());
        made.back()->observe(sample.tensor, stream);
      }
    });
    large.replay(stream);
    stream.wait();
    for (auto &one : made)
      check(one->read().calls == 1, "a probe made within a capture");
  }
  done = true;
  busy.join();
}

void device::checkControls() {
  Sample sample(100000);
  Stream stream;
  Probed probed(/*ownRecorder=*/true);
  mpopt_recorder *recorder = probed.recorder;
  Graph graph(stream, [&] { probed.observe(sample.tensor, stream); });
  auto replay = [&] {
    // Written on another stream.
    MPOPT_CUDA(cudaDeviceSynchronize());
    graph.replay(stream);
    stream.wait();
  };
  replay(); // step 0
  mpopt_recorder_enable(recorder, 0);
  replay();
  mpopt_recorder_enable(recorder, 1);
  mpopt_recorder_set_period(recorder, 3);
  replay(); // step 2
  replay(); // step 3
  mpopt_recorder_set_step(recorder, 40);
  replay();
  mpopt_recorder_set_step(recorder, 42);
  replay();
  mpopt_record record = probed.read();
  check(record.calls == 3 && record.skipped == 3, "replays that are left out");
  check(record.first_step == 0 && record.last_step == 42, "steps of replays");

  // Changes while replays run: each is recorded as a whole or not at all.
  mpopt_recorder_set_period(recorder, 1);
  for (uint64_t i = 0; i < (isShort() ? 50 : 2000); ++i) {
    mpopt_recorder_enable(recorder, int(i % 3 != 0));
    mpopt_recorder_set_step(recorder, 100 + i);
    graph.replay(stream);
  }
  MPOPT_CUDA(cudaDeviceSynchronize());
  record = probed.read();
  check(record.calls + record.skipped == 6 + (isShort() ? 50 : 2000),
        "replays are counted");
  check(isWhole(record, sample.expected(1)), "replays are recorded as a whole");

  // Outside of graphs the step is that of the launch.
  Probed direct(/*ownRecorder=*/true);
  for (uint64_t step = 0; step < 500; ++step) {
    mpopt_recorder_set_step(direct.recorder, step);
    mpopt_recorder_enable(direct.recorder, step < 400);
    direct.observe(sample.tensor, stream);
  }
  record = direct.read(); // waits
  check(record.calls == 400 && record.skipped == 100 && record.last_step == 399,
        "calls outside of graphs");
}

void device::checkConcurrency() {
  Sample sample(isShort() ? 100000 : 3000000), little(1000);
  mpopt_record one = sample.expected(1);
  // One probe on several streams and threads, with flushes between that must
  // not see half a call.
  Probed probed;
  std::vector<std::thread> threads;
  std::atomic<int> running{4};
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      Stream own;
      for (int i = 0; i < 200; ++i)
        probed.observe(sample.tensor, own);
      own.wait();
      --running;
    });
  while (running) {
    mpopt_recorder_flush(probed.recorder);
    check(isWhole(probed.peek(), one), "a flush saw half a call");
  }
  for (std::thread &thread : threads)
    thread.join();
  mpopt_record record = probed.read();
  check(record.calls == 800 && isWhole(record, one), "calls on four streams");
  check(record.last_step == 799, "steps of calls on four streams");

  // A flush brings what is queued, without the caller waiting for it.
  Stream stream;
  Probed queued;
  for (int i = 0; i < 300; ++i)
    queued.observe(i % 2 ? little.tensor : sample.tensor, stream);
  check(queued.read().calls == 300, "a flush waits for what was launched");

  // Flushes that nobody asks for, as of users: none waits, none sees half a
  // call.
  setenv("MPOPT_FLUSH_MS", "0", 1);
  {
    Probed busy(/*ownRecorder=*/true);
    Stream other;
    int calls = isShort() ? 200 : 2000;
    for (int i = 0; i < calls; ++i) {
      busy.observe(little.tensor, i % 2 ? stream : other);
      check(isWhole(busy.peek(), little.expected(1)),
            "a periodic flush saw half a call");
    }
    mpopt_record all = busy.read();
    check(all.calls == uint64_t(calls) && isWhole(all, little.expected(1)),
          "calls between periodic flushes");
  }
  setenv("MPOPT_FLUSH_MS", "1000000000", 1);

  // One handle, and a stream of each thread; a graph that was captured on a
  // stream and runs on another, while that one is busy.
  {
    Probed own;
    std::vector<std::thread> each;
    for (int thread = 0; thread < 4; ++thread)
      each.emplace_back([&] {
        for (int i = 0; i < 100; ++i)
          own.observe(sample.tensor, cudaStreamPerThread);
        MPOPT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
      });
    for (std::thread &thread : each)
      thread.join();
    record = own.read();
    check(record.calls == 400 && isWhole(record, one), "streams of threads");

    Probed both;
    Stream other;
    Graph graph(stream, [&] { both.observe(sample.tensor, stream); });
    for (int i = 0; i < 100; ++i) {
      graph.replay(other);
      both.observe(sample.tensor, stream);
    }
    other.wait();
    record = both.read();
    check(record.calls == 200 && isWhole(record, one),
          "a graph beside calls on the stream that it was captured on");
  }

  // The default streams, and a probe that many others follow.
  Probed ordinary;
  ordinary.observe(sample.tensor, nullptr);
  ordinary.observe(sample.tensor, cudaStreamPerThread);
  check(ordinary.read().calls == 2, "the default streams");
  check(cudaGetLastError() == cudaSuccess, "no error is left");
}
