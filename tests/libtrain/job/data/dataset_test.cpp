#include "libtrain/job/data/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "corpus/token_data.h"
#include "recipe/keys/config.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::dataset_test {
namespace {

using ckpt::Code;
using Tokens = std::vector<std::int64_t>;

/// u16 tokens 0, 1, 2, ...: a token says where it stands.
std::string counting(std::size_t tokens) {
  std::string bytes;
  for (std::size_t i = 0; i < tokens; ++i) {
    bytes += static_cast<char>(i & 0xFF);
    bytes += static_cast<char>(i >> 8);
  }
  return bytes;
}

recipe::Config config_for(const std::string& path, std::int64_t seq_len) {
  recipe::Config config;
  config.training.dataset = "tokens";
  config.training.dataset_path = path;
  config.training.seq_len = seq_len;
  return config;
}

std::unique_ptr<Dataset> open_or_die(const recipe::Config& config, std::uint64_t seed = 7,
                                     std::uint64_t vocab = 65536) {
  auto opened = Dataset::open(config, seed, vocab);
  if (!opened.ok()) {
    ADD_FAILURE() << opened.status().to_string();
    return nullptr;
  }
  return std::move(opened).value();
}

Tokens sample_of(const Dataset& data, std::uint64_t sample) {
  Tokens out(data.origin().seq_len + 1);
  const ckpt::Status status = data.sample(sample, out);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return out;
}

Tokens range(std::int64_t begin, std::int64_t count) {
  Tokens out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(begin + i);
  return out;
}

TEST(Dataset, CutsSamplesByTheDefinition) {
  const ScratchDir dir;
  const struct {
    std::size_t tokens;
    std::int64_t seq_len;
    std::optional<std::int64_t> stride;
    std::uint64_t samples;
  } cases[] = {
      {5, 4, {}, 1},   {8, 4, {}, 1},   {9, 4, {}, 2},   {100, 4, {}, 24}, {101, 4, {}, 25},
      {100, 4, 5, 20}, {100, 4, 1, 96}, {100, 4, 96, 1}, {100, 4, 95, 2},  {100, 99, {}, 1},
  };
  for (const auto& c : cases) {
    recipe::Config config = config_for(dir.write("t.bin", counting(c.tokens)), c.seq_len);
    config.training.sample_stride = c.stride;
    config.training.shuffle = false;
    const auto data = open_or_die(config);
    ASSERT_TRUE(data);
    EXPECT_EQ(data->samples_per_epoch(), c.samples) << c.tokens << " tokens, seq_len " << c.seq_len;
    const std::int64_t stride = c.stride.value_or(c.seq_len);
    for (std::uint64_t i = 0; i < c.samples; ++i)
      EXPECT_EQ(sample_of(*data, i), range(static_cast<std::int64_t>(i) * stride, c.seq_len + 1));
    // Neither is there room for one more.
    EXPECT_GT(c.samples * static_cast<std::uint64_t>(stride) + static_cast<std::uint64_t>(c.seq_len) + 1, c.tokens);
  }
}

TEST(Dataset, FillsThePosition) {
  const ScratchDir dir;
  recipe::Config config = config_for(dir.write("b.bin", counting(50)) + "," + dir.write("a.bin", counting(51)), 10);
  config.training.sample_stride = 5;
  const auto data = open_or_die(config, 99);
  ASSERT_TRUE(data);
  const ckpt::DataPosition& origin = data->origin();
  EXPECT_EQ(origin.samples, 0u);
  EXPECT_EQ(origin.seed, 99u);
  EXPECT_EQ(origin.seq_len, 10u);
  EXPECT_EQ(origin.sample_stride, 5u);
  EXPECT_EQ(origin.samples_per_epoch, 19u);
  EXPECT_TRUE(origin.shuffle);
  EXPECT_EQ(origin.kind, "tokens");
  EXPECT_EQ(origin.tokenizer, "none");
  ASSERT_EQ(origin.files.size(), 2u);
  EXPECT_EQ(origin.files[0].name, "b.bin");
  EXPECT_EQ(origin.files[1].name, "a.bin");
  EXPECT_EQ(origin.files[1].bytes, 102u);

  config.training.dataset = "text";
  config.training.dataset_path = dir.write("t.txt", std::string(100, 'x'));
  const auto text = open_or_die(config, 99, 256);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->origin().kind, "text");
  EXPECT_EQ(text->origin().tokenizer, "byte");
}

