//===- Serve.cpp - Several archives, one start of LibTorch ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Import.h"

#include "mpopt/Report/Keys.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <fcntl.h>
#include <iostream>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpopt::torchscript;

static std::optional<Request> parse(llvm::StringRef line, std::string &log) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return std::nullopt;
  Request request;
  auto take = [&](llvm::StringRef key, std::string &to) {
    if (std::optional<llvm::StringRef> text = object->getString(key))
      to = text->str();
  };
  take("archive", request.archive);
  take("method", request.method);
  take("output", request.output);
  take(mpopt::keys::kLog, log);
  request.text = object->getBoolean("text").value_or(false);
  if (const llvm::json::Array *shapes = object->getArray("input_shapes"))
    for (const llvm::json::Value &shape : *shapes)
      if (std::optional<llvm::StringRef> text = shape.getAsString())
        request.inputShapes.push_back(text->str());
  // Standard output is for answers.
  if (request.archive.empty() || request.output == "-" || log.empty())
    return std::nullopt;
  return request;
}

[[noreturn]] static void work(const Request &request, const std::string &log,
                              unsigned seconds) {
  int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || dup2(file, STDERR_FILENO) < 0)
    std::_Exit(2);
  alarm(seconds);
  int status = importArchive(request);
  llvm::errs().flush();
  std::_Exit(status);
}

/// The status of the process, or the negative number of the signal.
static int waitFor(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR)
      return 2;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int mpopt::torchscript::serve(unsigned seconds) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::string log;
    std::optional<Request> request = parse(line, log);
    if (!request) {
      llvm::errs() << "not a request: " << line << '\n';
      return 2;
    }
    llvm::outs().flush();
    pid_t process = fork();
    if (process == 0)
      work(*request, log, seconds);
    int status = process < 0 ? 2 : waitFor(process);
    llvm::outs() << llvm::json::Value(llvm::json::Object{{"status", status}})
                 << '\n';
    llvm::outs().flush();
  }
  return 0;
}
