#include "libtrain/job/launch/library_error.h"

#include <gtest/gtest.h>

namespace titan::train::library_error_test {
namespace {

constexpr const char* kCuda =
    "CUDA error: an illegal memory access was encountered\n"
    "Search for `cudaErrorIllegalAddress' in the documentation.\n"
    "\n"
    "Exception raised from query at /pytorch/c10/cuda/CUDAEvent.h:111 (most recent call first):\n"
    "frame #0: c10::Error::Error(...)\n";

TEST(LibraryError, TheFirstLineIsTheMessageAndTheStackIsLeftOut) {
  const ckpt::Status status = library_failure("rank 3", kCuda);
  EXPECT_EQ(status.code, ckpt::Code::kFailed);
  EXPECT_EQ(status.message, "rank 3: CUDA error: an illegal memory access was encountered");
  EXPECT_EQ(status.causes, std::vector<std::string>{"Search for `cudaErrorIllegalAddress' in the documentation."});
  EXPECT_EQ(without_stack(kCuda),
            "CUDA error: an illegal memory access was encountered\n"
            "Search for `cudaErrorIllegalAddress' in the documentation.");
}

TEST(LibraryError, OneLineStaysOne) {
  EXPECT_EQ(library_failure("NCCL", "bad file").message, "NCCL: bad file");
  EXPECT_TRUE(library_failure("NCCL", "bad file").causes.empty());
  EXPECT_EQ(without_stack("bad file"), "bad file");
}

TEST(LibraryError, AHeadingWithNothingBelowItIsNoCause) {
  const ckpt::Status status = library_failure("NCCL", "NCCL error\nncclSystemError: a call failed\nLast error:\n");
  EXPECT_EQ(status.causes, std::vector<std::string>{"ncclSystemError: a call failed"});
}

}  // namespace
}  // namespace titan::train::library_error_test