TEST(Dataset, RenamedFilesAreReadInTheStoredOrderUnderTheStoredNames) {
  const ScratchDir dir;
  const std::string one = counting(40), two = counting(70).substr(80), three = counting(25);
  recipe::Config config =
      config_for(dir.write("a.bin", one) + "," + dir.write("b.bin", two) + "," + dir.write("c.bin", three), 10);
  const auto first = open_or_die(config);
  config.training.dataset_path = dir.write("d/1.bin", three) + "," + dir.write("d/2.bin", "") + "," +
                                 dir.write("d/3.bin", one) + "," + dir.write("d/4.bin", two);
  const auto renamed = open_or_die(config);
  ASSERT_TRUE(first && renamed);
  ASSERT_TRUE(renamed->continue_from(first->origin()).ok());
  EXPECT_EQ(renamed->origin(), first->origin());
  for (std::uint64_t i = 0; i < 2 * first->samples_per_epoch(); ++i)
    EXPECT_EQ(sample_of(*renamed, i), sample_of(*first, i)) << i;

  config.training.dataset_path = dir.write("other.bin", counting(95));
  const auto other = open_or_die(config);
  ASSERT_TRUE(other->continue_from(first->origin()).ok());
  EXPECT_EQ(other->origin().files[0].name, "other.bin") << "other data keep their names";
  config.training.dataset = "text";
  config.training.dataset_path = dir.write("x.txt", std::string(100, 'x'));
  ckpt::DataPosition of_tokens = first->origin();
  const auto text = open_or_die(config, 7, 256);
  of_tokens.files = {{"y.txt", text->origin().files[0].bytes, text->origin().files[0].blocks}};
  ASSERT_TRUE(text->continue_from(of_tokens).ok());
  EXPECT_EQ(text->origin().files[0].name, "x.txt") << "the same bytes, read as something else";
}

TEST(Dataset, AFolderOfTokensGivesItsShardsAndSaysHowTheyAreRead) {
  const ScratchDir dir;
  corpus::TokenData made;
  made.vocabulary = 300;
  for (const char* number : {"0", "1"}) {
    const std::string tokens = std::string("tokens-") + number, ends = std::string("ends-") + number;
    dir.write("d/" + tokens, counting(50));
    dir.write("d/" + ends, std::string(8, '\1'));
    made.shards.push_back({tokens, ends, 50, 1, {}, {}});
    made.tokens += 50;
    ++made.documents;
  }
  dir.write("d/tokenizer.json", "{}");
  dir.write("d/data.json", corpus::write_token_data(made));
  recipe::Config config = config_for(dir / "d", 10);
  const auto data = open_or_die(config);
  ASSERT_TRUE(data);
  ASSERT_EQ(data->origin().files.size(), 2u);
  EXPECT_EQ(data->origin().files[1].name, "tokens-1");

  const auto refused = [&](std::uint64_t vocab) { return Dataset::open(config, 7, vocab).status(); };
  EXPECT_NE(refused(299).hint.find("--model.vocab_size=300"), std::string::npos);
  config.training.token_dtype = "uint32";
  EXPECT_EQ(refused(300).hint, "add --training.token_dtype=uint16");
  config.training.dataset = "text";
  EXPECT_EQ(refused(300).hint, "add --training.dataset=tokens --training.token_dtype=uint16");
  config = config_for(dir / "d", 10);
  dir.write("d/tokens-1", counting(49));
  EXPECT_EQ(refused(300).code, Code::kCorrupt) << "a shard is not whole";
}

/// A mixture of files of counting tokens, each from a number of its own on.
recipe::Config mixture_of(const ScratchDir& dir, const std::vector<std::pair<std::size_t, std::string>>& sets) {
  recipe::Config config = config_for("", 10);
  config.training.dataset_path.reset();
  for (const auto& [tokens, words] : sets) {
    const std::size_t place = config.training.datasets.size();
    const std::string all = counting(1000 * (place + 1) + tokens);
    const std::string path = dir.write("set" + std::to_string(place) + ".bin", all.substr(all.size() - 2 * tokens));
    config.training.datasets.push_back("path=" + path + " " + words);
  }
  return config;
}

TEST(Dataset, AMixtureDrawsFromEachSetByItsWeightAndEverySampleOncePerPass) {
  const ScratchDir dir;
  const recipe::Config config = mixture_of(dir, {{401, "weight=2"}, {201, "weight=1"}, {101, "weight=1"}});
  const auto data = open_or_die(config);
  ASSERT_TRUE(data);
  ASSERT_NE(data->mixture(), nullptr);
  EXPECT_EQ(data->origin().sets[1].name, "set1.bin");
  EXPECT_EQ(data->samples_per_epoch(), 70u);
  std::map<std::int64_t, std::vector<std::int64_t>> seen;  // by set: the first tokens of its samples
  for (std::uint64_t i = 0; i < 160; ++i) {
    const Tokens tokens = sample_of(*data, i);
    EXPECT_EQ(tokens, range(tokens[0], 11));
    std::vector<std::int64_t>& of_set = seen[tokens[0] / 1000 - 1];
    of_set.push_back(tokens[0]);
    EXPECT_EQ(data->mixture()->at(i)->number + 1, of_set.size());
  }
  EXPECT_EQ(seen[0].size(), 80u);
  EXPECT_EQ(seen[1].size(), 40u);
  for (const auto& [set, first] : seen) {
    const std::size_t pass = data->origin().sets[static_cast<std::size_t>(set)].samples;
    for (std::size_t begin = 0; begin + pass <= first.size(); begin += pass) {
      const std::set<std::int64_t> once(first.begin() + static_cast<std::ptrdiff_t>(begin),
                                        first.begin() + static_cast<std::ptrdiff_t>(begin + pass));
      EXPECT_EQ(once.size(), pass) << "set " << set << ", pass from " << begin;
    }
  }
}

