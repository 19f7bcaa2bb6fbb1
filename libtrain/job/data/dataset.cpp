#include "libtrain/job/data/dataset.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "ckpt/plan/same_files.h"
#include "libtrain/job/data/text_cache.h"
#include "libtrain/job/data/token_files.h"
#include "recipe/change/excluded_samples.h"
#include "recipe/keys/config.h"
#include "recipe/plan/data_sets.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

/// Samples of seq_len + 1 tokens, `stride` apart, in `tokens` tokens.
std::uint64_t sample_count(std::uint64_t tokens, std::uint64_t seq_len, std::uint64_t stride) {
  return tokens < seq_len + 1 ? 0 : (tokens - (seq_len + 1)) / stride + 1;
}

Result<TokenKind> token_kind(const recipe::Config& config) {
  const std::string& dataset = config.training.dataset;
  if (dataset == "text") {
    if (config.model.tokenizer == "byte") return TokenKind::kUtf8Bytes;
    return ckpt::invalid("model.tokenizer = '" + config.model.tokenizer +
                         "': texts become tokens before they are read");
  }
  if (dataset != "tokens")
    return ckpt::invalid("training.dataset = '" + dataset + "' is unknown; known are text, tokens");
  const std::string& dtype = config.training.token_dtype;
  if (dtype == "uint16") return TokenKind::kUint16;
  if (dtype == "uint32") return TokenKind::kUint32;
  return ckpt::invalid("training.token_dtype = '" + dtype + "' is unknown; known are uint16, uint32");
}

Status check_positive(const std::string& key, std::int64_t value) {
  if (value >= 1) return {};
  return ckpt::invalid(key + " must be at least 1, not " + std::to_string(value));
}

Status too_short(const std::string& what, std::uint64_t tokens, std::uint64_t seq_len, const std::string& hint) {
  return ckpt::invalid(what + " has " + std::to_string(tokens) + (tokens == 1 ? " token" : " tokens") +
                       ", too short for one sample of " + std::to_string(seq_len + 1) + " (sequence length + 1)")
      .with_hint(hint);
}

}  // namespace

Status check_not_run_folder(const std::string& path, const std::string& run_folder, const std::string& key) {
  std::error_code error;
  if (!std::filesystem::equivalent(path, run_folder, error) || error) return {};
  return ckpt::invalid(key + ": '" + path + "' is also job.dump_folder, where the run writes files of its own")
      .with_hint("give the data or the run a folder of its own: --job.dump_folder=FOLDER");
}

/// A set as the configuration has it, and the key that errors name.
struct Dataset::Source {
  std::string key;
  recipe::DataSetChoice choice;
};

