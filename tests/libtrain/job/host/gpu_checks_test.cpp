#include "libtrain/job/host/gpu_checks.h"

#include <gmock/gmock.h>

namespace titan::train::gpu_checks_test {
namespace {

using testing::HasSubstr;

GpuFacts host_of(std::size_t gpus, const Gpu& gpu = {"NVIDIA H100 80GB HBM3", 85'000'000'000, 9, 0}) {
  return {
      .torch = "2.11.0", .driver = 13000, .runtime = 13000, .gpus = std::vector<Gpu>(gpus, gpu), .no_gpu_reason = ""};
}

std::string refusal(const GpuFacts& facts, int ranks = 1) {
  const ckpt::Status status = check_gpus(facts, ranks);
  EXPECT_TRUE(status.ok() || status.code == ckpt::Code::kInvalid);
  EXPECT_TRUE(status.ok() || !status.hint.empty());
  return status.message;
}

TEST(GpuChecks, HostWithEnoughAlikeGpusIsFine) {
  EXPECT_EQ(refusal(host_of(8), 8), "");
  EXPECT_EQ(refusal(host_of(8), 3), "");
}

TEST(GpuChecks, NoDriver) {
  GpuFacts facts = host_of(0);
  facts.driver = 0;
  EXPECT_EQ(refusal(facts), "no CUDA device: there is no NVIDIA driver (libcuda.so.1) on this host");
  EXPECT_THAT(check_gpus(facts, 1).hint, HasSubstr("--training.device=cpu"));
}

TEST(GpuChecks, DriverOfAnOlderCuda) {
  GpuFacts facts = host_of(8);
  facts.driver = 12090;
  EXPECT_THAT(refusal(facts), HasSubstr("the NVIDIA driver is for CUDA 12.9, LibTorch needs CUDA 13"));
  facts.driver = 13020;
  EXPECT_EQ(refusal(facts), "");
  facts.runtime = 13010;
  facts.driver = 13000;
  EXPECT_EQ(refusal(facts), "") << "the same major version";
}

TEST(GpuChecks, NoGpuThatMayBeUsed) {
  GpuFacts facts = host_of(0);
  facts.no_gpu_reason = "no CUDA-capable device is detected";
  EXPECT_THAT(refusal(facts), HasSubstr("the driver shows none (no CUDA-capable device is detected)"));
  EXPECT_THAT(check_gpus(facts, 1).hint, HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST(GpuChecks, MoreRanksThanGpus) {
  EXPECT_EQ(refusal(host_of(4), 8), "8 ranks on this host, and 4 GPUs: each rank needs one of its own");
  EXPECT_EQ(refusal(host_of(1), 2), "2 ranks on this host, and 1 GPU: each rank needs one of its own");
  EXPECT_THAT(check_gpus(host_of(4), 8).hint, HasSubstr("--nproc 4"));
  EXPECT_EQ(refusal(host_of(4), 4), "");
}

TEST(GpuChecks, GpusOfTwoModels) {
  GpuFacts facts = host_of(4);
  facts.gpus[3].name = "NVIDIA A100-SXM4-80GB";
  EXPECT_EQ(refusal(facts, 4),
            "the GPUs of this host are not alike: NVIDIA H100 80GB HBM3 on GPUs 0-2; NVIDIA A100-SXM4-80GB on GPU 3");
  EXPECT_EQ(refusal(facts, 3), "") << "the fourth has no rank";
}

TEST(GpuChecks, GpuWithoutFlashAttention) {
  EXPECT_THAT(refusal(host_of(1, {"Tesla T4", 16'000'000'000, 7, 5})),
              HasSubstr("GPU 0, Tesla T4, has compute capability 7.5"));
  EXPECT_EQ(refusal(host_of(1, {"NVIDIA A100", 16'000'000'000, 8, 0})), "");
}

TEST(GpuChecks, ModuleOfAnotherLibTorch) {
  EXPECT_TRUE(check_module(host_of(1), "2.11.0").ok());
  const ckpt::Status status = check_module(host_of(1), "2.12.0");
  EXPECT_EQ(status.code, ckpt::Code::kInvalid);
  EXPECT_THAT(status.message, HasSubstr("built for LibTorch 2.11.0, and titan-train runs with 2.12.0"));
}

TEST(GpuChecks, RanksOfTwoModels) {
  EXPECT_TRUE(check_one_model({}).ok());
  EXPECT_TRUE(check_one_model({"H100", "H100"}).ok());
  const ckpt::Status status = check_one_model({"H100", "H200", "H200", "H100"});
  EXPECT_EQ(status.code, ckpt::Code::kInvalid);
  EXPECT_EQ(status.message, "the ranks' GPUs are not alike: H100 on ranks 0, 3; H200 on ranks 1-2");
}

TEST(GpuChecks, NcclThatCannotConnectSaysWhereToLook) {
  const ckpt::Status status = nccl_failure("data-parallel group of stage 1", 5, "unhandled system error");
  EXPECT_EQ(status.message,
            "NCCL cannot connect rank 5 with the data-parallel group of stage 1: unhandled system error");
  EXPECT_THAT(status.hint, HasSubstr("NCCL_SOCKET_IFNAME"));
}

TEST(GpuChecks, TheDriverIsNamedByItsOwnVersion) {
  EXPECT_EQ(
      driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root@h)"),
      "580.65.06");
  EXPECT_EQ(
      driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"),
      "535.104.05");
  for (const char* other : {"", "GCC version:  gcc version 12.3.0", "NVRM version: NVIDIA UNIX x86_64 Kernel Module",
                            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  unknown"})
    EXPECT_EQ(driver_version(other), "") << other;
}

TEST(GpuChecks, TwoRanksOnOneGpuAreNamed) {
  EXPECT_TRUE(check_own_gpus({"GPU-a", "GPU-b", "", ""}).ok());
  const ckpt::Status status = check_own_gpus({"GPU-a", "GPU-b", "GPU-c", "GPU-b"});
  EXPECT_EQ(status.code, ckpt::Code::kInvalid);
  EXPECT_EQ(status.message, "ranks 1, 3 have one GPU (GPU-b): each rank needs one of its own");
  EXPECT_NE(status.hint.find("LOCAL_RANK"), std::string::npos);
}

TEST(GpuChecks, AWorkspaceThatChangesBitsIsRefused) {
  for (const char* given : {static_cast<const char*>(nullptr), ":4096:8", ":16:8"})
    EXPECT_TRUE(check_workspace(given).ok());
  const ckpt::Status status = check_workspace(":0:0");
  EXPECT_EQ(status.code, ckpt::Code::kInvalid);
  EXPECT_EQ(status.message,
            "CUBLAS_WORKSPACE_CONFIG is \":0:0\"; with debug.deterministic it must be :4096:8 or :16:8");
}

TEST(GpuChecks, DriversThatDifferAreWarnedOf) {
  EXPECT_EQ(drivers_differ({"580.1", "580.1"}), "");
  EXPECT_EQ(drivers_differ({"580.1", "590.2", "580.1"}),
            "the ranks' GPU drivers are not alike: 580.1 on ranks 0, 2; 590.2 on rank 1; the checkpoint names that of "
            "rank 0");
}

TEST(GpuChecks, ATaskThatSeesOneGpuTakesThat) {
  EXPECT_EQ(gpu_of_rank({.gpus = {Gpu{}}}, 3), 0);
  EXPECT_EQ(gpu_of_rank({.gpus = {Gpu{}, Gpu{}, Gpu{}, Gpu{}}}, 3), 3);
}

TEST(GpuChecks, CudaVersionsAsPeopleWriteThem) {
  EXPECT_EQ(cuda_version(13000), "13.0");
  EXPECT_EQ(cuda_version(12080), "12.8");
}

}  // namespace
}  // namespace titan::train::gpu_checks_test
