#pragma once
// Finds the leaves of a damaged checkpoint, and their digests: in the checkpoint itself if they are undamaged there,
// else in donors (donors.h).
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/ops/donors.h"
#include "ckpt/read/shard_reader.h"

namespace titan::ckpt {

/// The leaves of one damaged checkpoint.
class LostLeaves {
 public:
  /// `reader` and `donors` must outlive this object.
  LostLeaves(Fs& fs, const CheckpointReader& reader, Donors& donors)
      : fs_(fs),
        reader_(reader),
        manifest_(reader.manifest()),
        donors_(donors),
        shards_(fs, reader.path(), manifest_) {}

  /// Reads leaf `leaf` of `piece` into `out`. Returns false if neither the checkpoint nor a donor has it.
  /// \error kFailed
  Result<bool> read(const TensorRef& ref, const Piece& piece, std::uint64_t leaf, std::span<std::byte> out);

 private:
  using Digests = std::vector<std::optional<Digest>>;

  Result<bool> table_known(std::uint32_t file);
  Result<bool> own(const TensorRef& ref, const Piece& piece, std::uint64_t leaf, std::span<std::byte> out);
  Result<const Digests*> digests(const TensorRef& ref);
  Status fill_from_tables(const TensorRef& ref, Digests& known);
  Status fill_from_bytes(const TensorRef& ref, Digests& known);
  Result<bool> fill_from_donor(std::size_t donor, const TensorRef& ref, Digests& known);

  Fs& fs_;
  const CheckpointReader& reader_;
  const Manifest& manifest_;
  Donors& donors_;
  ShardReader shards_;
  std::map<std::uint32_t, bool> tables_;  ///< by file: whether its leaf table is undamaged
  std::string tensor_;                    ///< stored name of the tensor that `digests_` belong to
  Digests digests_;
};

}  // namespace titan::ckpt
