// titan-corruption [--count N] [--seed S]: N seeded corruptions of bytes on their way into a checkpoint and of bytes
// that lie in one, each with what came of it; prints a JSON document. Half of them are of written bytes. Everything is
// in memory; scripts/corruption makes the table.
//
// The ways, in the order of a save:
//   tensors    a bit of a weight or moment, before it is hashed
//   writes     a bit of what is written (leaves, tables, HDF5's bytes, JSON members, the manifest), after it was hashed
//   receipts   a bit of what a rank sends to rank 0 about its files
//   stored     bytes of a published member: a bit, a byte, sectors or pages that are zero, swapped, old or another
//   file's, a cut, a lost file
// The outcomes:
//   no_effect  the checkpoint verifies and holds the state
//   at_save    the save failed with an error
//   detected   the save was reported, verify names damage; loading gives an error or the right values
//   silent     verify finds nothing, and the state is another one
//   unverified loading gives an error, verify finds nothing
//   misread    verify names damage, but loading gave wrong values without an error
#include <cstdio>
#include <map>
#include <random>
#include <string>

#include "ckpt/base/files.h"
#include "ckpt/format/member_names.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/read/verifier.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/publish.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/writer.h"
#include "tests/support/checkpoints.h"
#include "tests/support/meddling_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::testing {
namespace {

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t limit) { return limit == 0 ? 0 : random() % limit; }

void flip(Random& random, std::span<std::byte> bytes) {
  if (!bytes.empty()) bytes[below(random, bytes.size())] ^= std::byte{1} << static_cast<int>(below(random, 8));
}

/// Flips a bit of the k-th leaf that a save asks for.
class FlippingSource final : public TensorSource {
 public:
  FlippingSource(const Snapshot& snapshot, std::uint64_t k, Random& random)
      : pattern_(snapshot), left_(k), random_(random) {}
  std::uint64_t leaves() const { return leaves_; }
  Result<std::span<const std::byte>> leaf(const TensorRef& ref, std::uint64_t leaf,
                                          std::span<std::byte> scratch) override {
    TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, pattern_.leaf(ref, leaf, scratch));
    ++leaves_;
    if (left_ > 0 && --left_ == 0) flip(random_, scratch.first(bytes.size()));
    return bytes;
  }

 private:
  PatternSource pattern_;
  std::uint64_t left_, leaves_ = 0;
  Random& random_;
};

const std::string kRun = "/run/checkpoint";

Snapshot snapshot_of(std::uint64_t step, Codec codec) {
  Snapshot snapshot = make_snapshot({{"embedding", {40, 16}}, {"norm", {48}}, {"scale", {}}, {"output", {24, 16}}},
                                    {1, 2, 1}, 128, step);
  snapshot.codec = codec;
  return snapshot;
}

/// A save by all ranks; bit `receipt_bit` of what they send is another one (negative: none).
Result<Published> save_all(Fs& fs, const Snapshot& snapshot, TensorSource& source, std::int64_t receipt_bit,
                           std::uint64_t* receipt_bits) {
  TITAN_RETURN_IF_ERROR(make_dirs(fs, kRun));
  TITAN_ASSIGN_OR_RETURN(const std::string tmp, begin_save(fs, kRun, snapshot, "0123456789ab"));
  std::vector<RankReceipt> receipts;
  for (std::uint32_t rank = 0; rank < snapshot.mesh.world(); ++rank) {
    TITAN_ASSIGN_OR_RETURN(const RankReceipt receipt, write_rank(fs, tmp, snapshot, rank, source));
    std::string sent = encode_receipt(receipt);
    const auto bits = static_cast<std::int64_t>(8 * sent.size());
    *receipt_bits += static_cast<std::uint64_t>(bits);
    if (receipt_bit >= 0 && receipt_bit < bits)
      sent[static_cast<std::size_t>(receipt_bit / 8)] ^= static_cast<char>(1 << (receipt_bit % 8));
    receipt_bit -= bits;
    TITAN_ASSIGN_OR_RETURN(RankReceipt received, decode_receipt(sent));
    receipts.push_back(std::move(received));
  }
  return commit_save(fs, kRun, tmp, snapshot, receipts);
}

enum class Loaded { kRight, kError, kWrong };

/// What a resume gets: every tensor and JSON component.
Loaded load(Fs& fs, const std::string& path, const Snapshot& snapshot) {
  const auto reader = CheckpointReader::open(fs, path);
  if (!reader.ok()) return Loaded::kError;
  const auto lr = reader->lr_schedule();
  const auto data = reader->data_position();
  const auto train = reader->train_state();
  if (!lr.ok() || !data.ok() || !train.ok()) return Loaded::kError;
  bool right = *lr == snapshot.lr && *data == snapshot.data && *train == snapshot.train &&
               reader->manifest().step == snapshot.train.step;
  for (std::uint32_t i = 0; i < snapshot.parameters.size(); ++i) {
    const auto found = ckpt::ParameterIndex(reader->manifest()).find(snapshot.parameters[i].name);
    if (!found) return Loaded::kError;
    for (const std::string slot : {"", kExpAvg, kExpAvgSq}) {
      const LeafRange all{0, snapshot.parameters[i].grid(snapshot.leaf_elements).count()};
      const std::vector<std::byte> expected = pattern(snapshot, {i, slot}, all);
      std::vector<std::byte> bytes(expected.size());
      if (!reader->read({*found, slot}, all, bytes).ok()) return Loaded::kError;
      right = right && bytes == expected;
    }
  }
  return right ? Loaded::kRight : Loaded::kWrong;
}

