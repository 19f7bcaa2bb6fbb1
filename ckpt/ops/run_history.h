#pragma once
// `log` and `blame`: the starts of a run as its checkpoints remember them, and which of them set a key.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/model/settings.h"
#include "ckpt/model/train_state.h"

namespace titan::ckpt {

/// A key that a start changed. A value that is not set is absent.
struct KeyChange {
  std::string key;
  std::optional<std::string> before, after;
  bool allowed = false;  ///< it shapes the curve, and --allow or a policy let it change
  bool operator==(const KeyChange&) const = default;
};

struct HistoryEntry {
  Attempt attempt;
  std::vector<std::uint64_t> saved;  ///< its steps that are there, ascending
  /// Its configuration, of its oldest step that is there; empty where none is.
  Settings config;
  /// Allowed changes, then settings that differ from those of `against`; without `config` the former alone.
  std::vector<KeyChange> changes;
  std::uint32_t against = 0;       ///< the last attempt before it whose configuration is known; 0: none is
  std::vector<std::string> tools;  ///< what made its steps of others, a line each
};

struct RunHistory {
  std::string folder;                  ///< of the steps
  std::string newest;                  ///< the step whose history this is
  std::string origin;                  ///< id of the checkpoint that the run began from; empty for none
  std::string gone;                    ///< which attempts are not kept; empty: all are
  std::vector<HistoryEntry> attempts;  ///< oldest first
};

/// The history of a run by its newest state and the manifests of its valid steps, ascending; without paths. Pure.
RunHistory history_of(const TrainState& newest, const std::vector<const Manifest*>& steps);
/// Reads the history of the newest step that has one, and the configurations of all valid steps.
/// \error kNotFound (no run, or no step with a history), those of a step that cannot be judged
Result<RunHistory> read_history(Fs& fs, const std::string& run);

/// One start that set a key.
struct KeyOrigin {
  std::size_t entry = 0;    ///< of RunHistory::attempts
  std::uint32_t since = 0;  ///< the first attempt that may have set it: of those between no configuration is known
  KeyChange change;
};

/// The starts that set `key`, newest first; the last one is where it first is known.
/// \error kInvalid: no configuration of the run has it
Result<std::vector<KeyOrigin>> blame_key(const RunHistory& history, const std::string& key);

}  // namespace titan::ckpt
