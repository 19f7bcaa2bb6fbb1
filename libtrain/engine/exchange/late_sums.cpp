#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "libtrain/engine/exchange/gradient_sums.h"
#include "libtrain/engine/parallel/links/tags.h"

namespace titan::train {
namespace {

class LateSums final : public GradientSums {
 public:
  explicit LateSums(const ExchangeSetup& setup) : setup_(setup), next_part_(setup.exchange.parts.size()) {}

  bool whole() const override { return true; }
  void collect(std::uint32_t, std::uint32_t, std::span<TreeSum>) override {}

  // All ranks of a stage start the parts in the same order, even if they have different numbers of micro-batches.
  void begin(std::uint32_t, std::uint32_t, std::span<TreeSum> sums) override {
    while (next_part_ > 0 && is_whole(next_part_ - 1, sums)) {
      --next_part_;
      for (const std::uint32_t summand : parts()[next_part_].summands) take(summand, sums);
      sum_part(next_part_);
    }
  }

  Summands finish(std::span<TreeSum> sums) override {
    if (setup_.lane) begin(0, 0, sums);
    for (std::size_t part = next_part_; part-- > 0;)
      for (const std::uint32_t summand : parts()[part].summands)
        if (summand < sums.size()) take(summand, sums);
    move_tied(sums);
    while (next_part_ > 0) sum_part(--next_part_);
    if (setup_.lane) setup_.lane->wait_all();
    next_part_ = parts().size();
    return std::exchange(partials_, {}).front();
  }

 private:
  const std::vector<StageExchange::Part>& parts() const { return setup_.exchange.parts; }

  /// Whether all sums of a part are complete.
  bool is_whole(std::size_t part, std::span<const TreeSum> sums) const {
    const std::vector<std::uint32_t>& summands = parts()[part].summands;
    // Another rank sends the sums of a tied head once it has all of them.
    if (setup_.tied.receives() && summands.back() == sums.size()) return false;
    return std::ranges::all_of(summands, [&](std::uint32_t summand) { return sums[summand].complete(); });
  }

  /// Moves the sums of a summand, one per tree node, to partials_.
  void take(std::uint32_t summand, std::span<TreeSum> sums) {
    const std::vector<at::Tensor> nodes = sums[summand].finish();
    partials_.resize(nodes.size());
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      partials_[node].resize(setup_.exchange.parameters.size());
      partials_[node][summand] = nodes[node].view(-1);
    }
  }

  void move_tied(std::span<TreeSum> sums) {
    if (setup_.tied.sends()) setup_.tied.send_sums(sums.back().finish());
    if (!setup_.tied.receives()) return;
    const std::size_t embedding = setup_.summand_of.at(setup_.exchange.parameters.back());
    std::vector<at::Tensor> own;
    for (const Summands& node : partials_) own.push_back(node[embedding]);
    std::vector<at::Tensor> received = setup_.tied.receive_sums(own);
    for (std::size_t node = 0; node < partials_.size(); ++node) partials_[node].back() = std::move(received[node]);
  }

  void sum_part(std::size_t part) {
    setup_.run([this, part] {
      Fabric& group = has_node_groups(setup_.plan) ? *setup_.world.between_nodes : *setup_.world.dp;
      setup_.rows.sum(group, parts()[part].sums, kSumTags + part * kTagsOfPart, partials_);
    });
  }

  const ExchangeSetup& setup_;
  std::vector<Summands> partials_;  ///< by tree node: the sums taken in this step, until finish() ends
  std::size_t next_part_;           ///< the exchange of parts [0, next_part_) has not started in this step
};

}  // namespace

std::unique_ptr<GradientSums> make_late_sums(const ExchangeSetup& setup) { return std::make_unique<LateSums>(setup); }

}  // namespace titan::train
