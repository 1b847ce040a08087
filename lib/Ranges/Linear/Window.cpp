//===- Window.cpp - Steps of pools and reductions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Means and sums are linear. A maximum is at least any element of its window,
// and at most the largest bound of one.
//
//===----------------------------------------------------------------------===//

#include "Step.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/WindowSupport.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Ranges/Value/CellSupport.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::linear;

namespace {
struct WindowAxis {
  int64_t kernel, stride, dilation, pad, size;
  int64_t first(int64_t position) const { return position * stride - pad; }
};

/// Windows of an operand; an axis that is reduced has one.
struct Windows {
  Value input;
  SmallVector<WindowAxis, 4> axes;
  /// The result's axis `resultAxes[i]` is the operand's axis `i`; -1 for one
  /// that the result lacks.
  SmallVector<int64_t, 4> resultAxes;
};

class WindowStep : public Step {
public:
  explicit WindowStep(Windows windows) : windows(std::move(windows)) {}

  void trace(const Box &box, Trace &trace) const override {
    Box read;
    for (auto [i, axis] : llvm::enumerate(windows.axes)) {
      int64_t position = 0, size = 1;
      if (windows.resultAxes[i] >= 0) {
        position = box.first[windows.resultAxes[i]];
        size = box.size[windows.resultAxes[i]];
      }
      int64_t first = axis.first(position);
      int64_t last =
          axis.first(position + size - 1) + (axis.kernel - 1) * axis.dilation;
      int64_t inFirst = first, inLast = last;
      if (axis.size >= 0) {
        inFirst = std::clamp<int64_t>(first, 0, axis.size - 1);
        inLast = std::clamp<int64_t>(last, 0, axis.size - 1);
      }
      read.first.push_back(inFirst);
      read.size.push_back(inLast - inFirst + 1);
      trace.note(inFirst - first);
      trace.note(last - inLast);
    }
    trace.read(windows.input, read);
  }

  double cost(const Box &box) const override {
    double taps = 1;
    for (const WindowAxis &axis : windows.axes)
      taps *= double(axis.kernel);
    return taps * double(box.volume());
  }

protected:
  /// Calls `visit` with the indices of the operand in a window.
  void forWindow(ArrayRef<int64_t> index,
                 llvm::function_ref<void(ArrayRef<int64_t>)> visit) const {
    Box taps = {Index(windows.axes.size(), 0), {}};
    for (const WindowAxis &axis : windows.axes)
      taps.size.push_back(axis.kernel);
    Index own(windows.axes.size());
    taps.forEach([&](ArrayRef<int64_t> tap, int64_t) {
      for (auto [i, axis] : llvm::enumerate(windows.axes)) {
        int64_t position =
            windows.resultAxes[i] < 0 ? 0 : index[windows.resultAxes[i]];
        own[i] = axis.first(position) + tap[i] * axis.dilation;
        if (axis.size >= 0 && (own[i] < 0 || own[i] >= axis.size))
          return;
      }
      visit(own);
    });
  }

  const Windows windows;
};

class MeanStep : public WindowStep {
public:
  /// Divides by `divisor`, or by the number of elements of each window if that
  /// is 0; off by `error`.
  MeanStep(Windows windows, double divisor, double error)
      : WindowStep(std::move(windows)), divisor(divisor), error(error) {}

  void pull(const Part &part, Forms &forms) const override {
    Part &into = forms.of(windows.input);
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      const double *from = part.numbers.data() + size_t(at) * forms.rows;
      double count = divisor;
      if (count == 0)
        forWindow(index, [&](ArrayRef<int64_t>) { ++count; });
      forWindow(index, [&](ArrayRef<int64_t> own) {
        forms.add(from,
                  into.numbers.data() + size_t(into.box.find(own)) * forms.rows,
                  1 / count);
      });
      forms.lose(from, error);
    });
  }

private:
  double divisor, error;
};

class MaximumStep : public WindowStep {
public:
  MaximumStep(Windows windows, const AbstractValue &known)
      : WindowStep(std::move(windows)), known(known),
        cells(known, this->windows.axes.size()) {}

  bool isExact() const override { return true; }

  void pull(const Part &part, Forms &forms) const override {
    Part &into = forms.of(windows.input);
    part.box.forEach([&](ArrayRef<int64_t> index, int64_t at) {
      const double *from = part.numbers.data() + size_t(at) * forms.rows;
      double most = -kInfinity, least = -kInfinity;
      Index best;
      forWindow(index, [&](ArrayRef<int64_t> own) {
        Cell cell = known.cell(cells(own));
        most = std::max(most, cell.hi);
        if (best.empty() || cell.lo > least) {
          least = cell.lo;
          best.assign(own.begin(), own.end());
        }
      });
      // No window lies in the padding as a whole (makePool).
      double *to =
          into.numbers.data() + size_t(into.box.find(best)) * forms.rows;
      double slack = kSlack * std::max(std::fabs(most), std::fabs(least));
      for (size_t row = 0; row < forms.rows; ++row) {
        double above = std::max(from[row], 0.0), below = from[row] - above;
        forms.constant[row] += above * most;
        to[row] += below;
        forms.error[row] += (above - below) * slack;
      }
    });
  }

private:
  AbstractValue known;
  CellMap cells;
};
} // namespace

