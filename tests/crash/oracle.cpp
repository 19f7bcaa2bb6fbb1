#include "tests/crash/oracle.h"

#include <algorithm>

#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"

namespace titan::crash {
namespace {

using ckpt::Status;

std::string words(const Status& status) {
  std::string text = status.to_string();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

class Judge {
 public:
  Judge(const Scenario& scenario, const Disk& before, const Disk& after, const Promises& promises, CrashFs& fs)
      : scenario_(scenario), before_(before), after_(after), promises_(promises), fs_(fs) {}

  using Check = std::string (Judge::*)();
  std::string run(std::initializer_list<Check> checks) {
    for (const Check check : checks)
      if (std::string problem = (this->*check)(); !problem.empty()) return problem;
    return "";
  }

  std::string sources() {
    for (const std::string& path : scenario_.sources) {
      const Inode there = fs_.disk().find(path);
      if (there == kNoInode || fs_.disk().hash(there) != before_.hash(before_.find(path)))
        return "the source " + path + " has changed";
    }
    return "";
  }

  // A pinned step may have been moved aside, as a whole.
  std::string pins() {
    for (const std::uint64_t step : scenario_.pinned) {
      const std::uint64_t content = before_.hash(before_.find(step_path(step)));
      const Inode folder = fs_.disk().find(kSteps);
      const Names none, &names = folder == kNoInode ? none : fs_.disk().names(folder);
      if (std::none_of(names.begin(), names.end(),
                       [&](const auto& entry) { return fs_.disk().hash(entry.second) == content; }))
        return "the pinned step " + std::to_string(step) + " is gone";
    }
    return "";
  }

  // What has a step's name is that step, whole, but for steps that were damaged before.
  std::string steps() {
    const Inode folder = fs_.disk().find(kSteps);
    if (folder == kNoInode) return "";
    for (const auto& [name, inode] : fs_.disk().names(folder)) {
      const auto step = ckpt::parse_step_name(name);
      if (!step) continue;
      const Verdict verdict = look_at(fs_, ckpt::join_path(kSteps, name));
      if (verdict.whole && verdict.id == id_of(*step)) continue;
      if (verdict.whole && scenario_.thinned.count(*step) != 0 && verdict.id == thin_id_of(*step)) continue;
      if (scenario_.damaged.count(*step) != 0 && fs_.disk().hash(inode) == before_.hash(before_.find(step_path(*step))))
        continue;
      return name + " is not whole: " + (verdict.whole ? "it has the id " + verdict.id.hex() : verdict.problem);
    }
    return "";
  }

  // Files of users outlive the step that they lay in, wherever its deletion has come to.
  std::string files() {
    for (const std::string& path : scenario_.files) {
      const std::string step = path.substr(0, path.find('/')), file = path.substr(path.find('/') + 1);
      const std::uint64_t content = before_.hash(before_.find(ckpt::join_path(kSteps, path)));
      const Names& names = fs_.disk().names(fs_.disk().find(kSteps));
      if (std::none_of(names.begin(), names.end(), [&](const auto& entry) {
            const std::string& name = entry.first;
            if (name != step && !name.starts_with(".trash-" + step + "-") && !name.starts_with(step + ".files-"))
              return false;
            const Inode there = fs_.disk().find(ckpt::join_path(kSteps, ckpt::join_path(name, file)));
            return there != kNoInode && fs_.disk().hash(there) == content;
          }))
        return "the user's file " + path + " is gone";
    }
    return "";
  }

  bool dst_is_whole(const std::string& path) {
    if (scenario_.dst_is_ours) return look_at(fs_, path).whole;
    const Inode there = fs_.disk().find(path);
    return there != kNoInode && fs_.disk().hash(there) == after_.hash(after_.find(scenario_.dst));
  }

  std::string destination() {
    if (scenario_.dst.empty()) return "";
    const std::string temporary = scenario_.dst + ".tmp-rewrite";
    const bool there = fs_.disk().find(scenario_.dst) != kNoInode;
    if (there && !dst_is_whole(scenario_.dst)) return scenario_.dst + " is there and not whole";
    if (promises_.dst && !there && !dst_is_whole(temporary + "/old")) return scenario_.dst + " is gone";
    if (const Status again = scenario_.tool(fs_); !again.ok()) return "the tool again: " + words(again);
    if (!dst_is_whole(scenario_.dst)) return scenario_.dst + " is not whole after the tool ran again";
    return fs_.disk().find(temporary) == kNoInode ? "" : temporary + " is left after the tool ran again";
  }

  std::string resume() {
    auto run = start_run(fs_);
    if (!run.ok()) return "a run does not start: " + words(run.status());
    if (run->step < promises_.newest) {
      const std::string start = run->fresh ? "a fresh start" : "a resume from step " + std::to_string(run->step);
      return start + ", though step " + std::to_string(promises_.newest) + " was saved";
    }
    if (!run->fresh && run->id != id_of(run->step)) return "step " + std::to_string(run->step) + " has another id";
    const std::uint64_t next = run->fresh ? 10 : run->step + 10;
    bool saved = false;
    const Status status = go_on(fs_, *run, next, {1, 1, 1}, 1, [&saved] { saved = true; });
    if (!status.ok()) return "the next save, of step " + std::to_string(next) + ": " + words(status);
    const Verdict verdict = look_at(fs_, step_path(next));
    return saved && verdict.whole ? "" : "the next save left a step that is not whole: " + verdict.problem;
  }

  std::string leftovers() {
    for (const auto& [name, inode] : fs_.disk().names(fs_.disk().find(kSteps))) {
      const bool belongs = ckpt::parse_step_name(name) || name == "latest" || name == "run.lock" || name == "near.id" ||
                           name.starts_with(".damaged-") || name.find(".files-") != std::string::npos;
      if (!belongs) return "left over after the next save: " + name;
    }
    return "";
  }

  // What was stripped elsewhere, where the actor did that.
  std::string elsewhere() {
    if (fs_.disk().find(kElsewhere) == kNoInode || !scenario_.damaged.empty()) return "";
    const Verdict verdict = look_at(fs_, kElsewhere);
    return verdict.whole ? "" : "what was stripped elsewhere is not whole: " + verdict.problem;
  }

 private:
  const Scenario& scenario_;
  const Disk &before_, &after_;
  const Promises& promises_;
  CrashFs& fs_;
};

std::uint64_t hash_at(const Disk& disk, const std::string& path) {
  const Inode inode = disk.find(path);
  return inode == kNoInode ? 1 : disk.hash(inode, false);
}

std::uint64_t join(std::uint64_t a, std::uint64_t b) { return (a ^ (b + 0x9E3779B97F4A7C15)) * 0xBF58476D1CE4E5B9; }

}  // namespace

Promises promises_at(const Scenario& scenario, const std::vector<LoggedCall>& log, std::size_t point) {
  Promises promises{scenario.proved, scenario.dst_before};
  for (std::size_t i = 0; i < point; ++i) {
    if (log[i].kind != LoggedCall::Kind::kMark) continue;
    promises.dst = promises.dst || log[i].text == kDstMark;
    for (std::uint64_t step = promises.newest + 1; step <= 100; ++step)
      if (log[i].text == saved_mark(step)) promises.newest = step;
  }
  return promises;
}

std::string Oracle::judge(const Promises& promises, const Disk& disk) {
  const auto ask = [&](std::uint64_t key, std::initializer_list<Judge::Check> checks) -> const std::string& {
    const auto known = judged_.find(key);
    if (known != judged_.end()) return known->second;
    CrashFs fs(disk, scenario_.limits);
    return judged_[key] = Judge(scenario_, before_, after_, promises, fs).run(checks);
  };
  const std::uint64_t sources = join(hash_at(disk, "/src"), hash_at(disk, "/copied"));
  const std::uint64_t elsewhere = join(hash_at(disk, kElsewhere), 3);
  if (const std::string& problem = ask(join(sources, elsewhere), {&Judge::sources, &Judge::elsewhere});
      !problem.empty())
    return problem;
  // A destination outside is made from the run's step 20 or from a source.
  const std::uint64_t outside =
      join(join(join(hash_at(disk, "/out"), hash_at(disk, step_path(20))), sources), promises.dst ? 5 : 4);
  if (const std::string& problem = ask(outside, {&Judge::destination}); !problem.empty()) return problem;
  return ask(
      join(join(join(hash_at(disk, kRun), hash_at(disk, kNear)), promises.newest), 6),
      {&Judge::pins, &Judge::files, &Judge::steps, &Judge::resume, &Judge::pins, &Judge::files, &Judge::leftovers});
}

}  // namespace titan::crash
