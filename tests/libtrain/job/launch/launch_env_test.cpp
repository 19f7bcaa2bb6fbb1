#include "libtrain/job/launch/launch_env.h"

#include <gtest/gtest.h>
#include <map>

namespace titan::train::launch_env_test {
namespace {

using Variables = std::map<std::string, std::string>;

ckpt::Result<std::optional<LaunchEnv>> read(const Variables& variables) {
  return read_launch_env([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

const Variables kTorchrun{{"RANK", "3"},
                          {"WORLD_SIZE", "4"},
                          {"LOCAL_RANK", "1"},
                          {"LOCAL_WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "n01"},
                          {"MASTER_PORT", "29512"},
                          {"TORCHELASTIC_RESTART_COUNT", "2"},
                          {"TORCHELASTIC_RUN_ID", "job7"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "True"}};

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

TEST(LaunchEnv, NothingSetMeansNoContract) {
  for (const Variables& variables :
       {Variables{}, Variables{{"RANK", ""}, {"WORLD_SIZE", ""}}, Variables{{"MASTER_ADDR", "n01"}},
        Variables{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_JOB_ID", "9"}},
        Variables{{"SLURM_NTASKS", "8"}},
        Variables{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"}},
        Variables{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}}) {
    const auto result = read(variables);
    ASSERT_TRUE(result.ok()) << result.status().to_string();
    EXPECT_FALSE(result->has_value());
  }
}

TEST(LaunchEnv, ReadsTorchrunsVariables) {
  const auto result = read(kTorchrun);
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  ASSERT_TRUE(result->has_value());
  const LaunchEnv& env = **result;
  EXPECT_EQ(env.rank, 3);
  EXPECT_EQ(env.world, 4);
  EXPECT_EQ(env.local_rank, 1);
  EXPECT_EQ(env.local_world, 2);
  EXPECT_EQ(env.master_addr, "n01");
  EXPECT_EQ(env.master_port, 29512);
  EXPECT_EQ(env.restart_count, 2u);
  EXPECT_EQ(env.run_id, "job7");
  EXPECT_EQ(env.source, "torchrun");
  EXPECT_TRUE(env.agent_store);
  EXPECT_EQ(env.master_fd, -1);
}

TEST(LaunchEnv, ReadsOurOwnLaunchersVariables) {
  Variables variables{{"RANK", "0"},
                      {"WORLD_SIZE", "2"},
                      {"LOCAL_RANK", "0"},
                      {"LOCAL_WORLD_SIZE", "2"},
                      {"MASTER_ADDR", "127.0.0.1"},
                      {"MASTER_PORT", "4001"},
                      {"TITAN_LAUNCHER_PID", "77"},
                      {"TITAN_RUN_ID", "ab"},
                      {"TITAN_MASTER_FD", "5"},
                      {"TITAN_THREADS_PER_RANK", "3"}};
  const auto first = read(variables);
  ASSERT_TRUE(first.ok() && first->has_value());
  EXPECT_EQ((*first)->source, "titan");
  EXPECT_EQ((*first)->run_id, "ab");
  EXPECT_EQ((*first)->master_fd, 5);
  EXPECT_EQ((*first)->threads, 3);
  EXPECT_EQ((*read(without(variables, "TITAN_LAUNCHER_PID")))->threads, 0) << "only our launcher decides for its ranks";
  const auto second = read(with(with(variables, "RANK", "1"), "LOCAL_RANK", "1"));
  ASSERT_TRUE(second.ok() && second->has_value());
  EXPECT_EQ((*second)->master_fd, -1) << "only rank 0 inherits the socket";
}

TEST(LaunchEnv, WinsOverSlurmAndOpenMpi) {
  Variables variables = with(with(kTorchrun, "SLURM_PROCID", "0"), "SLURM_NTASKS", "2");
  variables = with(with(variables, "OMPI_COMM_WORLD_RANK", "1"), "OMPI_COMM_WORLD_SIZE", "2");
  const auto result = read(variables);
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ((*result)->rank, 3);
}

TEST(LaunchEnv, DerivesTheLocalRankFromALoopbackMaster) {
  Variables variables = without(without(kTorchrun, "LOCAL_RANK"), "LOCAL_WORLD_SIZE");
  const auto far = read(variables);
  ASSERT_TRUE(far.ok());
  EXPECT_EQ((*far)->local_world, 1);
  const auto near = read(with(variables, "MASTER_ADDR", "localhost"));
  ASSERT_TRUE(near.ok());
  EXPECT_EQ((*near)->local_world, 4);
  EXPECT_EQ((*near)->local_rank, 3);
}

struct Refused {
  const char* name;
  Variables variables;
  const char* expected;  // part of the message
};

class LaunchEnvRefuses : public testing::TestWithParam<Refused> {};

TEST_P(LaunchEnvRefuses, AndNamesTheVariable) {
  const auto result = read(GetParam().variables);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code, ckpt::Code::kInvalid);
  EXPECT_NE(result.status().message.find(GetParam().expected), std::string::npos) << result.status().to_string();
}

INSTANTIATE_TEST_SUITE_P(
    Contract, LaunchEnvRefuses,
    testing::Values(
        Refused{"rank_missing", without(kTorchrun, "RANK"), "WORLD_SIZE is set, RANK is not"},
        Refused{"world_missing", without(kTorchrun, "WORLD_SIZE"), "RANK is set, WORLD_SIZE is not"},
        Refused{"address_missing", without(kTorchrun, "MASTER_ADDR"), "MASTER_ADDR is not"},
        Refused{"port_missing", without(kTorchrun, "MASTER_PORT"), "MASTER_PORT is not"},
        Refused{"local_rank_missing", without(kTorchrun, "LOCAL_RANK"), "LOCAL_RANK is not"},
        Refused{"local_world_missing", without(kTorchrun, "LOCAL_WORLD_SIZE"), "LOCAL_WORLD_SIZE is not"},
        Refused{"only_local_rank", {{"LOCAL_RANK", "0"}}, "LOCAL_RANK is set, RANK is not"},
        Refused{"rank_too_large", with(kTorchrun, "RANK", "4"), "RANK='4': expected an integer from 0 to 3"},
        Refused{"rank_is_text", with(kTorchrun, "RANK", "1x"), "RANK='1x'"},
        Refused{"world_is_zero", with(kTorchrun, "WORLD_SIZE", "0"), "WORLD_SIZE='0'"},
        Refused{"port_too_large", with(kTorchrun, "MASTER_PORT", "70000"), "MASTER_PORT='70000'"},
        Refused{"local_rank_too_large", with(kTorchrun, "LOCAL_RANK", "2"), "LOCAL_RANK='2'"},
        Refused{"slurm_tasks", {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}, "Slurm started 2 tasks"},
        Refused{"slurm_step",
                {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}},
                "Slurm started 3 tasks"},
        Refused{
            "open_mpi", {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}, "Open MPI started 4 tasks"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(LaunchEnv, SaysWhatToSetForForeignTasks) {
  const auto result = read({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().hint.find("RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE"),
            std::string::npos);
}

}  // namespace
}  // namespace titan::train::launch_env_test
