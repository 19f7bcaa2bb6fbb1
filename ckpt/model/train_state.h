#pragma once
// The state of a run as a checkpoint stores it (plain values). \source FORMAT.md, "train_state.json"
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/model/settings.h"

namespace titan::ckpt {

/// One attempt: one launch of the run, until its processes end.
struct Attempt {
  std::uint32_t number = 1;
  std::string started;           ///< RFC 3339 UTC
  std::uint64_t first_step = 1;  ///< first step trained by this attempt
  std::uint64_t last_step = 0;   ///< last step trained by this attempt so far
  std::uint32_t dp = 1, pp = 1;
  std::string schedule;              ///< pipeline schedule
  std::string version;               ///< program version and git hash
  std::string environment;           ///< libraries, BLAS, ISA, device, threads: one line
  std::string policy;                ///< LR policy applied at this start, empty if none was
  std::vector<std::string> changed;  ///< keys that differed and were allowed, "key: old -> new"
  std::vector<std::string> notes;    ///< for example changed libraries, or skipped non-finite steps
  bool operator==(const Attempt&) const = default;
};

/// The content of train_state.json.
struct TrainState {
  std::uint64_t step = 0;
  std::uint64_t tokens = 0;  ///< tokens trained on so far
  std::uint64_t seed = 0;    ///< run seed
  std::string origin;        ///< id of the checkpoint that this run was started from; empty if none
  double wall_time_s = 0;    ///< training time over all attempts
  std::vector<Attempt> attempts;
  Settings accepted;     ///< the settings that shape the loss curve, as last accepted; drift is measured against them
  Settings environment;  ///< further settings on which the bits depend: libraries, BLAS, ISA, device
  bool operator==(const TrainState&) const = default;
};

}  // namespace titan::ckpt
