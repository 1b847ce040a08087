//===- Finding.cpp - Names of severities and certainties
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/Finding.h"

using namespace mpopt;

std::string_view mpopt::toString(Severity severity) {
  switch (severity) {
  case Severity::Note:
    return "note";
  case Severity::Warning:
    return "warning";
  case Severity::Error:
    return "error";
  }
  return {};
}

std::string_view mpopt::toString(Certainty certainty) {
  switch (certainty) {
  case Certainty::Possible:
    return "possible";
  case Certainty::Likely:
    return "likely";
  case Certainty::Certain:
    return "certain";
  }
  return {};
}

std::string_view mpopt::toString(Standing standing) {
  switch (standing) {
  case Standing::Counts:
    return "counts";
  case Standing::Known:
    return "known";
  case Standing::Suppressed:
    return "suppressed";
  }
  return {};
}

std::optional<Severity> mpopt::parseSeverity(std::string_view text) {
  for (Severity severity : {Severity::Note, Severity::Warning, Severity::Error})
    if (toString(severity) == text)
      return severity;
  return std::nullopt;
}

std::optional<Certainty> mpopt::parseCertainty(std::string_view text) {
  for (Certainty certainty :
       {Certainty::Possible, Certainty::Likely, Certainty::Certain})
    if (toString(certainty) == text)
      return certainty;
  return std::nullopt;
}

std::optional<Standing> mpopt::parseStanding(std::string_view text) {
  for (Standing standing :
       {Standing::Counts, Standing::Known, Standing::Suppressed})
    if (toString(standing) == text)
      return standing;
  return std::nullopt;
}
