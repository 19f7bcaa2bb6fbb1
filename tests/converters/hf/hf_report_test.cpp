// What a conversion says it did, and which patterns of --skip it takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "ckpt/plan/lr_settings.h"
#include "converters/convert.h"
#include "tests/converters/dcp/mini.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::hf_report_test {
namespace {

using testing::convert_to;
using testing::make_hf_folder;
using testing::model_tensors;
using testing::RawTensors;

class HfReport : public ::testing::Test {
 protected:
  HfReport() { model.n_heads = 2; }  // dim / heads is head_dim, as torchtitan must have it
  ckpt::testing::MemFs fs;
  recipe::ModelDims model = testing::tiny_model();
};

TEST_F(HfReport, NamesTheLargestErrorOfACastByTensorAndElement) {
  RawTensors tensors = model_tensors(model);
  for (auto& [name, tensor] : tensors) std::fill(tensor.bytes.begin(), tensor.bytes.end(), '\0');
  const auto set = [&](const char* name, std::size_t element, float value) {
    std::memcpy(&tensors.at(name).bytes[element * 4], &value, 4);
  };
  set("model.norm.weight", 3, 1.00390625f);               // a tie of bfloat16: 2^-8 off
  set("model.layers.1.mlp.up_proj.weight", 17, 256.75f);  // 0.75 off
  set("lm_head.weight", 2, 3.4e38f);                      // becomes infinite
  make_hf_folder(fs, "/hf", model, tensors);
  ASSERT_TRUE(convert_to(fs, "/hf", "/titan").ok());
  const auto report = convert_to(fs, "/titan", "/half", {.to = "hf", .dtype = DType::kBF16});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  ASSERT_TRUE(report->rounding);
  EXPECT_EQ(report->rounding->tensor, "model.layers.1.mlp.up_proj.weight");
  EXPECT_EQ(report->rounding->error.at, 17u);
  EXPECT_EQ(report->rounding->error.largest, 0.75);
  EXPECT_EQ(report->rounding->error.rounded, 3u);
  EXPECT_EQ(report->rounding->error.overflowed, 1u);
  EXPECT_EQ(report->rounding->overflowing, "lm_head.weight");
  EXPECT_EQ(report->rounding->error.overflow_at, 2u);
  EXPECT_FALSE(convert_to(fs, "/titan", "/same", {.to = "hf"})->rounding);
  const auto dcp = convert_to(fs, "/titan", "/dcp", {.to = "dcp", .dtype = DType::kBF16});
  ASSERT_TRUE(dcp.ok()) << dcp.status().to_string();
  EXPECT_EQ(dcp->rounding->tensor, "layers.1.feed_forward.w3.weight");
  EXPECT_EQ(dcp->rounding->error.largest, 0.75);
}

TEST_F(HfReport, WeightsOfFloat64AreCastAsAsked) {
  RawTensors tensors = model_tensors(model);
  for (auto& [name, tensor] : tensors) {
    std::string wide;
    for (std::size_t at = 0; at < tensor.bytes.size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, &tensor.bytes[at], sizeof value);
      const double exact = name == "lm_head.weight" && at == 8 ? 1e300 : value;
      wide.append(reinterpret_cast<const char*>(&exact), sizeof exact);
    }
    tensor = {"F64", tensor.shape, wide};
  }
  make_hf_folder(fs, "/hf", model, tensors);
  ASSERT_TRUE(convert_to(fs, "/hf", "/titan").ok());
  for (const char* to : {"hf", "dcp", "gguf", "nanotron"}) {
    const auto report = convert_to(fs, "/titan", std::string("/as-") + to, {.to = to, .dtype = DType::kF32});
    ASSERT_TRUE(report.ok()) << to << ": " << report.status().to_string();
    EXPECT_EQ(report->count([](const TensorReport& t) { return t.cast() && t.to_dtype == DType::kF32; }), 21u) << to;
    ASSERT_TRUE(report->rounding) << to;
    EXPECT_EQ(report->rounding->error.overflowed, 1u) << to;
    EXPECT_EQ(report->rounding->error.overflow_at, 2u) << to;
  }
  EXPECT_EQ(testing::read_safetensors(fs, "/as-hf/model.safetensors").at("model.norm.weight").dtype, "F32");
  const Status uncast = convert_to(fs, "/titan", "/x", {.to = "gguf"}).status();
  EXPECT_EQ(uncast.code, ckpt::Code::kUnsupported);
  EXPECT_NE(uncast.hint.find("--dtype f32"), std::string::npos);
}

