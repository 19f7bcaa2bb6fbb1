// The flat vectors of DeepSpeed's ZeRO as tensors, and what is refused of them.
#include "converters/deepspeed/zero.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "converters/deepspeed/deepspeed_checkpoint.h"
#include "converters/other_programs.h"
#include "converters/pickle/pickle_writer.h"
#include "tests/converters/torch_save/torch_zip.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::deepspeed::zero_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

// A file whose pickle a test writes, with the storages of its tensors.
struct File {
  PickleWriter out{2};
  std::vector<std::string> storages;

  void tensor(const Floats& values, const std::vector<std::uint64_t>& shape) {
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
    out.integers(shape);
    std::vector<std::uint64_t> stride(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) stride[d - 1] = stride[d] * shape[d];
    out.integers(stride);
    out.boolean(false);
    out.none();
    out.tuple(6);
    out.reduce();
    storages.push_back(testing::floats(values));
  }
  void flat(const Floats& values) { tensor(values, {values.size()}); }
  void begin(const char* key = nullptr) {
    if (key != nullptr) out.text(key);
    out.empty_dict();
    out.mark();
  }
  void end() { out.set_items(); }
  std::string bytes(const std::string& saved_as = "archive") && {
    return testing::torch_file(std::move(out).finish(), storages, saved_as);
  }
};

// Parameters a [2, columns] and b [5] in one group; `module`: the values of a in the model's file, none in stage 3.
std::string model_file(const Floats& module, bool frozen = false, std::uint64_t columns = 3, bool optimizer = false) {
  File file;
  file.begin();
  file.begin("module");
  file.out.text("a");
  file.tensor(module, module.empty() ? std::vector<std::uint64_t>{0} : std::vector<std::uint64_t>{2, columns});
  file.end();
  file.out.text("param_shapes");
  file.out.empty_list();
  file.out.mark();
  file.begin();
  file.out.text("a");
  file.out.size({2, columns});
  file.out.text("b");
  file.out.size({5});
  file.end();
  file.out.appends();
  file.out.text("global_steps");
  file.out.integer(7);
  file.out.text("skipped_steps");
  file.out.integer(2);
  if (optimizer) {
    file.begin("optimizer");
    file.out.text("state");
    file.out.none();
    file.end();
  }
  if (frozen) {
    file.begin("frozen_param_shapes");
    file.out.text("c");
    file.out.size({1});
    file.end();
  }
  file.end();
  return std::move(file).bytes();
}

struct RankFile {
  Floats weights, moments;
  std::int64_t stage = 1;
  std::int64_t padding = 0;  // between parameters
  std::string saved_as = "archive";
};
std::string rank_file(const RankFile& rank) {
  const bool third = rank.stage == 3;
  File file;
  file.begin();
  file.begin("optimizer_state_dict");
  file.out.text("zero_stage");
  file.out.global("deepspeed.runtime.zero.config", "ZeroStageEnum");
  file.out.integer(rank.stage);
  file.out.tuple(1);
  file.out.reduce();
  file.out.text(third ? "fp32_flat_groups" : "single_partition_of_fp32_groups");
  file.out.empty_list();
  file.out.mark();
  file.flat(rank.weights);
  file.out.appends();
  file.out.text("clip_grad");
  file.out.real(0.25);
  file.out.text("param_alignment_paddings");
  file.out.empty_list();
  file.out.mark();
  file.out.integer(rank.padding);
  file.out.appends();
  file.begin(third ? "optimizer_state_dict" : "base_optimizer_state");
  file.begin("state");
  file.out.integer(0);
  file.begin();
  for (const char* slot : {"exp_avg", "exp_avg_sq"}) {
    file.out.text(slot);
    file.flat(rank.moments);
  }
  file.out.text("step");
  file.tensor({7}, {});
  file.end();
  file.end();
  file.out.text("param_groups");
  file.out.empty_list();
  file.out.mark();
  file.begin();
  for (const auto& [key, value] : {std::pair{"lr", 0.5}, {"eps", 1e-8}, {"weight_decay", 0.1}}) {
    file.out.text(key);
    file.out.real(value);
  }
  file.out.text("betas");
  file.out.real(0.9);
  file.out.real(0.95);
  file.out.tuple(2);
  file.end();
  file.out.appends();
  file.end();
  file.end();
  file.end();
  return std::move(file).bytes(rank.saved_as);
}

