#include "converters/other_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::other_programs_test {
namespace {

using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ::testing::HasSubstr;

struct Kind {
  std::vector<std::string> files;
  const char* what;
};

TEST(OtherPrograms, SaysWhatACheckpointOfAnotherProgramIs) {
  const Kind kinds[] = {
      {{"zero_to_fp32.py", "latest", "global_step10/rng.bin"}, "a DeepSpeed checkpoint"},
      {{"latest", "global_step10/rng.bin"}, "a DeepSpeed checkpoint"},
      {{"mp_rank_00_model_states.pt"}, "a DeepSpeed checkpoint"},
      {{"zero_pp_rank_0_mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00_optim_states.pt"},
       "a DeepSpeed checkpoint"},
      {{"bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt"}, "a DeepSpeed checkpoint"},
      {{"iter_0000100/mp_rank_00/model_optim_rng.pt"}, "a Megatron checkpoint"},
      {{"context/model.yaml", "weights/common.pt"}, "a NeMo checkpoint"},
      {{"model_config.yaml", "model_weights/x"}, "a NeMo checkpoint"},
      {{"manifest.ocdbt", "d/0"}, "a checkpoint of Orbax"},
      {{"_CHECKPOINT_METADATA", "default/manifest.ocdbt"}, "a checkpoint of Orbax"},
      {{"params/manifest.ocdbt"}, "a checkpoint of Orbax"},
      {{"flax_model.msgpack", "config.json"}, "a model of Flax"},
      {{"tf_model.h5", "config.json"}, "a model of TensorFlow"},
      {{"weights.npz", "config.json"}, "a model of MLX"},
      {{"mp_rank_00/model_optim_rng.pt"}, "a Megatron checkpoint"},
      {{"mp_rank_00_000/distrib_optim.pt", "mp_rank_00_000/model_rng.pt"}, "a Megatron checkpoint"},
      {{"distrib_optim.pt"}, "a Megatron checkpoint"},
      {{"latest_checkpointed_iteration.txt", "iter_0000010/x"}, "a Megatron checkpoint"},
      {{"common.pt", "metadata.json", ".metadata", "__0_0.distcp"}, "a Megatron checkpoint"},
  };
  for (const Kind& kind : kinds) {
    MemFs fs;
    for (const std::string& name : kind.files) ASSERT_TRUE(put_text(fs, "/it/" + name, "x").ok());
    const Status status = check_other_programs(fs, "/it");
    EXPECT_EQ(status.code, ckpt::Code::kUnsupported) << kind.files[0];
    EXPECT_THAT(status.message, HasSubstr(kind.what)) << kind.files[0];
    EXPECT_THAT(status.message, HasSubstr("not supported yet"));
    EXPECT_FALSE(status.hint.empty());
  }
}

std::string torch_zip() {
  std::string bytes = std::string("PK\3\4", 4) + std::string(22, '\0');
  return bytes + "\x10" + std::string(3, '\0') + "archive/data.pkl";
}

TEST(OtherPrograms, WhatIsReadAsSomethingElseIsSaidToBeWhatItIs) {
  const Status error = ckpt::corrupt("cannot be parsed");
  EXPECT_EQ(or_wrong_file_kind("/a", "{\"a\":", error), error);
  EXPECT_EQ(or_wrong_file_kind("/a", "", error), error);
  const Status page = or_wrong_file_kind("/a/config.json", "<!DOCTYPE html>", error);
  EXPECT_EQ(page.code, ckpt::Code::kUnsupported);
  EXPECT_EQ(page.message, "/a/config.json is a web page (HTML), whatever its name says");
  const Status zeros = or_wrong_file_kind("/a", std::string(40, '\0'), error);
  EXPECT_EQ(zeros.code, ckpt::Code::kCorrupt);
  EXPECT_THAT(zeros.message, HasSubstr("begins with 40 bytes that are all zero"));
}

TEST(OtherPrograms, KnowsAFileByItsFirstBytes) {
  MemFs fs;
  for (const auto& [name, head, what] : std::vector<std::array<std::string, 3>>{
           {"/old.bin", "lmggml", "a GGML file"},
           {"/a.pt", torch_zip(), "a pickle of PyTorch"},
           {"/a.pth", "\x80\x02old", "a pickle of Python"},
           {"/a.zip", "PK\3\4zip", "a zip archive, no checkpoint"},
           {"/a.safetensors", "version https://git-lfs.github.com/spec/v1\n", "a pointer of git-lfs"},
           {"/a.html", "<!doctype html>", "a web page (HTML), no checkpoint"},
           {"/a.nemo", "\x1f\x8b\x08", "a NeMo checkpoint in one archive"},
           {"/a.sh", "#!/bin/sh", "a script, no checkpoint"},
           {"/a.bin", "tokens", ""},
           {"/b.bin", "no", ""}}) {
    ASSERT_TRUE(put_text(fs, name, head).ok());
    const Status status = check_other_programs(fs, name);
    EXPECT_EQ(status.ok(), what.empty()) << name;
    EXPECT_THAT(status.message, HasSubstr(what)) << name;
  }
}

TEST(OtherPrograms, LetsEverythingElseBe) {
  MemFs fs;
  for (const char* name : {"/hf/model.safetensors", "/hf/config.json", "/step-10/.metadata", "/step-10/__0_0.distcp",
                           "/near/shard-00001.safetensors", "/half/common.pt", "/meta/metadata.json", "/files/a.bin",
                           "/verl/latest_checkpointed_iteration.txt", "/verl/global_step_5/actor/x",
                           "/dist/latest_checkpointed_iteration.txt", "/dist/iter_0000005/.metadata"})
    ASSERT_TRUE(put_text(fs, name, "x").ok());
  for (const char* path : {"/hf", "/step-10", "/near", "/half", "/meta", "/files", "/nothing", "/verl", "/dist"})
    EXPECT_TRUE(check_other_programs(fs, path).ok()) << path;
}

}  // namespace
}  // namespace titan::convert::other_programs_test