TEST(Dataset, AMixtureGoesOnFromAPositionWhateverTheOrderAndTheNamesOfItsSets) {
  const ScratchDir dir;
  recipe::Config config = mixture_of(dir, {{401, "weight=2"}, {201, "weight=1"}, {101, "weight=1"}});
  const auto first = open_or_die(config);
  ckpt::DataPosition position = first->origin();
  position.samples = 33;
  std::swap(config.training.datasets[0], config.training.datasets[2]);
  const auto later = open_or_die(config, 99);
  ASSERT_TRUE(later->continue_from(ckpt::continued_mixture(position, later->origin())).ok());
  ckpt::DataPosition next = position;  // nothing has changed: as recipe::continue_run() has it
  ASSERT_TRUE(later->continue_from(next).ok());
  for (std::uint64_t i = 33; i < 200; ++i) EXPECT_EQ(sample_of(*later, i), sample_of(*first, i)) << i;
  EXPECT_EQ(later->origin(), position);
}

TEST(Dataset, AMixtureEndsWhereItsSetsHaveGivenAll) {
  const ScratchDir dir;
  const auto data = open_or_die(mixture_of(dir, {{101, "weight=1 epochs=1"}, {201, "weight=1 epochs=2"}}));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->mixture()->end(), 50u);
  Tokens out(11);
  EXPECT_TRUE(data->sample(49, out).ok());
  EXPECT_EQ(data->sample(50, out).message, "the data end before sample 50: 'set1.bin' has given all of its epochs");
}

TEST(Dataset, RefusesMixturesThatCannotBe) {
  const ScratchDir dir;
  const auto message = [](const recipe::Config& config) { return Dataset::open(config, 7, 65536).status().message; };
  recipe::Config config = mixture_of(dir, {{401, "weight=2"}, {201, "weight=1"}});
  config.training.datasets.push_back("path=" + dir.write("copy.bin", counting(1401).substr(2000)));
  EXPECT_NE(message(config).find("copy.bin' has the same contents as"), std::string::npos) << message(config);
  config.training.datasets.back() = "path=" + dir.write("empty.bin", "");
  EXPECT_NE(message(config).find("training.datasets: the dataset is empty"), std::string::npos) << message(config);
  config.training.datasets.back() = "path=" + dir.write("short.bin", counting(9));
  EXPECT_NE(message(config).find("has 9 tokens, too short"), std::string::npos) << message(config);
  config.training.datasets.back() = "path=" + dir.write("tiny.bin", counting(64)) + " weight=1e-12";
  EXPECT_NE(message(config).find("is too small compared with the others"), std::string::npos) << message(config);
  config.training.datasets.back() = "path=" + (dir / "nowhere");
  EXPECT_NE(message(config).find("training.datasets: '"), std::string::npos) << message(config);
  config.training.datasets.pop_back();
  config.validation.enable = true;
  config.validation.holdout = 0.02;
  EXPECT_NE(message(config).find("the held-back tail of '"), std::string::npos) << message(config);
  config.validation.dataset_path = dir.write("judge.bin", counting(64));
  EXPECT_TRUE(Dataset::open(config, 7, 65536).ok());
}

TEST(Dataset, TwoHundredSetsAreOneMixture) {
  const ScratchDir dir;
  std::vector<std::pair<std::size_t, std::string>> sets(200, {23, "weight=1"});
  const auto data = open_or_die(mixture_of(dir, sets));
  ASSERT_TRUE(data);
  std::set<std::size_t> drawn;
  for (std::uint64_t i = 0; i < 200; ++i) drawn.insert(data->mixture()->at(i)->set);
  EXPECT_EQ(drawn.size(), 200u);
}

std::vector<std::int64_t> starts_of(const Dataset& data, std::uint64_t sample) {
  const auto marks = data.marks(sample, sample_of(data, sample));
  EXPECT_TRUE(marks.ok()) << marks.status().to_string();
  EXPECT_EQ(marks->starts, marks->untrained);
  return marks->starts;
}

