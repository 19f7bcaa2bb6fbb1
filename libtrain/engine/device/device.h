#pragma once
// Where tensors lie. One per process, chosen before the first tensor is made.
//
// Code outside this folder makes its tensors with options(), and touches values only on the host: what it writes goes
// through host_for() and upload(), what it reads comes from to_host(). On the CPU these copy nothing.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "ckpt/model/settings.h"
#include "libtrain/engine/device/kernels.h"
#include "libtrain/engine/device/lane.h"

namespace titan::train {

/// Work that was begun on a device, as a saver sees it: copies that wait for it find the values that it leaves.
class Fence {
 public:
  virtual ~Fence() = default;
};

/// Launches, about, of a layer backward, of a transfer, and of a product of weights with its sum.
inline constexpr std::size_t kLaunchesOfLayer = 100, kLaunchesOfTransfer = 4, kLaunchesOfProduct = 5;

/// In bytes; 0 where nobody counts.
struct MemoryFigures {
  std::size_t tensors = 0;  ///< the most that have lived at one time
  std::size_t kept = 0;     ///< what the allocator had beyond these at its highest
  std::size_t total = 0;    ///< of a device with memory of its own
};

/// One function for each thing that other code may ask of a device.
class Device {
 public:
  virtual ~Device() = default;
  /// Of its tensors.
  virtual at::Device place() const = 0;
  at::TensorOptions options(at::ScalarType type) const;
  /// For metrics: "cpu", "NVIDIA H100 80GB HBM3".
  virtual std::string name() const = 0;
  /// Which one it is, of all in the world: a GPU's UUID. Empty where processes share it.
  virtual std::string unit() const { return {}; }
  /// What its results depend on beyond the host's rows of a checkpoint's environment, or in place of such: "device",
  /// versions of its libraries.
  virtual ckpt::Settings environment() const { return {}; }
  virtual MemoryFigures memory() const = 0;

  /// Memory of the host, of which copies to and from the device are fastest: pinned, where that is a thing.
  virtual std::shared_ptr<std::byte[]> host_memory(std::size_t bytes);
  /// The same as a tensor, to be filled and given to from_host().
  virtual at::Tensor host_tensor(at::IntArrayRef sizes, at::ScalarType type);

  /// A contiguous host tensor with the shape and type of `values`, to be filled and given to upload(). It is `values`
  /// itself where the host can write that.
  virtual at::Tensor host_for(const at::Tensor& values) = 0;
  /// Brings what host_for(values) returned to `values`. `host` may go at once. Any thread.
  virtual void upload(const at::Tensor& host, const at::Tensor& values) = 0;
  /// A host tensor on the device; itself where it is there already. The host goes on at once, and does not change
  /// `host` after it.
  virtual at::Tensor from_host(at::Tensor host) = 0;

  /// The values as a contiguous host tensor; itself where it is one. One of the two calls that read.
  virtual at::Tensor to_host(const at::Tensor& values) = 0;
  /// One-element fp64 tensors as numbers, all at once. The other one.
  virtual std::vector<double> read(std::span<const at::Tensor> scalars) = 0;

  /// Called before each piece of a step, which has about so many launches: returns when the device has done all but the
  /// newest few hundred of those before, and looks at the peers meanwhile. Otherwise the host would be a step ahead,
  /// with the tensors of all of its micro-batches, and would then stand in the driver, whose queue is full, and see
  /// nobody go.
  virtual void keep_pace(std::size_t launches);

  /// A row of work beside the run's, for one who gives and waits.
  virtual std::unique_ptr<Lane> make_lane() = 0;

  /// For a saver: what has been begun until now. Null where nothing is ever under way.
  virtual std::shared_ptr<Fence> fence() = 0;
  /// Copies a contiguous tensor to `to`, once the work before `fence` is done. Any thread; it waits for nothing else.
  virtual void copy_out(const at::Tensor& values, std::span<std::byte> to, const Fence* fence) = 0;

  /// The bytes of a contiguous tensor that nobody writes to: in place where the host sees them, else in `scratch`.
  virtual std::span<const std::byte> bytes(const at::Tensor& values, std::span<std::byte> scratch);

  /// What it computes. It lives as long as the device.
  virtual Kernels& kernels() = 0;
};

/// The CPU unless use_device() said otherwise.
Device& device();
/// Before the first tensor is made. Null: the CPU. `chosen` must outlive all tensors.
void use_device(Device* chosen);

}  // namespace titan::train
