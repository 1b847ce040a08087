//===- MonitorOps.cpp - What mpopt.monitor asks of PyTorch
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `observe` records whole lists of tensors, of any kind of record. Its `token`
// is declared to be written and is not looked at: a compiler that makes graphs
// functional keeps the op, and its order, for the token's sake. In graphs
// `observe_at` records one tensor, with its id in the token. Outside of them
// one op does all that is asked of a tensor: `observe_gradients` takes
// norms from the pass that records, `observe_output` sizes by channel while the
// output is in the cache.
//
// `norms` is what a monitor takes of every gradient in every step. On the
// processor one pass over small tensors without the dispatcher costs less than
// the dispatcher's share of an op for each; elsewhere it is PyTorch's own fused
// kernel, which neither waits nor copies. `channels` is for the processor
// alone: elsewhere a few of PyTorch's ops do the same.
//
//===----------------------------------------------------------------------===//

#include "MonitorOps.h"

#include "GradientOps.h"
#include "Observe.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

using namespace mpopt::torch_ops;

static void observeAll(at::TensorList xs, const at::Tensor &,
                       at::IntArrayRef ids, int64_t kind,
                       std::string_view ledger) {
  if (kind < 0 || kind >= MPOPT_KINDS)
    return;
  mpopt_recorder *recorder = findRecorder(ledger);
  for (size_t i = 0, end = std::min(xs.size(), ids.size()); i < end; ++i)
    if (isId(ids[i]))
      observe({recorder, uint32_t(ids[i]), uint32_t(kind)}, xs[i]);
}

static void observeNothing(at::TensorList, const at::Tensor &, at::IntArrayRef,
                           int64_t, std::string_view) {}

/// A number would be a constant of a compiled graph, and blocks of one kind,
/// compiled one by one, would each have a graph of their own.
static void observeAt(const at::Tensor &x, const at::Tensor &id, int64_t kind,
                      std::string_view ledger) {
  TORCH_CHECK(id.is_cpu() && id.scalar_type() == at::kLong && id.numel() == 1,
              "mpopt::observe_at takes an id as a tensor of one integer in the "
              "processor's memory");
  observeAll(x, id, *id.const_data_ptr<int64_t>(), kind, ledger);
}

static void observeNothingAt(const at::Tensor &, const at::Tensor &, int64_t,
                             std::string_view) {}

/// Tensors from here on are worth PyTorch's threads.
static constexpr int64_t kManyElements = 1 << 17;

static float normOf(const at::Tensor &x) {
  if (x.scalar_type() == at::kFloat && x.numel() < kManyElements &&
      x.is_non_overlapping_and_dense())
    return float(std::sqrt(
        mpopt_sum_squares(x.const_data_ptr<float>(), uint64_t(x.numel()))));
  // A sum of squares has no room in 16 bits.
  at::ScalarType wide = x.element_size() < 4 ? at::kFloat : x.scalar_type();
  return at::linalg_vector_norm(x, 2, std::nullopt, false, wide).item<float>();
}

static void checkNorms(at::TensorList xs, const at::Tensor &out) {
  TORCH_CHECK(out.dim() == 1 && out.size(0) == int64_t(xs.size()) &&
                  out.scalar_type() == at::kFloat && out.is_contiguous(),
              "mpopt::norms takes a contiguous FP32 vector with an element for "
              "each tensor");
}

static void norms(at::TensorList xs, const at::Tensor &out) {
  checkNorms(xs, out);
  if (xs.empty())
    return;
  at::NoGradGuard guard;
  if (!out.is_cpu()) {
    std::vector<at::Tensor> each = at::_foreach_norm(xs, 2, at::kFloat);
    at::Tensor into = out;
    at::stack_out(into, each);
    return;
  }
  float *result = out.data_ptr<float>();
  for (const at::Tensor &x : xs)
    *result++ = normOf(x);
}

static void observeGradients(at::TensorList xs, const at::Tensor &out,
                             at::IntArrayRef ids, std::string_view ledger) {
  checkNorms(xs, out);
  TORCH_CHECK(ids.size() == xs.size(),
              "mpopt::observe_gradients takes an id for each tensor");
  if (!out.is_cpu()) {
    observeAll(xs, out, ids, MPOPT_GRADIENT, ledger);
    return norms(xs, out);
  }
  at::NoGradGuard guard;
  mpopt_recorder *recorder = findRecorder(ledger);
  float *result = out.data_ptr<float>();
  for (size_t i = 0; i < xs.size(); ++i) {
    double norm;
    bool known = isId(ids[i]) &&
                 observeWithNorm({recorder, uint32_t(ids[i]), MPOPT_GRADIENT},
                                 xs[i], norm);
    result[i] = known ? float(norm) : normOf(xs[i]);
  }
}

/// Room for sums by channel, kept for the next one, which often has as many.
static std::vector<double> &sumsByChannel(int64_t channels) {
  static thread_local std::vector<double> sums;
  sums.assign(size_t(channels), 0.0);
  return sums;
}

