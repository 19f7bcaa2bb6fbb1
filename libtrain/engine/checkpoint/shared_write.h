#pragma once
// Writes a rank's leaves into files that several ranks share (ckpt/save/shared_writer.h), with the communication
// between the ranks that this needs.
#include <string>

#include "ckpt/read/snapshot.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/tensor_stream.h"
#include "libtrain/engine/parallel/communicator.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

/// Writes what this rank owns. Collective. Returns the receipt of the files that this rank creates, including what
/// other ranks wrote into them; empty if it creates none. \error until every rank has written: the first failure of any
/// rank, on all ranks; after that only this rank's own
ckpt::Result<ckpt::RankReceipt> write_shared(Control& io, ckpt::Fs& fs, const std::string& tmp_dir,
                                             const ckpt::Snapshot& snapshot, ckpt::TensorSource& source,
                                             unsigned threads);

}  // namespace titan::train
