#pragma once
// The implementation of plan_dcp_import(), in three files: names and model (dcp_plan.cpp), optimizer state
// (dcp_plan_slots.cpp), and the run to resume (dcp_plan_run.cpp).
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/fused_qkv.h"
#include "converters/dcp/layout.h"
#include "converters/dcp/parts.h"
#include "converters/file_names.h"
#include "converters/model_mismatch.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert::dcp {

/// Makes the plan of an import, step by step. run() (dcp_plan.cpp) calls the steps; its order counts. The many
/// members hold what the steps so far have found; later steps use it. `look` is ImportOptions::look.
class Planner {
 public:
  Planner(const DcpCheckpoint& source, const ImportOptions& options) : source_(source), options_(options) {}
  Result<ImportPlan> run();

 private:
  using Kind = DcpKey::Kind;
  // Where a parameter or a moment is stored.
  struct Source {
    std::size_t source = 0;
    RowBlocks blocks{};  // which rows of `source`, if several parameters share this tensor
  };

  // Applies the user's rules to the names, and finds out whether they are torchtitan's or Hugging Face's.
  Status take_names();

  // Finds the model family, because some of Hugging Face's names mean different parts in different families. An
  // unreadable config.json is an error only if the model is needed.
  Status know_family();
  void add_report(std::size_t source, Fate fate, std::string to = "");
  void leave_out(std::size_t source) { plan_.left_out.push_back(source_.tensors()[source].name); }
  void drop_slots();

  // Handles tensors of element types that Titan checkpoints cannot hold. Tensors whose values follow from the
  // configuration are dropped; with `look`, or by a skip rule, the others are left out. Otherwise they are an error.
  Status sort_in_others();
  Status sort_in(std::size_t i);

  // Splits a tensor with all experts of a layer, and its moments, into one tensor per expert.
  Status split_experts();
  std::vector<std::uint64_t> shape_of(const Source& slot) const;

  // Plans to reorder rows of queries and keys from rotate-half order to Titan's interleaved order, for which it finds
  // the head size. An unknown head size is an error, but with `look` only if the user's rules give the order of rows.
  // If it is no error, keep_names() is called.
  Status order_rows();

  // For an unknown head size: rows keep their order, and every tensor of the model keeps its name in the file.
  // Optimizer state is left out, unless ImportOptions::whole_moments is set.
  void keep_names();
  std::uint64_t head_dim_of(std::size_t source) const;
  Status list_parameters();

  // Refuses skip rules that leave out parameters of the model. Allowed are parameters that another tensor provides,
  // layers after the last one that is read, and a head that the model or the configuration may tie to the embedding.
  // With `look`, nothing is refused.
  Status check_left_out() const;

  // Checks that a stored head of a tied model equals the embedding, and drops this head.
  Status tie();

  // The settings that a run needs in addition to the model's and that neither checkpoint nor configuration has.
  Result<std::vector<std::string>> missing_run_settings() const;
  Status check_model();

  // The hint for a missing `parameter`: the value in the configuration that would make it not needed.
  std::string why_missing(const std::string& parameter) const;

  // Splits fused moments (queries, keys and values in one tensor). Needs the head size, which gives the order of rows.
  Status split_fused();
  std::uint64_t said_head_dim() const;

  // Maps the moments and Adam's steps to parameters. `missing` gets the state that some parameters lack while others
  // have it.
  Status take_slots(std::vector<std::string>& missing);

  // Checks that every tensor is used, and that `missing` (see take_slots()) is empty. With `look`, unused tensors are
  // left out instead, and `missing` is ignored.
  Status settle(const std::vector<std::string>& missing);
  std::vector<std::string> tensor_names() const;

  // Finds the step: in train_state, else in the name of the folder or of its parent, else in Adam's `step` state if all
  // parameters have the same. If none has it, the step is 0, with a note.
  Status take_step();

  // Adds a note about the plain values that are dropped: all except those of lr_scheduler, train_state, dataloader and
  // param groups. With `look`, they are left out without a note.
  void note_values();
  // Takes training settings from a config.json (hf/training_settings.h).
  Status take_alike();
  Status take_run();

  const DcpCheckpoint& source_;
  const ImportOptions& options_;
  FileNames names_;
  Layout layout_;
  ImportPlan plan_;
  std::optional<recipe::ModelDims> model_;
  bool by_config_json_ = false;                    // the model comes from a config.json next to the files
  ConfigKeys hf_keys_ = ConfigKeys::kHuggingface;  // key style of that config.json
  std::uint64_t head_dim_ = 0;                     // set if rows are in rotate-half order
  std::set<std::size_t> rotate_half_;              // tensors whose rows are in rotate-half order
  bool newer_ = false;
  std::string optimizer_;  // the prefix before "state." in the optimizer's names
  std::map<std::string, Source> parameters_;
  std::map<std::string, std::size_t> steps_;
  std::map<std::string, std::string, std::less<>> renamed_;  // parameter names in optimizer keys: as in the file ->
                                                             // after the rules
  std::map<std::string, std::map<std::string, Source>> slots_;
  std::vector<std::string> groups_;  // parameter names as in the optimizer's keys, if all parameters have state
  std::vector<std::string> left_over_;
  bool skips_slots_ = false;                    // the user leaves out moments
  std::map<std::string, std::string> skipped_;  // parameters that the user skips: Titan's name -> name in the file
};

}  // namespace titan::convert::dcp