TEST_F(HfReport, RefusesAPatternThatMatchesNothingInEveryDirection) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  ASSERT_TRUE(convert_to(fs, "/hf", "/titan").ok());
  ASSERT_TRUE(convert_to(fs, "/titan", "/dcp", {.to = "dcp"}).ok());
  for (const auto& [source, to] : {std::pair("/hf", "titan"), std::pair("/titan", "hf"), std::pair("/titan", "dcp"),
                                   std::pair("/dcp", "titan"), std::pair("/hf", "dcp")}) {
    const auto report = convert_to(fs, source, "/x", {.to = to, .skip = {"*.bais"}});
    ASSERT_FALSE(report.ok()) << source << " to " << to;
    EXPECT_EQ(report.status().code, ckpt::Code::kInvalid);
    EXPECT_NE(report.status().message.find("--skip '*.bais' matches no tensor of "), std::string::npos)
        << report.status().message;
  }
}

TEST_F(HfReport, ASkipThatLeavesNoModelIsRefused) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  ASSERT_TRUE(convert_to(fs, "/hf", "/titan").ok());
  ASSERT_TRUE(convert_to(fs, "/titan", "/dcp", {.to = "dcp"}).ok());
  const auto skipping = [&](const char* source, ConvertOptions how, const char* glob) {
    how.skip = {glob};
    return convert_to(fs, source, "/x", how);
  };
  std::vector<std::pair<const char*, ConvertOptions>> ways;
  for (const char* to : {"hf", "gguf", "nanotron"}) ways.emplace_back("/titan", ConvertOptions{.to = to});
  ways.emplace_back("/titan", ConvertOptions{.to = "dcp", .names = DcpNames::kHuggingface});
  ways.emplace_back("/dcp", ConvertOptions{.to = "titan"});
  for (const auto& [source, how] : ways)
    for (const char* glob : {"layers.0.*", "output.weight", "norm.weight"}) {
      const Status status = skipping(source, how, glob).status();
      EXPECT_EQ(status.code, ckpt::Code::kIncompatible) << how.to << " " << glob;
      EXPECT_NE(status.message.find("--skip leaves out"), std::string::npos) << status.to_string();
      EXPECT_NE(status.message.find(glob[0] == 'l' ? "'layers.0.attention.wk.weight'" : glob), std::string::npos)
          << status.to_string();
      EXPECT_NE(status.hint.find("--skip 'optimizer.*'"), std::string::npos);
    }
  EXPECT_EQ(skipping("/hf", {.to = "gguf"}, "model.layers.0.*").status().code, ckpt::Code::kIncompatible);
  EXPECT_TRUE(skipping("/dcp", {.to = "titan"}, "layers.1.*").ok()) << "the layers before the last are a model";
  const auto partial = convert_to(fs, "/titan", "/partial", {.to = "dcp", .skip = {"layers.0.*"}});
  ASSERT_TRUE(partial.ok()) << partial.status().to_string();
  EXPECT_TRUE(std::ranges::any_of(partial->notes, [](const std::string& note) {
    return note.find("of the model itself: 'layers.0.") != std::string::npos;
  }));
}

