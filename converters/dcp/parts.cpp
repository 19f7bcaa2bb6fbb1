#include "converters/dcp/parts.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "converters/dcp/metadata.h"
#include "converters/dcp/shards.h"
#include "converters/format.h"
#include "converters/other_programs.h"

namespace titan::convert::dcp {
namespace {

// accelerate's directory for the model. accelerate numbers models and optimizers; if there are several models, the
// first one is the trained one.
constexpr const char* kModelPart = "pytorch_model_fsdp_0";
constexpr std::string_view kModelPrefix = "pytorch_model_fsdp_", kOptimizerPrefix = "optimizer_";
// The folder of safetensors shards that torch's writer, and torchtitan's last save in Hugging Face's format, will
// consolidate.
constexpr const char* kShardedPart = "sharded";
// Directories for the optimizer. The first name is accelerate's. Next to shards, the name is chosen by the user of
// save_optimizer_distributed; these are the names that are looked for.
constexpr const char* kOptimizerParts[] = {"optimizer_0", "optimizer", "optim"};

Result<bool> is_directory_of_dcp(ckpt::Fs& fs, const std::string& path) {
  return file_there(fs, ckpt::join_path(path, kMetadataFile));
}

// Checks the directory `part`, which has no metadata, of a checkpoint whose other directory `whole` is complete. If it
// has items, its metadata was not copied, so it must not count as absent. \error kCorrupt
Status check_part(ckpt::Fs& fs, const std::string& path, const std::string& part, const std::string& whole) {
  const std::string folder = ckpt::join_path(path, part);
  const auto entries = fs.list(folder);
  if (!entries.ok()) return {};  // the folder does not exist, or is a file
  const bool items =
      std::ranges::any_of(*entries, [](const ckpt::DirEntry& entry) { return entry.name.ends_with(kItemSuffix); });
  if (!items && !part.ends_with("_0")) return {};
  return ckpt::corrupt(folder + " is a part of the checkpoint, and " + ckpt::join_path(folder, kMetadataFile) +
                       " is missing")
      .with_hint("copy it again from where the run saved it" +
                 (whole.empty() ? "" : ", or give " + ckpt::join_path(path, whole) + " alone"));
}

/// The digits N in the name "<prefix>N"; "" for other names.
std::string number_after(std::string_view prefix, const std::string& name) {
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return "";
  const std::string number = name.substr(prefix.size());
  return number.find_first_not_of("0123456789") == std::string::npos ? number : "";
}

// Sorted by name; of two entries with one name the first (the model's) is kept.
template <typename Entry>
void sort_once(std::vector<Entry>& entries) {
  std::ranges::stable_sort(entries, {}, &Entry::name);
  const auto same = [](const Entry& a, const Entry& b) { return a.name == b.name; };
  entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
}

}  // namespace

Result<std::vector<std::string>> parts_of(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const bool itself, is_directory_of_dcp(fs, path));
  const bool shards = !itself && !shards_in(fs, path).empty();
  TITAN_ASSIGN_OR_RETURN(const bool model, is_directory_of_dcp(fs, ckpt::join_path(path, kModelPart)));
  std::vector<std::string> parts = {""};
  if (itself) return parts;
  if (!shards && !model) TITAN_RETURN_IF_ERROR(check_part(fs, path, kModelPart, ""));
  if (!shards && model)
    parts = {kModelPart};
  else if (!shards && !shards_in(fs, ckpt::join_path(path, kShardedPart)).empty())
    parts = {kShardedPart};
  else if (!shards)
    return parts;
  for (const char* name : kOptimizerParts) {
    TITAN_ASSIGN_OR_RETURN(const bool there, is_directory_of_dcp(fs, ckpt::join_path(path, name)));
    if (!there) {
      TITAN_RETURN_IF_ERROR(check_part(fs, path, name, parts.front()));
      continue;
    }
    parts.emplace_back(name);
    break;
  }
  return parts;
}

Result<FurtherParts> further_parts(ckpt::Fs& fs, const std::string& path) {
  FurtherParts further;
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> parts, parts_of(fs, path));
  if (parts.front() != kModelPart) return further;
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(path));
  for (const ckpt::DirEntry& entry : entries)
    for (const auto& [prefix, names] :
         {std::pair(kModelPrefix, &further.models), std::pair(kOptimizerPrefix, &further.optimizers)})
      if (const std::string number = number_after(prefix, entry.name); !number.empty() && number != "0")
        names->push_back(entry.name);
  std::ranges::sort(further.models);
  std::ranges::sort(further.optimizers);
  return further;
}

Result<std::string> sibling_optimizer_note(ckpt::Fs& fs, const std::string& path) {
  const std::string number = number_after(kModelPrefix, ckpt::base_name(path));
  if (number.empty()) return std::string();
  const std::string optimizer = ckpt::join_path(ckpt::parent_path(path), std::string(kOptimizerPrefix) + number);
  TITAN_ASSIGN_OR_RETURN(const bool whole, is_directory_of_dcp(fs, optimizer));
  if (!whole && !fs.list(optimizer).ok()) return std::string();
  const std::string lies = "the optimizer's state is next to it, in " + optimizer;
  if (!whole) return lies + ", and cannot be read: its " + kMetadataFile + " is missing";
  return lies + (number == "0" ? ": the folder above holds both"
                               : ": a folder with links to both, named pytorch_model_fsdp_0 and optimizer_0, is read "
                                 "whole");
}

Metadata joined_metadata(std::vector<std::pair<std::string, Metadata>> parts) {
  Metadata all;
  for (auto& [name, part] : parts) {
    const auto first = static_cast<std::uint32_t>(all.files.size());
    all.version = part.version;
    for (const std::string& file : part.files) all.files.push_back(name.empty() ? file : name + "/" + file);
    for (TensorEntry& tensor : part.tensors) {
      for (Chunk& chunk : tensor.chunks) chunk.place.file += first;
      all.tensors.push_back(std::move(tensor));
    }
    for (BytesEntry& value : part.values) {
      value.place.file += first;
      all.values.push_back(std::move(value));
    }
  }
  sort_once(all.tensors);
  sort_once(all.values);
  return all;
}

}  // namespace titan::convert::dcp