const Floats kA{0, 1, 2, 3, 4, 5}, kB{6, 7, 8, 9, 10};
std::string name_of(int rank) { return "bf16_zero_pp_rank_" + std::to_string(rank) + "_mp_rank_00_optim_states.pt"; }

using FileMap = std::map<std::string, std::string>;
FileMap stage_1(std::int64_t stage = 1) {
  return {{"mp_rank_00_model_states.pt", model_file(kA)},
          {name_of(0), rank_file({{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}, stage})},
          {name_of(1), rank_file({{6, 7, 8, 9, 10}, {6, 7, 8, 9, 10, 99}, stage})}};
}
FileMap stage_3() {
  return {{"zero_pp_rank_0_mp_rank_00_model_states.pt", model_file({})},
          {name_of(0), rank_file({{0, 1, 2, 6, 7, 8}, {0, 1, 2, 6, 7, 8}, 3})},
          {name_of(1), rank_file({{3, 4, 5, 9, 10, 99}, {3, 4, 5, 9, 10, 99}, 3})}};
}

Status read(MemFs& fs, const FileMap& files, std::map<std::string, Floats>& found) {
  for (const auto& [name, bytes] : files) EXPECT_TRUE(put_text(fs, "/s/" + name, bytes).ok());
  PieceFiles pieces(fs);
  TITAN_ASSIGN_OR_RETURN(const Content content, read_zero(fs, "/s", pieces));
  EXPECT_EQ(content.step, 7u);
  EXPECT_EQ(content.skipped, 2u);
  EXPECT_EQ(content.data_ranks, 2u);
  EXPECT_EQ(content.groups.size(), 2u);
  EXPECT_EQ(content.groups.at("b").weight_decay, 0.1);
  EXPECT_EQ(content.clip, 0.25);
  EXPECT_EQ(content.notes.empty(), files.contains("mp_rank_00_model_states.pt"));  // of stage 3 names alone tell
  for (const auto& [name, state] : content.states)
    for (const PiecedTensor* tensor : {&state.weights, &*state.exp_avg}) {
      Floats values(ckpt::element_count(tensor->shape));
      TITAN_RETURN_IF_ERROR(pieces.read(*tensor, 0, std::as_writable_bytes(std::span(values))));
      found[name + (tensor == &state.weights ? "" : ".exp_avg")] = values;
    }
  return {};
}

TEST(DeepspeedZero, FlatVectorsOfEachStageAreTheParameters) {
  for (const FileMap& files : {stage_1(), stage_1(2), stage_3()}) {
    MemFs fs;
    std::map<std::string, Floats> found;
    const Status status = read(fs, files, found);
    ASSERT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(found, (std::map<std::string, Floats>{{"a", kA}, {"a.exp_avg", kA}, {"b", kB}, {"b.exp_avg", kB}}));
  }
}

