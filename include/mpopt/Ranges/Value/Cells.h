//===- Cells.h - The numbers of a tensor's groups, in arrays ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A `Cell` is what is known of one group of elements: six numbers. `Cells` has
// those of all groups of a tensor, an array for each field, so that vector code
// works on many groups at once (CellKernels.h). Values that are kept are
// packed: a field that is the same number for all groups is held once, and
// numbers that are floats take as much memory as floats do.
//
// Most code looks at one group: `cells[i]` is a Cell, by value, and in cells
// that may be changed a `CellRef`, which refers to the numbers in their arrays.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_CELLS_H
#define MPOPT_RANGES_VALUE_CELLS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/iterator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace mpopt {

/// Bound, moments and expected extremes of one group of elements.
struct Cell {
  double lo, hi;
  double mean = 0, variance = 0;
  double likelyLo = 0, likelyHi = 0;

  bool empty() const { return !(lo <= hi); }
  /// The largest magnitude that the bound allows; 0 if it is empty.
  double absMax() const {
    return empty() ? 0 : std::max(std::fabs(lo), std::fabs(hi));
  }
};

/// The fields of a cell, in the order of their declaration.
enum class Field : uint8_t { Lo, Hi, Mean, Variance, LikelyLo, LikelyHi };
constexpr size_t kFields = 6;

/// One group's numbers where they are. Assigning to it changes them.
class CellRef {
public:
  CellRef(Cell &cell)
      : lo(cell.lo), hi(cell.hi), mean(cell.mean), variance(cell.variance),
        likelyLo(cell.likelyLo), likelyHi(cell.likelyHi) {}
  CellRef(double *first, size_t stride)
      : lo(first[0]), hi(first[stride]), mean(first[2 * stride]),
        variance(first[3 * stride]), likelyLo(first[4 * stride]),
        likelyHi(first[5 * stride]) {}
  CellRef(const CellRef &) = default;

  CellRef &operator=(const Cell &cell) {
    lo = cell.lo;
    hi = cell.hi;
    mean = cell.mean;
    variance = cell.variance;
    likelyLo = cell.likelyLo;
    likelyHi = cell.likelyHi;
    return *this;
  }
  CellRef &operator=(const CellRef &other) { return *this = Cell(other); }
  operator Cell() const { return {lo, hi, mean, variance, likelyLo, likelyHi}; }

  bool empty() const { return !(lo <= hi); }
  double absMax() const { return Cell(*this).absMax(); }

  double &lo, &hi, &mean, &variance, &likelyLo, &likelyHi;
};

/// Goes over groups whose cells, or references to them, are made when they are
/// read. `Source` is what makes them, or a pointer to it.
template <typename Source, typename Element>
class CellIterator
    : public llvm::iterator_facade_base<
          CellIterator<Source, Element>, std::random_access_iterator_tag,
          Element, std::ptrdiff_t, const Element *, Element> {
public:
  CellIterator(Source source, size_t index) : source(source), index(index) {}

  Element operator*() const {
    if constexpr (std::is_pointer_v<Source>)
      return (*source)[index];
    else
      return source[index];
  }
  bool operator==(const CellIterator &other) const {
    return index == other.index;
  }
  bool operator<(const CellIterator &other) const {
    return index < other.index;
  }
  std::ptrdiff_t operator-(const CellIterator &other) const {
    return std::ptrdiff_t(index) - std::ptrdiff_t(other.index);
  }
  CellIterator &operator+=(std::ptrdiff_t step) {
    index += step;
    return *this;
  }
  CellIterator &operator-=(std::ptrdiff_t step) {
    index -= step;
    return *this;
  }

private:
  Source source;
  size_t index;
};

/// Cells that may be changed: every field has a number for each group.
class MutableCells {
public:
  using iterator = CellIterator<MutableCells, CellRef>;

  MutableCells(double *data, size_t count) : data(data), count(count) {}

  size_t size() const { return count; }
  CellRef operator[](size_t group) const { return {data + group, count}; }
  CellRef front() const { return (*this)[0]; }
  iterator begin() const { return {*this, 0}; }
  iterator end() const { return {*this, count}; }

  llvm::MutableArrayRef<double> operator[](Field field) const {
    return {data + size_t(field) * count, count};
  }

private:
  double *data;
  size_t count;
};

/// The numbers of a field, one if it is uniform, else one for each group.
class FieldNumbers {
public:
  FieldNumbers(llvm::ArrayRef<double> numbers) : numbers(numbers) {}
  FieldNumbers(llvm::ArrayRef<float> floats)
      : wide(floats.begin(), floats.end()), numbers(wide) {}
  FieldNumbers(const FieldNumbers &) = delete;
  FieldNumbers &operator=(const FieldNumbers &) = delete;

