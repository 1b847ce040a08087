//===- Quadrature.h - Nodes of a normal value -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_NUMERICS_QUADRATURE_H
#define MPOPT_LIB_NUMERICS_QUADRATURE_H

namespace mpopt {

struct QuadratureNode {
  double at, weight;
};

/// Nodes of the Gauss quadrature for the standard normal density, 15 points:
/// exact for polynomials of degree 29 (Abramowitz and Stegun, 25.4.46, rescaled
/// by sqrt(2)). Each but the first stands for two, on either side.
inline constexpr QuadratureNode kNodes[] = {
    {0, 0.3182595182595182},
    {0.7991290683245481, 0.2324622936097323},
    {1.6067100690287297, 0.08941779539984439},
    {2.432436827009758, 0.017365774492137616},
    {3.289082424398767, 0.0015673575035499558},
    {4.1962077112690155, 5.642146405189015e-05},
    {5.190093591304782, 5.975419597920582e-07},
    {6.3639478888298395, 8.589649899633293e-10},
};

} // namespace mpopt

#endif // MPOPT_LIB_NUMERICS_QUADRATURE_H
