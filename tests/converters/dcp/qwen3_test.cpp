// DCP directories of torchtitan's qwen3: its names are ours, and rows of heads lie in halves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/flavor_args.h"
#include "converters/foreign_view.h"
#include "recipe/model/manifest_dims.h"
#include "recipe/model/parameters.h"
#include "tests/converters/dcp/dcp_builder.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::dcp::qwen3_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kFolder = "/step-7";

recipe::ModelDims model(bool tied) {
  recipe::ModelDims dims{12, 2, 4, 2, 8, 20, 24, 1e-6, 1e6};
  dims.tied = tied;
  dims.qk_norm = true;
  return dims;
}

struct Planned {
  std::unique_ptr<ckpt::testing::MemFs> fs = std::make_unique<ckpt::testing::MemFs>();
  std::unique_ptr<ForeignCheckpoint> source;
  Result<ImportPlan> plan = ImportPlan{};

  // The first element of each of the first rows, in numbers of rows.
  std::vector<float> rows(const std::string& name, std::size_t count) const {
    for (std::size_t i = 0; i < plan->tensors.size(); ++i) {
      const ckpt::ParameterMeta& parameter = plan->parameters[plan->tensors[i].ref.index];
      if (parameter.name != name || !plan->tensors[i].ref.slot.empty()) continue;
      const std::uint64_t width = parameter.shape.size() == 1 ? 1 : parameter.shape[1];
      std::vector<float> elements(count * width), first;
      EXPECT_TRUE(PlannedReader(*source, *plan).read(i, 0, std::as_writable_bytes(std::span(elements))).ok());
      for (std::size_t row = 0; row < count; ++row)
        first.push_back((elements[row * width] - 1000 * std::floor(elements[0] / 1000)) / static_cast<float>(width));
      return first;
    }
    return {};
  }
};

// Element j of the i-th tensor is 1000 i + j.
Planned planned(bool tied, const ImportOptions& options, const std::vector<std::uint64_t>& norm = {8}) {
  Planned out;
  EXPECT_TRUE(out.fs->make_dir(kFolder).ok());
  std::vector<testing::ShardedTensor> tensors;
  for (const ckpt::ParameterMeta& parameter : recipe::model_parameters(model(tied)))
    tensors.push_back(parameter.name.ends_with("q_norm.weight")
                          ? testing::ShardedTensor{parameter.name, norm, {}}
                          : testing::ShardedTensor{parameter.name, parameter.shape, {{3}}});
  EXPECT_TRUE(testing::write_sharded(*out.fs, kFolder, tensors, {}).ok());
  auto opened = dcp_format().open(*out.fs, kFolder);
  EXPECT_TRUE(opened.ok()) << opened.status().to_string();
  if (!opened.ok()) return out;
  out.source = std::move(opened).value();
  out.plan = out.source->plan(options);
  return out;
}

ImportOptions said(const Settings& rows) {
  ImportOptions options;
  options.config = ckpt::with_rows(Settings{{"model.name", "\"qwen3\""}, {"model.rope_theta", "1000000.0"}}, rows);
  return options;
}

TEST(DcpQwen3, RowsOfHeadsArePutIntoOurOrder) {
  for (const bool tied : {false, true}) {
    const Planned found = planned(tied, said({}));
    ASSERT_TRUE(found.plan.ok()) << found.plan.status().to_string();
    EXPECT_EQ(found.plan->config, recipe::model_rows(model(tied))) << "heads come from the norms' size";
    EXPECT_THAT(found.rows("layers.1.attention.q_norm.weight", 8), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
    EXPECT_THAT(found.rows("layers.1.attention.wk.weight", 4), ElementsAre(0, 4, 1, 5));
    EXPECT_THAT(found.rows("layers.1.attention.wv.weight", 4), ElementsAre(0, 1, 2, 3));
  }
}

TEST(DcpQwen3, WithoutAConfigurationTheRowsMoveToo) {
  const Planned found = planned(false, {});
  ASSERT_TRUE(found.plan.ok()) << found.plan.status().to_string();
  EXPECT_THAT(found.rows("layers.0.attention.k_norm.weight", 8), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
}

TEST(DcpQwen3, NormsThatAreNoHeadAreRefused) {
  for (const std::vector<std::uint64_t>& norm : std::vector<std::vector<std::uint64_t>>{{}, {3}, {1}})
    for (const ImportOptions& options : {ImportOptions{}, said({})})
      EXPECT_THAT(planned(false, options, norm).plan.status().message,
                  HasSubstr("expected an even number, those of a head"));
  EXPECT_THAT(planned(false, said({}), {20}).plan.status().message, HasSubstr("whole heads"));
}

TEST(DcpQwen3, AnUnknownFlavourMustSayItsBase) {
  ImportOptions options;
  options.config = Settings{{"model.name", "\"qwen3\""}, {"model.flavor", "\"mine\""}};
  const Planned found = planned(false, options);
  EXPECT_THAT(found.plan.status().message, HasSubstr("does not say model.rope_theta of"));
  EXPECT_THAT(found.plan.status().hint, HasSubstr("--set model.rope_theta=1000000"));
}

TEST(DcpQwen3, ATiedHeadThatDiffersIsRefused) {
  const Planned found = planned(false, said({{"model.tied_embeddings", "true"}}));
  EXPECT_THAT(found.plan.status().message,
              HasSubstr("the configuration says that embedding and head are tied, but 'output.weight' differs"));
  EXPECT_EQ(found.plan.status().hint, "set model.tied_embeddings to false if they are two tensors");
}

TEST(DcpQwen3, SaysItsFlavour) {
  EXPECT_EQ(flavor_text(model(true)),
            "Qwen3ModelArgs(dim=12, n_layers=2, n_heads=4, n_kv_heads=2, vocab_size=24, head_dim=8, hidden_dim=20, "
            "norm_eps=1e-06, rope_theta=1000000.0, qk_norm=True, enable_weight_tying=True)");
  EXPECT_TRUE(check_flavor("x", model(false)).ok());
  recipe::ModelDims scaled = model(false);
  scaled.rope_scaling = *recipe::parse_rope_scaling("yarn:4:64");
  EXPECT_THAT(check_flavor("x", scaled).message, HasSubstr("which torchtitan's qwen3 does not do"));
  scaled.qk_norm = false;
  EXPECT_THAT(check_flavor("x", scaled).message, HasSubstr("which torchtitan's llama3 does not do"));
}

}  // namespace
}  // namespace titan::convert::dcp::qwen3_test
