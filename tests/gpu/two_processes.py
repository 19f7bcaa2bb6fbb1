"""Whether NCCL connects two processes on one GPU: each is a host of its own (NCCL_HOSTID), and they meet over loopback. Prints one JSON line."""
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

from device import need_gpu, tell, words


def rank(number, port, results):
    os.environ |= {"NCCL_HOSTID": f"titan-rank-{number}", "NCCL_IB_DISABLE": "1", "NCCL_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    dist.init_process_group("nccl", rank=number, world_size=2, device_id=torch.device("cuda:0"))
    mine, theirs = torch.full((1 << 20,), float(number), device="cuda"), torch.empty(1 << 20, device="cuda")
    for _ in range(2):  # the first one connects
        torch.cuda.synchronize()
        began = time.perf_counter()
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, 1 - number), dist.P2POp(dist.irecv, theirs, 1 - number)]):
            work.wait()
        torch.cuda.synchronize()
        spent = time.perf_counter() - began
    assert bool((theirs == 1 - number).all()), "what came is not what was sent"
    results[number] = spent
    dist.destroy_process_group()


if __name__ == "__main__":
    need_gpu()
    port, = words()
    with processes.Manager() as manager:
        results = manager.dict()
        try:
            processes.spawn(rank, (port, results), nprocs=2)
        except Exception as error:
            sys.exit(f"NCCL does not connect two processes on this GPU: {str(error).strip().splitlines()[-1]}")
        tell({"seconds_of_4_mib_each_way": max(results.values())})
