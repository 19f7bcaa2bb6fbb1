// Folders of verl: a pickle of FSDP for each rank.
#include "converters/verl/verl_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "converters/foreign_view.h"
#include "converters/trainer/trainer_state.h"
#include "recipe/model/parameters.h"
#include "tests/converters/hf/folder.h"
#include "tests/converters/torch_save/spelled.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::verl::verl_checkpoint_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RankTensor;

constexpr const char* kActor = "/run/global_step_7/actor";

class VerlFolder : public ::testing::Test {
 protected:
  using State = std::vector<std::pair<std::string, RankTensor>>;

  // Rows of each tensor on two ranks, the first with one more where they are odd. Element j of the i-th is i + j /
  // 4096.
  static State state_of(const recipe::ModelDims& model, std::size_t rank) {
    State state;
    const std::vector<ckpt::ParameterMeta> order = in_order_of_transformers(model);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::vector<std::uint64_t>& shape = order[i].shape;
      const std::uint64_t width = shape.size() > 1 ? shape[1] : 1, half = (shape[0] + 1) / 2;
      RankTensor tensor{shape, shape, {}};
      tensor.part[0] = rank == 0 ? half : shape[0] - half;
      for (std::uint64_t j = 0; j < tensor.part[0] * width; ++j)
        tensor.values.push_back(static_cast<float>(i) + static_cast<float>(j + rank * half * width) / 4096);
      state.emplace_back(order[i].name, std::move(tensor));
    }
    return state;
  }
  void put(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(ckpt::testing::put_text(fs_, std::string(kActor) + "/" + name, bytes).ok());
  }
  void put_ranks() {
    put("model_world_size_2_rank_0.pt", testing::state_file(state_of(model_, 0)));
    put("model_world_size_2_rank_1.pt", testing::state_file(state_of(model_, 1)));
    testing::make_hf_folder(fs_, std::string(kActor) + "/huggingface", model_, testing::model_tensors(model_));
  }
  static Status opened(Fs& fs, const std::string& path) { return verl_format().open(fs, path).status(); }

  MemFs fs_;
  const recipe::ModelDims model_ = testing::tiny_model();
};

TEST_F(VerlFolder, GivesEveryWeightOfItsRanks) {
  put_ranks();
  for (const char* path : {kActor, "/run/global_step_7"}) {
    const auto format = detect_format(fs_, path);
    ASSERT_TRUE(format.ok() && *format == &verl_format()) << path;
    const auto source = verl_format().open(fs_, path);
    ASSERT_TRUE(source.ok()) << source.status().to_string();
    const auto plan = (*source)->plan({});
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    EXPECT_EQ(plan->step, 7u);
    EXPECT_EQ(plan->tensors.size(), in_order_of_transformers(model_).size());
    EXPECT_THAT(plan->notes, Contains(HasSubstr("not taken: the optimizer's state")));
    EXPECT_TRUE((*source)->verify({}).ok());
    for (std::size_t i = 0; i < (*source)->tensors().size(); ++i) {
      std::vector<float> elements(ckpt::element_count((*source)->tensors()[i].shape));
      ASSERT_TRUE((*source)->read(i, 0, std::as_writable_bytes(std::span(elements))).ok());
      for (std::size_t j = 0; j < elements.size(); ++j)
        ASSERT_EQ(elements[j], static_cast<float>(i) + static_cast<float>(j) / 4096) << (*source)->tensors()[i].name;
    }
  }
  EXPECT_EQ(*find_ranks(fs_, "/run"), "");
}

TEST_F(VerlFolder, AChangedValueIsFoundByTheCrcOfItsStorage) {
  put_ranks();
  const std::string whole = testing::state_file(state_of(model_, 1));
  std::string changed = whole;
  const std::string value = testing::floats({state_of(model_, 1)[2].second.values.back()});
  const std::size_t at = changed.find(value);
  ASSERT_NE(at, std::string::npos);
  changed[at + 1] = static_cast<char>(changed[at + 1] ^ 1);
  for (const bool damaged : {false, true}) {
    MemFs fs;
    EXPECT_TRUE(
        ckpt::testing::put_text(fs, "/v/model_world_size_2_rank_0.pt", testing::state_file(state_of(model_, 0))).ok());
    EXPECT_TRUE(ckpt::testing::put_text(fs, "/v/model_world_size_2_rank_1.pt", damaged ? changed : whole).ok());
    const auto source = verl_format().open(fs, "/v");
    ASSERT_TRUE(source.ok()) << source.status().to_string();
    const auto report = (*source)->verify({});
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    EXPECT_THAT(report->note, Not(HasSubstr("no checksums")));
    ASSERT_EQ(report->damage.size(), damaged ? 1u : 0u);
    if (damaged) {
      EXPECT_THAT(report->damage[0].detail, HasSubstr("does not match its CRC"));
    }
  }
}

