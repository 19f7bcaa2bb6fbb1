#pragma once
// Writing a checkpoint. The rank is an argument: every rank calls write_rank() for itself; rank 0 calls begin_save()
// before and commit_save() after. The caller transfers the receipts of write_rank() to rank 0. The protocol is
// FORMAT.md, "Commit protocol"; nothing is visible as a checkpoint before commit_save() renames the temporary folder.
#include <cstdint>
#include <string>

#include "ckpt/read/snapshot.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/tensor_stream.h"

namespace titan::ckpt {

class Fs;

/// Bytes that must be free on the disk to save `snapshot`: an estimate * 1.05.
std::uint64_t space_for_save(const Snapshot& snapshot);
/// Checks that a checkpoint of `snapshot` fits on the disk. \error kFailed, which says what the checkpoint needs and
/// what is free; the hint says how to free space
Status check_space(Fs& fs, const std::string& checkpoint_dir, const Snapshot& snapshot);

/// Creates `<checkpoint_dir>/step-%08d.tmp-<save_id>` with the component folders, after check_space(). `checkpoint_dir`
/// must exist. Returns the path of the temporary folder. If this process dies, the next start of the run removes the
/// folder, provided that is_save_id(save_id). \error kInvalid (the snapshot, or a `save_id` that is not 1 to 64
/// letters, digits, - and _), kUnsupported (tensor parallelism), kFailed (disk full, I/O, no `checkpoint_dir`)
Result<std::string> begin_save(Fs& fs, const std::string& checkpoint_dir, const Snapshot& snapshot,
                               const std::string& save_id);

/// Writes the shard files of `rank` (its leaves of parameters and slots, read from `source` one at a time), makes them
/// durable and syncs the folders in which it created files. A rank that owns no leaf writes no shard. Rank 0 also
/// writes the derived member model/model.h5. `threads` threads hash, encode and write; `source` is called only from the
/// calling thread.
Result<RankReceipt> write_rank(Fs& fs, const std::string& tmp_dir, const Snapshot& snapshot, std::uint32_t rank,
                               TensorSource& source, unsigned threads = 1);

/// Removes the temporary folder of a failed save. Errors are ignored: the next start removes leftovers.
void abandon_save(Fs& fs, const std::string& tmp_dir);

}  // namespace titan::ckpt
