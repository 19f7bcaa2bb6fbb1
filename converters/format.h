#pragma once
// The interface of every foreign checkpoint format. A format recognises its files, opens them as tensors that can be
// read in any range, and writes them from a Titan checkpoint. A format does not move data: import.h and export.h do
// that, one leaf at a time, for all formats.
//
// Foreign files are not trusted and nothing in them is executed: sizes are checked before memory is allocated, and
// paths cannot leave the folder.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/model/data_position.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/tensor_meta.h"
#include "ckpt/model/train_state.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "converters/model_agreement.h"
#include "converters/report.h"
#include "converters/skip_rules.h"
#include "recipe/change/name_rules.h"

namespace titan::ckpt {
class Fs;
struct DirEntry;
}  // namespace titan::ckpt

namespace titan::convert {

using ckpt::CheckpointReader;
using ckpt::DType;
using ckpt::Fs;
using ckpt::Result;
using ckpt::Settings;
using ckpt::Status;

/// One tensor as the format stores it: its own name, its own dtype, row-major.
struct ForeignTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes() const { return ckpt::element_count(shape) * ckpt::dtype_size(dtype); }
  bool operator==(const ForeignTensor&) const = default;
};

/// The rows of one parameter within a tensor that interleaves several projections in blocks, such as a fused QKV
/// projection: `rows` rows out of each `period`, from row `first` on. In a tensor of [experts, rows, columns], rows are
/// counted over all experts.
struct RowBlocks {
  std::uint64_t rows = 0, period = 0, first = 0;  ///< rows 0: all rows
  bool operator==(const RowBlocks&) const = default;
};

/// The source of one tensor of a Titan checkpoint.
struct TensorPlan {
  ckpt::TensorRef ref;     ///< `index` into ImportPlan::parameters
  std::size_t source = 0;  ///< index into ForeignCheckpoint::tensors(); its dtype is kept unless `widened`
  /// number of rows of a head, if the rows are in rotate-half order (Hugging Face's) and must be reordered to Titan's
  /// interleaved order (ckpt/model/rope_permutation.h); 0: the order stays
  std::uint64_t head_dim = 0;
  bool widened = false;  ///< converted to float32, which represents every value of the source's type
  RowBlocks blocks{};    ///< if `source` has more rows than the parameter: which of them; else the shapes are equal
  bool operator==(const TensorPlan&) const = default;
};

/// A file that travels with the model (tokenizer and the like), from the foreign folder into `hf/` of the Titan
/// checkpoint and back.
struct Companion {
  std::string path;                    ///< the file to read
  std::string name;                    ///< base name
  std::optional<ckpt::Digest> digest;  ///< of its bytes, if known: for a member of a Titan checkpoint
  std::string text{};                  ///< its content, if `path` is empty: it was made from another file
  bool operator==(const Companion&) const = default;
};

/// How to convert a foreign checkpoint to a Titan checkpoint: a pure value. It is made without reading tensors, except
/// small ones (Adam's steps, a RoPE table) and a tied head that is stored twice, whose two copies are compared.
struct ImportPlan {
  std::vector<ckpt::ParameterMeta> parameters;  ///< Titan's names in model order, stage 0
  /// All parameters, and either the slots of all parameters or none. With ImportOptions::look: those that exist.
  std::vector<TensorPlan> tensors;
  Settings config;  ///< ascending by key; has keys "model.*" if the model is known (recipe/model/manifest_dims.h)
  std::uint64_t step = 0;
  std::uint32_t data_ranks = 1;                ///< number of ranks that trained the model on different data
  std::vector<std::uint64_t> optimizer_steps;  ///< Adam's `step` per parameter, if there are slots
  std::optional<ckpt::LrSchedule> lr;          ///< a component, as `data` and `train` are; an absent one is not written
  std::optional<ckpt::DataPosition> data;
  std::optional<ckpt::TrainState> train;  ///< train->step == step
  std::vector<Companion> companions;
  std::vector<TensorReport> report;  ///< one entry per source tensor, and one for a tied head without a tensor
  std::vector<std::string> notes;
  std::vector<std::string> left_out;  ///< names of tensors that ImportOptions::look left out of `tensors`
};

