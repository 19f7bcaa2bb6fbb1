#include "ckpt/save/reshard_io.h"
#include "ckpt/base/exit_code.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "ckpt/base/files.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/read/verifier.h"
#include "ckpt/save/publish.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::reshard_io_test {
namespace {

using testing::MemFs;

struct Outcome {
  Manifest manifest;
  MoveCounts counts;
  MovePlan moves;
};

/// Writes `src` to `dst` for `target`; DST is a plain folder with a manifest.
Result<Outcome> reshard(Fs& fs, const std::string& src, const std::string& dst, const ReshardTarget& target,
                        std::uint64_t memory = std::uint64_t{64} << 20, const MoveHooks& hooks = {}) {
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader source, CheckpointReader::open(fs, src));
  TITAN_ASSIGN_OR_RETURN(const ReshardPlan plan, plan_reshard(source.manifest(), target));
  Outcome outcome;
  TITAN_ASSIGN_OR_RETURN(outcome.moves, plan_moves(source.manifest(), plan, memory));
  TITAN_RETURN_IF_ERROR(fs.make_dir(dst));
  TITAN_ASSIGN_OR_RETURN(outcome.manifest,
                         write_resharded(fs, source, plan, outcome.moves, dst, hooks, outcome.counts));
  TITAN_RETURN_IF_ERROR(write_manifest(fs, dst, outcome.manifest));
  return outcome;
}

/// A Llama-shaped model of random tensors: scalars, empty ones, vectors, matrices.
std::vector<ParameterMeta> random_model(std::mt19937_64& random, std::uint32_t layers) {
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  const auto shape = [&] {
    std::vector<std::uint64_t> shape;
    for (std::uint64_t rank = below(4); rank > 0; --rank) shape.push_back(below(12) == 0 ? 0 : 1 + below(14));
    return shape;
  };
  std::vector<ParameterMeta> parameters{{"tok_embeddings.weight", {1 + below(40), 1 + below(9)}}};
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    for (std::uint64_t i = 0, count = 1 + below(4); i < count; ++i)
      parameters.push_back({"layers." + std::to_string(layer) + ".w" + std::to_string(i), shape()});
  }
  parameters.push_back({"norm.weight", {1 + below(9)}});
  if (below(2) == 0) parameters.push_back({"output.weight", {1 + below(40), 1 + below(9)}});
  return parameters;
}

void expect_equal_state(Fs& fs, const std::string& path, const Snapshot& snapshot, const Manifest& first) {
  const auto reader = CheckpointReader::open(fs, path);
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  const Manifest& manifest = reader->manifest();
  EXPECT_EQ(manifest.id, first.id);
  EXPECT_EQ(manifest.config, first.config);
  for (std::uint32_t i = 0; i < snapshot.parameters.size(); ++i) {
    for (const std::string& slot : {std::string(), std::string(kExpAvg), std::string(kExpAvgSq)}) {
      const TensorRef ref{i, slot};
      const LeafRange all{0, snapshot.parameters[i].grid(snapshot.leaf_elements).count()};
      const std::vector<std::byte> expected = testing::pattern(snapshot, ref, all);
      std::vector<std::byte> bytes(expected.size());
      const Status status = reader->read(ref, all, bytes);
      ASSERT_TRUE(status.ok()) << status.to_string();
      EXPECT_EQ(bytes, expected) << manifest.stored_name(ref);
      EXPECT_EQ(manifest.stored(ref)->digest, first.stored(ref)->digest);
      EXPECT_EQ(manifest.stored(ref)->chunk, first.stored(ref)->chunk);
    }
  }
  const auto report = verify_checkpoint(fs, path);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  for (const Damage& damage : report->damage)
    ADD_FAILURE() << damage.file << " " << damage.unit << " " << damage.detail;
}

