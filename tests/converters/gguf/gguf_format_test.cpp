// GGUF files are found, looked at, taken and written; rows of heads lie as the architecture has them.
#include "converters/gguf/gguf_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/foreign_view.h"
#include "converters/gguf/gguf_file.h"
#include "converters/gguf/gguf_model.h"
#include "converters/hf/families.h"
#include "converters/hf/text_facts.h"
#include "tests/converters/gguf/gguf_builder.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::gguf_format_test {
namespace {

using ckpt::Code;
using ckpt::testing::get_text;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using recipe::ModelDims;
using ::testing::Contains;
using testing::convert_to;
using ::testing::ElementsAre;
using testing::expect_ok;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::tiny_model;

ModelDims biased() {
  ModelDims model = tiny_model();
  model.qkv_bias = model.tied = true;
  return model;
}

ModelDims normed() {
  ModelDims model = tiny_model();
  model.qk_norm = true;
  return model;
}

std::string format_of(MemFs& fs, const std::string& path) {
  const auto format = detect_format(fs, path);
  return !format.ok() ? format.status().message : *format == nullptr ? "none" : (*format)->name();
}

TEST(GgufFormat, IsKnownByItsNameByItsFirstBytesAndInItsFolder) {
  MemFs fs;
  const std::string bytes = testing::model_file(tiny_model(), "llama").file();
  for (const char* path : {"/a/model.gguf", "/named", "/two/x.gguf", "/two/y.gguf", "/pieces/m-00001-of-00002.gguf",
                           "/pieces/m-00002-of-00002.gguf", "/odd/m-00001-of-00002.gguf", "/odd/m-00001-of-00003.gguf"})
    ASSERT_TRUE(put_text(fs, path, bytes).ok());
  ASSERT_TRUE(put_text(fs, "/text", "GGU").ok());
  for (const char* path : {"/a/model.gguf", "/a", "/named", "/pieces", "/pieces/m-00002-of-00002.gguf"})
    EXPECT_EQ(format_of(fs, path), "gguf") << path;
  for (const char* path : {"/two", "/text", "/odd", "/nothing"}) EXPECT_EQ(format_of(fs, path), "none") << path;
  const Status several = gguf_format().near_miss(fs, "/two");
  EXPECT_EQ(several.code, Code::kNotFound);
  EXPECT_THAT(several.to_string(), HasSubstr("holds several GGUF files: 'x.gguf', 'y.gguf'"));
  EXPECT_THAT(several.hint, HasSubstr("/two/x.gguf"));
  for (const char* path : {"/a", "/named", "/nothing"}) EXPECT_TRUE(gguf_format().near_miss(fs, path).ok()) << path;
}

// All architectures, there and back: what comes out of a Hugging Face folder of ours is what the file was made of.
TEST(GgufFormat, GivesEveryTensorInItsPlaceAndOrder) {
  for (const auto& [model, architecture] :
       {std::pair{tiny_model(), "llama"}, {biased(), "qwen2"}, {normed(), "qwen3"}}) {
    MemFs fs;
    ASSERT_TRUE(put_text(fs, "/x.gguf", testing::model_file(model, architecture).file()).ok());
    expect_ok(convert_to(fs, "/x.gguf", "/ours"));
    expect_ok(convert_to(fs, "/ours", "/hf", {.to = "hf"}));
    const testing::RawTensors expected = testing::model_tensors(model),
                              found = testing::read_safetensors(fs, "/hf/model.safetensors");
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, tensor] : expected) EXPECT_EQ(found.at(name).bytes, tensor.bytes) << name;
    // From a foreign view as from a checkpoint of ours.
    expect_ok(convert_to(fs, "/x.gguf", "/direct", {.to = "hf"}));
    EXPECT_EQ(get_text(fs, "/direct/model.safetensors"), get_text(fs, "/hf/model.safetensors"));
  }
}

testing::GgufParts without_context() {
  testing::GgufParts parts = testing::model_file(tiny_model(), "llama");
  std::erase_if(parts.keys, [](const std::string& key) { return key.find("context_length") != std::string::npos; });
  return parts;
}

