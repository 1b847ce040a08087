//===- FakeCuda.cpp - A CUDA runtime and its devices, on the CPU
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FakeCuda.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <utility>

using namespace mpopt::kernels;
using mpopt::kernels::fake::Graph;

struct CUstream_st {
  int device = 0;
  bool isUsers = false, held = false;
  std::deque<std::function<void()>> queue;
  std::unique_ptr<Graph> capture;
};

struct CUevent_st {
  uint64_t recorded = 0, done = 0;
};

namespace {

constexpr size_t kArena = 64 << 20;

struct Device {
  char *memory = nullptr;
  size_t used = 0;
  bool started = false;
  CUstream_st ordinary; // the default stream
};

struct World {
  std::recursive_mutex mutex;
  std::condition_variable_any moved;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUevent_st>> events;
  int captures = 0, launches = 0, waits = 0, allocations = -1;
  std::set<const void *> slots;
  bool broken = false, capturesBroken = false;
};

struct Thread {
  CUstream_st *own = nullptr; // what cudaStreamPerThread stands for
  int device = 0;
  void *context = nullptr; // the number of a device + 1
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  cudaError_t error = cudaSuccess;
};

} // namespace

static World &world() {
  static auto *one = new World;
  return *one;
}

static thread_local Thread thread;

using Lock = std::unique_lock<std::recursive_mutex>;

static cudaError_t fail(cudaError_t error) { return thread.error = error; }

static Device &current() {
  int device = thread.context
                   ? int(reinterpret_cast<intptr_t>(thread.context)) - 1
                   : thread.device;
  Device &found = *world().devices[size_t(device)];
  found.started = true;
  thread.device = device;
  thread.context = reinterpret_cast<void *>(intptr_t(device) + 1);
  return found;
}

static CUstream_st &streamOf(cudaStream_t stream) {
  if (stream != cudaStreamPerThread)
    return stream ? *stream : current().ordinary;
  if (!thread.own)
    thread.own = fake::makeStream(thread.device);
  return *thread.own;
}

static Device *owner(const void *address) {
  for (auto &device : world().devices)
    if (address >= device->memory && address < device->memory + kArena)
      return device.get();
  return nullptr;
}

/// A kernel or a copy on a device.
static void onDevice(int device, const std::function<void()> &work) {
  char *memory = world().devices[size_t(device)]->memory;
  mprotect(memory, kArena, PROT_READ | PROT_WRITE);
  work();
  mprotect(memory, kArena, PROT_NONE);
}

static void drain(CUstream_st &stream) {
  while (!stream.held && !stream.queue.empty()) {
    auto work = std::move(stream.queue.front());
    stream.queue.pop_front();
    onDevice(stream.device, work);
  }
  world().moved.notify_all();
}

