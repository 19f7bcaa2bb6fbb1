#pragma once
// One rank's part in a save in which several ranks of a host write into the same shard files. The lowest of these
// ranks, the maker, creates the files. Each rank writes its leaves at their offsets and makes them durable. Then the
// maker adds the tables. Between these steps the ranks must communicate:
//
//   all    make()      then all ranks agree that no make() failed
//   all    write()     then all ranks agree that no write() failed, and each sends its receipt to its maker
//   makers complete()  with the receipts that they received
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/read/snapshot.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/shard_writer.h"
#include "ckpt/save/tensor_stream.h"

namespace titan::ckpt {

class Fs;

/// The part of rank `rank` in one save.
class SharedWriter {
 public:
  /// `fs` and `snapshot` must outlive this object. `snapshot` must use Codec::kRaw.
  SharedWriter(Fs& fs, std::string tmp_dir, const Snapshot& snapshot, std::uint32_t rank, unsigned threads);
  SharedWriter(const SharedWriter&) = delete;
  SharedWriter& operator=(const SharedWriter&) = delete;

  /// Whether this rank is a maker.
  bool makes_files() const { return maker_ == rank_; }

  /// Creates the files at their full size; does nothing on a rank that is not a maker. \error kFailed
  Status make();
  /// Writes the leaves that this rank owns, read from `source` one after another. The receipt has pieces and digests
  /// but no files. On a rank that makes no files the leaves are durable on return; a maker syncs in complete().
  /// \error kFailed, the errors of `source`
  Result<RankReceipt> write(TensorSource& source);
  /// Completes the files of this maker: tables, sync, folders, read-back. `others` are the receipts of the other ranks
  /// that wrote into these files. Returns one receipt for all leaves in these files. \error kFailed
  Result<RankReceipt> complete(const std::vector<RankReceipt>& others);

 private:
  struct Place {
    std::uint32_t rank = 0;  ///< the rank that writes the piece
    TensorRef ref;
  };
  /// The shard file for one component of the group, which is the ranks with the same maker.
  struct Component {
    const char* name = "";
    std::vector<Place> places;  ///< one for each of `pieces`
    std::vector<ShardPiece> pieces;
    std::unique_ptr<ShardWriter> writer;
  };

  Component plan(const char* name, const std::vector<std::string>& slots) const;
  std::string member(const Component& component) const;
  Status write_own(Component& component, TensorSource& source, RankReceipt& receipt);
  Status take_over(const RankReceipt& other);
  Status finish(Component& component, RankReceipt& receipt);

  Fs& fs_;
  const std::string tmp_dir_;
  const Snapshot& snapshot_;
  const std::uint32_t rank_, maker_;
  const unsigned threads_;
  std::vector<Component> components_;         ///< components in which a rank of the group has leaves
  std::optional<VirtualModelBuild> derived_;  ///< only on rank 0
};

}  // namespace titan::ckpt
