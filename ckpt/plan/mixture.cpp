// Sample n of a phase, for the sets [0, k) with shares q: at each node [lo, hi) of a balanced binary tree, mid = (lo +
// hi) / 2, L = the shares of [lo, mid), T = those of [lo, hi), f(n) = floor((2nL + T) / 2T). If f(n + 1) > f(n), the
// sample is number f(n) of the left half, else number n - f(n) of the right half, and so on until one set is left. A
// phase ends when a set has given all its samples; the next phase begins at 0 with the remaining sets.
#include "ckpt/plan/mixture.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "ckpt/base/hash.h"
#include "ckpt/base/printed.h"
#include "ckpt/plan/same_files.h"

namespace titan::ckpt {
namespace {

using Wide = unsigned __int128;

constexpr std::size_t kLine = 600;                          // limit of a line with names, in bytes
constexpr double kAll = 4294967296.0;                       // 2^32
constexpr std::uint64_t kForEver = std::uint64_t{1} << 62;  // more samples than any run reads

/// How many of the first `n` samples of a node of the tree belong to its left half.
std::uint64_t to_the_left(std::uint64_t n, std::uint64_t left, std::uint64_t total) {
  return static_cast<std::uint64_t>((Wide{2} * n * left + total) / (Wide{2} * total));
}

std::string percent(std::uint64_t share) { return printed("%.4g", 100 * static_cast<double>(share) / kAll); }

/// The only set of a position without a mixture, in the form of a set of a mixture.
MixedSet single_set(const DataPosition& position) {
  MixedSet set;
  set.name = position.files.size() == 1 ? position.files[0].name : std::to_string(position.files.size()) + " files";
  set.share = std::uint64_t{1} << 32;
  set.samples = position.samples_per_epoch;
  set.files = position.files.size();
  // The samples before first_epoch may have come from other data, so they do not count as epochs.
  set.drawn = set.uncounted = position.first_epoch * position.samples_per_epoch;
  return set;
}

std::vector<MixedSet> sets_of(const DataPosition& position) {
  return position.sets.empty() ? std::vector{single_set(position)} : position.sets;
}

/// "web 70 -> 60 %, 1 epoch"; empty if the sets are equal.
std::string set_difference(const MixedSet& before, const MixedSet& after) {
  std::string text;
  if (before.share != after.share) text += " " + percent(before.share) + " -> " + percent(after.share) + " %";
  if (const std::uint64_t epochs = epochs_of(after); epochs != epochs_of(before) || before.stops != after.stops)
    text += std::string(text.empty() ? "" : ",") +
            (epochs == 0 ? " without end"
                         : (after.stops ? " ends the data after " : " is dropped after ") + std::to_string(epochs) +
                               (epochs == 1 ? " epoch" : " epochs"));
  return text.empty() ? "" : before.name + text;
}

/// "news (26 samples drawn)": counts only samples of the set's own data.
std::string with_drawn(const MixedSet& set, std::uint64_t drawn, const char* when) {
  const std::uint64_t own = drawn - set.uncounted;
  return set.name + " (" + std::to_string(own) + (own == 1 ? " sample" : " samples") + when + ")";
}

}  // namespace

std::uint64_t epochs_of(const MixedSet& set) {
  return set.most == 0 || set.samples == 0 ? 0 : (set.most - set.uncounted) / set.samples;
}

double passes_of(const MixedSet& set, std::uint64_t drawn) {
  return static_cast<double>(drawn - set.uncounted) / static_cast<double>(set.samples);
}

std::vector<std::uint64_t> shares_of(std::span<const double> weights) {
  // Without this division, the sum of very large weights would be infinite.
  const double greatest = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (const double weight : weights) sum += weight / greatest;
  std::vector<std::uint64_t> shares;
  std::vector<double> rest;
  std::uint64_t given = 0;
  for (const double weight : weights) {
    const double exact = weight / greatest / sum * kAll;
    shares.push_back(static_cast<std::uint64_t>(std::floor(exact)));
    rest.push_back(exact - std::floor(exact));
    given += shares.back();
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rest[a] > rest[b]; });
  const auto all = static_cast<std::uint64_t>(kAll);
  for (std::size_t i = 0; given < all; i = (i + 1) % order.size(), ++given) ++shares[order[i]];
  // Rounding may have made the sum of the shares too large.
  for (std::size_t i = order.size(); given > all; --given) --shares[order[--i]];
  return shares;
}

Mixture::Mixture(const DataPosition& position) {
  const std::vector<MixedSet>& sets = position.sets;
  Phase phase{.first = position.epoch_base};
  for (const MixedSet& set : sets) phase.drawn.push_back(set.drawn);
  while (true) {
    bool stops = false;
    std::vector<std::uint64_t> before = {0};
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const bool over = sets[i].most != 0 && phase.drawn[i] >= sets[i].most;
      if (over && (phases_.empty() || phases_.back().gives(i))) last_set_ = i;
      stops |= over && sets[i].stops;
      before.push_back(before.back() + (over ? 0 : sets[i].share));
    }
    phase.before = std::move(before);
    phases_.push_back(phase);
    if (stops || phase.before.back() == 0) {
      end_ = phase.first;
      return;
    }
    const std::optional<std::uint64_t> samples = length(phase, sets);
    if (!samples) return;
    count(phase, *samples, 0, sets.size(), phase.drawn);
    phase.first += *samples;
  }
}