/// Gives two numbers of sums of squares over `each` elements: root mean square
/// of the largest channel, NaN if one holds NaN, and of the median one of those
/// that are not 0 throughout; 0 if all are.
static void sizesOf(std::vector<double> &sums, double each, float *result) {
  double largest = 0;
  for (double sum : sums)
    if (std::isnan(sum) || sum > largest)
      largest = std::isnan(largest) ? largest : sum;
  std::erase_if(sums, [](double sum) { return !(sum > 0); });
  double median = 0;
  if (!sums.empty()) {
    auto middle = sums.begin() + (sums.size() - 1) / 2;
    std::nth_element(sums.begin(), middle, sums.end());
    median = *middle;
  }
  result[0] = float(std::sqrt(largest / each));
  result[1] = float(std::sqrt(median / each));
}

static void channels(const at::Tensor &x, int64_t axis, const at::Tensor &out) {
  constexpr const char *kTakes =
      "mpopt::channels takes a tensor with float elements, one of its axes and "
      "two FP32 numbers, in the processor's memory";
  TORCH_CHECK(x.is_cpu() && out.is_cpu() && out.numel() == 2 &&
                  out.scalar_type() == at::kFloat && out.is_contiguous() &&
                  axis >= 0 && axis < x.dim() && x.numel() > 0,
              kTakes);
  std::vector<double> &sums = sumsByChannel(x.size(axis));
  TORCH_CHECK(addSquares(x, axis, sums.data()), kTakes);
  sizesOf(sums, double(x.numel()) / double(x.size(axis)),
          out.data_ptr<float>());
}

/// Records `x` if `id` is one. Gives sizes by channel to the pair `place` of
/// `out` and returns true if there is an axis, from the end if negative, with
/// two channels.
static bool observeOutput(const at::Tensor &x, const at::Tensor &out,
                          int64_t place, int64_t id,
                          std::optional<int64_t> axis,
                          std::string_view ledger) {
  int64_t rank = x.dim();
  bool sized = axis && rank > 1 && x.numel();
  if (sized && *axis < 0)
    *axis += rank;
  TORCH_CHECK(!sized ||
                  (x.is_cpu() && out.is_cpu() && *axis >= 0 && *axis < rank &&
                   out.scalar_type() == at::kFloat && out.is_contiguous() &&
                   place >= 0 && place < out.numel() / 2),
              "mpopt::observe_output takes an axis of a tensor and a place "
              "among pairs of FP32 numbers, in the processor's memory");
  sized = sized && x.size(*axis) > 1;
  Target target;
  if (isId(id))
    target = {findRecorder(ledger), uint32_t(id), MPOPT_VALUE};
  if (!sized) {
    if (target.recorder)
      observe(target, x);
    return false;
  }
  std::vector<double> &sums = sumsByChannel(x.size(*axis));
  bool summed =
      target.recorder && observeWithSquares(target, x, *axis, sums.data());
  if (!summed && !addSquares(x, *axis, sums.data()))
    return false;
  sizesOf(sums, double(x.numel()) / double(x.size(*axis)),
          out.data_ptr<float>() + 2 * place);
  return true;
}

void mpopt::torch_ops::registerMonitorOps(torch::Library &ops) {
  ops.def("observe(Tensor[] xs, Tensor(a!) token, int[] ids, int kind, str "
          "ledger) -> ()");
  ops.def("observe_at(Tensor x, Tensor(a!) id, int kind, str ledger) -> ()");
  ops.def("norms(Tensor[] xs, Tensor(a!) out) -> ()");
  ops.def("channels(Tensor x, int axis, Tensor(a!) out) -> ()");
  ops.def("observe_gradients(Tensor[] xs, Tensor(a!) norms, int[] ids, str "
          "ledger) -> ()");
  ops.def("observe_output(Tensor x, Tensor(a!) sizes, int place, int id, int? "
          "axis, str ledger) -> bool");
  // Never freed: other libraries' clean-up may still call ops.
  auto implement = [](c10::DispatchKey key) {
    return new torch::Library(torch::Library::IMPL, "mpopt", key, __FILE__,
                              __LINE__);
  };
  auto *all = implement(c10::DispatchKey::CompositeExplicitAutograd);
  all->impl("observe", observeAll);
  all->impl("observe_at", observeAt);
  all->impl("norms", norms);
  all->impl("channels", channels);
  all->impl("observe_gradients", observeGradients);
  all->impl("observe_output", observeOutput);
  // None of them gives what has a gradient: the one in the middle would only
  // look at all operands.
  auto *autograd = implement(c10::DispatchKey::Autograd);
  for (const char *name :
       {"observe", "norms", "channels", "observe_gradients", "observe_output"})
    autograd->impl(name, torch::CppFunction::makeFallthrough());
  auto *meta = implement(c10::DispatchKey::Meta);
  meta->impl("observe", observeNothing);
  meta->impl("observe_at", observeNothingAt);
}
