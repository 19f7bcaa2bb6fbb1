// titan-crash-explorer: crash states of every scenario, each met by every kind of next actor.
//
//   titan-crash-explorer [--states N] [--seed S] [--scenario NAME]    N distinct states in every scenario, as far as it has them
//   titan-crash-explorer --replay SCENARIO:POINT:ACTOR:CHOICE         one case again, with all that led to it
//   titan-crash-explorer --mutations [--scenario NAME]                what the oracle says when one sync, order or lock is missing
//   titan-crash-explorer --calls SCENARIO                             what the scenario did
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "ckpt/base/helpers.h"
#include "tests/crash/explore.h"
#include "tests/crash/mutations.h"

namespace titan::crash {
namespace {

const Scenario* find_scenario(const std::string& name) {
  for (const Scenario& scenario : scenarios())
    if (scenario.name == name) return &scenario;
  std::fprintf(stderr, "no scenario '%s'; there are:\n", name.c_str());
  for (const Scenario& scenario : scenarios()) std::fprintf(stderr, "  %s\n", scenario.name.c_str());
  return nullptr;
}

void print(const Violation& violation) {
  std::printf("VIOLATION in %s, after %zu calls, next actor: %s\n  %s\n%s    titan-crash-explorer --replay %s\n", violation.scenario.c_str(), violation.point,
              violation.actor.c_str(), violation.problem.c_str(), violation.lost.c_str(), violation.replay().c_str());
}

int run_all(const std::string& only, const Search& wanted) {
  Figures sum;
  std::printf("%-44s %7s %9s %10s %9s %10s %7s\n", "scenario", "calls", "states", "x actors", "judged", "violations", "seconds");
  for (const Scenario& scenario : scenarios()) {
    if (!only.empty() && scenario.name != only) continue;
    const auto start = std::chrono::steady_clock::now();
    const auto recording = record(scenario);
    if (!recording.ok()) {
      std::printf("VIOLATION in %s: without any crash it fails: %s\n", scenario.name.c_str(), recording.status().to_string().c_str());
      ++sum.violations;
      continue;
    }
    const Figures found = explore(scenario, *recording, wanted);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%-44s %7llu %9llu %10llu %9llu %10llu %7.1f\n", scenario.name.c_str(), (unsigned long long)found.calls, (unsigned long long)found.states,
                (unsigned long long)found.pairs, (unsigned long long)found.judged, (unsigned long long)found.violations, seconds);
    std::fflush(stdout);
    sum.calls += found.calls;
    sum.states += found.states;
    sum.pairs += found.pairs;
    sum.judged += found.judged;
    sum.violations += found.violations;
  }
  std::printf("%-44s %7llu %9llu %10llu %9llu %10llu\n", "all", (unsigned long long)sum.calls, (unsigned long long)sum.states, (unsigned long long)sum.pairs,
              (unsigned long long)sum.judged, (unsigned long long)sum.violations);
  return sum.violations == 0 ? 0 : 1;
}

// A mutation is right when it is found, or when it is known to be redundant and is not found.
bool report(const Mutation& mutation) {
  const bool right = mutation.found == mutation.redundant.empty();
  std::printf("%-9s %s: %s\n          %s\n", right ? (mutation.found ? "found" : "redundant") : (mutation.found ? "NOT REDUNDANT" : "NOT FOUND"), mutation.scenario.c_str(),
              mutation.what.c_str(), (mutation.found ? mutation.how : mutation.redundant).c_str());
  std::fflush(stdout);
  return right;
}

int run_mutations(const std::string& only) {
  std::size_t found = 0, redundant = 0, wrong = 0;
  const auto count = [&](const Mutation& mutation) {
    if (!report(mutation)) ++wrong;
    else if (mutation.found) ++found;
    else ++redundant;
  };
  for (const Scenario& scenario : scenarios()) {
    if (only.empty() ? !scenario.mutate : scenario.name != only) continue;
    const auto recording = record(scenario);
    if (!recording.ok()) return std::printf("%s fails: %s\n", scenario.name.c_str(), recording.status().to_string().c_str()), 1;
    for (const Mutation& mutation : mutate_calls(scenario, *recording)) count(mutation);
  }
  for (const LockCase& lock : lock_cases()) {
    if (!only.empty() && lock.scenario != only) continue;
    std::string violation;
    count(mutate_lock(lock, &violation));
    if (violation.empty()) continue;
    ++wrong;
    std::printf("VIOLATION in %s with every lock, met by %s:\n  %s\n", lock.scenario.c_str(), lock.actor.c_str(), violation.c_str());
  }
  std::printf("%zu mutations found, %zu redundant, %zu wrong\n", found, redundant, wrong);
  return wrong == 0 ? 0 : 1;
}

int show_calls(const std::string& name) {
  const Scenario* scenario = find_scenario(name);
  if (scenario == nullptr) return 2;
  const auto recording = record(*scenario);
  if (!recording.ok()) return std::printf("%s\n", recording.status().to_string().c_str()), 1;
  for (std::size_t i = 0; i < recording->log.size(); ++i) std::printf("%4zu  %s\n", i, recording->log[i].text.c_str());
  return 0;
}

int replay(const std::string& what) {
  const std::size_t first = what.find(':'), second = what.find(':', first + 1), third = what.find(':', second + 1);
  if (third == std::string::npos) return std::fprintf(stderr, "expected SCENARIO:POINT:ACTOR:CHOICE\n"), 2;
  const Scenario* scenario = find_scenario(what.substr(0, first));
  if (scenario == nullptr) return 2;
  const auto recording = record(*scenario);
  if (!recording.ok()) return std::printf("%s\n", recording.status().to_string().c_str()), 1;
  const std::size_t point = std::stoul(what.substr(first + 1, second - first - 1));
  const std::string name = what.substr(second + 1, third - second - 1);
  const CrashPoint at(recording->before, recording->log, std::min(point, recording->log.size()), recording->after);
  const Choice choice = choice_from(what.substr(third + 1));
  if (choice.size() != at.pending()) return std::fprintf(stderr, "expected %zu outcomes, found %zu: another build?\n", at.pending(), choice.size()), 2;
  for (std::size_t i = 0; i < point; ++i) std::printf("%4zu  %s\n", i, recording->log[i].text.c_str());
  const Disk state = at.build(choice);
  std::printf("the crash; of what was not synced:\n%sthe disk then:\n%s", at.explain(choice).c_str(), state.listing().c_str());
  for (const Actor& actor : actors()) {
    if (actor.name != name) continue;
    CrashFs fs(state, scenario->limits);
    const ckpt::Status status = actor.act(*scenario, fs);
    std::printf("after %s (%s):\n%s", name.c_str(), status.ok() ? "ok" : status.to_string().c_str(), fs.disk().listing().c_str());
    const std::string problem = try_state(*scenario, *recording, point, state, actor);
    std::printf("%s\n", problem.empty() ? "nothing is wrong" : ("VIOLATION: " + problem).c_str());
    return problem.empty() ? 0 : 1;
  }
  return std::fprintf(stderr, "no actor '%s'\n", name.c_str()), 2;
}

int run(int argc, char** argv) {
  Search search;
  search.found = print;
  std::string only;
  bool mutations = false;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--mutations") {
      mutations = true;
      continue;
    }
    if (flag == "--replay") return replay(value);
    if (flag == "--calls") return show_calls(value);
    if (flag == "--states") search.states = std::stoull(value);
    else if (flag == "--seed") search.seed = std::stoull(value);
    else if (flag == "--scenario") only = value;
    else return std::fprintf(stderr, "unknown flag %s\n", flag.c_str()), 2;
    ++i;
  }
  if (!only.empty() && find_scenario(only) == nullptr) return 2;
  return mutations ? run_mutations(only) : run_all(only, search);
}

}  // namespace
}  // namespace titan::crash

int main(int argc, char** argv) {
  titan::ckpt::Helpers::allow_for_test(0);  // one thread: calls come in the same order every time
  return titan::crash::run(argc, argv);
}