TEST(ReshardIo, AnyChainKeepsEveryTensorAndTheId) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto layers = static_cast<std::uint32_t>(random() % 4);
    std::vector<ParameterMeta> parameters = random_model(random, layers);
    Snapshot snapshot =
        testing::make_snapshot(parameters, {1, 1 + static_cast<std::uint32_t>(random() % 5), 1}, 1 + random() % 40);
    snapshot.dtype = random() % 2 ? DType::kF32 : DType::kBF16;
    snapshot.codec = random() % 2 ? Codec::kRaw : Codec::kZstd;
    Codec codec = snapshot.codec;
    MemFs fs;
    const auto published = testing::save(fs, "/run", snapshot);
    ASSERT_TRUE(published.ok()) << published.status().to_string();
    const Manifest first = CheckpointReader::open(fs, published->path)->manifest();
    std::string path = published->path;
    for (int link = 0; link < 4; ++link) {
      ReshardTarget target{1 + static_cast<std::uint32_t>(random() % 9),
                           1 + static_cast<std::uint32_t>(random() % (layers + 2))};
      if (random() % 2 == 0) target.codec = random() % 2 ? Codec::kRaw : Codec::kZstd;
      const Codec before = std::exchange(codec, target.codec.value_or(codec));
      SCOPED_TRACE(std::to_string(*target.dp) + "x" + std::to_string(*target.pp) +
                   (codec == Codec::kRaw ? " raw" : " zstd"));
      const std::string next = "/link" + std::to_string(link);
      const auto outcome = reshard(fs, path, next, target, std::uint64_t{8} << (20 + random() % 4));
      ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
      EXPECT_EQ(outcome->manifest.mesh, (Mesh{*target.pp, *target.dp, 1}));
      EXPECT_EQ(outcome->counts.decoded, before == Codec::kZstd && codec == Codec::kRaw ? outcome->counts.leaves : 0);
      EXPECT_EQ(outcome->counts.encoded, before == Codec::kRaw && codec == Codec::kZstd ? outcome->counts.leaves : 0);
      expect_equal_state(fs, next, snapshot, first);
      path = next;
    }
  }
}

TEST(ReshardIo, AShortLastLeafAloneInItsPieceTravelsUndecoded) {
  // 33 elements in leaves of 16: over 3 ranks the last leaf, one element, is a piece of its own.
  MemFs fs;
  const Snapshot snapshot = testing::make_snapshot({{"tok_embeddings.weight", {33}}}, {1, 1, 1}, 16);
  ASSERT_TRUE(testing::save(fs, "/run", snapshot).ok());
  const Manifest first = CheckpointReader::open(fs, "/run/step-00000040")->manifest();
  struct Link {
    const char *from, *to;
    ReshardTarget target;
    std::uint64_t encoded, decoded;
  };
  const Link links[] = {
      {"/run/step-00000040", "/zstd", {1, 1, "", Codec::kZstd}, 9, 0},
      {"/zstd", "/cut", {3, 1}, 0, 0},
      {"/cut", "/whole", {1, 1}, 0, 0},
      {"/cut", "/raw", {3, 1, "", Codec::kRaw}, 0, 9},
      {"/raw", "/again", {3, 1}, 0, 0},
  };
  for (const Link& link : links) {
    SCOPED_TRACE(link.to);
    const auto outcome = reshard(fs, link.from, link.to, link.target);
    ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
    EXPECT_EQ(outcome->counts.encoded, link.encoded);
    EXPECT_EQ(outcome->counts.decoded, link.decoded);
    if (link.target.dp == 3u) {
      const std::vector<Piece>& pieces = outcome->manifest.parameters[0].model->pieces;
      ASSERT_EQ(pieces.size(), 3u);
      EXPECT_EQ(pieces[2].first_leaf, 2u);
      EXPECT_EQ(pieces[2].leaf_count, 1u);
    }
    expect_equal_state(fs, link.to, snapshot, first);
  }
  const Manifest again = CheckpointReader::open(fs, "/again")->manifest();
  for (const FileEntry& file : again.files)
    EXPECT_EQ(testing::get_text(fs, "/raw/" + file.path), testing::get_text(fs, "/again/" + file.path)) << file.path;
}