// What a file says of texts travels as a config.json, for a checkpoint has no other place for it.
TEST(GgufFormat, SaysContextAndSpecialTokensThereAndBack) {
  MemFs fs;
  testing::GgufParts parts = without_context();
  parts.keys.push_back(testing::u32_key("llama.context_length", 12345));
  parts.keys.push_back(testing::u32_key("tokenizer.ggml.bos_token_id", 1));
  parts.keys.push_back(testing::u32_key("tokenizer.ggml.eos_token_id", 999999));  // beyond the vocabulary
  ASSERT_TRUE(put_text(fs, "/x.gguf", parts.file()).ok());
  expect_ok(convert_to(fs, "/x.gguf", "/ours"));
  EXPECT_THAT(get_text(fs, "/ours/hf/config.json"), HasSubstr("\"max_position_embeddings\": 12345"));
  for (const char* source : {"/ours", "/x.gguf"}) {
    const auto report = convert_to(fs, source, "/out.gguf", {.to = "gguf", .force = true});
    expect_ok(report);
    EXPECT_THAT(report->notes, Not(Contains(HasSubstr("context_length is"))));
    EXPECT_THAT(get_text(fs, "/out.gguf"), HasSubstr(testing::u32_key("llama.context_length", 12345)));
    expect_ok(convert_to(fs, source, "/hf", {.to = "hf", .force = true}));
    const std::string config = get_text(fs, "/hf/config.json");
    EXPECT_THAT(config, HasSubstr("\"max_position_embeddings\": 12345"));
    EXPECT_THAT(config, HasSubstr("\"bos_token_id\": 1"));
    EXPECT_THAT(config, HasSubstr("\"eos_token_id\": null"));
  }
}

// A run that begins from the file takes the same config.json into its checkpoints.
TEST(GgufFormat, ARunTakesItsContextAndSpecialTokensAlong) {
  MemFs fs;
  testing::GgufParts parts = without_context();
  parts.keys.push_back(testing::u32_key("llama.context_length", 12345));
  parts.keys.push_back(testing::u32_key("tokenizer.ggml.eos_token_id", 2));
  ASSERT_TRUE(put_text(fs, "/x.gguf", parts.file()).ok());
  expect_ok(convert_to(fs, "/x.gguf", "/ours"));
  const auto view = open_any(fs, "/x.gguf");
  ASSERT_TRUE(view.ok()) << view.status().to_string();
  std::vector<std::string> notes;
  const auto files = ckpt::read_model_files(fs, view->model_files(), notes);
  ASSERT_TRUE(files.ok()) << files.status().to_string();
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ((*files)[0].member, "hf/config.json");
  EXPECT_EQ(ckpt::text_of((*files)[0].bytes), get_text(fs, "/ours/hf/config.json"));
  const auto facts = read_text_facts(fs, view->model_files());
  ASSERT_TRUE(facts.ok()) << facts.status().to_string();
  EXPECT_EQ(facts->positions, 12345u);
  EXPECT_THAT(facts->ends, ElementsAre(2));
}

TEST(GgufFormat, SaysWhereTheContextIsAGuess) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/x.gguf", without_context().file()).ok());
  expect_ok(convert_to(fs, "/x.gguf", "/ours"));
  EXPECT_FALSE(fs.stat("/ours/hf/config.json").ok()) << "the file says nothing of texts";
  const auto guessed = convert_to(fs, "/ours", "/out.gguf", {.to = "gguf"});
  expect_ok(guessed);
  EXPECT_THAT(guessed->notes, Contains(HasSubstr("context_length is 2048, a guess: nothing says for what length")));
  const auto folder = convert_to(fs, "/ours", "/hf", {.to = "hf"});
  expect_ok(folder);
  EXPECT_THAT(folder->notes, Contains(HasSubstr("max_position_embeddings is 2048, a guess")));
  ConvertOptions options{.to = "gguf", .force = true};
  options.config = Settings{{"training.seq_len", "77"}};
  const auto said = convert_to(fs, "/ours", "/out.gguf", options);
  expect_ok(said);
  EXPECT_THAT(said->notes, Not(Contains(HasSubstr("a guess"))));
  EXPECT_THAT(get_text(fs, "/out.gguf"), HasSubstr(testing::u32_key("llama.context_length", 77)));
}

