#include "libtrain/job/data/dataset.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "ckpt/plan/same_files.h"
#include "libtrain/job/data/permutation.h"

namespace titan::train {

using ckpt::Result;
using ckpt::Status;

std::vector<ckpt::DataFile> Dataset::files() const {
  std::vector<ckpt::DataFile> files = origin_.files;
  files.insert(files.end(), validation_files_.begin(), validation_files_.end());
  return files;
}

namespace {

/// A started pass is identified by sample numbers, so the number of samples must be unchanged.
Status check_count(std::uint64_t stored, std::uint64_t there, const std::string& what) {
  if (stored == there) return {};
  return ckpt::incompatible("the checkpoint counts " + std::to_string(stored) + " samples" + what +
                            ", and the data have " + std::to_string(there))
      .with_hint("put back the files that were next to the data when the run began (an index, metadata)");
}

}  // namespace

Status Dataset::continue_from(const ckpt::DataPosition& stored) {
  if (mixture_) return continue_mixture(stored);
  origin_.samples = stored.samples;
  origin_.excluded = stored.excluded;
  origin_.epoch_base = stored.epoch_base;
  origin_.first_epoch = stored.first_epoch;
  origin_.seed = stored.seed;
  const ckpt::FileMatch match = ckpt::match_files(stored.files, origin_.files);
  if (!match.same || stored.kind != origin_.kind) return {};
  arrange(sets_.front(), match);
  origin_.files = stored.files;
  if (whole_) origin_.samples_per_epoch = sets_.front().rows.size();
  if (stored.samples == stored.epoch_base) return {};
  return check_count(stored.samples_per_epoch, origin_.samples_per_epoch, "");
}

/// Whole-document samples depend on the order of files.
void Dataset::arrange(Set& set, const ckpt::FileMatch& match) const {
  if (in_order_ || !match.reordered()) return;
  set.stream->arrange(match.order);
  if (!whole_) return;
  auto rows = PackedRows::of(*set.stream, set.tokens, origin_.seq_len);
  set.rows = rows.ok() ? std::move(*rows) : PackedRows();  // every access to a sample then fails
}

/// Puts sets and files into the order of `stored`, which has the same sets.
Status Dataset::continue_mixture(const ckpt::DataPosition& stored) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < sets_.size(); ++i) places[ckpt::contents_of(ckpt::files_of_set(origin_, i)).hex()] = i;
  std::vector<Set> arranged;
  for (std::size_t i = 0; i < stored.sets.size(); ++i) {
    const std::span<const ckpt::DataFile> files = ckpt::files_of_set(stored, i);
    const std::size_t place = places.at(ckpt::contents_of(files).hex());
    arranged.push_back(std::move(sets_[place]));
    arrange(arranged.back(), ckpt::match_files(files, ckpt::files_of_set(origin_, place)));
    TITAN_RETURN_IF_ERROR(check_count(stored.sets[i].samples,
                                      whole_ ? arranged.back().rows.size() : origin_.sets[place].samples,
                                      " of '" + ckpt::set_names(stored.sets)[i] + "'"));
  }
  sets_ = std::move(arranged);
  origin_ = stored;
  mix();
  return {};
}

/// Computes the order of samples from the sets; also that of held-out samples, so that each set has its share among the
/// first few.
void Dataset::mix() {
  mixture_.emplace(origin_);
  ckpt::DataPosition held_back;
  held_back.sets = origin_.sets;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    ckpt::MixedSet& set = held_back.sets[i];
    set.samples = set.most = sets_[i].held_back;
    set.drawn = 0;
    set.stops = false;
  }
  if (sets_.front().held_back != 0) held_back_.emplace(held_back);
}

Result<Dataset::Spot> Dataset::find(std::uint64_t sample) const {
  assert(sample >= origin_.epoch_base);
  std::uint64_t n = origin_.samples_per_epoch, number = sample - origin_.epoch_base, first_epoch = origin_.first_epoch;
  std::size_t set = 0;
  if (mixture_) {
    const std::optional<ckpt::Draw> draw = mixture_->at(sample);
    if (!draw)
      return ckpt::invalid("the data end before sample " + std::to_string(sample) + ": '" +
                           ckpt::set_names(origin_.sets)[mixture_->last_set()] + "' has given all of its epochs")
          .with_hint("give it more epochs in training.datasets, with --allow training.datasets");
    set = draw->set;
    n = origin_.sets[set].samples;
    number = draw->number;
    first_epoch = 0;
  }
  std::uint64_t index = number % n;
  if (origin_.shuffle) index = permuted_index(origin_.seed, first_epoch + number / n, index, n);
  const Set& of = sets_[set];
  if (whole_ && index >= of.rows.size()) return check_count(n, of.rows.size(), " of whole documents");
  if (whole_) return Spot{of.stream.get(), of.rows.begin(index), of.rows.tokens(index)};
  return Spot{of.stream.get(), index * origin_.sample_stride, origin_.seq_len + 1};
}