/// u64, little-endian.
std::string ends_file(const std::vector<std::uint64_t>& ends) {
  return {reinterpret_cast<const char*>(ends.data()), ends.size() * sizeof(std::uint64_t)};
}

TEST(Dataset, KnowsWhereTheDocumentsOfASampleBegin) {
  const ScratchDir dir;
  corpus::TokenData made;
  made.vocabulary = 300;
  const std::vector<std::vector<std::uint64_t>> ends = {{3, 4, 25}, {7, 25}};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::string number = std::to_string(i);
    dir.write("d/tokens-" + number, counting(25));
    dir.write("d/ends-" + number, ends_file(ends[i]));
    made.shards.push_back({"tokens-" + number, "ends-" + number, 25, ends[i].size(), {}, {}});
    made.tokens += 25;
    made.documents += ends[i].size();
  }
  dir.write("d/tokenizer.json", "{}");
  dir.write("d/data.json", corpus::write_token_data(made));
  recipe::Config config = config_for(dir / "d", 10);
  config.training.shuffle = false;
  EXPECT_TRUE(starts_of(*open_or_die(config), 0).empty()) << "nobody asked";
  config.training.document_mask = true;
  const auto data = open_or_die(config);
  EXPECT_EQ(starts_of(*data, 0), (std::vector<std::int64_t>{3, 4}));
  EXPECT_TRUE(starts_of(*data, 1).empty());
  EXPECT_EQ(starts_of(*data, 2), (std::vector<std::int64_t>{5})) << "another shard";
  EXPECT_EQ(starts_of(*data, 3), (std::vector<std::int64_t>{2}));

  // Raw files do not say: an id does.
  config.training.dataset_path = dir.write("raw.bin", counting(40)) + "," + dir.write("more.bin", counting(40));
  config.training.document_end = 12;
  const auto raw = open_or_die(config);
  EXPECT_TRUE(starts_of(*raw, 0).empty());
  EXPECT_EQ(starts_of(*raw, 1), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(starts_of(*raw, 3), (std::vector<std::int64_t>{10})) << "the file behind is another document";
  EXPECT_TRUE(starts_of(*raw, 4).empty()) << "the first place is no start";
  EXPECT_EQ(starts_of(*raw, 5), (std::vector<std::int64_t>{3}));
}

TEST(Dataset, SamplesOfWholeDocumentsAreFilledUp) {
  const ScratchDir dir;
  recipe::Config config = config_for("", 10);
  std::vector<std::string> files;
  std::size_t begin = 0;
  for (const std::size_t tokens : {4, 5, 6, 30, 3, 1}) {
    files.push_back(dir.write("file" + std::to_string(begin) + ".bin", counting(begin + tokens).substr(2 * begin)));
    begin += tokens;
  }
  config.training.dataset_path = files[0];
  for (std::size_t i = 1; i < files.size(); ++i) *config.training.dataset_path += "," + files[i];
  config.training.shuffle = false;
  config.training.pack = "whole";
  const auto data = open_or_die(config);
  ASSERT_TRUE(data);
  // 4 + 5 | 6 | 30 in pieces that share a token, the last with what follows.
  const std::vector<std::pair<std::int64_t, std::int64_t>> rows = {{0, 9},   {9, 6},   {15, 11},
                                                                   {25, 11}, {35, 10}, {45, 4}};
  ASSERT_EQ(data->samples_per_epoch(), rows.size());
  EXPECT_FALSE(data->is_plain());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [first, count] = rows[i];
    Tokens expected = range(first, count);
    expected.resize(11);
    EXPECT_EQ(sample_of(*data, i), expected) << i;
    EXPECT_EQ(data->marks(i, expected)->untrained, range(count, 11 - count)) << i;
    EXPECT_TRUE(data->marks(i, expected)->starts.empty()) << "documents are not kept apart";
  }
  config.training.document_mask = true;
  const auto apart = open_or_die(config);
  const SampleMarks marks = *apart->marks(0, sample_of(*apart, 0));
  EXPECT_EQ(marks.starts, (Tokens{4, 9})) << "what fills it up is no part of the last document";
  EXPECT_EQ(marks.untrained, (Tokens{4, 9, 10}));
  EXPECT_EQ(apart->marks(5, sample_of(*apart, 5))->starts, (Tokens{3, 4}));

  config.training.sample_stride = 4;
  EXPECT_EQ(Dataset::open(config, 7, 65536).status().code, Code::kInvalid);
}

