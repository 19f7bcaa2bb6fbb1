#include "corpus/path_pattern.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>

#include "ckpt/base/fs.h"
#include "ckpt/store/named_file.h"

namespace titan::corpus {
namespace {

using ckpt::FileType;
using ckpt::Status;

std::optional<FileType> type_of(ckpt::Fs& fs, const std::string& path) {
  const auto info = ckpt::stat_target(fs, path);
  return info.ok() ? std::optional(info->type) : std::nullopt;
}

/// Adds the paths that match `rest` after `begin`, which is a folder that ends with "/", or empty.
Status add_fitting(ckpt::Fs& fs, const std::string& begin, std::string_view rest, std::vector<std::string>* found) {
  if (rest.empty()) return {};
  const std::size_t end = std::min(rest.find('/'), rest.size());
  const std::size_t next = std::min(rest.find_first_not_of('/', end), rest.size());
  const std::string part(rest.substr(0, end)), slashes(rest.substr(end, next - end));
  const auto take = [&](const std::string& path) -> Status {
    const bool folder = !slashes.empty();
    if (folder && type_of(fs, path) != FileType::kDirectory) return {};
    if (next < rest.size()) return add_fitting(fs, path + slashes, rest.substr(next), found);
    found->push_back(path + slashes);
    return {};
  };
  const std::string literal = begin + part;
  if (part.empty()) return add_fitting(fs, begin + slashes, rest.substr(next), found);
  if (type_of(fs, literal)) return take(literal);
  const std::string folder = begin.empty() ? "." : begin;
  if (!has_wildcard(part) || type_of(fs, folder) != FileType::kDirectory) return {};
  TITAN_ASSIGN_OR_RETURN(const std::string real, fs.real_path(folder));
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(real));
  for (const ckpt::DirEntry& entry : entries)
    if (::fnmatch(part.c_str(), entry.name.c_str(), FNM_PERIOD) == 0) TITAN_RETURN_IF_ERROR(take(begin + entry.name));
  return {};
}

}  // namespace

bool has_wildcard(std::string_view path) { return path.find_first_of("*?[") != std::string_view::npos; }

ckpt::Result<std::vector<std::string>> matching_paths(ckpt::Fs& fs, const std::string& pattern) {
  std::vector<std::string> found;
  TITAN_RETURN_IF_ERROR(add_fitting(fs, "", pattern, &found));
  return found;
}

}  // namespace titan::corpus
