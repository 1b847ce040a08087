//===- Pooling.cpp - Pools, and ops that resample along axes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"

#include "Unfolding.h"

#include "mpopt/Dialect/Ops/GradientOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::evaluation;

//===----------------------------------------------------------------------===//
// Linear maps along axes
//===----------------------------------------------------------------------===//

namespace {
/// Each element along an axis is a sum of weighted elements along it.
struct AxisMap {
  size_t axis;
  int64_t input;
  /// By element of the result; beside the input nothing.
  std::vector<std::vector<std::pair<int64_t, double>>> taps;
};
using AxisMaps = std::optional<std::vector<AxisMap>>;
} // namespace

static Array applyMap(const Array &from, const AxisMap &map) {
  Shape shape = from.shape;
  shape[map.axis] = int64_t(map.taps.size());
  Array result = Array::zeros(std::move(shape));
  int64_t stride = from.stride(map.axis), in = map.input,
          out = int64_t(map.taps.size());
  forEachLine(result, map.axis, [&](int64_t first) {
    const float *line = from.numbers.data() +
                        first / (stride * out) * stride * in + first % stride;
    for (int64_t i = 0; i < out; ++i) {
      double sum = 0;
      for (auto [source, weight] : map.taps[size_t(i)])
        sum += weight * line[source * stride];
      result.numbers[size_t(first + i * stride)] = float(sum);
    }
  });
  return result;
}

/// The transpose: gradients pass back along the same weights.
static Array applyBack(const Array &from, const AxisMap &map) {
  Shape shape = from.shape;
  shape[map.axis] = map.input;
  Array result = Array::zeros(std::move(shape));
  int64_t stride = from.stride(map.axis), in = map.input,
          out = int64_t(map.taps.size());
  forEachLine(from, map.axis, [&](int64_t first) {
    float *line = result.numbers.data() + first / (stride * out) * stride * in +
                  first % stride;
    for (int64_t i = 0; i < out; ++i)
      for (auto [source, weight] : map.taps[size_t(i)])
        line[source * stride] +=
            float(weight * from.numbers[size_t(first + i * stride)]);
  });
  return result;
}

/// Longer axes, and larger arrays, are not worth a draw.
static constexpr int64_t kMostAlong = 1 << 22;
static constexpr double kMostElements = 0x1p27;

/// Nothing where an axis is there twice.
static std::optional<Shape> shapeOf(const Array &input,
                                    const std::vector<AxisMap> &maps) {
  Shape shape = input.shape;
  double size = double(input.size());
  for (const AxisMap &map : maps) {
    int64_t &dim = shape[map.axis];
    if (dim != map.input || dim < 1)
      return std::nullopt;
    size *= double(map.taps.size()) / double(dim);
    dim = int64_t(map.taps.size());
    if (size > kMostElements)
      return std::nullopt;
  }
  return shape;
}

static std::optional<Array> mapped(const AxisMaps &maps, const Array *input) {
  if (!maps || !input || input->size() == 0 || !shapeOf(*input, *maps))
    return std::nullopt;
  Array result = *input;
  for (const AxisMap &map : *maps)
    result = applyMap(result, map);
  return result;
}

static LogicalResult setMapped(Operation *op, const AxisMaps &maps,
                               const Array *input, Evaluation &in) {
  std::optional<Array> result = mapped(maps, input);
  if (!result)
    return failure();
  in.set(op->getResult(0), std::move(*result));
  return success();
}

/// dY is the first operand, the input the second.
static LogicalResult setMappedBack(Operation *op, const AxisMaps &maps,
                                   Evaluation &in) {
  const Array *grad = in.find(op->getOperand(0)),
              *input = in.find(op->getOperand(1));
  if (!maps || !grad || !input)
    return failure();
  auto shape = shapeOf(*input, *maps);
  if (!shape || *shape != grad->shape || grad->size() == 0)
    return failure();
  return setGradients(op, in, [&](int64_t operand) -> std::optional<Array> {
    if (operand != 1)
      return std::nullopt;
    Array result = *grad;
    for (const AxisMap &map : llvm::reverse(*maps))
      result = applyBack(result, map);
    return result;
  });
}

