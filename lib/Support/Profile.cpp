//===- Profile.cpp - Descriptions of machines, built in or in a file
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/Profile.h"

#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mpopt;
using llvm::StringRef;

std::vector<std::string>
mpopt::getNames(llvm::ArrayRef<EmbeddedProfile> profiles) {
  std::vector<std::string> names;
  for (const EmbeddedProfile &profile : profiles)
    names.push_back(profile.name);
  return names;
}

llvm::Expected<std::string>
mpopt::readProfile(StringRef kind, llvm::ArrayRef<EmbeddedProfile> profiles,
                   StringRef nameOrFile) {
  for (const EmbeddedProfile &profile : profiles)
    if (nameOrFile == profile.name)
      return profile.text;
  // 1 MiB: a longer file is no profile.
  constexpr uint64_t kMaxProfile = 1 << 20;
  auto file = readInputFile(nameOrFile, kMaxProfile);
  if (!file)
    return llvm::createStringError(kind + " '" + nameOrFile + "': neither " +
                                   llvm::join(getNames(profiles), ", ") +
                                   " nor a file (it " +
                                   llvm::toString(file.takeError()) + ")");
  return (*file)->getBuffer().str();
}
