#include "ckpt/read/model_files.h"

#include <algorithm>
#include <set>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/read/virtual_model.h"

namespace titan::ckpt {
namespace {

// The format in a member name: "hf" of "hf/tokenizer.json"; empty if no model file can have this name.
std::string format_of(const std::string& member) {
  const std::size_t slash = member.find('/');
  if (slash == std::string::npos || member.find('/', slash + 1) != std::string::npos) return "";
  std::string format = member.substr(0, slash);
  return format == kModel || format == kOptimizer ? "" : format;
}

Result<std::uint64_t> size_of(Fs& fs, const ModelFilePlace& place) {
  if (place.path.empty()) return std::uint64_t{place.made.size()};
  TITAN_ASSIGN_OR_RETURN(const FileInfo info,
                         place.folder.empty() ? fs.stat(place.path) : fs.stat_member(place.folder, place.member));
  return info.size;
}

}  // namespace

Result<std::vector<std::byte>> read_model_file(Fs& fs, const ModelFilePlace& place, std::uint64_t limit) {
  if (!place.path.empty())
    return place.folder.empty() ? read_file(fs, place.path, limit) : read_member(fs, place.folder, place.member, limit);
  if (place.made.size() > limit)
    return corrupt(place.member + " has " + std::to_string(place.made.size()) + " bytes, expected at most " +
                   std::to_string(limit));
  const auto bytes = std::as_bytes(std::span(place.made));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

std::vector<ModelFilePlace> model_files_in(const std::string& folder, const Manifest& manifest) {
  std::vector<ModelFilePlace> places;
  for (const FileEntry& file : manifest.files) {
    if (!came_with_model(file) || format_of(file.path).empty()) continue;
    places.push_back({folder, join_path(folder, file.path), file.path, file.whole});
  }
  std::ranges::sort(places, {}, &ModelFilePlace::member);
  return places;
}

Result<std::vector<ModelFile>> read_model_files(Fs& fs, const std::vector<ModelFilePlace>& places,
                                                std::vector<std::string>& notes, std::uint64_t limit) {
  std::vector<ModelFile> files;
  std::uint64_t left = limit;
  const auto leave_out = [&](const ModelFilePlace& place, const std::string& why) {
    notes.push_back((place.path.empty() ? place.member : place.path) +
                    " does not go into the run's checkpoints: " + why);
  };
  for (const ModelFilePlace& place : places) {
    const Result<std::uint64_t> size = size_of(fs, place);
    if (size.ok() && *size > left) {
      leave_out(place, "it has " + std::to_string(*size) + " bytes, and the files of a model " + std::to_string(limit) +
                           " at most in all");
      continue;
    }
    Result<std::vector<std::byte>> bytes = read_model_file(fs, place, left);
    const bool held = place.digest && bytes.status().code == Code::kMediaError;  // it exists, and is known
    if (!bytes.ok() && place.folder.empty() && !held) {  // weights of another format can be used without it
      leave_out(place, bytes.status().message);
      continue;
    }
    if (bytes.status().code == Code::kNotFound) return corrupt("member " + place.path + " is missing");
    if (!bytes.ok()) return bytes.status();
    ModelFile file{place.member, std::move(*bytes), {}};
    file.digest = digest_of(file.bytes);
    if (place.digest && file.digest != *place.digest) return corrupt(place.path + " does not match its digest");
    left -= file.bytes.size();
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::vector<FileEntry>> write_model_files(Fs& fs, const std::string& tmp_dir,
                                                 const std::vector<ModelFile>& files) {
  std::vector<FileEntry> entries;
  std::set<std::string> folders;
  for (const ModelFile& file : files) {
    const std::string folder = join_path(tmp_dir, format_of(file.member));
    if (folders.insert(folder).second) TITAN_RETURN_IF_ERROR(make_own_dir(fs, folder));
    FileEntry entry;
    entry.path = file.member;
    entry.role = FileRole::kDerived;
    entry.bytes = file.bytes.size();
    entry.whole = file.digest;
    TITAN_RETURN_IF_ERROR(write_member(fs, join_path(tmp_dir, file.member), file.bytes));
    entries.push_back(std::move(entry));
  }
  for (const std::string& folder : folders) TITAN_RETURN_IF_ERROR(fs.sync_dir(folder));
  return entries;
}

}  // namespace titan::ckpt
