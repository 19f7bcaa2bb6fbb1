#include "tests/converters/dcp/mini.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ckpt/base/files.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/metadata_writer.h"
#include "converters/pickle/item_writer.h"
#include "recipe/model/parameters.h"

namespace titan::convert::dcp::testing {

void write_mini(ckpt::testing::MemFs& fs, const Mini& mini) {
  ASSERT_TRUE(fs.make_dir("/step-10").ok());
  auto file = AppendFile::create(fs, "/step-10/f.distcp");
  ASSERT_TRUE(file.ok());
  std::vector<WrittenItem> items;
  const auto tensor = [&](std::vector<std::string> path, const std::vector<std::uint64_t>& shape, float value) {
    const std::string whole = path.size() == 1 ? path[0] : path[0] + "." + path[1];
    if (std::ranges::find(mini.without, whole) != mini.without.end()) return;
    if (const auto other = mini.values.find(whole); other != mini.values.end()) value = other->second;
    const bool slot = path.back().find(".exp_avg") != std::string::npos;
    const std::string dtype = path.size() == 1 ? mini.weights : slot ? mini.moments : "float32";
    std::string data;
    for (std::uint64_t i = 0; i < ckpt::element_count(shape); ++i) {
      const double wide = value;
      const std::string bytes(reinterpret_cast<const char*>(&value), 4);
      data += dtype == "float64"    ? std::string(reinterpret_cast<const char*>(&wide), 8)
              : dtype == "bfloat16" ? bytes.substr(2)
                                    : bytes;
    }
    const auto range = append_tensor(**file, dtype, shape, std::as_bytes(std::span(data)));
    ASSERT_TRUE(range.ok());
    items.push_back({std::move(path), dtype, shape, *range});
  };
  std::set<std::vector<std::string>> there;
  const auto value = [&](std::vector<std::string> path, ItemValue what) {
    there.insert(path);
    for (const auto& [changed, other] : mini.changes) {
      if (changed != path) continue;
      if (!other) return;
      what = *other;
    }
    const auto range = append_value(**file, what);
    ASSERT_TRUE(range.ok());
    items.push_back({std::move(path), "", {}, *range});
  };
  recipe::ModelDims model;
  model.dim = 8, model.n_layers = 1, model.n_heads = 2, model.n_kv_heads = 1, model.head_dim = 4, model.ffn_dim = 12,
  model.vocab_size = 5;
  float number = 0;
  for (const ckpt::ParameterMeta& parameter : recipe::model_parameters(model)) {
    std::string name = parameter.name;
    std::vector<std::uint64_t> shape = parameter.shape;
    if (mini.newer_names) {
      if (const auto at = name.find("attention.w");
          at != std::string::npos && name.find("attention.wo") == std::string::npos)
        name.insert(at + 10, "qkv_linear.");
      if (name == "output.weight") name = "lm_head.weight";
    }
    tensor({name}, parameter.shape, ++number);
    if (!mini.optimizer) continue;
    if (mini.newer_names && name.find("qkv_linear.w") != std::string::npos) {
      if (name.find("wq.") == std::string::npos) continue;
      name.replace(name.find("wq."), 3, "wqkv.");  // the moments of all three
      shape[0] = 16;
    }
    tensor({"optimizer", "state." + name + ".exp_avg"}, shape, number + 100);
    tensor({"optimizer", "state." + name + ".exp_avg_sq"}, shape, number + 200);
    tensor({"optimizer", "state." + name + ".step"}, {}, name == "norm.weight" ? mini.odd_step : 10);
    value({"optimizer", "param_groups." + name + ".lr"}, ItemValue::of(kNextLr));
    value({"optimizer", "param_groups." + name + ".initial_lr"}, ItemValue::of(0.001));
    value({"optimizer", "param_groups." + name + ".betas"},
          ItemValue::tuple({ItemValue::of(0.9), ItemValue::of(0.95)}));
    value({"optimizer", "param_groups." + name + ".eps"}, ItemValue::of(1e-8));
    value({"optimizer", "param_groups." + name + ".weight_decay"}, ItemValue::of(0.1));
    value({"optimizer", "param_groups." + name + ".amsgrad"}, ItemValue::boolean(false));
  }
  if (mini.optimizer) {
    value({"lr_scheduler", "last_epoch"}, ItemValue::of(std::int64_t{10}));
    if (!mini.newer_names) {
      value({"lr_scheduler", "base_lrs"}, ItemValue::list({ItemValue::of(0.001)}));
      value({"lr_scheduler", "_last_lr"}, ItemValue::list({ItemValue::of(kNextLr)}));
    }
    value({"train_state", "step"}, ItemValue::of(std::int64_t{10}));
    value({"train_state", "ntokens_seen"}, ItemValue::of(std::int64_t{320}));
    value({"dataloader", "world_size"}, ItemValue::of(std::int64_t{2}));
  }
  for (const auto& [path, other] : mini.changes)
    if (other && !there.contains(path)) value(path, *other);
  for (const ExtraTensor& extra : mini.extra) {
    const std::vector<std::byte> zeros(ckpt::element_count(extra.shape) * (extra.dtype == "int8" ? 1 : 4));
    const auto range = append_tensor(**file, extra.dtype, extra.shape, zeros);
    ASSERT_TRUE(range.ok()) << range.status().to_string();
    items.push_back({{extra.name}, extra.dtype, extra.shape, *range});
  }
  ASSERT_TRUE((*file)->finish().ok());
  const std::string metadata = encode_metadata("f.distcp", items);
  ASSERT_TRUE(ckpt::write_new_file(fs, "/step-10/.metadata", std::as_bytes(std::span(metadata))).ok());
}

// lr(11) = 1e-3 (1 - 9.8 / 20) is kNextLr: total 20, ratio 1, no warm-up, floor 0.02: 0.02 + 0.98 (1 - 10/20) = 0.51.
Settings mini_config(const std::map<std::string, std::string>& changes) {
  std::map<std::string, std::string> rows = {{"lr_scheduler.min_lr_factor", "0.02"},
                                             {"lr_scheduler.warmup_steps", "0"},
                                             {"model.n_heads", "2"},
                                             {"model.rope_scaling", "\"llama3:8:1:4:8192\""},
                                             {"model.rope_theta", "500000"},
                                             {"optimizer.lr", "1e-3"},
                                             {"training.steps", "20"},
                                             {"training.seq_len", "16"},
                                             {"training.local_batch_size", "1"}};
  for (const auto& [key, value] : changes) rows[key] = value;
  return {rows.begin(), rows.end()};
}

Result<ImportPlan> plan_mini(const Mini& mini, const ImportOptions& options) {
  auto fs = std::make_unique<ckpt::testing::MemFs>();
  write_mini(*fs, mini);
  auto opened = dcp_format().open(*fs, "/step-10");
  if (!opened.ok()) return opened.status();
  return (*opened)->plan(options);
}

}  // namespace titan::convert::dcp::testing
