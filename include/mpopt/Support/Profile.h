//===- Profile.h - Descriptions of machines, built in or in a file -*- C++
//-*-=//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_SUPPORT_PROFILE_H
#define MPOPT_SUPPORT_PROFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mpopt {

/// A file that is part of the binary (mpopt_embed_tables).
struct EmbeddedProfile {
  const char *name, *text;
};

std::vector<std::string> getNames(llvm::ArrayRef<EmbeddedProfile> profiles);

/// The text of the built-in profile of that name, or of a file. The error is
/// one line, which begins with `kind`.
llvm::Expected<std::string>
readProfile(llvm::StringRef kind, llvm::ArrayRef<EmbeddedProfile> profiles,
            llvm::StringRef nameOrFile);

} // namespace mpopt

#endif // MPOPT_SUPPORT_PROFILE_H
