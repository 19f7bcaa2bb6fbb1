#include "tests/crash/crash_point.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>

namespace titan::crash {
namespace {

using Kind = LoggedCall::Kind;

constexpr std::uint64_t kSector = 512;
constexpr std::size_t kFewPending = 12;  // up to here every subset is tried

bool of_data(const LoggedCall& call) { return call.kind == Kind::kWrite || call.kind == Kind::kTruncate; }

// Borders of sectors strictly inside the write.
std::uint64_t borders(const LoggedCall& call) {
  if (call.kind != Kind::kWrite || call.data->empty()) return 0;
  return (call.offset + call.data->size() - 1) / kSector - call.offset / kSector;
}

void apply_names(Disk& disk, const LoggedCall& call) {
  for (const NameEffect& effect : call.effects) {
    Names& names = disk.edit_names(effect.dir);
    if (effect.target == kNoInode)
      names.erase(effect.name);
    else
      names[effect.name] = effect.target;
  }
}

void apply_data(Disk& disk, const LoggedCall& call, std::uint64_t outcome) {
  if (outcome == 0) return;
  std::string& bytes = disk.edit_bytes(call.inode);
  if (call.kind == Kind::kTruncate) return bytes.resize(call.offset);
  const std::string& data = *call.data;
  std::uint64_t begin = 0, end = data.size();
  if (outcome == 2) end = 0;
  if (outcome >= 3) {
    const std::uint64_t border = (call.offset / kSector + 1 + (outcome - 3) / 2) * kSector - call.offset;
    if (outcome % 2 == 1)
      end = border;
    else
      begin = border;
  }
  const std::uint64_t length = outcome == 2 ? data.size() : end;
  if (bytes.size() < call.offset + length) bytes.resize(call.offset + length);
  if (begin < end) bytes.replace(call.offset + begin, end - begin, data, begin, end - begin);
}

}  // namespace

std::string choice_text(const Choice& choice) {
  std::string text;
  for (const std::uint16_t outcome : choice) text += (text.empty() ? "" : ",") + std::to_string(outcome);
  return text.empty() ? "-" : text;
}

Choice choice_from(const std::string& text) {
  Choice choice;
  std::istringstream in(text);
  std::string part;
  while (std::getline(in, part, ',')) {
    if (part.empty() || part.find_first_not_of("0123456789") != std::string::npos || part.size() > 5) return {};
    choice.push_back(static_cast<std::uint16_t>(std::stoul(part)));
  }
  return choice;
}

CrashPoint::CrashPoint(const Disk& before, const std::vector<LoggedCall>& log, std::size_t point, const Disk& like)
    : log_(&log), base_(before) {
  base_.grow_like(like);
  std::map<std::pair<Inode, std::uint32_t>, std::size_t> synced;  // when a host last synced a file or folder
  for (std::size_t i = 0; i < point; ++i) {
    if (log[i].kind == Kind::kSyncFile) base_.set_blob(log[i].inode, log[i].synced);  // every file has one writer
    if (log[i].kind == Kind::kSyncFile || log[i].kind == Kind::kSyncDir) synced[{log[i].inode, log[i].host}] = i;
  }
  const auto durable = [&](Inode inode, std::size_t call) {
    const auto found = synced.find({inode, log[call].host});
    return found != synced.end() && found->second > call;
  };
  for (std::size_t i = 0; i < point; ++i) {
    const LoggedCall& call = log[i];
    if (of_data(call)) {
      if (durable(call.inode, i)) continue;
      pending_.push_back(i);
      later_.push_back(i);
    } else if (call.kind == Kind::kName) {
      const auto synced_dir = [&](const NameEffect& effect) { return durable(effect.dir, i); };
      const bool kept = std::any_of(call.effects.begin(), call.effects.end(), synced_dir);
      if (!kept) pending_.push_back(i);
      if (kept && later_.empty())
        apply_names(base_, call);
      else
        later_.push_back(i);
    }
  }
  for (std::size_t i = 0; i < pending_.size(); ++i)
    for (std::uint64_t outcome = 2; outcome < outcomes(i); ++outcome) torn_.emplace_back(i, outcome);
}

std::uint64_t CrashPoint::outcomes(std::size_t pending) const {
  const LoggedCall& call = (*log_)[pending_[pending]];
  return call.kind == Kind::kWrite ? 3 + 2 * borders(call) : 2;
}

std::uint64_t CrashPoint::first_choices() const {
  return pending_.empty() ? 1 : 2 + 3 * pending_.size() + torn_.size();
}

bool CrashPoint::choice(std::uint64_t number, std::uint64_t seed, Choice* choice) const {
  const std::size_t n = pending_.size();
  if (n == 0) {
    choice->clear();
    return number == 0;
  }
  if (number < 2) {  // all kept, all lost
    choice->assign(n, number == 0 ? 1 : 0);
    return true;
  }
  number -= 2;
  if (number < n) {  // one lost, the newest first
    choice->assign(n, 1);
    (*choice)[n - 1 - number] = 0;
    return true;
  }
  number -= n;
  if (number < n) {  // one kept
    choice->assign(n, 0);
    (*choice)[n - 1 - number] = 1;
    return true;
  }
  number -= n;
  if (number < n) {  // what came first
    choice->assign(n, 0);
    std::fill_n(choice->begin(), n - number, 1);
    return true;
  }
  number -= n;
  if (number < torn_.size()) {
    choice->assign(n, 1);
    (*choice)[torn_[number].first] = static_cast<std::uint16_t>(torn_[number].second);
    return true;
  }
  number -= torn_.size();
  if (n <= kFewPending) {
    const std::uint64_t subsets = std::uint64_t{1} << n;
    if (number < subsets) {
      const std::uint64_t bits = number * 0x9E3779B1 % subsets;  // an odd factor: each once, and spread
      choice->resize(n);
      for (std::size_t i = 0; i < n; ++i) (*choice)[i] = bits >> i & 1;
      return true;
    }
    number -= subsets;
    if (torn_.empty()) return false;
  }
  *choice = seeded(number, seed);
  return true;
}

// Half of them strict: in each folder and file what came first survives. The others lose anything, often or seldom.
Choice CrashPoint::seeded(std::uint64_t number, std::uint64_t seed) const {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15 ^ number * 0xBF58476D1CE4E5B9 ^ pending_.size());
  constexpr unsigned kLossOfTen[] = {1, 3, 5, 8};
  const unsigned loss = kLossOfTen[random() % 4];
  const bool strict = number % 2 == 0;
  std::set<Inode> cut;
  Choice choice(pending_.size());
  for (std::size_t i = 0; i < choice.size(); ++i) {
    const LoggedCall& call = (*log_)[pending_[i]];
    bool kept = random() % 10 >= loss;
    std::vector<Inode> places;
    if (of_data(call)) places.push_back(call.inode);
    for (const NameEffect& effect : call.effects) places.push_back(effect.dir);
    if (strict && std::any_of(places.begin(), places.end(), [&](Inode place) { return cut.count(place) != 0; }))
      kept = false;
    if (!kept) cut.insert(places.begin(), places.end());
    choice[i] = kept ? 1 : 0;
    if (outcomes(i) > 2 && random() % 4 == 0) choice[i] = static_cast<std::uint16_t>(2 + random() % (outcomes(i) - 2));
  }
  return choice;
}

Disk CrashPoint::build(const Choice& choice) const {
  Disk disk = base_;
  std::size_t next = 0;
  for (const std::size_t i : later_) {
    const LoggedCall& call = (*log_)[i];
    std::uint64_t outcome = 1;
    if (next < pending_.size() && pending_[next] == i) outcome = choice[next++];
    if (of_data(call))
      apply_data(disk, call, outcome);
    else if (outcome != 0)
      apply_names(disk, call);
  }
  return disk;
}

std::string CrashPoint::explain(const Choice& choice) const {
  std::string text;
  for (std::size_t i = 0; i < pending_.size() && i < choice.size(); ++i) {
    if (choice[i] == 1) continue;
    text += std::string("    ") + (choice[i] == 0 ? "lost: " : "torn: ") + (*log_)[pending_[i]].text + "\n";
  }
  return text;
}

}  // namespace titan::crash
