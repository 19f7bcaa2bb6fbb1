#include "libtrain/job/reduction/exchange_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "ckpt/base/integers.h"
#include "libtrain/job/reduction/rank_groups.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {
namespace {

constexpr std::int64_t kLine = 16;  // elements, 64 bytes of fp32

std::int64_t whole_lines(std::int64_t elements) { return std::max(elements / kLine * kLine, kLine); }

/// The rows of owners with rank number `rank` modulo `stride`.
SegmentRow rows_of_class(const std::vector<SegmentRow>& owners, std::uint32_t rank, std::uint32_t stride) {
  SegmentRow row;
  for (std::size_t owner = rank % stride; owner < owners.size(); owner += stride) row.add(owners[owner]);
  return row;
}

/// Plans the butterfly between groups, and what ranks that are not holders get. The caller plans the all-to-all.
ExchangePlan plan_between_groups(const std::vector<SegmentRow>& owners, const RankGroups& groups, std::uint32_t me,
                                 std::int64_t elements) {
  ExchangePlan plan{.me = me};
  plan.message = whole_lines(elements / (2 * kSwapsUnderWay));
  const std::uint32_t group = groups.group_of(me), place = groups.place_of(me);
  if (!groups.holds(me)) {
    plan.handed.push_back({groups.holder(group, groups.place_for(me)), owners[me], {}});
    return plan;
  }
  const std::vector<SegmentRow> rows = groups.rows(owners, place);
  for (std::uint32_t bit = 1; bit < groups.groups; bit *= 2) {
    const std::uint32_t other = group ^ bit;
    plan.swaps.push_back(
        {groups.holder(other, place), rows_of_class(rows, group, 2 * bit), rows_of_class(rows, other, 2 * bit)});
  }
  if (const auto extra = groups.extra(group); extra && groups.place_for(*extra) == place)
    plan.handed.push_back({*extra, {}, owners[*extra]});
  return plan;
}

/// The rows of all holders of the groups `wanted`.
void set_owners(ExchangePlan& plan, const std::vector<SegmentRow>& owners, const RankGroups& groups,
                const std::vector<std::uint32_t>& wanted) {
  plan.all = groups.groups == 1;
  plan.owners.resize(groups.ranks);
  plan.gives.resize(groups.ranks);
  plan.takes.resize(groups.ranks);
  for (std::uint32_t place = 0; place < groups.holders; ++place) {
    const SegmentRow row = rows_of_class(groups.rows(owners, place), 0, 1);
    for (const std::uint32_t group : wanted) plan.owners[groups.holder(group, place)] = row;
  }
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

std::vector<std::uint32_t> ExchangePlan::partners() const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < owners.size(); ++rank)
    if (rank != me && (gives[rank].count > 0 || takes[rank] > 0)) ranks.push_back(rank);
  return ranks;
}

std::int64_t ExchangePlan::messages(const Swap& swap) const {
  return ckpt::ceil_div(std::max(swap.mine.length(), swap.theirs.length()), message);
}

std::int64_t ExchangePlan::slices() const { return owners.empty() ? 0 : ckpt::ceil_div(longest(owners), slice); }

std::int64_t ExchangePlan::buffer_elements() const {
  std::int64_t most = 0;
  for_swaps([&](const Swap& swap) {
    const std::int64_t under_way = std::min(messages(swap), kSwapsUnderWay);
    most = std::max(most, 2 * under_way * std::min(message, std::max(swap.mine.length(), swap.theirs.length())));
  });
  std::int64_t sent = 0, received = 0;
  for (std::uint32_t rank = 0; rank < owners.size(); ++rank) {
    sent += std::min(slice, owners[rank].length()) * gives[rank].count;
    received += std::min(slice, owners[me].length()) * takes[rank];
  }
  return std::max(most, sent + received);
}