//===----------------------------------------------------------------------===//
// Means
//===----------------------------------------------------------------------===//

/// Windows of a pool over the last dims.
template <typename OpTy> static Window windowOf(OpTy op) {
  return Window::get(op.getKernelShape(), op.getStrides(), op.getDilations(),
                     op.getPads(), op.getAutoPad(), op.getCeilMode());
}

/// Does an older rule keep a last window, past the input, that this one drops?
static bool mayHaveOneMore(const Window &window, const WindowDim &dim,
                           int64_t size, int64_t count) {
  int64_t end = size + dim.padBegin + dim.padEnd;
  return window.ceil && !window.autoPad.starts_with("SAME") &&
         (count - 1) * dim.stride + dim.extent() < end;
}

template <typename OpTy>
static AxisMaps mapsOfAverage(OpTy op, const Array *input) {
  if (!input)
    return std::nullopt;
  Window window = windowOf(op);
  int64_t leading = input->rank() - int64_t(window.dims.size());
  if (leading < 0)
    return std::nullopt;
  std::vector<AxisMap> maps;
  for (auto [index, dim] : llvm::enumerate(window.dims)) {
    size_t axis = size_t(leading) + index;
    int64_t size = input->shape[axis];
    auto count = window.outputDim(unsigned(index), size);
    auto pads = window.pads(unsigned(index), size);
    if (!count || *count < 0 || !pads || dim.kernel < 1 ||
        *count > kMostAlong || dim.kernel > kMostAlong ||
        (op.getLegacyCeil() && mayHaveOneMore(window, dim, size, *count)))
      return std::nullopt;
    AxisMap &map = maps.emplace_back(AxisMap{axis, size, {}});
    map.taps.resize(size_t(*count));
    for (int64_t at = 0; at < *count; ++at) {
      auto &taps = map.taps[size_t(at)];
      double divisor = 0;
      for (int64_t tap = 0; tap < dim.kernel; ++tap) {
        int64_t place = at * dim.stride + tap * dim.dilation - pads->first;
        bool isInside = place >= 0 && place < size;
        if (isInside)
          taps.push_back({place, 1});
        divisor +=
            op.getCountIncludePad() ? place < size + pads->second : isInside;
      }
      for (auto &[place, weight] : taps)
        weight /= divisor;
    }
  }
  return maps;
}

/// Output i of O reads [floor(i D / O), ceil((i + 1) D / O)).
static AxisMaps mapsOfAdaptive(const Array *input, ArrayRef<int64_t> sizes) {
  if (!input || input->rank() < int64_t(sizes.size()))
    return std::nullopt;
  std::vector<AxisMap> maps;
  for (auto [index, given] : llvm::enumerate(sizes)) {
    size_t axis = input->shape.size() - sizes.size() + index;
    int64_t size = input->shape[axis], out = given < 0 ? size : given;
    if (out > kMostAlong)
      return std::nullopt;
    AxisMap &map = maps.emplace_back(AxisMap{axis, size, {}});
    for (int64_t at = 0; at < out; ++at) {
      int64_t first = at * size / out, last = ((at + 1) * size + out - 1) / out;
      auto &taps = map.taps.emplace_back();
      for (int64_t place = first; place < last; ++place)
        taps.push_back({place, 1.0 / double(last - first)});
    }
  }
  return maps;
}

/// All spatial dims become 1.
static AxisMaps mapsOfGlobal(const Array *input) {
  if (!input || input->rank() < 2)
    return std::nullopt;
  SmallVector<int64_t> ones(input->shape.size() - 2, 1);
  return mapsOfAdaptive(input, ones);
}

//===----------------------------------------------------------------------===//
// Resampling
//===----------------------------------------------------------------------===//

/// Keys's kernel (1981).
static double cubic(double t, double a) {
  t = std::fabs(t);
  return t <= 1  ? ((a + 2) * t - (a + 3)) * t * t + 1
         : t < 2 ? (((t - 5) * t + 8) * t - 4) * a
                 : 0;
}