TEST(GgufFormat, RefusesToWriteWhatTheFileWouldNotSay) {
  ModelDims yarn = tiny_model();
  yarn.rope_scaling = recipe::read_rope_scaling("yarn:4:32");
  ASSERT_TRUE(yarn.rope_scaling);
  MemFs fs;
  testing::make_hf_folder(fs, "/hf", yarn, testing::model_tensors(yarn));
  expect_ok(convert_to(fs, "/hf", "/ours"));
  for (const char* source : {"/hf", "/ours"}) {
    const Status refused = convert_to(fs, source, "/out.gguf", {.to = "gguf"}).status();
    EXPECT_EQ(refused.code, Code::kUnsupported) << source;
    EXPECT_THAT(refused.message, HasSubstr("scaled in the way 'yarn'"));
    EXPECT_FALSE(fs.stat("/out.gguf").ok());
  }
  ModelDims window = tiny_model();
  window.window = {8, {}};
  testing::make_hf_folder(fs, "/window", window, testing::model_tensors(window));
  const Status windowed = convert_to(fs, "/window", "/out.gguf", {.to = "gguf"}).status();
  EXPECT_EQ(windowed.code, Code::kUnsupported);
  EXPECT_THAT(windowed.message, HasSubstr("a model with a sliding window"));
  // llama.cpp multiplies by a table of factors in models of llama alone.
  ModelDims scaled = biased();
  scaled.rope_scaling = recipe::RopeScaling{};
  testing::make_hf_folder(fs, "/qwen2", scaled, testing::model_tensors(scaled));
  EXPECT_THAT(convert_to(fs, "/qwen2", "/out.gguf", {.to = "gguf"}).status().message,
              HasSubstr("files of qwen2 yet: expected none"));
  ModelDims both = normed();
  both.qkv_bias = true;
  EXPECT_FALSE(gguf_architecture(both)) << "no file would say it";
}

TEST(GgufFormat, HintsAreForAFileOfLlamaCpp) {
  MemFs fs;
  testing::make_hf_folder(fs, "/hf", tiny_model(), testing::model_tensors(tiny_model()));
  expect_ok(convert_to(fs, "/hf", "/a.gguf", {.to = "gguf"}));
  const Status headless = convert_to(fs, "/a.gguf", "/ours", {.skip = {"output.weight"}}).status();
  EXPECT_EQ(headless.code, Code::kIncompatible);
  EXPECT_THAT(headless.hint, HasSubstr("cannot be had without")) << "no key says that the head is the embedding";
  // A model that no architecture of transformers has, either.
  ModelDims both = normed();
  both.qkv_bias = true;
  EXPECT_EQ(huggingface_writes(both), "");
  EXPECT_THAT(huggingface_writes(normed()), HasSubstr("--to hf"));
}

TEST(GgufFormat, IsWrittenInTheOrderOfItsArchitecture) {
  for (const auto& [model, architecture] :
       {std::pair{tiny_model(), "llama"}, {biased(), "qwen2"}, {normed(), "qwen3"}}) {
    MemFs fs;
    testing::make_hf_folder(fs, "/hf", model, testing::model_tensors(model));
    expect_ok(convert_to(fs, "/hf", "/out.gguf", {.to = "gguf"}));
    ASSERT_TRUE(put_text(fs, "/own.gguf", testing::model_file(model, architecture).file()).ok());
    const auto out = gguf_format().open(fs, "/out.gguf"), own = gguf_format().open(fs, "/own.gguf");
    ASSERT_TRUE(out.ok() && own.ok()) << out.status().to_string() << own.status().to_string();
    ASSERT_EQ((*out)->tensors().size(), (*own)->tensors().size());
    for (std::size_t i = 0; i < (*out)->tensors().size(); ++i) {
      const ForeignTensor& tensor = (*out)->tensors()[i];
      const auto at = std::ranges::find((*own)->tensors(), tensor);
      ASSERT_NE(at, (*own)->tensors().end()) << tensor.name;
      std::vector<std::byte> a(tensor.bytes()), b(tensor.bytes());
      ASSERT_TRUE((*out)->read(i, 0, a).ok());
      ASSERT_TRUE((*own)->read(static_cast<std::size_t>(at - (*own)->tensors().begin()), 0, b).ok());
      EXPECT_EQ(a, b) << tensor.name;
    }
    EXPECT_EQ((*out)->plan({})->config, (*own)->plan({})->config);
  }
}

TEST(GgufFormat, ScaledRopeTravels) {
  MemFs fs;
  ModelDims model = tiny_model();
  model.rope_scaling = recipe::RopeScaling{4, 1, 4, 16};
  testing::make_hf_folder(fs, "/hf", model, testing::model_tensors(model));
  expect_ok(convert_to(fs, "/hf", "/out.gguf", {.to = "gguf"}));
  const auto out = gguf_format().open(fs, "/out.gguf");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(ckpt::setting((*out)->plan({})->config, "model.rope_scaling"), "\"llama3:4:1:4:16\"");
}

