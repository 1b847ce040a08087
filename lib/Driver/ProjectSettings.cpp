//===- ProjectSettings.cpp - mpopt.toml -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/ProjectSettings.h"

#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <set>

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

// The settings of a project, and the length above which it is no such file.
static constexpr StringRef kFileName = "mpopt.toml";
// The one of a Python package, in whose table `tool.mpopt` they may be.
static constexpr StringRef kPackageFile = "pyproject.toml";
static constexpr size_t kMaxBytes = 1 << 20;

/// True if a table of the file is `tool.mpopt` or inside of it.
static bool hasSettings(StringRef file) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      readInputFile(file, kMaxBytes);
  if (!buffer) {
    llvm::consumeError(buffer.takeError());
    return false;
  }
  llvm::SmallVector<StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n');
  return llvm::any_of(lines, [](StringRef line) {
    line = line.trim().ltrim('[');
    return line.starts_with("tool.mpopt]") || line.starts_with("tool.mpopt.");
  });
}

std::string mpopt::findProjectFile(StringRef model) {
  llvm::SmallString<256> folder(model == "-" ? "" : path::parent_path(model));
  if (fs::make_absolute(folder))
    return {};
  path::remove_dots(folder, /*remove_dot_dot=*/true);
  for (StringRef above = folder; !above.empty();
       above = path::parent_path(above)) {
    llvm::SmallString<256> file(above);
    path::append(file, kFileName);
    if (!fs::is_regular_file(file)) {
      file = above;
      path::append(file, kPackageFile);
      if (!fs::is_regular_file(file) || !hasSettings(file))
        continue;
    }
    // As it is seen from here, where that is below.
    llvm::SmallString<256> here;
    if (!fs::current_path(here))
      if (StringRef rest = file;
          rest.consume_front(here) && rest.consume_front("/"))
        return rest.str();
    return file.str().str();
  }
  return {};
}

namespace {
class Reader {
public:
  Reader(StringRef file, StringRef model)
      : folder(path::parent_path(file)), model(model) {
    result.file = file.str();
  }

  Expected<ProjectSettings> read(const toml::table &root);

private:
  Error fail(const toml::node &node, const Twine &text) {
    return llvm::createStringError(getPlace(node) + ": " + text.str());
  }
  std::string getPlace(const toml::node &node) {
    return result.file + ":" + std::to_string(node.source().begin.line);
  }

  Error readSection(const toml::table &section, bool isRoot);
  Error readModels(const toml::node &node);
  void override(size_t first);
  Error readNamed(StringRef option, const toml::node &node);
  Error readOption(StringRef option, const toml::node &node);
  Error readSuppressions(const toml::node &node);
  Error readSuppression(const toml::table &table);
  Expected<std::string> getText(const toml::node &node);
  Expected<std::string> getFacts(const toml::table &table);
  bool isAbout(StringRef pattern);
  std::string resolve(StringRef option, StringRef value);
  void add(StringRef option, std::optional<std::string> value,
           const toml::node &node, StringRef name = "") {
    result.settings.push_back(
        {option.str(), std::move(value), name.str(), getPlace(node)});
  }

  std::string folder, model;
  ProjectSettings result;
};
} // namespace

/// Keys whose tables hold values by name, and the option they stand for.
static StringRef getNamedOption(StringRef key) {
  return llvm::StringSwitch<StringRef>(key)
      .Case("inputs", "input")
      .Case("dims", "dim")
      .Case("input-shapes", "input-shape")
      .Case("thresholds", "set")
      .Case("ops", "op")
      .Default("");
}

/// A value that is, or may be, the path of a file beside the settings.
std::string Reader::resolve(StringRef option, StringRef value) {
  bool isPath = option == "baseline" || option == "train-config";
  bool mayBePath = option == "policy" || option == "target";
  if ((!isPath && !mayBePath) || path::is_absolute(value))
    return value.str();
  llvm::SmallString<256> file(folder);
  path::append(file, value);
  return isPath || fs::exists(file) ? file.str().str() : value.str();
}

Expected<std::string> Reader::getText(const toml::node &node) {
  if (std::optional<std::string> text = node.value_exact<std::string>())
    return *text;
  if (std::optional<int64_t> number = node.value_exact<int64_t>())
    return std::to_string(*number);
  if (std::optional<double> number = node.value_exact<double>()) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.17g", *number);
    return text;
  }
  return fail(node, "is neither a string nor a number");
}

