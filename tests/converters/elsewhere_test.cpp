#include "converters/elsewhere.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::elsewhere_test {
namespace {

using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ::testing::HasSubstr;

struct Kind {
  std::vector<std::string> files;
  const char* what;
};

TEST(Elsewhere, SaysWhatACheckpointOfAnotherProgramIs) {
  const Kind kinds[] = {
      {{"checkpoint_metadata.json", "model/a.safetensors", "config.yaml"}, "a nanotron checkpoint"},
      {{"zero_to_fp32.py", "latest", "global_step10/mp_rank_00_model_states.pt"}, "a DeepSpeed checkpoint"},
      {{"mp_rank_00/model_optim_rng.pt"}, "a Megatron checkpoint"},
      {{"mp_rank_00_000/distrib_optim.pt", "mp_rank_00_000/model_rng.pt"}, "a Megatron checkpoint"},
      {{"distrib_optim.pt"}, "a Megatron checkpoint"},
      {{"latest_checkpointed_iteration.txt", "iter_0000010/x"}, "a Megatron checkpoint"},
      {{"common.pt", "metadata.json", ".metadata", "__0_0.distcp"}, "a Megatron checkpoint"},
      {{"shard-00000-model-00001-of-00001.safetensors"}, "still in shards of ranks"},
      {{"sharded/shard-00000-model-00001-of-00001.safetensors"}, "still in shards of ranks"},
      {{"tiny.Q4_K_M.gguf"}, "a GGUF file"},
  };
  for (const Kind& kind : kinds) {
    MemFs fs;
    for (const std::string& name : kind.files) ASSERT_TRUE(put_text(fs, "/it/" + name, "x").ok());
    const Status status = check_elsewhere(fs, "/it");
    EXPECT_EQ(status.code, ckpt::Code::kUnsupported) << kind.files[0];
    EXPECT_THAT(status.message, HasSubstr(kind.what)) << kind.files[0];
    EXPECT_THAT(status.message, HasSubstr("not supported yet"));
    EXPECT_FALSE(status.hint.empty());
  }
}

TEST(Elsewhere, KnowsAFileByItsFirstBytes) {
  MemFs fs;
  for (const auto& [name, head, what] :
       std::vector<std::array<std::string, 3>>{{"/a.gguf", "GGUF\3", "a GGUF file"},
                                               {"/named.bin", "GGUF\3", "a GGUF file"},
                                               {"/a.pt", "PK\3\4zip", "a pickle of PyTorch"},
                                               {"/a.pth", "\x80\x02old", "a pickle of PyTorch"},
                                               {"/a.zip", "PK\3\4zip", ""},
                                               {"/a.bin", "tokens", ""},
                                               {"/b.bin", "no", ""}}) {
    ASSERT_TRUE(put_text(fs, name, head).ok());
    const Status status = check_elsewhere(fs, name);
    EXPECT_EQ(status.ok(), what.empty()) << name;
    EXPECT_THAT(status.message, HasSubstr(what)) << name;
  }
}

TEST(Elsewhere, LetsEverythingElseBe) {
  MemFs fs;
  for (const char* name : {"/hf/model.safetensors", "/hf/config.json", "/step-10/.metadata", "/step-10/__0_0.distcp",
                           "/near/shard-00001.safetensors", "/half/common.pt", "/meta/metadata.json", "/files/a.bin"})
    ASSERT_TRUE(put_text(fs, name, "x").ok());
  for (const char* path : {"/hf", "/step-10", "/near", "/half", "/meta", "/files", "/nothing"})
    EXPECT_TRUE(check_elsewhere(fs, path).ok()) << path;
}

}  // namespace
}  // namespace titan::convert::elsewhere_test
