#pragma once
// A step of Megatron-Core for tests: 2 layers, width 6, 4 heads of 4 in 2 groups, feed-forward 8, 10 rows of 12.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "ckpt/base/files.h"
#include "converters/foreign_view.h"
#include "converters/megatron/megatron_checkpoint.h"
#include "converters/pickle/item.h"
#include "tests/converters/dcp/dcp_builder.h"
#include "tests/converters/torch_save/spelled.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::megatron::testing {

using Entries = std::map<std::string, ItemValue>;

inline constexpr const char* kRun = "/run";
inline constexpr const char* kStep = "/run/iter_0000005";

inline ItemValue dict(const Entries& entries) {
  ItemValue out{ItemValue::Kind::kDict, 0, 0, {}, {}};
  for (const auto& [key, value] : entries) {
    out.parts.push_back(ItemValue::of(key));
    out.parts.push_back(value);
  }
  return out;
}
inline ItemValue whole(std::int64_t number) { return ItemValue::of(number); }
inline ItemValue real(double number) { return ItemValue::of(number); }

struct Step {
  Entries args{{"num_layers", whole(2)},
               {"hidden_size", whole(6)},
               {"num_attention_heads", whole(4)},
               {"group_query_attention", ItemValue::boolean(true)},
               {"num_query_groups", whole(2)},
               {"kv_channels", whole(4)},
               {"ffn_hidden_size", whole(8)},
               {"normalization", ItemValue::of(std::string("RMSNorm"))},
               {"norm_epsilon", real(1e-5)},
               {"swiglu", ItemValue::boolean(true)},
               {"add_bias_linear", ItemValue::boolean(false)},
               {"position_embedding_type", ItemValue::of(std::string("rope"))},
               {"rotary_base", whole(10000)},
               {"untie_embeddings_and_output_weights", ItemValue::boolean(true)},
               {"padded_vocab_size", whole(12)},
               {"num_experts", ItemValue::none()},
               {"seq_length", whole(16)},
               {"global_batch_size", whole(4)},
               {"consumed_train_samples", whole(20)}};
  Entries group{{"wd_mult", real(1)},       {"lr_mult", real(1)},
                {"lr", real(0.0082)},       {"betas", ItemValue::tuple({real(0.9), real(0.95)})},
                {"eps", real(1e-8)},        {"step", real(5)},
                {"weight_decay", real(0.1)}};
  Entries norms = [this] {
    Entries out = group;
    out["wd_mult"] = real(0);
    out["weight_decay"] = real(0);
    return out;
  }();
  // After 5 steps of 4 samples, 2 to warm up: from 0.01 to 0.001 at step 15.
  Entries scheduler{{"max_lr", real(0.01)},        {"min_lr", real(0.001)},
                    {"lr_warmup_steps", whole(0)}, {"lr_decay_steps", whole(100)},
                    {"num_steps", whole(20)},      {"start_wd", real(0.1)},
                    {"end_wd", real(0.1)},         {"lr_decay_style", ItemValue::of(std::string("linear"))}};
  std::string form = "fully_reshardable";
  /// One tensor for all layers, norms by the projections behind them; else each layer's, norms by their own names.
  bool stacked = true;    ///< one tensor for all layers
  bool masters = false;   ///< float32 ones, a hundred beyond the weights
  bool half = false;      ///< the model's tensors are bfloat16
  bool arguments = true;  ///< in common.pt
  bool common = true;     ///< there is a common.pt; else an item of step 6
  std::string metadata = R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1})";
  std::string rename{};  ///< what stands before the names of all parameters
  std::vector<dcp::testing::ShardedTensor> more{};
};

// Names and shapes of a layer, without "decoder.layers.".
inline std::vector<std::pair<std::string, std::vector<std::uint64_t>>> layer_shapes() {
  return {{"self_attention.linear_qkv.weight", {32, 6}},  {"self_attention.linear_qkv.layer_norm_weight", {6}},
          {"self_attention.linear_proj.weight", {6, 16}}, {"mlp.linear_fc1.weight", {16, 6}},
          {"mlp.linear_fc1.layer_norm_weight", {6}},      {"mlp.linear_fc2.weight", {6, 8}}};
}

// All tensors: element j of the i-th is 1000 i + j. Those of `prefix`.
inline void add_model(std::vector<dcp::testing::ShardedTensor>& out, const std::string& prefix, bool stacked) {
  out.push_back({prefix + "embedding.word_embeddings.weight", {12, 6}, {{5}}});
  for (const auto& [name, shape] : layer_shapes()) {
    std::vector<std::uint64_t> all = shape;
    all.insert(all.begin(), 2);
    if (stacked) out.push_back({prefix + "decoder.layers." + name, all, {{1}, {shape[0] / 2}}});
    const std::string apart = name.find("norm") == std::string::npos ? name
                              : name.starts_with("mlp")              ? "pre_mlp_layernorm.weight"
                                                                     : "input_layernorm.weight";
    for (int layer = 0; layer < 2 && !stacked; ++layer)
      out.push_back({prefix + "decoder.layers." + std::to_string(layer) + "." + apart, shape, {}});
  }
  out.push_back({prefix + "decoder.final_layernorm.weight", {6}, {}});
  out.push_back({prefix + "output_layer.weight", {12, 6}, {}});
}