TEST(Dataset, WhatIsNoAnswerIsNotTrainedOn) {
  const ScratchDir dir;
  corpus::TokenData made;
  made.vocabulary = 300;
  const std::vector<std::vector<std::uint64_t>> answers = {{2, 5, 9, 12, 12, 14}, {9, 14}};
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string number = std::to_string(i);
    dir.write("d/tokens-" + number, counting(25));
    dir.write("d/ends-" + number, ends_file({25}));
    dir.write("d/answers-" + number, ends_file(answers[i]));
    made.shards.push_back(
        {"tokens-" + number, "ends-" + number, 25, 1, {}, {}, "answers-" + number, answers[i].size() / 2, {}});
    made.tokens += 25;
    ++made.documents;
  }
  dir.write("d/tokenizer.json", "{}");
  dir.write("d/data.json", corpus::write_token_data(made));
  recipe::Config config = config_for(dir / "d", 10);
  config.training.shuffle = false;
  const auto data = open_or_die(config);
  ASSERT_TRUE(data);
  EXPECT_FALSE(data->is_plain());
  const auto untrained = [](const Dataset& of, std::uint64_t sample) {
    return of.marks(sample, sample_of(of, sample))->untrained;
  };
  EXPECT_EQ(untrained(*data, 0), (Tokens{1, 5, 6, 7, 8}));
  EXPECT_EQ(untrained(*data, 1), (Tokens{4, 5, 6, 7, 8, 9, 10})) << "the first place is predicted by nothing";
  EXPECT_EQ(untrained(*data, 2), range(1, 10));
  EXPECT_EQ(untrained(*data, 3), (Tokens{1, 2, 3, 9, 10}));
  EXPECT_TRUE(data->marks(0, sample_of(*data, 0))->starts.empty());

  dir.write("d/answers-0", ends_file({2, 5, 9, 7, 12, 14}));
  EXPECT_EQ(open_or_die(config)->marks(0, sample_of(*data, 0)).status().code, Code::kCorrupt);
}

TEST(Dataset, EndsOfDocumentsThatDoNotAscendAreDamage) {
  const ScratchDir dir;
  corpus::TokenData made;
  made.vocabulary = 300;
  dir.write("d/tokens-0", counting(50));
  made.shards.push_back({"tokens-0", "ends-0", 50, 3, {}, {}});
  made.tokens = 50;
  made.documents = 3;
  dir.write("d/tokenizer.json", "{}");
  dir.write("d/data.json", corpus::write_token_data(made));
  recipe::Config config = config_for(dir / "d", 40);
  config.training.document_mask = true;
  for (const std::vector<std::uint64_t>& ends : {std::vector<std::uint64_t>{9, 5, 50}, {9, 9, 50}, {9, 60, 50}}) {
    dir.write("d/ends-0", ends_file(ends));
    const auto data = open_or_die(config);
    const ckpt::Status status = data->marks(0, sample_of(*data, 0)).status();
    EXPECT_EQ(status.code, Code::kCorrupt) << ends[1];
    EXPECT_NE(status.message.find("ends-0': number 1 is"), std::string::npos) << status.message;
  }
}

TEST(Dataset, ARunFolderOfItsOwnIsNoDataAndDoubtIsHandedOn) {
  const ScratchDir dir;
  dir.write("both/t.bin", counting(100));
  recipe::Config config = config_for(dir / "both", 10);
  config.job.dump_folder = dir / "both/../both";
  const auto refused = Dataset::open(config, 7, 65536);
  EXPECT_EQ(refused.status().code, Code::kInvalid);
  EXPECT_NE(refused.status().message.find("is also job.dump_folder"), std::string::npos) << refused.status().message;
  config.job.dump_folder = dir / "run";
  const auto data = open_or_die(config);
  EXPECT_TRUE(data->doubt().ok());
  EXPECT_TRUE(data->warnings().empty());
  config.training.dataset = "text";
  const auto text = open_or_die(config, 7, 256);
  EXPECT_NE(text->doubt().message.find("is binary, not text"), std::string::npos);
  EXPECT_EQ(text->warnings().size(), 1u) << "NUL bytes";
}

TEST(Dataset, VisitsEverySampleOncePerEpochInAnotherOrderEachEpoch) {
  const ScratchDir dir;
  const auto data = open_or_die(config_for(dir.write("t.bin", counting(1001)), 10));
  ASSERT_TRUE(data);
  const std::uint64_t n = data->samples_per_epoch();
  ASSERT_EQ(n, 100u);
  std::vector<Tokens> orders;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    Tokens order;
    for (std::uint64_t i = 0; i < n; ++i) {
      EXPECT_EQ(data->epoch(epoch * n + i), epoch);
      order.push_back(sample_of(*data, epoch * n + i).front());
    }
    Tokens sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (std::uint64_t i = 0; i < n; ++i) EXPECT_EQ(sorted[i], static_cast<std::int64_t>(i * 10));
    orders.push_back(order);
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
}

