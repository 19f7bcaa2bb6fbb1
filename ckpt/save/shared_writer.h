#pragma once
// The part of one rank in a save whose shard files several ranks of a host write. The lowest of them makes the files;
// each puts its leaves at their places and makes them durable; then the maker adds the tables. Between these steps the
// ranks must hear of each other, which is the caller's business:
//
//   all    make()      then all ranks agree that it went well
//   all    write()     then all ranks agree, and writers send what they got to their maker
//   makers complete()  with what their writers sent
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/shard_writer.h"
#include "ckpt/save/tensor_stream.h"

namespace titan::ckpt {

class SharedWriter {
 public:
  /// Keeps what it is given; `snapshot` holds raw leaves.
  SharedWriter(Fs& fs, std::string tmp_dir, const Snapshot& snapshot, std::uint32_t rank, unsigned threads);
  SharedWriter(const SharedWriter&) = delete;
  SharedWriter& operator=(const SharedWriter&) = delete;

  bool makes_files() const { return maker_ == rank_; }

  /// Creates the files at their full size; nothing to do for a rank that makes none. \error kFailed
  Status make();
  /// Writes the leaves that this rank owns, asking `source` for one after another. The receipt has pieces and digests,
  /// and no files. On a rank that makes no files its leaves are durable on return; a maker syncs in complete().
  /// \error kFailed, what `source` returns
  Result<RankReceipt> write(TensorSource& source);
  /// Ends the files of this rank, which makes them: tables, sync, folders, and what is read back. `others` are the
  /// receipts of those that wrote into them. Returns the receipt for all of them. \error kFailed
  Result<RankReceipt> complete(const std::vector<RankReceipt>& others);

 private:
  struct Place {
    std::uint32_t rank = 0;  ///< that writes it
    TensorRef ref;
  };
  /// The file of one component.
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
  std::vector<Component> components_;         ///< those with leaves of any rank of the group
  std::optional<VirtualModelBuild> derived_;  ///< rank 0's
};

}  // namespace titan::ckpt
