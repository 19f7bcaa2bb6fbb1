// Any chain of reshard and strip over random meshes, leaf sizes and forms keeps every tensor's bytes and digests.
#include <gtest/gtest.h>

#include <random>

#include "ckpt/ops/reshard.h"
#include "ckpt/ops/strip.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "tests/support/checkpoints.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::chain_test {
namespace {

using testing::MemFs;

void expect_same_tensors(Fs& fs, const std::string& path, const Snapshot& snapshot, const Manifest& first,
                         bool optimizer) {
  const auto reader = CheckpointReader::open(fs, path);
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  EXPECT_EQ(reader->manifest().component(kOptimizer) != nullptr, optimizer);
  for (std::uint32_t i = 0; i < snapshot.parameters.size(); ++i) {
    for (const std::string& slot : {std::string(), std::string(kExpAvg), std::string(kExpAvgSq)}) {
      if (!slot.empty() && !optimizer) continue;
      const TensorRef ref{i, slot};
      const LeafRange all{0, snapshot.parameters[i].grid(snapshot.leaf_elements).count()};
      const std::vector<std::byte> expected = testing::pattern(snapshot, ref, all);
      std::vector<std::byte> bytes(expected.size());
      ASSERT_TRUE(reader->read(ref, all, bytes).ok()) << path;
      EXPECT_EQ(bytes, expected) << first.stored_name(ref);
      EXPECT_EQ(reader->manifest().stored(ref)->digest, first.stored(ref)->digest);
    }
  }
  const auto report = verify_checkpoint(fs, path);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(report->damage.empty()) << report->damage.front().detail;
}

TEST(Chain, OfReshardAndStripKeepsEveryTensor) {
  std::size_t strips = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    std::vector<ParameterMeta> parameters{{"tok_embeddings.weight", {1 + below(50), 1 + below(9)}}};
    for (int layer = 0; layer < 3; ++layer)
      parameters.push_back(
          {"layers." + std::to_string(layer) + ".attention.wq.weight", {1 + below(20), 1 + below(20)}});
    parameters.push_back({"norm.weight", {1 + below(9)}});
    parameters.push_back({"output.weight", {1 + below(50), 1 + below(9)}});
    Snapshot snapshot =
        testing::make_snapshot(parameters, {1, 1 + static_cast<std::uint32_t>(below(4)), 1}, 1 + below(60));
    snapshot.dtype = below(2) ? DType::kF32 : DType::kBF16;
    snapshot.codec = below(2) ? Codec::kRaw : Codec::kZstd;
    MemFs fs;
    const auto published = testing::save(fs, "/run", snapshot);
    ASSERT_TRUE(published.ok()) << published.status().to_string();
    const Manifest first = CheckpointReader::open(fs, published->path)->manifest();
    ASSERT_TRUE(fs.make_dir("/chain").ok());

    std::string here = published->path;
    bool optimizer = true;
    for (int link = 0; link < 4; ++link) {
      const std::string there = "/chain/" + std::to_string(link);
      if (below(4) == 0) {
        StripOptions options;
        options.src = here;
        options.dst = there;
        auto report = plan_strip(fs, options);
        ASSERT_TRUE(report.ok()) << report.status().to_string();
        const Status written = write_strip(fs, options, *report);
        ASSERT_TRUE(written.ok()) << written.to_string();
        optimizer = false;
        ++strips;
      } else {
        ReshardOptions options;
        options.source = here;
        options.dst = there;
        options.target.dp = 1 + static_cast<std::uint32_t>(below(7));
        options.target.pp = 1 + static_cast<std::uint32_t>(below(5));
        if (below(2)) options.target.codec = below(2) ? Codec::kRaw : Codec::kZstd;
        const auto report = reshard_checkpoint(fs, options);
        ASSERT_TRUE(report.ok()) << report.status().to_string();
        if (!options.target.codec) {
          EXPECT_EQ(report->moved.decoded + report->moved.encoded, 0u);
        }
      }
      expect_same_tensors(fs, there, snapshot, first, optimizer);
      here = there;
    }
  }
  EXPECT_GT(strips, 5u);
}

}  // namespace
}  // namespace titan::ckpt::chain_test
