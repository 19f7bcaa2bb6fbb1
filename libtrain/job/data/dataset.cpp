#include "libtrain/job/data/dataset.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <filesystem>
#include <limits>

#include "ckpt/plan/same_files.h"
#include "libtrain/job/data/text_cache.h"
#include "libtrain/job/data/token_files.h"
#include "recipe/change/excluded_samples.h"
#include "recipe/keys/config.h"

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

Status check_not_run_folder(const recipe::Config& config) {
  std::error_code error;
  const std::string path = config.training.dataset_path.value_or("");
  if (!std::filesystem::equivalent(path, config.job.dump_folder, error) || error) return {};
  return ckpt::invalid("training.dataset_path: '" + path +
                       "' is also job.dump_folder, where the run writes files of its own")
      .with_hint("give the data or the run a folder of its own: --job.dump_folder=FOLDER");
}

Result<std::unique_ptr<Dataset>> Dataset::open(const recipe::Config& config, std::uint64_t seed,
                                               std::uint64_t vocab_size, std::span<const KnownFile> checked,
                                               const ckpt::CancelToken& stop) {
  const recipe::Config::Training& training = config.training;
  const std::int64_t stride = training.sample_stride.value_or(training.seq_len);
  TITAN_RETURN_IF_ERROR(check_positive("training.seq_len", training.seq_len));
  TITAN_RETURN_IF_ERROR(check_positive("training.sample_stride", stride));
  if (!training.dataset_path)
    return ckpt::invalid(training.corpus.empty() ? "training.dataset_path is not set"
                                                 : "training.dataset = \"" + training.corpus +
                                                       "\": the data are not here, and nothing is downloaded")
        .with_hint("add --training.dataset_path=FILE (a file, a folder, or a comma-separated list)");
  TITAN_ASSIGN_OR_RETURN(const TokenKind kind, token_kind(config));
  const std::string key = "training.dataset_path";
  TITAN_RETURN_IF_ERROR(check_not_run_folder(config));
  TITAN_ASSIGN_OR_RETURN(FoundFiles found, find_data_files(*training.dataset_path, key));
  TITAN_RETURN_IF_ERROR(check_token_folders(found, kind, vocab_size));
  TITAN_ASSIGN_OR_RETURN(OpenedFiles opened, open_token_files(found.paths, kind, key, checked, stop));

  std::unique_ptr<Dataset> dataset(new Dataset);
  dataset->train_ = std::move(opened.stream);
  dataset->warnings_ = std::move(opened.warnings);
  dataset->left_out_ = std::move(found.left_out);
  dataset->ends_ = std::move(opened.ends);
  dataset->doubt_ = std::move(opened.doubt);
  dataset->vocab_size_ = vocab_size;
  constexpr std::uint64_t kIdsOf16Bits = 65536;
  if (kind == TokenKind::kUint16 && opened.raw && vocab_size > kIdsOf16Bits)
    dataset->warnings_.push_back("training.token_dtype = \"uint16\" has no ids above 65535, and the vocabulary has " +
                                 std::to_string(vocab_size) + ": data of its tokenizer are uint32");
  if (dataset->train_->id_bound() > vocab_size)
    return ckpt::invalid("model.vocab_size = " + std::to_string(vocab_size) + " is smaller than the " +
                         std::to_string(dataset->train_->id_bound()) + " ids of the byte tokenizer")
        .with_hint("add --model.vocab_size=256 (or more)");

  std::uint64_t tokens = dataset->train_->size();
  TITAN_RETURN_IF_ERROR(dataset->prepare_validation(config, checked, stop, &tokens));

  ckpt::DataPosition& origin = dataset->origin_;
  origin.seed = seed;
  origin.shuffle = training.shuffle;
  origin.seq_len = static_cast<std::uint64_t>(training.seq_len);
  origin.sample_stride = static_cast<std::uint64_t>(stride);
  origin.samples_per_epoch = sample_count(tokens, origin.seq_len, origin.sample_stride);
  TITAN_ASSIGN_OR_RETURN(origin.excluded, recipe::excluded_samples(training.exclude_samples));
  origin.kind = training.dataset;
  origin.tokenizer = kind == TokenKind::kUtf8Bytes ? config.model.tokenizer : "none";
  origin.files = std::move(opened.files);
  if (origin.samples_per_epoch == 0) {
    const bool cut = tokens < dataset->train_->size();
    return too_short(cut ? "the training part of the dataset (without the held-back tail)" : "the dataset", tokens,
                     origin.seq_len, "give more data, or a smaller training.seq_len");
  }
  return dataset;
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
    TITAN_ASSIGN_OR_RETURN(OpenedFiles opened, open_token_files(found.paths, kind, key, checked, stop));
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
  origin_.samples = stored.samples;
  origin_.excluded = stored.excluded;
  origin_.epoch_base = stored.epoch_base;
  origin_.first_epoch = stored.first_epoch;
  origin_.seed = stored.seed;
  const ckpt::FileMatch match = ckpt::match_files(stored.files, origin_.files);
  if (!match.same || stored.kind != origin_.kind) return;
  if (!in_order_) train_->arrange(match.order);
  origin_.files = stored.files;
}

Status Dataset::sample(std::uint64_t sample, std::span<std::int64_t> out) const {
  assert(out.size() == origin_.seq_len + 1 && sample >= origin_.epoch_base);
  const std::uint64_t n = origin_.samples_per_epoch;
  std::uint64_t index = (sample - origin_.epoch_base) % n;
  if (origin_.shuffle) index = permuted_index(origin_.seed, epoch(sample), index, n);
  return read_checked(*train_, index * origin_.sample_stride, out);
}

Status Dataset::validation_sample(std::uint64_t sample, std::span<std::int64_t> out) const {
  const auto seq_len = static_cast<std::uint64_t>(validation_seq_len_);
  assert(out.size() == seq_len + 1 && sample < validation_samples_);
  return read_checked(validation_ ? *validation_ : *train_, validation_begin_ + sample * seq_len, out);
}

Status Dataset::read_checked(const TokenStream& stream, std::uint64_t begin, std::span<std::int64_t> out) const {
  stream.read(begin, out);
  if (stream.id_bound() != 0) return {};  // checked against the vocabulary at open
  const auto vocab = static_cast<std::int64_t>(vocab_size_);
  const auto bad = std::find_if(out.begin(), out.end(), [vocab](std::int64_t id) { return id < 0 || id >= vocab; });
  if (bad == out.end()) return {};
  return ckpt::invalid(stream.describe(begin + static_cast<std::uint64_t>(bad - out.begin())) + ": id " +
                       std::to_string(*bad) + " is outside the vocabulary of " + std::to_string(vocab_size_))
      .with_hint("is training.token_dtype right, and model.vocab_size at least the tokenizer's?");
}

}  // namespace titan::train
