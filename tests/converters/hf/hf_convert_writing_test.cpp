// What a conversion leaves behind: nothing, or the whole.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ckpt/format/manifest_codec.h"
#include "converters/convert.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::hf_convert_writing_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ckpt::testing::tree;
using testing::convert_to;
using testing::expect_ok;
using testing::make_hf_folder;
using testing::model_tensors;

class HfConvertWriting : public ::testing::Test {
 protected:
  MemFs fs;
  recipe::ModelDims model = testing::tiny_model();
};

TEST_F(HfConvertWriting, DryRunSaysTheSameAndWritesNothing) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  const auto dry = convert_to(fs, "/hf", "/titan", {.dry_run = true});
  expect_ok(dry);
  EXPECT_FALSE(fs.stat("/titan").ok());
  const auto wet = convert_to(fs, "/hf", "/titan");
  expect_ok(wet);
  EXPECT_EQ(dry->tensors, wet->tensors);
  EXPECT_EQ(dry->bytes, wet->bytes);
  EXPECT_EQ(convert_to(fs, "/hf", "/titan", {.dry_run = true}).status().code, Code::kInvalid);  // it exists by now
  expect_ok(convert_to(fs, "/titan", "/back", {.to = "hf", .dry_run = true}));
  EXPECT_FALSE(fs.stat("/back").ok());
}

TEST_F(HfConvertWriting, ReplacesOnlyWhatIsACheckpointAndNothingElse) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  expect_ok(convert_to(fs, "/hf", "/titan"));
  expect_ok(convert_to(fs, "/titan", "/back", {.to = "hf"}));
  EXPECT_EQ(convert_to(fs, "/titan", "/back", {.to = "hf"}).status().code, Code::kInvalid);
  expect_ok(convert_to(fs, "/titan", "/back", {.to = "hf", .force = true}));
  expect_ok(convert_to(fs, "/hf", "/titan", {.force = true}));
  ASSERT_TRUE(put_text(fs, "/back/my-notes.txt", "mine").ok());
  const auto refused = convert_to(fs, "/titan", "/back", {.to = "hf", .force = true});
  EXPECT_EQ(refused.status().code, Code::kInvalid);
  EXPECT_NE(refused.status().message.find("also holds 'my-notes.txt'"), std::string::npos);
  EXPECT_EQ(convert_to(fs, "/titan", "/hf/inside", {.to = "hf"}).status().code, Code::kOk);
  EXPECT_EQ(convert_to(fs, "/titan", "/titan/inside", {.to = "hf"}).status().code, Code::kInvalid);
  ASSERT_TRUE(fs.make_dir("/empty").ok());
  EXPECT_EQ(convert_to(fs, "/titan", "/empty", {.to = "hf", .force = true}).status().code, Code::kInvalid);
}

TEST_F(HfConvertWriting, AFailureAtAnyCallLeavesNothingAndTheSourceAlone) {
  MemFs clean;
  make_hf_folder(clean, "/hf", model, model_tensors(model));
  ckpt::testing::FailingFs counting(clean);
  expect_ok(convert_to(counting, "/hf", "/titan"));
  const std::size_t calls = counting.calls().size();
  ASSERT_GT(calls, 30u);
  std::size_t refused = 0;
  for (std::size_t k = 1; k <= calls; ++k) {
    MemFs inner;
    make_hf_folder(inner, "/hf", model, model_tensors(model));
    const auto before = tree(inner, "/hf");
    ckpt::testing::FailingFs failing(inner);
    failing.arm({.k = k});
    const auto report = convert_to(failing, "/hf", "/titan");
    EXPECT_EQ(tree(inner, "/hf"), before);
    if (report.ok()) continue;  // an error while tidying up, or one that stands for "not there"
    ++refused;
    // A failed sync of the parent may leave the whole checkpoint, nothing else may be visible.
    if (inner.stat("/titan").ok()) {
      EXPECT_TRUE(CheckpointReader::open(inner, "/titan").ok()) << k;
    }
  }
  EXPECT_GT(refused, 20u);
}