void Mixture::count(const Phase& phase, std::uint64_t n, std::size_t begin, std::size_t end,
                    std::vector<std::uint64_t>& counts) {
  if (n == 0) return;
  if (end - begin == 1) {
    counts[begin] += n;
    return;
  }
  const std::size_t middle = (begin + end) / 2;
  const std::uint64_t left =
      to_the_left(n, phase.before[middle] - phase.before[begin], phase.before[end] - phase.before[begin]);
  count(phase, left, begin, middle, counts);
  count(phase, n - left, middle, end, counts);
}

/// The number of samples until the first of the sets of `phase` has given all its samples.
std::optional<std::uint64_t> Mixture::length(const Phase& phase, std::span<const MixedSet> sets) const {
  const auto is_over = [&](std::uint64_t samples) {
    std::vector<std::uint64_t> counts = phase.drawn;
    count(phase, samples, 0, sets.size(), counts);
    for (std::size_t i = 0; i < sets.size(); ++i)
      if (phase.gives(i) && sets[i].most != 0 && counts[i] >= sets[i].most) return true;
    return false;
  };
  if (phase.first >= kForEver || !is_over(kForEver)) return std::nullopt;
  std::uint64_t low = 0, high = kForEver;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (is_over(middle))
      high = middle;
    else
      low = middle;
  }
  return high;
}

std::optional<Draw> Mixture::at(std::uint64_t sample) const {
  if (end_ && sample >= *end_) return std::nullopt;
  const auto after = std::upper_bound(phases_.begin(), phases_.end(), sample,
                                      [](std::uint64_t number, const Phase& phase) { return number < phase.first; });
  assert(after != phases_.begin());
  const Phase& phase = *(after - 1);
  std::uint64_t n = sample - phase.first;
  std::size_t begin = 0, end = phase.drawn.size();
  while (end - begin > 1) {
    const std::size_t middle = (begin + end) / 2;
    const std::uint64_t left = phase.before[middle] - phase.before[begin],
                        total = phase.before[end] - phase.before[begin], first = to_the_left(n, left, total);
    if (to_the_left(n + 1, left, total) > first) {
      end = middle;
      n = first;
    } else {
      begin = middle;
      n -= first;
    }
  }
  return Draw{begin, phase.drawn[begin] + n};
}

std::vector<std::uint64_t> Mixture::drawn(std::uint64_t sample) const {
  const std::uint64_t place = end_ ? std::min(sample, *end_) : sample;
  const auto after = std::upper_bound(phases_.begin(), phases_.end(), place,
                                      [](std::uint64_t number, const Phase& phase) { return number < phase.first; });
  assert(after != phases_.begin());
  const Phase& phase = *(after - 1);
  std::vector<std::uint64_t> counts = phase.drawn;
  count(phase, place - phase.first, 0, counts.size(), counts);
  return counts;
}

std::span<const DataFile> files_of_set(const DataPosition& position, std::size_t set) {
  if (position.sets.empty()) return position.files;
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < set; ++i) first += position.sets[i].files;
  return std::span(position.files).subspan(first, position.sets[set].files);
}

Digest contents_of(std::span<const DataFile> files) {
  std::vector<std::pair<std::uint64_t, std::string>> contents;
  for (const DataFile& file : files)
    if (file.bytes > 0) contents.emplace_back(file.bytes, file.blocks.hex());
  std::sort(contents.begin(), contents.end());
  IdentityEncoder encoder;
  encoder.list(contents.size());
  for (const auto& [bytes, blocks] : contents) {
    encoder.u64(bytes);
    encoder.str(blocks);
  }
  return encoder.finish();
}

namespace {

/// How many samples of each set were drawn before the position. For a single set, passes over earlier data count, too.
std::vector<std::uint64_t> drawn_of(const DataPosition& position) {
  if (!position.sets.empty()) return Mixture(position).drawn(position.samples);
  return {single_set(position).drawn + position.samples - position.epoch_base};
}

/// The index of the only set with this name; nullopt if several sets have it.
std::optional<std::size_t> only_one(std::span<const MixedSet> sets, const std::string& name) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets[i].name != name) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

}  // namespace