Result<std::unique_ptr<Dataset>> Dataset::open(const recipe::Config& config, std::uint64_t seed,
                                               std::uint64_t vocab_size, std::span<const KnownFile> checked,
                                               const ckpt::CancelToken& stop) {
  const recipe::Config::Training& training = config.training;
  const std::int64_t stride = training.sample_stride.value_or(training.seq_len);
  TITAN_RETURN_IF_ERROR(check_positive("training.seq_len", training.seq_len));
  TITAN_RETURN_IF_ERROR(check_positive("training.sample_stride", stride));
  TITAN_ASSIGN_OR_RETURN(const std::vector<recipe::DataSetChoice> choices, recipe::data_set_choices(config));
  if (!training.dataset_path && choices.empty())
    return ckpt::invalid(training.corpus.empty() ? "training.dataset_path is not set"
                                                 : "training.dataset = \"" + training.corpus +
                                                       "\": the data are not here, and nothing is downloaded")
        .with_hint("add --training.dataset_path=FILE (a file, a folder, or a comma-separated list)");
  if (!choices.empty() && training.dataset == "text" && config.model.tokenizer != "byte")
    return ckpt::unsupported("training.datasets of texts with model.tokenizer is not supported yet")
        .with_hint("`titan-ckpt tokenize` makes a folder of tokens of each: --training.dataset=tokens");
  std::vector<Source> sources;
  for (const recipe::DataSetChoice& choice : choices) sources.push_back({"training.datasets", choice});
  if (choices.empty()) sources.push_back({"training.dataset_path", {.path = *training.dataset_path}});

  std::unique_ptr<Dataset> dataset(new Dataset);
  dataset->vocab_size_ = vocab_size;
  dataset->documents_ = training.document_mask;
  dataset->whole_ = training.pack == "whole";
  dataset->plain_ = !dataset->documents_ && !dataset->whole_;
  dataset->document_end_ = training.document_end;
  ckpt::DataPosition& origin = dataset->origin_;
  origin.seed = seed;
  origin.shuffle = training.shuffle;
  origin.seq_len = static_cast<std::uint64_t>(training.seq_len);
  origin.sample_stride = static_cast<std::uint64_t>(stride);
  origin.kind = training.dataset;
  TITAN_ASSIGN_OR_RETURN(origin.excluded, recipe::excluded_samples(training.exclude_samples));
  for (const Source& source : sources) TITAN_RETURN_IF_ERROR(dataset->open_set(config, source, checked, stop));
  TITAN_RETURN_IF_ERROR(dataset->check_ids(config));
  origin.tokenizer = dataset->sets_.front().stream->id_bound() != 0 ? config.model.tokenizer : "none";

  std::uint64_t tokens = dataset->sets_.front().stream->size();
  if (!choices.empty() && config.validation.enable && !config.validation.dataset_path)
    return ckpt::unsupported("validation.holdout with training.datasets is not supported yet")
        .with_hint("give the validation data of its own: --validation.dataset_path=FILE");
  TITAN_RETURN_IF_ERROR(dataset->prepare_validation(config, checked, stop, &tokens));
  if (!choices.empty()) {
    TITAN_RETURN_IF_ERROR(dataset->mix(sources));
    return dataset;
  }
  dataset->train_tokens_ = tokens;
  TITAN_ASSIGN_OR_RETURN(origin.samples_per_epoch, dataset->count_samples(tokens, stop));
  if (origin.samples_per_epoch == 0) {
    const bool cut = tokens < dataset->sets_.front().stream->size();
    return too_short(cut ? "the training part of the dataset (without the held-back tail)" : "the dataset", tokens,
                     origin.seq_len, "give more data, or a smaller training.seq_len");
  }
  return dataset;
}

Result<std::uint64_t> Dataset::count_samples(std::uint64_t tokens, const ckpt::CancelToken& stop) {
  if (!whole_) return sample_count(tokens, origin_.seq_len, origin_.sample_stride);
  if (document_end_)
    return ckpt::unsupported("training.pack = \"whole\" with training.document_end is not supported yet")
        .with_hint("`titan-ckpt tokenize` makes a folder of tokens that says where documents end");
  if (origin_.sample_stride != origin_.seq_len)
    return ckpt::invalid("training.sample_stride is for samples that are cut, and training.pack is \"whole\"")
        .with_hint("leave training.sample_stride out");
  TITAN_ASSIGN_OR_RETURN(sets_.back().rows, PackedRows::of(*sets_.back().stream, tokens, origin_.seq_len, stop));
  return sets_.back().rows.size();
}

Result<OpenedFiles> Dataset::open_files(const FoundFiles& found, TokenKind kind, const std::string& key,
                                        std::span<const KnownFile> checked, const ckpt::CancelToken& stop) {
  std::vector<BesideTokens> beside = found.beside;
  if (!documents_ && !whole_)
    for (BesideTokens& one : beside) one.ends.clear();  // nobody asks
  TITAN_ASSIGN_OR_RETURN(OpenedFiles opened, open_token_files(found.paths, kind, key, checked, stop, beside));
  if ((whole_ || (documents_ && !document_end_)) && opened.indexed)
    return ckpt::unsupported(key + ": where the documents of Megatron's and nanotron's files end is not read yet")
        .with_hint("training.document_mask takes the id that ends documents: --training.document_end=ID");
  plain_ = plain_ && opened.stream->all_trained();
  return opened;
}