Snapshot layered(std::uint64_t leaf_elements = 32) {
  return testing::make_snapshot({{"tok_embeddings.weight", {61, 8}},
                                 {"layers.0.wq.weight", {24, 17}},
                                 {"layers.1.wq.weight", {24, 17}},
                                 {"norm.weight", {8}}},
                                {1, 2, 1}, leaf_elements);
}

TEST(ReshardIo, IsTheSameFilesAsASaveOnThatMesh) {
  // The writer's own shards, byte for byte: nothing tells a resharded checkpoint from a saved one.
  MemFs fs;
  const Snapshot snapshot = layered();
  ASSERT_TRUE(testing::save(fs, "/run", snapshot).ok());
  const auto outcome = reshard(fs, "/run/step-00000040", "/out", {3, 1});
  ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
  Snapshot saved = snapshot;
  saved.mesh = {1, 3, 1};
  ASSERT_TRUE(testing::save(fs, "/other", saved).ok());
  for (const FileEntry& file : outcome->manifest.files)
    EXPECT_EQ(testing::get_text(fs, "/out/" + file.path), testing::get_text(fs, "/other/step-00000040/" + file.path))
        << file.path;
}

TEST(ReshardIo, NamesACorruptLeaf) {
  MemFs fs;
  const Snapshot snapshot = layered();
  ASSERT_TRUE(testing::save(fs, "/run", snapshot).ok());
  const std::string src = "/run/step-00000040";
  const auto manifest = CheckpointReader::open(fs, src)->manifest();
  const Piece& piece = manifest.parameters[1].slots[1].tensor.pieces[0];
  const std::uint64_t at = piece.offset + (piece.leaf_count - 1) * 32 * 4 + 3;
  const std::string file = src + "/" + manifest.files[piece.file].path;
  const std::byte flipped[] = {static_cast<std::byte>(testing::get_text(fs, file)[at] ^ 1)};
  ASSERT_TRUE(fs.overwrite(file, at, flipped).ok());
  const auto outcome = reshard(fs, src, "/out", {1, 2});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().code, Code::kCorrupt);
  EXPECT_NE(outcome.status().message.find("leaf " + std::to_string(piece.first_leaf + piece.leaf_count - 1) +
                                          " of tensor 'layers.0.wq.weight.exp_avg_sq' in " + file),
            std::string::npos)
      << outcome.status().message;
}

TEST(ReshardIo, FindsEveryFlippedByteThatItCopies) {
  MemFs fs;
  const Snapshot snapshot = layered();
  ASSERT_TRUE(testing::save(fs, "/run", snapshot).ok());
  const std::string src = "/run/step-00000040";
  const auto manifest = CheckpointReader::open(fs, src)->manifest();
  int tried = 0;
  for (const FileEntry& file : manifest.files) {
    const std::string path = src + "/" + file.path;
    const std::string text = testing::get_text(fs, path);
    // What it copies: leaves, tables, JSON; the envelope is made anew.
    for (std::uint64_t at = 0; at < text.size(); at += 97) {
      bool copied = file.role == FileRole::kJson ||
                    (at >= file.table_offset && at < file.table_offset + file.table_rows * kLeafRowBytes);
      for (std::uint32_t i = 0; i < manifest.parameters.size(); ++i) {
        for (const std::string& slot : {std::string(), std::string(kExpAvg), std::string(kExpAvgSq)}) {
          for (const Piece& piece : manifest.stored({i, slot})->pieces) {
            const LeafGrid grid = manifest.parameters[i].meta.grid(manifest.leaf_elements);
            const std::uint64_t bytes =
                (grid.begin(piece.first_leaf + piece.leaf_count) - grid.begin(piece.first_leaf)) * 4;
            copied = copied ||
                     (manifest.files[piece.file].path == file.path && at >= piece.offset && at < piece.offset + bytes);
          }
        }
      }
      if (!copied) continue;
      ++tried;
      const std::byte flipped[] = {static_cast<std::byte>(text[at] ^ 0x10)},
                      right[] = {static_cast<std::byte>(text[at])};
      ASSERT_TRUE(fs.overwrite(path, at, flipped).ok());
      const auto outcome = reshard(fs, src, "/out", {2, 2});
      EXPECT_FALSE(outcome.ok()) << file.path << " " << at;
      EXPECT_EQ(outcome.status().code, Code::kCorrupt) << outcome.status().to_string();
      ASSERT_TRUE(fs.overwrite(path, at, right).ok());
      ASSERT_TRUE(remove_tree(fs, "/out").ok());
    }
  }
  EXPECT_GT(tried, 100);
  EXPECT_TRUE(reshard(fs, src, "/out", {2, 2}).ok());
}

