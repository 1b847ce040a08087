//===- DeviceFile.cpp - Peak rates of machines, built in or in a file -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/DeviceFile.h"

#include "mpopt/Support/BoundedJson.h"
#include "mpopt/Support/Profile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mpopt;
using llvm::StringRef;
using llvm::Twine;

static const EmbeddedProfile kDevices[] = {
#include "Devices.inc"
};

// The formats that have a rate; f32 is required, since all else falls back to
// it.
static constexpr StringRef kFormats[] = {"f32", "tf32", "f16", "bf16",
                                         "f8",  "f4",   "i8"};

std::optional<double> DeviceProfile::rate(StringRef format) const {
  auto found = products.find(format.str());
  return found == products.end() ? std::nullopt : std::optional(found->second);
}

/// The message of a fault; empty if there is none.
static std::string
readNumbers(const llvm::json::Object &object, StringRef key,
            llvm::function_ref<void(StringRef, double)> add) {
  const llvm::json::Object *entries = object.getObject(key);
  if (!entries)
    return ("\"" + key + "\" is missing or no object").str();
  for (const auto &[format, value] : *entries) {
    std::optional<double> number = value.getAsNumber();
    if (!llvm::is_contained(kFormats, StringRef(format)))
      return ("\"" + key + "\": '" + StringRef(format) + "' is none of " +
              llvm::join(llvm::ArrayRef(kFormats), ", "))
          .str();
    if (!number || !(*number > 0) || !std::isfinite(*number))
      return ("\"" + key + "\": the number of '" + StringRef(format) +
              "' is not positive")
          .str();
    add(format, *number);
  }
  return {};
}

static std::string readFields(const llvm::json::Object &object,
                              DeviceProfile &device) {
  for (const auto &[key, value] : object)
    if (!llvm::is_contained({"schema", "summary", "sources", "memory",
                             "bandwidth", "launch", "products", "multiples"},
                            StringRef(key)))
      return ("unknown key \"" + StringRef(key) + "\"").str();
  std::optional<StringRef> summary = object.getString("summary");
  if (!summary)
    return "\"summary\", the machine in words, is missing or no text";
  device.summary = summary->str();
  for (auto [key, field] : {std::pair("memory", &device.memory),
                            std::pair("bandwidth", &device.bandwidth),
                            std::pair("launch", &device.launch)}) {
    std::optional<double> number = object.getNumber(key);
    if (!number || !(*number > 0) || !std::isfinite(*number))
      return std::string("\"") + key + "\" is missing or not positive";
    *field = *number;
  }
  std::string error =
      readNumbers(object, "products", [&](StringRef format, double rate) {
        device.products[format.str()] = rate;
      });
  if (error.empty() && !device.rate("f32"))
    error = "\"products\" needs \"f32\"";
  if (error.empty() && object.get("multiples"))
    error = readNumbers(object, "multiples", [&](StringRef format, double of) {
      device.multiples[format.str()] = int64_t(std::min(of, 65536.0));
    });
  return error;
}

static llvm::Expected<DeviceProfile> parseDevice(StringRef name,
                                                 StringRef text) {
  auto fail = [&](const Twine &why) {
    return llvm::createStringError("device '" + name + "': " + why);
  };
  llvm::Expected<llvm::json::Value> json = parseJson(text);
  if (!json)
    return fail("it " + llvm::toString(json.takeError()));
  const llvm::json::Object *object = json->getAsObject();
  if (!object || object->getString("schema") != "mpopt-device/1")
    return fail("its \"schema\" is not \"mpopt-device/1\"");
  DeviceProfile device;
  device.name = name.str();
  if (std::string error = readFields(*object, device); !error.empty())
    return fail(error);
  return device;
}

std::vector<std::string> mpopt::getDeviceNames() { return getNames(kDevices); }

llvm::Expected<DeviceProfile> mpopt::findDevice(StringRef nameOrFile) {
  llvm::Expected<std::string> text =
      readProfile("device", kDevices, nameOrFile);
  return text ? parseDevice(nameOrFile, *text) : text.takeError();
}