struct ImportOptions {
  std::vector<std::string> skip;  ///< globs of foreign tensors to skip
  /// from a configuration file that the user named: dotted key -> TOML text. With `look` (below), formats use only the
  /// values that reading needs, for example the number of heads
  std::optional<Settings> config;
  Comparison comparison;  ///< how the configuration is compared with the source's model
  /// The checkpoint is only inspected, or only its model is taken. Tensors without a place in a Titan checkpoint are
  /// then left out, not refused.
  bool look = false;
  /// With `look`, if the number of heads is not known: moments are shown as stored, under the names of their tensors,
  /// instead of being left out.
  bool whole_moments = false;
  /// The result is written as a Titan checkpoint: optimizer state and its weights are widened to float32, which a
  /// resume needs.
  bool widen = false;
  recipe::NameRules
      rules;  ///< applied to the names in the file before the format maps them (`rules.create` has no effect here)
};

/// Called with bytes of tensors done so far, and in total. An error from it ends the work.
using Progress = std::function<Status(std::uint64_t done, std::uint64_t total)>;

/// An open foreign checkpoint.
class ForeignCheckpoint {
 public:
  explicit ForeignCheckpoint(std::string path) : path_(std::move(path)) {}
  virtual ~ForeignCheckpoint() = default;
  const std::string& path() const { return path_; }
  /// All tensors, in a fixed order (the file's, or by name).
  const std::vector<ForeignTensor>& tensors() const { return tensors_; }
  /// Reads elements [first, first + out.size() / element size) of `tensor`. Thread-safe. \error kCorrupt, kMediaError,
  /// kFailed
  virtual Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const = 0;
  /// Maps everything to Titan's names. \error kUnsupported (a model that Titan cannot express; names what is missing),
  /// kIncompatible (shapes that do not agree, tensors missing or left over, a configuration that contradicts the
  /// files), kInvalid (a skip pattern that matches nothing), kCorrupt, kMediaError, kFailed (a file that the plan
  /// needs)
  virtual Result<ImportPlan> plan(const ImportOptions& options) const = 0;
  /// Reads every byte once and checks what the format allows: sizes, and checksums if it has any. Damage is in the
  /// report, not an error. The report's note says what cannot be checked.
  virtual Result<ckpt::VerifyReport> verify(const Progress& progress) const = 0;

 protected:
  const std::string path_;
  std::vector<ForeignTensor> tensors_;
};

/// The naming scheme and row order of the tensors in a DCP directory that is written.
enum class DcpNames {
  kTorchtitan,       ///< torchtitan 0.2.2's names
  kNewerTorchtitan,  ///< torchtitan 0.3.0's names
  kHuggingface,
};

struct ExportOptions {
  std::vector<std::string> skip;  ///< shell patterns of Titan's tensors to leave out
  std::optional<DType> dtype;     ///< cast floating-point parameters
  bool q8_0 = false;              ///< gguf: quantise floating-point parameters to q8_0
  /// limit for a file, if the format has several; a larger tensor gets its own file
  std::uint64_t max_shard_bytes = 5'000'000'000;
  bool untie = false;                      ///< write a tied head as a separate tensor
  bool lr_from_config = false;             ///< DCP: take the LR schedule from the configuration
  DcpNames names = DcpNames::kTorchtitan;  ///< DCP only
  std::optional<Settings> config;          ///< as in ImportOptions
  std::vector<Companion> companions;       ///< Hugging Face companion files of the model
};

/// Writes a foreign checkpoint. All decisions are made at creation; write() only writes.
class ForeignWriter {
 public:
  /// `source` must outlive it.
  ForeignWriter(const CheckpointReader& source, const ExportOptions& options);
  virtual ~ForeignWriter() = default;
  const std::vector<TensorReport>& report() const { return report_; }
  const std::vector<std::string>& notes() const { return notes_; }
  virtual std::uint64_t bytes() const { return bytes_; }  ///< of all tensors
  const Rounding& rounding() const { return rounding_; }  ///< rounding errors of casts, after write()
  /// Writes every file into the empty folder `folder` and makes each durable; the caller syncs the folder. Memory: a
  /// few MiB. \error kCorrupt, kMediaError (the source), kUnsupported (a value that Q8_0 cannot hold), kFailed
  virtual Status write(Fs& fs, const std::string& folder, const Progress& progress) = 0;