TEST(ReshardIo, RefusesAManifestWhoseDigestsDoNotBelongToItsLeaves) {
  for (const char* part : {"tensor", "component", "id"}) {
    MemFs fs;
    ASSERT_TRUE(testing::save(fs, "/run", layered()).ok());
    const std::string src = "/run/step-00000040";
    Manifest manifest = CheckpointReader::open(fs, src)->manifest();
    const std::string which = part;
    (which == "tensor"      ? manifest.parameters[0].model->digest
     : which == "component" ? manifest.components[0].digest
                            : manifest.id)
        .bytes[0] ^= 1;
    ASSERT_TRUE(fs.remove_file(src + "/manifest.json").ok());
    ASSERT_TRUE(write_manifest(fs, src, manifest).ok());
    const auto outcome = reshard(fs, src, "/out", {1, 1});
    ASSERT_FALSE(outcome.ok()) << part;
    EXPECT_EQ(outcome.status().code, Code::kCorrupt) << part;
    EXPECT_NE(outcome.status().message.find(which == "id" ? "its id is" : which), std::string::npos)
        << outcome.status().message;
  }
}

// As CompressedVerifier has it: the stored bytes are whole, what they unfold to is not what the table says.
TEST(ReshardIo, FindsALeafThatDecodesToSomethingElseThanItsDigestSays) {
  MemFs fs;
  Snapshot snapshot = layered();
  snapshot.codec = Codec::kZstd;
  ASSERT_TRUE(testing::save(fs, "/run", snapshot).ok());
  const std::string src = "/run/step-00000040";
  Manifest manifest = CheckpointReader::open(fs, src)->manifest();
  FileEntry& file = manifest.files[manifest.parameters[0].model->pieces[0].file];
  const std::string text = testing::get_text(fs, src + "/" + file.path);
  std::vector<LeafRow> table =
      decode_leaf_table(std::as_bytes(std::span(text)).subspan(file.table_offset, file.table_rows * kLeafRowBytes));
  table[0].raw.bytes[3] ^= 1;
  const std::vector<std::byte> bytes = encode_leaf_table(table);
  file.table = digest_of(bytes);
  ASSERT_TRUE(fs.overwrite(src + "/" + file.path, file.table_offset, bytes).ok());
  ASSERT_TRUE(fs.remove_file(src + "/manifest.json").ok());
  ASSERT_TRUE(write_manifest(fs, src, manifest).ok());
  const auto outcome = reshard(fs, src, "/out", {1, 1, "", Codec::kRaw});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().code, Code::kCorrupt);
  EXPECT_NE(outcome.status().message.find("decoded data do not match their digest"), std::string::npos)
      << outcome.status().message;
}

TEST(ReshardIo, RefusesARawRowThatLiesElsewhereThanTheManifestSays) {
  MemFs fs;
  ASSERT_TRUE(testing::save(fs, "/run", layered()).ok());
  const std::string src = "/run/step-00000040";
  Manifest manifest = CheckpointReader::open(fs, src)->manifest();
  const Piece& piece = manifest.parameters[0].model->pieces[0];
  FileEntry& file = manifest.files[piece.file];
  const std::string text = testing::get_text(fs, src + "/" + file.path);
  std::vector<LeafRow> table =
      decode_leaf_table(std::as_bytes(std::span(text)).subspan(file.table_offset, file.table_rows * kLeafRowBytes));
  // The second leaf's row names the first one's place, digest and all.
  table[piece.row + 1] = table[piece.row];
  const std::vector<std::byte> bytes = encode_leaf_table(table);
  file.table = digest_of(bytes);
  ASSERT_TRUE(fs.overwrite(src + "/" + file.path, file.table_offset, bytes).ok());
  ASSERT_TRUE(fs.remove_file(src + "/manifest.json").ok());
  ASSERT_TRUE(write_manifest(fs, src, manifest).ok());
  const auto outcome = reshard(fs, src, "/out", {2, 2});
  EXPECT_EQ(outcome.status().code, Code::kCorrupt);
  EXPECT_NE(outcome.status().message.find("the leaf table does not agree with the manifest"), std::string::npos)
      << outcome.status().message;
}

