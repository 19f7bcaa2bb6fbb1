// titan-crash-explorer: crash states of every scenario, each met by every kind of next actor.
//
//   titan-crash-explorer [--states N] [--seed S] [--scenario NAME]    N distinct states in every scenario, as far as it
//   has them titan-crash-explorer --replay SCENARIO:POINT:ACTOR:CHOICE         one case again, with all that led to it
//   ... --part K/N                                                    every N-th scenario from the K-th on, for several
//   processes titan-crash-explorer --mutations [--scenario NAME]                what the oracle says when one sync,
//   order or lock is missing titan-crash-explorer --calls SCENARIO                             what the scenario did
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "ckpt/base/helpers.h"
#include "ckpt/lock/lock_wait.h"
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

int usage(const std::string& problem) {
  std::fprintf(stderr, "%s\n", problem.c_str());
  return 2;
}

int failed(const Scenario& scenario, const ckpt::Status& status) {
  std::printf("VIOLATION in %s: without any crash it fails: %s\n", scenario.name.c_str(), status.to_string().c_str());
  return 1;
}

// The scenarios of one process of several.
struct Part {
  std::size_t index = 0, of = 1;
  std::string only;
  bool has(std::size_t number, const Scenario& scenario) const {
    return only.empty() ? number % of == index : scenario.name == only;
  }
};

Part part_from(const std::string& text) {
  Part part;
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return part;
  part.of = std::max<std::size_t>(std::stoul(text.substr(slash + 1)), 1);
  part.index = (std::stoul(text.substr(0, slash)) + part.of - 1) % part.of;
  return part;
}

void print(const Violation& violation) {
  std::printf("VIOLATION in %s, after %zu calls, next actor: %s\n  %s\n%s    titan-crash-explorer --replay %s\n",
              violation.scenario.c_str(), violation.point, violation.actor.c_str(), violation.problem.c_str(),
              violation.lost.c_str(), violation.replay().c_str());
}

void print_row(const std::string& name, const Figures& figures, double seconds) {
  std::printf("%-52s %6llu %9llu %10llu %9llu %10llu %7.1f\n", name.c_str(),
              static_cast<unsigned long long>(figures.calls), static_cast<unsigned long long>(figures.states),
              static_cast<unsigned long long>(figures.pairs), static_cast<unsigned long long>(figures.judged),
              static_cast<unsigned long long>(figures.violations), seconds);
  std::fflush(stdout);
}

int run_all(const Part& part, const Search& wanted) {
  Figures sum;
  double all_seconds = 0;
  std::printf("%-52s %6s %9s %10s %9s %10s %7s\n", "scenario", "calls", "states", "x actors", "judged", "violations",
              "seconds");
  for (std::size_t number = 0; number < scenarios().size(); ++number) {
    const Scenario& scenario = scenarios()[number];
    if (!part.has(number, scenario)) continue;
    const auto start = std::chrono::steady_clock::now();
    const auto recording = record(scenario);
    if (!recording.ok()) {
      failed(scenario, recording.status());
      ++sum.violations;
      continue;
    }
    const Figures found = explore(scenario, *recording, wanted);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    print_row(scenario.name, found, seconds);
    all_seconds += seconds;
    sum.calls += found.calls;
    sum.states += found.states;
    sum.pairs += found.pairs;
    sum.judged += found.judged;
    sum.violations += found.violations;
  }
  print_row("all", sum, all_seconds);
  return sum.violations == 0 ? 0 : 1;
}

// A mutation is right when it is found, or when it is known to be redundant and is not found.
bool report(const Mutation& mutation) {
  const bool right = mutation.found == mutation.redundant.empty();
  const char* verdict = mutation.found ? (right ? "found" : "NOT REDUNDANT") : (right ? "redundant" : "NOT FOUND");
  std::printf("%-9s %s: %s\n          %s\n", verdict, mutation.scenario.c_str(), mutation.what.c_str(),
              (mutation.found ? mutation.how : mutation.redundant).c_str());
  std::fflush(stdout);
  return right;
}

