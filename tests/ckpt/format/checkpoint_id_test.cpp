#include "ckpt/format/checkpoint_id.h"

#include <gtest/gtest.h>

#include <functional>

#include "ckpt/read/snapshot.h"
#include "tests/support/checkpoints.h"
#include "tests/support/manifests.h"

namespace titan::ckpt::checkpoint_id_test {
namespace {

struct State {
  Manifest manifest = testing::small_manifest();
  Snapshot snapshot = testing::make_snapshot({}, {1, 1, 1}, 100);
  Digest id() const { return checkpoint_id(manifest, snapshot.lr, snapshot.data, snapshot.train.tokens); }
};

// The encoding spelled out by hand from FORMAT.md, not through IdentityEncoder.
struct ByHand {
  std::string bytes;
  ByHand& u(std::uint64_t v) {
    bytes += 'u';
    return le(v);
  }
  ByHand& l(std::uint64_t v) {
    bytes += 'l';
    return le(v);
  }
  ByHand& s(const std::string& v) {
    bytes += 's';
    le(v.size());
    bytes += v;
    return *this;
  }
  ByHand& h(const Digest& d) {
    bytes += 'h';
    bytes.append(reinterpret_cast<const char*>(d.bytes.data()), 16);
    return *this;
  }
  ByHand& le(std::uint64_t v) {
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(v >> (8 * i));
    return *this;
  }
};

TEST(CheckpointId, TensorDigestIsOverTheLeafDigests) {
  const Digest a = digest_of("a"), b = digest_of("b");
  std::string joined(reinterpret_cast<const char*>(a.bytes.data()), 16);
  joined.append(reinterpret_cast<const char*>(b.bytes.data()), 16);
  EXPECT_EQ(tensor_digest({a, b}), digest_of(std::string_view(joined)));
  EXPECT_EQ(tensor_digest({}).hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(CheckpointId, ComponentDigestIsTheDocumentedEncodingInNameOrder) {
  const Manifest manifest = testing::small_manifest();
  const ParameterRecord &tok = manifest.parameters[0], &norm = manifest.parameters[1];
  ByHand model;
  model.s("titan.component.1").s("model").l(2);
  model.s("norm.weight").s("float32").l(1).u(40).h(norm.model->digest);
  model.s("tok_embeddings.weight").s("float32").l(2).u(40).u(10).h(tok.model->digest);
  EXPECT_EQ(component_digest(manifest, kModel), digest_of(std::string_view(model.bytes)));
  ByHand optimizer;
  optimizer.s("titan.component.1").s("optimizer").l(4);
  for (const ParameterRecord* record : {&norm, &tok}) {
    for (const SlotTensor& slot : record->slots) {
      optimizer.s(record->meta.name + "." + slot.name).s("float32").l(record->meta.shape.size());
      for (const std::uint64_t extent : record->meta.shape) optimizer.u(extent);
      optimizer.h(slot.tensor.digest).u(40);
    }
  }
  EXPECT_EQ(component_digest(manifest, kOptimizer), digest_of(std::string_view(optimizer.bytes)));
}

TEST(CheckpointId, TheIdHasNotChangedSinceVersion1) {
  EXPECT_EQ(State().id().hex(), "d9ebaba5226941483f292067265e261f");
}

TEST(CheckpointId, TheIdCoversStateAndNothingElse) {
  const Digest id = State().id();
  const std::vector<std::pair<const char*, std::function<void(State&)>>> inside = {
      {"model digest", [](State& s) { s.manifest.components[0].digest.bytes[0] ^= 1; }},
      {"optimizer digest", [](State& s) { s.manifest.components[1].digest.bytes[0] ^= 1; }},
      {"no optimizer", [](State& s) { s.manifest.components.erase(s.manifest.components.begin() + 1); }},
      {"no schedule", [](State& s) { s.manifest.components.erase(s.manifest.components.begin() + 2); }},
      {"no data position", [](State& s) { s.manifest.components.erase(s.manifest.components.begin() + 3); }},
      {"no train state", [](State& s) { s.manifest.components.erase(s.manifest.components.begin() + 4); }},
      {"step", [](State& s) { ++s.manifest.step; }},
      {"tokens", [](State& s) { ++s.snapshot.train.tokens; }},
      {"phase", [](State& s) { s.snapshot.lr.phases[1].end *= 2; }},
      {"phase kind", [](State& s) { s.snapshot.lr.phases[2].kind = PhaseKind::kSqrt; }},
      {"samples", [](State& s) { ++s.snapshot.data.samples; }},
      {"data seed", [](State& s) { ++s.snapshot.data.seed; }},
      {"shuffle", [](State& s) { s.snapshot.data.shuffle = false; }},
      {"left out",
       [](State& s) {
         s.snapshot.data.excluded = {{9000, 8}};
       }},
      {"mixture", [](State& s) { s.snapshot.data.sets = {{.name = "a"}}; }},
      {"data file", [](State& s) { s.snapshot.data.files[0].blocks.bytes[3] ^= 1; }},
  };
  for (const auto& [what, change] : inside) {
    State state;
    change(state);
    EXPECT_NE(state.id(), id) << what;
  }
  const std::vector<std::pair<const char*, std::function<void(State&)>>> outside = {
      {"mesh",
       [](State& s) {
         s.manifest.mesh = {4, 4, 1};
       }},
      {"stages",
       [](State& s) {
         s.manifest.stage_cuts = {1, 2};
         s.manifest.parameters[0].meta.stage = 1;
       }},
      {"files", [](State& s) { s.manifest.files.clear(); }},
      {"created, writer", [](State& s) { s.manifest.created = s.manifest.writer = "x"; }},
      {"config", [](State& s) { s.manifest.config.clear(); }},
      {"derived from", [](State& s) { s.manifest.derived_from = DerivedFrom{}; }},
      {"accepted LR settings", [](State& s) { s.snapshot.lr.accepted.total_steps = 7; }},
      {"attempts, wall time",
       [](State& s) {
         s.snapshot.train.attempts.clear();
         s.snapshot.train.wall_time_s = 1;
       }},
  };
  for (const auto& [what, change] : outside) {
    State state;
    change(state);
    EXPECT_EQ(state.id(), id) << what;
  }
}

}  // namespace
}  // namespace titan::ckpt::checkpoint_id_test