const char* outcome(Fs& fs, const std::string& path, const Snapshot& snapshot) {
  const auto report = verify_checkpoint(fs, path, {}, {}, 1);
  const bool whole = report.ok() && report->damage.empty();
  const Loaded loaded = load(fs, path, snapshot);
  if (loaded == Loaded::kWrong) return whole ? "silent" : "misread";
  if (loaded == Loaded::kError && whole) return "unverified";
  return whole ? "no_effect" : "detected";
}

const char* outcome_of_save(Fs& fs, const Result<Published>& saved, const Snapshot& snapshot) {
  return saved.ok() ? outcome(fs, saved->path, snapshot) : "at_save";
}

const char* tensors(Random& random, const Snapshot& snapshot) {
  MemFs fs;
  std::uint64_t bits = 0;
  FlippingSource counting(snapshot, 0, random);
  static std::map<Codec, std::uint64_t> leaves;
  if (leaves[snapshot.codec] == 0) {
    MemFs other;
    if (!save_all(other, snapshot, counting, -1, &bits).ok()) return "broken";
    leaves[snapshot.codec] = counting.leaves();
  }
  FlippingSource source(snapshot, 1 + below(random, leaves[snapshot.codec]), random);
  return outcome_of_save(fs, save_all(fs, snapshot, source, -1, &bits), snapshot);
}

const char* writes(Random& random, const Snapshot& snapshot) {
  PatternSource source(snapshot);
  std::uint64_t bits = 0;
  static std::map<Codec, std::uint64_t> count;
  if (count[snapshot.codec] == 0) {
    MemFs other;
    MeddlingFs counting(other);
    if (!save_all(counting, snapshot, source, -1, &bits).ok()) return "broken";
    count[snapshot.codec] = counting.writes();
  }
  MemFs fs;
  MeddlingFs flipping(fs, {"", 1 + below(random, count[snapshot.codec]), random()});
  return outcome_of_save(fs, save_all(flipping, snapshot, source, -1, &bits), snapshot);
}

const char* receipts(Random& random, const Snapshot& snapshot) {
  PatternSource source(snapshot);
  static std::map<Codec, std::uint64_t> count;
  if (count[snapshot.codec] == 0) {
    MemFs other;
    if (!save_all(other, snapshot, source, -1, &count[snapshot.codec]).ok()) return "broken";
  }
  MemFs fs;
  std::uint64_t bits = 0;
  const auto bit = static_cast<std::int64_t>(below(random, count[snapshot.codec]));
  return outcome_of_save(fs, save_all(fs, snapshot, source, bit, &bits), snapshot);
}

/// Two published steps; the older one's bytes are what a lost write leaves behind.
struct Published2 {
  MemFs fs;
  Snapshot snapshot;
  std::string path, older;
  std::vector<std::string> members{kManifestFile};
};

Published2& published(Codec codec) {
  const auto make = [codec] {
    auto* made = new Published2;
    made->snapshot = snapshot_of(40, codec);
    PatternSource now(made->snapshot), before(made->snapshot, 7);
    std::uint64_t bits = 0;
    Snapshot earlier = made->snapshot;
    earlier.train.step = 39;
    earlier.data.samples -= 1;
    made->older = save_all(made->fs, earlier, before, -1, &bits)->path;
    made->path = save_all(made->fs, made->snapshot, now, -1, &bits)->path;
    const auto reader = CheckpointReader::open(made->fs, made->path);
    for (const FileEntry& file : reader->manifest().files) made->members.push_back(file.path);
    return made;
  };
  static std::map<Codec, Published2*> all;
  if (!all.contains(codec)) all[codec] = make();
  return *all[codec];
}

std::vector<std::byte> contents(Fs& fs, const std::string& path) {
  auto bytes = read_file(fs, path, std::uint64_t{1} << 24);
  return bytes.ok() ? std::move(bytes).value() : std::vector<std::byte>{};
}

constexpr const char* kDamages[] = {"bit",      "byte",     "zero sector",          "zero page", "swapped sectors",
                                    "old page", "old file", "page of another file", "cut",       "longer",
                                    "lost file"};