/// `KEY=VALUE;KEY=VALUE`, the items of a list with commas between them.
Expected<std::string> Reader::getFacts(const toml::table &table) {
  std::string facts;
  for (const auto &[key, item] : table) {
    facts += (facts.empty() ? "" : ";") + std::string(key.str()) + "=";
    llvm::SmallVector<const toml::node *> values = {&item};
    if (const toml::array *list = item.as_array()) {
      values.clear();
      for (const toml::node &value : *list)
        values.push_back(&value);
    }
    for (const toml::node *value : values) {
      Expected<std::string> text = getText(*value);
      if (!text)
        return text.takeError();
      facts += (value == values.front() ? "" : ",") + *text;
    }
  }
  return facts;
}

/// A list stands for an option that is given several times.
Error Reader::readOption(StringRef option, const toml::node &node) {
  if (std::optional<bool> flag = node.value_exact<bool>()) {
    if (*flag)
      add(option, std::nullopt, node);
    return Error::success();
  }
  if (const toml::array *list = node.as_array()) {
    std::string joined;
    for (const toml::node &item : *list) {
      Expected<std::string> text = getText(item);
      if (!text)
        return text.takeError();
      if (option == "loss")
        add(option, *text, item);
      else
        joined += (joined.empty() ? "" : ",") + *text;
    }
    if (option != "loss" && !list->empty())
      add(option, joined, node);
    return Error::success();
  }
  Expected<std::string> text = getText(node);
  if (!text)
    return text.takeError();
  add(option, resolve(option, *text), node);
  return Error::success();
}

Error Reader::readNamed(StringRef option, const toml::node &node) {
  const toml::table *table = node.as_table();
  if (!table)
    return fail(node, "is not a table");
  for (const auto &[key, item] : *table) {
    llvm::SmallVector<const toml::node *> values;
    if (const toml::array *list = item.as_array())
      for (const toml::node &value : *list)
        values.push_back(&value);
    else
      values.push_back(&item);
    for (const toml::node *value : values) {
      const toml::table *facts = option == "op" ? value->as_table() : nullptr;
      Expected<std::string> text = facts ? getFacts(*facts) : getText(*value);
      if (!text)
        return text.takeError();
      std::string word(key.str());
      StringRef given = *text;
      if (given.consume_front("@")) {
        llvm::SmallString<256> file(path::is_absolute(given) ? "" : folder);
        path::append(file, given);
        word += "=@" + file.str().str();
      } else {
        word += given.starts_with("~") ? given.str() : "=" + given.str();
      }
      add(option, word, *value, StringRef(key.data(), key.length()));
    }
  }
  return Error::success();
}

Error Reader::readSuppression(const toml::table &table) {
  Suppression suppression;
  suppression.place = getPlace(table);
  for (const auto &[key, item] : table) {
    StringRef name(key.data(), key.length());
    if (name == "expires" && item.is_date()) {
      const toml::date &date = item.as_date()->get();
      llvm::raw_string_ostream(suppression.expires) << llvm::format(
          "%04d-%02d-%02d", int(date.year), int(date.month), int(date.day));
      continue;
    }
    std::string *field = llvm::StringSwitch<std::string *>(name)
                             .Case("rule", &suppression.rule)
                             .Case("op", &suppression.op)
                             .Case("fingerprint", &suppression.fingerprint)
                             .Case("reason", &suppression.reason)
                             .Case("expires", &suppression.expires)
                             .Default(nullptr);
    if (!field)
      return fail(item, "a suppression has no '" + name + "'");
    std::optional<std::string> text = item.value_exact<std::string>();
    if (!text)
      return fail(item, "'" + name + "' is not a string");
    *field = *text;
  }
  if (Error error = checkSuppression(suppression))
    return fail(table, llvm::toString(std::move(error)));
  result.suppressions.push_back(std::move(suppression));
  return Error::success();
}

Error Reader::readSuppressions(const toml::node &node) {
  const toml::array *list = node.as_array();
  if (!list)
    return fail(node, "'suppress' is not a list of tables: [[suppress]]");
  for (const toml::node &item : *list) {
    const toml::table *table = item.as_table();
    if (!table)
      return fail(item, "'suppress' is not a list of tables: [[suppress]]");
    if (Error error = readSuppression(*table))
      return error;
  }
  return Error::success();
}

