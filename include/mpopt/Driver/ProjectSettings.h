//===- ProjectSettings.h - mpopt.toml ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A project's settings are options without their dashes, so that an option has
// one meaning, and suppressions (docs/ci.md). The file knows no option by name:
// the tool looks settings up in the table of options.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DRIVER_PROJECTSETTINGS_H
#define MPOPT_DRIVER_PROJECTSETTINGS_H

#include "mpopt/Report/Baseline.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mpopt {

/// One option with its value.
struct Setting {
  std::string option; ///< `precision`, without dashes.
  /// The value, `NAME=VALUE` for options by name; nothing for a switch.
  std::optional<std::string> value;
  /// The part of `value` up to `=` or `~`, where the option goes by name.
  std::string name;
  std::string place; ///< `mpopt.toml:12`.
};

struct ProjectSettings {
  std::string file;
  /// The settings of the model: later ones override earlier ones.
  std::vector<Setting> settings;
  std::vector<Suppression> suppressions;
};

/// The nearest `mpopt.toml`, or `pyproject.toml` with `[tool.mpopt]`, in the
/// model's folder or above it, for `-` in the working directory or above it;
/// empty if there is none.
std::string findProjectFile(llvm::StringRef model);

/// Reads the settings that hold for `model`. Paths in it are relative to the
/// file's folder. The error is one line that begins with the place.
llvm::Expected<ProjectSettings> readProjectFile(llvm::StringRef file,
                                                llvm::StringRef model);

} // namespace mpopt

#endif // MPOPT_DRIVER_PROJECTSETTINGS_H
