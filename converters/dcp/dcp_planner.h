#pragma once
// The pass of plan_dcp_import over a directory, in three files: names and model (dcp_plan.cpp), the optimizer's state
// (dcp_plan_slots.cpp), and the run that goes on (dcp_plan_run.cpp).
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
#include "converters/misfit.h"
#include "recipe/model/from_rows.h"

namespace titan::convert::dcp {

/// One pass over the items of a directory; what it has found so far is its state.
class Planner {
 public:
  Planner(const DcpCheckpoint& source, const ImportOptions& options) : source_(source), options_(options) {}
  Result<ImportPlan> run();

 private:
  using Kind = DcpKey::Kind;
  struct Slot {
    std::size_t source = 0;
    RowBlocks blocks{};  // of a tensor that others share
  };

  // The names that the rules leave, and whose they are.
  Status take_names();

  // Some of Hugging Face's names stand for other parts in other families. A config.json that cannot be read is refused
  // where the model is needed.
  Status know_family();
  void add_report(std::size_t source, Fate fate, std::string to = "");
  void leave_out(std::size_t source) { plan_.left_out.push_back(source_.tensors()[source].name); }
  void drop_slots();

  // Tensors of element types that a checkpoint of ours cannot hold.
  Status sort_in_others();
  Status sort_in(std::size_t i);

  // Experts of a layer that lie in one tensor, and their moments, become one each.
  Status split_experts();
  std::vector<std::uint64_t> shape_of(const Slot& slot) const;

  // Rows of queries and keys that lie in halves are put into our order, for which the size of a head must be known. To
  // look at them is possible without: they keep their names.
  Status order_rows();

  // Every tensor of the model under its own name.
  void keep_names();
  std::uint64_t head_dim_of(std::size_t source) const;
  Status list_parameters();

  // A head beside a tied embedding must be the embedding.
  Status tie();

  // The setting that a run needs beyond the model, where neither checkpoint nor configuration says it.
  Result<std::vector<std::string>> unsaid_of_run() const;
  Status check_model();

  // What a configuration says otherwise, where that explains that the parameter is not there.
  std::string why_missing(const std::string& parameter) const;

  // Moments of queries, keys and values that lie in one tensor, of which the number of heads says the order.
  Status split_fused();
  std::uint64_t said_head_dim() const;

  // `missing`: what parameters lack although others have it.
  Status take_slots(std::vector<std::string>& missing);

  // A conversion needs a place for every tensor. A look shows what is there.
  Status settle(const std::vector<std::string>& missing);
  std::vector<std::string> tensor_names() const;

  // Where neither a value nor a folder's name says the step, Adam's counts do.
  Status take_step();

  // Notes values beside tensors, except those that every run of torchtitan has.
  void note_values();
  Status take_run();

  const DcpCheckpoint& source_;
  const ImportOptions& options_;
  FileNames names_;
  Layout layout_;
  ImportPlan plan_;
  std::optional<recipe::ModelDims> model_;
  bool by_config_json_ = false;                    // it is said by a config.json beside the files
  ConfigKeys hf_keys_ = ConfigKeys::kHuggingface;  // that it has
  std::uint64_t head_dim_ = 0;                     // where rows lie in halves
  std::set<std::size_t> halves_;                   // tensors whose rows do
  bool newer_ = false;
  std::string optimizer_;  // what stands before "state." in its names
  std::map<std::string, Slot> parameters_;
  std::map<std::string, std::size_t> steps_;
  std::map<std::string, std::map<std::string, Slot>> slots_;
  std::vector<std::string> groups_;  // names of the parameters in the optimizer, where all have state
  std::vector<std::string> left_over_;
};

}  // namespace titan::convert::dcp