 protected:
  const CheckpointReader& source_;
  const ckpt::Manifest& manifest_;
  ExportOptions options_;
  SkipRules skip_;
  std::vector<TensorReport> report_;
  std::vector<std::string> notes_;
  Rounding rounding_;
  std::uint64_t bytes_ = 0;
};

/// Makes a writer of type Writer and calls its plan(fs). \error as Writer::plan
template <typename Writer>
Result<std::unique_ptr<ForeignWriter>> planned(Fs& fs, const CheckpointReader& source, const ExportOptions& options) {
  auto writer = std::make_unique<Writer>(source, options);
  TITAN_RETURN_IF_ERROR(writer->plan(fs));
  return std::unique_ptr<ForeignWriter>(std::move(writer));
}

/// Makes a checkpoint of type Checkpoint and calls its open(). \error as Checkpoint::open
template <typename Checkpoint, typename... Given>
Result<std::unique_ptr<ForeignCheckpoint>> opened(Fs& fs, const Given&... given) {
  auto checkpoint = std::make_unique<Checkpoint>(fs, given...);
  TITAN_RETURN_IF_ERROR(checkpoint->open());
  return std::unique_ptr<ForeignCheckpoint>(std::move(checkpoint));
}

class Format {
 public:
  virtual ~Format() = default;
  virtual const char* name() const = 0;         ///< as in --from and --to: "hf", "dcp", "gguf"
  virtual const char* title() const = 0;        ///< for messages: "Hugging Face safetensors"
  virtual bool writes() const { return true; }  ///< false: read only
  /// Whether the file names at `path` look like this format; no header is parsed. \error kUnsupported (a folder, a pipe
  /// or a dead link in the place of a file), kMediaError, kFailed
  virtual Result<bool> probe(Fs& fs, const std::string& path) const = 0;
  /// Explains why `path` is not a checkpoint of this format, if its file names show that it was meant to be one: for
  /// example, safetensors files without their index. \error kNotFound, kIncompatible: what is missing; ok: nothing to
  /// explain
  virtual Status near_miss(Fs&, const std::string& /*path*/) const { return ckpt::ok_status(); }
  /// True if a checkpoint of this format is a single file. The writer writes this file into the folder it is given, and
  /// the file is then renamed to the destination.
  virtual bool is_one_file() const { return false; }
  /// Whether a checkpoint of this format can contain a file or folder of this name. A folder with any other name in it
  /// is never replaced.
  virtual bool is_member(const std::string& name) const = 0;
  /// Opens `path`. \error kNotFound, kCorrupt, kUnsupported, kIncompatible (files that contradict each other),
  /// kMediaError, kFailed
  virtual Result<std::unique_ptr<ForeignCheckpoint>> open(Fs& fs, const std::string& path) const = 0;
  /// Plans to write `source`, which must outlive the writer. \error kUnsupported (no writer, or a model that the format
  /// cannot express), kIncompatible (the checkpoint lacks something that the format needs, or contradicts the
  /// configuration), kInvalid (a skip pattern that matches nothing)
  virtual Result<std::unique_ptr<ForeignWriter>> create(Fs& fs, const CheckpointReader& source,
                                                        const ExportOptions& options) const = 0;
};

/// All formats except Titan's own.
std::span<const Format* const> formats();
/// The format called `name`. \error kInvalid, naming the known formats
Result<const Format*> find_format(const std::string& name);
/// The format that recognises `path`, or nullptr (also for Titan checkpoints, which have a manifest). \error kNotFound
/// (`path` is neither a folder nor a regular file), kIncompatible (a Hugging Face folder with DCP's .metadata), as
/// Format::probe
Result<const Format*> detect_format(Fs& fs, const std::string& path);
/// True for a regular file or a link to one; false for anything else, or if there is nothing. \error kMediaError,
/// kFailed
Result<bool> is_file(Fs& fs, const std::string& path);
/// What the folder `path` holds, sorted by name; nothing if it is no folder, or is not there. \error kMediaError,
/// kFailed
Result<std::vector<ckpt::DirEntry>> entries_of(Fs& fs, const std::string& path);
/// The error for a `path` that no format recognises. It says more than `absent` if `path` is an incomplete checkpoint
/// of a known format, a checkpoint of a program that Titan does not read, or a folder of steps; else it is `absent`.
Status explained(Fs& fs, const std::string& path, const Status& absent);

}  // namespace titan::convert