/// The windows of a pool over axes of known size, which none leaves as a whole.
template <typename OpT> static std::optional<Windows> getWindows(OpT op) {
  MaybeShape in = getShape(op.getInput()), out = getShape(op->getResult(0));
  size_t spatial = op.getKernelShape().size();
  if (!in || !out || in->size() != out->size() || in->size() < spatial ||
      op.getCeilMode())
    return std::nullopt;
  Window window = Window::get(op.getKernelShape(), op.getStrides(),
                              op.getDilations(), op.getPads(), op.getAutoPad());
  size_t leading = in->size() - spatial;
  SmallVector<WindowAxis, 4> axes(leading, {1, 1, 1, 0, -1});
  for (auto [i, dim] : llvm::enumerate(window.dims)) {
    int64_t size = (*in)[leading + i];
    auto pads = size > 0 ? window.pads(i, size) : std::nullopt;
    if (!pads || dim.kernel <= 0 || dim.extent() > size ||
        pads->first >= dim.extent() || pads->second >= dim.extent() ||
        dim.dilation != 1)
      return std::nullopt;
    axes.push_back({dim.kernel, dim.stride, dim.dilation, pads->first, size});
  }
  SmallVector<int64_t, 4> same;
  for (size_t axis = 0; axis < in->size(); ++axis)
    same.push_back(int64_t(axis));
  return Windows{op.getInput(), std::move(axes), std::move(same)};
}

/// One window over whole axes.
static std::optional<Windows>
getRows(OpResult result, ArrayRef<int64_t> reduced, bool keepsAxes) {
  Value input = result.getOwner()->getOperand(0);
  Windows rows{input, {}, {}};
  int64_t next = 0;
  for (auto [axis, dim] : llvm::enumerate(*getShape(input))) {
    bool gone = llvm::is_contained(reduced, int64_t(axis));
    if (gone && dim <= 0)
      return std::nullopt;
    rows.axes.push_back({gone ? dim : 1, 1, 1, 0, gone ? dim : -1});
    rows.resultAxes.push_back(gone ? -1 : next);
    next += !gone || keepsAxes;
  }
  return rows;
}

namespace {
enum class RowResult { Mean, Sum, Maximum };
} // namespace

static std::unique_ptr<Step> makeReduction(OpResult result,
                                           ArrayRef<int64_t> reduced,
                                           bool keepsAxes, RowResult kind,
                                           TransferContext &ctx) {
  std::optional<Windows> rows = getRows(result, reduced, keepsAxes);
  if (!rows)
    return nullptr;
  const AbstractValue &known = ctx.of(rows->input);
  if (kind == RowResult::Maximum)
    return std::make_unique<MaximumStep>(std::move(*rows), known);
  double count = 1, most = known.hull().absMax();
  for (const WindowAxis &axis : rows->axes)
    count *= double(axis.kernel);
  bool mean = kind == RowResult::Mean;
  double error = contractionError(ctx.sumFormat(rows->input), count + 8,
                                  mean ? most : mulUp(count, most));
  return std::make_unique<MeanStep>(std::move(*rows), mean ? count : 1, error);
}

static std::unique_ptr<Step> makeAverage(mp::AveragePoolOp op,
                                         TransferContext &ctx) {
  std::optional<Windows> windows = getWindows(op);
  if (!windows)
    return nullptr;
  double count = 1;
  for (int64_t kernel : op.getKernelShape())
    count *= double(kernel);
  double most = ctx.of(op.getInput()).hull().absMax();
  double error =
      contractionError(ctx.sumFormat(op.getInput()), count + 8, most);
  return std::make_unique<MeanStep>(std::move(*windows),
                                    op.getCountIncludePad() ? count : 0, error);
}

std::unique_ptr<Step> linear::makeWindow(OpResult result,
                                         TransferContext &ctx) {
  Operation *op = result.getOwner();
  auto reduce = [&](RowResult kind) -> std::unique_ptr<Step> {
    auto axes = getReducedAxes(op, ctx.shapes());
    auto keeps = op->getAttrOfType<BoolAttr>("keep_dims");
    if (!axes || !keeps)
      return nullptr;
    return makeReduction(result, *axes, keeps.getValue(), kind, ctx);
  };
  if (op->getNumOperands() == 0 || result.getResultNumber() != 0 ||
      !getShape(op->getOperand(0)) || !getShape(result) ||
      ctx.of(op->getOperand(0)).mayBeNonFinite())
    return nullptr;
  return TypeSwitch<Operation *, std::unique_ptr<Step>>(op)
      .Case([&](mp::AveragePoolOp pool) { return makeAverage(pool, ctx); })
      .Case([&](mp::MaxPoolOp pool) -> std::unique_ptr<Step> {
        std::optional<Windows> windows = getWindows(pool);
        return windows ? std::make_unique<MaximumStep>(std::move(*windows),
                                                       ctx.of(pool.getInput()))
                       : nullptr;
      })
      .Case<mp::GlobalAveragePoolOp, mp::GlobalMaxPoolOp>([&](auto) {
        SmallVector<int64_t, 4> axes;
        for (size_t axis = 2; axis < getShape(result)->size(); ++axis)
          axes.push_back(int64_t(axis));
        return makeReduction(result, axes, true,
                             isa<mp::GlobalMaxPoolOp>(op) ? RowResult::Maximum
                                                          : RowResult::Mean,
                             ctx);
      })
      .Case<mp::ReduceMeanOp>([&](auto) { return reduce(RowResult::Mean); })
      .Case<mp::ReduceSumOp>([&](auto) { return reduce(RowResult::Sum); })
      .Case<mp::ReduceMaxOp>([&](auto) { return reduce(RowResult::Maximum); })
      .Default(nullptr);
}