int run_mutations(const Part& part) {
  std::size_t found = 0, redundant = 0, wrong = 0;
  const auto count = [&](const Mutation& mutation) {
    if (!report(mutation))
      ++wrong;
    else if (mutation.found)
      ++found;
    else
      ++redundant;
  };
  for (std::size_t number = 0; number < scenarios().size(); ++number) {
    const Scenario& scenario = scenarios()[number];
    if (!part.has(number, scenario) || (part.only.empty() && !scenario.mutate)) continue;
    const auto recording = record(scenario);
    if (!recording.ok()) return failed(scenario, recording.status());
    for (const Mutation& mutation : mutate_calls(scenario, *recording)) count(mutation);
  }
  for (std::size_t number = 0; number < lock_cases().size(); ++number) {
    const LockCase& lock = lock_cases()[number];
    if (part.only.empty() ? number % part.of != part.index : lock.scenario != part.only) continue;
    std::string violation;
    count(mutate_lock(lock, &violation));
    if (violation.empty()) continue;
    ++wrong;
    std::printf("VIOLATION in %s with every lock, met by %s:\n  %s\n", lock.scenario.c_str(), lock.actor.c_str(),
                violation.c_str());
  }
  std::printf("%zu mutations found, %zu redundant, %zu wrong\n", found, redundant, wrong);
  return wrong == 0 ? 0 : 1;
}

int show_calls(const std::string& name) {
  const Scenario* scenario = find_scenario(name);
  if (scenario == nullptr) return 2;
  const auto recording = record(*scenario);
  if (!recording.ok()) return failed(*scenario, recording.status());
  for (std::size_t i = 0; i < recording->log.size(); ++i) std::printf("%4zu  %s\n", i, recording->log[i].text.c_str());
  return 0;
}

int replay(const std::string& what) {
  const std::size_t first = what.find(':'), second = what.find(':', first + 1), third = what.find(':', second + 1);
  if (third == std::string::npos) return usage("expected SCENARIO:POINT:ACTOR:CHOICE");
  const Scenario* scenario = find_scenario(what.substr(0, first));
  if (scenario == nullptr) return 2;
  const auto recording = record(*scenario);
  if (!recording.ok()) return failed(*scenario, recording.status());
  const std::size_t point = std::stoul(what.substr(first + 1, second - first - 1));
  const std::string name = what.substr(second + 1, third - second - 1);
  const CrashPoint at(recording->before, recording->log, std::min(point, recording->log.size()), recording->after);
  const Choice choice = choice_from(what.substr(third + 1));
  if (choice.size() != at.pending())
    return usage("expected " + std::to_string(at.pending()) + " outcomes, found " + std::to_string(choice.size()) +
                 ": made by another build?");
  for (std::size_t i = 0; i < point; ++i) std::printf("%4zu  %s\n", i, recording->log[i].text.c_str());
  const Disk state = at.build(choice);
  std::printf("the crash; of what was not synced:\n%sthe disk then:\n%s", at.explain(choice).c_str(),
              state.listing().c_str());
  for (const Actor& actor : actors()) {
    if (actor.name != name) continue;
    CrashFs fs(state, scenario->limits);
    const ckpt::Status status = actor.act(*scenario, fs);
    std::printf("after %s (%s):\n%s", name.c_str(), status.ok() ? "ok" : status.to_string().c_str(),
                fs.disk().listing().c_str());
    const std::string problem = try_state(*scenario, *recording, point, state, actor);
    std::printf("%s\n", problem.empty() ? "nothing is wrong" : ("VIOLATION: " + problem).c_str());
    return problem.empty() ? 0 : 1;
  }
  return usage("no actor '" + name + "'");
}

int run(int argc, char** argv) {
  Search search;
  search.found = print;
  Part part;
  bool mutations = false;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--mutations") {
      mutations = true;
      continue;
    }
    if (flag == "--replay") return replay(value);
    if (flag == "--calls") return show_calls(value);
    if (flag == "--states")
      search.states = std::stoull(value);
    else if (flag == "--seed")
      search.seed = std::stoull(value);
    else if (flag == "--scenario")
      part.only = value;
    else if (flag == "--part")
      part = part_from(value);
    else
      return usage("unknown flag " + flag);
    ++i;
  }
  if (!part.only.empty() && find_scenario(part.only) == nullptr) return 2;
  return mutations ? run_mutations(part) : run_all(part, search);
}

}  // namespace
}  // namespace titan::crash

int main(int argc, char** argv) {
  titan::ckpt::Helpers::allow_for_test(0);  // one thread: calls come in the same order every time
  titan::ckpt::lock_wait().beats = false;
  try {
    return titan::crash::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "not a number where one is expected, or %s\n", error.what());
    return 2;
  }
}
