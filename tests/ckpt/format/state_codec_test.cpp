#include "ckpt/format/state_codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/checkpoints.h"

namespace titan::ckpt::state_codec_test {
namespace {

Snapshot snapshot() { return testing::make_snapshot({}, {1, 1, 1}, 100); }

TEST(StateCodec, ReadsBackWhatItWrote) {
  const Snapshot full = snapshot();
  EXPECT_EQ(*decode_lr_schedule("f", encode_lr_schedule(full.lr)), full.lr);
  EXPECT_EQ(*decode_data_position("f", encode_data_position(full.data)), full.data);
  EXPECT_EQ(*decode_train_state("f", encode_train_state(full.train)), full.train);
  EXPECT_EQ(*decode_lr_schedule("f", encode_lr_schedule({})), LrSchedule{});
  EXPECT_EQ(*decode_data_position("f", encode_data_position({})), DataPosition{});
  EXPECT_EQ(*decode_train_state("f", encode_train_state({})), TrainState{});
}

TEST(StateCodec, KeepsSeedsAsDecimalStrings) {
  EXPECT_NE(encode_train_state(snapshot().train).find("\"seed\":\"18446744073709551615\""), std::string::npos);
  EXPECT_NE(encode_data_position(snapshot().data).find("\"seed\":\"18364758544493064720\""), std::string::npos);
}

TEST(StateCodec, SamplesThatAreLeftOutStandThereOnlyWhereThereAreSuch) {
  DataPosition data = snapshot().data;
  EXPECT_EQ(encode_data_position(data).find("excluded"), std::string::npos);
  data.samples = 16;
  data.excluded = {{16, 8}, {40, 1}};
  const std::string text = encode_data_position(data);
  EXPECT_NE(text.find(R"("excluded":[{"first":16,"count":8},{"first":40,"count":1}])"), std::string::npos) << text;
  EXPECT_EQ(*decode_data_position("f", text), data);
  for (const SampleRanges& wrong : {SampleRanges{{40, 1}, {16, 8}}, {{16, 0}}, {{15, 8}}, {{16, 8}, {24, 1}}}) {
    data.excluded = wrong;
    EXPECT_EQ(decode_data_position("f", encode_data_position(data)).status().code, Code::kCorrupt);
  }
}

TEST(StateCodec, AMixtureStandsThereOnlyWhereThereIsOne) {
  DataPosition data = snapshot().data;
  EXPECT_EQ(encode_data_position(data).find("sets"), std::string::npos);
  const std::uint64_t half = std::uint64_t{1} << 31, files = data.files.size();
  data.files.push_back({"more.txt", 10, digest_of("more")});
  data.sets = {{.name = "a", .share = half, .samples = 40, .drawn = 3, .files = files},
               {.name = "b", .share = half, .samples = 2, .most = 4, .stops = true, .files = 1}};
  data.samples_per_epoch = 42;
  data.epoch_base = data.samples;
  const std::string text = encode_data_position(data);
  EXPECT_NE(text.find(R"({"name":"b","share":2147483648,"samples":2,"drawn":0,"most":4,"stops":true,"files":1})"),
            std::string::npos)
      << text;
  EXPECT_EQ(*decode_data_position("f", text), data);
  EXPECT_EQ(text.find("uncounted"), std::string::npos);
  DataPosition uncounted = data;
  uncounted.sets[0].uncounted = 2;
  EXPECT_EQ(*decode_data_position("f", encode_data_position(uncounted)), uncounted);
  const std::vector<void (*)(DataPosition&)> wrong = {
      [](DataPosition& d) { d.sets[0].share = 1; },          [](DataPosition& d) { d.sets[0].share *= 4; },
      [](DataPosition& d) { d.sets[1].share = 0; },          [](DataPosition& d) { d.sets[0].samples = 0; },
      [](DataPosition& d) { d.samples_per_epoch = 43; },     [](DataPosition& d) { d.sets[1].files = 2; },
      [](DataPosition& d) { d.sets[0].files -= 1; },         [](DataPosition& d) { d.sets[0].drawn = ~0ull; },
      [](DataPosition& d) { d.epoch_base = d.samples + 1; }, [](DataPosition& d) { d.sets.pop_back(); },
      [](DataPosition& d) { d.sets[0].uncounted = 4; },
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    DataPosition broken = data;
    wrong[i](broken);
    EXPECT_EQ(decode_data_position("f", encode_data_position(broken)).status().code, Code::kCorrupt) << i;
  }
}

TEST(StateCodec, AcceptsPhasesThatBeginAtOneStepAndRefusesDescendingOnes) {
  LrSchedule schedule = snapshot().lr;
  schedule.phases[2].first = schedule.phases[1].first;
  EXPECT_EQ(*decode_lr_schedule("f", encode_lr_schedule(schedule)), schedule);
  schedule.phases[2].first = 1;
  EXPECT_EQ(decode_lr_schedule("f", encode_lr_schedule(schedule)).status().code, Code::kCorrupt);
}

// Cuts the text everywhere and drops or doubles each key in turn.
template <typename T>
void expect_strict(const std::string& text, Result<T> (*decode)(const std::string&, std::string_view),
                   const std::vector<std::string>& keys) {
  for (std::size_t size = 0; size + 2 < text.size(); ++size)
    EXPECT_EQ(decode("f", text.substr(0, size)).status().code, Code::kCorrupt) << size;
  for (const std::string& key : keys) {
    const std::size_t at = text.find("\"" + key + "\":");
    ASSERT_NE(at, std::string::npos) << key;
    std::string renamed = text, doubled = text;
    renamed.insert(at + 1, "x_");
    EXPECT_EQ(decode("f", renamed).status().code, Code::kCorrupt) << key << " missing";
    doubled.insert(at, "\"" + key + "\":null,");
    EXPECT_EQ(decode("f", doubled).status().code, Code::kCorrupt) << key << " twice";
    std::string more = text;
    more.insert(at, "\"unknown\":{\"a\":[1,2]},");
    EXPECT_TRUE(decode("f", more).ok()) << key;
  }
}

TEST(StateCodec, IsStrictAboutKnownKeysAndIgnoresOthers) {
  const Snapshot full = snapshot();
  expect_strict(encode_lr_schedule(full.lr), decode_lr_schedule,
                {"phases", "first", "kind", "start", "end", "origin", "length", "accepted", "peak", "warmup_steps",
                 "total_steps", "decay_ratio", "decay_type", "min_lr_factor"});
  expect_strict(encode_data_position(full.data), decode_data_position,
                {"samples", "epoch_base", "first_epoch", "seed", "shuffle", "seq_len", "sample_stride",
                 "samples_per_epoch", "kind", "tokenizer", "files", "name", "bytes", "blocks"});
  expect_strict(encode_train_state(full.train), decode_train_state,
                {"step", "tokens", "seed", "origin", "wall_time_s", "attempts", "number", "started", "first_step",
                 "last_step", "dp", "pp", "schedule", "version", "policy", "changed", "notes", "accepted"});
}

TEST(StateCodec, NumbersThatAreNotFiniteCannotBeReadBack) {
  LrSchedule schedule = snapshot().lr;
  schedule.phases[0].end = std::numeric_limits<double>::infinity();
  EXPECT_EQ(decode_lr_schedule("f", encode_lr_schedule(schedule)).status().code, Code::kCorrupt);
}

}  // namespace
}  // namespace titan::ckpt::state_codec_test