/// The tokens that all ranks of `dp` read in `steps` steps from sample `first` on, in global order, each rank through a
/// dataset of its own as in a real run.
std::vector<Tokens> train(const recipe::Config& config, std::uint64_t dp, std::uint64_t batch, std::uint64_t first,
                          std::uint64_t steps) {
  std::vector<Tokens> seen(steps * batch);
  for (std::uint64_t r = 0; r < dp; ++r) {
    const auto data = open_or_die(config);
    for (std::uint64_t step = 0; step < steps; ++step)
      for (std::uint64_t k = r * batch / dp; k < (r + 1) * batch / dp; ++k)
        seen[step * batch + k] = sample_of(*data, first + step * batch + k);
  }
  return seen;
}

TEST(Dataset, GivesEveryLayoutTheSameSamplesAcrossStopsBatchChangesAndEpochEnds) {
  const ScratchDir dir;
  // 30 samples: an epoch ends inside step 5 of 7
  const recipe::Config config = config_for(dir.write("t.bin", counting(301)), 10);
  const std::vector<Tokens> whole = train(config, 1, 70, 0, 1);
  for (std::uint64_t dp : {1, 2, 3, 7}) EXPECT_EQ(train(config, dp, 7, 0, 10), whole) << "dp " << dp;
  // Three stops, three layouts, one change of the batch.
  std::vector<Tokens> pieces;
  for (const auto& part : {train(config, 2, 7, 0, 3), train(config, 3, 7, 21, 2), train(config, 1, 5, 35, 7)})
    pieces.insert(pieces.end(), part.begin(), part.end());
  EXPECT_EQ(pieces, whole);
  std::map<std::int64_t, int> visits;
  for (std::size_t i = 0; i < 60; ++i) ++visits[whole[i].front()];
  EXPECT_EQ(visits.size(), 30u);
  for (const auto& [token, count] : visits) EXPECT_EQ(count, 2) << token;
}

TEST(Dataset, ContinuesWithTheEpochsOfAStoredPosition) {
  const ScratchDir dir;
  const recipe::Config config = config_for(dir.write("t.bin", counting(301)), 10);
  const auto plain = open_or_die(config, 7), data = open_or_die(config, 1);
  ASSERT_TRUE(plain && data);
  ckpt::DataPosition stored = data->origin();
  stored.seed = 7;
  stored.samples = 1000;
  stored.epoch_base = 990;  // a changed dataset began epoch 2 there
  stored.first_epoch = 2;
  ASSERT_TRUE(data->continue_from(stored).ok());
  EXPECT_EQ(data->epoch(990), 2u);
  EXPECT_EQ(data->epoch(1019), 2u);
  EXPECT_EQ(data->epoch(1020), 3u);
  for (std::uint64_t i = 0; i < 60; ++i) EXPECT_EQ(sample_of(*data, 990 + i), sample_of(*plain, 60 + i));
}

TEST(Dataset, NeverTrainsOnTheHeldBackTail) {
  const ScratchDir dir;
  for (const std::size_t tokens : {120u, 1000u, 1234u}) {
    for (const double holdout : {0.1, 0.25, 0.5}) {
      recipe::Config config = config_for(dir.write("t.bin", counting(tokens)), 5);
      config.training.sample_stride = 1;
      config.validation.enable = true;
      config.validation.holdout = holdout;
      config.validation.seq_len = 7;
      const auto data = open_or_die(config);
      ASSERT_TRUE(data);
      const auto held_back = static_cast<std::int64_t>(static_cast<double>(tokens) * holdout);
      const std::int64_t border = static_cast<std::int64_t>(tokens) - held_back;
      std::int64_t largest = 0;
      for (std::uint64_t i = 0; i < data->samples_per_epoch(); ++i)
        largest = std::max(largest, sample_of(*data, i).back());
      EXPECT_EQ(largest, border - 1);
      EXPECT_EQ(data->validation_seq_len(), 7);
      EXPECT_EQ(data->validation_samples(), static_cast<std::uint64_t>((held_back - 8) / 7 + 1));
      for (std::uint64_t i = 0; i < data->validation_samples(); ++i) {
        Tokens out(8);
        ASSERT_TRUE(data->validation_sample(i, out).ok());
        EXPECT_EQ(out, range(border + static_cast<std::int64_t>(i) * 7, 8));
        EXPECT_LT(out.back(), static_cast<std::int64_t>(tokens));
      }
    }
  }
}