template <typename OpTy>
static bool addTaps(OpTy op, AxisMap &map, int64_t out, double scale) {
  StringRef how = op.getCoordinateTransformation(), mode = op.getMode();
  auto position = [&](int64_t i) -> std::optional<double> {
    double at = double(i);
    if (how == "half_pixel")
      return (at + 0.5) / scale - 0.5;
    if (how == "pytorch_half_pixel")
      return out > 1 ? (at + 0.5) / scale - 0.5 : 0;
    if (how == "asymmetric")
      return at / scale;
    if (how == "align_corners")
      return out > 1 ? at * double(map.input - 1) / double(out - 1) : 0;
    return std::nullopt;
  };
  for (int64_t i = 0; i < out; ++i) {
    std::optional<double> at = position(i);
    if (!at)
      return false;
    auto &taps = map.taps.emplace_back();
    auto add = [&](double place, double weight) {
      taps.push_back(
          {std::clamp<int64_t>(int64_t(place), 0, map.input - 1), weight});
    };
    double low = std::floor(*at), part = *at - low;
    if (mode == "nearest") {
      StringRef near = op.getNearestMode();
      add(near == "floor"               ? low
          : near == "ceil"              ? std::ceil(*at)
          : near == "round_prefer_ceil" ? std::floor(*at + 0.5)
                                        : std::ceil(*at - 0.5),
          1);
    } else if (mode == "linear") {
      add(low, 1 - part);
      add(low + 1, part);
    } else {
      double a = op.getCubicCoeffA().convertToDouble();
      for (int64_t k = -1; k <= 2; ++k)
        add(low + double(k), cubic(part - double(k), a));
    }
  }
  return true;
}

template <typename OpTy>
static AxisMaps mapsOfResize(OpTy op, const Array *input, Evaluation &in) {
  if (!input || op.getExcludeOutside() || op.getAntialias() ||
      op.getKeepAspectRatioPolicy() != "stretch")
    return std::nullopt;
  SmallVector<int64_t> axes;
  if (auto given = op.getAxes())
    axes.assign(given->begin(), given->end());
  else
    for (int64_t axis = 0; axis < input->rank(); ++axis)
      axes.push_back(axis);
  const Array *scales = op.getScales() ? in.find(op.getScales()) : nullptr,
              *sizes = op.getSizes() ? in.find(op.getSizes()) : nullptr;
  const Array *list = scales && scales->size() ? scales : sizes;
  if (!list || list->numbers.size() != axes.size())
    return std::nullopt;
  std::vector<AxisMap> maps;
  for (auto [number, given] : llvm::zip_equal(list->numbers, axes)) {
    auto axis = normalizeAxis(given, input->rank());
    if (!axis)
      return std::nullopt;
    int64_t size = input->shape[size_t(*axis)];
    double scale = list == scales ? double(number) : number / double(size);
    double whole = list == scales ? std::floor(double(size) * scale) : number;
    if (size < 1 || !(whole >= 1 && whole <= double(kMostAlong)))
      return std::nullopt;
    int64_t out = int64_t(whole);
    if (out == size && scale == 1)
      continue;
    AxisMap &map = maps.emplace_back(AxisMap{size_t(*axis), size, {}});
    if (!addTaps(op, map, out, scale))
      return std::nullopt;
  }
  return maps;
}