DataPosition continued_mixture(const DataPosition& stored, const DataPosition& there, bool cut_anew) {
  DataPosition position = there;
  position.sets.clear();
  position.files.clear();
  const auto add = [&](MixedSet set, std::span<const DataFile> files) {
    set.files = files.size();
    position.sets.push_back(std::move(set));
    position.files.insert(position.files.end(), files.begin(), files.end());
  };
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < there.sets.size(); ++i) places[contents_of(files_of_set(there, i)).hex()] = i;

  const bool mixed = !stored.sets.empty();
  const std::vector<MixedSet> before = sets_of(stored);
  const std::vector<std::uint64_t> drawn = drawn_of(stored);
  for (std::size_t i = 0; i < drawn.size() && stored.kind == there.kind; ++i) {
    const std::span<const DataFile> files = files_of_set(stored, i);
    const auto found = places.extract(contents_of(files).hex());
    if (found.empty()) continue;
    MixedSet set = there.sets[found.mapped()];
    const std::uint64_t samples = before[i].samples;
    const bool same_samples = !cut_anew && samples == set.samples && stored.seq_len == there.seq_len &&
                              stored.sample_stride == there.sample_stride;
    // Samples that are cut differently begin with a new pass.
    const std::uint64_t pass = std::max<std::uint64_t>(samples, 1);
    set.drawn = same_samples ? drawn[i] : (drawn[i] + samples - 1) / pass * set.samples;
    // The samples that were drawn of its own data still count, as a fraction of a pass.
    set.uncounted =
        same_samples
            ? before[i].uncounted
            : set.drawn - static_cast<std::uint64_t>(Wide{drawn[i] - before[i].uncounted} * set.samples / pass);
    if (set.most != 0) set.most += set.uncounted;
    if (mixed) set.name = before[i].name;
    add(std::move(set), files);
  }
  for (std::size_t i = 0; i < there.sets.size(); ++i)
    if (places.count(contents_of(files_of_set(there, i)).hex()) != 0) add(there.sets[i], files_of_set(there, i));
  return position;
}

std::string mixture_difference(const DataPosition& stored, const DataPosition& next) {
  std::vector<MixedSet> before = sets_of(stored);
  const std::vector<MixedSet> after = sets_of(next);
  std::map<std::string, std::size_t> by_contents;
  for (std::size_t i = 0; i < after.size(); ++i) by_contents[contents_of(files_of_set(next, i)).hex()] = i;
  std::vector<std::optional<std::size_t>> kept;  // for each earlier set, its index now
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto found = by_contents.extract(contents_of(files_of_set(stored, i)).hex());
    kept.push_back(found.empty() ? std::nullopt : std::optional(found.mapped()));
  }
  std::set<std::size_t> unmatched;
  for (const auto& [contents, place] : by_contents) unmatched.insert(place);
  std::vector<std::optional<std::size_t>> same_name(before.size());  // for each earlier set, a new set with other
                                                                     // contents under its name
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::optional<std::size_t> there = only_one(after, before[i].name);
    if (kept[i] || !there || !only_one(before, before[i].name) || unmatched.erase(*there) == 0) continue;
    same_name[i] = there;
  }
  std::vector<MixedSet> all = before;
  for (const std::size_t place : unmatched) all.push_back(after[place]);
  const std::vector<std::string> names = set_names(all);
  for (std::size_t i = 0; i < before.size(); ++i) before[i].name = names[i];

  const std::vector<std::uint64_t> drawn = drawn_of(stored);
  std::vector<std::string> changed, renewed, lost, counted;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!kept[i] && !same_name[i]) {
      lost.push_back(with_drawn(before[i], drawn[i], " drawn"));
      continue;
    }
    const std::size_t place = kept[i] ? *kept[i] : *same_name[i];
    if (std::string text = set_difference(before[i], after[place]); !text.empty()) changed.push_back(std::move(text));
    if (kept[i] && before[i].uncounted > 0 && stored.sets.empty() && !next.sets.empty())
      counted.push_back(before[i].name);
    if (!kept[i]) renewed.push_back(with_drawn(before[i], drawn[i], " drawn before"));
  }
  const std::vector<std::string> added(names.begin() + static_cast<std::ptrdiff_t>(before.size()), names.end());

  std::string text = first_within(changed, kLine);
  const auto add = [&text](const char* what, const std::vector<std::string>& words, const std::string& after) {
    if (!words.empty()) text += (text.empty() ? "" : "; ") + std::string(what) + first_within(words, kLine) + after;
  };
  add("other contents under the same file name, which begin: ", renewed, "");
  add("new: ", added, "");
  add("left out: ", lost, lost.size() == 1 ? ", which loses its place" : ", which lose their places");
  add("the epochs of ", counted, " count from sample " + std::to_string(stored.epoch_base) + " on");
  return text;
}

std::vector<std::string> set_names(std::span<const MixedSet> sets) {
  std::map<std::string, std::size_t> all, so_far;
  for (const MixedSet& set : sets) ++all[set.name];
  std::vector<std::string> names;
  for (const MixedSet& set : sets)
    names.push_back(set.name + (all[set.name] == 1 ? "" : " (" + std::to_string(++so_far[set.name]) + ")"));
  return names;
}

std::string mixture_text(std::span<const MixedSet> sets) {
  const std::vector<std::string> names = set_names(sets);
  std::vector<MixedSet> named(sets.begin(), sets.end());
  for (std::size_t i = 0; i < named.size(); ++i) named[i].name = names[i];
  return mixture_as_stored(named);
}

std::string mixture_as_stored(std::span<const MixedSet> sets) {
  std::vector<std::string> words;
  for (const MixedSet& set : sets) words.push_back(set.name + " " + percent(set.share) + " %");
  return first_few(words, 8);
}

}  // namespace titan::ckpt
