#pragma once
// Merges that wait for their turn: the lowest rank first, of equal ones the leftmost. Pure.
//
// A heap alone takes a long run of one character twenty steps a merge. Here candidates of one rank that come from left
// to right stand in one row, and the heap holds rows: a run has a few, and ordinary text one a candidate.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace titan::recipe {

class MergeQueue {
 public:
  struct Candidate {
    std::uint32_t rank, at, made;  ///< `made`: the token, the same for all of a rank
    bool operator==(const Candidate&) const = default;
  };

  void clear() {
    places_.clear();
    rows_.clear();
    heap_.clear();
    open_.fill(kNone);
  }
  bool empty() const { return heap_.empty(); }

  void push(const Candidate& candidate) {
    const auto place = static_cast<std::uint32_t>(places_.size());
    places_.push_back({candidate.at, kNone});
    for (const std::uint32_t number : open_) {
      if (number == kNone || rows_[number].rank != candidate.rank) continue;
      Row& row = rows_[number];
      if (row.head == kNone || places_[row.tail].at >= candidate.at) continue;
      places_[row.tail].next = place;
      row.tail = place;
      return;
    }
    const auto number = static_cast<std::uint32_t>(rows_.size());
    rows_.push_back({candidate.rank, candidate.made, place, place});
    open_[next_open_++ % open_.size()] = number;
    heap_.push_back({candidate.rank, candidate.at, number});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  /// Takes the next one out; the queue is not empty.
  Candidate pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Top& top = heap_.back();
    Row& row = rows_[top.row];
    const Candidate candidate{row.rank, top.at, row.made};
    row.head = places_[row.head].next;
    if (row.head == kNone) {
      heap_.pop_back();
    } else {
      top.at = places_[row.head].at;
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
    return candidate;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Place {
    std::uint32_t at, next;
  };
  struct Row {
    std::uint32_t rank, made;
    std::uint32_t head, tail;  // places; head kNone: it has gone from the heap
  };
  struct Top {
    std::uint32_t rank, at, row;  // `at` of the row's head
  };
  static bool later(const Top& a, const Top& b) { return a.rank != b.rank ? a.rank > b.rank : a.at > b.at; }

  std::vector<Place> places_;
  std::vector<Row> rows_;
  std::vector<Top> heap_;
  std::array<std::uint32_t, 4> open_{};  // rows that the next candidates may join
  std::size_t next_open_ = 0;
};

}  // namespace titan::recipe