/// A border of numbers other than 0 is added apart.
template <typename OpTy>
static AxisMaps mapsOfPad(OpTy op, const Array *input, Evaluation &in) {
  if (!input)
    return std::nullopt;
  SmallVector<int64_t> axes, pads;
  if (auto given = op.getPads())
    pads.assign(given->begin(), given->end());
  else if (auto read = op.getDynamicPads() ? in.integers(op.getDynamicPads())
                                           : std::nullopt)
    pads = *read;
  if (auto given = op.getAxes()) {
    axes.assign(given->begin(), given->end());
  } else if (op.getDynamicAxes()) {
    auto read = in.integers(op.getDynamicAxes());
    if (!read)
      return std::nullopt;
    axes = *read;
  } else {
    for (int64_t axis = 0; axis < input->rank(); ++axis)
      axes.push_back(axis);
  }
  if (pads.size() != 2 * axes.size())
    return std::nullopt;
  StringRef mode = op.getMode();
  std::vector<AxisMap> maps;
  for (auto [number, given] : llvm::enumerate(axes)) {
    auto axis = normalizeAxis(given, input->rank());
    if (!axis)
      return std::nullopt;
    int64_t size = input->shape[size_t(*axis)], begin = pads[number],
            end = pads[axes.size() + number];
    if (begin == 0 && end == 0)
      continue;
    if (size < 1 || std::max({begin, end, -begin, -end}) > kMostAlong)
      return std::nullopt;
    AxisMap &map = maps.emplace_back(AxisMap{size_t(*axis), size, {}});
    for (int64_t place = -begin; place < size + end; ++place) {
      auto &taps = map.taps.emplace_back();
      int64_t source = place, period = std::max<int64_t>(2 * (size - 1), 1);
      if (mode == "reflect") {
        source = std::abs(place) % period;
        source = source >= size ? period - source : source;
      } else if (mode == "wrap") {
        source = (place % size + size) % size;
      } else if (mode == "edge") {
        source = std::clamp<int64_t>(place, 0, size - 1);
      }
      if (source >= 0 && source < size)
        taps.push_back({source, 1});
    }
  }
  return maps;
}

static LogicalResult pad(mp::PadOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput());
  AxisMaps maps = mapsOfPad(op, input, in);
  std::optional<double> value = 0;
  if (op.getValue())
    value = in.scalar(op.getValue());
  auto result = mapped(maps, input);
  if (!value || !result)
    return failure();
  if (*value != 0 && op.getMode() == "constant") {
    // Where ones are padded by zeros the border is.
    Array ones = Array::full(input->shape, 1);
    auto inside = mapped(maps, &ones);
    for (auto [number, is] : llvm::zip_equal(result->numbers, inside->numbers))
      number = is == 0 ? float(*value) : number;
  }
  in.set(op.getResult(), std::move(*result));
  return success();
}

//===----------------------------------------------------------------------===//
// Maxima
//===----------------------------------------------------------------------===//

namespace {
/// The windows of a pool, and the images in front of the dims that it slides
/// over.
struct Pool {
  Unfolding windows;
  int64_t images, size;
  Shape shape;
};
} // namespace

template <typename OpTy>
static std::optional<Pool> poolOf(OpTy op, const Array *input) {
  if (!input || input->size() == 0)
    return std::nullopt;
  Window window = windowOf(op);
  size_t spatial = window.dims.size();
  if (input->shape.size() < spatial)
    return std::nullopt;
  ArrayRef<int64_t> dims = ArrayRef(input->shape).take_back(spatial);
  auto windows = Unfolding::get(window, dims);
  if (!windows)
    return std::nullopt;
  Shape shape(ArrayRef(input->shape).drop_back(spatial));
  Pool pool{*windows, mpopt::sizeOf(shape), mpopt::sizeOf(dims), shape};
  pool.shape.append(windows->shape.begin(), windows->shape.end());
  return pool;
}

/// Calls `visit` with the place of each window in the result, and with that of
/// its first maximum in the input: -1 of a window beside the image.
static void forEachMaximum(const Array &input, const Pool &pool,
                           llvm::function_ref<void(size_t, int64_t)> visit) {
  const Unfolding &windows = pool.windows;
  for (int64_t at = 0; at < pool.images * windows.outputs; ++at) {
    int64_t first = at / windows.outputs * pool.size, best = -1;
    for (int64_t tap = 0; tap < windows.taps; ++tap) {
      int64_t source = windows.source(tap, at % windows.outputs);
      if (source >= 0 && (best < 0 || input.numbers[size_t(first + source)] >
                                          input.numbers[size_t(best)]))
        best = first + source;
    }
    visit(size_t(at), best);
  }
}