TEST_F(HfReport, TheOptimizerIsLeftOutByOneNameForEveryTarget) {
  dcp::testing::write_mini(fs, {});
  ASSERT_TRUE(convert_to(fs, "/step-10", "/titan", {.config = dcp::testing::mini_config()}).ok());
  for (const char* to : {"hf", "gguf", "dcp"})
    for (const char* glob : {"optimizer.*", "*.exp_avg*"}) {
      const auto report = convert_to(fs, "/titan", std::string("/") + to + glob[0], {.to = to, .skip = {glob}});
      ASSERT_TRUE(report.ok()) << to << ": " << report.status().to_string();
      EXPECT_EQ(report->count([](const TensorReport& t) { return t.fate == Fate::kSkipped; }), 2u * 12u);
    }
}

TEST_F(HfReport, SaysOfAConversionThroughOursWhatBothWaysDid) {
  RawTensors tensors = model_tensors(model);
  tensors["foo.bar"] = {"F32", "[1]", "abcd"};
  make_hf_folder(fs, "/hf", model, tensors);
  const auto count = [](const Result<ConversionReport>& report, auto test) {
    return report.ok() ? report->count(test) : 0;
  };
  const auto permuted = [](const TensorReport& t) { return t.permuted; };
  const auto renamed = [](const TensorReport& t) { return t.renamed(); };
  for (const bool dry_run : {true, false}) {
    const auto dcp = convert_to(fs, "/hf", "/dcp", {.to = "dcp", .dry_run = dry_run, .skip = {"foo.*"}});
    ASSERT_TRUE(dcp.ok()) << dcp.status().to_string();
    EXPECT_EQ(dcp->tensors.size(), 22u);
    EXPECT_EQ(count(dcp, renamed), 21u);
    EXPECT_EQ(count(dcp, permuted), 4u);
    EXPECT_EQ(dcp->tensors[0].from, "model.embed_tokens.weight");
    EXPECT_EQ(dcp->tensors[0].to, "tok_embeddings.weight");
    EXPECT_EQ(dcp->tensors.back().from, "foo.bar");
    EXPECT_EQ(dcp->tensors.back().fate, Fate::kSkipped);
  }
  const auto hf = convert_to(fs, "/hf", "/again", {.to = "hf", .skip = {"foo.*"}, .dtype = DType::kBF16});
  ASSERT_TRUE(hf.ok()) << hf.status().to_string();
  EXPECT_EQ(count(hf, renamed), 0u);
  EXPECT_EQ(count(hf, permuted), 0u);  // into our order and back
  EXPECT_EQ(count(hf, [](const TensorReport& t) { return t.cast(); }), 21u);
  EXPECT_EQ(convert_to(fs, "/hf", "/x", {.to = "dcp"}).status().code, ckpt::Code::kIncompatible);
  const auto back =
      convert_to(fs, "/dcp", "/back",
                 {.to = "hf",
                  .config = ckpt::with_rows(recipe::model_rows(model),
                                            {{"model.flavor", "\"debugmodel\""}, {"model.rope_scaling", "\"none\""}})});
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(count(back, renamed), 21u);
  EXPECT_EQ(count(back, permuted), 4u);
  EXPECT_TRUE(testing::read_safetensors(fs, "/back/model.safetensors").at("model.norm.weight").bytes ==
              tensors.at("model.norm.weight").bytes);
}

TEST_F(HfReport, SaysOnceWhatBecomesOfATiedHead) {
  model.tied = true;
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  const auto head = [](const Result<ConversionReport>& report) {
    std::vector<TensorReport> lines;
    if (report.ok())
      std::ranges::copy_if(report->tensors, std::back_inserter(lines), [](const TensorReport& t) {
        return t.from == "lm_head.weight" || t.from == "output.weight";
      });
    EXPECT_EQ(lines.size(), 1u);
    return lines.empty() ? TensorReport() : lines[0];
  };
  const TensorReport tied = head(convert_to(fs, "/hf", "/tied", {.to = "hf"}));
  EXPECT_EQ(tied.fate, Fate::kTied);
  EXPECT_EQ(tied.to, "model.embed_tokens.weight");
  for (const auto& [to, name] : {std::pair("hf", "lm_head.weight"), std::pair("dcp", "output.weight")}) {
    const auto report = convert_to(fs, "/hf", std::string("/untied.") + to, {.to = to, .untie = true});
    const TensorReport untied = head(report);
    EXPECT_EQ(untied.fate, Fate::kWritten);
    EXPECT_EQ(untied.to, name);
    EXPECT_EQ(report->tensors.size(), 21u);
  }
}