// A row of 12 cannot be cut into blocks of 32, one of 64 can.
TEST(GgufFormat, QuantisesWhatFillsBlocksAndSaysWhatItDid) {
  MemFs fs;
  ModelDims model = tiny_model();
  model.dim = 64;
  model.ffn_dim = 20;
  testing::make_hf_folder(fs, "/hf", model, testing::model_tensors(model));
  const auto report = convert_to(fs, "/hf", "/out.gguf", {.to = "gguf", .q8_0 = true});
  expect_ok(report);
  EXPECT_THAT(report->notes, Contains(HasSubstr("4 tensors have rows that no blocks of 32 fill: written as float16")));
  EXPECT_THAT(report->notes, Contains(HasSubstr("5 tensors of one dimension are written as float32")));
  EXPECT_GT(report->rounding->error.rounded, 0u);
  EXPECT_EQ(report->files, std::vector<std::string>{"out.gguf"});
  const auto out = gguf_format().open(fs, "/out.gguf");
  ASSERT_TRUE(out.ok());
  const auto plan = (*out)->plan({});
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->notes, Contains(HasSubstr("12 tensors are quantised (Q8_0)")));
  const auto checked = (*out)->verify({});
  ASSERT_TRUE(checked.ok());
  EXPECT_EQ(checked->bytes, report->bytes);
  EXPECT_EQ(convert_to(fs, "/hf", "/ours", {.q8_0 = true}).status().code, Code::kInvalid);
}

// Ranges that begin and end within blocks, and cross those that are read at a time.
TEST(GgufFormat, ReadsAnyRangeOfQuantisedElements) {
  testing::GgufParts parts;
  constexpr std::uint64_t kRows = 40, kColumns = 256;
  parts.keys = testing::model_keys(tiny_model(), "llama");
  parts.tensors = {testing::tensor("q", {kColumns, kRows}, 8, 0)};
  for (std::uint64_t block = 0; block < kRows * kColumns / 32; ++block) {
    parts.data += std::string("\x00\x3c", 2);  // a scale of 1
    for (std::uint64_t i = 0; i < 32; ++i) parts.data += static_cast<char>((block * 7 + i) % 256);
  }
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/q.gguf", parts.file()).ok());
  const auto source = gguf_format().open(fs, "/q.gguf");
  ASSERT_TRUE(source.ok()) << source.status().to_string();
  std::vector<float> all(kRows * kColumns);
  ASSERT_TRUE((*source)->read(0, 0, std::as_writable_bytes(std::span(all))).ok());
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(all[i], static_cast<float>(static_cast<std::int8_t>((i / 32 * 7 + i % 32) % 256))) << i;
  for (const auto& [first, count] :
       {std::pair<std::size_t, std::size_t>{0, 1}, {31, 2}, {8190, 70}, {10239, 1}, {33, 9000}}) {
    std::vector<float> part(count);
    ASSERT_TRUE((*source)->read(0, first, std::as_writable_bytes(std::span(part))).ok());
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(first))) << first;
  }
}

std::string piece(std::uint64_t number, std::uint64_t of, std::uint64_t tensors) {
  testing::GgufParts parts;
  if (number == 0) parts.keys = testing::model_keys(tiny_model(), "llama");
  parts.keys.push_back(testing::u32_key("split.no", static_cast<std::uint32_t>(number)));
  parts.keys.push_back(testing::u32_key("split.count", static_cast<std::uint32_t>(of)));
  parts.keys.push_back(testing::u32_key("split.tensors.count", static_cast<std::uint32_t>(tensors)));
  parts.tensors = {testing::tensor("t" + std::to_string(number), {8}, 0, 0)};
  parts.data.resize(32);
  return parts.file();
}