TEST(ReshardIo, FillsItsBufferToTheLastByteAndNotOneFurther) {
  // One tensor of 8 leaves of 32 floats: 128 bytes each, one behind the other.
  MemFs fs;
  ASSERT_TRUE(
      testing::save(fs, "/run", testing::make_snapshot({{"tok_embeddings.weight", {256}}}, {1, 1, 1}, 32)).ok());
  const auto source = CheckpointReader::open(fs, "/run/step-00000040");
  ASSERT_TRUE(source.ok());
  const auto plan = plan_reshard(source->manifest(), {1, 1});
  ASSERT_TRUE(plan.ok());
  for (const std::uint64_t buffer : {511u, 512u, 513u, 639u, 640u}) {
    auto moves = plan_moves(source->manifest(), *plan, std::uint64_t{64} << 20);
    ASSERT_TRUE(moves.ok());
    moves->buffer_bytes = buffer;
    moves->threads = 1;
    ASSERT_TRUE(fs.make_dir("/out").ok());
    MoveCounts counts;
    const auto made = write_resharded(fs, *source, *plan, *moves, "/out", {}, counts);
    ASSERT_TRUE(made.ok()) << buffer << ": " << made.status().to_string();
    const std::uint64_t at_once = buffer / 128, each = (8 + at_once - 1) / at_once;
    EXPECT_EQ(counts.reads, 3 * each) << buffer << ": model and two moments";
    ASSERT_TRUE(remove_tree(fs, "/out").ok());
  }
}

TEST(ReshardIo, HoldsNoMoreThanItSays) {
  // Counts the bytes of reads that are on their way; a buffer lives as long as its thread.
  MemFs memory;
  const Snapshot snapshot =
      testing::make_snapshot({{"tok_embeddings.weight", {1 << 15, 32}}, {"norm.weight", {8}}}, {1, 2, 1}, 1 << 12);
  ASSERT_TRUE(testing::save(memory, "/run", snapshot).ok());
  for (const std::uint64_t limit : {std::uint64_t{1} << 19, std::uint64_t{1} << 20, std::uint64_t{8} << 20}) {
    testing::FailingFs fs(memory);
    const auto outcome = reshard(fs, "/run/step-00000040", "/out", {4, 1}, limit);
    ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
    EXPECT_LE(outcome->moves.memory, limit);
    EXPECT_LE(outcome->moves.threads * outcome->moves.buffer_bytes, limit);
    // Every read fills at most one buffer, and buffers are used well.
    EXPECT_LE(outcome->counts.read_bytes, outcome->counts.reads * outcome->moves.buffer_bytes);
    EXPECT_GE(outcome->counts.read_bytes, outcome->counts.raw_bytes);
    EXPECT_LE(outcome->counts.reads, 2 * outcome->counts.raw_bytes / outcome->moves.buffer_bytes + 8);
    ASSERT_TRUE(remove_tree(memory, "/out").ok());
  }
}