TEST(Dataset, ReadsAValidationDatasetOfItsOwn) {
  const ScratchDir dir;
  recipe::Config config = config_for(dir.write("t.bin", counting(101)), 10);
  config.validation.enable = true;
  config.validation.dataset_path = dir.write("v.bin", counting(45));
  const auto data = open_or_die(config);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->samples_per_epoch(), 10u);  // nothing held back
  EXPECT_EQ(data->validation_seq_len(), 10);
  ASSERT_EQ(data->validation_samples(), 4u);
  Tokens out(11);
  ASSERT_TRUE(data->validation_sample(3, out).ok());
  EXPECT_EQ(out, range(30, 11));
  config.validation.enable = false;
  EXPECT_EQ(open_or_die(config)->validation_samples(), 0u);
  EXPECT_EQ(open_or_die(config)->validation_batches(), 0u);
}

TEST(Dataset, CountsWhatOneValidationReadsWithoutOverflow) {
  const ScratchDir dir;
  recipe::Config config = config_for(dir.write("t.bin", counting(101)), 10);
  config.validation.enable = true;
  config.validation.dataset_path = dir.write("v.bin", counting(45));  // four samples
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const struct {
    std::int64_t rows, steps;
    std::uint64_t read;
    std::uint32_t batches;
  } cases[] = {{1, -1, 4, 4}, {3, -1, 4, 2},        {4, -1, 4, 1},    {3, 1, 3, 1},
               {3, 5, 4, 2},  {kMost, kMost, 4, 1}, {2, kMost, 4, 2}, {kMost, 1, 4, 1}};
  for (const auto& c : cases) {
    config.validation.local_batch_size = c.rows;
    config.validation.steps = c.steps;
    const auto data = open_or_die(config);
    EXPECT_EQ(data->validation_read(), c.read) << c.rows << " rows, " << c.steps << " steps";
    EXPECT_EQ(data->validation_batches(), c.batches) << c.rows << " rows, " << c.steps << " steps";
  }
}

TEST(Dataset, NamesFileAndPositionOfATokenOutsideTheVocabulary) {
  const ScratchDir dir;
  const std::string first = dir.write("a.bin", counting(20)), second = dir.write("b.bin", counting(40));
  recipe::Config config = config_for(first + "," + second, 10);
  config.training.shuffle = false;
  const auto data = open_or_die(config, 7, 30);
  ASSERT_TRUE(data);
  Tokens out(11);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(data->sample(i, out).ok()) << i;
  const ckpt::Status status = data->sample(4, out);  // tokens 40..50: file b, tokens 20..30
  EXPECT_EQ(status.code, Code::kInvalid);
  EXPECT_EQ(status.message, "'" + second + "', token 30: id 30 is outside the vocabulary of 30");
}

TEST(Dataset, RefusesWhatCannotWorkWithAReason) {
  const ScratchDir dir;
  const std::string tokens = dir.write("t.bin", counting(100)), text = dir.write("t.txt", std::string(100, 'x'));
  const struct {
    const char* what;
    std::function<void(recipe::Config&)> change;
    Code code;
    const char* message;
  } cases[] = {
      {"no path", [](recipe::Config& c) { c.training.dataset_path.reset(); }, Code::kInvalid,
       "training.dataset_path is not set"},
      {"missing", [&](recipe::Config& c) { c.training.dataset_path = dir / "none"; }, Code::kInvalid, "does not exist"},
      {"empty", [&](recipe::Config& c) { c.training.dataset_path = dir.write("empty", ""); }, Code::kInvalid,
       "is empty"},
      {"unknown kind", [](recipe::Config& c) { c.training.dataset = "c4"; }, Code::kInvalid, "known are text, tokens"},
      {"unknown dtype", [](recipe::Config& c) { c.training.token_dtype = "int8"; }, Code::kInvalid,
       "known are uint16, uint32"},
      {"tokenizer",
       [&](recipe::Config& c) {
         c.training.dataset = "text";
         c.training.dataset_path = text;
         c.model.tokenizer = "t.json";
       },
       Code::kInvalid, "texts become tokens before they are read"},
      {"small vocabulary",
       [&](recipe::Config& c) {
         c.training.dataset = "text";
         c.training.dataset_path = text;
       },
       Code::kInvalid, "smaller than the 256 ids"},
      {"seq_len 0", [](recipe::Config& c) { c.training.seq_len = 0; }, Code::kInvalid,
       "training.seq_len must be at least 1"},
      {"stride 0", [](recipe::Config& c) { c.training.sample_stride = 0; }, Code::kInvalid,
       "training.sample_stride must be at least 1"},
      {"too short", [](recipe::Config& c) { c.training.seq_len = 100; }, Code::kInvalid,
       "has 100 tokens, too short for one sample of 101"},
      {"holdout 0",
       [](recipe::Config& c) {
         c.validation.enable = true;
         c.validation.holdout = 0;
       },
       Code::kInvalid, "validation.holdout"},
      {"holdout above",
       [](recipe::Config& c) {
         c.validation.enable = true;
         c.validation.holdout = 0.51;
       },
       Code::kInvalid, "validation.holdout"},
      {"tail too short",
       [](recipe::Config& c) {
         c.validation.enable = true;
         c.validation.holdout = 0.1;
       },
       Code::kInvalid, "the held-back tail (validation.holdout = 0.100000) has 10 tokens"},
      {"rest too short",
       [](recipe::Config& c) {
         c.validation.enable = true;
         c.validation.holdout = 0.5;
         c.training.seq_len = 50;
         c.validation.seq_len = 10;
       },
       Code::kInvalid, "without the held-back tail) has 50 tokens"},
      {"validation missing",
       [&](recipe::Config& c) {
         c.validation.enable = true;
         c.validation.dataset_path = dir / "none";
       },
       Code::kInvalid, "validation.dataset_path: '"},
      {"validation short",
       [&](recipe::Config& c) {
         c.validation.enable = true;
         c.validation.dataset_path = dir.write("v", counting(10));
       },
       Code::kInvalid, "the validation dataset has 10 tokens"},
  };
  for (const auto& c : cases) {
    recipe::Config config = config_for(tokens, 10);
    c.change(config);
    const auto opened = Dataset::open(config, 7, 200);
    ASSERT_FALSE(opened.ok()) << c.what;
    EXPECT_EQ(opened.status().code, c.code) << c.what;
    EXPECT_NE(opened.status().message.find(c.message), std::string::npos) << c.what << ": " << opened.status().message;
  }
}

