#pragma once
// The data of a run: token streams that are cut into samples, in another order each epoch. The state of reading is one
// number, the samples taken so far by all ranks.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"
#include "ckpt/plan/mixture.h"
#include "libtrain/job/data/packed_rows.h"

namespace titan::ckpt {
struct FileMatch;
}

namespace titan::recipe {
struct Config;
}

namespace titan::train {

struct TextCache;
struct OpenedFiles;

/// What training needs to know about a sample besides its tokens: where documents begin, and which tokens have no loss.
struct SampleMarks {
  std::vector<std::int64_t> starts;  ///< positions of tokens with which another document begins; ascending
  /// Positions of tokens that are not trained on (loss mask).
  std::vector<std::int64_t> untrained;
};

/// A read-only stream of token ids over one or more files, memory-mapped.
class TokenStream {
 public:
  virtual ~TokenStream() = default;
  virtual std::uint64_t size() const = 0;  ///< number of tokens
  /// Reorders the stream's non-empty files: `order` lists their present indexes in the new order.
  virtual void arrange(std::span<const std::size_t> order) = 0;
  /// Copies tokens [begin, begin + out.size()) into `out`.
  virtual void read(std::uint64_t begin, std::span<std::int64_t> out) const = 0;
  /// Appends to `starts` the positions in (begin, end) at which a document begins, ascending. A document begins with
  /// each file, where the file of document ends next to it says so, and after each id training.document_end. \error
  /// kCorrupt: the document ends do not ascend, or are beyond the file
  virtual ckpt::Status starts(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& starts) const = 0;
  /// Appends the positions in [begin, end) that are not trained on, ascending. \error kCorrupt, as starts()
  virtual ckpt::Status untrained(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& places) const = 0;
  virtual bool all_trained() const = 0;  ///< untrained() never returns a position
  /// Upper bound of ids (exclusive), if the kind of file implies one (bytes: 256); else 0.
  virtual std::uint64_t id_bound() const = 0;
  /// The location of token `position`, for error messages: "data/b.bin, token 17".
  virtual std::string describe(std::uint64_t position) const = 0;
};

/// Refuses a training.dataset_path that is job.dump_folder, since the run's own files would be data at its next start.
/// \error kInvalid
ckpt::Status check_not_run_folder(const std::string& path, const std::string& run_folder, const std::string& key);

/// A data file that was read before, at an earlier start or by another rank.
struct KnownFile {
  ckpt::DataFile file;
  std::optional<ckpt::Digest> ends;  ///< digest of its first and last 4 KiB; absent for small files
  bool alone = false;  ///< the files that belong to it came after the run began, and the run does not use them
  bool operator==(const KnownFile&) const = default;
};

/// The samples of a run, of seq_len + 1 tokens each: those for training and those for validation. One class has both,
/// since validation samples may be the tail of the training files.
class Dataset {
 public:
  /// Opens training.dataset_path (find_data_files() has its forms), or the sets of training.datasets. If validation is
  /// enabled without a path of its own, the tail of each set is held out. Relative paths are relative to the working
  /// directory. `stop` is polled meanwhile. `checked`: files that an earlier start or another rank has checked;
  /// open_token_files() says what is not read again. `texts`: the tokens made of texts, for each set, then for a
  /// validation with a path of its own. \error kInvalid: missing or empty dataset, not UTF-8 (file and offset), too
  /// short for one sample, size not a multiple of the token size, a vocabulary smaller than the tokenizer's, two sets
  /// with the same contents; kUnsupported: an index of another version, or too many samples of whole documents;
  /// kCorrupt: a damaged index or file of document ends; kFailed; kInterrupted, kTerminated (by `stop`)
  static ckpt::Result<std::unique_ptr<Dataset>> open(const recipe::Config& config, std::uint64_t seed,
                                                     std::uint64_t vocab_size, std::span<const KnownFile> checked = {},
                                                     const ckpt::CancelToken& stop = {},
                                                     std::span<const TextCache> texts = {});

  /// Fingerprints of all files; the files of validation come last.
  std::vector<ckpt::DataFile> files() const;
  /// The files as they were opened, for `checked` in another rank's open().
  const std::vector<KnownFile>& known() const { return known_; }
  /// The data position at which this start begins, with the fingerprints of the files: sample 0, or the position that
  /// continue_from() was given.
  const ckpt::DataPosition& origin() const { return origin_; }
  std::uint64_t samples_per_epoch() const { return origin_.samples_per_epoch; }
  /// The order of a mixture; null for a single set.
  const ckpt::Mixture* mixture() const { return mixture_ ? &*mixture_ : nullptr; }
  /// Makes the dataset continue at `stored` and count epochs as `stored` does (a changed dataset starts a new epoch).
  /// If the files have the contents of the files in `stored`, they are read in the order of `stored`, and origin() has
  /// the names in `stored`.
  /// \error kIncompatible: these files have another number of samples than `stored` says, and samples were already read
  /// from them (for a mixture also if none was read)
  ckpt::Status continue_from(const ckpt::DataPosition& stored);
  /// Epoch of global sample number `sample`.
  std::uint64_t epoch(std::uint64_t sample) const {
    return origin_.first_epoch + (sample - origin_.epoch_base) / origin_.samples_per_epoch;
  }
  /// Writes the seq_len + 1 tokens of global sample number `sample` (counted over all epochs). Thread-safe.
  /// \error kInvalid: a token id that is negative or >= vocab_size (file, position), no such sample (the sets of a
  /// mixture have no more samples)
  ckpt::Status sample(std::uint64_t sample, std::span<std::int64_t> out) const;
  /// The marks of sample `sample`, whose tokens are in `out`.
  ckpt::Result<SampleMarks> marks(std::uint64_t sample, std::span<const std::int64_t> out) const;
  /// Whether attention stays within documents (document masking): marks then say where documents begin.
  bool keeps_documents_apart() const { return documents_; }
  /// Whether all tokens of all samples are trained on, so that marks() need not be called.
  bool is_plain() const { return plain_; }

