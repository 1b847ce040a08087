//===- Contraction.cpp - Ranges of products of two unknown tensors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention's Q Kᵀ and P V, and every other sum of products of two operands
// whose axes have labels. One dot product of boxes for each group of the
// result; axes are merged where there are too many.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/ProductSupport.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

using namespace mlir;
using namespace mpopt;

/// Products of ranges that a contraction may take for each group that its
/// result may have: fewer in larger models.
static constexpr uint64_t kStepsPerGroup = 32;
/// Sums of more terms than this are of an unknown number.
static constexpr uint64_t kMaxTerms = uint64_t(1) << 48;

static std::optional<size_t> axisOf(const Labelled &operand, int label) {
  auto it = llvm::find(operand.labels, label);
  if (it == operand.labels.end())
    return std::nullopt;
  return size_t(it - operand.labels.begin());
}

namespace {
/// A row of one operand, for one group of the result.
struct Row {
  std::vector<Interval> range;
  std::vector<double> mean, variance, halfRange;

  void add(const Cell &cell) {
    // An operand that is never finite contributes to no finite sum.
    Interval bound = cells::bound(cell);
    range.push_back(bound.isEmpty() ? Interval::point(0) : bound);
    mean.push_back(cell.mean);
    variance.push_back(cell.variance);
    halfRange.push_back((cell.likelyHi - cell.likelyLo) / 2);
  }
  bool isPositive() const {
    return llvm::all_of(range,
                        [](const Interval &each) { return each.lo >= 0; });
  }
  bool operator==(const Row &other) const = default;
  llvm::hash_code hash() const {
    auto each = llvm::map_range(range, [](const Interval &bound) {
      return llvm::hash_combine(llvm::bit_cast<uint64_t>(bound.lo),
                                llvm::bit_cast<uint64_t>(bound.hi));
    });
    return llvm::hash_combine_range(each.begin(), each.end());
  }
};

/// The rows of one operand. Those of several groups of a result often are the
/// same, and alike in different places: heads, positions.
class Rows {
public:
  /// The sums run over the axes of `operand` that are not in `result`.
  Rows(const Labelled &operand, ArrayRef<int> result);

  /// The number of the row for a group of the result, at those indices.
  unsigned at(ArrayRef<int64_t> indices);
  const Row &operator[](unsigned number) const { return rows[number]; }

private:
  const Cells &cells;
  /// How far the groups of a row lie apart, and those of result's axes.
  size_t step = 0, along = 1;
  SmallVector<size_t, 6> steps;
  std::vector<Row> rows;
  /// By its first group, and by what it holds.
  std::vector<std::optional<unsigned>> numbers;
  std::unordered_multimap<size_t, unsigned> known;
};

class Contraction {
public:
  Contraction(TransferContext &ctx, Labelled a, Labelled b,
              ArrayRef<int> result, ProductResult &rules,
              const ContractionBias &bias)
      : ctx(ctx), a(std::move(a)), b(std::move(b)), result(result),
        rules(rules), bias(bias) {}

  AbstractValue run();

private:
  void mergeGroups();
  AbstractValue unbounded();
  void measure();
  void merge();
  AbstractValue::Dims groupDims() const;
  size_t mostGroups(ArrayRef<int64_t> dims) const;
  std::optional<int> pickLabel(ArrayRef<int64_t> dims) const;
  double normOf(const Labelled &operand) const;
  std::optional<Interval> sumOf(const Labelled &operand) const;
  void addNorm(AbstractValue &value, const Labelled &weights,
               const Labelled &rows) const;
  /// True if one operand holds weights of an open number of rows of the other:
  /// they are taken for as many as the claim about the weights counts.
  bool mixesOpenRows();

  TransferContext &ctx;
  Labelled a, b;
  ArrayRef<int> result;
  ProductResult &rules;
  const ContractionBias &bias;
  /// The labels summed over, in the order of `a`; the sizes of all labels.
  SmallVector<int, 4> summed;
  std::map<int, int64_t> sizes;
  uint64_t count = 1;
  bool known = true;
};
} // namespace

