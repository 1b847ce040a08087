//===- GradientOps.cpp - mpopt::probe_grad for PyTorch
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `probe_grad` is the identity: it gives back the tensor that it was given and
// leaves a hook on it, so that nothing is added to the graph of gradients,
// views and changes in place mean what they meant before, and gradients of
// gradients do not know of it. A hook on a leaf would outlive the step, and one
// more would come with each: a leaf gives a view of itself, which is new every
// time.
//
// Autocast casts the weights inside the ops of its 16-bit list, where no probe
// can be. `autocast_operand` makes the same cast before the op: of a leaf it is
// the one in autocast's cache, which all uses of the weight share, and the op
// takes what is in 16 bits already as it is. So the gradients are added up in
// the same order and in the same dtype as without it.
//
//===----------------------------------------------------------------------===//

#include "GradientOps.h"

#include "Observe.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

using namespace mpopt::torch_ops;

static at::Tensor probeGradient(const at::Tensor &x, int64_t id,
                                std::string_view ledger) {
  if (!isId(id) || !x.defined() || !at::GradMode::is_enabled() ||
      !x.requires_grad())
    return x;
  Target target{findRecorder(ledger), uint32_t(id), MPOPT_GRADIENT};
  at::Tensor probed = x.is_leaf() ? x.alias() : x;
  probed.register_hook(
      [target](const at::Tensor &gradient) { observe(target, gradient); });
  return probed;
}

static at::Tensor keepOperand(const at::Tensor &x, bool, bool) { return x; }

/// Autocast is on for the device `type`, and the op is on its 16-bit list
/// there if `isListed`.
static at::Tensor castOperand(const at::Tensor &x, c10::DeviceType type,
                              bool isListed) {
  if (!isListed || !x.defined())
    return x;
  c10::impl::ExcludeDispatchKeyGuard guard(
      at::autocast::get_autocast_dispatch_key_from_device_type(type));
  at::Tensor cast = at::autocast::cached_cast(
      at::autocast::get_autocast_dtype(type), x, type);
  // The one in the cache may come again before its gradient does: its hooks
  // would add up.
  return cast.is_same(x) || !cast.requires_grad() ? cast : cast.alias();
}

static at::Tensor castOnCpu(const at::Tensor &x, bool cpu, bool) {
  return castOperand(x, c10::DeviceType::CPU, cpu);
}

static at::Tensor castOnCuda(const at::Tensor &x, bool, bool cuda) {
  return castOperand(x, c10::DeviceType::CUDA, cuda);
}

void mpopt::torch_ops::implementGradientOps() {
  // Never freed: other libraries' clean-up may still call ops.
  auto implement = [](c10::DispatchKey key) {
    return new torch::Library(torch::Library::IMPL, "mpopt", key, __FILE__,
                              __LINE__);
  };
  auto *composite = implement(c10::DispatchKey::CompositeImplicitAutograd);
  composite->impl("probe_grad", probeGradient);
  composite->impl("autocast_operand", keepOperand);
  implement(c10::DispatchKey::AutocastCPU)->impl("autocast_operand", castOnCpu);
  implement(c10::DispatchKey::AutocastCUDA)
      ->impl("autocast_operand", castOnCuda);
}
