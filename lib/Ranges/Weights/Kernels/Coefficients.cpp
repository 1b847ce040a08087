//===- Coefficients.cpp - The inputs of a product as coefficients
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LinearPass.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

#include <cassert>
#include <limits>

using namespace mpopt;
using namespace mpopt::kernels;
using llvm::ArrayRef;

/// The power of two that is greater than `value`, 1 for 0.
static double scaleFor(double value) {
  if (value == 0)
    return 1;
  // ilogb of what is not finite is the largest int.
  return std::ldexp(1.0, std::min(std::ilogb(value), 1022) + 1);
}

/// Centre and radius of an interval divided by a power of two, which loses
/// something only where it underflows, and stored in T.
template <typename T>
static std::pair<T, T> scaleDown(double exact, double radius, double scale) {
  double scaled = exact / scale;
  double lost =
      scaled * scale == exact ? 0 : std::numeric_limits<double>::denorm_min();
  T centre = T(scaled);
  lost = addUp(lost, std::fabs(scaled - double(centre)));
  return {centre, roundedUp<T>(addUp(divUp(radius, scale), lost))};
}

template <typename T>
Coefficients<T>::Coefficients(const LinearRequest &request) {
  const LinearInputs &inputs = request.inputs;
  for (ArrayRef<double> list : {inputs.centre, inputs.radius, inputs.mean,
                                inputs.variance, inputs.halfRange}) {
    assert((list.size() <= 1 || list.size() == request.k ||
            list.size() == request.matrices * request.k) &&
           "as many inputs as the matrices have rows");
    uniform &= list.size() <= 1;
    perMatrix |= list.size() > 1 && list.size() != request.k;
  }
  InputAt at{request};
  if (uniform) {
    anyUnbounded = request.k > 0 && at.unbounded(0, 0);
    return;
  }
  stride = padded(request.k);
  uint64_t sets = perMatrix ? request.matrices : 1;
  double bound = 0, mean = 0, variance = 0, range = 0;
  for (uint64_t set = 0; set < sets; ++set)
    for (uint64_t k = 0; k < request.k; ++k) {
      if (at.unbounded(set, k))
        anyUnbounded = true;
      else
        bound = std::max(bound, std::fabs(at.get(inputs.centre, set, k)) +
                                    at.get(inputs.radius, set, k));
      mean = std::max(mean, std::fabs(clamped(at.get(inputs.mean, set, k))));
      variance = std::max(variance, clamped(at.get(inputs.variance, set, k)));
      range = std::max(range, clamped(at.get(inputs.halfRange, set, k)));
    }
  boundScale = scaleFor(std::min(bound, std::numeric_limits<double>::max()));
  meanScale = scaleFor(mean);
  varianceScale = scaleFor(variance);
  rangeScale = scaleFor(range);

  values.assign(sets * kCoefficients * stride + kLine / sizeof(T), T(0));
  for (uint64_t set = 0; set < sets; ++set)
    for (uint64_t k = 0; k < request.k; ++k) {
      T *to = const_cast<T *>(base()) + set * kCoefficients * stride + k;
      if (!at.unbounded(set, k)) {
        auto [centre, radius] =
            scaleDown<T>(at.get(inputs.centre, set, k),
                         at.get(inputs.radius, set, k), boundScale);
        to[0] = centre;
        to[stride] = radius;
        to[4 * stride] =
            roundedUp<T>(addUp(std::fabs(double(centre)), double(radius)));
      }
      to[2 * stride] = T(clamped(at.get(inputs.mean, set, k)) / meanScale);
      to[3 * stride] =
          T(clamped(at.get(inputs.variance, set, k)) / varianceScale);
      double half = clamped(at.get(inputs.halfRange, set, k)) / rangeScale;
      to[5 * stride] = T(half * half);
    }
}

template struct mpopt::kernels::Coefficients<float>;
template struct mpopt::kernels::Coefficients<double>;