TEST(Dataset, WarnsOfAVocabularyThatIdsOf16BitsDoNotReach) {
  const ScratchDir dir;
  const std::string tokens = dir.write("t.bin", counting(100));
  EXPECT_TRUE(open_or_die(config_for(tokens, 10), 7, 65536)->warnings().empty());
  const auto wide = open_or_die(config_for(tokens, 10), 7, 65537);
  ASSERT_EQ(wide->warnings().size(), 1u);
  EXPECT_EQ(wide->warnings()[0],
            "training.token_dtype = \"uint16\" has no ids above 65535, and the vocabulary has 65537: data of its "
            "tokenizer are uint32");
}

TEST(Dataset, DoubtsIdsOf32BitsThatAreReadAs16AlsoInTheValidation) {
  const ScratchDir dir;
  std::string wide;
  for (int i = 0; i < 200; ++i) wide += {static_cast<char>(i), '\1', static_cast<char>(i % 2), '\0'};
  recipe::Config config = config_for(dir.write("t.bin", counting(100)), 10);
  config.validation.enable = true;
  config.validation.dataset_path = dir.write("v.bin", wide);
  const auto data = open_or_die(config, 7, 128256);
  EXPECT_NE(data->doubt().message.find("v.bin' looks like ids of 32 bits, not of 16"), std::string::npos);
  config.training.dataset_path = dir / "v.bin";
  EXPECT_FALSE(open_or_die(config, 7, 128256)->doubt().ok());
  config.training.token_dtype = "uint32";
  EXPECT_TRUE(open_or_die(config, 7, 128256)->doubt().ok());
}

// Text of many gigabytes is read whole when its run begins, not at every start. A fingerprint sees 64 blocks of it.
TEST(Dataset, TextIsCheckedOncePerFingerprint) {
  const ScratchDir dir;
  std::string text(1 << 20, 'a');
  recipe::Config config = config_for(dir.write("t", text), 10);
  config.training.dataset = "text";
  const std::vector<KnownFile> checked = open_or_die(config, 7, 256)->known();
  text[9000] = '\xff';  // between the first block and the second
  dir.write("t", text);
  const auto refused = Dataset::open(config, 7, 256);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message.find("at offset 9000"), std::string::npos) << refused.status().message;
  EXPECT_TRUE(Dataset::open(config, 7, 256, checked).ok());
  text[100] = 'b';  // in the first block
  dir.write("t", text);
  EXPECT_FALSE(Dataset::open(config, 7, 256, checked).ok());
}

TEST(Dataset, TextOfTheValidationIsCheckedOnceToo) {
  const ScratchDir dir;
  std::string text(1 << 20, 'a');
  recipe::Config config = config_for(dir.write("t", text), 10);
  config.training.dataset = "text";
  config.validation.enable = true;
  config.validation.dataset_path = dir.write("v", text + "b");
  const std::vector<KnownFile> checked = open_or_die(config, 7, 256)->known();
  ASSERT_EQ(checked.size(), 2u);
  text[9000] = '\xff';
  dir.write("v", text + "b");
  EXPECT_FALSE(Dataset::open(config, 7, 256).ok());
  EXPECT_TRUE(Dataset::open(config, 7, 256, checked).ok());
}

}  // namespace
}  // namespace titan::train::dataset_test
