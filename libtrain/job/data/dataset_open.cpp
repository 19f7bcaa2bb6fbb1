// Opens a run's data: files, sets, held-out samples, and numbers of samples.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "ckpt/base/printed.h"
#include "ckpt/plan/same_files.h"
#include "libtrain/job/data/data_shares.h"
#include "libtrain/job/data/dataset.h"
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
  return ckpt::invalid(what + " has " + ckpt::counted(tokens, "token") + ", too short for one sample of " +
                       std::to_string(seq_len + 1) + " (sequence length + 1)")
      .with_hint(hint);
}

template <typename List>
void append(List& to, const List& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

Status check_not_run_folder(const std::string& path, const std::string& run_folder, const std::string& key) {
  std::error_code error;
  if (!std::filesystem::equivalent(path, run_folder, error) || error) return {};
  return ckpt::invalid(key + ": '" + path + "' is also job.dump_folder, where the run writes files of its own")
      .with_hint("give the data or the run a folder of its own: --job.dump_folder=FOLDER");
}

/// A set as configured, and the key that errors name.
struct Dataset::Source {
  std::string key;
  recipe::DataSetChoice choice;
  const TextCache* text = nullptr;  ///< the tokens that are read in place of the texts at its path
};

Result<std::unique_ptr<Dataset>> Dataset::open(const recipe::Config& given, std::uint64_t seed,
                                               std::uint64_t vocab_size, std::span<const KnownFile> checked,
                                               const ckpt::CancelToken& stop, std::span<const TextCache> texts) {
  const recipe::Config config = reading_tokens(given, texts);
  const recipe::Config::Training& training = config.training;
  const std::int64_t stride = training.sample_stride.value_or(training.seq_len);
  TITAN_RETURN_IF_ERROR(check_positive("training.seq_len", training.seq_len));
  TITAN_RETURN_IF_ERROR(check_positive("training.sample_stride", stride));
  TITAN_ASSIGN_OR_RETURN(const std::vector<recipe::DataSetChoice> choices, recipe::data_set_choices(given));
  if (!training.dataset_path && choices.empty())
    return ckpt::invalid(training.corpus.empty() ? "training.dataset_path is not set"
                                                 : "training.dataset = \"" + training.corpus +
                                                       "\": the data are not here, and nothing is downloaded")
        .with_hint("add --training.dataset_path=FILE (a file, a folder, or a comma-separated list)");
  std::vector<Source> sources;
  for (const recipe::DataSetChoice& choice : choices) sources.push_back({"training.datasets", choice});
  if (choices.empty()) sources.push_back({"training.dataset_path", {.path = *given.training.dataset_path}});
  for (std::size_t i = 0; i < sources.size() && !texts.empty(); ++i) sources[i].text = &texts[i];
  const TextCache* const judged = texts.size() > sources.size() ? &texts.back() : nullptr;

  std::unique_ptr<Dataset> dataset(new Dataset);
  dataset->vocab_size_ = vocab_size;
  dataset->documents_ = training.document_mask;
  dataset->whole_ = training.pack == "whole";
  dataset->plain_ = !dataset->documents_ && !dataset->whole_;
  dataset->in_order_ = !texts.empty();
  ckpt::DataPosition& origin = dataset->origin_;
  origin.seed = seed;
  origin.shuffle = training.shuffle;
  origin.seq_len = static_cast<std::uint64_t>(training.seq_len);
  origin.sample_stride = static_cast<std::uint64_t>(stride);
  origin.kind = given.training.dataset;
  TITAN_ASSIGN_OR_RETURN(origin.excluded, recipe::excluded_samples(training.exclude_samples));
  for (const Source& source : sources) TITAN_RETURN_IF_ERROR(dataset->open_set(config, source, checked, stop));
  TITAN_RETURN_IF_ERROR(dataset->check_ids(config));
  const bool bytes = dataset->sets_.front().stream->id_bound() != 0;
  origin.tokenizer = !texts.empty() ? texts[0].tokenizer : bytes ? config.model.tokenizer : "none";
  TITAN_RETURN_IF_ERROR(dataset->prepare_validation(config, sources, judged, checked, stop));
  TITAN_RETURN_IF_ERROR(dataset->count_sets(sources, stop));
  if (choices.empty()) return dataset;
  TITAN_RETURN_IF_ERROR(share_out(choices, origin));
  dataset->mix();
  return dataset;
}

Result<OpenedFiles> Dataset::open_files(const recipe::Config& config, const std::string& path, const std::string& key,
                                        std::span<const KnownFile> checked, const ckpt::CancelToken& stop,
                                        const TextCache* text) {
  TITAN_ASSIGN_OR_RETURN(const TokenKind kind, token_kind(config));
  TITAN_ASSIGN_OR_RETURN(FoundFiles found, find_data_files(text != nullptr ? text->folder : path, key));
  TITAN_RETURN_IF_ERROR(check_token_folders(found, kind, vocab_size_));
  const DocumentRule rule{documents_ || whole_, config.training.document_end};
  TITAN_ASSIGN_OR_RETURN(OpenedFiles opened,
                         open_token_files(found.paths, kind, key, checked, stop, found.sidecars, rule));
  if (text != nullptr) {  // a token folder is identified by the texts that it was made of
    opened.files = text->files;
    found.left_out = text->left_out;
  }
  plain_ = plain_ && opened.stream->all_trained();
  unended_ |= opened.unended;
  append(warnings_, opened.warnings);
  if (!found.twice.empty()) warnings_.push_back(key + ": read as often as named: " + ckpt::first_few(found.twice));
  append(left_out_, found.left_out);
  append(known_, opened.files);
  if (doubt_.ok()) doubt_ = opened.doubt;
  return opened;
}

/// Opens one set and appends it.
Status Dataset::open_set(const recipe::Config& config, const Source& source, std::span<const KnownFile> checked,
                         const ckpt::CancelToken& stop) {
  TITAN_RETURN_IF_ERROR(check_not_run_folder(source.choice.path, config.job.dump_folder, source.key));
  TITAN_ASSIGN_OR_RETURN(OpenedFiles opened,
                         open_files(config, source.choice.path, source.key, checked, stop, source.text));
  raw_ |= opened.raw && config.training.dataset == "tokens";
  for (const KnownFile& known : opened.files) origin_.files.push_back(known.file);
  const std::uint64_t tokens = opened.stream->size();
  sets_.push_back({std::move(opened.stream), {}, tokens});
  if (source.key != "training.datasets") return {};
  origin_.sets.push_back(set_of(source.choice, 0, opened.files.size()));
  return {};
}

/// Counts the samples of each set, once the held-out part is known.
Status Dataset::count_sets(std::span<const Source> sources, const ckpt::CancelToken& stop) {
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    Set& set = sets_[i];
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t samples, count_samples(set, stop));
    const bool cut = set.tokens < set.stream->size(), mixed = !origin_.sets.empty();
    const std::string what = mixed ? "training.datasets: '" + sources[i].choice.path + "'" : "the dataset";
    if (samples == 0)
      return too_short(cut ? "the training part of " + what + " (without the held-back tail)" : what, set.tokens,
                       origin_.seq_len, "give more data, or a smaller training.seq_len");
    origin_.samples_per_epoch += samples;
    if (!mixed) continue;
    origin_.sets[i] = set_of(sources[i].choice, samples, origin_.sets[i].files);
  }
  return {};
}

