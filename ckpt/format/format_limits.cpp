#include "ckpt/format/format_limits.h"

#include "ckpt/base/size_text.h"
#include "ckpt/format/member_names.h"

namespace titan::ckpt {
namespace {

std::uint64_t memory_of(const StoredTensor& tensor) { return kTensorCost + kPieceCost * tensor.pieces.size(); }

// The text of a manifest is shorter than two thirds of this value. kMaxManifestBytes is two thirds of
// kMaxManifestMemory, so only the memory limit has to be checked.
std::uint64_t memory_of(const Manifest& manifest) {
  std::uint64_t bytes = kFileCost * manifest.files.size() + kSettingCost * manifest.components.size() +
                        kSmallCost * manifest.stage_cuts.size();
  for (const ParameterRecord& record : manifest.parameters) {
    bytes += kParameterCost + record.meta.name.size();
    if (record.model) bytes += memory_of(*record.model);
    for (const SlotTensor& slot : record.slots) bytes += memory_of(slot.tensor);
  }
  if (manifest.derived_from)
    for (const MergedSource& source : manifest.derived_from->merged) bytes += kSettingCost + source.path.size();
  for (const auto& [key, value] : manifest.config) bytes += kSettingCost + key.size() + value.size();
  return bytes;
}

void warn_near(const std::string& what, std::uint64_t bytes, std::uint64_t limit, std::vector<std::string>& lines) {
  if (2 * bytes > limit)
    lines.push_back(what + " takes " + size_text(bytes) + " of at most " + size_text(limit) +
                    "; no checkpoint can be saved once it needs more");
}

}  // namespace

std::vector<std::string> near_limits(const Manifest& manifest) {
  std::vector<std::string> lines;
  for (const FileEntry& file : manifest.files)
    if (file.role == FileRole::kJson) warn_near(file.path, file.bytes, max_json_bytes(file.path), lines);
  warn_near("in memory the manifest", memory_of(manifest), kMaxManifestMemory, lines);
  return lines;
}

}  // namespace titan::ckpt
