#pragma once
// The leaves of a damaged checkpoint: what each must be, and its bytes, from the checkpoint itself where they are
// whole, else from donors.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/ops/donors.h"
#include "ckpt/read/shard_reader.h"

namespace titan::ckpt {

class LostLeaves {
 public:
  /// `reader` and `donors` outlive this.
  LostLeaves(Fs& fs, const CheckpointReader& reader, Donors& donors)
      : fs_(fs),
        reader_(reader),
        manifest_(reader.manifest()),
        donors_(donors),
        shards_(fs, reader.path(), manifest_) {}

  /// Reads leaf `leaf` of `piece` into `out`. False: neither the checkpoint nor a donor has it. \error kFailed
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
  std::map<std::uint32_t, bool> tables_;  ///< whether the leaf table of a file is whole
  std::string tensor_;                    ///< whose digests are known
  Digests digests_;
};

}  // namespace titan::ckpt
