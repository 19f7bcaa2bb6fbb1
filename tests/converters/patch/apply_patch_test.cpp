#include "converters/patch/apply_patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "converters/patch/make_patch.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::apply_patch_test {
namespace {

using ckpt::Code;
using ckpt::testing::get_text;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ckpt::testing::tree;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::RawTensor;
using testing::RawTensors;

/// bf16 numbers, of which every `every`-th is `step` steps from those of step 0.
RawTensor numbers(std::size_t count, unsigned seed, std::size_t every = 1, int step = 0) {
  std::string bytes(2 * count, '\0');
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits =
        static_cast<std::uint16_t>(0x3c00 + (i * 2654435761U + seed) % 0x300 + (i % every == 0 ? unsigned(step) : 0));
    std::memcpy(&bytes[2 * i], &bits, sizeof bits);
  }
  return {"BF16", "[" + std::to_string(count) + "]", bytes};
}

class Patch : public ::testing::Test {
 protected:
  Patch() {
    for (const char* folder : {"/w", "/w/a", "/w/b"}) EXPECT_TRUE(fs_.make_dir(folder).ok());
    save("/w/a", model(0));
    save("/w/b", model(1));
    EXPECT_TRUE(put_text(fs_, "/w/a/config.json", "{}").ok());
    EXPECT_TRUE(put_text(fs_, "/w/b/config.json", R"({"model_type": "llama"})").ok());
    EXPECT_TRUE(put_text(fs_, "/w/b/notes.txt", "mine").ok());
  }

  static RawTensors model(int step) {
    return {{"big", numbers(1'300'000, 1, 50, step)}, {"small", numbers(5, 2, 1, step)}, {"same", numbers(100, 3)}};
  }
  void save(const std::string& folder, const RawTensors& tensors) {
    (void)fs_.remove_file(folder + "/model.safetensors");
    ASSERT_TRUE(put_text(fs_, folder + "/model.safetensors", testing::safetensors_file(tensors)).ok());
  }
  Result<PatchReport> make(const std::string& base, const std::string& target, const std::string& output = "/w/p") {
    return make_patch(fs_, {.base = base, .target = target, .output = output, .threads = 2, .writer = "test"});
  }
  Result<ApplyReport> apply(const std::string& base, const std::string& output = "/w/out") {
    return apply_patch(fs_, {.base = base, .patch = "/w/p", .output = output, .threads = 2});
  }
  void expect_equal(const std::string& a, const std::string& b) {
    std::vector<std::string> files;
    for (const std::string& path : tree(fs_, a))
      if (!path.ends_with("/") && fs_.stat(a + "/" + path)->type == ckpt::FileType::kFile) files.push_back(path);
    ASSERT_FALSE(files.empty());
    for (const std::string& path : files)
      EXPECT_TRUE(get_text(fs_, a + "/" + path) == get_text(fs_, b + "/" + path)) << path;
  }

  MemFs fs_;
};

TEST_F(Patch, GivesTheTargetByteForByteInFewBytes) {
  const auto made = make("/w/a", "/w/b");
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_LT(made->patch_bytes, made->target_bytes / 30);
  EXPECT_EQ(made->patch_bytes, fs_.stat("/w/p")->size);
  EXPECT_EQ(made->equal_tensors, 1u);
  EXPECT_THAT(made->notes, ::testing::ElementsAre(HasSubstr("notes.txt")));
  const auto applied = apply("/w/a");
  ASSERT_TRUE(applied.ok()) << applied.status().to_string();
  EXPECT_EQ(applied->target, made->target_side);
  EXPECT_EQ(get_text(fs_, "/w/out/model.safetensors"), get_text(fs_, "/w/b/model.safetensors"));
  EXPECT_EQ(get_text(fs_, "/w/out/config.json"), get_text(fs_, "/w/b/config.json"));
  EXPECT_THAT(tree(fs_, "/w/out"), ::testing::SizeIs(2));
}

TEST_F(Patch, TheIdsOfAChainMeet) {
  const auto first = make("/w/a", "/w/b");
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(apply("/w/a").ok());
  const auto second = make("/w/out", "/w/a", "/w/p2");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first->target_side, second->base_side);
  EXPECT_EQ(first->base_side, second->target_side);
  EXPECT_NE(first->base_side.id, first->target_side.id);
}

TEST_F(Patch, AnotherBaseIsRefusedWithBothIds) {
  const auto made = make("/w/a", "/w/b");
  ASSERT_TRUE(made.ok());
  const std::string expected = made->base_side.id.hex();
  const Status other = apply("/w/b").status();
  EXPECT_EQ(other.code, Code::kIncompatible);
  EXPECT_THAT(other.message, AllOf(HasSubstr(expected), HasSubstr(made->target_side.id.hex())));
  for (int turn = 0; turn < 3; ++turn) {
    RawTensors changed = model(0);
    if (turn == 0) changed.erase("small");
    if (turn == 1) changed["small"] = numbers(4, 2);
    if (turn == 2) changed["big"].bytes.back() ^= 1;
    save("/w/a", changed);
    const Status status = apply("/w/a").status();
    EXPECT_EQ(status.code, Code::kIncompatible) << turn << status.to_string();
    EXPECT_THAT(status.message, HasSubstr(expected));
    EXPECT_FALSE(fs_.stat("/w/out").ok());
  }
}

