#pragma once
// The end of a save: from the receipts of the ranks (receipt.h) to a published step. FORMAT.md, "Commit protocol", has
// the order of syncs and renames: writer.h does steps 1 and 2, this file and publish.h do steps 3 to 5.
#include <string>
#include <vector>

#include "ckpt/read/snapshot.h"
#include "ckpt/save/publish.h"
#include "ckpt/save/receipt.h"

namespace titan::ckpt {

/// Checks that the receipts cover every leaf exactly once, writes the JSON components and the manifest, reads data back
/// as `snapshot.read_back` asks, and publishes the step: a rename that never replaces, and a sync of the parent. An
/// existing folder with the step's name is moved aside first, see publish().
/// \error kFailed (a leaf is missing or appears twice: the message names it; the store returns other bytes than were
/// written; I/O errors), the errors of publish() (such as kIncompatible: a step of a newer format has this name). If
/// only the last sync of `checkpoint_dir` fails, the complete step may already be visible.
Result<Published> commit_save(Fs& fs, const std::string& checkpoint_dir, const std::string& tmp_dir,
                              const Snapshot& snapshot, const std::vector<RankReceipt>& receipts,
                              const CommitOptions& options = {});

}  // namespace titan::ckpt
