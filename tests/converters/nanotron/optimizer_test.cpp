// The optimizer files of nanotron: pieces of data-parallel ranks become states in the shape of their parameter.
#include "converters/nanotron/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/pickle/pickle_writer.h"
#include "tests/converters/torch_save/torch_zip.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::nanotron::optimizer_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ::testing::HasSubstr;

struct RankFile {
  std::vector<float> moments;  // of the one parameter
  std::string name = "a.weight";
  int index = 0;  // of its state
  float step = 3;
  bool master = false;
  double lr = 0.5;
  std::string saved_as = "archive";
};

void put_tensor(PickleWriter& out, std::vector<std::string>& storages, const std::vector<float>& values,
                bool scalar = false) {
  out.global("torch._utils", "_rebuild_tensor_v2");
  out.mark();
  out.mark();
  out.text("storage");
  out.global("torch", "FloatStorage");
  out.text(std::to_string(storages.size()));
  out.text("cpu");
  out.integer(static_cast<std::int64_t>(values.size()));
  out.tuple(5);
  out.persistent();
  out.integer(0);
  out.integers(scalar ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{values.size()});
  out.integers(scalar ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{1});
  out.boolean(false);
  out.none();
  out.tuple(6);
  out.reduce();
  storages.push_back(testing::floats(values));
}

std::string file_of(const RankFile& rank) {
  std::vector<std::string> storages;
  PickleWriter out(2);
  out.empty_dict();
  out.mark();
  out.text("state");
  out.empty_dict();
  out.mark();
  out.integer(rank.index);
  out.empty_dict();
  out.mark();
  out.text("step");
  put_tensor(out, storages, {rank.step}, true);
  for (const char* slot : {"exp_avg", "exp_avg_sq"}) {
    out.text(slot);
    put_tensor(out, storages, rank.moments);
  }
  out.set_items();
  out.set_items();
  out.text("names");
  out.empty_dict();
  out.mark();
  out.integer(0);
  out.text(rank.name);
  out.set_items();
  if (rank.master) {
    out.text("gradient_accumulator");
    out.empty_dict();
    out.mark();
    out.text(rank.name);
    put_tensor(out, storages, rank.moments);
    out.set_items();
  }
  out.text("param_groups");
  out.empty_list();
  out.mark();
  out.empty_dict();
  out.mark();
  for (const auto& [key, value] : {std::pair{"lr", rank.lr}, {"eps", 1e-8}, {"weight_decay", 0.1}}) {
    out.text(key);
    out.real(value);
  }
  out.text("betas");
  out.real(0.9);
  out.real(0.95);
  out.tuple(2);
  out.set_items();
  out.appends();
  out.set_items();
  return testing::torch_file(std::move(out).finish(), storages, rank.saved_as);
}

// 4 x 2, cut by rows for two tensor-parallel ranks.
std::vector<Parameter> parameters(MemFs& fs, PieceFiles& files) {
  Parameter one{"a.weight", DType::kF32, {4, 2}, {}};
  for (std::uint32_t tp = 0; tp < 2; ++tp) {
    const std::string path = "/m/" + std::to_string(tp);
    const auto first = static_cast<float>(4 * tp + 1);
    EXPECT_TRUE(ckpt::testing::put_text(fs, path, testing::floats({first, first + 1, first + 2, first + 3})).ok());
    one.shards.push_back({tp, {2, 2}, {files.add(path), 0, 4}, {{{2 * tp, 0}, {2, 2}, 0}}});
  }
  return {one};
}

Result<std::vector<float>> read(MemFs& fs, const std::map<std::string, RankFile>& files, bool master = false) {
  for (const auto& [name, rank] : files) EXPECT_TRUE(ckpt::testing::put_text(fs, "/o/" + name, file_of(rank)).ok());
  PieceFiles pieces(fs);
  TITAN_ASSIGN_OR_RETURN(const Optimizer optimizer, read_optimizer(fs, "/o", parameters(fs, pieces), pieces));
  const ParameterState& state = optimizer.states.at("a.weight");
  EXPECT_EQ(state.step, 3);
  EXPECT_EQ(optimizer.groups.at("a.weight").lr, 0.5);
  EXPECT_EQ(state.master.has_value(), master);
  std::vector<float> out(8);
  TITAN_RETURN_IF_ERROR(
      pieces.read(master ? *state.master : state.exp_avg_sq, 0, std::as_writable_bytes(std::span(out))));
  return out;
}

const std::vector<float> kWhole{1, 2, 3, 4, 5, 6, 7, 8};

TEST(NanotronOptimizer, WithoutZeroEachTensorRankHasItsShard) {
  MemFs fs;
  const auto found = read(fs, {{"optimizer_pp-0-of-1_tp-0-of-2_exp-0-of-1.pt", {{1, 2, 3, 4}}},
                               {"optimizer_pp-0-of-1_tp-1-of-2_exp-0-of-1.pt", {{5, 6, 7, 8}}}});
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(*found, kWhole);
}

TEST(NanotronOptimizer, WithZeroOnePiecesAreInTheOrderOfTheDataRanks) {
  for (const bool master : {false, true}) {
    MemFs fs;
    const auto found =
        read(fs,
             {{"optimizer_pp-0-of-1_dp-0-of-2_tp-0-of-2_exp-0-of-1.pt", {.moments = {1, 2, 3}, .master = master}},
              {"optimizer_pp-0-of-1_dp-1-of-2_tp-0-of-2_exp-0-of-1.pt", {.moments = {4}, .master = master}},
              {"optimizer_pp-0-of-1_dp-0-of-2_tp-1-of-2_exp-0-of-1.pt", {.moments = {5, 6, 7}, .master = master}},
              {"optimizer_pp-0-of-1_dp-1-of-2_tp-1-of-2_exp-0-of-1.pt", {.moments = {8}, .master = master}}},
             master);
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    EXPECT_EQ(*found, kWhole);
  }
}

