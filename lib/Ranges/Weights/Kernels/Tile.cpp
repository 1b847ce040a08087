//===- Tile.cpp - The inner loops, for each instruction set
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The templates of the other headers are inlined into one function per
// instruction set and vector length.
//
//===----------------------------------------------------------------------===//

#include "Tile.h"

#include "TileDecode.h"
#include "TileStatistics.h"
#include "TileSums.h"
#include "mpopt/Numerics/InstructionSets.h"

using namespace mpopt::kernels;

// NOLINTBEGIN(bugprone-macro-parentheses): TARGET is an attribute.
#define LOOPS_FOR(NAME, BYTES, TARGET)                                         \
  namespace {                                                                  \
  namespace NAME {                                                             \
  template <typename T, Element E, bool Direct>                                \
  TARGET void columns(const void *data, size_t stride, size_t rows,            \
                      size_t cols, const T *q, size_t qs, double *sums,        \
                      size_t ss) {                                             \
    sumColumns<T, BYTES, E, Direct>((const char *)data, stride, rows, cols, q, \
                                    qs, sums, ss);                             \
  }                                                                            \
  template <typename T, Element E, bool Direct>                                \
  TARGET void rows(const void *data, size_t stride, size_t rows, size_t cols,  \
                   const T *q, size_t qs, double *sums, size_t ss) {           \
    sumRows<T, BYTES, E, Direct>((const char *)data, stride, rows, cols, q,    \
                                 qs, sums, ss);                                \
  }                                                                            \
  template <typename T, Element E>                                             \
  TARGET void absColumns(const void *data, size_t stride, size_t rows,         \
                         size_t cols, double *sums) {                          \
    absSumColumns<T, BYTES, E>((const char *)data, stride, rows, cols, sums);  \
  }                                                                            \
  template <typename T, Element E>                                             \
  TARGET void absRows(const void *data, size_t stride, size_t rows,            \
                      size_t cols, double *sums) {                             \
    absSumRows<T, BYTES, E>((const char *)data, stride, rows, cols, sums);     \
  }                                                                            \
  TARGET bool decode(Element element, const char *data, size_t index,          \
                     size_t count, const float *table, float *to) {            \
    return decodeAny(element, data, index, count, table, to);                  \
  }                                                                            \
  TARGET bool round(const Rounding &rounding, float *values, size_t count) {   \
    return roundAll(rounding, values, count);                                  \
  }                                                                            \
  template <typename T, Element E>                                             \
  TARGET void columnStatistics(const void *data, size_t stride, size_t rows,   \
                               size_t cols, double *statistics, size_t step,   \
                               Tally<T> &tally) {                              \
    statisticsOf<T, BYTES, E, true>((const char *)data, stride, rows, cols,    \
                                    statistics, step, tally);                  \
  }                                                                            \
  template <typename T, Element E>                                             \
  TARGET void rowStatistics(const void *data, size_t stride, size_t rows,      \
                            size_t cols, double *statistics, size_t step,      \
                            Tally<T> &tally) {                                 \
    statisticsOf<T, BYTES, E, false>((const char *)data, stride, rows, cols,   \
                                     statistics, step, tally);                 \
  }                                                                            \
  TARGET void gram(const double *a, size_t count, size_t n, double *to) {      \
    gramOf<BYTES>(a, count, n, to);                                            \
  }                                                                            \
  TARGET void multiply(const double *a, size_t n, const double *x,             \
                       double *y) {                                            \
    productOf<BYTES>(a, n, x, y);                                              \
  }                                                                            \
  TARGET bool factor(double *a, size_t n) { return factorOf<BYTES>(a, n); }    \
  template <typename T, Element E, bool Direct> SumLoops<T> sums() {           \
    return {                                                                   \
        columns<T, E, Direct>, rows<T, E, Direct>,     absColumns<T, E>,       \
        absRows<T, E>,         columnStatistics<T, E>, rowStatistics<T, E>};   \
  }                                                                            \
  Loops all() {                                                                \
    return {                                                                   \
        sums<float, Element::F32, false>(),                                    \
        sums<double, Element::F64, false>(),                                   \
        {sums<float, Element::F32, true>(), sums<float, Element::F16, true>(), \
         sums<float, Element::BF16, true>(), sums<float, Element::I8, true>(), \
         sums<float, Element::U8, true>(),                                     \
         sums<float, Element::F32AsF16, true>(),                               \
         sums<float, Element::F32AsBF16, true>()},                             \
        decode,                                                                \
        round,                                                                 \
        gram,                                                                  \
        multiply,                                                              \
        factor};                                                               \
  }                                                                            \
  }                                                                            \
  }
// NOLINTEND(bugprone-macro-parentheses)

MPOPT_FOR_INSTRUCTION_SETS(LOOPS_FOR)

const std::vector<Loops> &mpopt::kernels::allLoops() {
  static const std::vector<Loops> found = MPOPT_RUNNABLE_LOOPS(Loops);
  return found;
}

const Loops &mpopt::kernels::loops() {
  static const Loops &best = allLoops().back();
  return best;
}
