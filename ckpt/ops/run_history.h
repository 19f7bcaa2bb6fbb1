#pragma once
// `log` and `blame`: the starts of a run as its checkpoints record them, and which start set a key.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"
#include "ckpt/model/settings.h"
#include "ckpt/model/train_state.h"

namespace titan::ckpt {

class Fs;

/// A key that a start changed. `before` or `after` is empty if the key was not set.
struct KeyChange {
  std::string key;
  std::optional<std::string> before, after;
  bool allowed = false;  ///< the key shapes the loss curve, and --allow or a policy allowed the change
  bool operator==(const KeyChange&) const = default;
};

/// One attempt, with what is known of its steps and settings.
struct HistoryEntry {
  Attempt attempt;
  std::vector<std::uint64_t> saved;  ///< the attempt's steps that still exist, ascending
  /// The configuration in the oldest of the steps `saved`; empty if there are none.
  Settings config;
  /// The allowed changes, then settings that differ from attempt `against`. Without `config`, only the allowed changes.
  std::vector<KeyChange> changes;
  std::uint32_t against = 0;       ///< the last earlier attempt whose configuration is known; 0: none
  std::vector<std::string> tools;  ///< for steps that a tool made from another checkpoint: one line per step
};

struct RunHistory {
  std::string folder;                  ///< the folder that holds the steps
  std::string newest;                  ///< path of the step whose history this is
  std::vector<std::string> skipped;    ///< newer steps that were not read, and why; newest first
  std::string origin;                  ///< id of the checkpoint from which the run started; empty: none
  std::string gone;                    ///< attempts_gone(): which attempts a long history dropped
  std::vector<HistoryEntry> attempts;  ///< oldest first
};

/// The history of a run, from its newest train state and the manifests of its valid steps in ascending order. Does not
/// set `folder`, `newest` and `skipped`. Pure.
RunHistory history_of(const TrainState& newest, const std::vector<const Manifest*>& steps);
/// Reads the history in the newest valid step that has one, and the configurations of all valid steps. Newer steps are
/// named in `skipped`.
/// \error kNotFound (no run, or no valid step with a history), and the errors of reading the folder and that step
Result<RunHistory> read_history(Fs& fs, const std::string& run);

/// One start that set a key.
struct KeyOrigin {
  std::size_t entry = 0;    ///< index in RunHistory::attempts
  std::uint32_t since = 0;  ///< first attempt that may have set the key. If it is not `entry`, the attempts from it to
                            ///< the one before `entry` have no known configuration
  KeyChange change;
};

/// The starts that set `key`, newest first; the last one is the first start for which the key is known.
/// \error kInvalid: no configuration of the run has the key
Result<std::vector<KeyOrigin>> blame_key(const RunHistory& history, const std::string& key);

}  // namespace titan::ckpt