Rows::Rows(const Labelled &operand, ArrayRef<int> result)
    : cells(operand.value.cells()), steps(result.size(), 0),
      numbers(operand.value.groups()) {
  ArrayRef<int64_t> dims = operand.value.dims();
  size_t inner = 1;
  for (size_t axis = dims.size(); axis-- > 0; inner *= dims[axis]) {
    if (dims[axis] == 1)
      continue;
    auto it = llvm::find(result, operand.labels[axis]);
    if (it != result.end()) {
      steps[it - result.begin()] += inner;
      continue;
    }
    step = inner;
    along = dims[axis];
  }
}

unsigned Rows::at(ArrayRef<int64_t> indices) {
  size_t first = 0;
  for (auto [index, step] : llvm::zip(indices, steps))
    first += index * step;
  std::optional<unsigned> &number = numbers[first];
  if (number)
    return *number;
  Row row;
  for (size_t k = 0; k < along; ++k)
    row.add(cells[first + k * step]);
  size_t hash = row.hash();
  auto [begin, end] = known.equal_range(hash);
  for (auto same = begin; same != end; ++same)
    if (rows[same->second] == row)
      return *(number = same->second);
  known.emplace(hash, rows.size());
  number = rows.size();
  rows.push_back(std::move(row));
  return *number;
}

void Contraction::measure() {
  for (const Labelled *operand : {&a, &b})
    for (auto [label, dim] : llvm::zip(operand->labels, operand->shape)) {
      auto [entry, isNew] = sizes.try_emplace(label, dim);
      // A 1 stretches; a known size beats an unknown one.
      if (!isNew && (entry->second == 1 || (entry->second < 0 && dim > 1)))
        entry->second = dim;
      if (isNew && !llvm::is_contained(result, label))
        summed.push_back(label);
    }
  // Groups along an axis that the other operand says is of another size.
  for (Labelled *operand : {&a, &b})
    for (auto [axis, label] : llvm::enumerate(operand->labels))
      if (int64_t dim = operand->value.dims()[axis];
          dim != 1 && dim != sizes[label])
        operand->value = operand->value.merging(axis);
  for (int label : summed) {
    int64_t dim = sizes[label];
    known &=
        dim >= 0 && count <= kMaxTerms / uint64_t(std::max<int64_t>(dim, 1));
    if (known)
      count *= uint64_t(dim);
  }
}

AbstractValue::Dims Contraction::groupDims() const {
  AbstractValue::Dims dims;
  for (int label : result) {
    int64_t dim = 1;
    for (const Labelled *operand : {&a, &b})
      if (std::optional<size_t> axis = axisOf(*operand, label))
        dim = std::max(dim, operand->value.dims()[*axis]);
    dims.push_back(dim);
  }
  return dims;
}

/// Bounds are tighter if axes are merged behind the product; estimates are not.
size_t Contraction::mostGroups(ArrayRef<int64_t> dims) const {
  bool joint = llvm::count_if(dims, [](int64_t dim) { return dim != 1; }) > 1;
  return joint && !ctx.needsBounds() ? ctx.groupLimit().joint : ctx.maxGroups();
}

/// The axis of the result that is merged next: the largest, or for estimates
/// the one that tells least, as a result's are; nothing if all are merged.
std::optional<int> Contraction::pickLabel(ArrayRef<int64_t> dims) const {
  // Labels may be negative.
  std::optional<int> best;
  double most = -kInfinity;
  for (auto [label, dim] : llvm::zip(result, dims)) {
    if (dim == 1)
      continue;
    double rank = ctx.needsBounds() ? double(dim) : 0;
    if (!ctx.needsBounds())
      for (const Labelled *operand : {&a, &b})
        if (std::optional<size_t> axis = axisOf(*operand, label))
          rank -= mergingCost(operand->value, *axis);
    if (!best || rank > most) {
      most = rank;
      best = label;
    }
  }
  return best;
}