  const double *data() const { return numbers.data(); }
  size_t size() const { return numbers.size(); }
  const double *begin() const { return numbers.begin(); }
  const double *end() const { return numbers.end(); }
  double operator[](size_t index) const { return numbers[index]; }
  double front() const { return numbers.front(); }

private:
  std::vector<double> wide;
  llvm::ArrayRef<double> numbers;
};

/// The cells of a tensor's groups. Copies share the numbers until one of them
/// is changed.
class Cells {
public:
  using const_iterator = CellIterator<const Cells *, Cell>;

  /// `count` groups that are all like `cell`.
  Cells(size_t count, const Cell &cell);
  /// `count` groups, to be filled through `mutate`.
  explicit Cells(size_t count);
  Cells(llvm::ArrayRef<Cell> cells);

  size_t size() const { return block->count; }
  Cell operator[](size_t group) const {
    if (block->uniform)
      return block->readPacked(group);
    return isNarrow() ? block->read(block->floats() + group)
                      : block->read(block->numbers() + group);
  }
  double get(Field field, size_t group) const {
    size_t index = block->first[size_t(field)] + (isUniform(field) ? 0 : group);
    return isNarrow() ? block->floats()[index] : block->numbers()[index];
  }
  Cell front() const { return (*this)[0]; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size()}; }

  /// True if all groups have the same number, which is held once.
  bool isUniform(Field field) const {
    return block->uniform >> unsigned(field) & 1;
  }
  /// True if all numbers are floats and held as such.
  bool isNarrow() const { return block->narrow; }
  FieldNumbers operator[](Field field) const {
    size_t first = block->first[size_t(field)];
    size_t length = isUniform(field) ? 1 : size();
    if (isNarrow())
      return llvm::ArrayRef<float>(block->floats() + first, length);
    return llvm::ArrayRef<double>(block->numbers() + first, length);
  }

  /// The cells to be changed one by one; no field is uniform any more.
  MutableCells mutate();
  /// The numbers of a field to be changed, for all groups alike if it is
  /// uniform.
  llvm::MutableArrayRef<double> mutate(Field field);
  /// Holds the numbers in as little memory as they need.
  void pack();
  /// The same, without bounds and expected extremes: they become infinite.
  void keepMoments();
  /// True if the numbers are the same, bit for bit, and held alike.
  bool isIdentical(const Cells &other) const;
  /// The cells of those groups, in that order.
  Cells gathered(llvm::ArrayRef<uint32_t> groups) const;
  /// All groups, of equal size, as one: their hull, and the mixture of their
  /// estimates.
  Cell merged() const;

private:
  /// The numbers behind the header, in one piece of memory.
  struct Block : llvm::ThreadSafeRefCountedBase<Block> {
    Block(size_t count, uint32_t uniform, bool narrow);
    double *numbers() { return reinterpret_cast<double *>(this + 1); }
    const double *numbers() const {
      return reinterpret_cast<const double *>(this + 1);
    }
    float *floats() { return reinterpret_cast<float *>(this + 1); }
    const float *floats() const {
      return reinterpret_cast<const float *>(this + 1);
    }
    /// The group whose first number is there, where no field is uniform.
    template <typename Number> Cell read(const Number *from) const {
      size_t next = count;
      return {from[0],        from[next],     from[2 * next],
              from[3 * next], from[4 * next], from[5 * next]};
    }
    Cell readPacked(size_t group) const;
    template <typename Number> Cell merge(const Number *from) const;
    /// The memory behind the header is taken and given back with it.
    static void *operator new(size_t header, size_t bytes);
    // NOLINTNEXTLINE(misc-new-delete-overloads): it matches that `new`.
    static void operator delete(void *block);

    uint32_t count, length;
    /// Where each field begins.
    std::array<uint32_t, kFields> first;
    /// A bit for each field that is held once.
    uint8_t uniform;
    /// The numbers are floats.
    bool narrow;
  };
  using BlockRef = llvm::IntrusiveRefCntPtr<Block>;

  /// A block in which those fields are uniform.
  static BlockRef makeBlock(size_t count, uint32_t uniform,
                            bool narrow = false);
  explicit Cells(BlockRef block) : block(std::move(block)) {}
  /// Has doubles that nobody shares.
  void unshare();
  llvm::MutableArrayRef<double> own(Field field) {
    return {block->numbers() + block->first[size_t(field)],
            isUniform(field) ? 1 : size()};
  }

  BlockRef block;
};

/// Groups of equal size as one.
Cell mergeCells(llvm::ArrayRef<Cell> cells);
/// The same for each of `count` groups of the result; `into` says to which a
/// group goes, and each has one at least.
Cells mergeGroups(const Cells &cells, llvm::ArrayRef<uint32_t> into,
                  size_t count);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_CELLS_H