Dataset::Spot Dataset::find_validation(std::uint64_t sample) const {
  assert(sample < validation_samples_);
  const auto seq_len = static_cast<std::uint64_t>(validation_seq_len_);
  if (validation_) return {validation_.get(), sample * seq_len, seq_len + 1};
  const ckpt::Draw draw = held_back_ ? held_back_->at(sample).value_or(ckpt::Draw{}) : ckpt::Draw{0, sample};
  const Set& set = sets_[draw.set];
  return {set.stream.get(), set.tokens + draw.number * seq_len, seq_len + 1};
}

Status Dataset::sample(std::uint64_t sample, std::span<std::int64_t> out) const {
  assert(out.size() == origin_.seq_len + 1);
  TITAN_ASSIGN_OR_RETURN(const Spot spot, find(sample));
  return read_checked(spot, out);
}

Status Dataset::validation_sample(std::uint64_t sample, std::span<std::int64_t> out) const {
  assert(out.size() == static_cast<std::size_t>(validation_seq_len_) + 1);
  return read_checked(find_validation(sample), out);
}

Result<SampleMarks> Dataset::marks(std::uint64_t sample, std::span<const std::int64_t> out) const {
  if (is_plain()) return SampleMarks{};
  TITAN_ASSIGN_OR_RETURN(const Spot spot, find(sample));
  return marks_of(spot, out);
}

Result<SampleMarks> Dataset::validation_marks(std::uint64_t sample, std::span<const std::int64_t> out) const {
  return is_plain() ? SampleMarks{} : marks_of(find_validation(sample), out);
}

Result<SampleMarks> Dataset::marks_of(const Spot& spot, std::span<const std::int64_t> tokens) const {
  SampleMarks marks;
  std::vector<std::int64_t>& starts = marks.starts;
  if (documents_) {
    std::vector<std::uint64_t> found;
    TITAN_RETURN_IF_ERROR(spot.stream->starts(spot.begin, spot.begin + spot.tokens, found));
    for (const std::uint64_t place : found) starts.push_back(static_cast<std::int64_t>(place - spot.begin));
    if (spot.tokens < tokens.size()) starts.push_back(static_cast<std::int64_t>(spot.tokens));
    marks.untrained = starts;  // the first token of a document cannot be predicted from the document
  }
  std::vector<std::uint64_t> places;
  TITAN_RETURN_IF_ERROR(spot.stream->untrained(spot.begin + 1, spot.begin + spot.tokens, places));
  for (const std::uint64_t place : places) marks.untrained.push_back(static_cast<std::int64_t>(place - spot.begin));
  for (std::size_t i = spot.tokens; i < tokens.size(); ++i) marks.untrained.push_back(static_cast<std::int64_t>(i));
  std::sort(marks.untrained.begin(), marks.untrained.end());
  marks.untrained.erase(std::unique(marks.untrained.begin(), marks.untrained.end()), marks.untrained.end());
  return marks;
}

Status Dataset::read_checked(const Spot& spot, std::span<std::int64_t> out) const {
  const std::span<std::int64_t> tokens = out.first(spot.tokens);
  std::ranges::fill(out.subspan(spot.tokens), 0);
  spot.stream->read(spot.begin, tokens);
  if (spot.stream->id_bound() != 0) return {};  // checked against the vocabulary at open
  const auto vocab = static_cast<std::int64_t>(vocab_size_);
  const auto bad =
      std::find_if(tokens.begin(), tokens.end(), [vocab](std::int64_t id) { return id < 0 || id >= vocab; });
  if (bad == tokens.end()) return {};
  return ckpt::invalid(spot.stream->describe(spot.begin + static_cast<std::uint64_t>(bad - tokens.begin())) + ": id " +
                       std::to_string(*bad) + " is outside the vocabulary of " + std::to_string(vocab_size_))
      .with_hint("is training.token_dtype right, and model.vocab_size at least the tokenizer's?");
}

}  // namespace titan::train