/// Merges axes until there are few enough steps: first those summed over, which
/// either operand may keep, then those of the result.
void Contraction::merge() {
  auto mergeLabel = [&](int label) {
    for (Labelled *operand : {&a, &b})
      if (std::optional<size_t> axis = axisOf(*operand, label))
        operand->value = operand->value.merging(*axis);
  };
  auto keptAlong = [&](int label) {
    int64_t dim = 1;
    for (const Labelled *operand : {&a, &b})
      if (std::optional<size_t> axis = axisOf(*operand, label))
        dim = std::max(dim, operand->value.dims()[*axis]);
    return dim;
  };
  // Ranges per term are those of one summed axis, or none.
  if (summed.size() > 1)
    for (int label : summed)
      mergeLabel(label);
  for (;;) {
    AbstractValue::Dims dims = groupDims();
    size_t groups = countGroups(dims);
    uint64_t steps = groups;
    for (int label : summed)
      steps *= keptAlong(label);
    if (groups <= mostGroups(dims) && steps <= kStepsPerGroup * ctx.maxGroups())
      return;
    std::optional<int> label = pickLabel(dims);
    if (!label) {
      for (int label : summed)
        mergeLabel(label);
      return;
    }
    mergeLabel(*label);
  }
}

/// The norm of the operand's elements in one sum; infinite if unknown.
double Contraction::normOf(const Labelled &operand) const {
  double least = kInfinity;
  if (!operand.value.norm)
    return least;
  int label = operand.labels[operand.value.norm->axis];
  if (!llvm::is_contained(summed, label) || sizes.at(label) <= 0)
    return least;
  // The row once for every index of the other axes summed over.
  double others = double(count) / double(sizes.at(label));
  return mulUp(operand.value.norm->bound, sqrtUp(others)) * (1 + 1e-15);
}

std::optional<Interval> Contraction::sumOf(const Labelled &operand) const {
  const std::optional<RowSumFact> &fact = operand.value.rowSum;
  if (!fact || summed.size() != 1 || operand.labels[fact->axis] != summed[0])
    return std::nullopt;
  return Interval{fact->lo, fact->hi};
}

bool Contraction::mixesOpenRows() {
  for (Labelled *operand : {&a, &b}) {
    std::optional<Interval> sum = sumOf(*operand);
    if (!sum || !sum->isBounded())
      continue;
    count = operand->value.rowSum->count;
    // There may be fewer.
    for (CellRef cell : operand->value.mutableCells())
      cell.lo = std::min(cell.lo, 0.0);
    return true;
  }
  return false;
}

/// ‖sum_k w_k r_k‖ <= sum_k |w_k| max ‖r_k‖ for rows r_k along an axis of the
/// result.
void Contraction::addNorm(AbstractValue &value, const Labelled &weights,
                          const Labelled &rows) const {
  if (!rows.value.norm)
    return;
  int label = rows.labels[rows.value.norm->axis];
  auto it = llvm::find(result, label);
  if (it == result.end() || axisOf(weights, label) || sizes.at(label) <= 0)
    return;
  double total = kInfinity;
  if (std::optional<Interval> sum = sumOf(weights))
    total = sum->hi;
  total = std::min(total, mulUp(weights.value.hull().absMax(), double(count)));
  double norm = normOf(weights);
  if (norm < kInfinity)
    total = std::min(total, mulUp(norm, sqrtUp(double(count))));
  if (!(total < kInfinity))
    return;
  ProductResult::setNorm(
      value, it - result.begin(), sizes.at(label),
      mulUp(mulUp(total, rows.value.norm->bound), std::fabs(bias.alpha)),
      rules.error());
}

static DotOperand makeOperand(const Row &row, double norm,
                              std::optional<Interval> sum) {
  DotOperand side;
  side.range = row.range;
  if (norm < kInfinity)
    side.norm = norm;
  side.sum = sum;
  side.mean = row.mean;
  side.variance = row.variance;
  side.halfRange = row.halfRange;
  return side;
}

/// A mixture of one row or of many: no variance is lost for certain.
static void takeMoments(ProductSum &sum, const Row &mixed) {
  sum.mean = mixed.mean.front();
  sum.variance = mixed.variance.front();
  sum.tail = mixed.halfRange.front();
}

/// The next place in row-major order.
static void advance(MutableArrayRef<int64_t> at, ArrayRef<int64_t> dims) {
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (++at[axis] < dims[axis])
      return;
    at[axis] = 0;
  }
}

