#pragma once
// Assembles a manifest: files with their tensors, JSON members, totals of components, the id.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/format/manifest.h"
#include "ckpt/model/data_position.h"
#include "ckpt/model/lr.h"

namespace titan::ckpt {

/// The parts of the JSON components that the id depends on. Parts of absent components are ignored.
struct IdState {
  LrSchedule lr;
  DataPosition data;
  std::uint64_t tokens = 0;  ///< from the train state
};

/// Completes `manifest`. The caller has set the fields that it knows: those of a new checkpoint, or, in a tool that
/// rewrites a checkpoint, a copy of the source's manifest.
class ManifestBuilder {
 public:
  explicit ManifestBuilder(Manifest& manifest) : manifest_(manifest) {}

  /// Adds a shard or a derived file; returns its index.
  std::uint32_t add_file(FileEntry file);
  /// Adds `piece`, stored in the file with index `file`, to the tensor of `ref`, which must exist.
  void add_piece(const TensorRef& ref, Piece piece, std::uint32_t file);
  /// Adds or replaces the JSON component `component`, whose file has the content `text`.
  void put_json(const char* component, std::string_view text);
  /// Adds or replaces the entry of component "model" or "optimizer", with totals over its tensors and files.
  void sum_up(const char* component);
  /// Sets the id, and the feature flags that the data position needs (excluded, mixture). Call it last.
  void seal(const IdState& state);

 private:
  void put_component(ComponentEntry entry);

  Manifest& manifest_;
};

/// The entry of a JSON or derived file with the content `bytes`.
FileEntry whole_file(std::string path, FileRole role, std::span<const std::byte> bytes);

}  // namespace titan::ckpt