TEST(DeepspeedZero, RefusesWhatCannotBeAndWhatIsNotRead) {
  const auto with = [](FileMap files, const std::string& name, const std::string& bytes) {
    files[name] = bytes;
    return files;
  };
  FileMap lacks = stage_1();
  lacks.erase(name_of(0));
  const std::vector<std::tuple<FileMap, Code, const char*>> cases{
      {lacks, Code::kCorrupt, "lacks files of the optimizer"},
      {with(stage_1(), name_of(1), rank_file({{6, 7, 8, 9}, {6, 7, 8, 9, 10, 0}})), Code::kCorrupt, "needs 5 elements"},
      {with(stage_1(), name_of(1), rank_file({Floats(9, 0), Floats(9, 0)})), Code::kCorrupt,
       "has 15 elements, its parameters 11"},
      {with(stage_3(), name_of(1), rank_file({Floats(7, 0), Floats(6, 0), 3})), Code::kCorrupt,
       "has 7 elements, its parts of the parameters 6"},
      {with(stage_1(), "mp_rank_00_model_states.pt", model_file({0, 1, 2, 3, 4, 6})), Code::kCorrupt,
       "are not those of the model's file"},
      {with(stage_1(), "mp_rank_00_model_states.pt", model_file(kA, true)), Code::kUnsupported, "frozen parameters"},
      {with(stage_1(), name_of(0), rank_file({kA, kA, 1, 4})), Code::kUnsupported, "paddings between parameters"},
      {with(stage_1(), name_of(1), rank_file({kB, kB, 2})), Code::kUnsupported, "of ZeRO's stage 2"},
      {with(stage_1(), "mp_rank_01_model_states.pt", "x"), Code::kUnsupported, "second tensor-parallel rank"},
      {with(stage_1(), "layer_01-model_00-model_states.pt", "x"), Code::kUnsupported,
       "of a pipeline of DeepSpeed's own"},
      {with(stage_1(), "expert_0_mp_rank_00_optim_states.pt", "x"), Code::kUnsupported, "of an expert"},
      {with(stage_1(), "zero_pp_rank_x_mp_rank_00_optim_states.pt", "x"), Code::kCorrupt,
       "its name is none of DeepSpeed's"},
      {with(stage_1(), "zero_pp_rank_01_mp_rank_00_optim_states.pt", "x"), Code::kCorrupt,
       "rank_01_mp_rank_00_optim_states.pt: its name is none of DeepSpeed's"},
      {{{"zero_pp_rank_0_mp_rank_00_model_states.pt", model_file({})}},
       Code::kIncompatible,
       "in stage 3 the weights are in the optimizer's files"},
      {{{name_of(0), "x"}}, Code::kCorrupt, "has no file of the model"}};
  for (const auto& [files, code, message] : cases) {
    MemFs fs;
    std::map<std::string, Floats> found;
    const Status status = read(fs, files, found);
    EXPECT_EQ(status.code, code) << message << ": " << status.message;
    EXPECT_THAT(status.message, HasSubstr(message));
  }
}

TEST(DeepspeedZero, ARanksFileInAnothersPlaceIsDamage) {
  FileMap copied = stage_3();
  copied[name_of(1)] = copied[name_of(0)];
  // Of stage 1 the model's file tells: here in the second half of a parameter, far behind its beginning.
  Floats a(4000), first(2000), second(2005);
  std::iota(a.begin(), a.end(), 0);
  std::copy_n(a.begin(), 2000, first.begin());
  std::copy_n(a.begin(), 2000, second.begin());
  const FileMap twice{{"mp_rank_00_model_states.pt", model_file(a, false, 2000)},
                      {name_of(0), rank_file({first, first})},
                      {name_of(1), rank_file({second, second})}};
  for (const auto& [files, message] :
       {std::pair{copied, "one rank's file is in another's place"}, {twice, "are not those of the model's file"}}) {
    MemFs fs;
    std::map<std::string, Floats> found;
    const Status status = read(fs, files, found);
    EXPECT_EQ(status.code, Code::kCorrupt) << status.to_string();
    EXPECT_THAT(status.message, HasSubstr(message));
  }
}

TEST(DeepspeedZero, ExchangedFilesAreFoundByTheNamesThatTorchKeeps) {
  const auto stem = [](int rank) { return name_of(rank).substr(0, name_of(rank).size() - 3); };
  const auto written = [&](int first, int second) {
    FileMap files = stage_3();
    files[name_of(0)] = rank_file({{0, 1, 2, 6, 7, 8}, {0, 1, 2, 6, 7, 8}, 3, 0, stem(first)});
    files[name_of(1)] = rank_file({{3, 4, 5, 9, 10, 99}, {3, 4, 5, 9, 10, 99}, 3, 0, stem(second)});
    MemFs fs;
    for (const auto& [name, bytes] : files) EXPECT_TRUE(put_text(fs, "/s/" + name, bytes).ok());
    PieceFiles pieces(fs);
    return read_zero(fs, "/s", pieces);
  };
  const auto right = written(0, 1);
  ASSERT_TRUE(right.ok()) << right.status().to_string();
  EXPECT_TRUE(right->notes.empty()) << "the files say their ranks themselves";
  const Status exchanged = written(1, 0).status();
  EXPECT_EQ(exchanged.code, Code::kCorrupt);
  EXPECT_THAT(exchanged.message, HasSubstr("rank_0_mp_rank_00_optim_states.pt was saved as bf16_zero_pp_rank_1_"));
}

