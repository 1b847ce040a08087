//===- FloatSums.h - Sums of a block in sixteen lanes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `Lanes` is a vector of floats; what it adds up in double takes two vectors.
// Included after the unit's target is set.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_FLOATSUMS_H
#define MPOPT_KERNELS_LIB_FLOATSUMS_H

namespace {

/// Element i in lane i mod 16, in double.
template <class Lanes> class DoubleSums {
public:
  // Written out, so that it is compiled for the target as what is around it.
  DoubleSums() {}
  void store(double *toSums, double *toSquares) const {
    for (int i = 0; i < vectors; ++i) {
      Lanes::store(toSums + kLanes / vectors * i, sums[i]);
      Lanes::store(toSquares + kLanes / vectors * i, squares[i]);
    }
  }

protected:
  static constexpr int vectors = 2 * kLanes / Lanes::count;
  typename Lanes::Doubles sums[vectors] = {}, squares[vectors] = {};
};

/// Every element in double.
template <class Lanes> class WideSums : public DoubleSums<Lanes> {
public:
  WideSums() {}
  /// The `v`-th vector of elements.
  void add(int v, typename Lanes::Floats value) {
    int at = 2 * v % this->vectors;
    addTo(at, Lanes::low(value));
    addTo(at + 1, Lanes::high(value));
  }
  void flush() {}

private:
  void addTo(int at, typename Lanes::Doubles value) {
    this->sums[at] += value;
    // The square of 24 bits is exact in double, so this rounds as a
    // multiplication and an addition would.
    this->squares[at] = Lanes::addProduct(this->squares[at], value, value);
  }
};

/// In FP32 over kChain elements, then in double.
template <class Lanes> class ShortSums : public DoubleSums<Lanes> {
public:
  ShortSums() {}
  void add(int v, typename Lanes::Floats value) {
    int at = v % shorts;
    sums[at] += value;
    squares[at] = Lanes::addProduct(squares[at], value, value);
  }
  void flush() {
    for (int i = 0; i < shorts; ++i) {
      widen(DoubleSums<Lanes>::sums + 2 * i, sums[i]);
      widen(DoubleSums<Lanes>::squares + 2 * i, squares[i]);
      sums[i] = squares[i] = typename Lanes::Floats{};
    }
  }

private:
  static constexpr int shorts = kLanes / Lanes::count;
  static void widen(typename Lanes::Doubles *to, typename Lanes::Floats value) {
    to[0] += Lanes::low(value);
    to[1] += Lanes::high(value);
  }

  typename Lanes::Floats sums[shorts] = {}, squares[shorts] = {};
};

} // namespace

#endif // MPOPT_KERNELS_LIB_FLOATSUMS_H
