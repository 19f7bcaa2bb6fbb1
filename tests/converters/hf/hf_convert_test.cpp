// Hugging Face folders through `convert`, both ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "ckpt/format/json_value.h"
#include "ckpt/ops/diff.h"
#include "converters/convert.h"
#include "converters/foreign_view.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::hf_convert_test {
namespace {

using ckpt::Code;
using ckpt::testing::get_text;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ckpt::testing::tree;
using testing::convert_to;
using testing::expect_ok;
using testing::make_hf_folder;
using testing::model_tensors;
using testing::RawTensor;
using testing::RawTensors;
using testing::read_safetensors;
using testing::tiny_model;

void expect_same(const RawTensors& a, const RawTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    ASSERT_TRUE(b.contains(name)) << name;
    EXPECT_EQ(tensor.dtype, b.at(name).dtype) << name;
    EXPECT_EQ(tensor.shape, b.at(name).shape) << name;
    EXPECT_TRUE(tensor.bytes == b.at(name).bytes) << name;
  }
}

float element(const CheckpointReader& checkpoint, const std::string& name, std::size_t index) {
  const auto found = ckpt::ParameterIndex(checkpoint.manifest()).find(name);
  EXPECT_TRUE(found) << name;
  const auto& record = checkpoint.manifest().parameters[*found];
  std::vector<float> values(ckpt::element_count(record.meta.shape));
  EXPECT_TRUE(checkpoint.read({*found, ""}, {0, 1}, std::as_writable_bytes(std::span(values))).ok());
  return values[index];
}

class HfConvert : public ::testing::Test {
 protected:
  MemFs fs;
  recipe::ModelDims model = tiny_model();
  std::uint64_t view_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [name, tensor] : model_tensors(model)) bytes += tensor.bytes.size();
    return bytes;
  }
};

TEST_F(HfConvert, ThereAndBackGivesEveryTensorItsBytes) {
  for (int variant = 0; variant < 4; ++variant) {
    model.tied = (variant & 1) != 0;
    model.qkv_bias = (variant & 2) != 0;
    const std::string name = "/v" + std::to_string(variant);
    const RawTensors tensors = model_tensors(model);
    make_hf_folder(fs, name, model, tensors);
    const auto in = convert_to(fs, name, name + ".titan");
    expect_ok(in);
    EXPECT_EQ(in->count([](const TensorReport& t) { return t.permuted; }), model.qkv_bias ? 8u : 4u);
    expect_ok(convert_to(fs, name + ".titan", name + ".hf", {.to = "hf"}));
    expect_same(read_safetensors(fs, name + ".hf/model.safetensors"), tensors);
    EXPECT_EQ(get_text(fs, name + ".hf/config.json"), get_text(fs, name + "/config.json"));
  }
}

TEST_F(HfConvert, PutsRowsOfQueriesAndKeysIntoOurOrder) {
  model.qkv_bias = true;
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  expect_ok(convert_to(fs, "/hf", "/titan"));
  const auto titan = CheckpointReader::open(fs, "/titan");
  ASSERT_TRUE(titan.ok()) << titan.status().to_string();
  // model_tensors numbers the embedding 1, then q, k, v, and their biases; row r of a head of 6 was row 0 3 1 4 2 5.
  const std::size_t was[] = {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11};
  for (std::size_t row = 0; row < 12; ++row) {
    EXPECT_EQ(element(*titan, "layers.0.attention.wq.weight", row * 12 + 5),
              2 + static_cast<float>(was[row] * 12 + 5) / 4096)
        << row;
    EXPECT_EQ(element(*titan, "layers.0.attention.wk.weight", row * 12), 3 + static_cast<float>(was[row] * 12) / 4096)
        << row;
    EXPECT_EQ(element(*titan, "layers.0.attention.wv.weight", row * 12), 4 + static_cast<float>(row * 12) / 4096)
        << row;
    EXPECT_EQ(element(*titan, "layers.0.attention.wq.bias", row), 5 + static_cast<float>(was[row]) / 4096) << row;
    EXPECT_EQ(element(*titan, "layers.0.attention.wk.bias", row), 6 + static_cast<float>(was[row]) / 4096) << row;
    EXPECT_EQ(element(*titan, "layers.0.attention.wv.bias", row), 7 + static_cast<float>(row) / 4096) << row;
  }
}

