//===- Documents.cpp - The files that an editor has open
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Documents.h"

#include "Diagnostics.h"

#include "mpopt/Import/Nesting.h"
#include "mpopt/Support/BoundedJson.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/LSP/Protocol.h"

using namespace mpopt;
using llvm::StringRef;
namespace json = llvm::json;

static std::string toText(json::Object message) {
  return llvm::formatv("{0}", json::Value(std::move(message)));
}

/// The path of a document; empty if it has none. Both sides may spell the URI
/// of one file differently.
static std::string getPath(const json::Object &document) {
  std::optional<StringRef> uri = document.getString("uri");
  if (!uri)
    return {};
  llvm::Expected<llvm::lsp::URIForFile> file =
      llvm::lsp::URIForFile::fromURI(*uri);
  if (!file) {
    llvm::consumeError(file.takeError());
    return {};
  }
  return file->file().str();
}

bool Documents::keep(StringRef path, int64_t version, std::string &text) {
  bool refused = exceedsNesting(text, kMostNesting);
  std::lock_guard lock(mutex);
  open[path] = {version, refused ? std::string() : text, refused};
  if (refused)
    text.clear();
  return refused;
}

std::optional<std::string> Documents::fromEditor(std::string message) {
  llvm::Expected<json::Value> parsed = parseJson(message);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  // MLIR's server would stop reading at an invalid message.
  json::Object *request = parsed->getAsObject();
  if (!request || request->getString("jsonrpc") != "2.0" ||
      (!request->getString("method") && !request->get("id")))
    return std::nullopt;
  StringRef method = request->getString("method").value_or("");
  json::Object *params = request->getObject("params");
  json::Object *document = params ? params->getObject("textDocument") : nullptr;
  if (!document)
    return message;
  std::string path = getPath(*document);
  int64_t version = document->getInteger("version").value_or(0);
  // MLIR's server asks for whole texts, so that the last change is the text.
  json::Object *holder = nullptr;
  if (method == "textDocument/didOpen") {
    holder = document;
  } else if (method == "textDocument/didChange") {
    if (json::Array *changes = params->getArray("contentChanges");
        changes && !changes->empty())
      holder = changes->back().getAsObject();
  } else if (method == "textDocument/didClose") {
    std::lock_guard lock(mutex);
    open.erase(path);
  }
  std::optional<StringRef> text =
      holder ? holder->getString("text") : std::nullopt;
  if (!text || path.empty())
    return message;
  std::string seen = text->str();
  if (!keep(path, version, seen))
    return message;
  (*holder)["text"] = seen;
  return toText(std::move(*request));
}

std::string Documents::fromServer(std::string message) {
  llvm::Expected<json::Value> parsed = parseJson(message);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return message;
  }
  json::Object *notice = parsed->getAsObject();
  if (!notice ||
      notice->getString("method") != "textDocument/publishDiagnostics")
    return message;
  json::Object *params = notice->getObject("params");
  json::Array *diagnostics = params ? params->getArray("diagnostics") : nullptr;
  if (!diagnostics)
    return message;
  std::string path = getPath(*params);
  Document document;
  {
    std::lock_guard lock(mutex);
    auto known = open.find(path);
    // About an older text: it will publish about the newer one, too.
    if (known == open.end() ||
        known->second.version != params->getInteger("version"))
      return message;
    document = known->second;
  }
  // Only text that parses can be checked.
  if (document.refused)
    *diagnostics = refuse();
  else if (diagnostics->empty())
    *diagnostics = diagnose(getOptions(), document.text,
                            params->getString("uri").value_or(""), path);
  else
    return message;
  return toText(std::move(*notice));
}