TEST_F(HfReport, FollowsTheOptimizerThroughOurs) {
  const std::vector<TensorReport> in = {{.from = "w", .to = "w"},
                                        {.from = "optimizer.state.w.exp_avg", .to = "w.exp_avg"},
                                        {.from = "optimizer.state.w.step", .to = "w.step"}};
  const auto ends = [](const std::vector<TensorReport>& lines) {
    std::vector<std::string> texts;
    for (const TensorReport& line : lines)
      texts.push_back(line.from + " > " + (line.fate == Fate::kWritten ? line.to : fate_name(line.fate)));
    return texts;
  };
  EXPECT_EQ(ends(joined(in, {{.from = "w", .to = "v"}, {.from = "w.exp_avg", .to = "o.v.exp_avg"}})),
            (std::vector<std::string>{"w > v", "optimizer.state.w.exp_avg > o.v.exp_avg",
                                      "optimizer.state.w.step > o.v.step"}));
  EXPECT_EQ(
      ends(joined(in, {{.from = "w.exp_avg", .fate = Fate::kDropped}, {.from = "w", .to = "v"}})),
      (std::vector<std::string>{"w > v", "optimizer.state.w.exp_avg > dropped", "optimizer.state.w.step > dropped"}));
}

TEST_F(HfReport, NotesALlamaThatTransformers5Refuses) {
  const auto noted = [&](const recipe::ModelDims& of, const std::string& folder) {
    make_hf_folder(fs, folder, of, model_tensors(of));
    const auto report = convert_to(fs, folder, folder + ".out", {.to = "hf"});
    EXPECT_TRUE(report.ok()) << report.status().to_string();
    return report.ok() && std::ranges::any_of(report->notes, [](const std::string& note) {
             return note.starts_with(
                 "transformers 5 refuses this model, for its hidden_size 16 is not a multiple of its "
                 "num_attention_heads 6");
           });
  };
  EXPECT_FALSE(noted(model, "/hf"));
  model.dim = 16;
  model.n_heads = 6;
  EXPECT_TRUE(noted(model, "/odd"));
  model.qkv_bias = true;
  EXPECT_FALSE(noted(model, "/qwen"));
}

TEST_F(HfReport, CountsTheOptimizersTensorsAsDropped) {
  const auto published = ckpt::testing::make_checkpoint(fs, "/run", {.step = 10});
  ASSERT_TRUE(published.ok());
  const auto source = CheckpointReader::open(fs, published->path);
  ASSERT_TRUE(source.ok());
  std::size_t slots = 0;
  for (const ckpt::ParameterRecord& record : source->manifest().parameters) slots += record.slots.size();
  ConvertOptions options{.to = "hf"};
  options.config = recipe::model_rows([] {
    recipe::ModelDims tiny;
    tiny.dim = 16, tiny.n_layers = 2, tiny.n_heads = 2, tiny.n_kv_heads = 2, tiny.head_dim = 8, tiny.ffn_dim = 24,
    tiny.vocab_size = 67;
    return tiny;
  }());
  const auto report = convert_to(fs, published->path, "/hf.out", options);
  if (!report.ok()) GTEST_FAIL() << report.status().to_string();
  EXPECT_EQ(report->count([](const TensorReport& t) { return t.fate == Fate::kDropped; }), slots);
}

}  // namespace
}  // namespace titan::convert::hf_report_test