static cudaError_t enqueue(cudaStream_t on, std::function<void()> work) {
  CUstream_st &stream = streamOf(on);
  if (&current() != world().devices[size_t(stream.device)].get())
    return fail(cudaErrorInvalidResourceHandle);
  if (stream.capture) {
    stream.capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  stream.queue.push_back(std::move(work));
  drain(stream);
  return cudaSuccess;
}

/// For calls that a capture may not stand.
static bool isUnsafe() {
  if (!world().captures || thread.mode == cudaStreamCaptureModeRelaxed)
    return false;
  for (auto &stream : world().streams)
    if (stream->capture)
      stream->capture->spoiled = true;
  return true;
}

//===----------------------------------------------------------------------===//
// For tests
//===----------------------------------------------------------------------===//

/// Groups of earlier tests lose their state with the devices' memory, so each
/// test has recorders of its own. Old memory stays mapped.
void fake::reset(int devices) {
  World &all = world();
  Lock lock(all.mutex);
  for (int i = int(all.devices.size()); i < devices; ++i) {
    auto device = std::make_unique<Device>();
    device->memory = static_cast<char *>(
        mmap(nullptr, kArena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    device->ordinary.device = i;
    device->ordinary.isUsers = true;
    all.devices.push_back(std::move(device));
  }
  for (auto &device : all.devices)
    device->started = false;
  all.launches = all.waits = 0;
  all.allocations = -1;
  all.slots.clear();
  all.broken = all.capturesBroken = false;
  thread = {};
}

cudaStream_t fake::makeStream(int device) {
  Lock lock(world().mutex);
  world().streams.push_back(std::make_unique<CUstream_st>());
  CUstream_st *stream = world().streams.back().get();
  stream->device = device;
  stream->isUsers = true;
  return stream;
}

void fake::hold(cudaStream_t stream) {
  Lock lock(world().mutex);
  stream->held = true;
}

void fake::letGo(cudaStream_t stream) {
  Lock lock(world().mutex);
  stream->held = false;
  drain(*stream);
}

void fake::beginCapture(cudaStream_t stream) {
  Lock lock(world().mutex);
  stream->capture = std::make_unique<Graph>();
  ++world().captures;
}

Graph fake::endCapture(cudaStream_t stream) {
  Lock lock(world().mutex);
  --world().captures;
  return std::move(*std::exchange(stream->capture, nullptr));
}

void fake::replay(const Graph &graph, cudaStream_t stream) {
  Lock lock(world().mutex);
  for (auto &work : graph.work)
    stream->queue.push_back(work);
  drain(*stream);
}

void *fake::upload(int device, const void *data, size_t bytes) {
  Lock lock(world().mutex);
  Device &to = *world().devices[size_t(device)];
  char *memory = to.memory + to.used;
  to.used += (bytes + 255) / 256 * 256;
  onDevice(device, [&] { std::memcpy(memory, data, bytes); });
  return memory;
}

void fake::launch(cudaStream_t stream, const void *slot,
                  std::function<void()> work) {
  Lock lock(world().mutex);
  world().launches += slot != nullptr;
  if (slot)
    world().slots.insert(slot);
  if (slot && (world().broken || owner(slot) != &current()))
    fail(cudaErrorIllegalAddress);
  else
    enqueue(stream, std::move(work));
}

int fake::launches() { return world().launches; }
size_t fake::slots() { return world().slots.size(); }
int fake::waits() { return world().waits; }
void fake::allowAllocations(int count) { world().allocations = count; }
void fake::breakCaptures(bool broken) { world().capturesBroken = broken; }
void fake::breakLaunches(bool broken) { world().broken = broken; }
int fake::contextOfThread() {
  return int(reinterpret_cast<intptr_t>(thread.context)) - 1;
}
bool fake::wasStarted(int device) {
  return world().devices[size_t(device)]->started;
}

//===----------------------------------------------------------------------===//
// The runtime
//===----------------------------------------------------------------------===//

extern "C" {

cudaError_t cudaGetDeviceCount(int *count) {
  *count = int(world().devices.size());
  return cudaSuccess;
}

/// Does not start the device.
cudaError_t cudaGetDevice(int *device) {
  *device = thread.context ? int(reinterpret_cast<intptr_t>(thread.context)) - 1
                           : thread.device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  Lock lock(world().mutex);
  thread.device = device;
  thread.context = nullptr;
  current();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int) {
  *value = 2;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  Lock lock(world().mutex);
  if (world().captures)
    return fail(cudaErrorStreamCaptureUnsupported);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
  Lock lock(world().mutex);
  if (isUnsafe())
    return fail(cudaErrorStreamCaptureUnsupported);
  Device &device = current();
  if (world().allocations == 0 || device.used + bytes > kArena)
    return fail(cudaErrorMemoryAllocation);
  world().allocations -= world().allocations > 0;
  *memory = device.memory + device.used;
  device.used += (bytes + 255) / 256 * 256;
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned) {
  Lock lock(world().mutex);
  if (isUnsafe())
    return fail(cudaErrorStreamCaptureUnsupported);
  *memory = std::calloc(1, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  Lock lock(world().mutex);
  // Memory that is not pinned is taken over at once.
  std::vector<char> staged;
  if (kind == cudaMemcpyHostToDevice) {
    const char *begin = static_cast<const char *>(from);
    staged.assign(begin, begin + bytes);
    if (owner(to) != &current())
      return fail(cudaErrorInvalidValue);
  }
  return enqueue(stream, [=, staged = std::move(staged)] {
    std::memcpy(to, staged.empty() ? from : staged.data(), bytes);
  });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags,
                                         int) {
  Lock lock(world().mutex);
  if (isUnsafe() || flags != cudaStreamNonBlocking)
    return fail(cudaErrorStreamCaptureUnsupported);
  *stream = fake::makeStream(0);
  (*stream)->device = current().ordinary.device;
  (*stream)->isUsers = false;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Lock lock(world().mutex);
  if (isUnsafe() || stream->capture || stream->isUsers)
    return fail(cudaErrorStreamCaptureUnsupported);
  ++world().waits;
  world().moved.wait(lock, [&] { return stream->queue.empty(); });
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                  cudaStreamCaptureStatus *status) {
  Lock lock(world().mutex);
  if (world().capturesBroken)
    return fail(cudaErrorInsufficientDriver);
  if (!stream && world().captures)
    return fail(cudaErrorStreamCaptureImplicit);
  *status = streamOf(stream).capture ? cudaStreamCaptureStatusActive
                                     : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode) {
  std::swap(*mode, thread.mode);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  Lock lock(world().mutex);
  world().events.push_back(std::make_unique<CUevent_st>());
  *event = world().events.back().get();
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Lock lock(world().mutex);
  uint64_t number = ++event->recorded;
  return enqueue(stream, [=] { event->done = number; });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  Lock lock(world().mutex);
  if (isUnsafe())
    return fail(cudaErrorStreamCaptureUnsupported);
  return event->done == event->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Lock lock(world().mutex);
  if (isUnsafe())
    return fail(cudaErrorStreamCaptureUnsupported);
  ++world().waits;
  world().moved.wait(lock, [&] { return event->done == event->recorded; });
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes,
                                     const void *address) {
  Lock lock(world().mutex);
  *attributes = {};
  Device *device = owner(address);
  attributes->type = device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  attributes->device = device ? device->ordinary.device : 0;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return std::exchange(thread.error, cudaSuccess);
}

static int getContext(void **context) {
  *context = thread.context;
  return 0;
}

static int setContext(void *context) {
  thread.context = context;
  return 0;
}

cudaError_t
cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned,
                                 unsigned long long,
                                 cudaDriverEntryPointQueryResult *found) {
  bool get = !std::strcmp(name, "cuCtxGetCurrent");
  *function = get ? reinterpret_cast<void *>(getContext)
                  : reinterpret_cast<void *>(setContext);
  *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *, const void *) {
  return cudaSuccess;
}

} // extern "C"
