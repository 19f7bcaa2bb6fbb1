#pragma once
// Writes a rank's leaves into shard files that the ranks of a host share. ckpt/save/shared_writer.h writes; this file
// adds the communication between the ranks.
#include <string>

#include "ckpt/read/snapshot.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/tensor_stream.h"
#include "libtrain/engine/parallel/communicator.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

/// Writes the leaves that this rank owns to `tmp_dir` with `threads` threads. Collective. Returns a receipt: the files
/// that this rank created, and all leaves in them, including those that other ranks wrote; empty if this rank created
/// no file. \error a failure to write on any rank is returned on all ranks. A later failure (to complete a file) is
/// returned only on the rank that has it
ckpt::Result<ckpt::RankReceipt> write_shared(Control& io, ckpt::Fs& fs, const std::string& tmp_dir,
                                             const ckpt::Snapshot& snapshot, ckpt::TensorSource& source,
                                             unsigned threads);

}  // namespace titan::train
