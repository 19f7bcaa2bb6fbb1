#pragma once
// The one place where a manifest is put together: files with their tensors, JSON members, sums of components, the id.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/format/manifest.h"
#include "ckpt/model/data_position.h"
#include "ckpt/model/lr.h"

namespace titan::ckpt {

/// What the id takes from the JSON components. What is absent from a checkpoint is not looked at.
struct IdState {
  LrSchedule lr;
  DataPosition data;
  std::uint64_t tokens = 0;  ///< of the train state
};

/// Begins with a manifest that has what the caller knows already: a frame, or that of the source of a tool.
class ManifestBuilder {
 public:
  explicit ManifestBuilder(Manifest& manifest) : manifest_(manifest) {}

  /// Adds a shard or a derived file; returns its index.
  std::uint32_t add_file(FileEntry file);
  /// Adds `piece`, which lies in the file with that index, to the tensor of `ref`, which is there.
  void add_piece(const TensorRef& ref, Piece piece, std::uint32_t file);
  /// Adds the JSON component `component` whose member has `text`, or puts `text` in the place of what is there.
  void put_json(const char* component, std::string_view text);
  /// Sums up the files and tensors of component "model" or "optimizer": adds its entry, or renews the one that is
  /// there.
  void sum_up(const char* component);
  /// Sets the id and what the state asks of readers, once all else is in place.
  void seal(const IdState& state);

 private:
  void put_component(ComponentEntry entry);

  Manifest& manifest_;
};

/// The entry of a JSON or derived file with these bytes.
FileEntry whole_file(std::string path, FileRole role, std::span<const std::byte> bytes);

}  // namespace titan::ckpt
