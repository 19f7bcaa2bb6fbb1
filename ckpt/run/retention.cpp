#include "ckpt/run/retention.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <system_error>

#include "ckpt/base/path.h"
#include "ckpt/base/random_id.h"
#include "ckpt/format/member_names.h"
#include "ckpt/read/step_proof.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_folder.h"

namespace titan::ckpt {
namespace {

// Whether this process read or wrote the step, and did not only check its manifest and sizes.
bool trusted(Verdict verdict) { return verdict == Verdict::kProved || verdict == Verdict::kSaved; }

bool counts(Verdict verdict) { return trusted(verdict) || verdict == Verdict::kWhole; }

std::vector<RetainedStep>::const_iterator newest_trusted(const std::vector<RetainedStep>& steps) {
  return std::find_if(steps.begin(), steps.end(), [](const RetainedStep& step) { return trusted(step.verdict); });
}

// The same check as at a start. Reading every byte of every old step would take too long.
Verdict verdict_on(const Result<Manifest>& manifest, std::uint64_t step) {
  if (!manifest.ok()) {
    const Code code = manifest.status().code;
    return code == Code::kCorrupt || code == Code::kNotFound ? Verdict::kDamaged : Verdict::kUnknown;
  }
  if (manifest->step != step) return Verdict::kDamaged;
  return missing_components(*manifest).empty() ? Verdict::kWhole : Verdict::kPartial;
}

// The facts about a file that change when it is replaced; nullopt if there is no file.
std::optional<FileInfo> file_at(Fs& fs, const std::string& path) {
  const Result<FileInfo> info = fs.stat(path);
  if (!info.ok()) return std::nullopt;
  FileInfo file;
  file.type = info->type;
  file.size = info->size;
  file.mtime_ns = info->mtime_ns;
  file.device = info->device;
  file.inode = info->inode;
  return file;
}

// The `count` steps with the lowest loss; of equal losses the newer step.
std::set<std::uint64_t> best_of(const std::vector<RetainedStep>& steps, std::uint64_t count) {
  std::vector<std::pair<double, std::uint64_t>> judged;
  for (const RetainedStep& step : steps)
    if (counts(step.verdict) && step.loss) judged.emplace_back(*step.loss, step.step);
  std::stable_sort(judged.begin(), judged.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::set<std::uint64_t> best;
  for (std::size_t i = 0; i < std::min<std::uint64_t>(count, judged.size()); ++i) best.insert(judged[i].second);
  return best;
}

}  // namespace

std::vector<std::uint64_t> select_expired(const std::vector<RetainedStep>& steps, const RetentionRules& rules) {
  std::vector<std::uint64_t> expired;
  const auto stays = newest_trusted(steps);
  if (rules.keep_latest == 0 || stays == steps.end()) return expired;
  const std::set<std::uint64_t> best = best_of(steps, rules.keep_best);
  std::uint64_t seen = 0;
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    if (!counts(step->verdict)) continue;
    ++seen;
    const bool milestone = rules.keep_every > 0 && step->step % rules.keep_every == 0;
    if (seen > rules.keep_latest && step != stays && !step->pinned && step->step != 0 && !milestone &&
        !best.contains(step->step))
      expired.push_back(step->step);
  }
  std::reverse(expired.begin(), expired.end());
  return expired;
}

// A saved step of which only some leaves were read back may be damaged. If there are two such steps, the other one is
// left.
std::optional<std::uint64_t> step_to_prove(const std::vector<RetainedStep>& steps,
                                           const std::vector<std::uint64_t>& expired) {
  if (expired.empty()) return std::nullopt;
  std::vector<std::uint64_t> saved;
  for (const RetainedStep& step : steps) {
    if (!trusted(step.verdict) || std::count(expired.begin(), expired.end(), step.step) > 0) continue;
    if (step.verdict == Verdict::kProved) return std::nullopt;
    saved.push_back(step.step);
  }
  return saved.size() == 1 ? std::optional(saved.front()) : std::nullopt;
}

Retention::Retention(Fs& fs, RetentionOptions options) : fs_(fs), options_(std::move(options)) {}

Retention::~Retention() {
  {
    const MutexLock guard(mutex_);
    stop_.request(StopReason::kTerminate);
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Retention::judge(std::uint64_t step, Verdict verdict, std::optional<Digest> id) {
  const MutexLock guard(mutex_);
  known_[step] = {verdict, id, std::nullopt};
}

void Retention::validated(std::uint64_t step, double loss) {
  if (!std::isfinite(loss)) return;
  const MutexLock guard(mutex_);
  losses_[step] = loss;
}

std::optional<double> Retention::loss_of(std::uint64_t step) {
  const MutexLock guard(mutex_);
  const auto known = losses_.find(step);
  return known == losses_.end() ? std::nullopt : std::optional(known->second);
}

void Retention::saved(std::uint64_t step, const Digest& id, bool read_whole) {
  judge(step, read_whole ? Verdict::kProved : Verdict::kSaved, id);
  if (options_.rules.keep_latest == 0) return;
  {
    const MutexLock guard(mutex_);
    asked_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    // The system has no thread now. The next save tries again; until then the run keeps surplus steps.
    const MutexLock guard(mutex_);
    asked_ = false;
    options_.problem(std::string("no thread for deleting old steps: ") + error.what());
  }
}

bool Retention::busy() {
  const MutexLock guard(mutex_);
  return asked_ || busy_;
}

void Retention::release() {
  const MutexLock guard(mutex_);
  if (!left_for_use_) return;
  left_for_use_ = false;
  asked_ = true;
  wake_.notify_all();
}

bool Retention::finish(const std::function<bool()>& gives_up) {
  MutexLock guard(mutex_);
  while (asked_ || busy_) {
    if (gives_up && gives_up()) return false;
    idle_.wait(guard);
  }
  return true;
}

void Retention::work() {
  MutexLock guard(mutex_);
  while (true) {
    while (!asked_ && !stopping()) wake_.wait(guard);
    if (stopping()) break;
    asked_ = false;
    busy_ = true;
    guard.unlock();
    pass();
    guard.lock();
    busy_ = false;
    idle_.notify_all();
  }
  asked_ = false;
  idle_.notify_all();
}

bool Retention::stopping() const { return stop_.reason() != StopReason::kNone; }

std::string Retention::path_of(std::uint64_t step) const { return join_path(options_.folder, step_name(step)); }

Retention::Known Retention::known(std::uint64_t step) {
  const MutexLock guard(mutex_);
  const auto found = known_.find(step);
  return found == known_.end() ? Known{} : found->second;
}

// Stores `seen`, unless another result about the step was stored meanwhile.
Verdict Retention::learn(std::uint64_t step, const Known& before, Known seen) {
  const MutexLock guard(mutex_);
  Known& now = known_[step];
  if (now == before) now = std::move(seen);
  return now.verdict;
}

// The verdict on a step. If its manifest is still the file that was checked, the old verdict holds. Otherwise the step
// is checked again: another id means another checkpoint; the same id means a copy that was not verified.
Verdict Retention::verdict_of(std::uint64_t step) {
  const Known before = known(step);
  if (before.verdict == Verdict::kDamaged) return before.verdict;
  const std::string path = path_of(step);
  const std::optional<FileInfo> file = file_at(fs_, join_path(path, kManifestFile));
  if (before.manifest && before.manifest == file) return before.verdict;
  // If this process wrote or read the step, only its id is checked.
  const bool own = !before.manifest && trusted(before.verdict);
  const Result<Manifest> manifest = own ? read_manifest(fs_, path) : look_at_step(fs_, path);
  Known seen{verdict_on(manifest, step), before.id, file};
  if (seen.verdict == Verdict::kUnknown) return seen.verdict;
  if (!manifest.ok() && before.verdict != Verdict::kUnknown)
    options_.problem(step_name(step) + " is damaged now: " + one_line(manifest.status()));
  if (manifest.ok() && before.id) {
    if (const Status same = check_id(path, manifest->id, *before.id); !same.ok()) {
      options_.problem(one_line(same) + "; nobody deletes it");
      seen.verdict = Verdict::kDamaged;
    } else if (!before.manifest && seen.verdict != Verdict::kDamaged) {
      seen.verdict = before.verdict;
    }
  } else if (manifest.ok()) {
    seen.id = manifest->id;
    if (before.verdict != Verdict::kUnknown && seen.verdict != Verdict::kDamaged) seen.verdict = before.verdict;
  }
  return learn(step, before, std::move(seen));
}

// Whether the manifest of the step is still the file that was checked last.
bool Retention::unchanged(std::uint64_t step) {
  const std::optional<FileInfo> file = known(step).manifest;
  return file && file == file_at(fs_, join_path(path_of(step), kManifestFile));
}

// Reads every byte of a saved step. Returns false if it could not be found out whether the step is damaged.
bool Retention::prove(std::uint64_t step) {
  const Known before = known(step);
  const Result<Digest> id = prove_step(fs_, path_of(step), CancelToken(stop_), 1);
  Status same = id.status();
  if (same.ok() && before.id) same = check_id(path_of(step), *id, *before.id);
  const bool judged = same.ok() || same.code == Code::kCorrupt || same.code == Code::kNotFound ||
                      (id.ok() && same.code == Code::kIncompatible);
  if (!same.ok() && !stopping())
    options_.problem(step_name(step) + " was saved and cannot be read whole; older steps stay: " + one_line(same));
  if (judged) learn(step, before, {same.ok() ? Verdict::kProved : Verdict::kDamaged, before.id, before.manifest});
  return judged;
}

// Returns the steps, newest first. Each step is checked once; later passes look only at its name, its pin, and whether
// its manifest is the same file.
std::vector<RetainedStep> Retention::look() {
  std::vector<RetainedStep> steps;
  const Result<std::vector<DirEntry>> entries = fs_.list(options_.folder);
  if (!entries.ok()) {
    options_.problem(one_line(entries.status()));
    return steps;
  }
  Status synced;
  // Trash is a step that an earlier deletion renamed. The rename must be durable before the files are removed.
  if (std::any_of(entries->begin(), entries->end(), is_trash)) synced = fs_.sync_dir(options_.folder);
  if (!synced.ok()) options_.problem("cannot remove what an earlier deletion left: " + one_line(synced));
  for (const DirEntry& entry : *entries) {
    const std::string path = join_path(options_.folder, entry.name);
    if (is_trash(entry) && synced.ok()) {
      const Status removed = remove_trash(fs_, options_.folder, entry.name, CancelToken(stop_));
      if (!removed.ok() && !stopping()) options_.problem("cannot remove " + path + ": " + one_line(removed));
    }
    const auto step = step_of(entry);
    if (!step) continue;
    steps.push_back({*step, verdict_of(*step), is_pinned(fs_, path), loss_of(*step)});
  }
  std::sort(steps.begin(), steps.end(), [](const RetainedStep& a, const RetainedStep& b) { return a.step > b.step; });
  return steps;
}

void Retention::pass() {
  std::vector<RetainedStep> steps;
  std::vector<std::uint64_t> expired;
  while (true) {
    steps = look();
    expired = select_expired(steps, options_.rules);
    const std::optional<std::uint64_t> unproved = step_to_prove(steps, expired);
    if (!unproved) break;
    if (!prove(*unproved)) return;
  }
  const auto stays = newest_trusted(steps);
  for (const std::uint64_t step : expired) {
    if (stopping()) return;
    if (options_.still_ours) {
      if (const Status ours = options_.still_ours(); !ours.ok()) return options_.problem(one_line(ours));
    }
    // Deletions take long: meanwhile this step may have been pinned, or it or the newest kept step replaced. The next
    // pass then decides again.
    if (!unchanged(stays->step)) return;
    if (is_pinned(fs_, path_of(step)) || !unchanged(step)) continue;
    if (options_.in_use && options_.in_use(step)) {
      const MutexLock guard(mutex_);
      left_for_use_ = true;
      continue;
    }
    std::string kept;
    const Status status = delete_step(fs_, options_.folder, step_name(step), random_id(), CancelToken(stop_), &kept);
    if (status.ok())
      options_.deleted(step_name(step), kept);
    else if (!stopping())
      options_.problem(one_line(status));
  }
}

}  // namespace titan::ckpt
