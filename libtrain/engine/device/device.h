#pragma once
// The device that holds a process's tensors. There is one per process, chosen before the first tensor is made.
//
// Code outside this folder makes its tensors with options(), and touches values only on the host: it writes them
// through host_for() and upload(), and reads them through to_host(). On the CPU these copy nothing.
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

/// A mark after the work that has been begun on a device. A copy that waits for the mark reads the values that this
/// work leaves.
class Fence {
 public:
  virtual ~Fence() = default;
};

/// Approximate numbers of kernel launches: of a layer's backward, of a transfer, and of a weight product with its sum.
inline constexpr std::size_t kLaunchesOfLayer = 100, kLaunchesOfTransfer = 4, kLaunchesOfProduct = 5;

/// In bytes. A value is 0 if the device does not count it.
struct MemoryFigures {
  std::size_t tensors = 0;  ///< the most that tensors have held at one time
  std::size_t kept = 0;     ///< what the allocator reserved beyond `tensors`, at the two peaks
  std::size_t total = 0;    ///< memory of the device, if it has memory of its own
};

/// One function for each thing that other code may ask of a device.
class Device {
 public:
  virtual ~Device() = default;
  /// LibTorch's device of its tensors.
  virtual at::Device place() const = 0;
  at::TensorOptions options(at::ScalarType type) const;
  /// For metrics: "cpu", "NVIDIA H100 80GB HBM3".
  virtual std::string name() const = 0;
  /// The identity of the device among all devices anywhere: a GPU's UUID. Empty for a device that processes share (the
  /// CPU).
  virtual std::string unit() const { return {}; }
  /// What results depend on because of this device: rows such as "device" and versions of its libraries. They are added
  /// to the host's rows in a checkpoint's environment, or replace them.
  virtual ckpt::Settings environment() const { return {}; }
  virtual MemoryFigures memory() const = 0;

  /// Host memory from which copies to and from the device are fastest: pinned memory, if the device knows it.
  virtual std::shared_ptr<std::byte[]> host_memory(std::size_t bytes);
  /// A tensor in such memory, to be filled and given to from_host().
  virtual at::Tensor host_tensor(at::IntArrayRef sizes, at::ScalarType type);

  /// A contiguous host tensor with the shape and type of `values`, to be filled and given to upload(). Returns `values`
  /// itself if the host can write to it.
  virtual at::Tensor host_for(const at::Tensor& values) = 0;
  /// Copies `host`, which host_for(values) returned, to `values`. `host` may be freed at once. Any thread.
  virtual void upload(const at::Tensor& host, const at::Tensor& values) = 0;
  /// Copies a host tensor to the device; returns `host` itself on the CPU. Returns at once; the caller must not change
  /// `host` afterwards.
  virtual at::Tensor from_host(at::Tensor host) = 0;

  /// The values as a contiguous host tensor; `values` itself if it is one. Only this call and read() read values from
  /// the device.
  virtual at::Tensor to_host(const at::Tensor& values) = 0;
  /// The values of one-element fp64 tensors, all in one transfer.
  virtual std::vector<double> read(std::span<const at::Tensor> scalars) = 0;

  /// Call this before each piece of a step; `launches` is about how many kernels the piece launches. Returns when the
  /// device has done all but the newest few hundred earlier launches, and checks meanwhile whether peers are alive.
  /// Without it the host would run a step ahead and hold the tensors of all micro-batches; it would then block in the
  /// driver, whose queue is full, and not notice that a peer is gone.
  virtual void keep_pace(std::size_t launches);

  /// A second queue of work next to the run's. One caller gives work to it and waits for it.
  virtual std::unique_ptr<Lane> make_lane() = 0;

  /// For a saver: a mark after all work begun so far. Null on a device whose calls return when their work is done.
  virtual std::shared_ptr<Fence> fence() = 0;
  /// Copies a contiguous tensor to `to` once the work before `fence` is done, and waits for no other work. Any thread.
  virtual void copy_out(const at::Tensor& values, std::span<std::byte> to, const Fence* fence) = 0;

  /// The bytes of a contiguous tensor that nothing writes to: in place if the host can read them, else copied to
  /// `scratch`.
  virtual std::span<const std::byte> bytes(const at::Tensor& values, std::span<std::byte> scratch);

  /// The kernels of the device. They live as long as the device.
  virtual Kernels& kernels() = 0;
};

/// The device of this process: the CPU unless use_device() has set another.
Device& device();
/// Sets the device of this process; null: the CPU. Call it before the first tensor is made. `chosen` must outlive all
/// tensors.
void use_device(Device* chosen);

}  // namespace titan::train