TEST_F(HfConvert, PutsTheModelIntoTheConfigurationAndNothingElseIntoTheCheckpoint) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  expect_ok(convert_to(fs, "/hf", "/titan"));
  const auto titan = CheckpointReader::open(fs, "/titan");
  ASSERT_TRUE(titan.ok()) << titan.status().to_string();
  EXPECT_EQ(titan->manifest().config, recipe::model_rows(model));
  ASSERT_EQ(titan->manifest().components.size(), 1u);
  EXPECT_EQ(tree(fs, "/titan"),
            (std::vector<std::string>{"hf/", "hf/config.json", "manifest.json", "model/", "model/shard-00000.h5"}));
  const auto verified = ckpt::verify_checkpoint(fs, "/titan");
  ASSERT_TRUE(verified.ok());
  EXPECT_TRUE(verified->damage.empty());
  EXPECT_EQ(verified->leaves, 21u);
}

TEST_F(HfConvert, KeepsEachTensorsType) {
  RawTensors tensors = model_tensors(model);
  RawTensor& norm = tensors["model.norm.weight"];
  norm.dtype = "BF16";
  norm.bytes.resize(norm.bytes.size() / 2);
  make_hf_folder(fs, "/hf", model, tensors);
  expect_ok(convert_to(fs, "/hf", "/titan"));
  expect_ok(convert_to(fs, "/titan", "/back", {.to = "hf"}));
  expect_same(read_safetensors(fs, "/back/model.safetensors"), tensors);
}

TEST_F(HfConvert, CutsFilesAtTheSizeAskedForWithAnIndex) {
  const RawTensors tensors = model_tensors(model);
  make_hf_folder(fs, "/hf", model, tensors);
  expect_ok(convert_to(fs, "/hf", "/titan"));
  const auto out = convert_to(fs, "/titan", "/back", {.to = "hf", .max_shard_bytes = 3000});
  expect_ok(out);
  RawTensors all;
  std::uint64_t files = 0, total = 0;
  for (const std::string& name : out->files) {
    if (!name.ends_with(".safetensors")) continue;
    ++files;
    const RawTensors part = read_safetensors(fs, "/back/" + name);
    std::uint64_t bytes = 0;
    for (const auto& [tensor, raw] : part) bytes += raw.bytes.size();
    EXPECT_LE(bytes, 3000u) << name;
    total += bytes;
    all.insert(part.begin(), part.end());
  }
  EXPECT_GT(files, 3u);
  expect_same(all, tensors);
  const auto index = parse_json("index", get_text(fs, "/back/model.safetensors.index.json"));
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->find("metadata")->find("total_size")->as_u64(), total);
  EXPECT_EQ(index->find("weight_map")->members().size(), tensors.size());
  // And such a folder comes back, too.
  expect_ok(convert_to(fs, "/back", "/again"));
  const auto diff = ckpt::diff_checkpoints(fs, {.a = "/titan", .b = "/again"});
  ASSERT_TRUE(diff.ok());
  EXPECT_TRUE(diff->equal());
}

TEST_F(HfConvert, CastsOnTheWayOutOnly) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  expect_ok(convert_to(fs, "/hf", "/titan"));
  const auto out = convert_to(fs, "/titan", "/half", {.to = "hf", .dtype = DType::kBF16});
  expect_ok(out);
  EXPECT_EQ(out->count([](const TensorReport& t) { return t.cast(); }), 21u);
  for (const auto& [name, tensor] : read_safetensors(fs, "/half/model.safetensors"))
    EXPECT_EQ(tensor.dtype, "BF16") << name;
  EXPECT_NE(get_text(fs, "/half/config.json").find("\"dtype\": \"bfloat16\""), std::string::npos);
  EXPECT_EQ(convert_to(fs, "/hf", "/x", {.dtype = DType::kBF16}).status().code, Code::kUnsupported);
}