TEST_F(Patch, WhatTheBaseLacksIsInThePatchWhole) {
  RawTensors target = model(1);
  target["new"] = numbers(1000, 9);
  target["small"] = numbers(6, 2);
  save("/w/b", target);
  const auto made = make("/w/a", "/w/b");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->whole_tensors, 2u);
  EXPECT_THAT(made->notes[0], AllOf(HasSubstr("2 tensors whole"), HasSubstr("new is not there")));
  ASSERT_TRUE(apply("/w/a").ok());
  EXPECT_EQ(get_text(fs_, "/w/out/model.safetensors"), get_text(fs_, "/w/b/model.safetensors"));
  save("/w/b", {{"other", numbers(10, 1)}});
  const Status nothing = make("/w/a", "/w/b", "/w/p2").status();
  EXPECT_EQ(nothing.code, Code::kIncompatible);
  EXPECT_THAT(nothing.message, HasSubstr("other is not there"));
}

TEST_F(Patch, OfOneFile) {
  ASSERT_TRUE(make("/w/a/model.safetensors", "/w/b/model.safetensors").ok());
  ASSERT_TRUE(apply("/w/a/model.safetensors", "/w/c.safetensors").ok());
  EXPECT_EQ(get_text(fs_, "/w/c.safetensors"), get_text(fs_, "/w/b/model.safetensors"));
  EXPECT_EQ(apply("/w/a/model.safetensors", "/w/c.safetensors").status().code, Code::kInvalid);
}

TEST_F(Patch, OfCheckpointsOfOursInAnyLayoutOfTheBase) {
  using ckpt::testing::make_checkpoint;
  ASSERT_TRUE(make_checkpoint(fs_, "/run/checkpoint", {.step = 10, .seed = 1}).ok());
  ASSERT_TRUE(make_checkpoint(fs_, "/run/checkpoint", {.step = 20, .dp = 2, .pp = 2, .seed = 2}).ok());
  ASSERT_TRUE(make_checkpoint(fs_, "/wide/checkpoint", {.step = 10, .dp = 2, .pp = 2, .seed = 1}).ok());
  const auto made = make("/run@10", "/run@20");
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  const auto applied = apply("/wide@10", "/w/step-00000020");
  ASSERT_TRUE(applied.ok()) << applied.status().to_string();
  EXPECT_EQ(applied->target.id, made->target_side.id);
  expect_equal("/run/checkpoint/step-00000020", "/w/step-00000020");
  EXPECT_FALSE(fs_.stat("/w/step-00000020/manifest.json")->writable);
  EXPECT_EQ(apply("/run@20").status().code, Code::kIncompatible);
  EXPECT_EQ(apply("/wide@10", "/w/step-00000030").status().code, Code::kInvalid) << "named as another step";
  EXPECT_EQ(make("/w/a", "/run@20", "/w/p2").status().code, Code::kInvalid) << "one of ours, the other not";
  EXPECT_EQ(apply("/w/a").status().code, Code::kIncompatible);
}

TEST_F(Patch, NoDamageOfAPatchGivesACheckpoint) {
  save("/w/a", {{"small", numbers(200, 2)}, {"tiny", numbers(3, 1)}});
  save("/w/b", {{"small", numbers(200, 2, 20, 1)}, {"tiny", numbers(3, 1, 1, 7)}});
  ASSERT_TRUE(make("/w/a", "/w/b").ok());
  const std::string whole = get_text(fs_, "/w/p");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    ASSERT_TRUE(fs_.remove_file("/w/p").ok());
    ASSERT_TRUE(put_text(fs_, "/w/p", bad).ok());
    const Status status = apply("/w/a").status();
    EXPECT_TRUE(status.code == Code::kCorrupt || (i < 12 && !status.ok())) << i << " " << status.to_string();
    EXPECT_FALSE(fs_.stat("/w/out").ok()) << i;
    ASSERT_TRUE(fs_.remove_file("/w/p").ok());
    ASSERT_TRUE(put_text(fs_, "/w/p", whole.substr(0, i)).ok());
    EXPECT_FALSE(apply("/w/a").ok()) << i;
  }
}

TEST_F(Patch, ReplacesPatchesAloneAndOnlyWhenAsked) {
  ASSERT_TRUE(make("/w/a", "/w/b").ok());
  EXPECT_EQ(make("/w/a", "/w/b").status().code, Code::kInvalid);
  PatchOptions options{.base = "/w/b", .target = "/w/a", .output = "/w/p", .force = true};
  EXPECT_TRUE(make_patch(fs_, options).ok());
  options.output = "/w/b/notes.txt";
  EXPECT_THAT(make_patch(fs_, options).status().message, HasSubstr("is no patch: it is never replaced"));
  EXPECT_TRUE(apply("/w/b").ok());
  EXPECT_EQ(apply("/w/b").status().code, Code::kInvalid);
}

}  // namespace
}  // namespace titan::convert::apply_patch_test
