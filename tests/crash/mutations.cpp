#include "tests/crash/mutations.h"

#include <algorithm>

namespace titan::crash {
namespace {

using Kind = LoggedCall::Kind;

// Left out without harm, and why: in scenarios whose name begins so, calls whose text has this (behind a '=':
// is this), behind a call whose text has that.
struct Redundant {
  const char *scenario, *call, *before, *why;
};
constexpr const char* kProbe = "the probe of a store leaves nothing that anybody relies on";
constexpr const char* kAdvice = "advice: nobody relies on it";
constexpr const char* kLatestFollows =
    "the sync after `latest` is of the same folder and comes before the announcement; "
    "save-that-cannot-write-latest needs it";
constexpr const char* kTrash =
    "what stays is durable already: it is enough that a sync lies between this rename and the first removal";
constexpr const char* kTwice =
    "prune's own sync and that of the recovery, which a prune that deletes no step has alone";
constexpr const char* kMakerFollows =
    "the maker syncs the same file of the same host behind its table; this one tells the writer of its own errors";
constexpr const char* kNothingNew = "no name is new here; save-killed-before-its-sync-then-prune needs it";
constexpr const char* kSynced =
    "this source was synced by whoever wrote it; strip-of-a-copy-that-nobody-synced needs it";
constexpr const char* kShared = "save-by-4-writers-into-shared-files";
constexpr Redundant kRedundant[] = {
    {kShared, "sync file", "model/shard-00000.h5 at 4896", kMakerFollows},
    {kShared, "sync file", "optimizer/shard-00000.h5 at 6096", kMakerFollows},
    {kShared, "sync file", "model/shard-00002.h5 at 4496", kMakerFollows},
    {kShared, "sync file", "optimizer/shard-00002.h5 at 5296", kMakerFollows},
    {"", ".trash-probe-", "", kProbe},
    {"", "=sync folder /run/checkpoint", ".trash-probe-", kProbe},
    {"", "/latest", "", kAdvice},
    {"", "=sync folder /run/checkpoint", "/latest.tmp to", kAdvice},
    {"save-by-4-writers", "=sync folder /run/checkpoint", "rename /run/checkpoint/step-", kLatestFollows},
    {"save-compressed", "=sync folder /run/checkpoint", "rename /run/checkpoint/step-", kLatestFollows},
    {"first-save", "=sync folder /run/checkpoint", "rename /run/checkpoint/step-", kLatestFollows},
    {"save-and-retention", "=sync folder /run/checkpoint", "to /run/checkpoint/step-", kLatestFollows},
    {"save-over-a-pinned", "=sync folder /run/checkpoint", "to /run/checkpoint/step-", kLatestFollows},
    {"", "manifest.json.tmp to", "sync file",
     "nobody looks into a temporary: it is enough that both are durable when the folder gets its name"},
    {"prune", "to /run/checkpoint/.trash-step-", "sync folder", kTrash},
    {"save-and-retention", "to /run/checkpoint/.trash-step-", "sync folder", kTrash},
    {"rewrite-killed", "to /run/checkpoint/.trash-step-", "sync folder", kTrash},
    {"exchange-killed", "to /run/checkpoint/.trash-step-", "sync folder", kTrash},
    {"", "to /run/checkpoint/.damaged-step-", "sync folder",
     "the new step's temporary and the old one are apart: it is enough that each is synced before the new name"},
    {"rewrite-killed-with-the-old-one-aside", "/step-00000020.tmp-rewrite/new", "",
     "what the killed tool made is thrown away; the other rewrites need it"},
    {"rewrite-killed-with-the-old-one-aside", "=sync folder /run/checkpoint", "tmp-rewrite/old to",
     "the cleaning that follows syncs the same folder first"},
    {"rewrite-killed-with-the-old-one-aside", "=sync folder /run/checkpoint", "tmp-rewrite/lock",
     "what was put back was synced right before; exchange-killed-* need it"},
    {"=prune", "=sync folder /run/checkpoint", "write /run/checkpoint/run.lock", kNothingNew},
    {"prune-thin", "=sync folder /run/checkpoint", "write /run/checkpoint/run.lock", kNothingNew},
    {"prune-thin", "sync file /run/checkpoint/step-00000010/", "", kSynced},
    {"parity-in-its-place", "=sync folder /run/checkpoint/step-00000020.tmp-rewrite/new/parity", "",
     "who makes parity files syncs their names, and so does the rewrite behind it"},
    {"rewrite-killed-with-the-old-one-aside", "=sync folder /run/checkpoint", "=sync folder /run/checkpoint", kTwice},
    {"exchange-killed-before-its-sync-then-prune", "=sync folder /run/checkpoint", "tmp-rewrite/lock", kTwice},
    {"exchange-killed-before-its-sync-then-prune", "=sync folder /run/checkpoint", "=sync folder /run/checkpoint",
     kTwice},
    {"", "sync file /run/checkpoint/step-00000020/", "", kSynced},
};

bool is_sync(const LoggedCall& call) { return call.kind == Kind::kSyncFile || call.kind == Kind::kSyncDir; }

std::string place(const LoggedCall& call, const std::string& before) {
  return call.text + (before.empty() ? "" : " (after: " + before + ")");
}

// Random parts of names are of no interest.
std::string plain(std::string text) {
  for (const std::string mark : {".trash-probe-", ".trash-step-"}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const std::size_t begin = at + mark.size() + (mark == ".trash-step-" ? 9 : 0);
      const std::size_t end = text.find_first_not_of("0123456789abcdefprune", begin);
      text.replace(begin, std::min(end, text.size()) - begin, "ID");
    }
  }
  return text;
}

bool matches(const std::string& text, const std::string& part) {
  return part.starts_with("=") ? text == part.substr(1) : text.find(part) != std::string::npos;
}

std::string why_redundant(const std::string& scenario, const LoggedCall& call, const std::string& before) {
  for (const Redundant& known : kRedundant)
    if ((scenario.starts_with(known.scenario) || "=" + scenario == known.scenario) && matches(call.text, known.call) &&
        matches(before, known.before))
      return known.why;
  return "";
}

// The end, where everything has been announced, then every point from `from` on.
void search(const Scenario& scenario, const Recording& changed, std::size_t from, std::uint64_t states,
            Mutation& mutation) {
  Search search;
  search.states = states;
  search.stop_after = 1;
  search.found = [&](const Violation& violation) {
    mutation.how = "after " + violation.actor + ": " + violation.problem;
  };
  search.points.push_back(changed.log.size());
  for (std::size_t point = from; point < changed.log.size(); ++point) search.points.push_back(point);
  mutation.found = explore(scenario, changed, search).violations > 0;
}

constexpr std::uint64_t kEnoughToFind = 3000, kEnoughToBelieve = 100;

}  // namespace