TEST_F(HfConvertWriting, EveryFileIsDurableBeforeTheDestinationHasItsName) {
  model.dim = 24;  // torchtitan's llama3 has dim / n_heads rows a head
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  ASSERT_TRUE(put_text(fs, "/hf/tokenizer.json", "words").ok());
  expect_ok(convert_to(fs, "/hf", "/titan"));
  for (const std::string to : {"hf", "dcp", "titan"}) {
    ckpt::testing::FailingFs seen(fs);
    expect_ok(convert_to(seen, to == "titan" ? "/hf" : "/titan", "/out-" + to, {.to = to}));
    std::map<std::string, bool> durable;  // of each file that was made: nothing was written since its last sync
    std::set<std::string> checked;
    for (const ckpt::testing::Call& call : seen.calls()) {
      if (call.op == ckpt::testing::Op::kCreate || call.op == ckpt::testing::Op::kPwrite) durable[call.path] = false;
      if (call.op == ckpt::testing::Op::kDatasync) durable[call.path] = true;
      if (call.op != ckpt::testing::Op::kRenameNoReplace) continue;
      for (const auto& [path, synced] : durable) {
        if (!path.starts_with(call.path + "/")) continue;
        EXPECT_TRUE(synced) << path << " of " << to;
        checked.insert(path);
      }
    }
    EXPECT_GE(checked.size(), 2u) << to;
  }
}

TEST_F(HfConvertWriting, DamageInTheSourceEndsAnExportWithNothingWritten) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  expect_ok(convert_to(fs, "/hf", "/titan"));
  const auto titan = CheckpointReader::open(fs, "/titan");
  ASSERT_TRUE(titan.ok());
  const ckpt::Piece& piece = titan->manifest().parameters[7].model->pieces[0];
  const std::byte wrong[] = {std::byte{0x55}};
  ASSERT_TRUE(fs.overwrite("/titan/model/shard-00000.h5", piece.offset + 3, wrong).ok());
  for (const char* to : {"hf", "gguf"}) {
    const auto refused = convert_to(fs, "/titan", "/back", {.to = to});
    EXPECT_EQ(refused.status().code, Code::kCorrupt) << to;
    EXPECT_EQ(convert_to(fs, "/titan", "/back", {.to = to, .dry_run = true}).status(), refused.status())
        << to << ": a dry run reads as much";
    EXPECT_FALSE(fs.stat("/back").ok());
  }
  EXPECT_EQ(tree(fs, "/").size(), 9u) << ::testing::PrintToString(tree(fs, "/"));
}

TEST_F(HfConvertWriting, TensorsOfAnotherShapeThanTheConfigurationAreRefused) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  expect_ok(convert_to(fs, "/hf", "/titan"));
  std::string text = ckpt::testing::get_text(fs, "/titan/manifest.json");
  const std::size_t at = text.find("\"model.ffn_dim\":\"20\"");
  ASSERT_NE(at, std::string::npos);
  ASSERT_TRUE(fs.remove_file("/titan/manifest.json").ok());
  const auto changed = ckpt::with_self_digest(text.replace(at, 20, "\"model.ffn_dim\":\"24\""));
  ASSERT_TRUE(changed.ok() && put_text(fs, "/titan/manifest.json", *changed).ok());
  const auto refused = convert_to(fs, "/titan", "/back", {.to = "hf"});
  EXPECT_EQ(refused.status().code, Code::kIncompatible) << refused.status().to_string();
  EXPECT_NE(refused.status().message.find("has another shape than its configuration says"), std::string::npos);
  EXPECT_FALSE(fs.stat("/back").ok());
}

TEST_F(HfConvertWriting, AStopRequestEndsAConversionWithNothingWritten) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  const auto stopped = convert_to(fs, "/hf", "/titan", {.progress = [](std::uint64_t done, std::uint64_t) {
                                    return done > 2000 ? ckpt::failed("stop") : ckpt::ok_status();
                                  }});
  EXPECT_EQ(stopped.status().message, "stop");
  EXPECT_EQ(tree(fs, "/"), (std::vector<std::string>{"hf/", "hf/config.json", "hf/model.safetensors"}));
}

}  // namespace
}  // namespace titan::convert::hf_convert_writing_test
