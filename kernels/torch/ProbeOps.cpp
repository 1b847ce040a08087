//===- ProbeOps.cpp - mpopt::probe for PyTorch
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A probe has no result, so no gradient flows through it and it can sit in a
// graph that is trained. Where gradients are asked for, it hooks itself to its
// tensor and records what flows back to it.
//
// LibTorch has no stable C++ interface: on another version than the one that
// this was built for nothing is registered.
//
//===----------------------------------------------------------------------===//

#include "GradientOps.h"
#include "MonitorOps.h"
#include "Observe.h"

#include "mpopt/Kernels/TorchOps.h"

#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <torch/library.h>
#include <torch/version.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace mpopt::torch_ops;

static std::atomic<bool> &gradients() {
  static std::atomic<bool> wanted([] {
    const char *text = std::getenv("MPOPT_PROBE_GRADIENTS");
    return text && *text && std::strcmp(text, "0") != 0;
  }());
  return wanted;
}

static void beginRun(std::string_view ledger) {
  mpopt_recorder_begin_run(findRecorder(ledger), /*here=*/1);
}

static void beginNothing(std::string_view) {}

// -- mpopt::probe and mpopt::probe_channels ----------------------------------
//
// One op is the other one without an axis. Each has a kernel for where a tensor
// is, one for gradients, one for vmap and one for tensors without elements.

static void probeChannels(const at::Tensor &x, int64_t id, int64_t axis,
                          std::string_view ledger) {
  if (isId(id))
    observe({findRecorder(ledger), uint32_t(id), MPOPT_VALUE,
             axis == int32_t(axis) ? int32_t(axis) : -1},
            x);
}

static void probe(const at::Tensor &x, int64_t id, std::string_view ledger) {
  probeChannels(x, id, /*axis=*/-1, ledger);
}

static void probeNothing(const at::Tensor &, int64_t, std::string_view) {}
static void probeNoChannels(const at::Tensor &, int64_t, int64_t,
                            std::string_view) {}

/// Through the dispatcher; without channels if `axis` is negative.
static void callProbe(const at::Tensor &x, int64_t id, std::string_view ledger,
                      int64_t axis = -1) {
  auto &dispatcher = c10::Dispatcher::singleton();
  static auto plain =
      dispatcher.findSchemaOrThrow("mpopt::probe", "")
          .typed<void(const at::Tensor &, int64_t, std::string_view)>();
  static auto channels =
      dispatcher.findSchemaOrThrow("mpopt::probe_channels", "")
          .typed<void(const at::Tensor &, int64_t, int64_t,
                      std::string_view)>();
  if (axis < 0)
    plain.call(x, id, ledger);
  else
    channels.call(x, id, axis, ledger);
}

static void probeChannelsWithGradient(const at::Tensor &x, int64_t id,
                                      int64_t axis, std::string_view ledger) {
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    callProbe(x, id, ledger, axis);
  }
  if (!isId(id) || !gradients() || !at::GradMode::is_enabled() ||
      !x.requires_grad())
    return;
  Target target{findRecorder(ledger), uint32_t(id), MPOPT_GRADIENT};
  x.register_hook(
      [target](const at::Tensor &gradient) { observe(target, gradient); });
}

static void probeWithGradient(const at::Tensor &x, int64_t id,
                              std::string_view ledger) {
  probeChannelsWithGradient(x, id, /*axis=*/-1, ledger);
}

/// torch.vmap: the examples of a batch are recorded together, as one call.
static void probeChannelsOfBatch(const at::Tensor &x, int64_t id, int64_t axis,
                                 std::string_view ledger) {
  c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::FuncTorchBatched);
  auto *batch = at::functorch::maybeGetBatchedImpl(x);
  if (!batch)
    return callProbe(x, id, ledger, axis);
  // The axis counts the dims of one example.
  if (axis >= 0 && batch->bdim() <= axis)
    ++axis;
  callProbe(batch->value(), id, ledger, axis);
}

static void probeBatch(const at::Tensor &x, int64_t id,
                       std::string_view ledger) {
  probeChannelsOfBatch(x, id, /*axis=*/-1, ledger);
}

static void probeOptional(const std::optional<at::Tensor> &x, int64_t id,
                          std::string_view ledger) {
  if (x && x->defined())
    callProbe(*x, id, ledger);
}

