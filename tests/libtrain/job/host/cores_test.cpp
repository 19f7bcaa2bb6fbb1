#include "libtrain/job/host/cores.h"

#include <sched.h>

#include <gtest/gtest.h>

#include <thread>

namespace titan::train::cores_test {
namespace {

TEST(Cores, AQuotaIsWholeCoresAndAtLeastOne) {
  EXPECT_EQ(cores_of_quota("max 100000"), std::nullopt);
  EXPECT_EQ(cores_of_quota(""), std::nullopt);
  EXPECT_EQ(cores_of_quota("200000 100000"), 2);
  EXPECT_EQ(cores_of_quota("250000 100000"), 2);
  EXPECT_EQ(cores_of_quota("50000 100000"), 1);
  EXPECT_EQ(cores_of_quota("200000 0"), std::nullopt);
}

TEST(Cores, TheAffinityCounts) {
  const int all = allowed_cores();
  EXPECT_GE(all, 1);
  int bound = 0;
  std::thread([&] {
    cpu_set_t set;
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    int first = 0;
    while (!CPU_ISSET(first, &set)) ++first;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    bound = allowed_cores();
  }).join();
  EXPECT_EQ(bound, 1);
}

TEST(Cores, ThreadsBeyondThemAreNamedWithWhatToDo) {
  EXPECT_EQ(too_many_threads(2, 1, {2}), "");
  EXPECT_EQ(too_many_threads(1, 4, {4}), "");
  EXPECT_EQ(too_many_threads(2, 4, {4, true}), "");
  EXPECT_EQ(too_many_threads(2, 2, {2}),
            "2 ranks x 2 threads on the 2 cores allowed here: they take turns; better job.threads_per_rank = 1");
  EXPECT_EQ(too_many_threads(500, 1, {2}),
            "500 ranks x 1 thread on the 2 cores allowed here: they take turns; better fewer ranks (--nproc)");
  EXPECT_EQ(too_many_threads(2, 4, {1, true}),
            "4 threads of each rank on the 1 core allowed here: they take turns; better job.threads_per_rank = 1");
}

}  // namespace
}  // namespace titan::train::cores_test
