//===- SanitizerOptions.cpp - What a sanitized tool runs with
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linked into each program of the asan preset, so that no environment variable
// has to be remembered; ASAN_OPTIONS and UBSAN_OPTIONS still win.
//
//===----------------------------------------------------------------------===//

// LLVM's headers poison the slabs of an arena by hand where they are compiled
// with the sanitizer. The shared libraries, which are not, allocate from the
// same arenas and lift no poison: hand-made poison and container annotations
// would be false reports.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0:"
         "detect_stack_use_after_return=0";
}

extern "C" const char *__ubsan_default_options() {
  return "print_stacktrace=1";
}
