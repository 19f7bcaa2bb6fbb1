#pragma once
// The end of a save: from receipts to a published step. The order of syncs and renames is FORMAT.md, "Commit protocol":
// `writer` does step 2, `sync_and_publish` steps 3 to 5.
#include <string>
#include <vector>

#include "ckpt/io/receipt.h"
#include "ckpt/io/snapshot.h"
#include "ckpt/io/sync_and_publish.h"

namespace titan::ckpt {

/// Checks that receipts cover every leaf exactly once, writes the JSON components and the manifest, and publishes by a
/// no-replace rename and a sync of the parent. A damaged step of the same number is moved to `.damaged-step-N-<id>`
/// first, with its `.keep`.
/// \error kFailed when a valid but different checkpoint of that step exists, when a leaf is missing or appears twice
/// (named), on I/O errors. If only the last sync of `checkpoint_dir` fails, the complete step may be visible already.
Result<Published> commit_save(Fs& fs, const std::string& checkpoint_dir, const std::string& tmp_dir,
                              const Snapshot& snapshot, const std::vector<RankReceipt>& receipts,
                              const CommitOptions& options = {});

}  // namespace titan::ckpt
