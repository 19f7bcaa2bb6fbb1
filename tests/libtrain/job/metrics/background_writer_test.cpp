#include "libtrain/job/metrics/background_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace titan::train::background_writer_test {
namespace {

using namespace std::chrono_literals;
using ckpt::ok_status;
using ckpt::Status;
using Keep = BackgroundWriter::Keep;
using testing::ElementsAre;
using testing::HasSubstr;

Status disk_full() {
  Status status = ckpt::failed("disk full");
  status.error = ENOSPC;
  return status;
}

/// A store that keeps numbers: it may refuse them, or stand still.
class Store : public std::enable_shared_from_this<Store> {
 public:
  BackgroundWriter::Job put(int number) {
    return [self = shared_from_this(), number] { return self->take(number); };
  }
  void fill(bool full) {
    const std::lock_guard lock(mutex_);
    full_ = full;
  }
  void stand_still(bool still) {
    const std::lock_guard lock(mutex_);
    still_ = still;
    changed_.notify_all();
  }
  void await_question() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_ > 0; });
  }
  std::vector<int> numbers() {
    const std::lock_guard lock(mutex_);
    return numbers_;
  }

 private:
  Status take(int number) {
    std::unique_lock lock(mutex_);
    ++asked_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !still_; });
    if (full_) return disk_full();
    numbers_.push_back(number);
    return ok_status();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> numbers_;
  bool full_ = false, still_ = false;
  int asked_ = 0;
};

struct Heard {
  std::mutex mutex;
  std::vector<std::string> lines;
  BackgroundWriter::Options options() {
    BackgroundWriter::Options all;
    all.what = "lines";
    all.again = 10ms;
    all.say = [this](const std::string& line) {
      const std::lock_guard lock(mutex);
      lines.push_back(line);
    };
    return all;
  }
};

Status end(BackgroundWriter& writer, std::chrono::milliseconds timeout = 60s) {
  return writer.sync([] { return ok_status(); }, timeout);
}

TEST(BackgroundWriter, WritesInOrder) {
  const auto store = std::make_shared<Store>();
  Heard heard;
  BackgroundWriter writer(heard.options());
  for (int i = 1; i <= 3; ++i) writer.add(Keep::kAlways, 1, store->put(i));
  EXPECT_TRUE(end(writer).ok());
  EXPECT_THAT(store->numbers(), ElementsAre(1, 2, 3));
  EXPECT_TRUE(heard.lines.empty());
}

TEST(BackgroundWriter, WhatTheStoreRefusedIsWrittenWhenItTakesItAgain) {
  const auto store = std::make_shared<Store>();
  store->fill(true);
  Heard heard;
  {
    BackgroundWriter writer(heard.options());
    for (int i = 1; i <= 3; ++i) writer.add(Keep::kWhileThereIsRoom, 1, store->put(i));
    EXPECT_EQ(end(writer).error, ENOSPC) << "who asks for durability hears of it at once";
    store->fill(false);
    EXPECT_TRUE(end(writer).ok());
  }
  EXPECT_THAT(store->numbers(), ElementsAre(1, 2, 3));
  EXPECT_THAT(heard.lines, ElementsAre(HasSubstr("lines cannot be written, and waits in memory: disk full"),
                                       "lines is written again"));
}

TEST(BackgroundWriter, TheOldestThatMayGoGoesAndIsCounted) {
  const auto store = std::make_shared<Store>();
  store->fill(true);
  Heard heard;
  {
    BackgroundWriter::Options options = heard.options();
    options.limit = 30;
    BackgroundWriter writer(options);
    writer.add(Keep::kAlways, 10, store->put(1));
    EXPECT_FALSE(end(writer).ok());
    writer.add(Keep::kWhileThereIsRoom, 10, store->put(2));
    writer.add(Keep::kWhileThereIsRoom, 10, store->put(3));
    writer.add(Keep::kAlways, 10, store->put(4));
    writer.add(Keep::kWhileThereIsRoom, 10, store->put(5));
    store->fill(false);
    EXPECT_TRUE(end(writer).ok());
  }
  EXPECT_THAT(store->numbers(), ElementsAre(1, 4, 5));
  EXPECT_THAT(heard.lines.back(), HasSubstr("2 of the oldest entries had no room and are lost"));
}

TEST(BackgroundWriter, AStoreThatStandsStillHoldsUpNobodyButWhoAsksForDurability) {
  const auto store = std::make_shared<Store>();
  store->stand_still(true);
  Heard heard;
  const auto began = std::chrono::steady_clock::now();
  {
    BackgroundWriter writer(heard.options());
    for (int i = 1; i <= 1000; ++i) writer.add(Keep::kAlways, 1, store->put(i));
    store->await_question();
    EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
    const Status late = end(writer, 50ms);
    EXPECT_EQ(late.error, ETIMEDOUT);
    EXPECT_TRUE(late.store_refused()) << "as a store that may come back";
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 60s) << "nor its owner's end";
  store->stand_still(false);
}

TEST(BackgroundWriter, AtItsEndItWritesWhatAStoreTakes) {
  const auto store = std::make_shared<Store>();
  Heard heard;
  {
    BackgroundWriter writer(heard.options());
    for (int i = 1; i <= 100; ++i) writer.add(Keep::kAlways, 1, store->put(i));
  }
  EXPECT_EQ(store->numbers().size(), 100u);
}

TEST(BackgroundWriter, WhatAJobThrowsIsARefusal) {
  Heard heard;
  BackgroundWriter writer(heard.options());
  EXPECT_THAT(writer.sync([]() -> Status { throw std::runtime_error("no memory"); }, 60s).message,
              HasSubstr("no memory"));
  EXPECT_TRUE(end(writer).ok()) << "and it was taken back";
}

}  // namespace
}  // namespace titan::train::background_writer_test
