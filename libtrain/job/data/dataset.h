#pragma once
// Training data as one token stream, samples as a per-epoch permutation of a global index, state as one number.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

struct TextCache;

/// A read-only stream of token ids over one or more files, memory-mapped.
class TokenStream {
 public:
  virtual ~TokenStream() = default;
  virtual std::uint64_t size() const = 0;  ///< tokens
  /// Puts its files that are not empty into another order: `order` has the place of each as they are now.
  virtual void arrange(std::span<const std::size_t> order) = 0;
  /// Copies tokens [begin, begin + out.size()) into `out`.
  virtual void read(std::uint64_t begin, std::span<std::int64_t> out) const = 0;
  /// Largest id that can occur, plus one, where the kind of file bounds it (bytes: 256), else 0.
  virtual std::uint64_t id_bound() const = 0;
  /// Where token `position` stands, for error messages: "data/b.bin, token 17".
  virtual std::string describe(std::uint64_t position) const = 0;
};

/// Refuses training.dataset_path where it is job.dump_folder: files of the run would be data at its next start. \error
/// kInvalid
ckpt::Status check_not_run_folder(const recipe::Config& config);

/// The index of sample number `i` (< n) of `epoch` in a keyed permutation of [0, n): O(1) memory, no state.
/// The mapping is part of the checkpoint format's contract and never changes (permutation.cpp says what it is).
std::uint64_t permuted_index(std::uint64_t seed, std::uint64_t epoch, std::uint64_t i, std::uint64_t n);

/// A data file that was read before: when the run began, or by another rank.
struct KnownFile {
  ckpt::DataFile file;
  std::optional<ckpt::Digest>
      ends;  ///< of its first and last block; absent: only all of its blocks tell that it is this
  bool operator==(const KnownFile&) const = default;
};

/// Samples of seq_len + 1 tokens each.
class Dataset {
 public:
  /// Opens training.dataset_path (a file, a folder: its regular files sorted by name, or a comma-separated list) and,
  /// with validation enabled and no path of its own, holds the tail back. Relative paths are relative to the working
  /// directory.
  /// \error kInvalid: missing or empty dataset, not UTF-8 (file and offset), too short for one sample, size not a
  /// multiple of the token size, a vocabulary smaller than the tokenizer's. kUnsupported: a tokenizer or file kind not
  /// built yet.
  /// `checked`: files that were read whole and found to be text. What has the fingerprint of one is not read again;
  /// what has the name, size and ends of one has its fingerprint. `stop` is polled meanwhile: kInterrupted,
  /// kTerminated.
  static ckpt::Result<std::unique_ptr<Dataset>> open(const recipe::Config& config, std::uint64_t seed,
                                                     std::uint64_t vocab_size, std::span<const KnownFile> checked = {},
                                                     const ckpt::CancelToken& stop = {});

  /// Says that its tokens were made of texts: `caches` of training, then of a validation with a path of its own. Before
  /// continue_from().
  void made_of(std::span<const TextCache> caches);

  /// Fingerprints of all files, validation's last.
  std::vector<ckpt::DataFile> files() const;
  /// The same as another rank may know them. Before continue_from().
  std::vector<KnownFile> known() const;
  /// Position at the start: samples 0, with fingerprint.
  const ckpt::DataPosition& origin() const { return origin_; }
  std::uint64_t samples_per_epoch() const { return origin_.samples_per_epoch; }
  /// Counts epochs from here on as `stored` does (a dataset that changed in mid-run starts a new epoch). Files whose
  /// contents are those of `stored` are read in the order of `stored`; origin() takes its names too.
  void continue_from(const ckpt::DataPosition& stored);
  /// Epoch of global sample number `sample`.
  std::uint64_t epoch(std::uint64_t sample) const {
    return origin_.first_epoch + (sample - origin_.epoch_base) / origin_.samples_per_epoch;
  }
  /// Writes the seq_len + 1 tokens of global sample number `sample` (counted over all epochs). Thread-safe.
  /// \error kInvalid: a token id >= vocab_size (file, position).
  ckpt::Status sample(std::uint64_t sample, std::span<std::int64_t> out) const;

  /// Not ok where the data can be read but are hardly meant: a new run is refused, a resume continues with a warning.
  const ckpt::Status& doubt() const { return doubt_; }
  /// What of the data looks like something else.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// What the folders of the data hold beside files: "sub (a folder)". Validation's folders come last.
  const std::vector<std::string>& left_out() const { return left_out_; }

  /// Held-back samples of validation_seq_len() + 1 tokens, in stream order, without permutation; 0 when validation is
  /// off.
  std::uint64_t validation_samples() const { return validation_samples_; }
  /// Those that one validation reads; validation_batches() has their micro-batches.
  std::uint64_t validation_read() const { return validation_read_; }
  /// ceil(validation_read() / validation.local_batch_size).
  std::uint32_t validation_batches() const { return validation_batches_; }
  std::int64_t validation_seq_len() const { return validation_seq_len_; }
  ckpt::Status validation_sample(std::uint64_t sample, std::span<std::int64_t> out) const;

 private:
  Dataset() = default;
  ckpt::Status prepare_validation(const recipe::Config& config, std::span<const KnownFile> checked,
                                  const ckpt::CancelToken& stop, std::uint64_t* train_tokens);
  ckpt::Status count_validation(const recipe::Config& config);
  ckpt::Status read_checked(const TokenStream& stream, std::uint64_t begin, std::span<std::int64_t> out) const;

  std::unique_ptr<TokenStream> train_, validation_;
  bool in_order_ = false;  // the files of origin_ are not those of train_, and its tokens are in their stored order
  ckpt::DataPosition origin_;
  ckpt::Status doubt_;
  std::vector<ckpt::DataFile> validation_files_;
  std::vector<std::optional<ckpt::Digest>> ends_;  // of all files
  std::vector<std::string> warnings_, left_out_;
  std::uint64_t vocab_size_ = 0;
  std::uint64_t validation_begin_ = 0, validation_samples_ = 0, validation_read_ = 0;
  std::uint32_t validation_batches_ = 0;
  std::int64_t validation_seq_len_ = 0;
};

}  // namespace titan::train