/// Opens one set behind those that are there.
Status Dataset::open_set(const recipe::Config& config, const Source& source, std::span<const KnownFile> checked,
                         const ckpt::CancelToken& stop) {
  TITAN_ASSIGN_OR_RETURN(const TokenKind kind, token_kind(config));
  TITAN_RETURN_IF_ERROR(check_not_run_folder(source.choice.path, config.job.dump_folder, source.key));
  TITAN_ASSIGN_OR_RETURN(FoundFiles found, find_data_files(source.choice.path, source.key));
  TITAN_RETURN_IF_ERROR(check_token_folders(found, kind, vocab_size_));
  TITAN_ASSIGN_OR_RETURN(OpenedFiles opened, open_files(found, kind, source.key, checked, stop));
  const auto append = [](auto& to, const auto& more) { to.insert(to.end(), more.begin(), more.end()); };
  sets_.push_back({std::move(opened.stream), {}});
  append(warnings_, opened.warnings);
  append(left_out_, found.left_out);
  append(ends_, opened.ends);
  raw_ |= opened.raw && kind != TokenKind::kUtf8Bytes;
  append(origin_.files, opened.files);
  if (doubt_.ok()) doubt_ = std::move(opened.doubt);
  if (source.key != "training.datasets") return {};
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t samples, count_samples(sets_.back().stream->size(), stop));
  if (samples == 0)
    return too_short("training.datasets: '" + source.choice.path + "'", sets_.back().stream->size(), origin_.seq_len,
                     "give more data, or a smaller training.seq_len");
  const std::filesystem::path path(source.choice.path);
  origin_.sets.push_back({.name = (path.has_filename() ? path : path.parent_path()).filename().string(),
                          .samples = samples,
                          .most = source.choice.epochs * samples,
                          .stops = source.choice.stops,
                          .files = opened.files.size()});
  origin_.samples_per_epoch += samples;
  return {};
}

/// Whether the ids of the data can be in the vocabulary.
Status Dataset::check_ids(const recipe::Config& config) {
  constexpr std::uint64_t kIdsOf16Bits = 65536;
  if (raw_ && config.training.token_dtype == "uint16" && vocab_size_ > kIdsOf16Bits)
    warnings_.push_back("training.token_dtype = \"uint16\" has no ids above 65535, and the vocabulary has " +
                        std::to_string(vocab_size_) + ": data of its tokenizer are uint32");
  const std::uint64_t bound = sets_.front().stream->id_bound();
  if (bound <= vocab_size_) return {};
  return ckpt::invalid("model.vocab_size = " + std::to_string(vocab_size_) + " is smaller than the " +
                       std::to_string(bound) + " ids of the byte tokenizer")
      .with_hint("add --model.vocab_size=256 (or more)");
}

/// Gives each set its share. What a share is does not depend on the order in which the sets are written.
Status Dataset::mix(std::span<const Source> sources) {
  std::map<std::string, std::size_t> by_contents;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto [same, is_new] = by_contents.try_emplace(ckpt::contents_of(ckpt::files_of_set(origin_, i)).hex(), i);
    if (!is_new)
      return ckpt::invalid("training.datasets: '" + sources[i].choice.path + "' has the same contents as '" +
                           sources[same->second].choice.path + "'")
          .with_hint("a set that is to be read more often has a larger weight");
  }
  std::vector<double> weights;
  for (const auto& [contents, place] : by_contents) weights.push_back(sources[place].choice.weight);
  const std::vector<std::uint64_t> shares = ckpt::shares_of(weights);
  std::size_t next = 0;
  for (const auto& [contents, place] : by_contents) {
    origin_.sets[place].share = shares[next++];
    if (origin_.sets[place].share == 0)
      return ckpt::invalid("training.datasets: the weight of '" + sources[place].choice.path +
                           "' is too small beside the others: it would never be read")
          .with_hint("give it a larger weight, or leave it out");
  }
  mixture_.emplace(origin_);
  return {};
}