inline std::string common_file(const Step& step) {
  convert::testing::Spelled file;
  PickleWriter& out = file.out;
  out.empty_dict();
  out.mark();
  if (step.arguments) {
    out.text("args");
    out.global("argparse", "Namespace");
    out.new_object();
    out.value(dict(step.args));
    out.build();
  }
  out.text("iteration");
  out.integer(5);
  out.text("optimizer");
  out.value(dict({{"optimizer", dict({{"param_groups", ItemValue::list({dict(step.group), dict(step.norms)})}})},
                  {"param_state_sharding_type", ItemValue::of(step.form)}}));
  out.text("opt_param_scheduler");
  out.value(dict(step.scheduler));
  out.set_items();
  return std::move(file).file();
}

inline void write_step(ckpt::testing::MemFs& fs, const Step& step) {
  std::vector<dcp::testing::ShardedTensor> tensors;
  add_model(tensors, step.rename, step.stacked);
  if (step.form == "fully_reshardable")
    for (const std::string slot : {"exp_avg", "exp_avg_sq"})
      add_model(tensors, "optimizer.state." + slot + "." + step.rename, step.stacked);
  for (dcp::testing::ShardedTensor& tensor : tensors) tensor.half = step.half && !tensor.name.starts_with("optimizer");
  if (step.masters) add_model(tensors, "optimizer.state.param.", step.stacked);
  tensors.insert(tensors.end(), step.more.begin(), step.more.end());
  ASSERT_TRUE(ckpt::make_dirs(fs, kStep).ok());
  std::vector<std::pair<std::string, ItemValue>> values{
      {"decoder.layers.mlp.linear_fc1._extra_state/shard_0_2", ItemValue::none()}};
  if (!step.common) values.emplace_back("common_state/shard_0_1", dict({{"iteration", whole(6)}}));
  const Status written = dcp::testing::write_sharded(fs, kStep, tensors, values);
  ASSERT_TRUE(written.ok()) << written.to_string();
  const auto put = [&](const std::string& path, const std::string& text) {
    EXPECT_TRUE(ckpt::testing::put_text(fs, path, text).ok());
  };
  if (step.common) put(std::string(kStep) + "/common.pt", common_file(step));
  if (!step.metadata.empty()) put(std::string(kStep) + "/metadata.json", step.metadata);
  put(std::string(kRun) + "/latest_checkpointed_iteration.txt", "5");
}

// The configuration that the run was trained with, but for `changes`.
inline Settings run_config(const std::map<std::string, std::string>& changes = {}) {
  std::map<std::string, std::string> rows{{"lr_scheduler.min_lr_factor", "0.1"},
                                          {"lr_scheduler.warmup_steps", "0"},
                                          {"optimizer.beta1", "0.9"},
                                          {"optimizer.beta2", "0.95"},
                                          {"optimizer.eps", "1e-08"},
                                          {"optimizer.lr", "0.01"},
                                          {"optimizer.rules", R"(["*norm* weight_decay=0"])"},
                                          {"optimizer.weight_decay", "0.1"},
                                          {"training.global_batch_size", "4"},
                                          {"training.seq_len", "16"},
                                          {"training.steps", "25"}};
  for (const auto& [key, value] : changes) rows[key] = value;
  return {rows.begin(), rows.end()};
}

/// One step, opened and planned.
class MegatronFolder : public ::testing::Test {
 protected:
  void put(const Step& step) {
    write_step(fs_, step);
    source_ = megatron_format().open(fs_, kStep);
  }
  Result<ImportPlan> planned(const ImportOptions& options = {}) {
    return source_.ok() ? (*source_)->plan(options) : source_.status();
  }
  // Elements of a tensor of the plan, in our order of rows.
  std::vector<float> values(const ImportPlan& plan, const std::string& name, const std::string& slot = "") {
    for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
      const ckpt::TensorRef& ref = plan.tensors[i].ref;
      if (plan.parameters[ref.index].name != name || ref.slot != slot) continue;
      std::vector<float> out(ckpt::element_count(plan.parameters[ref.index].shape));
      const Status read = PlannedReader(**source_, plan).read(i, 0, std::as_writable_bytes(std::span(out)));
      EXPECT_TRUE(read.ok()) << read.to_string();
      return out;
    }
    ADD_FAILURE() << name << " is not in the plan";
    return {};
  }
  static std::vector<float> counted(float first, std::size_t count) {
    std::vector<float> out(count);
    std::iota(out.begin(), out.end(), first);
    return out;
  }

  ckpt::testing::MemFs fs_;
  Result<std::unique_ptr<ForeignCheckpoint>> source_ = ckpt::not_found("nothing opened");
};

}  // namespace titan::convert::megatron::testing
