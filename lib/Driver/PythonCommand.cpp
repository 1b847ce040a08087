//===- PythonCommand.cpp - Commands that the Python package has
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PythonCommand.h"

#include "mpopt/Driver/Actions.h"
#include "mpopt/Driver/Output.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

using namespace mpopt;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

// Its words are the command's name, the module whose `main` it is, and what
// follows. A package that is not there is one line.
static constexpr const char *kLauncher =
    "import importlib, sys\n"
    "name, module = sys.argv[1:3]\n"
    "del sys.argv[1:3]\n"
    "try:\n"
    "    main = importlib.import_module(module).main\n"
    "except ImportError as error:\n"
    "    sys.stderr.write(f'mpopt: error: {name}: {sys.executable}: "
    "{error}\\n')\n"
    "    sys.exit(2)\n"
    "sys.exit(main())\n";

namespace {
struct PythonCommand {
  StringRef name;
  const char *module;
};
} // namespace
/// As `mpopt --help` lists them.
static constexpr PythonCommand kCommands[] = {{"lint", "mpopt.lint.cli"},
                                              {"run", "mpopt.run"},
                                              {"view", "mpopt.view.__main__"}};

namespace {
struct Interpreter {
  std::string program;
  /// A folder to search for the package; empty if the interpreter has it.
  std::string package;
};
} // namespace

/// The folder above this program's by `levels`; empty if that is not known.
static std::string getFolderAbove(unsigned levels) {
  std::string program = fs::getMainExecutable(nullptr, nullptr);
  llvm::SmallString<256> real;
  if (fs::real_path(program, real))
    return {};
  StringRef folder = path::parent_path(real);
  for (; levels; --levels)
    folder = path::parent_path(folder);
  return folder.str();
}

/// The record of CMake beside a build of a checkout: the interpreter that
/// scripts/setup made, which may be missing, and the folder of the package.
static Interpreter readCheckout() {
  auto file = llvm::MemoryBuffer::getFile(getFolderAbove(1) + "/lint-python");
  if (!file)
    return {};
  auto [program, package] = (*file)->getBuffer().split('\n');
  return {program.trim().str(), package.trim().str()};
}

/// The interpreter into whose environment the wheel was installed:
/// PREFIX/lib/pythonX.Y/site-packages/mpopt/bin/mpopt.
static std::string findWheelPython() {
  if (!fs::exists(getFolderAbove(1) + "/lint/cli.py"))
    return {};
  std::string program = getFolderAbove(5) + "/bin/python3";
  return fs::can_execute(program) ? program : std::string();
}

static Interpreter findInterpreter() {
  Interpreter checkout = readCheckout();
  const char *wanted = std::getenv("MPOPT_PYTHON");
  if (wanted && *wanted) {
    auto found = llvm::sys::findProgramByName(wanted);
    return {found ? *found : wanted, checkout.package};
  }
  if (std::string own = findWheelPython(); !own.empty())
    return {own, ""};
  if (!fs::can_execute(checkout.program))
    checkout.program.clear();
  return checkout;
}

/// The error where neither a wheel nor a checkout is found.
static constexpr StringRef kNoInterpreter =
    "no Python interpreter with the package mpopt was found: set MPOPT_PYTHON";

/// Lets the interpreter find the package.
static void setPackage(Interpreter &interpreter) {
  if (interpreter.package.empty())
    return;
  std::string &folders = interpreter.package;
  if (const char *known = std::getenv("PYTHONPATH"); known && *known)
    folders += std::string(":") + known;
  setenv("PYTHONPATH", folders.c_str(), /*overwrite=*/1);
}

std::optional<int> mpopt::runPythonCommand(StringRef name, int count,
                                           char **words) {
  const auto *known =
      llvm::find_if(kCommands, [&](const PythonCommand &command) {
        return command.name == name;
      });
  if (known == std::end(kCommands))
    return std::nullopt;
  auto fail = [&](const llvm::Twine &text) {
    printError(name + ": " + text);
    return kFault;
  };
  Interpreter interpreter = findInterpreter();
  if (interpreter.program.empty())
    return fail(kNoInterpreter);
  setPackage(interpreter);
  std::vector<const char *> command = {interpreter.program.c_str(), "-c",
                                       kLauncher, name.data(), known->module};
  command.insert(command.end(), words, words + count);
  command.push_back(nullptr);
  execv(command.front(), const_cast<char **>(command.data()));
  return fail(llvm::Twine(interpreter.program) +
              " cannot be run: " + std::strerror(errno));
}

namespace {
/// An empty file for what a program prints.
struct Printed {
  llvm::SmallString<128> path;
  std::error_code error;

  Printed() { error = fs::createTemporaryFile("mpopt", "txt", path); }
  ~Printed() { (void)fs::remove(path); }
  Printed(const Printed &) = delete;

  std::string read() const {
    auto file = llvm::MemoryBuffer::getFile(path);
    return file ? (*file)->getBuffer().str() : std::string();
  }
};
} // namespace

llvm::Expected<std::string>
mpopt::askPython(StringRef module, llvm::ArrayRef<std::string> words) {
  auto fail = [](const llvm::Twine &text) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
  };
  Interpreter interpreter = findInterpreter();
  if (interpreter.program.empty())
    return fail(kNoInterpreter);
  setPackage(interpreter);
  Printed output, errors;
  for (const Printed *file : {&output, &errors})
    if (file->error)
      return fail("a temporary file: " + file->error.message());
  std::vector<StringRef> command = {interpreter.program, "-c", kLauncher,
                                    "Python", module};
  command.insert(command.end(), words.begin(), words.end());
  std::string why;
  int status = llvm::sys::ExecuteAndWait(
      command.front(), command, std::nullopt,
      {StringRef(""), StringRef(output.path), StringRef(errors.path)},
      /*SecondsToWait=*/0, /*MemoryLimit=*/0, &why);
  if (status == kClean || status == kFindings)
    return output.read();
  if (why.empty())
    why = StringRef(errors.read()).split('\n').first.split("error: ").second;
  return fail(why.empty() ? interpreter.program + " failed" : why);
}