static void probeNumber(const at::Scalar &x, int64_t id,
                        std::string_view ledger) {
  if (!isId(id) || x.isSymbolic())
    return;
  mpopt_tensor number = {};
  number.channel_axis = -1;
  double real = 0;
  int64_t integer = 0;
  bool truth = false;
  if (x.isFloatingPoint()) {
    real = x.toDouble();
    number.data = &real;
    number.dtype = MPOPT_F64;
  } else if (x.isBoolean()) {
    truth = x.toBool();
    number.data = &truth;
    number.dtype = MPOPT_BOOL;
  } else {
    if (x.isIntegral(/*includeBool=*/false))
      integer = x.toLong();
    number.data = &integer;
    number.dtype = x.isComplex() ? MPOPT_UNDEFINED : MPOPT_I64;
  }
  mpopt_recorder_observe(findRecorder(ledger), uint32_t(id), MPOPT_VALUE,
                         &number, nullptr);
}

static void probeMembers(at::TensorList xs, at::IntArrayRef rounds,
                         at::IntArrayRef table, std::string_view ledger) {
  size_t width = rounds.size() + 2;
  for (size_t row = 0; row + width <= table.size(); row += width) {
    int64_t member = table[row + width - 2], id = table[row + width - 1];
    if (std::equal(rounds.begin(), rounds.end(), table.begin() + row) &&
        member >= 0 && member < int64_t(xs.size()))
      callProbe(xs[member], id, ledger);
  }
}

static void recordGradients(bool enabled) { gradients() = enabled; }

/// The version of the library that is loaded; empty if it does not say.
static std::string runningVersion() {
  std::string config = at::show_config(), key = "TORCH_VERSION=";
  size_t begin = config.find(key);
  if (begin == std::string::npos)
    return {};
  begin += key.size();
  return config.substr(begin, config.find_first_of(", \n", begin) - begin);
}

static bool isBuiltFor(std::string version) {
  // Builds for different devices (2.13.0+cpu) have the same interface.
  std::string built = TORCH_VERSION;
  version = version.substr(0, version.find('+'));
  built = built.substr(0, built.find('+'));
  return version.empty() || version == built;
}

static bool registerOps() {
  if (std::string running = runningVersion(); !isBuiltFor(running)) {
    std::fprintf(
        stderr,
        "mpopt: error: libmpopt_torch.so was built for PyTorch %s, and "
        "this is %s: its probes are not registered\n",
        TORCH_VERSION, running.c_str());
    return false;
  }
  // Never freed: other libraries' clean-up may still call ops.
  auto *ops = new torch::Library(torch::Library::FRAGMENT, "mpopt",
                                 std::nullopt, __FILE__, __LINE__);
  for (const char *op : mpopt::kernels::kTorchProbeOps)
    ops->def(torch::schema(op, c10::AliasAnalysisKind::CONSERVATIVE));
  ops->def(torch::schema("record_gradients(bool enabled) -> ()",
                         c10::AliasAnalysisKind::CONSERVATIVE),
           recordGradients);
  auto implement = [](c10::DispatchKey key) {
    return new torch::Library(torch::Library::IMPL, "mpopt", key, __FILE__,
                              __LINE__);
  };
  // For every device: `observe` tells them apart.
  for (c10::DispatchKey key : {c10::DispatchKey::CompositeExplicitAutograd,
                               c10::DispatchKey::NestedTensorCPU,
                               c10::DispatchKey::NestedTensorCUDA}) {
    auto *library = implement(key);
    library->impl("probe", probe);
    library->impl("probe_channels", probeChannels);
  }
  auto *meta = implement(c10::DispatchKey::Meta);
  meta->impl("begin_run", beginNothing);
  meta->impl("probe", probeNothing);
  meta->impl("probe_channels", probeNoChannels);
  auto *autograd = implement(c10::DispatchKey::Autograd);
  autograd->impl("probe", probeWithGradient);
  autograd->impl("probe_channels", probeChannelsWithGradient);
  auto *batched = implement(c10::DispatchKey::FuncTorchBatched);
  batched->impl("probe", probeBatch);
  batched->impl("probe_channels", probeChannelsOfBatch);
  // Not implicit: a tracer would run it once and leave it out of its graph.
  implement(c10::DispatchKey::CompositeExplicitAutograd)
      ->impl("begin_run", beginRun);
  auto *composite = implement(c10::DispatchKey::CompositeImplicitAutograd);
  composite->impl("probe_optional", probeOptional);
  composite->impl("probe_number", probeNumber);
  composite->impl("probe_members", probeMembers);
  implementGradientOps();
  registerMonitorOps(*ops);
  return true;
}

static const bool isRegistered = registerOps();