TEST_F(HfConvert, CarriesTokenizerFilesAlongBothWays) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "README.md"})
    EXPECT_TRUE(put_text(fs, std::string("/hf/") + name, std::string("content of ") + name).ok());
  EXPECT_TRUE(put_text(fs, "/hf/generation_config.json", "{}").ok());
  expect_ok(convert_to(fs, "/hf", "/titan"));
  expect_ok(convert_to(fs, "/titan", "/back", {.to = "hf"}));
  EXPECT_EQ(tree(fs, "/back"), (std::vector<std::string>{"config.json", "generation_config.json", "model.safetensors",
                                                         "tokenizer.json", "tokenizer_config.json"}));
  EXPECT_EQ(get_text(fs, "/back/tokenizer.json"), "content of tokenizer.json");
}

TEST_F(HfConvert, TakesATiedHeadThatIsThereTwiceOnlyWhereItIsTheEmbedding) {
  model.tied = true;
  RawTensors tensors = model_tensors(model);
  tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"];
  make_hf_folder(fs, "/hf", model, tensors);
  const auto in = convert_to(fs, "/hf", "/titan");
  expect_ok(in);
  EXPECT_EQ(in->count([](const TensorReport& t) { return t.fate == Fate::kTied; }), 1u);
  tensors["lm_head.weight"].bytes[100] ^= 1;
  make_hf_folder(fs, "/other", model, tensors);
  const auto refused = convert_to(fs, "/other", "/x");
  EXPECT_EQ(refused.status().code, Code::kIncompatible);
  EXPECT_NE(refused.status().message.find("'lm_head.weight' differs from 'model.embed_tokens.weight'"),
            std::string::npos)
      << refused.status().message;
}

TEST_F(HfConvert, UntiesOnRequest) {
  model.tied = true;
  RawTensors tensors = model_tensors(model);
  make_hf_folder(fs, "/hf", model, tensors);
  expect_ok(convert_to(fs, "/hf", "/titan"));
  expect_ok(convert_to(fs, "/titan", "/back", {.to = "hf", .untie = true}));
  tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"];
  expect_same(read_safetensors(fs, "/back/model.safetensors"), tensors);
  EXPECT_NE(get_text(fs, "/back/config.json").find("\"tie_word_embeddings\": false"), std::string::npos);
}

TEST_F(HfConvert, RefusesLeftOverAndMissingTensorsUnlessTheyAreSkipped) {
  RawTensors tensors = model_tensors(model);
  tensors["model.layers.0.self_attn.q_norm.weight"] = {"F32", "[1]", "abcd"};
  tensors["model.layers.1.self_attn.rotary_emb.inv_freq"] = {"F32", "[1]", "abcd"};
  make_hf_folder(fs, "/hf", model, tensors);
  const auto refused = convert_to(fs, "/hf", "/titan");
  EXPECT_EQ(refused.status().code, Code::kIncompatible);
  EXPECT_NE(refused.status().message.find("no place in the model for 'model.layers.0.self_attn.q_norm.weight'"),
            std::string::npos)
      << refused.status().message;
  const auto in = convert_to(fs, "/hf", "/titan", {.skip = {"*.q_norm.*"}});
  expect_ok(in);
  EXPECT_EQ(in->count([](const TensorReport& t) { return t.fate == Fate::kSkipped; }), 1u);
  EXPECT_EQ(in->count([](const TensorReport& t) { return t.fate == Fate::kDropped; }), 1u);
  const auto missing = convert_to(fs, "/hf", "/x", {.skip = {"*.q_norm.*", "model.norm.weight"}});
  EXPECT_NE(missing.status().message.find("missing 'model.norm.weight'"), std::string::npos)
      << missing.status().message;
}

TEST_F(HfConvert, RefusesShapesThatDisagreeWithTheConfiguration) {
  RawTensors tensors = model_tensors(model);
  tensors["model.layers.1.mlp.up_proj.weight"].shape = "[12,20]";
  make_hf_folder(fs, "/hf", model, tensors);
  const auto refused = convert_to(fs, "/hf", "/titan");
  EXPECT_EQ(refused.status().code, Code::kIncompatible);
  EXPECT_NE(refused.status().message.find("has the shape [12, 20], config.json makes it [20, 12]"), std::string::npos)
      << refused.status().message;
}

