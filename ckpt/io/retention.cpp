#include "ckpt/io/retention.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <system_error>

#include "ckpt/base/random_id.h"
#include "ckpt/format/layout.h"
#include "ckpt/io/run_check.h"
#include "ckpt/io/run_folder.h"

namespace titan::ckpt {
namespace {

bool counts(Verdict verdict) { return verdict == Verdict::kProved || verdict == Verdict::kWhole; }

// The same check as a start makes. Reading every byte of every old step would take too long.
Verdict look_at(Fs& fs, const std::string& path, std::uint64_t step) {
  const auto manifest = look_at_step(fs, path);
  if (!manifest.ok()) {
    const Code code = manifest.status().code;
    return code == Code::kCorrupt || code == Code::kNotFound ? Verdict::kDamaged : Verdict::kUnknown;
  }
  if (manifest->step != step) return Verdict::kDamaged;
  return missing_components(*manifest).empty() ? Verdict::kWhole : Verdict::kPartial;
}

// Of equal losses the newer step.
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
  const auto newest_proved = std::find_if(steps.begin(), steps.end(),
                                          [](const RetainedStep& step) { return step.verdict == Verdict::kProved; });
  if (rules.keep_latest == 0 || newest_proved == steps.end()) return expired;
  const std::set<std::uint64_t> best = best_of(steps, rules.keep_best);
  std::uint64_t seen = 0;
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    if (!counts(step->verdict)) continue;
    ++seen;
    const bool milestone = rules.keep_every > 0 && step->step % rules.keep_every == 0;
    if (seen > rules.keep_latest && step != newest_proved && !step->pinned && step->step != 0 && !milestone &&
        !best.contains(step->step))
      expired.push_back(step->step);
  }
  std::reverse(expired.begin(), expired.end());
  return expired;
}

Retention::Retention(Fs& fs, RetentionOptions options)
    : fs_(fs),
      removals_(fs, [this] { return stopping() ? terminated("the run ends") : ok_status(); }),
      options_(std::move(options)) {}

Retention::~Retention() {
  {
    const MutexLock guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Retention::judge(std::uint64_t step, Verdict verdict) {
  const MutexLock guard(mutex_);
  verdicts_[step] = verdict;
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

void Retention::saved(std::uint64_t step) {
  judge(step, Verdict::kProved);
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
    // The system gives no thread now. The next save tries again; until then the run keeps more steps than were asked
    // for.
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
    while (!asked_ && !stopping_) wake_.wait(guard);
    if (stopping_) break;
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

bool Retention::stopping() {
  const MutexLock guard(mutex_);
  return stopping_;
}

Verdict Retention::verdict_of(std::uint64_t step) {
  const MutexLock guard(mutex_);
  const auto known = verdicts_.find(step);
  return known == verdicts_.end() ? Verdict::kUnknown : known->second;
}

// A verdict that the run has reached meanwhile wins over a fresh look.
Verdict Retention::learn(std::uint64_t step, Verdict seen) {
  const MutexLock guard(mutex_);
  Verdict& known = verdicts_[step];
  if (known == Verdict::kUnknown) known = seen;
  return known;
}

// Returns the steps, newest first. Each step is judged once; later passes look only at its name and its pin.
std::vector<RetainedStep> Retention::look() {
  std::vector<RetainedStep> steps;
  const Result<std::vector<DirEntry>> entries = fs_.list(options_.folder);
  if (!entries.ok()) {
    options_.problem(one_line(entries.status()));
    return steps;
  }
  Status synced;
  // An earlier deletion has renamed its step. That name must be durable before the files go.
  if (std::any_of(entries->begin(), entries->end(), is_trash)) synced = fs_.sync_dir(options_.folder);
  if (!synced.ok()) options_.problem("cannot remove what an earlier deletion left: " + one_line(synced));
  for (const DirEntry& entry : *entries) {
    const std::string path = join_path(options_.folder, entry.name);
    if (is_trash(entry) && synced.ok()) {
      if (const Status removed = remove_tree(removals_, path); !removed.ok() && !stopping())
        options_.problem("cannot remove " + path + ": " + one_line(removed));
    }
    const auto step = step_of(entry);
    if (!step) continue;
    Verdict verdict = verdict_of(*step);
    if (verdict == Verdict::kUnknown) {
      verdict = learn(*step, look_at(fs_, path, *step));
    }
    steps.push_back({*step, verdict, is_pinned(fs_, path), loss_of(*step)});
  }
  std::sort(steps.begin(), steps.end(), [](const RetainedStep& a, const RetainedStep& b) { return a.step > b.step; });
  return steps;
}

void Retention::pass() {
  for (const std::uint64_t step : select_expired(look(), options_.rules)) {
    if (stopping()) return;
    if (options_.still_ours) {
      if (const Status ours = options_.still_ours(); !ours.ok()) return options_.problem(one_line(ours));
    }
    // Somebody may have pinned this step while earlier ones were deleted.
    if (is_pinned(fs_, join_path(options_.folder, step_name(step)))) continue;
    if (options_.in_use && options_.in_use(step)) {
      const MutexLock guard(mutex_);
      left_for_use_ = true;
      continue;
    }
    const Status status = delete_step(removals_, options_.folder, step_name(step), random_id());
    if (status.ok())
      options_.deleted(step_name(step));
    else if (!stopping())
      options_.problem(one_line(status));
  }
}

}  // namespace titan::ckpt
