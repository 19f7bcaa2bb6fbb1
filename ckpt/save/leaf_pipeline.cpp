#include "ckpt/save/leaf_pipeline.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/helpers.h"
#include "ckpt/base/mutex.h"
#include "ckpt/store/turnstile.h"

namespace titan::ckpt {
namespace {

std::uint64_t longest_leaf(const std::vector<ShardPiece>& pieces) {
  std::uint64_t longest = 0;
  for (const ShardPiece& piece : pieces) longest = std::max(longest, piece.raw_bytes(piece.leaves.first));
  return longest;
}

std::uint64_t count_leaves(const std::vector<ShardPiece>& pieces) {
  std::uint64_t count = 0;
  for (const ShardPiece& piece : pieces) count += piece.leaves.count;
  return count;
}

Result<std::span<const std::byte>> fetch_checked(const ShardPiece& piece, const std::string& path,
                                                 const LeafProvider& fetch, std::size_t p, std::uint64_t leaf,
                                                 std::span<std::byte> scratch) {
  const std::uint64_t bytes = piece.raw_bytes(leaf);
  TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> raw, fetch(p, leaf, scratch.first(bytes)));
  if (raw.size() != bytes) {
    return failed("leaf " + std::to_string(leaf) + " of '" + piece.tensor + "' for " + path + " has " +
                  std::to_string(raw.size()) + " bytes, expected " + std::to_string(bytes));
  }
  return raw;
}

class Ring {
 public:
  Ring(const LeafStore& store, unsigned threads, std::uint64_t leaf_bytes, Turnstile& turnstile)
      : store_(store), turnstile_(turnstile) {
    for (unsigned i = 0; i <= threads; ++i)
      free_.push_back(&buffers_.emplace_back(Buffer{AlignedBuffer(leaf_bytes), {}}));
    for (unsigned i = 0; i < threads; ++i) {
      if (!threads_.start([this] { contained_work(); })) break;
    }
  }
  ~Ring() { join(); }

  bool has_threads() const { return !threads_.empty(); }

  // Waits for a free buffer of the ring and returns its memory, to fetch a leaf into; empty after an error.
  std::span<std::byte> next_scratch() {
    MutexLock lock(mutex_);
    while (free_.empty() && status_.ok()) changed_.wait(lock);
    return status_.ok() ? free_.front()->scratch.all() : std::span<std::byte>();
  }

  // Passes the leaf to the threads, in the buffer of the last call. Copies it there unless it is there already.
  void push(FetchedLeaf leaf) {
    Buffer* buffer = free_front();
    if (leaf.raw.data() != buffer->scratch.all().data()) {
      std::memcpy(buffer->scratch.all().data(), leaf.raw.data(), leaf.raw.size());
      leaf.raw = buffer->scratch.all().first(leaf.raw.size());
    }
    buffer->leaf = leaf;
    const MutexLock lock(mutex_);
    free_.pop_front();
    ready_.push_back(buffer);
    changed_.notify_all();
  }

  void fail(const Status& status) {
    {
      const MutexLock lock(mutex_);
      if (status_.ok()) status_ = status;
      changed_.notify_all();
    }
    turnstile_.stop();
  }

  Status finish() {
    join();
    const MutexLock lock(mutex_);
    return status_;
  }

 private:
  struct Buffer {
    AlignedBuffer scratch;  // aligned, so that a leaf can bypass the page cache (Fs::create_large)
    FetchedLeaf leaf;
  };

  Buffer* free_front() {
    const MutexLock lock(mutex_);
    return free_.front();
  }

  void contained_work() {
    if (const Status status = contained([&] {
          work();
          return ok_status();
        });
        !status.ok())
      fail(status);
  }

  void work() {
    LeafEncoder encoder;
    for (;;) {
      Buffer* buffer = nullptr;
      {
        MutexLock lock(mutex_);
        while (ready_.empty() && !closed_ && status_.ok()) changed_.wait(lock);
        if (!status_.ok() || ready_.empty()) return;
        buffer = ready_.front();
        ready_.pop_front();
      }
      if (Status status = store_(buffer->leaf, encoder); !status.ok()) return fail(status);
      const MutexLock lock(mutex_);
      free_.push_back(buffer);
      changed_.notify_all();
    }
  }

  void join() {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
      changed_.notify_all();
    }
    threads_.join();
  }

  const LeafStore& store_;
  Turnstile& turnstile_;
  Mutex mutex_;
  Condition changed_;
  std::deque<Buffer> buffers_;
  std::deque<Buffer*> free_ TITAN_GUARDED_BY(mutex_), ready_ TITAN_GUARDED_BY(mutex_);
  Status status_ TITAN_GUARDED_BY(mutex_);
  bool closed_ TITAN_GUARDED_BY(mutex_) = false;
  Helpers threads_;
};

// Does everything in the caller's thread, without copying leaves.
Status run_alone(const std::vector<ShardPiece>& pieces, const std::string& path, const LeafProvider& fetch,
                 const LeafStore& store) {
  LeafEncoder encoder;
  std::vector<std::byte> scratch(longest_leaf(pieces));
  std::uint64_t sequence = 0;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    for (std::uint64_t i = pieces[p].leaves.first; i < pieces[p].leaves.end(); ++i) {
      TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> raw,
                             fetch_checked(pieces[p], path, fetch, p, i, scratch));
      TITAN_RETURN_IF_ERROR(store({p, i, sequence++, raw}, encoder));
    }
  }
  return ok_status();
}

}  // namespace

Status run_leaf_pipeline(const std::vector<ShardPiece>& pieces, const std::string& path, const LeafProvider& fetch,
                         const LeafStore& store, unsigned threads, Turnstile& turnstile) {
  const auto workers = static_cast<unsigned>(std::min<std::uint64_t>(threads, count_leaves(pieces)));
  if (workers <= 1) return run_alone(pieces, path, fetch, store);
  Ring ring(store, workers, longest_leaf(pieces), turnstile);
  if (!ring.has_threads()) return run_alone(pieces, path, fetch, store);
  std::uint64_t sequence = 0;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    for (std::uint64_t i = pieces[p].leaves.first; i < pieces[p].leaves.end(); ++i) {
      const std::span<std::byte> scratch = ring.next_scratch();
      if (scratch.empty()) return ring.finish();
      const auto raw = fetch_checked(pieces[p], path, fetch, p, i, scratch);
      if (!raw.ok()) {
        ring.fail(raw.status());
        return ring.finish();
      }
      ring.push({p, i, sequence++, *raw});
    }
  }
  return ring.finish();
}

}  // namespace titan::ckpt
