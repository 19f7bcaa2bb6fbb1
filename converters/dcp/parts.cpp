#include "converters/dcp/parts.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "converters/format.h"

namespace titan::convert::dcp {
namespace {

// accelerate numbers models and optimizers. Of several the first is the one that is trained.
constexpr const char* kModelPart = "pytorch_model_fsdp_0";
constexpr const char* kOptimizerPart = "optimizer_0";

Result<bool> is_directory_of_dcp(ckpt::Fs& fs, const std::string& path) {
  return is_file(fs, ckpt::join_path(path, kMetadataFile));
}

// By name; of two the first, which is the model's.
template <typename Entry>
void sort_once(std::vector<Entry>& entries) {
  std::ranges::stable_sort(entries, {}, &Entry::name);
  const auto rest = std::ranges::unique(entries, {}, &Entry::name);
  entries.erase(rest.begin(), rest.end());
}

}  // namespace

Result<std::vector<std::string>> parts_of(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const bool itself, is_directory_of_dcp(fs, path));
  TITAN_ASSIGN_OR_RETURN(const bool model, is_directory_of_dcp(fs, ckpt::join_path(path, kModelPart)));
  if (itself || !model) return std::vector<std::string>{""};
  TITAN_ASSIGN_OR_RETURN(const bool optimizer, is_directory_of_dcp(fs, ckpt::join_path(path, kOptimizerPart)));
  std::vector<std::string> parts = {kModelPart};
  if (optimizer) parts.emplace_back(kOptimizerPart);
  return parts;
}

Result<std::string> optimizer_beside(ckpt::Fs& fs, const std::string& path) {
  if (ckpt::base_name(path) != kModelPart) return std::string();
  const std::string optimizer = ckpt::join_path(ckpt::parent_path(path), kOptimizerPart);
  TITAN_ASSIGN_OR_RETURN(const bool there, is_directory_of_dcp(fs, optimizer));
  return there ? optimizer : std::string();
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