bool Reader::isAbout(StringRef pattern) {
  Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern, 64);
  if (!glob) {
    llvm::consumeError(glob.takeError());
    return false;
  }
  llvm::SmallString<256> file(model), base(folder);
  if (fs::make_absolute(file) || fs::make_absolute(base))
    return glob->match(model);
  path::remove_dots(file, /*remove_dot_dot=*/true);
  path::remove_dots(base, /*remove_dot_dot=*/true);
  StringRef rest = file;
  if (rest.consume_front(base) && rest.consume_front("/") && glob->match(rest))
    return true;
  return glob->match(path::filename(model));
}

/// Drops what settings from `first` on say again.
void Reader::override(size_t first) {
  std::set<std::pair<std::string, std::string>> said;
  for (const Setting &setting : llvm::drop_begin(result.settings, first))
    said.insert({setting.option, setting.name});
  size_t index = 0;
  llvm::erase_if(result.settings, [&](const Setting &setting) {
    return index++ < first && said.contains({setting.option, setting.name});
  });
}

Error Reader::readModels(const toml::node &node) {
  const toml::table *models = node.as_table();
  if (!models)
    return fail(node, "'model' is not a table: [model.\"NAME\"]");
  // In the order of the file: of two sections that fit the later one holds.
  std::vector<std::pair<StringRef, const toml::node *>> sections;
  for (const auto &[key, item] : *models)
    sections.push_back({StringRef(key.data(), key.length()), &item});
  llvm::sort(sections, [](const auto &lhs, const auto &rhs) {
    return lhs.second->source().begin.line < rhs.second->source().begin.line;
  });
  for (const auto &[pattern, item] : sections) {
    const toml::table *section = item->as_table();
    if (!section)
      return fail(*item, "'model' is not a table: [model.\"NAME\"]");
    if (Expected<llvm::GlobPattern> glob =
            llvm::GlobPattern::create(pattern, 64);
        !glob)
      return fail(*item, "'" + pattern + "' is no pattern: " +
                             llvm::toString(glob.takeError()));
    size_t settings = result.settings.size();
    size_t suppressions = result.suppressions.size();
    if (Error error = readSection(*section, /*isRoot=*/false))
      return error;
    // Mistakes in sections of other models are told, too.
    if (!isAbout(pattern)) {
      result.settings.resize(settings);
      result.suppressions.resize(suppressions);
      continue;
    }
    override(settings);
  }
  return Error::success();
}

Error Reader::readSection(const toml::table &section, bool isRoot) {
  const toml::node *models = nullptr;
  for (const auto &[key, item] : section) {
    StringRef name(key.data(), key.length());
    Error error = Error::success();
    if (name == "suppress")
      error = readSuppressions(item);
    else if (name == "model" && isRoot)
      models = &item;
    else if (name == "lint" && isRoot && item.is_table())
      continue; // `mpopt lint` reads it.
    else if (StringRef option = getNamedOption(name); !option.empty())
      error = readNamed(option, item);
    else if (item.is_table())
      error = fail(item, "there is no section '" + name + "'");
    else if (!isRoot && (name == "fail-on" || name == "baseline"))
      error = fail(item, "'" + name + "' holds for all models");
    else
      error = readOption(name, item);
    if (error)
      return error;
  }
  return models ? readModels(*models) : Error::success();
}

Expected<ProjectSettings> Reader::read(const toml::table &root) {
  if (Error error = readSection(root, /*isRoot=*/true))
    return std::move(error);
  return std::move(result);
}

Expected<ProjectSettings> mpopt::readProjectFile(StringRef file,
                                                 StringRef model) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      readInputFile(file, kMaxBytes);
  if (!buffer)
    return llvm::createStringError(file + ": " +
                                   llvm::toString(buffer.takeError()));
  StringRef text = (*buffer)->getBuffer();
  if (text.size() > kMaxBytes)
    return llvm::createStringError(file + ": is longer than a megabyte");
  toml::parse_result parsed =
      toml::parse(std::string_view(text.data(), text.size()));
  if (!parsed) {
    const toml::parse_error &error = parsed.error();
    std::string_view what = error.description();
    return llvm::createStringError(file + ":" +
                                   Twine(error.source().begin.line) + ": " +
                                   StringRef(what.data(), what.size()));
  }
  if (path::filename(file) != kPackageFile)
    return Reader(file, model).read(parsed.table());
  const toml::table *settings = parsed.table().at_path("tool.mpopt").as_table();
  if (!settings)
    return llvm::createStringError(file + ": has no table [tool.mpopt]");
  return Reader(file, model).read(*settings);
}
