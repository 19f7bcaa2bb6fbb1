#include "ckpt/plan/ownership.h"

#include <algorithm>
#include <atomic>
#include <map>

namespace titan::ckpt {
namespace {

std::atomic<std::uint64_t> work{0};

/// `count` adjacent leaves of `size` elements each.
struct OwnedRun {
  std::uint64_t count = 0;
  std::uint64_t size = 0;  ///< not 0
};

/// Fills `parts` ranges in order, each with at most `bound` elements (not less than any leaf), and calls take(part,
/// run, first, count) for the leaves of each run that a range gets. Returns false if leaves are left over.
template <typename Take>
bool deal(std::span<const OwnedRun> runs, std::uint64_t bound, std::uint32_t parts, const Take& take) {
  std::uint32_t part = 0;
  std::uint64_t sum = 0, steps = 0;
  bool enough = parts > 0 || runs.empty();
  for (std::size_t run = 0; run < runs.size() && enough; ++run) {
    for (std::uint64_t done = 0; done < runs[run].count && enough; ++steps) {
      const std::uint64_t fit = std::min(runs[run].count - done, (bound - sum) / runs[run].size);
      if (fit == 0) {
        enough = ++part < parts;
        sum = 0;
        continue;
      }
      take(part, run, done, fit);
      done += fit;
      sum += fit * runs[run].size;
    }
  }
  work += steps + runs.size();
  return enough;
}

/// The least bound with which `parts` ranges suffice.
std::uint64_t smallest_bound(std::span<const OwnedRun> runs, std::uint32_t parts) {
  std::uint64_t largest = 0, total = 0;
  for (const OwnedRun& run : runs) {
    std::uint64_t elements = 0;
    if (run.count > 0) largest = std::max(largest, run.size);
    if (__builtin_mul_overflow(run.count, run.size, &elements) || __builtin_add_overflow(total, elements, &total))
      total = ~std::uint64_t{0};
  }
  // The least bound is between a fair share (or the largest leaf, if that is larger) and everything in one range.
  std::uint64_t low = std::max(largest, total / parts), high = total;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (deal(runs, middle, parts, [](auto...) {})) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Leaves that are divided into one range per rank, as runs with their positions.
struct Row {
  struct Place {
    std::uint32_t parameter;
    std::uint64_t first;  // index in the parameter of the run's first leaf
  };
  std::vector<OwnedRun> runs;
  std::vector<Place> places;

  void add(std::uint32_t parameter, const LeafGrid& grid, std::uint64_t leaf_elements) {
    const std::uint64_t full = grid.elements / leaf_elements;
    add(parameter, 0, {full, leaf_elements});
    add(parameter, full, {grid.count() - full, grid.elements % leaf_elements});
  }
  /// Adds the pieces of each rank to `pieces`.
  void deal_to(std::vector<std::vector<OwnedPiece>>& pieces) const {
    const auto take = [&](std::uint32_t part, std::size_t run, std::uint64_t first, std::uint64_t count) {
      const Place& place = places[run];
      std::vector<OwnedPiece>& own = pieces[part];
      if (!own.empty() && own.back().parameter == place.parameter) {
        own.back().leaves.count += count;  // the short last leaf follows the full ones
      } else {
        own.push_back({place.parameter, {place.first + first, count}});
      }
    };
    const auto parts = static_cast<std::uint32_t>(pieces.size());
    if (parts > 0) deal(runs, smallest_bound(runs, parts), parts, take);
  }

 private:
  void add(std::uint32_t parameter, std::uint64_t first, OwnedRun run) {
    if (run.count == 0) return;
    runs.push_back(run);
    places.push_back({parameter, first});
  }
};

}  // namespace

Ownership::Ownership(const std::vector<ParameterMeta>& parameters, std::uint64_t leaf_elements, const Mesh& mesh,
                     std::span<const std::uint32_t> groups)
    : leaf_elements_(leaf_elements), mesh_(mesh), first_(1, 0) {
  std::vector<std::map<std::uint32_t, Row>> rows(mesh.pp);
  for (std::uint32_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].stage < mesh.pp)
      rows[parameters[i].stage][i < groups.size() ? groups[i] : 0].add(i, parameters[i].grid(leaf_elements),
                                                                       leaf_elements);
  for (std::uint32_t stage = 0; stage < mesh.pp; ++stage) {
    std::vector<std::vector<OwnedPiece>> pieces(mesh.dp);
    for (const auto& [group, row] : rows[stage]) row.deal_to(pieces);
    for (std::vector<OwnedPiece>& own : pieces) {
      std::ranges::sort(own, {}, &OwnedPiece::parameter);
      pieces_.insert(pieces_.end(), own.begin(), own.end());
      first_.push_back(pieces_.size());
    }
  }
}

std::span<const OwnedPiece> Ownership::of(std::uint32_t rank) const {
  if (rank + std::size_t{1} >= first_.size()) return {};
  return std::span(pieces_).subspan(first_[rank], first_[rank + 1] - first_[rank]);
}

std::uint64_t partition_work() { return work; }

}  // namespace titan::ckpt
