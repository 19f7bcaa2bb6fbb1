// titan-train-fake: titan-train as it is, but that "cpu" is the fake device; a tool of tests/e2e and of a rehearsal of
// scripts/gpu-check.
#include "libtrain/engine/parallel/fabric_maker.h"
#include "tests/fake_device/fake_device.h"
#include "tests/fake_device/host_fabric.h"

namespace titan::test {
namespace {

// Before main.
const bool chosen = [] {
  train::use_device(new FakeDevice);
  train::use_fabrics([](const train::FabricRequest& request) -> std::unique_ptr<train::Fabric> {
    return std::make_unique<HostFabric>(request.gloo());
  });
  return true;
}();

}  // namespace
}  // namespace titan::test