Result<std::uint64_t> Dataset::count_samples(Set& set, const ckpt::CancelToken& stop) const {
  if (!whole_) return sample_count(set.tokens, origin_.seq_len, origin_.sample_stride);
  if (origin_.sample_stride != origin_.seq_len)
    return ckpt::invalid("training.sample_stride is for samples that are cut, and training.pack is \"whole\"")
        .with_hint("leave training.sample_stride out");
  TITAN_ASSIGN_OR_RETURN(set.rows, PackedRows::of(*set.stream, set.tokens, origin_.seq_len, stop));
  return set.rows.size();
}

namespace {

/// Whether the end-of-document id can occur in the data.
Status doubt_of_end(const std::optional<std::int64_t>& end, std::uint64_t vocab_size) {
  if (!end || static_cast<std::uint64_t>(*end) < vocab_size) return {};
  return ckpt::invalid("training.document_end = " + std::to_string(*end) + " is outside the vocabulary of " +
                       std::to_string(vocab_size) + ": no document would end")
      .with_hint("give the tokenizer's id of the end of a text, or leave it out");
}

}  // namespace

/// Whether the ids of the data can be in the vocabulary, and whether document settings have an effect.
Status Dataset::check_ids(const recipe::Config& config) {
  const std::optional<std::int64_t>& end = config.training.document_end;
  if (doubt_.ok()) doubt_ = doubt_of_end(end, vocab_size_);
  if (end && !documents_ && !whole_)
    warnings_.push_back(
        "training.document_end has no effect without training.document_mask and with training.pack = \"cut\"");
  if (unended_ && !end)
    warnings_.push_back(std::string(documents_ ? "training.document_mask" : "training.pack = \"whole\"") +
                        ": nothing says where documents end in some files of ids, each of which is then one document; "
                        "training.document_end names the id");
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

/// Opens the validation tokens, or holds out the tail of each set.
Status Dataset::prepare_validation(const recipe::Config& config, std::span<const Source> sources, const TextCache* text,
                                   std::span<const KnownFile> checked, const ckpt::CancelToken& stop) {
  const recipe::Config::Validation& options = config.validation;
  if (!options.enable) return {};
  validation_seq_len_ = options.seq_len.value_or(config.training.seq_len);
  TITAN_RETURN_IF_ERROR(check_positive("validation.seq_len", validation_seq_len_));
  const auto seq_len = static_cast<std::uint64_t>(validation_seq_len_);
  if (options.dataset_path) {
    TITAN_ASSIGN_OR_RETURN(OpenedFiles opened,
                           open_files(config, *options.dataset_path, "validation.dataset_path", checked, stop, text));
    validation_ = std::move(opened.stream);
    for (const KnownFile& known : opened.files) validation_files_.push_back(known.file);
    validation_samples_ = sample_count(validation_->size(), seq_len, seq_len);
    if (validation_samples_ == 0)
      return too_short("the validation dataset", validation_->size(), seq_len,
                       "give more data, or a smaller validation.seq_len");
    return count_validation(config);
  }
  if (!(options.holdout > 0 && options.holdout <= 0.5))
    return ckpt::invalid("validation.holdout must be above 0 and at most 0.5, not " + std::to_string(options.holdout));
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    Set& set = sets_[i];
    const auto held_back = static_cast<std::uint64_t>(std::floor(static_cast<double>(set.tokens) * options.holdout));
    set.held_back = sample_count(held_back, seq_len, seq_len);
    if (set.held_back == 0)
      return too_short(
          "the held-back tail " + (origin_.sets.empty() ? "" : "of '" + sources[i].choice.path + "' ") +
              "(validation.holdout = " + std::to_string(options.holdout) + ")",
          held_back, seq_len,
          "give more data, a larger validation.holdout, a smaller validation.seq_len, or validation.dataset_path");
    set.tokens -= held_back;
    validation_samples_ += set.held_back;
  }
  return count_validation(config);
}

/// Computes how many validation samples are read, and in how many micro-batches.
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

}  // namespace titan::train
