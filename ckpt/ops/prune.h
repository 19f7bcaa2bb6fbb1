#pragma once
// `prune`: deletes steps of a run that no rule keeps, and what dead runs left behind. Says before what goes and what
// stays, and why.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "ckpt/run/run_folder.h"

namespace titan::ckpt {

/// What stays, apart from what always does. Without any rule every step stays.
struct PruneRules {
  std::uint64_t keep_last = 0;      ///< the newest N valid full steps; 0: no such rule
  std::uint64_t keep_every = 0;     ///< steps that N divides; 0: no such rule
  std::vector<std::uint64_t> keep;  ///< these
  std::uint64_t thin =
      0;  ///< of those that stay, older ones than the newest N full ones keep their model alone; 0: none
  /// Beside `thin`, `keep` says what stays whole, and deletes nothing by itself.
  bool deletes() const { return keep_last > 0 || keep_every > 0 || (!keep.empty() && thin == 0); }
  bool empty() const { return !deletes() && thin == 0; }
};

struct PruneVerdict {
  bool goes = false;
  std::string why;     ///< why it stays (a step goes because no rule keeps it)
  bool thins = false;  ///< it stays, and loses all but its model
  bool operator==(const PruneVerdict&) const = default;
};

/// Decides about each step of `scan`, in its order. Always stay: steps that are invalid or not full (they are only
/// listed), pinned ones, step 0, the newest valid full one, and all of them while retention_must_wait(). None of these,
/// nor a link, nor one that `keep` names, is thinned. Pure.
std::vector<PruneVerdict> plan_prune(const RunScan& scan, const PruneRules& rules);

struct PrunedStep {
  std::uint64_t step = 0;
  std::string path;
  bool valid = false;
  bool goes = false;
  bool deleted = false;     ///< false in a dry run, and where deleting failed
  std::string why;          ///< why it stays
  std::uint64_t bytes = 0;  ///< of all its files
  std::uint64_t loses = 0;  ///< of those that go
  bool thins = false;       ///< it loses all but its model
  bool thinned = false;     ///< false in a dry run, and where that failed
};

/// A damaged step that a save moved aside.
struct PrunedDamage {
  std::string name;                    ///< .damaged-step-N-<id>
  bool goes = false, deleted = false;  ///< as PrunedStep's
  std::string why;                     ///< why it stays
  std::uint64_t bytes = 0;
};

struct PruneReport {
  std::string folder;  ///< that holds the steps
  bool dry_run = false;
  std::vector<PrunedStep> steps;  ///< newest first
  /// Steps put back that an interrupted tool had moved aside; in a dry run, those that would be put back.
  std::vector<std::string> restored;
  std::vector<PrunedDamage> damaged;
  std::vector<std::string> leftovers;  ///< temporaries and trash of dead runs, removed unless in a dry run
  std::uint64_t bytes_gone = 0;        ///< of all files of the steps that go and of leftovers
  std::uint64_t bytes_freed = 0;       ///< of those that have no name elsewhere
  /// The full step that stays and whose every byte was checked; set when any step goes.
  std::optional<std::uint64_t> verified;
  /// Not ok: nothing goes, not even leftovers, because the newest step or every full one is damaged (kCorrupt), or
  /// because the newest cannot be judged (kIncompatible, kFailed).
  Status waits;
  std::vector<std::string> failures;  ///< what could not be deleted
};

struct PruneOptions {
  std::string run;  ///< a run folder or its folder of steps
  PruneRules rules;
  bool damaged = false;  ///< also deletes damaged steps that saves moved aside, except pinned ones
  bool dry_run = false;
  std::string writer, created;                                            ///< of the manifests of thinned steps
  std::function<void(const std::string& path)> begin;                     ///< called when a step is to be verified
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< of that step, in bytes
  CancelToken cancel;
};

/// Plans, then deletes and thins the oldest first, each as delete_step() does, under the lock of the run (none in a dry
/// run). Before anything goes, every digest of the newest full step is checked. If it is damaged, the next older full
/// step is checked, too, and both stay.
/// \error kNotFound (no run; a step of `keep` that is not there), kLocked, kFailed, kInterrupted, kTerminated (between
/// two steps)
Result<PruneReport> prune_run(Fs& fs, const PruneOptions& options);

}  // namespace titan::ckpt
