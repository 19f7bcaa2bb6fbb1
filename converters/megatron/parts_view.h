#pragma once
// A Megatron checkpoint as tensors under Hugging Face's names, with fused projections split.
#include <map>
#include <string>
#include <vector>

#include "converters/megatron/file_rules.h"
#include "converters/megatron/state.h"
#include "converters/megatron/tensors.h"
#include "converters/torch_save/trained_source.h"

namespace titan::convert::megatron {

/// Parts of the tensors of another checkpoint: the model's first, then the optimizer's.
class PartsView final : public ForeignCheckpoint {
 public:
  /// `raw` must outlive this object. `ruled` renames and skips tensors of `raw`. A parameter's fp32 master weights are
  /// used if there are any. \error kIncompatible: `model` does not fit the tensors
  static Result<PartsView> of(const ForeignCheckpoint& raw, const RuledNames& ruled, const recipe::ModelDims& model);

  Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const override;
  Result<ImportPlan> plan(const ImportOptions& options) const override { return raw_->plan(options); }
  Result<ckpt::VerifyReport> verify(const Progress& progress) const override { return raw_->verify(progress); }

  std::size_t of_model() const { return of_model_; }  ///< number of the model's tensors
  bool masters() const { return masters_; }           ///< whether fp32 master weights are used
  /// Megatron's names of tensors that have no fp32 master and are not float32.
  const std::vector<std::string>& unmastered() const { return unmastered_; }
  /// Translates `plan`, made for this view, to the raw checkpoint.
  ImportPlan of_raw(ImportPlan plan) const;

 private:
  struct Place {
    std::size_t raw;
    RowBlocks blocks;
  };
  explicit PartsView(const ForeignCheckpoint& raw) : ForeignCheckpoint(raw.path()), raw_(&raw) {}
  Status add(std::size_t raw, const StateName& name, const recipe::ModelDims& model);

  const ForeignCheckpoint* raw_;
  std::vector<Place> places_;
  std::map<std::string, std::size_t> raw_of_;  // by parameter name: index of the tensor with its weights
  std::size_t of_model_ = 0;
  bool masters_ = false;
  std::vector<std::string> unmastered_;
};

/// A PartsView together with the run's optimizer settings and step counts.
class TrainedParts final : public TrainedSource {
 public:
  /// `parts` and `common` must outlive this object.
  TrainedParts(Fs& fs, const PartsView& parts, const CommonState& common);
  /// Plans the import of `model`. \error see ForeignCheckpoint::plan
  Result<ImportPlan> plan_model(const ImportOptions& options, const recipe::ModelDims& model) const;
  Result<ImportPlan> plan(const ImportOptions& options) const override { return parts_.plan(options); }

 private:
  Status take_optimizer(const ImportOptions& options, ImportPlan& plan) const;

  const PartsView& parts_;
  const CommonState& common_;
};

}  // namespace titan::convert::megatron