  /// Not ok if the data can be read but are probably something else: a new run is refused; a resume continues with a
  /// warning.
  const ckpt::Status& doubt() const { return doubt_; }
  /// Warnings about data files that look like something else.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Ignored contents of the data's folders: "sub (a folder)". The folders of validation come last.
  const std::vector<std::string>& left_out() const { return left_out_; }

  /// The number of validation samples, of validation_seq_len() + 1 tokens each; 0 if validation is off. They are in
  /// stream order; those held out of several sets are mixed by the weights of the sets.
  std::uint64_t validation_samples() const { return validation_samples_; }
  /// The number of validation samples that one validation reads.
  std::uint64_t validation_read() const { return validation_read_; }
  /// ceil(validation_read() / validation.local_batch_size).
  std::uint32_t validation_batches() const { return validation_batches_; }
  std::int64_t validation_seq_len() const { return validation_seq_len_; }
  ckpt::Status validation_sample(std::uint64_t sample, std::span<std::int64_t> out) const;
  ckpt::Result<SampleMarks> validation_marks(std::uint64_t sample, std::span<const std::int64_t> out) const;

 private:
  Dataset() = default;
  struct Source;
  struct Set {
    std::unique_ptr<TokenStream> stream;
    PackedRows rows;              // if samples are whole documents, else empty
    std::uint64_t tokens = 0;     // for training; the rest is held out
    std::uint64_t held_back = 0;  // samples
  };
  ckpt::Status open_set(const recipe::Config& config, const Source& source, std::span<const KnownFile> checked,
                        const ckpt::CancelToken& stop);
  /// Opens the files of training or validation, and notes what else is in their folders.
  ckpt::Result<OpenedFiles> open_files(const recipe::Config& config, const std::string& path, const std::string& key,
                                       std::span<const KnownFile> checked, const ckpt::CancelToken& stop,
                                       const TextCache* text);
  ckpt::Status prepare_validation(const recipe::Config& config, std::span<const Source> sources, const TextCache* text,
                                  std::span<const KnownFile> checked, const ckpt::CancelToken& stop);
  ckpt::Status count_validation(const recipe::Config& config);
  ckpt::Status count_sets(std::span<const Source> sources, const ckpt::CancelToken& stop);
  ckpt::Result<std::uint64_t> count_samples(Set& set, const ckpt::CancelToken& stop) const;
  void mix();
  ckpt::Status continue_mixture(const ckpt::DataPosition& stored);
  ckpt::Status check_ids(const recipe::Config& config);
  /// Where a sample is in the stream of its set. A sample shorter than seq_len + 1 tokens is padded.
  struct Spot {
    const TokenStream* stream = nullptr;
    std::uint64_t begin = 0, tokens = 0;
  };
  ckpt::Result<Spot> find(std::uint64_t sample) const;
  Spot find_validation(std::uint64_t sample) const;
  ckpt::Result<SampleMarks> marks_of(const Spot& spot, std::span<const std::int64_t> tokens) const;
  ckpt::Status read_checked(const Spot& spot, std::span<std::int64_t> out) const;

  bool in_order_ = false;  // the streams are token folders made of texts; origin_ has the texts, whose tokens are in
                           // the stored order already
  bool raw_ = false;       // some files are ids without a header
  bool unended_ = false;   // for some files the end of documents is not known
  void arrange(Set& set, const ckpt::FileMatch& match) const;

  std::vector<Set> sets_;  // one, or those of the mixture
  std::unique_ptr<TokenStream> validation_;
  std::optional<ckpt::Mixture> mixture_;
  std::optional<ckpt::Mixture> held_back_;  // the order of a mixture's held-out samples
  ckpt::DataPosition origin_;
  ckpt::Status doubt_;
  std::vector<ckpt::DataFile> validation_files_;
  std::vector<KnownFile> known_;  // of all files
  std::vector<std::string> warnings_, left_out_;
  std::uint64_t vocab_size_ = 0;
  bool documents_ = false, whole_ = false, plain_ = true;
  std::uint64_t validation_samples_ = 0, validation_read_ = 0;
  std::uint32_t validation_batches_ = 0;
  std::int64_t validation_seq_len_ = 0;
};

}  // namespace titan::train