/// Opens or holds back the validation tokens; `train_tokens` is the length of the stream on entry, of its training part
/// on return.
Status Dataset::prepare_validation(const recipe::Config& config, std::span<const KnownFile> checked,
                                   const ckpt::CancelToken& stop, std::uint64_t* train_tokens) {
  const recipe::Config::Validation& options = config.validation;
  if (!options.enable) return {};
  validation_seq_len_ = options.seq_len.value_or(config.training.seq_len);
  TITAN_RETURN_IF_ERROR(check_positive("validation.seq_len", validation_seq_len_));
  const auto seq_len = static_cast<std::uint64_t>(validation_seq_len_);
  if (options.dataset_path) {
    const std::string key = "validation.dataset_path";
    TITAN_ASSIGN_OR_RETURN(const TokenKind kind, token_kind(config));
    TITAN_ASSIGN_OR_RETURN(FoundFiles found, find_data_files(*options.dataset_path, key));
    TITAN_RETURN_IF_ERROR(check_token_folders(found, kind, vocab_size_));
    TITAN_ASSIGN_OR_RETURN(OpenedFiles opened, open_files(found, kind, key, checked, stop));
    validation_ = std::move(opened.stream);
    validation_files_ = std::move(opened.files);
    ends_.insert(ends_.end(), opened.ends.begin(), opened.ends.end());
    if (doubt_.ok()) doubt_ = std::move(opened.doubt);
    warnings_.insert(warnings_.end(), opened.warnings.begin(), opened.warnings.end());
    left_out_.insert(left_out_.end(), found.left_out.begin(), found.left_out.end());
    validation_samples_ = sample_count(validation_->size(), seq_len, seq_len);
    if (validation_samples_ == 0)
      return too_short("the validation dataset", validation_->size(), seq_len,
                       "give more data, or a smaller validation.seq_len");
    return count_validation(config);
  }
  if (!(options.holdout > 0 && options.holdout <= 0.5))
    return ckpt::invalid("validation.holdout must be above 0 and at most 0.5, not " + std::to_string(options.holdout));
  const auto held_back = static_cast<std::uint64_t>(std::floor(static_cast<double>(*train_tokens) * options.holdout));
  validation_samples_ = sample_count(held_back, seq_len, seq_len);
  if (validation_samples_ == 0)
    return too_short(
        "the held-back tail (validation.holdout = " + std::to_string(options.holdout) + ")", held_back, seq_len,
        "give more data, a larger validation.holdout, a smaller validation.seq_len, or validation.dataset_path");
  *train_tokens -= held_back;
  validation_begin_ = *train_tokens;
  return count_validation(config);
}

/// How many of the validation samples are read, and in how many micro-batches.
Status Dataset::count_validation(const recipe::Config& config) {
  const recipe::Config::Validation& options = config.validation;
  TITAN_RETURN_IF_ERROR(check_positive("validation.local_batch_size", options.local_batch_size));
  const auto rows = static_cast<std::uint64_t>(options.local_batch_size);
  std::uint64_t batches = validation_samples_ / rows + (validation_samples_ % rows != 0 ? 1 : 0);
  if (options.steps >= 0) batches = std::min(batches, static_cast<std::uint64_t>(options.steps));
  if (batches > std::numeric_limits<std::uint32_t>::max())
    return ckpt::invalid("one validation would take " + std::to_string(batches) + " micro-batches of " +
                         std::to_string(rows) + " samples, at most " +
                         std::to_string(std::numeric_limits<std::uint32_t>::max()) + " are possible")
        .with_hint("set validation.steps, or a larger validation.local_batch_size");
  validation_batches_ = static_cast<std::uint32_t>(batches);
  validation_read_ =
      batches == 0 ? 0 : std::min(validation_samples_ - (batches - 1) * rows, rows) + (batches - 1) * rows;
  return {};
}

std::vector<ckpt::DataFile> Dataset::files() const {
  std::vector<ckpt::DataFile> files = origin_.files;
  files.insert(files.end(), validation_files_.begin(), validation_files_.end());
  return files;
}

std::vector<KnownFile> Dataset::known() const {
  std::vector<KnownFile> known;
  for (const ckpt::DataFile& file : files()) known.push_back({file, ends_[known.size()]});
  return known;
}

void Dataset::made_of(std::span<const TextCache> caches) {
  if (caches.empty()) return;
  in_order_ = true;
  origin_.kind = "text";
  origin_.tokenizer = caches[0].tokenizer;
  origin_.files.clear();
  validation_files_.clear();
  ends_.clear();
  for (std::size_t i = 0; i < caches.size(); ++i) {
    for (const KnownFile& known : caches[i].files) {
      (i == 0 ? origin_.files : validation_files_).push_back(known.file);
      ends_.push_back(known.ends);
    }
    left_out_.insert(left_out_.end(), caches[i].left_out.begin(), caches[i].left_out.end());
  }
}

