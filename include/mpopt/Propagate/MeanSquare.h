//===- MeanSquare.h - How large elements are --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PROPAGATE_MEANSQUARE_H
#define MPOPT_PROPAGATE_MEANSQUARE_H

#include "mpopt/Ranges/Value/AbstractValue.h"

namespace mpopt {

/// The expected square of an element of a group.
inline double meanSquare(const Cell &cell) {
  return cell.mean * cell.mean + cell.variance;
}

/// The expected square of an element; all groups count alike.
inline double meanSquare(const AbstractValue &value) {
  double square = 0;
  for (const Cell &cell : value.cells())
    square += meanSquare(cell);
  return square / double(value.groups());
}

} // namespace mpopt

#endif // MPOPT_PROPAGATE_MEANSQUARE_H