TEST(NanotronOptimizer, OfATiedEmbeddingTheFirstStageCounts) {
  MemFs fs;
  const auto found = read(fs, {{"optimizer_pp-0-of-2_tp-0-of-2_exp-0-of-1.pt", {{1, 2, 3, 4}}},
                               {"optimizer_pp-0-of-2_tp-1-of-2_exp-0-of-1.pt", {{5, 6, 7, 8}}},
                               {"optimizer_pp-1-of-2_tp-0-of-2_exp-0-of-1.pt", {{9, 9, 9, 9}}}});
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(*found, kWhole);
}

TEST(NanotronOptimizer, SaysWhetherTheFilesTellTheirRanks) {
  for (const bool named : {true, false}) {
    MemFs fs;
    for (const int tp : {0, 1}) {
      const std::string stem = "optimizer_pp-0-of-1_tp-" + std::to_string(tp) + "-of-2_exp-0-of-1";
      RankFile rank{.moments = std::vector<float>(4, static_cast<float>(tp))};
      if (named) rank.saved_as = stem;
      ASSERT_TRUE(ckpt::testing::put_text(fs, "/o/" + stem + ".pt", file_of(rank)).ok());
    }
    PieceFiles pieces(fs);
    const auto optimizer = read_optimizer(fs, "/o", parameters(fs, pieces), pieces);
    ASSERT_TRUE(optimizer.ok()) << optimizer.status().to_string();
    EXPECT_EQ(optimizer->ranks_recorded, named);
  }
}

TEST(NanotronOptimizer, RefusesFilesThatCannotBe) {
  const std::string first = "optimizer_pp-0-of-1_tp-0-of-2_exp-0-of-1.pt",
                    second = "optimizer_pp-0-of-1_tp-1-of-2_exp-0-of-1.pt";
  const std::vector<std::tuple<std::map<std::string, RankFile>, Code, const char*>> cases{
      {{{first, {{1, 2, 3, 4}}}}, Code::kCorrupt, "lacks the file of tensor-parallel rank 1"},
      {{{first, {{1, 2, 3}}}, {second, {{5, 6, 7, 8}}}},
       Code::kCorrupt,
       "has 3 elements on tensor-parallel rank 0, its weights have 4"},
      {{{first, {{1, 2, 3, 4, 5}}}, {second, {{5, 6, 7, 8}}}}, Code::kCorrupt, "has 5 elements"},
      {{{first, {.moments = {1}, .name = "b.weight"}}}, Code::kCorrupt, "'b.weight' is no parameter of the model"},
      {{{first, {.moments = {1}, .index = 4}}}, Code::kCorrupt, "a state of int 4, which has no name"},
      {{{first, {{1, 2, 3, 4}}}, {second, {.moments = {5, 6, 7, 8}, .step = 4}}}, Code::kCorrupt, "on another rank"},
      {{{first, {{1, 2, 3, 4}}}, {second, {.moments = {5, 6, 7, 8}, .lr = 0.25}}},
       Code::kCorrupt,
       "tp-1-of-2_exp-0-of-1.pt: 'a.weight' has other settings than on another rank"},
      {{{first, {{1, 2, 3, 4}}}, {second, {{1, 2, 3, 4}}}},
       Code::kCorrupt,
       "tp-1-of-2_exp-0-of-1.pt holds what optimizer_pp-0-of-1_tp-0-of-2_exp-0-of-1.pt does"},
      {{{first, {.moments = {5, 6, 7, 8}, .master = true}}, {second, {.moments = {1, 2, 3, 4}, .master = true}}},
       Code::kCorrupt,
       "tp-0-of-2_exp-0-of-1.pt: its masters of 'a.weight' are not the weights of tensor-parallel rank 0"},
      {{{"optimizer_pp-0-of-1_dp-0-of-2_tp-0-of-2_exp-0-of-1.pt", {.moments = {3, 4}, .master = true}},
        {"optimizer_pp-0-of-1_dp-1-of-2_tp-0-of-2_exp-0-of-1.pt", {.moments = {1, 2}, .master = true}},
        {"optimizer_pp-0-of-1_dp-0-of-2_tp-1-of-2_exp-0-of-1.pt", {.moments = {5, 6, 7, 8}, .master = true}}},
       Code::kCorrupt,
       "dp-0-of-2_tp-0-of-2_exp-0-of-1.pt: its masters"},
      {{{first, {.moments = {5, 6, 7, 8}, .saved_as = second.substr(0, second.size() - 3)}}, {second, {{1, 2, 3, 4}}}},
       Code::kCorrupt,
       "tp-0-of-2_exp-0-of-1.pt was saved as optimizer_pp-0-of-1_tp-1-of-2_exp-0-of-1: one rank's file is"},
      {{{"optimizer_pp-0-of-1_tp-00-of-2_exp-0-of-1.pt", {{1, 2, 3, 4}}}},
       Code::kCorrupt,
       "its name is none of nanotron's"},
      {{{"optimizer_pp-0-of-1_tp-0-of-1_exp-1-of-2.pt", {{1}}}}, Code::kUnsupported, "of an expert"},
      {{{"optimizer_pp-x-of-1.pt", {{1}}}}, Code::kCorrupt, "its name is none of nanotron's"}};
  for (const auto& [files, code, message] : cases) {
    MemFs fs;
    const Status status = read(fs, files).status();
    EXPECT_EQ(status.code, code) << message << ": " << status.message;
    EXPECT_THAT(status.message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace titan::convert::nanotron::optimizer_test
