#include "libtrain/reduce/exchange_plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

constexpr std::int64_t kLine = 16;  // elements, 64 bytes of fp32

std::int64_t whole_lines(std::int64_t elements) { return std::max(elements / kLine * kLine, kLine); }

std::int64_t ceil_div(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

/// The rows of the owners whose ranks are `rank` modulo `stride`.
SegmentRow rows_of_class(const std::vector<SegmentRow>& owners, std::uint32_t rank, std::uint32_t stride) {
  SegmentRow row;
  for (std::size_t owner = rank % stride; owner < owners.size(); owner += stride) row.add(owners[owner]);
  return row;
}

/// Whether `node` falls into halves as the `ranks` (a power of two) from `first` on do, down to their blocks.
bool halves_alike(Node node, std::uint32_t count, std::uint32_t all, std::uint32_t first, std::uint32_t ranks) {
  if (ranks == 1) return dp_block(count, all, first) == node;
  return halves_alike(node.left(), count, all, first, ranks / 2) &&
         halves_alike(node.right(), count, all, first + ranks / 2, ranks / 2);
}

ExchangePlan plan_butterfly(const std::vector<SegmentRow>& owners, std::uint32_t me, std::int64_t elements) {
  ExchangePlan plan{.me = me};
  const auto steps = static_cast<std::uint32_t>(std::bit_width(owners.size()) - 1);
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::uint32_t peer = me ^ (1u << step);
    plan.swaps.push_back({peer, rows_of_class(owners, me, 2u << step), rows_of_class(owners, peer, 2u << step)});
  }
  plan.piece = whole_lines(elements / (2 * kSwapsUnderWay));
  return plan;
}

ExchangePlan plan_all_to_all(const std::vector<SegmentRow>& owners, std::uint32_t me, std::vector<std::uint32_t> copies,
                             std::int64_t elements) {
  ExchangePlan plan{.me = me, .owners = owners, .copies = std::move(copies)};
  // The same slices on all ranks: those that the rank with most nodes has room for.
  const auto rows = static_cast<std::int64_t>(owners.size()) * *std::ranges::max_element(plan.copies) +
                    std::accumulate(plan.copies.begin(), plan.copies.end(), std::int64_t{0});
  plan.piece = whole_lines(elements / rows);
  return plan;
}

/// The additions that leave the sum of `node` in the row of its first part. \return that row.
std::uint32_t add_up(const std::map<Node, std::uint32_t>& rows, Node node, std::vector<Addition>& additions) {
  if (const auto found = rows.find(node); found != rows.end()) return found->second;
  const std::uint32_t left = add_up(rows, node.left(), additions), right = add_up(rows, node.right(), additions);
  additions.push_back({left, right});
  return left;
}

std::int64_t longest(const std::vector<SegmentRow>& rows) {
  std::int64_t most = 0;
  for (const SegmentRow& row : rows) most = std::max(most, row.length());
  return most;
}

}  // namespace

std::int64_t ExchangePlan::pieces(const Swap& swap) const {
  return ceil_div(std::max(swap.mine.length(), swap.theirs.length()), piece);
}

std::int64_t ExchangePlan::pieces() const { return ceil_div(longest(owners), piece); }

std::int64_t ExchangePlan::buffer_elements() const {
  std::int64_t most = 0;
  for (const Swap& swap : swaps) {
    const std::int64_t under_way = std::min(pieces(swap), kSwapsUnderWay);
    most = std::max(most, 2 * under_way * std::min(piece, std::max(swap.mine.length(), swap.theirs.length())));
  }
  if (owners.empty()) return most;
  const auto at_once = [&](std::uint32_t owner) { return std::min(piece, owners[owner].length()); };
  std::int64_t sent = 0, received = 0;
  for (std::uint32_t rank = 0; rank < owners.size(); ++rank) {
    sent += at_once(rank) * copies[me];
    received += at_once(me) * copies[rank];
  }
  return std::max(most, sent + received);
}