TEST_F(HfConvert, TakesAnyPrefixOffAndSaysSo) {
  const RawTensors plain = model_tensors(model);
  make_hf_folder(fs, "/hf", model, plain);
  expect_ok(convert_to(fs, "/hf", "/titan"));
  for (const std::string prefix : {"model.", "language_model."}) {
    RawTensors tensors;
    for (const auto& [name, tensor] : plain) tensors.emplace(prefix + name, tensor);
    const std::string folder = "/of-" + prefix;
    make_hf_folder(fs, folder, model, tensors);
    const auto report = convert_to(fs, folder, folder + "titan");
    expect_ok(report);
    EXPECT_EQ(report->id, convert_to(fs, "/hf", folder + "again")->id) << prefix;
    EXPECT_NE(report->notes[0].find("names begin with `" + prefix + "model.` where Hugging Face has `model.`"),
              std::string::npos)
        << report->notes[0];
  }
}

TEST_F(HfConvert, RulesOfFlagsRenameAndWhereNoNameFitsTheHintSaysHow) {
  RawTensors tensors;
  for (const auto& [name, tensor] : model_tensors(model)) {
    std::string other = "x/" + name;
    if (const std::size_t at = other.find("layers"); at != std::string::npos) other.replace(at, 6, "blocks");
    tensors.emplace(other, tensor);
  }
  make_hf_folder(fs, "/hf", model, tensors);
  EXPECT_NE(convert_to(fs, "/hf", "/titan").status().hint.find("--rename FROM=TO"), std::string::npos);
  ConvertOptions options;
  options.rules.rename = {{"x/model.*.weight", "model.*.weight"},
                          {"x/lm_head.weight", "lm_head.weight"},
                          {"x/model.blocks.*.*.weight", "model.layers.*.*.weight"},
                          {"x/model.blocks.*.*.*.weight", "model.layers.*.*.*.weight"}};
  expect_ok(convert_to(fs, "/hf", "/titan", options));
  options.to = "hf";
  EXPECT_NE(convert_to(fs, "/titan", "/back", options).status().message.find("are for names of other programs"),
            std::string::npos);
}

TEST_F(HfConvert, SaysHowManyLayersTheWeightsHave) {
  RawTensors tensors = model_tensors(model);
  make_hf_folder(fs, "/hf", model, tensors);
  std::erase_if(tensors, [](const auto& one) { return one.first.starts_with("model.layers.1."); });
  ASSERT_TRUE(fs.remove_file("/hf/model.safetensors").ok());
  ASSERT_TRUE(put_text(fs, "/hf/model.safetensors", safetensors_file(tensors)).ok());
  EXPECT_EQ(convert_to(fs, "/hf", "/x").status().hint,
            "config.json says num_hidden_layers = 2, the weights have 1 layers: set num_hidden_layers to 1");
  recipe::ModelDims more = model;
  more.n_layers = 3;
  ASSERT_TRUE(fs.remove_file("/hf/model.safetensors").ok());
  ASSERT_TRUE(put_text(fs, "/hf/model.safetensors", safetensors_file(model_tensors(more))).ok());
  EXPECT_EQ(convert_to(fs, "/hf", "/x").status().hint,
            "config.json says num_hidden_layers = 2, the weights have 3 layers: set num_hidden_layers to 3");
}

TEST_F(HfConvert, NeedsAConfiguration) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  ASSERT_TRUE(fs.remove_file("/hf/config.json").ok());
  EXPECT_EQ(convert_to(fs, "/hf", "/titan").status().code, Code::kIncompatible);
  const Status looked = open_any(fs, "/hf").status();  // as --init-from does
  EXPECT_EQ(looked.code, Code::kIncompatible);
  EXPECT_NE(looked.hint.find("titan-ckpt convert /hf NEW --to titan --config FILE.toml"), std::string::npos)
      << looked.hint;
  expect_ok(convert_to(fs, "/hf", "/titan", {.config = recipe::model_rows(model)}));
}

TEST_F(HfConvert, ExportsRefuseAConfigurationOfAnotherModel) {
  model.rope_scaling = recipe::RopeScaling{};
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  expect_ok(convert_to(fs, "/hf", "/titan"));
  // The same values in another spelling, and keys that say nothing of the model.
  const ckpt::Settings same = {
      {"model.flavor", "\"mine\""}, {"model.rope_theta", "10000"}, {"model.tokenizer", "\"byte\""}};
  expect_ok(convert_to(fs, "/titan", "/same", {.to = "hf", .config = same}));
  for (const auto& [key, value] : ckpt::Settings{{"model.rope_theta", "20000"},
                                                 {"model.n_heads", "2"},
                                                 {"model.norm_eps", "1e-6"},
                                                 {"model.rope_scaling", "\"none\""}}) {
    const auto refused = convert_to(fs, "/titan", "/other", {.to = "hf", .config = ckpt::Settings{{key, value}}});
    EXPECT_EQ(refused.status().code, Code::kIncompatible) << key;
    EXPECT_NE(refused.status().message.find(key + " is "), std::string::npos) << refused.status().message;
  }
}