/// Damages one member of the checkpoint and gives the bytes that it has then; nullopt: the file is gone.
std::optional<std::vector<std::byte>> damaged(Random& random, Published2& it, const std::string& member,
                                              const std::string& how, std::vector<std::byte> bytes) {
  const auto fill = [&](std::size_t unit, auto value) {
    const std::size_t first = below(random, bytes.size() / unit + 1) * unit;
    for (std::size_t i = first; i < std::min(first + unit, bytes.size()); ++i) bytes[i] = value(i);
  };
  if (how == "bit") flip(random, bytes);
  if (how == "byte") bytes[below(random, bytes.size())] = static_cast<std::byte>(random());
  if (how == "zero sector") fill(512, [](std::size_t) { return std::byte{0}; });
  if (how == "zero page") fill(4096, [](std::size_t) { return std::byte{0}; });
  if (how == "old page" || how == "old file") {
    const auto old = contents(it.fs, join_path(it.older, member));
    if (how == "old file") return old;
    fill(4096, [&](std::size_t i) { return i < old.size() ? old[i] : std::byte{0}; });
  }
  if (how == "page of another file") {
    const auto other = contents(it.fs, join_path(it.path, it.members[below(random, it.members.size())]));
    fill(4096, [&](std::size_t i) { return i < other.size() ? other[i] : std::byte{0}; });
  }
  if (how == "swapped sectors" && bytes.size() >= 1024) {
    const std::size_t sectors = bytes.size() / 512, a = below(random, sectors), b = below(random, sectors);
    std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(512 * a),
                     bytes.begin() + static_cast<std::ptrdiff_t>(512 * a + 512),
                     bytes.begin() + static_cast<std::ptrdiff_t>(512 * b));
  }
  if (how == "cut") bytes.resize(below(random, bytes.size()));
  if (how == "longer") bytes.resize(bytes.size() + 1 + below(random, 600));
  if (how == "lost file") return std::nullopt;
  return bytes;
}

/// `changed`: whether any byte is another one than before.
const char* stored(Random& random, Codec codec, std::string* how, bool* changed) {
  Published2& it = published(codec);
  const std::string member = it.members[below(random, it.members.size())], path = join_path(it.path, member);
  *how = kDamages[below(random, std::size(kDamages))];
  const std::vector<std::byte> before = contents(it.fs, path);
  const auto after = damaged(random, it, member, *how, before);
  *changed = !after || *after != before;
  (void)it.fs.remove_file(path).ok();
  if (after) (void)write_new_file(it.fs, path, *after).ok();
  const char* result = outcome(it.fs, it.path, it.snapshot);
  (void)it.fs.remove_file(path).ok();
  (void)write_new_file(it.fs, path, before).ok();
  return result;
}

int run(std::uint64_t count, std::uint64_t seed) {
  Random random(seed);
  std::map<std::string, std::map<std::string, std::uint64_t>> table, by_damage;
  int wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Codec codec = below(random, 2) == 0 ? Codec::kRaw : Codec::kZstd;
    if (i % 2 == 0) {
      std::string how;
      bool changed = false;
      const std::string result = stored(random, codec, &how, &changed);
      // Every changed byte is found, and an unchanged file is whole.
      if (result != (changed ? "detected" : "no_effect")) {
        std::fprintf(stderr, "written bytes: %s, %s, after %s (seed %llu, corruption %llu)\n", how.c_str(),
                     changed ? "changed" : "unchanged", result.c_str(), static_cast<unsigned long long>(seed),
                     static_cast<unsigned long long>(i));
        ++wrong;
      }
      ++table["stored"][result];
      ++by_damage[how][result];
      continue;
    }
    const Snapshot snapshot = snapshot_of(40, codec);
    const std::uint64_t way = below(random, 3);
    ++table[way == 0   ? "tensors"
            : way == 1 ? "writes"
                       : "receipts"][way == 0   ? tensors(random, snapshot)
                                     : way == 1 ? writes(random, snapshot)
                                                : receipts(random, snapshot)];
  }
  const auto print = [](const auto& rows) {
    const char* separator = "";
    for (const auto& [name, cells] : rows) {
      std::printf("%s\"%s\":{", separator, name.c_str());
      const char* comma = "";
      for (const auto& [cell, value] : cells) {
        std::printf("%s\"%s\":%llu", comma, cell.c_str(), static_cast<unsigned long long>(value));
        comma = ",";
      }
      std::printf("}");
      separator = ",";
    }
  };
  std::printf("{\"seed\":%llu,\"count\":%llu,\"ways\":{", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(count));
  print(table);
  std::printf("},\"stored\":{");
  print(by_damage);
  std::printf("}}\n");
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace titan::ckpt::testing

int main(int argc, char** argv) {
  std::uint64_t count = 2000, seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--count")
      count = std::stoull(argv[i + 1]);
    else if (name == "--seed")
      seed = std::stoull(argv[i + 1]);
    else {
      std::fprintf(stderr, "unknown flag %s\n", argv[i]);
      return 2;
    }
  }
  return titan::ckpt::testing::run(count, seed);
}
