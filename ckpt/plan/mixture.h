#pragma once
// Maps each sample of a mixture to one of its sets. Only integers enter: the shares and the number of the sample.
// FORMAT CONTRACT: a checkpoint stores only the position, so this order must never change. \source FORMAT.md,
// "Mixtures"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/model/data_position.h"

namespace titan::ckpt {

/// Divides 2^32 into shares in the ratio of `weights` (each above zero) by largest remainder; ties go to the first. A
/// share can be 0.
std::vector<std::uint64_t> shares_of(std::span<const double> weights);

/// A sample of one set. `number` counts the set's samples from 0 over all passes: with n = MixedSet::samples, it is
/// sample `number` % n of pass `number` / n.
struct Draw {
  std::size_t set = 0;
  std::uint64_t number = 0;
  bool operator==(const Draw&) const = default;
};

/// The order of the samples of a mixture. A set is exhausted once MixedSet::most samples were drawn from it.
class Mixture {
 public:
  /// Takes the sets from `position`, which has at least one.
  explicit Mixture(const DataPosition& position);

  /// The set of the run's sample `sample`, which is at or after `epoch_base`, and its number in this set; nullopt after
  /// the end of the data.
  std::optional<Draw> at(std::uint64_t sample) const;
  /// For each set, the number of samples drawn before the run's sample `sample`; after the end of the data, all.
  std::vector<std::uint64_t> drawn(std::uint64_t sample) const;
  /// The number (a data position) of the first sample that the data no longer have; nullopt if they never end.
  std::optional<std::uint64_t> end() const { return end_; }
  /// The set whose last sample ends the data, if the data end.
  std::size_t last_set() const { return last_set_; }

 private:
  /// A range of samples, from `first` to the next phase, in which no set becomes exhausted.
  struct Phase {
    std::uint64_t first = 0;
    std::vector<std::uint64_t> before;  ///< [i]: sum of the shares of sets 0 to i - 1; exhausted sets have share 0
    std::vector<std::uint64_t> drawn;   ///< samples drawn from each set before `first`
    /// Whether the phase has samples of `set`.
    bool gives(std::size_t set) const { return before[set] < before[set + 1]; }
  };
  /// Adds to `counts` how many of the phase's first `n` samples come from each set in [begin, end).
  static void count(const Phase& phase, std::uint64_t n, std::size_t begin, std::size_t end,
                    std::vector<std::uint64_t>& counts);
  /// The number of samples until the first set is exhausted; nullopt: no set ever is.
  std::optional<std::uint64_t> length(const Phase& phase, std::span<const MixedSet> sets) const;

  std::vector<Phase> phases_;
  std::optional<std::uint64_t> end_;
  std::size_t last_set_ = 0;
};

/// The number of epochs after which a set is exhausted; 0: never. The samples of MixedSet::uncounted do not count.
std::uint64_t epochs_of(const MixedSet& set);
/// How many epochs, counted as by epochs_of(), the run has read of the set once `drawn` samples were drawn from it:
/// (drawn - uncounted) / samples.
double passes_of(const MixedSet& set, std::uint64_t drawn);

/// The files of set `set`; all files if there is no mixture.
std::span<const DataFile> files_of_set(const DataPosition& position, std::size_t set);

/// A digest of the contents of `files` that ignores their names and order. Empty files are skipped.
Digest contents_of(std::span<const DataFile> files);

/// The position of a run that resumes at `stored` (a position without a mixture counts as one set). `there` is the
/// position of a new run with the data as configured now, a mixture. The result is `there` with these changes:
/// - Sets whose files have the contents of a stored set come first, in the stored order. They continue after the
///   samples that were drawn from them, under the stored name if `stored` is a mixture.
/// - The other sets follow, and start from their beginning. So do all sets if the kind of data differs.
/// - A stored set begins a new pass if `cut_anew` (samples are cut or ordered differently), or if its number of
///   samples, seq_len or sample_stride differs.
/// - MixedSet::uncounted of each stored set is computed, so that only samples of its own data count as epochs. A limit
/// in
///   `there` (MixedSet::most, not 0) is raised by this number.
DataPosition continued_mixture(const DataPosition& stored, const DataPosition& there, bool cut_anew = false);

/// How the sets of `next` differ from those of `stored` (data without a mixture count as one set), for example: "web 70
/// -> 60 %, code 30 -> 40 %; other contents under the same file name, which begin: news (26 samples drawn before); new:
/// books; left out: chat (9 samples drawn), which loses its place". Names only as many sets as fit into a line. "" if
/// sets, shares, and the epochs after which sets are exhausted are the same.
std::string mixture_difference(const DataPosition& stored, const DataPosition& next);

/// Display names of `sets`. Only base names are stored, so sets of the same name are numbered: "train.jsonl (2)".
std::vector<std::string> set_names(std::span<const MixedSet> sets);

/// "web 70 %, code 30 %" with set_names(): the first eight sets, then the number of the others.
std::string mixture_text(std::span<const MixedSet> sets);
/// As mixture_text(), but with the names as stored (not numbered), for the settings of a run.
std::string mixture_as_stored(std::span<const MixedSet> sets);

}  // namespace titan::ckpt
