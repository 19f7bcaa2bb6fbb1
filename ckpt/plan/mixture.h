#pragma once
// Which set of a mixture a sample comes from: a pure function of shares and position, in integers. FORMAT CONTRACT: a
// checkpoint stores the position alone, so this order never changes. \source FORMAT.md, "Mixtures"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/model/data_position.h"

namespace titan::ckpt {

/// Parts of 2^32 in the ratio of `weights`, which are above zero, by largest remainder; of equal remainders the first
/// gains. A part can be 0.
std::vector<std::uint64_t> shares_of(std::span<const double> weights);

/// A sample of one set: its number is counted over all passes over the set.
struct Draw {
  std::size_t set = 0;
  std::uint64_t number = 0;
  bool operator==(const Draw&) const = default;
};

class Mixture {
 public:
  /// Of the sets of `position`; there are such.
  explicit Mixture(const DataPosition& position);

  /// Where sample `sample` comes from, which is not before `epoch_base`; nothing behind the end of the data.
  std::optional<Draw> at(std::uint64_t sample) const;
  /// How many samples of each set come before `sample`, from the first of the run on.
  std::vector<std::uint64_t> drawn(std::uint64_t sample) const;
  /// The first sample that there is not; nothing: the data have no end.
  std::optional<std::uint64_t> end() const { return end_; }
  /// The set whose last sample ends the data, where there is an end.
  std::size_t last_set() const { return last_set_; }

 private:
  /// From `first` on the same sets share the samples.
  struct Phase {
    std::uint64_t first = 0;
    std::vector<std::uint64_t>
        before;                        ///< sums of shares: [i] those of the sets before i; sets that are over have none
    std::vector<std::uint64_t> drawn;  ///< of each set before `first`
    bool gives(std::size_t set) const { return before[set] < before[set + 1]; }
  };
  /// Adds to `counts` how many of `n` samples come from each set of [begin, end).
  static void count(const Phase& phase, std::uint64_t n, std::size_t begin, std::size_t end,
                    std::vector<std::uint64_t>& counts);
  std::optional<std::uint64_t> length(const Phase& phase, std::span<const MixedSet> sets) const;

  std::vector<Phase> phases_;
  std::optional<std::uint64_t> end_;
  std::size_t last_set_ = 0;
};

/// After how many of its own epochs a set is over; 0: never.
std::uint64_t epochs_of(const MixedSet& set);
/// How many of its own epochs a set has given of which `drawn` samples were drawn in all.
double passes_of(const MixedSet& set, std::uint64_t drawn);

/// The files of set `set`, or all where there is no mixture.
std::span<const DataFile> files_of_set(const DataPosition& position, std::size_t set);

/// A digest of what is in `files`, whatever their names and their order; empty ones do not count.
Digest contents_of(std::span<const DataFile> files);

/// The sets of `there` as a run goes on with them from `stored.samples` on: those that it knows by their contents come
/// first, in its order, under its names and each at its own place; others begin. A single set counts as one.
/// `cut_anew`: their samples are others, or in another order, so that each begins a pass that nobody has seen; so it
/// does where counts or lengths say it. `most` of `there` are its epochs; what a set did not give itself is added.
DataPosition continued_mixture(const DataPosition& stored, const DataPosition& there, bool cut_anew = false);

/// What `next` changes in the sets of `stored`, of which a single one counts as one: "web 70 -> 60 %, code 30 -> 40 %;
/// other contents under the same name, which begin: news (26 samples drawn before); new: books; left out: chat (9
/// samples drawn), which loses its place". Of many sets as many as fit into a line. "": neither set nor share.
std::string mixture_difference(const DataPosition& stored, const DataPosition& next);

/// "web 70 %, code 30 %": of many sets the first eight.
std::string mixture_text(std::span<const MixedSet> sets);

}  // namespace titan::ckpt