ExchangePlan plan_sums(const std::vector<SegmentRow>& owners, std::uint32_t me, std::uint32_t count,
                       std::int64_t elements) {
  const auto ranks = static_cast<std::uint32_t>(owners.size());
  const RankGroups groups = groups_of(ranks, count);
  ExchangePlan plan = plan_between_groups(owners, groups, me, elements);
  if (groups.groups == ranks) return plan;
  // Equal slices on all ranks: they fit the rank that sends most and the group that receives most.
  std::vector<std::int64_t> taken(groups.groups);
  std::vector<std::vector<Node>> nodes(ranks);
  std::size_t given = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    nodes[rank] = maximal_nodes(count, dp_block(count, ranks, rank));
    given = std::max(given, nodes[rank].size());
    for (const Node node : nodes[rank]) ++taken[groups.group_of(count, node)];
  }
  plan.slice =
      whole_lines(elements / (static_cast<std::int64_t>(given) * groups.holders + *std::ranges::max_element(taken)));
  const std::uint32_t own = groups.group_of(me);
  std::vector<std::uint32_t> wanted{own};
  for (const Node node : nodes[me]) wanted.push_back(groups.group_of(count, node));
  set_owners(plan, owners, groups, wanted);
  for (std::uint32_t i = 0; i < nodes[me].size(); ++i) {
    const std::uint32_t group = groups.group_of(count, nodes[me][i]);
    for (std::uint32_t place = 0; place < groups.holders; ++place) {
      NodeRange& range = plan.gives[groups.holder(group, place)];
      if (range.count++ == 0) range.first = i;
    }
  }
  if (!groups.holds(me)) return plan;
  std::map<Node, std::uint32_t> rows;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (const Node node : nodes[rank]) {
      if (groups.group_of(count, node) != own) continue;
      ++plan.takes[rank];
      rows.emplace(node, static_cast<std::uint32_t>(rows.size()));
    }
  }
  add_up(rows, groups.node(count, own), plan.additions);
  return plan;
}

ExchangePlan plan_copies(const std::vector<SegmentRow>& owners, std::uint32_t me, std::int64_t elements) {
  const auto ranks = static_cast<std::uint32_t>(owners.size());
  const RankGroups groups = groups_of(ranks, ranks);
  ExchangePlan plan = plan_between_groups(owners, groups, me, elements);
  if (groups.groups == ranks) return plan;
  const std::uint32_t own = groups.group_of(me);
  plan.slice = whole_lines(elements / (ckpt::ceil_div(ranks, groups.groups) + groups.holders));
  set_owners(plan, owners, groups, {own});
  for (std::uint32_t place = 0; place < groups.holders; ++place) plan.gives[groups.holder(own, place)] = {0, 1};
  if (!groups.holds(me)) return plan;
  for (std::uint32_t rank = groups.first(own); rank < groups.end(own); ++rank) plan.takes[rank] = 1;
  return plan;
}

ExchangePlan plan_turn(const std::vector<SegmentRow>& owners, std::uint32_t me, std::int64_t elements) {
  const auto ranks = static_cast<std::uint32_t>(owners.size());
  ExchangePlan plan{.me = me, .owners = owners, .all = ranks > 1};
  plan.gives.assign(ranks, {0, 1});
  plan.takes.assign(ranks, 1);
  plan.slice = whole_lines(elements / (2 * std::int64_t{ranks}));
  return plan;
}

std::vector<SegmentRow> domain_rows(const std::vector<SegmentRow>& owners, std::uint32_t domain) {
  std::vector<SegmentRow> rows;
  for (std::uint32_t place = 0; place < domain; ++place) rows.push_back(rows_of_class(owners, place, domain));
  return rows;
}

// Stages begin at multiples of dp, and nodes at multiples of their ranks, so no domain spans two nodes.
std::uint32_t domain_size(const recipe::RunPlan& plan) {
  if (plan.exchange == recipe::ExchangeDomain::kNode) return std::gcd(plan.node_ranks, plan.mesh.dp);
  return plan.exchange == recipe::ExchangeDomain::kAlways || plan.shard_gradients ? plan.mesh.dp : 1;
}

bool exchanges_per_micro_batch(const recipe::RunPlan& plan) { return domain_size(plan) > 1; }

bool has_node_groups(const recipe::RunPlan& plan) {
  return exchanges_per_micro_batch(plan) && domain_size(plan) < plan.mesh.dp;
}

Share share_of(const recipe::RunPlan& plan, std::uint32_t dp_rank) {
  return share_per_micro_batch(static_cast<std::uint32_t>(plan.batch.count), plan.mesh.dp, domain_size(plan), dp_rank);
}

std::uint32_t scheduled_count(const recipe::RunPlan& plan, std::uint32_t dp_rank) {
  return share_of(plan, dp_rank - dp_rank % domain_size(plan)).count;
}

Traffic traffic_of(const ExchangePlan& plan) {
  Traffic traffic;
  plan.for_swaps([&](const Swap& swap) { traffic.rounds += plan.messages(swap); });
  traffic.messages = traffic.rounds + plan.slices() * static_cast<std::int64_t>(plan.partners().size());
  traffic.rounds += plan.slices();
  return traffic;
}

}  // namespace titan::train
