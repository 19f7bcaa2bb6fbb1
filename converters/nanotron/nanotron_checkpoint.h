#pragma once
// A step of a nanotron run, opened for reading: weights and optimizer under Hugging Face's names, fused projections
// taken apart.
#include "converters/format.h"
#include "converters/nanotron/model_config.h"
#include "converters/nanotron/optimizer.h"
#include "converters/nanotron/shards.h"

namespace titan::convert::nanotron {

/// What stands before the names of the optimizer's tensors.
inline constexpr const char* kStatePrefix = "optimizer.state.";

class Checkpoint final : public ForeignCheckpoint {
 public:
  Checkpoint(Fs& fs, std::string path) : fs_(fs), path_(std::move(path)), files_(fs) {}
  /// Reads configuration, headers and pickles. \error kNotFound, kCorrupt, kIncompatible, kUnsupported, kFailed
  Status open();

  const std::string& path() const override { return path_; }
  /// The model's, then two for each parameter that the optimizer has.
  const std::vector<ForeignTensor>& tensors() const override { return tensors_; }
  Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const override;
  Result<ImportPlan> plan(const ImportOptions& options) const override;
  Result<ckpt::VerifyReport> verify(const Progress& progress) const override;

 private:
  struct Place {
    std::size_t tensor;   // of pieced_
    std::uint64_t first;  // element of it
  };
  /// One of ours within a parameter of nanotron's: as many rows, all where that is 0.
  struct Part {
    std::string name;
    std::uint64_t rows;
  };
  std::vector<Part> parts_of(const std::string& name) const;
  Status add(const Parameter& parameter, const std::string& suffix, PiecedTensor whole);
  Status take_slots(const ImportOptions& options, ImportPlan& plan) const;
  Status take_run(const Settings& given, ImportPlan& plan) const;

  Fs& fs_;
  const std::string path_;
  PieceFiles files_;
  Model model_;
  Position position_;
  Optimizer optimizer_;
  bool masters_ = false;  // the weights are the optimizer's float32 masters
  std::vector<PiecedTensor> pieced_;
  std::vector<ForeignTensor> tensors_;
  std::vector<Place> places_;
  std::size_t model_tensors_ = 0;        // of tensors_: the first ones
  std::map<std::string, double> steps_;  // Adam's, by Hugging Face's name
};

/// The format "nanotron", of which weights alone are written; never destroyed.
const Format& nanotron_format();

}  // namespace titan::convert::nanotron
