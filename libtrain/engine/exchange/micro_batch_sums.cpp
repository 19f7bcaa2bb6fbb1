#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "libtrain/engine/exchange/gradient_sums.h"
#include "libtrain/engine/exchange/sharded_sums.h"
#include "libtrain/engine/parallel/links/tags.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {
namespace {

constexpr std::size_t kTurnsUnderWay = 2;

class MicroBatchSums final : public GradientSums {
 public:
  explicit MicroBatchSums(const ExchangeSetup& setup) : setup_(setup), nodes_(has_node_groups(setup.plan)) {
    World& world = setup.world;
    if (nodes_ && (!world.node || !world.between_nodes))
      throw std::logic_error("an exchange lacks the groups of its nodes");
    for (const StageExchange::Turns& turns : setup.exchange.turns) {
      StageTurns& of_stage = turns_of_[setup.stages.stages().at(turns.chunk)->index()];
      if (of_stage.end == 0) of_stage.first = sharded_.size();
      sharded_.emplace_back(nodes_ ? *world.node : *world.dp, turns.plan,
                            static_cast<std::uint32_t>(setup.plan.batch.count), setup.share.block,
                            turns.width == 4 ? at::kFloat : at::kBFloat16, setup.rows);
      of_stage.end = sharded_.size();
      of_stage.left = of_stage.end - of_stage.first;
    }
  }

  bool whole() const override { return false; }

  void collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) override {
    StageTurns& turns = turns_of_.at(stage);
    while (turns.left > 0) exchange_part(turns.first + --turns.left, local, sums);
    turns.left = turns.end - turns.first;
  }

  void begin(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) override {
    StageTurns& turns = turns_of_.at(stage);
    const std::size_t chunk = setup_.exchange.turns[turns.first].chunk;
    const std::span of_stage =
        sums.subspan(setup_.first_summand.at(stage), setup_.stages.stages()[chunk]->parameters().size());
    const auto is_there = [&](std::uint32_t summand) { return of_stage[summand].has(setup_.share.at(local)); };
    while (turns.left > 0 &&
           std::ranges::all_of(setup_.exchange.turns[turns.first + turns.left - 1].summands, is_there))
      exchange_part(turns.first + --turns.left, local, of_stage);
  }

  Summands finish(std::span<TreeSum>) override {
    if (setup_.lane) setup_.lane->wait_all();
    std::vector<Summands> rows;  // by tree node, then by entry of sharded_
    for (ShardedSums& turn : sharded_) {
      std::vector<at::Tensor> nodes = turn.finish();
      rows.resize(nodes.size());
      for (std::size_t node = 0; node < nodes.size(); ++node) rows[node].push_back(std::move(nodes[node]));
    }
    Fabric& group = nodes_ ? *setup_.world.between_nodes : *setup_.world.dp;
    setup_.rows.sum(group, setup_.exchange.between_domains, kSumTags, rows);
    Summands sums = owned_of(rows.front());
    move_tied(sums);
    return sums;
  }

 private:
  /// The parts of a stage are entries [first, end) of sharded_. The first `left` of them still have to exchange the
  /// present micro-batch.
  struct StageTurns {
    std::size_t first = 0, end = 0, left = 0;
  };

  /// Exchanges the gradients of a micro-batch for entry `turn` of sharded_. `sums` are those of the stage; empty if
  /// this rank does not have the micro-batch.
  void exchange_part(std::size_t turn, std::uint32_t local, std::span<TreeSum> sums) {
    Summands summands;  // of the stage; summands of other parts stay undefined
    if (!sums.empty()) {
      summands.resize(sums.size());
      for (const std::uint32_t summand : setup_.exchange.turns[turn].summands)
        summands[summand] = sums[summand].take(setup_.share.at(local)).view(-1);
    }
    // At most kTurnsUnderWay parts are in transit at once, since each keeps its full gradients in memory.
    if (Lane* lane = setup_.lane; lane && lane->given() >= kTurnsUnderWay)
      lane->wait(lane->given() - kTurnsUnderWay + 1);
    ShardedSums& sharded = sharded_[turn];
    setup_.run([&sharded, local, summands = std::move(summands)] { sharded.add(local, summands); });
  }

  /// The elements of each summand that this rank owns. `rows` has one row per entry of sharded_.
  Summands owned_of(const Summands& rows) const {
    Summands sums(setup_.summands());
    for (std::size_t turn = 0; turn < sharded_.size(); ++turn) {
      const StageExchange::Turns& turns = setup_.exchange.turns[turn];
      const std::size_t first = setup_.first_summand.at(setup_.stages.stages()[turns.chunk]->index());
      std::int64_t at = turns.begin;
      for (const Segment& segment : turns.own.segments()) {
        sums[first + segment.summand] = rows[turn].narrow(0, at, segment.length).clone();
        at += segment.length;
      }
    }
    return sums;
  }

  void move_tied(Summands& sums) const {
    if (setup_.tied.sends() && sums.back().defined()) setup_.tied.send_sums({sums.back()});
    if (!setup_.tied.receives()) return;
    const at::Tensor own = sums[setup_.summand_of.at(setup_.exchange.parameters.back())];
    sums.emplace_back();
    if (own.defined()) sums.back() = setup_.tied.receive_sums({own}).front();
  }

  const ExchangeSetup& setup_;
  bool nodes_;
  std::vector<ShardedSums> sharded_;  ///< of each stage and part
  std::map<std::uint32_t, StageTurns> turns_of_;
};

}  // namespace

std::unique_ptr<GradientSums> make_micro_batch_sums(const ExchangeSetup& setup) {
  return std::make_unique<MicroBatchSums>(setup);
}

}  // namespace titan::train