TEST(DeepspeedZero, WithoutTheOptimizersFilesTheModelsOwnAreTaken) {
  for (const bool optimizer : {false, true}) {
    MemFs fs;
    ASSERT_TRUE(put_text(fs, "/s/mp_rank_00_model_states.pt", model_file(kA, true, 3, optimizer)).ok());
    PieceFiles pieces(fs);
    const auto content = read_zero(fs, "/s", pieces);
    ASSERT_TRUE(content.ok()) << content.status().to_string();
    Floats values(6);
    ASSERT_TRUE(pieces.read(content->states.at("a").weights, 0, std::as_writable_bytes(std::span(values))).ok());
    EXPECT_EQ(values, kA);
    EXPECT_FALSE(content->states.at("a").exp_avg);
    EXPECT_EQ(content->why_optimizer.code, optimizer ? Code::kUnsupported : Code::kOk);
  }
}

std::string tensor_file(const Floats& values, const std::string& saved_as, std::vector<std::uint64_t> shape = {}) {
  File file;
  file.begin();
  file.out.text("param");
  file.tensor(values, shape.empty() ? std::vector<std::uint64_t>{values.size()} : shape);
  file.end();
  return std::move(file).bytes(saved_as);
}

TEST(DeepspeedZero, OfTheUniversalFormAFileInAnothersPlaceIsDamage) {
  for (const char* saved_as : {"exp_avg", "archive", "fp32"}) {
    MemFs fs;
    for (const std::string slot : {"fp32", "exp_avg", "exp_avg_sq"})
      ASSERT_TRUE(put_text(fs, "/s/zero/a/" + slot + ".pt", tensor_file(kB, slot == "exp_avg" ? saved_as : slot)).ok());
    PieceFiles pieces(fs);
    const Status status = read_universal(fs, "/s", pieces).status();
    EXPECT_EQ(status.code, saved_as == std::string("fp32") ? Code::kCorrupt : Code::kOk) << status.message;
    EXPECT_THAT(status.message, HasSubstr(status.ok() ? "" : "a/exp_avg.pt was saved as fp32.pt"));
  }
}

TEST(DeepspeedZero, OfTheUniversalFormTheModelsFileTellsWhoseAFolderIs) {
  for (const bool exchanged : {false, true}) {
    MemFs fs;
    ASSERT_TRUE(put_text(fs, "/s/mp_rank_00_model_states.pt", model_file(kA)).ok());
    const Floats other{5, 4, 3, 2, 1, 0};
    for (const std::string slot : {"fp32", "exp_avg", "exp_avg_sq"})
      ASSERT_TRUE(put_text(fs, "/s/zero/a/" + slot + ".pt", tensor_file(exchanged ? other : kA, slot, {2, 3})).ok());
    PieceFiles pieces(fs);
    const Status status = read_universal(fs, "/s", pieces).status();
    EXPECT_EQ(status.code, exchanged ? Code::kCorrupt : Code::kOk) << status.to_string();
    EXPECT_THAT(status.message, HasSubstr(exchanged ? "weights of 'a' are not those of the model's file" : ""));
  }
}

