#pragma once
// The end of a save: from receipts to a published step. The order of syncs and renames is FORMAT.md, "Commit protocol":
// `writer` does step 2, `sync_and_publish` steps 3 to 5.
#include <string>
#include <vector>

#include "ckpt/read/snapshot.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/sync_and_publish.h"

namespace titan::ckpt {

/// Checks that receipts cover every leaf exactly once, writes the JSON components and the manifest, reads them back as
/// the snapshot asks, and publishes by a no-replace rename and a sync of the parent. What has the step's name already
/// goes aside first, see publish().
/// \error kFailed when a leaf is missing or appears twice (named), when the store gives back other bytes than were
/// written, on I/O errors; kIncompatible when a step of a newer format has the name. If only the last sync of
/// `checkpoint_dir` fails, the complete step may be visible already.
Result<Published> commit_save(Fs& fs, const std::string& checkpoint_dir, const std::string& tmp_dir,
                              const Snapshot& snapshot, const std::vector<RankReceipt>& receipts,
                              const CommitOptions& options = {});

}  // namespace titan::ckpt
