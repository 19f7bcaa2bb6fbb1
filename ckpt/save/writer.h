#pragma once
// Writing a checkpoint. Ranks are data here: every rank calls write_rank() for itself, rank 0 calls begin_save() before
// and commit_save() after; carrying receipts between processes is the caller's business. The protocol is FORMAT.md,
// "Commit protocol"; nothing is visible as a checkpoint before commit_save() has returned ok.
#include <cstdint>
#include <string>

#include "ckpt/read/snapshot.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/tensor_stream.h"

namespace titan::ckpt {

class Fs;

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

/// Removes a temporary after a failed save; errors are ignored (a leftover is collectable).
void abandon_save(Fs& fs, const std::string& tmp_dir);

}  // namespace titan::ckpt