TEST_F(HfConvert, RefusesAFlavourThatIsAnotherModelBothWays) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  expect_ok(convert_to(fs, "/hf", "/titan"));
  const ckpt::Settings flavor = {{"model.flavor", "\"debugmodel\""}, {"model.n_layers", "2"}};
  for (const char* source : {"/hf", "/titan"}) {
    const auto refused =
        convert_to(fs, source, "/x", {.to = source == std::string("/hf") ? "titan" : "hf", .config = flavor});
    EXPECT_EQ(refused.status().code, Code::kIncompatible);
    EXPECT_NE(refused.status().message.find(
                  "model.dim is 12, the configuration says 256; model.ffn_dim is 20, the configuration says 768; "),
              std::string::npos)
        << refused.status().message;
    EXPECT_EQ(refused.status().message.find("model.n_layers"), std::string::npos);
    EXPECT_NE(refused.status().hint.find("model.flavor = \"debugmodel\""), std::string::npos) << refused.status().hint;
  }
}

TEST_F(HfConvert, ListsForeignCheckpointsAsStepsThatNoResumeTakes) {
  make_hf_folder(fs, "/run/checkpoint/step-10", model, model_tensors(model));
  make_hf_folder(fs, "/run/checkpoint/step-9", model, model_tensors(model));
  ASSERT_TRUE(fs.resize("/run/checkpoint/step-9/model.safetensors", 100).ok());
  for (const char* path : {"/run", "/run/checkpoint"}) {
    const auto list = list_any(fs, path);
    ASSERT_TRUE(list.ok()) << list.status().to_string();
    ASSERT_EQ(list->steps.size(), 2u);
    EXPECT_EQ(list->steps[0].step, 10u);
    EXPECT_TRUE(list->steps[0].valid);
    EXPECT_FALSE(list->steps[0].full || list->steps[0].resume);
    EXPECT_NE(list->steps[0].reason.find("Hugging Face safetensors"), std::string::npos);
    EXPECT_FALSE(list->steps[1].valid);
  }
  const auto one = list_any(fs, "/run/checkpoint/step-10");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->steps.size(), 1u);
  ASSERT_TRUE(fs.make_dir("/empty").ok());
  EXPECT_EQ(list_any(fs, "/empty").status().code, Code::kNotFound);
}

TEST_F(HfConvert, VerifyReportsABrokenFolderAsDamage) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  const auto whole = verify_any(fs, {.target = "/hf"});
  ASSERT_TRUE(whole.ok()) << whole.status().to_string();
  EXPECT_TRUE(whole->ok());
  EXPECT_EQ(whole->bytes, view_bytes());
  ASSERT_TRUE(fs.resize("/hf/model.safetensors", 1000).ok());
  const auto broken = verify_any(fs, {.target = "/hf"});
  ASSERT_TRUE(broken.ok()) << broken.status().to_string();
  EXPECT_EQ(broken->damage, 1u);
}

TEST_F(HfConvert, ReadsASingleFileAsWell) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  ASSERT_TRUE(fs.rename("/hf/model.safetensors", "/hf/weights.safetensors").ok());
  EXPECT_EQ(convert_to(fs, "/hf", "/titan").status().code, Code::kNotFound);
  expect_ok(convert_to(fs, "/hf/weights.safetensors", "/titan"));
}