TEST_F(VerlFolder, AnOptimizerThatIsNoArchiveIsDamageForVerify) {
  put_ranks();
  for (const char* name : {"optim_world_size_2_rank_0.pt", "optim_world_size_2_rank_1.pt"})
    put(name, std::string(40, '\1'));
  const auto source = verl_format().open(fs_, kActor);
  ASSERT_TRUE(source.ok()) << source.status().to_string();
  const auto report = (*source)->verify({});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  ASSERT_EQ(report->damage.size(), 1u);
  EXPECT_THAT(report->damage[0].detail, HasSubstr("optim_world_size_2_rank_0.pt"));
}

// transformers 5 has all experts of a layer in one tensor, which rules name as the files do.
TEST_F(VerlFolder, ExpertsInOneTensorAreTakenApart) {
  recipe::ModelDims model = model_;
  model.experts = model.route_norm = true;
  model.n_experts = 2, model.experts_per_token = 1;
  const std::vector<ckpt::ParameterMeta> order = in_order_of_transformers(model, true);
  State state;
  for (const ckpt::ParameterMeta& one : order)
    state.emplace_back(one.name,
                       RankTensor{one.shape, one.shape, std::vector<float>(ckpt::element_count(one.shape), 1)});
  put("model_world_size_1_rank_0.pt", testing::state_file(state));
  testing::make_hf_folder(fs_, std::string(kActor) + "/huggingface", model, {});
  const auto source = verl_format().open(fs_, kActor);
  ASSERT_TRUE(source.ok()) << source.status().to_string();
  const auto plan = (*source)->plan({});
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->parameters.size(), recipe::model_parameters(model).size());
  EXPECT_THAT(plan->notes,
              Contains(HasSubstr("taken apart, as save_pretrained does it: 'model.layers.0.mlp.experts.")));
  const std::string name = "model.layers.1.mlp.experts.gate_up_proj";
  const Status skipped = (*source)->plan({.skip = {name}}).status();
  EXPECT_THAT(skipped.message, HasSubstr("missing 'model.layers.1.block_sparse_moe.experts.0.w1.weight'"));
  EXPECT_THAT((*source)->plan({.skip = {"*.experts.0.*"}}).status().message, HasSubstr("matches no tensor"));
}

TEST_F(VerlFolder, RanksThatDoNotAgreeAreDamage) {
  const State first = state_of(model_, 0), second = state_of(model_, 1);
  State fewer = second, more = second, twice = second;
  fewer.pop_back();
  more.emplace_back("model.extra", RankTensor{{2}, {1}, {0}});
  twice.push_back(twice.back());
  for (const auto& [state, message] : {std::pair{&fewer, "lacks tensors of the first rank's file"},
                                       {&more, "which the first rank's file does not"},
                                       {&twice, "twice"}}) {
    MemFs fs;
    EXPECT_TRUE(ckpt::testing::put_text(fs, "/v/model_world_size_2_rank_0.pt", testing::state_file(first)).ok());
    EXPECT_TRUE(ckpt::testing::put_text(fs, "/v/model_world_size_2_rank_1.pt", testing::state_file(*state)).ok());
    const Status found = opened(fs, "/v");
    EXPECT_EQ(found.code, Code::kCorrupt) << found.to_string();
    EXPECT_THAT(found.message, HasSubstr(message));
  }
}

TEST_F(VerlFolder, FilesOfAllRanksMustBeThere) {
  const std::vector<std::tuple<std::vector<std::string>, Code, const char*>> cases{
      {{"model_world_size_2_rank_1.pt"}, Code::kCorrupt, "lacks model_world_size_2_rank_0.pt"},
      {{"model_world_size_1_rank_0.pt", "model_world_size_2_rank_1.pt"}, Code::kCorrupt, "next to files of 1 ranks"},
      {{"model_world_size_2_rank_2.pt"}, Code::kCorrupt, "of no rank"},
      {{"model_world_size_2_rank_0.pt", "model_world_size_2_rank_01.pt"},
       Code::kCorrupt,
       "rank_01.pt, which verl writes as model_world_size_2_rank_1.pt"},
      {{"model_world_size_02_rank_0.pt"}, Code::kCorrupt, "writes as model_world_size_2_rank_0.pt"},
      {{"model_world_size_0_rank_0.pt"}, Code::kCorrupt, "of no rank"},
      {{"model_world_size_4000000000_rank_1.pt"}, Code::kUnsupported, "at most 512 are read"},
      {{"model_world_size_x_rank_1.pt"}, Code::kNotFound, "holds no files"}};
  for (const auto& [names, code, message] : cases) {
    MemFs fs;
    for (const std::string& name : names) EXPECT_TRUE(ckpt::testing::put_text(fs, "/v/" + name, "x").ok());
    const Status found = opened(fs, "/v");
    EXPECT_EQ(found.code, code) << found.to_string();
    EXPECT_THAT(found.message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace titan::convert::verl::verl_checkpoint_test
