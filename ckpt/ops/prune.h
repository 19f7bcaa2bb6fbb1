#pragma once
// `prune`: deletes steps of a run that no rule keeps, and leftovers of dead runs. Its report says what was deleted,
// what stays, and why.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/run/run_folder.h"

namespace titan::ckpt {

class Fs;

/// Which steps stay, in addition to those that plan_prune() always keeps. Without any rule every step stays.
struct PruneRules {
  std::uint64_t keep_last = 0;      ///< the newest N valid full steps stay; 0: no such rule
  std::uint64_t keep_every = 0;     ///< steps that are multiples of N stay; 0: no such rule
  std::vector<std::uint64_t> keep;  ///< these steps stay
  std::uint64_t thin = 0;  ///< remaining steps older than the newest N full ones keep only their model; 0: no such rule
  /// Whether the rules delete steps. Together with `thin`, `keep` is not such a rule: it only protects its steps.
  bool deletes() const { return keep_last > 0 || keep_every > 0 || (!keep.empty() && thin == 0); }
  bool empty() const { return !deletes() && thin == 0; }
};

/// What happens to one step.
struct PruneVerdict {
  bool goes = false;   ///< it is deleted
  std::string why;     ///< why the step stays; empty for a step that is deleted
  bool thins = false;  ///< it stays, but everything except its model is removed
  bool operator==(const PruneVerdict&) const = default;
};

/// Decides about each step of `scan`, in the order of `scan`. These always stay: steps that are invalid or not full
/// (they are only listed), pinned steps, step 0, the newest valid full step, and every step while
/// retention_must_wait(). None of these is thinned, and neither are links and steps in `keep`. Pure.
std::vector<PruneVerdict> plan_prune(const RunScan& scan, const PruneRules& rules);

/// One step of the run, and what was done to it.
struct PrunedStep {
  std::uint64_t step = 0;
  std::string path;
  bool valid = false;
  bool goes = false;                ///< it is to be deleted
  bool deleted = false;             ///< it was deleted; false in a dry run, and if deleting failed
  std::string why;                  ///< why it stays
  std::uint64_t bytes = 0;          ///< size of all its files; 0 for a link
  std::uint64_t loses = 0;          ///< size of the files that are removed by deleting or thinning
  bool thins = false;               ///< it loses everything but its model
  bool thinned = false;             ///< it was thinned; false in a dry run, and if thinning failed
  std::vector<std::string> stay{};  ///< files of users in a step to delete, relative to it: they are kept
  std::string kept{};               ///< the folder to which these files were moved
};

/// A damaged step that a save moved aside.
struct PrunedDamage {
  std::string name;                    ///< .damaged-step-N-<id>
  bool goes = false, deleted = false;  ///< as in PrunedStep
  std::string why;                     ///< why it stays
  std::uint64_t bytes = 0;
  std::vector<std::string> stay{};  ///< as in PrunedStep
  std::string kept{};
};

struct PruneReport {
  std::string folder;  ///< the folder that holds the steps
  bool dry_run = false;
  std::vector<PrunedStep> steps;  ///< newest first
  /// Steps that an interrupted tool had moved aside and that were put back (in a dry run: that would be put back).
  std::vector<std::string> restored;
  std::vector<PrunedDamage> damaged;
  std::vector<std::string> leftovers;  ///< names that dead runs and tools left; removed unless in a dry run
  std::uint64_t bytes_gone = 0;        ///< bytes of all removed files: of deleted, thinned and damaged steps, and
                                       ///< leftovers
  std::uint64_t bytes_freed = 0;       ///< size of the removed files that have no other name
  /// The full step that stays and of which every byte was checked; set if a step, also a damaged one, is to be deleted
  /// or thinned.
  std::optional<std::uint64_t> verified;
  /// Not ok: nothing is deleted, also no leftovers, because the newest step or every full step is damaged (kCorrupt),
  /// or because the newest step cannot be checked (kIncompatible, kFailed, kMediaError).
  Status blocked;
  std::vector<std::string> failures;  ///< what could not be deleted
};

struct PruneOptions {
  std::string run;  ///< a run folder or its folder of steps
  PruneRules rules;
  bool damaged = false;  ///< also deletes damaged steps that saves moved aside, except pinned ones
  bool dry_run = false;
  std::string writer, created;                         ///< for the manifests of thinned steps
  std::function<void(const std::string& path)> begin;  ///< called with a step's path before its verification
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< of the verified step, in bytes
  CancelToken cancel;
};

/// Plans, then deletes (as delete_step() does) and thins, oldest first, under the lock of the run (no lock in a dry
/// run). Before a step is deleted or thinned, every digest of the newest full step is checked. If that step is damaged,
/// it stays, and the next older full step is checked, until one is found undamaged; that one stays, too. If the newest
/// step of all is damaged, the rules delete nothing (PruneReport::blocked).
/// \error kNotFound (no run; a step of `keep` that does not exist), kLocked, kFailed, kMediaError, kIncompatible (the
/// verified step was replaced meanwhile), kInterrupted, kTerminated
Result<PruneReport> prune_run(Fs& fs, const PruneOptions& options);

}  // namespace titan::ckpt