TEST_F(HfConvert, SaysWhatAFolderIsThatItCannotRead) {
  make_hf_folder(fs, "/one", model, model_tensors(model));
  ASSERT_TRUE(fs.rename("/one/model.safetensors", "/one/weights.safetensors").ok());
  ASSERT_TRUE(put_text(fs, "/several/shard-1.safetensors", "x").ok() &&
              put_text(fs, "/several/shard-2.safetensors", "x").ok());
  ASSERT_TRUE(put_text(fs, "/bin/config.json", "{}").ok() && put_text(fs, "/bin/pytorch_model.bin", "x").ok());
  const auto expect = [](const Status& status, const std::string& text) {
    EXPECT_EQ(status.code, Code::kNotFound) << status.to_string();
    EXPECT_NE(status.to_string().find(text), std::string::npos) << status.to_string();
  };
  for (const auto& [folder, text] :
       {std::pair("/one", "give the file itself: /one/weights.safetensors"),
        std::pair("/several",
                  "/several has 'shard-1.safetensors', 'shard-2.safetensors', but neither model.safetensors nor"),
        std::pair("/bin",
                  "/bin has 'pytorch_model.bin', but neither model.safetensors nor model.safetensors.index.json: "
                  "weights in pickles are not read")}) {
    expect(open_any(fs, folder).status(), text);
    expect(list_any(fs, folder).status(), text);
    expect(verify_any(fs, {.target = folder}).status(), text);
    expect(convert_to(fs, folder, "/x").status(), text);
    expect(convert_to(fs, folder, "/x", {.from = "hf"}).status(), text);
  }
  ASSERT_TRUE(put_text(fs, "/data/config.json", "{}").ok() && put_text(fs, "/data/tokens.bin", "x").ok() &&
              put_text(fs, "/data/training_args.bin", "x").ok());
  EXPECT_EQ(open_any(fs, "/data").status().to_string().find("pickles"), std::string::npos);
  ASSERT_TRUE(put_text(fs, "/meta/consolidated.00.pth", "x").ok());
  EXPECT_NE(open_any(fs, "/meta").status().to_string().find("/meta has 'consolidated.00.pth'"), std::string::npos);
  for (const char* beside : {"adapter_config.json", "config.json"}) {
    const std::string folder = std::string("/adapter beside ") + beside;
    ASSERT_TRUE(put_text(fs, folder + "/" + beside, "{}").ok() &&
                put_text(fs, folder + "/adapter_model.safetensors", "x").ok());
    expect(open_any(fs, folder).status(),
           folder + " has 'adapter_model.safetensors': an adapter (PEFT), not a whole model");
  }
}

TEST_F(HfConvert, SaysWhichFormatsThereAre) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  expect_ok(convert_to(fs, "/hf", "/titan"));
  EXPECT_EQ(convert_to(fs, "/titan", "/x").status().code, Code::kInvalid);
  EXPECT_EQ(convert_to(fs, "/titan", "/x", {.to = "titan"}).status().code, Code::kInvalid);
  EXPECT_NE(convert_to(fs, "/titan", "/x", {.to = "onnx"}).status().message.find("`onnx` is not known"),
            std::string::npos);
  EXPECT_EQ(convert_to(fs, "/nothing", "/x").status().code, Code::kNotFound);
}

TEST_F(HfConvert, DiffFindsACheckpointAndItsExportEqualAndAChangedByteDifferent) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  expect_ok(convert_to(fs, "/hf", "/titan"));
  expect_ok(convert_to(fs, "/titan", "/back", {.to = "hf", .max_shard_bytes = 3000}));
  ckpt::DiffOptions options{.a = "/titan", .b = "/back"};
  options.open = open_any;
  const auto equal = ckpt::diff_checkpoints(fs, options);
  ASSERT_TRUE(equal.ok()) << equal.status().to_string();
  EXPECT_TRUE(equal->equal());
  EXPECT_EQ(equal->equal_tensors, 21u);
  RawTensors tensors = model_tensors(model);
  tensors["model.layers.1.self_attn.k_proj.weight"].bytes[4 * 12 * 3] ^= 1;  // row 3 of the first head is row 1 of ours
  make_hf_folder(fs, "/other", model, tensors);
  options.b = "/other";
  const auto different = ckpt::diff_checkpoints(fs, options);
  ASSERT_TRUE(different.ok());
  EXPECT_FALSE(different->equal());
  ASSERT_EQ(different->differences.size(), 1u);
  EXPECT_EQ(different->differences[0].name, "layers.1.attention.wk.weight");
  EXPECT_EQ(different->differences[0].distance->first_index, 12u);
}

}  // namespace
}  // namespace titan::convert::hf_convert_test