std::vector<Mutation> mutate_calls(const Scenario& scenario, const Recording& recording) {
  std::vector<Mutation> all;
  const std::vector<LoggedCall>& log = recording.log;
  std::size_t last_sync = log.size();
  for (std::size_t i = 0; i < log.size(); ++i) {
    const std::string before = i == 0 ? "" : log[i - 1].text;
    if (is_sync(log[i])) {
      Recording changed = recording;
      changed.log.erase(changed.log.begin() + static_cast<std::ptrdiff_t>(i));
      Mutation mutation{scenario.name, plain("without " + place(log[i], before))};
      mutation.redundant = why_redundant(scenario.name, log[i], before);
      search(scenario, changed, i, mutation.redundant.empty() ? kEnoughToFind : kEnoughToBelieve, mutation);
      all.push_back(std::move(mutation));
      last_sync = i;
    } else if (log[i].kind == Kind::kName && log[i].rename && last_sync < i) {
      Recording changed = recording;
      const auto begin = changed.log.begin();
      std::rotate(begin + static_cast<std::ptrdiff_t>(last_sync), begin + static_cast<std::ptrdiff_t>(i),
                  begin + static_cast<std::ptrdiff_t>(i) + 1);
      Mutation mutation{scenario.name, plain(log[i].text + ", before " + log[last_sync].text)};
      mutation.redundant = why_redundant(scenario.name, log[i], log[last_sync].text);
      search(scenario, changed, last_sync + 1, mutation.redundant.empty() ? kEnoughToFind : kEnoughToBelieve, mutation);
      all.push_back(std::move(mutation));
    }
  }
  return all;
}