TEST(DeepspeedZero, AStepIsFoundThroughLatestAndNowhereElse) {
  MemFs fs;
  for (const auto& [path, text] : {std::pair{"/run/latest", " global_step7\r\n"},
                                   {"/run/global_step7/zero_pp_rank_0_mp_rank_00_optim_states.pt", "x"},
                                   {"/out/latest", "../run/global_step7"},
                                   {"/bare/latest", "global_step9"},
                                   {"/u/latest_universal", "u7"},
                                   {"/u/u7/zero/a/fp32.pt", "x"},
                                   {"/u/u7/mp_rank_00_model_states.pt", "x"}})
    ASSERT_TRUE(put_text(fs, path, text).ok());
  EXPECT_EQ(find_step(fs, "/run")->folder, "/run/global_step7");
  EXPECT_EQ(find_step(fs, "/run/global_step7")->folder, "/run/global_step7");
  EXPECT_EQ(find_step(fs, "/u")->folder, "/u/u7");
  for (const char* path : {"/out", "/bare", "/nothing"}) EXPECT_EQ(find_step(fs, path)->folder, "") << path;
}

TEST(DeepspeedZero, OfTwoStepsThatARunNamesTheNewerIsTaken) {
  for (const auto& [universal, taken, other] : {std::tuple{5, "global_step15", "global_step5_universal"},
                                                {25, "global_step25_universal", "global_step15"},
                                                {15, "global_step15_universal", ""}}) {
    MemFs fs;
    const std::string folder = "global_step" + std::to_string(universal) + "_universal";
    for (const auto& [path, text] : {std::pair{std::string("latest"), std::string("global_step15")},
                                     {"latest_universal", folder},
                                     {"global_step15/" + name_of(0), "x"},
                                     {folder + "/mp_rank_00_model_states.pt", "x"}})
      ASSERT_TRUE(put_text(fs, "/run/" + path, text).ok());
    const auto step = find_step(fs, "/run");
    ASSERT_TRUE(step.ok());
    EXPECT_EQ(step->folder, std::string("/run/") + taken);
    EXPECT_EQ(step->other, *other == 0 ? "" : std::string("/run/") + other);
  }
}

TEST(DeepspeedZero, ARunWhoseLatestNamesNothingSaysItsNewestStep) {
  MemFs fs;
  for (const char* step : {"global_step5", "global_step15"})
    ASSERT_TRUE(put_text(fs, std::string("/run/") + step + "/mp_rank_00_model_states.pt", "x").ok());
  ASSERT_TRUE(put_text(fs, "/run/latest", "").ok());
  ASSERT_TRUE(put_text(fs, "/run/zero_to_fp32.py", "").ok());
  EXPECT_TRUE(check_other_programs(fs, "/run").ok());
  EXPECT_EQ(deepspeed_format().near_miss(fs, "/run").hint, "name a step: the newest is /run/global_step15");
}

TEST(DeepspeedZero, VerifyReadsTensorsThatNobodyTakes) {
  Floats a(4000);
  std::iota(a.begin(), a.end(), 0);
  const Floats first(a.begin(), a.begin() + 2000);
  Floats second(a.begin() + 2000, a.end());
  second.insert(second.end(), kB.begin(), kB.end());
  for (const bool damaged : {false, true}) {
    MemFs fs;
    std::string model = model_file(a, false, 2000);
    const std::size_t begin = model.find(testing::floats(a));
    ASSERT_NE(begin, std::string::npos);
    if (damaged) model[begin + sizeof(float) * 1500] ^= 1;  // the weights are compared up to 1024
    for (const auto& [name, bytes] : FileMap{{"mp_rank_00_model_states.pt", model},
                                             {name_of(0), rank_file({first, first})},
                                             {name_of(1), rank_file({second, second})}})
      ASSERT_TRUE(put_text(fs, "/s/" + name, bytes).ok());
    const auto checkpoint = deepspeed_format().open(fs, "/s");
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().to_string();
    const auto report = (*checkpoint)->verify({});
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    ASSERT_EQ(report->damage.size(), damaged ? 1u : 0u);
    EXPECT_EQ(damaged ? report->damage[0].file : "", damaged ? "/s/mp_rank_00_model_states.pt" : "");
  }
}

}  // namespace
}  // namespace titan::convert::deepspeed::zero_test