TEST(ReshardIo, MovesLeavesThatAreLargerThanAThreadsShareOfTheMemory) {
  MemFs fs;
  const Snapshot snapshot =
      testing::make_snapshot({{"tok_embeddings.weight", {3, 100'000}}, {"norm.weight", {8}}}, {1, 2, 1}, 100'000);
  ASSERT_TRUE(testing::save(fs, "/run", snapshot).ok());
  const Manifest first = CheckpointReader::open(fs, "/run/step-00000040")->manifest();
  for (const std::uint64_t limit : {std::uint64_t{1} << 19, std::uint64_t{1} << 20}) {
    const auto outcome = reshard(fs, "/run/step-00000040", "/out", {3, 1}, limit);
    ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
    EXPECT_LT(outcome->moves.threads, 4u);
    EXPECT_LE(outcome->moves.memory, limit);
    expect_equal_state(fs, "/out", snapshot, first);
    ASSERT_TRUE(remove_tree(fs, "/out").ok());
  }
  const auto refused = reshard(fs, "/run/step-00000040", "/out", {3, 1}, std::uint64_t{1} << 18);
  EXPECT_EQ(refused.status().code, Code::kInvalid);
  EXPECT_NE(refused.status().message.find("too little"), std::string::npos) << refused.status().message;
}

TEST(ReshardIo, RefusesALeafThatIsLargerThanTheBuffer) {
  MemFs fs;
  ASSERT_TRUE(testing::save(fs, "/run", layered(4096)).ok());
  const auto source = CheckpointReader::open(fs, "/run/step-00000040");
  ASSERT_TRUE(source.ok());
  const auto plan = plan_reshard(source->manifest(), {1, 1});
  ASSERT_TRUE(plan.ok());
  auto moves = plan_moves(source->manifest(), *plan, std::uint64_t{64} << 20);
  ASSERT_TRUE(moves.ok());
  moves->buffer_bytes = 16;
  ASSERT_TRUE(fs.make_dir("/out").ok());
  MoveCounts counts;
  const auto made = write_resharded(fs, *source, *plan, *moves, "/out", {}, counts);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code, Code::kFailed);
  EXPECT_NE(made.status().message.find("does not fit the buffer of 16 bytes"), std::string::npos)
      << made.status().message;
}

TEST(ReshardIo, StopsWhenAsked) {
  MemFs fs;
  ASSERT_TRUE(testing::save(fs, "/run", layered(2)).ok());
  MoveHooks hooks;
  hooks.check = [] { return failed("enough"); };
  const auto outcome = reshard(fs, "/run/step-00000040", "/out", {2, 1}, 1 << 20, hooks);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().message, "enough");
}

TEST(ReshardIo, CountsItsProgressToTheEnd) {
  MemFs fs;
  ASSERT_TRUE(testing::save(fs, "/run", layered(2)).ok());
  std::uint64_t done = 0;
  MoveHooks hooks;
  hooks.advanced = [&](std::uint64_t bytes) { done += bytes; };
  const auto outcome = reshard(fs, "/run/step-00000040", "/out", {2, 1}, 1 << 20, hooks);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(done, outcome->counts.raw_bytes);
  EXPECT_EQ(done, 3u * 4 * (61 * 8 + 2 * 24 * 17 + 8));
}

TEST(ReshardIo, EveryFailingCallFailsTheWholeWithAPath) {
  MemFs memory;
  ASSERT_TRUE(testing::save(memory, "/run", layered()).ok());
  using testing::Op;
  for (const Op op : {Op::kCreate, Op::kPwrite, Op::kPread, Op::kDatasync, Op::kClose, Op::kMakeDir, Op::kTruncate}) {
    for (std::uint64_t k = 1;; ++k) {
      testing::FailingFs fs(memory);
      testing::Fault fault;
      fault.op = op;
      fault.k = k;
      fault.error = op == Op::kPread ? EIO : ENOSPC;
      fs.arm(fault);
      const auto outcome = reshard(fs, "/run/step-00000040", "/out", {2, 2});
      const bool fired = fs.fired();
      EXPECT_NE(outcome.ok(), fired) << testing::op_name(op) << " " << k;
      if (fired) {
        EXPECT_EQ(exit_code(outcome.status().code), 3) << outcome.status().to_string();
        EXPECT_NE(outcome.status().to_string().find("/"), std::string::npos);
      }
      EXPECT_FALSE(fs.synced_after_failure());
      ASSERT_TRUE(remove_tree(memory, "/out").ok());
      if (!fired) break;
      ASSERT_LT(k, 1000u);
    }
  }
}

}  // namespace
}  // namespace titan::ckpt::reshard_io_test