/// A convex combination stays within what it combines.
static void limitLikely(CellRef cell, ArrayRef<Cell> combined) {
  for (const Cell &hull : combined) {
    cell.likelyLo =
        std::max(cell.likelyLo, std::min({hull.likelyLo, cell.mean, 0.0}));
    cell.likelyHi =
        std::min(cell.likelyHi, std::max({hull.likelyHi, cell.mean, 0.0}));
  }
}

/// Groups that a product of so many rows can have; facts, which are of the
/// whole tensor, stay.
void Contraction::mergeGroups() {
  std::optional<NormFact> normA = a.value.norm, normB = b.value.norm;
  std::optional<RowSumFact> sumA = a.value.rowSum, sumB = b.value.rowSum;
  merge();
  a.value.norm = normA;
  b.value.norm = normB;
  a.value.rowSum = sumA;
  b.value.rowSum = sumB;
}

/// The bounds of products of rows whose number is open.
AbstractValue Contraction::unbounded() {
  AbstractValue value = unboundedProducts(ctx, a.value, b.value, result.size());
  if (bias.alpha != 1 || (bias.value && bias.beta != 0))
    return AbstractValue::top(result.size());
  return value;
}

AbstractValue Contraction::run() {
  measure();
  rules.addOperand(a.value);
  rules.addOperand(b.value);
  if (bias.value && bias.beta != 0)
    rules.addBias(*bias.value);
  bool isMixture = !known && mixesOpenRows();
  if (!known && !isMixture)
    return unbounded();
  mergeGroups();
  AbstractValue::Dims dims = groupDims();
  std::optional<AbstractValue> added;
  if (bias.value)
    added = broadcastBias(*bias.value, dims);
  double normOfA = normOf(a), normOfB = normOf(b);
  std::optional<Interval> sumOfA = sumOf(a), sumOfB = sumOf(b);
  SmallVector<Cell, 2> combined;
  if (sumOfA)
    combined.push_back(b.value.hull());
  if (sumOfB)
    combined.push_back(a.value.hull());
  Cells made(countGroups(dims));
  MutableCells cells = made.mutate();
  rules.setLeast(expectedExtreme(
      ctx.elementsPerGroup(ctx.op()->getResult(0), cells.size()), 1));
  SmallVector<int64_t, 6> at(dims.size(), 0);
  auto multiply = [&](const Row &left, const Row &right) {
    DotRange dot = dotOfBoxes(makeOperand(left, normOfA, sumOfA),
                              makeOperand(right, normOfB, sumOfB), count);
    ProductSum sum = ProductSum::of(dot, count);
    if (isMixture)
      takeMoments(sum, sumOfA ? right : left);
    sum.nonNegative = left.isPositive() && right.isPositive();
    return sum;
  };
  Rows left(a, result), right(b, result);
  // Where the sum of two rows is. It is larger than a map should move.
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> places;
  SmallVector<ProductSum, 0> sums;
  for (size_t group = 0; group < cells.size(); ++group) {
    std::pair pair(left.at(at), right.at(at));
    auto [place, isNew] = places.try_emplace(pair, sums.size());
    if (isNew)
      sums.push_back(multiply(left[pair.first], right[pair.second]));
    const ProductSum &sum = sums[place->second];
    CellRef cell = cells[group];
    cell = rules.finish(
        sum, bias.alpha,
        added ? std::optional(added->cell(group)) : std::nullopt, bias.beta);
    advance(at, dims);
    if (bias.alpha == 1 && !added)
      limitLikely(cell, combined);
  }
  AbstractValue value = rules.take(dims, std::move(made));
  if (!bias.value) {
    addNorm(value, a, b);
    if (!value.norm)
      addNorm(value, b, a);
  }
  return value;
}

AbstractValue mpopt::contract(TransferContext &ctx, Labelled a, Labelled b,
                              ArrayRef<int> result, ProductResult &rules,
                              const ContractionBias &bias) {
  return Contraction(ctx, std::move(a), std::move(b), result, rules, bias)
      .run();
}