TEST(GgufFormat, PiecesAreOneModelAndNoneMayLack) {
  MemFs fs;
  for (const auto& [path, bytes] : {std::pair{"/m/m-00001-of-00002.gguf", piece(0, 2, 2)},
                                    {"/m/m-00002-of-00002.gguf", piece(1, 2, 2)},
                                    {"/lacks/m-00001-of-00002.gguf", piece(0, 2, 2)},
                                    {"/renamed.gguf", piece(0, 2, 2)},
                                    {"/few/m-00001-of-00002.gguf", piece(0, 2, 3)},
                                    {"/few/m-00002-of-00002.gguf", piece(1, 2, 3)},
                                    {"/twice/m-00001-of-00002.gguf", piece(0, 2, 2)},
                                    {"/twice/m-00002-of-00002.gguf", piece(0, 2, 2)}})
    ASSERT_TRUE(put_text(fs, path, bytes).ok());
  const auto both = gguf_format().open(fs, "/m/m-00002-of-00002.gguf");
  ASSERT_TRUE(both.ok()) << both.status().to_string();
  EXPECT_EQ((*both)->tensors().size(), 2u);
  for (const auto& [path, message] :
       {std::pair{"/lacks/m-00001-of-00002.gguf", "is missing: the names of the other pieces count it"},
        {"/renamed.gguf", "is a piece of a model in 2 files, 1 is here"},
        {"/few", "its pieces have 2 tensors, and say 3"},
        {"/twice", "and in another piece"}}) {
    const Status status = gguf_format().open(fs, path).status();
    EXPECT_EQ(status.code, Code::kCorrupt) << path;
    EXPECT_THAT(status.message, HasSubstr(message));
  }
}

// The destination is a file: whole or not at all, and replaced only where it is a GGUF file.
TEST(GgufFormat, TheDestinationIsAFile) {
  MemFs fs;
  testing::make_hf_folder(fs, "/hf", tiny_model(), testing::model_tensors(tiny_model()));
  const std::vector<std::string> before = ckpt::testing::tree(fs, "/");
  expect_ok(convert_to(fs, "/hf", "/out.gguf", {.to = "gguf", .dry_run = true}));
  EXPECT_EQ(ckpt::testing::tree(fs, "/"), before);
  expect_ok(convert_to(fs, "/hf", "/out.gguf", {.to = "gguf"}));
  const std::string bytes = get_text(fs, "/out.gguf");
  EXPECT_THAT(ckpt::testing::tree(fs, "/"),
              ::testing::ElementsAre("hf/", "hf/config.json", "hf/model.safetensors", "out.gguf"));
  EXPECT_EQ(convert_to(fs, "/hf", "/out.gguf", {.to = "gguf"}).status().code, Code::kInvalid);
  expect_ok(convert_to(fs, "/hf", "/out.gguf", {.to = "gguf", .force = true, .dtype = DType::kBF16}));
  EXPECT_LT(get_text(fs, "/out.gguf").size(), bytes.size());
  ASSERT_TRUE(put_text(fs, "/notes.gguf", "mine").ok());
  ASSERT_TRUE(put_text(fs, "/folder/x.gguf", bytes).ok());
  for (const auto& [to, path] :
       {std::pair{"gguf", "/notes.gguf"}, {"gguf", "/folder"}, {"hf", "/out.gguf"}, {"titan", "/out.gguf"}}) {
    const Status status = convert_to(fs, "/hf", path, {.to = to, .force = true}).status();
    EXPECT_EQ(status.code, Code::kInvalid) << to << " " << path << ": " << status.message;
  }
  EXPECT_EQ(get_text(fs, "/notes.gguf"), "mine");
  EXPECT_THAT(ckpt::testing::tree(fs, "/"), ::testing::Not(Contains(HasSubstr("tmp"))));
}

TEST(GgufFormat, SaysWhatItLeavesBehind) {
  MemFs fs;
  testing::GgufParts parts = testing::model_file(tiny_model(), "llama");
  parts.keys.push_back(testing::text_key("tokenizer.ggml.model", "gpt2"));
  parts.keys.push_back(testing::text("tokenizer.ggml.tokens") + testing::number(9, 4) + testing::number(8, 4) +
                       testing::number(1, 8) + testing::text("a"));
  ASSERT_TRUE(put_text(fs, "/x.gguf", parts.file()).ok());
  const auto report = convert_to(fs, "/x.gguf", "/ours");
  expect_ok(report);
  EXPECT_THAT(report->notes, Contains(HasSubstr("the tokenizer inside (gpt2, 1 tokens) does not travel")));
  const auto back = convert_to(fs, "/ours", "/back.gguf", {.to = "gguf"});
  expect_ok(back);
  EXPECT_THAT(back->notes, Contains(HasSubstr("no tokenizer is written")));
  EXPECT_EQ(convert_to(fs, "/x.gguf", "/other", {.config = Settings{{"model.n_heads", "2"}}}).status().code,
            Code::kIncompatible);
}

}  // namespace
}  // namespace titan::convert::gguf_format_test
