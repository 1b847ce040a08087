//===- DeviceFile.h - Peak rates of machines --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The built-in ones are lib/Support/devices/*.json; a user's file has that
// form.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_DEVICEFILE_H
#define MPOPT_SUPPORT_DEVICEFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpopt {

/// A machine as a roofline sees it.
struct DeviceProfile {
  std::string name;
  std::string summary;
  double memory = 0;    ///< Bytes.
  double bandwidth = 0; ///< Bytes a second between memory and processor.
  double launch = 0;    ///< Seconds that a kernel takes at least.
  /// Operations a second of matrix products, two for a multiplication and its
  /// addition, by the format of the operands: f32, tf32, f16, bf16, f8, f4, i8.
  /// A format that is missing has no arithmetic.
  std::map<std::string, double> products;
  /// The elements of which the sizes of a product are multiples at that rate.
  std::map<std::string, int64_t> multiples;

  /// Nothing if the device has no arithmetic of that format.
  std::optional<double> rate(llvm::StringRef format) const;
};

std::vector<std::string> getDeviceNames();

/// A built-in profile, or the one in a JSON file. The error is one line.
llvm::Expected<DeviceProfile> findDevice(llvm::StringRef nameOrFile);

} // namespace mpopt

#endif // MPOPT_SUPPORT_DEVICEFILE_H
