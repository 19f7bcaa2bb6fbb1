#pragma once
// A step of a nanotron run, opened for reading: weights and optimizer under Hugging Face's names, with fused
// projections split.
#include <map>

#include "converters/format.h"
#include "converters/nanotron/model_config.h"
#include "converters/nanotron/optimizer.h"
#include "converters/nanotron/shards.h"

namespace titan::convert::nanotron {

class Checkpoint final : public TrainedSource {
 public:
  Checkpoint(Fs& fs, std::string path) : TrainedSource(fs, std::move(path)) {}
  /// Reads configuration, headers and pickles. \error kNotFound, kCorrupt, kIncompatible, kUnsupported, kFailed
  Status open();
  Result<ImportPlan> plan(const ImportOptions& options) const override;

 private:
  /// One of Hugging Face's parameters within one of nanotron's: its name and its number of rows. 0: all rows, for a
  /// parameter of nanotron that is not fused.
  struct Part {
    std::string name;
    std::uint64_t rows;
  };
  std::vector<Part> parts_of(const std::string& name) const;
  /// As plan(), but the report names tensors by their parts (Hugging Face's names). plan() replaces these names by
  /// those in the files.
  Result<ImportPlan> plan_of_parts(const ImportOptions& asked) const;
  Status add(const Parameter& parameter, const std::string& suffix, PiecedTensor whole);
  /// `options` with rules for nanotron's names translated to rules for the names of their parts. \error kIncompatible:
  /// a rename to a name with another number of parts
  Result<ImportOptions> of_parts(const ImportOptions& options) const;
  /// Checks the number of samples in checkpoint_metadata.json, if it is there. \error kIncompatible: it is not that of
  /// `step` steps with the batch of the configuration `given`
  Status check_samples(const Settings& given, std::uint64_t data_ranks, std::uint64_t step) const;

  Model model_;
  std::vector<std::string> names_;              // nanotron's
  std::map<std::string, std::string> in_file_;  // name of a part's tensor -> name in the files
  Position position_;
  Optimizer optimizer_;
  bool masters_ = false;                 // at least one parameter is read from the optimizer's float32 master
  std::vector<std::string> unmastered_;  // parameters that have no float32 master and are not float32 themselves
};

/// The format "nanotron"; only weights can be written. Never destroyed.
const Format& nanotron_format();

/// Writes weights as a step that nanotron's loader accepts, see Format::create. One shard per parameter (TP 1), which
/// nanotron can load in any layout; no optimizer state.
Result<std::unique_ptr<ForeignWriter>> create_nanotron(Fs& fs, const CheckpointReader& source,
                                                       const ExportOptions& options);

}  // namespace titan::convert::nanotron
