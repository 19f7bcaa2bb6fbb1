#pragma once
// A simulated job of up to 10,000 ranks, in one process on the in-memory file system: ownership, receipts without
// tensor bytes, messages between ranks. Plan, commit, start and retention run the real code of rank 0.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "ckpt/read/snapshot.h"
#include "ckpt/save/receipt.h"
#include "libtrain/engine/parallel/communicator.h"

namespace titan::bench {

struct Scale {
  const char* model;  ///< "8B", "70B", "405B": Llama 3
  std::uint32_t pp, dp;
  std::string name() const { return std::string(model) + ", " + std::to_string(pp) + " x " + std::to_string(dp); }
};
/// The layouts that the bench measures, smallest first.
std::vector<Scale> scales();

/// A whole model with its stages assigned, at `step`.
ckpt::Snapshot make_snapshot(const Scale& scale, std::uint64_t step);

/// Creates the folder of steps if missing, and the temporary folder of a save in it.
ckpt::Result<std::string> play_begin(ckpt::Fs& fs, const std::string& checkpoint_dir, const ckpt::Snapshot& snapshot);

/// The result of write_rank() for `rank`, with sparse files and made-up digests.
ckpt::Result<ckpt::RankReceipt> play_write(ckpt::Fs& fs, const std::string& tmp_dir, const ckpt::Snapshot& snapshot,
                                           std::uint32_t rank);

/// Plays all ranks through begin, write and commit. Returns the step's folder.
ckpt::Result<std::string> play_save(ckpt::Fs& fs, const std::string& checkpoint_dir, const ckpt::Snapshot& snapshot);

/// What one rank sent and received.
struct Traffic {
  std::uint64_t messages_in = 0, bytes_in = 0, messages_out = 0, bytes_out = 0, largest = 0;
};

/// Ranks that communicate in one direction only: each runs to its end before the next, senders first.
class Post {
 public:
  explicit Post(int size) : traffic_(static_cast<std::size_t>(size)) {}
  int size() const { return static_cast<int>(traffic_.size()); }
  std::unique_ptr<train::Control> rank(int rank);
  const Traffic& traffic(int rank) const { return traffic_[static_cast<std::size_t>(rank)]; }
  bool all_delivered() const { return mail_.empty(); }

 private:
  friend class PostRank;
  std::vector<Traffic> traffic_;
  std::map<std::tuple<int, int, std::uint64_t>, std::deque<std::string>> mail_;
};

/// Gathers bytes_of(rank) of every rank of `post` on rank 0.
void play_gather(Post& post, const std::function<std::string(int)>& bytes_of,
                 const std::function<void(int, std::string_view)>& take);

}  // namespace titan::bench
