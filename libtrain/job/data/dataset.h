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

/// How a sample differs from a row of tokens of one document that are all trained on.
struct SampleMarks {
  std::vector<std::int64_t> starts;  ///< places at which another document begins than at the place before; ascending
  /// Places whose tokens are not trained on: the model need not predict them.
  std::vector<std::int64_t> untrained;
};

/// A read-only stream of token ids over one or more files, memory-mapped.
class TokenStream {
 public:
  virtual ~TokenStream() = default;
  virtual std::uint64_t size() const = 0;  ///< tokens
  /// Puts the stream's non-empty files into another order: `order` lists their present places in the new order.
  virtual void arrange(std::span<const std::size_t> order) = 0;
  /// Copies tokens [begin, begin + out.size()) into `out`.
  virtual void read(std::uint64_t begin, std::span<std::int64_t> out) const = 0;
  /// Appends to `starts` the places in (begin, end) at which a document begins, ascending. A document begins with each
  /// file, and where the index file next to it says so. \error kCorrupt: the index is not ascending
  virtual ckpt::Status starts(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& starts) const = 0;
  /// Appends the places in [begin, end) that are not trained on, ascending. \error as starts()
  virtual ckpt::Status untrained(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& places) const = 0;
  virtual bool all_trained() const = 0;  ///< untrained() never returns a place
  /// The largest id that can occur, plus one, if the kind of file bounds it (bytes: 256), else 0.
  virtual std::uint64_t id_bound() const = 0;
  /// Where token `position` is, for error messages: "data/b.bin, token 17".
  virtual std::string describe(std::uint64_t position) const = 0;
};

/// Refuses a training.dataset_path that is job.dump_folder: the run's files would be data at its next start. \error
/// kInvalid
ckpt::Status check_not_run_folder(const std::string& path, const std::string& run_folder, const std::string& key);

/// A data file that was read before: when the run began, or by another rank.
struct KnownFile {
  ckpt::DataFile file;
  std::optional<ckpt::Digest> ends;  ///< of its first and last block; absent: only its whole fingerprint identifies it
  bool operator==(const KnownFile&) const = default;
};

/// Samples of seq_len + 1 tokens each. Training and held-back samples come from the same files, by one position, so one
/// class has both.
class Dataset {
 public:
  /// Opens training.dataset_path (a file, a folder: its regular files sorted by name, or a comma-separated list), or
  /// the sets of training.datasets, and, if validation is enabled without a path of its own, holds back the tail of
  /// each. Relative paths are relative to the working directory. \error kInvalid: missing or empty dataset, not UTF-8
  /// (file and offset), too short for one sample, size not a multiple of the token size, a vocabulary smaller than the
  /// tokenizer's, two sets with the same contents. kUnsupported: a tokenizer or file kind that is not built yet.
  /// kInterrupted, kTerminated: `stop` is polled meanwhile. `checked`: files that were read whole and found to be text.
  /// A file with the fingerprint of one is not read again; a file with the name, size and ends of one is taken to have
  /// its fingerprint. `texts`: the tokens made of texts, for each set, then for a validation with a path of its own.
  static ckpt::Result<std::unique_ptr<Dataset>> open(const recipe::Config& config, std::uint64_t seed,
                                                     std::uint64_t vocab_size, std::span<const KnownFile> checked = {},
                                                     const ckpt::CancelToken& stop = {},
                                                     std::span<const TextCache> texts = {});

  /// Fingerprints of all files, validation's last.
  std::vector<ckpt::DataFile> files() const;
  /// files(), in the form that another rank's open() takes as `checked`. Call it before continue_from().
  std::vector<KnownFile> known() const;
  /// Position at the start: samples 0, with fingerprint.
  const ckpt::DataPosition& origin() const { return origin_; }
  std::uint64_t samples_per_epoch() const { return origin_.samples_per_epoch; }
  /// The order of a mixture; null: one set.
  const ckpt::Mixture* mixture() const { return mixture_ ? &*mixture_ : nullptr; }
  /// Counts epochs from now on as `stored` does (a dataset that changed in mid-run starts a new epoch). If the files
  /// have the contents of the files in `stored`, they are read in the order of `stored`, and origin() takes the names
  /// in `stored` too. \error kIncompatible: a pass was begun, and the files have another number of samples than
  /// `stored` counts
  ckpt::Status continue_from(const ckpt::DataPosition& stored);
  /// Epoch of global sample number `sample`.
  std::uint64_t epoch(std::uint64_t sample) const {
    return origin_.first_epoch + (sample - origin_.epoch_base) / origin_.samples_per_epoch;
  }
  /// Writes the seq_len + 1 tokens of global sample number `sample` (counted over all epochs). Thread-safe.
  /// \error kInvalid: a token id >= vocab_size (file, position), no such sample (the sets of a mixture have given all).
  ckpt::Status sample(std::uint64_t sample, std::span<std::int64_t> out) const;
  /// The marks of sample `sample`, whose tokens are in `out`.
  ckpt::Result<SampleMarks> marks(std::uint64_t sample, std::span<const std::int64_t> out) const;
  /// Whether the documents of a sample are kept apart: its marks say where they begin.
  bool keeps_documents_apart() const { return documents_; }
  /// Whether all tokens of all samples are trained on, so that marks() need not be called.
  bool is_plain() const { return plain_; }

  /// Not ok if the data can be read but are probably something else: a new run is refused, a resume continues with a
  /// warning.
  const ckpt::Status& doubt() const { return doubt_; }
  /// Files of the data that look like something else.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// What the data's folders contain besides data files: "sub (a folder)". Validation's folders come last.
  const std::vector<std::string>& left_out() const { return left_out_; }

  /// Held-back samples of validation_seq_len() + 1 tokens, in stream order, without permutation; several sets are mixed
  /// by their weights. 0 if validation is off.
  std::uint64_t validation_samples() const { return validation_samples_; }
  /// How many of them one validation reads.
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
    std::uint64_t tokens = 0;     // for training; the rest is held back
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

  bool in_order_ = false;  // origin_ names other files than those that are read; their tokens are in the stored order
  bool raw_ = false;       // some files are ids without a header
  bool unended_ = false;   // for some files nothing says where documents end
  void arrange(Set& set, const ckpt::FileMatch& match) const;

  std::vector<Set> sets_;  // one, or those of the mixture
  std::unique_ptr<TokenStream> validation_;
  std::optional<ckpt::Mixture> mixture_;
  std::optional<ckpt::Mixture> held_back_;  // the order of a mixture's held-back samples
  ckpt::DataPosition origin_;
  ckpt::Status doubt_;
  std::vector<ckpt::DataFile> validation_files_;
  std::vector<std::optional<ckpt::Digest>> ends_;  // of all files
  std::vector<std::string> warnings_, left_out_;
  std::uint64_t vocab_size_ = 0;
  bool documents_ = false, whole_ = false, plain_ = true;
  std::uint64_t validation_samples_ = 0, validation_read_ = 0;
  std::uint32_t validation_batches_ = 0;
  std::int64_t validation_seq_len_ = 0;
};

}  // namespace titan::train