ExchangePlan plan_sums(const std::vector<SegmentRow>& owners, std::uint32_t me, std::uint32_t count,
                       std::int64_t elements) {
  const auto ranks = static_cast<std::uint32_t>(owners.size());
  if (std::has_single_bit(ranks) && halves_alike({0, count}, count, ranks, 0, ranks))
    return plan_butterfly(owners, me, elements);
  std::vector<std::uint32_t> copies(ranks);
  std::map<Node, std::uint32_t> rows;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::vector<Node> nodes = maximal_nodes(count, dp_block(count, ranks, rank));
    copies[rank] = static_cast<std::uint32_t>(nodes.size());
    for (const Node node : nodes) rows.emplace(node, static_cast<std::uint32_t>(rows.size()));
  }
  ExchangePlan plan = plan_all_to_all(owners, me, std::move(copies), elements);
  add_up(rows, {0, count}, plan.additions);
  return plan;
}

ExchangePlan plan_copies(const std::vector<SegmentRow>& owners, std::uint32_t me, std::int64_t elements) {
  if (std::has_single_bit(owners.size())) return plan_butterfly(owners, me, elements);
  return plan_all_to_all(owners, me, std::vector<std::uint32_t>(owners.size(), 1), elements);
}

ExchangePlan plan_turn(const std::vector<SegmentRow>& owners, std::uint32_t me, std::int64_t elements) {
  return plan_all_to_all(owners, me, std::vector<std::uint32_t>(owners.size(), 1), elements);
}

std::vector<SegmentRow> domain_rows(const std::vector<SegmentRow>& owners, std::uint32_t domain) {
  std::vector<SegmentRow> rows;
  for (std::uint32_t place = 0; place < domain; ++place) rows.push_back(rows_of_class(owners, place, domain));
  return rows;
}

// Stages begin at multiples of dp, and nodes at multiples of their ranks: so no domain is on two nodes.
std::uint32_t domain_size(const recipe::RunPlan& plan) {
  if (plan.exchange == recipe::ExchangeDomain::kNode) return std::gcd(plan.node_ranks, plan.mesh.dp);
  return plan.exchange == recipe::ExchangeDomain::kAlways || plan.shard_gradients ? plan.mesh.dp : 1;
}

bool exchanges_in_turns(const recipe::RunPlan& plan) { return domain_size(plan) > 1; }

bool has_node_groups(const recipe::RunPlan& plan) {
  return exchanges_in_turns(plan) && domain_size(plan) < plan.mesh.dp;
}

Share share_of(const recipe::RunPlan& plan, std::uint32_t dp_rank) {
  return share_in_turns(static_cast<std::uint32_t>(plan.batch.count), plan.mesh.dp, domain_size(plan), dp_rank);
}

std::uint32_t scheduled_count(const recipe::RunPlan& plan, std::uint32_t dp_rank) {
  return share_of(plan, dp_rank - dp_rank % domain_size(plan)).count;
}

Load load_of_sums(const ExchangePlan& plan) {
  Load load;
  for (const Swap& swap : plan.swaps) {
    load.sent += swap.theirs.length();
    load.received += swap.mine.length();
  }
  for (std::uint32_t rank = 0; rank < plan.owners.size(); ++rank) {
    if (rank == plan.me) continue;
    load.sent += plan.owners[rank].length() * plan.copies[plan.me];
    load.received += plan.owners[plan.me].length() * plan.copies[rank];
  }
  return load;
}

Load load_of_copies(const ExchangePlan& plan) {
  const Load sums = load_of_sums(plan);
  return {sums.received, sums.sent};
}

Traffic traffic_of(const ExchangePlan& plan) {
  Traffic traffic;
  for (const Swap& swap : plan.swaps) traffic.rounds += plan.pieces(swap);
  traffic.messages = traffic.rounds;
  if (plan.owners.empty()) return traffic;
  traffic.rounds += plan.pieces();
  traffic.messages += plan.pieces() * (static_cast<std::int64_t>(plan.owners.size()) - 1);
  return traffic;
}

}  // namespace titan::train
