#pragma once
// Writing a checkpoint. Ranks are data here: every rank calls write_rank() for itself, rank 0 calls begin_save() before
// and commit_save() after; carrying receipts between processes is the caller's business. The protocol is FORMAT.md,
// "Commit protocol"; nothing is visible as a checkpoint before commit_save() has returned ok.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/io/model_files.h"
#include "ckpt/io/tensor_stream.h"
#include "ckpt/model/data_position.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/train_state.h"
#include "ckpt/plan/ownership.h"

namespace titan::ckpt {

/// Everything that a save writes, as a value at one step boundary, apart from tensor bytes (a TensorSource has those).
/// Equal on every rank, but for the files that came with the model.
struct Snapshot {
  std::vector<ParameterMeta> parameters;  ///< the whole model in model order, stages assigned
  Mesh mesh;
  std::vector<std::uint32_t> stage_cuts;
  std::uint64_t leaf_elements = kDefaultLeafElements;
  DType dtype = DType::kF32;  ///< of parameters and slots
  Codec codec = Codec::kRaw;  ///< of parameters and slots; not in the id
  bool prove = true;          ///< compressed leaves are decoded and compared before they are written
  std::vector<std::string> slots{kExpAvg, kExpAvgSq};
  std::uint64_t optimizer_step = 0;
  LrSchedule lr;
  DataPosition data;
  TrainState train;
  Settings config;
  std::string writer;   ///< program, version, git hash
  std::string created;  ///< RFC 3339 UTC
  /// Who writes which leaves, of `parameters` on `mesh`. A run that saves often works it out once; null: where it is
  /// needed.
  std::shared_ptr<const Ownership> ownership;
  /// What came with the model and is written beside it, not in the id. Rank 0's alone; null: nothing.
  std::shared_ptr<const std::vector<ModelFile>> model_files;
};

/// The snapshot's ownership, worked out where it is null.
std::shared_ptr<const Ownership> ownership_of(const Snapshot& snapshot);

/// What one rank wrote. Sent to rank 0 as bytes.
struct RankReceipt {
  std::uint32_t rank = 0;  ///< stage * dp + dp_rank
  std::vector<FileEntry> files;
  /// Per stored tensor piece in plan order: where it lies and its leaf digests.
  struct Item {
    TensorRef ref;
    Piece piece;  ///< piece.file indexes `files` of this receipt
    std::vector<Digest> leaves;
    bool operator==(const Item&) const = default;
  };
  std::vector<Item> items;
  bool operator==(const RankReceipt&) const = default;
};

std::string encode_receipt(const RankReceipt& receipt);
Result<RankReceipt> decode_receipt(std::string_view bytes);

/// Bytes that must be free for a checkpoint of `snapshot`: estimate x 1.05.
std::uint64_t space_for_save(const Snapshot& snapshot);
/// Whether a checkpoint of `snapshot` fits. \error kFailed: what it needs and what is free; the hint names what holds
/// space
Status check_space(Fs& fs, const std::string& checkpoint_dir, const Snapshot& snapshot);

/// Creates `<checkpoint_dir>/step-%08d.tmp-<save_id>` with the component folders; `checkpoint_dir` must be there.
/// Checks free space (estimate x 1.05). Returns the temporary's path. Should this process die, the next start collects
/// it where is_save_id(save_id). \error kFailed (disk full, I/O, no `checkpoint_dir`).
Result<std::string> begin_save(Fs& fs, const std::string& checkpoint_dir, const Snapshot& snapshot,
                               const std::string& save_id);

/// Writes the shard files of `rank` (its owned leaves of parameters and slots, read from `source` one leaf at a time),
/// makes them durable and syncs the folders in which it created files. A rank that owns nothing writes nothing, but
/// rank 0 always writes the derived member model/model.h5. `threads` hash, encode and write; `source` is asked from the
/// calling thread only.
Result<RankReceipt> write_rank(Fs& fs, const std::string& tmp_dir, const Snapshot& snapshot, std::uint32_t rank,
                               TensorSource& source, unsigned threads = 1);

struct Published {
  std::string path;  ///< final folder
  Digest id;
  std::uint64_t bytes = 0;
  bool already_there = false;         ///< an equal valid step existed; the new one was dropped
  std::string damaged_aside;          ///< where a damaged step of the same number was moved; empty: there was none
  std::vector<std::string> warnings;  ///< what failed after the commit and does no harm (`latest`)
};

struct CommitOptions {
  /// The step of that number that lies there was found damaged while loading, by two readers: its digests fail, though
  /// it looks whole.
  bool known_damaged = false;
  /// Asked right before each rename: anything but ok ends the save, and nothing is published.
  std::function<Status()> still_ours;
};

/// Checks that receipts cover every leaf exactly once, writes the JSON components and the manifest, and publishes by a
/// no-replace rename and a sync of the parent. A damaged step of the same number is moved to `.damaged-step-N-<id>`
/// first, with its `.keep`.
/// \error kFailed when a valid but different checkpoint of that step exists, when a leaf is missing or there twice
/// (named),
/// on I/O errors. When only the last sync of `checkpoint_dir` fails, the complete step may be visible all the same.
Result<Published> commit_save(Fs& fs, const std::string& checkpoint_dir, const std::string& tmp_dir,
                              const Snapshot& snapshot, const std::vector<RankReceipt>& receipts,
                              const CommitOptions& options = {});

/// Removes a temporary after a failed save; errors are ignored (a leftover is collectable).
void abandon_save(Fs& fs, const std::string& tmp_dir);

}  // namespace titan::ckpt
