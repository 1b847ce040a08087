//===- Decision.cpp - How a run decides a finding -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/Decision.h"

using namespace mpopt;

// In the order of the enumeration.
static constexpr std::string_view kWords[] = {
#define DECISION(name, word, text) word,
#include "mpopt/Report/Decision.def"
};

std::string_view mpopt::toString(Decision decision) {
  return kWords[size_t(decision)];
}

std::optional<Decision> mpopt::parseDecision(std::string_view text) {
  for (size_t index = 0; index < std::size(kWords); ++index)
    if (kWords[index] == text)
      return Decision(index);
  return std::nullopt;
}

bool mpopt::looksAtGradient(Decision decision) {
  switch (decision) {
  case Decision::GradientFlush:
  case Decision::GradientOverflow:
  case Decision::GradientRatio:
  case Decision::GradientZero:
  case Decision::GradientNonFinite:
    return true;
  default:
    return false;
  }
}
