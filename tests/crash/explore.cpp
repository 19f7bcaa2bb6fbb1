#include "tests/crash/explore.h"

#include <unordered_set>

namespace titan::crash {
namespace {

std::uint64_t with_promises(std::uint64_t bytes, const Promises& promises) {
  return bytes ^ (promises.newest * 2 + (promises.dst ? 1 : 0)) * 0x9E3779B97F4A7C15;
}

// One scenario's search. States after an actor that were judged before are not judged again.
class Explorer {
 public:
  Explorer(const Scenario& scenario, const Recording& recording, const Search& search)
      : scenario_(scenario),
        recording_(recording),
        search_(search),
        oracle_(scenario, recording.before, recording.after) {}

  Figures run() {
    figures_.calls = recording_.log.size();
    if (search_.points.empty())
      search_widely();
    else
      search_points();
    figures_.judged = oracle_.judged();
    return figures_;
  }

  std::string try_pair(std::size_t point, const Disk& state, const Actor& actor) {
    const Promises promises = promises_at(scenario_, recording_.log, point);
    try {
      CrashFs fs(state, scenario_.limits);
      if (const ckpt::Status status = actor.act(scenario_, fs); !status.ok())
        return "the actor failed: " + status.to_string();
      return oracle_.judge(promises, fs.disk());
    } catch (const std::exception& error) {
      return std::string("an exception: ") + error.what();
    }
  }

 private:
  static constexpr std::uint64_t kChoicesInARound = 4, kDullRounds = 64;

  bool enough() const { return figures_.violations >= search_.stop_after || figures_.states >= search_.states; }

  // A few choices at every point in turn, so that no point gets all the states.
  void search_widely() {
    std::vector<CrashPoint> points;
    std::vector<std::size_t> open;  // points with choices left
    for (std::size_t point = 0; point <= recording_.log.size(); ++point) {
      points.emplace_back(recording_.before, recording_.log, point, recording_.after);
      open.push_back(point);
    }
    std::uint64_t dull_rounds = 0;
    for (std::uint64_t round = 0; !open.empty() && !enough() && dull_rounds < kDullRounds; ++round) {
      const std::uint64_t before = figures_.states;
      std::vector<std::size_t> left;
      for (const std::size_t point : open)
        if (one_round(points[point], point, round)) left.push_back(point);
      open = std::move(left);
      dull_rounds = figures_.states == before ? dull_rounds + 1 : 0;
    }
  }

  void search_points() {
    for (const std::size_t point : search_.points) {
      const CrashPoint at(recording_.before, recording_.log, point, recording_.after);
      Choice choice;
      for (std::uint64_t number = 0; number < at.first_choices() && !enough(); ++number)
        if (at.choice(number, search_.seed, &choice)) one_state(at, point, choice);
    }
  }

  // False when the point has nothing more to offer.
  bool one_round(const CrashPoint& at, std::size_t point, std::uint64_t round) {
    for (std::uint64_t number = round * kChoicesInARound; number < (round + 1) * kChoicesInARound; ++number) {
      Choice choice;
      if (!at.choice(number, search_.seed + point, &choice)) return false;
      if (enough()) return true;
      one_state(at, point, choice);
    }
    return true;
  }

  void one_state(const CrashPoint& at, std::size_t point, const Choice& choice) {
    const Disk state = at.build(choice);
    // The same bytes before and after an announcement are two cases.
    const std::uint64_t bytes = state.hash(kRoot, false);
    if (!cases_.insert(with_promises(bytes, promises_at(scenario_, recording_.log, point))).second) return;
    if (seen_.insert(bytes).second) ++figures_.states;
    for (const Actor& actor : actors()) {
      ++figures_.pairs;
      const std::string problem = try_pair(point, state, actor);
      if (problem.empty()) continue;
      ++figures_.violations;
      if (search_.found) search_.found({scenario_.name, actor.name, point, choice, problem, at.explain(choice)});
      if (enough()) return;
    }
  }

  const Scenario& scenario_;
  const Recording& recording_;
  const Search& search_;
  Figures figures_;
  std::unordered_set<std::uint64_t> seen_;   // bytes and names
  std::unordered_set<std::uint64_t> cases_;  // the same with promises
  Oracle oracle_;
};

}  // namespace

std::string Violation::replay() const {
  return scenario + ":" + std::to_string(point) + ":" + actor + ":" + choice_text(choice);
}

Figures explore(const Scenario& scenario, const Recording& recording, const Search& search) {
  return Explorer(scenario, recording, search).run();
}

std::string try_state(const Scenario& scenario, const Recording& recording, std::size_t point, const Disk& state,
                      const Actor& actor) {
  const Search search;
  return Explorer(scenario, recording, search).try_pair(point, state, actor);
}

}  // namespace titan::crash