void Dataset::continue_from(const ckpt::DataPosition& stored) {
  if (mixture_) return continue_mixture(stored);
  origin_.samples = stored.samples;
  origin_.excluded = stored.excluded;
  origin_.epoch_base = stored.epoch_base;
  origin_.first_epoch = stored.first_epoch;
  origin_.seed = stored.seed;
  const ckpt::FileMatch match = ckpt::match_files(stored.files, origin_.files);
  if (!match.same || stored.kind != origin_.kind) return;
  if (!in_order_) arrange(sets_.front(), match);
  origin_.files = stored.files;
  if (whole_) origin_.samples_per_epoch = sets_.front().rows.size();
}

/// Whole documents lie in other samples where files lie in another order.
void Dataset::arrange(Set& set, const ckpt::FileMatch& match) const {
  if (!match.reordered()) return;
  set.stream->arrange(match.order);
  if (!whole_) return;
  auto rows = PackedRows::of(*set.stream, train_tokens_ != 0 ? train_tokens_ : set.stream->size(), origin_.seq_len);
  set.rows = rows.ok() ? std::move(*rows) : PackedRows();  // every sample then says that it is not there
}

/// Puts sets and files into the order of `stored`, whose sets are those that are there.
void Dataset::continue_mixture(const ckpt::DataPosition& stored) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < sets_.size(); ++i) places[ckpt::contents_of(ckpt::files_of_set(origin_, i)).hex()] = i;
  std::vector<Set> arranged;
  for (std::size_t i = 0; i < stored.sets.size(); ++i) {
    const std::span<const ckpt::DataFile> files = ckpt::files_of_set(stored, i);
    const std::size_t place = places.at(ckpt::contents_of(files).hex());
    arranged.push_back(std::move(sets_[place]));
    arrange(arranged.back(), ckpt::match_files(files, ckpt::files_of_set(origin_, place)));
  }
  sets_ = std::move(arranged);
  origin_ = stored;
  mixture_.emplace(origin_);
}

Result<Dataset::Spot> Dataset::find(std::uint64_t sample) const {
  assert(sample >= origin_.epoch_base);
  std::uint64_t n = origin_.samples_per_epoch, number = sample - origin_.epoch_base, first_epoch = origin_.first_epoch;
  std::size_t set = 0;
  if (mixture_) {
    const std::optional<ckpt::Draw> draw = mixture_->at(sample);
    if (!draw)
      return ckpt::invalid("the data end before sample " + std::to_string(sample) + ": '" +
                           origin_.sets[mixture_->last_set()].name + "' has given all of its epochs")
          .with_hint("give it more epochs in training.datasets, with --allow training.datasets");
    set = draw->set;
    n = origin_.sets[set].samples;
    number = draw->number;
    first_epoch = 0;
  }
  std::uint64_t index = number % n;
  if (origin_.shuffle) index = permuted_index(origin_.seed, first_epoch + number / n, index, n);
  const Set& of = sets_[set];
  if (whole_ && index >= of.rows.size())
    return ckpt::incompatible("the checkpoint counts " + std::to_string(n) +
                              " samples of whole documents, and the data have " + std::to_string(of.rows.size()));
  if (whole_) return Spot{of.stream.get(), of.rows.begin(index), of.rows.tokens(index)};
  return Spot{of.stream.get(), index * origin_.sample_stride, origin_.seq_len + 1};
}

Dataset::Spot Dataset::find_validation(std::uint64_t sample) const {
  assert(sample < validation_samples_);
  const auto seq_len = static_cast<std::uint64_t>(validation_seq_len_);
  return {validation_ ? validation_.get() : sets_.front().stream.get(), validation_begin_ + sample * seq_len,
          seq_len + 1};
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
    for (std::size_t i = 0; document_end_ && i + 1 < spot.tokens; ++i)
      if (tokens[i] == *document_end_) starts.push_back(static_cast<std::int64_t>(i) + 1);
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    if (spot.tokens < tokens.size()) starts.push_back(static_cast<std::int64_t>(spot.tokens));
    marks.untrained = starts;  // the first token of a document follows from nothing
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