const std::vector<LockCase>& lock_cases() {
  static const std::vector<LockCase> all{
      {"save-by-4-writers", "busy-run", "run.lock"},
      {"save-by-4-writers", "prune", "run.lock"},
      {"save-by-4-writers", "tool", "run.lock"},
      {"save-and-retention", "busy-run", "run.lock"},
      {"rewrite-with-exchange", "busy-run", "run.lock"},
      {"rewrite-with-exchange", "prune", "run.lock"},
      {"rewrite-without-exchange", "busy-run", "run.lock"},
      {"rewrite-without-exchange", "prune", "run.lock"},
      {"prune", "busy-run", "run.lock"},
      {"reshard-to-a-new-folder", "tool", "tmp-rewrite/lock"},
      {"lr-set", "tool", "tmp-rewrite/lock"},
      {"convert-to-huggingface", "tool", "tmp-rewrite/lock"},
  };
  return all;
}

namespace {

// The scenario with the actor between two of its calls. Returns what is wrong afterwards.
std::string meet(const Scenario& scenario, const Recording& recording, const Actor& actor, std::size_t at,
                 const std::string& granted) {
  CrashFs fs(recording.before, scenario.limits);
  if (!granted.empty()) fs.grant_locks(granted);
  fs.record();
  bool met = false;
  ckpt::Status other;
  fs.before_call([&](std::size_t number) {
    if (met || number < at) return;
    met = true;
    other = actor.act(scenario, fs);
  });
  const ckpt::Status status = scenario.act(fs);
  fs.before_call({});
  // One that was faster and has ended is met like any other: DST is there then.
  const bool too_late = status.code == ckpt::Code::kInvalid && other.ok();
  if (!status.ok() && !too_late) return "the process that held the lock failed: " + status.to_string();
  if (!other.ok() && other.code != ckpt::Code::kLocked)
    return "the other one was not refused but failed: " + other.to_string();
  const Promises promises = promises_at(scenario, fs.log(), fs.log().size());
  return Oracle(scenario, recording.before, recording.after).judge(promises, fs.disk());
}

std::string meet_everywhere(const Scenario& scenario, const Recording& recording, const Actor& actor,
                            const std::string& granted) {
  for (std::size_t at = 0; at < recording.log.size(); ++at) {
    try {
      if (const std::string problem = meet(scenario, recording, actor, at, granted); !problem.empty())
        return "before call " + std::to_string(at) + " (" + recording.log[at].text + "): " + problem;
    } catch (const std::exception& error) {
      return std::string("an exception: ") + error.what();
    }
  }
  return "";
}

}  // namespace

Mutation mutate_lock(const LockCase& lock, std::string* violation) {
  const auto scenario =
      std::find_if(scenarios().begin(), scenarios().end(), [&](const Scenario& s) { return s.name == lock.scenario; });
  const auto actor =
      std::find_if(actors().begin(), actors().end(), [&](const Actor& a) { return a.name == lock.actor; });
  const Actor& other = lock.actor == busy_run().name ? busy_run() : *actor;
  Mutation mutation{lock.scenario, "without the lock " + lock.lock + ", met by " + lock.actor};
  const auto recording = record(*scenario);
  if (!recording.ok()) {
    *violation = "without any other process it fails: " + recording.status().to_string();
    return mutation;
  }
  *violation = meet_everywhere(*scenario, *recording, other, "");
  mutation.how = meet_everywhere(*scenario, *recording, other, lock.lock);
  mutation.found = !mutation.how.empty();
  return mutation;
}

}  // namespace titan::crash