static LogicalResult maxPool(mp::MaxPoolOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput());
  auto pool = poolOf(op, input);
  if (!pool || op.getStorageOrder() != 0)
    return failure();
  Array result = Array::zeros(pool->shape), indices = result;
  forEachMaximum(*input, *pool, [&](size_t at, int64_t best) {
    result.numbers[at] = best < 0 ? 0 : input->numbers[size_t(best)];
    indices.numbers[at] = float(best);
  });
  if (llvm::is_contained(indices.numbers, -1.0f))
    return failure();
  in.set(op.getResult(), std::move(result));
  // A float does not hold larger whole numbers.
  constexpr int64_t kMostIndices = 1 << 24;
  if (op.getIndices() && input->size() <= kMostIndices)
    in.set(op.getIndices(), std::move(indices));
  return success();
}

static LogicalResult maxPoolGradient(mp::MaxPoolGradOp op, Evaluation &in) {
  const Array *grad = in.find(op.getGrad()), *input = in.find(op.getInput());
  auto pool = poolOf(op, input);
  if (!pool || !grad || grad->shape != pool->shape)
    return failure();
  return setGradients(op, in, [&](int64_t operand) -> std::optional<Array> {
    if (operand != 1)
      return std::nullopt;
    Array result = Array::zeros(input->shape);
    forEachMaximum(*input, *pool, [&](size_t at, int64_t best) {
      if (best >= 0)
        result.numbers[size_t(best)] += grad->numbers[at];
    });
    return result;
  });
}

static LogicalResult globalMaxPool(mp::GlobalMaxPoolOp op, Evaluation &in) {
  const Array *input = in.find(op.getInput());
  if (!input || input->rank() < 2 || input->size() == 0)
    return failure();
  int64_t size = input->stride(1);
  Shape shape(input->shape.size(), 1);
  shape[0] = input->shape[0];
  shape[1] = input->shape[1];
  Array result = Array::zeros(std::move(shape));
  for (auto [at, number] : llvm::enumerate(result.numbers))
    number = *llvm::max_element(
        ArrayRef(input->numbers).slice(at * size_t(size), size_t(size)));
  in.set(op.getResult(), std::move(result));
  return success();
}

LogicalResult evaluation::evaluatePooling(Operation *op, Evaluation &in) {
  auto inputOf = [&](auto each) { return in.find(each.getInput()); };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](mp::MaxPoolOp each) { return maxPool(each, in); })
      .Case([&](mp::MaxPoolGradOp each) { return maxPoolGradient(each, in); })
      .Case([&](mp::GlobalMaxPoolOp each) { return globalMaxPool(each, in); })
      .Case([&](mp::AveragePoolOp each) {
        return setMapped(op, mapsOfAverage(each, inputOf(each)), inputOf(each),
                         in);
      })
      .Case([&](mp::AveragePoolGradOp each) {
        return setMappedBack(op, mapsOfAverage(each, inputOf(each)), in);
      })
      .Case([&](mp::AdaptiveAvgPoolOp each) {
        return setMapped(op,
                         mapsOfAdaptive(inputOf(each), each.getOutputSize()),
                         inputOf(each), in);
      })
      .Case([&](mp::AdaptiveAvgPoolGradOp each) {
        return setMappedBack(
            op, mapsOfAdaptive(inputOf(each), each.getOutputSize()), in);
      })
      .Case([&](mp::GlobalAveragePoolOp each) {
        return setMapped(op, mapsOfGlobal(inputOf(each)), inputOf(each), in);
      })
      .Case([&](mp::ResizeOp each) {
        return setMapped(op, mapsOfResize(each, inputOf(each), in),
                         inputOf(each), in);
      })
      .Case([&](mp::ResizeGradOp each) {
        return setMappedBack(op, mapsOfResize(each, inputOf(each), in), in);
      })
      .Case([&](mp::PadOp each) { return pad(each, in); })
      .Case([&](mp::PadGradOp each) {
        return setMappedBack(op, mapsOfPad(each, inputOf(each), in), in);
      })
      .Default(failure());
}
