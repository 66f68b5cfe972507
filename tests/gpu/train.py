"""train.py JOB STEPS [--profile TRACE]: trains a small model on the GPU: eager, compiled, graphs (CUDA graphs), streams (a copy stream beside), nccl (one rank).
Everything is seeded, so that two runs launch the same kernels. Prints the median step. With --profile, PyTorch's profiler writes TRACE of all of it."""
import os
import statistics
import sys
import time

import torch


def model():
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 4096), torch.nn.ReLU(),
                               torch.nn.Linear(4096, 1024)).cuda()


def one_step(net, optimizer, x, y):
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


def make(job):
    net = model()
    step_net = torch.compile(net) if job == "compiled" else net
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(256, 1024, device="cuda"), torch.randn(256, 1024, device="cuda")
    if job == "graphs":
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                one_step(net, optimizer, x, y)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            loss = torch.nn.functional.mse_loss(net(x), y)
            loss.backward()
        def replayed():
            graph.replay()
            optimizer.step()
        return replayed
    if job == "streams":
        copies = torch.cuda.Stream()
        host = torch.randn(256, 1024).pin_memory()
        def overlapped():
            with torch.cuda.stream(copies):
                fresh = host.to("cuda", non_blocking=True)
            torch.cuda.current_stream().wait_stream(copies)
            fresh.record_stream(torch.cuda.current_stream())
            one_step(net, optimizer, fresh, y)
        return overlapped
    if job == "nccl":
        import torch.distributed as dist
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29517")
        dist.init_process_group("nccl", rank=0, world_size=1)
        def reduced():
            one_step(net, optimizer, x, y)
            for parameter in net.parameters():
                dist.all_reduce(parameter.grad)
        return reduced
    return lambda: one_step(step_net, optimizer, x, y)


def run(job, steps):
    step = make(job)
    torch.cuda.synchronize()
    lengths = []
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        lengths.append(time.perf_counter() - begin)
    return 1000 * statistics.median(lengths[min(5, steps - 1):])


def main():
    job, steps = sys.argv[1], int(sys.argv[2])
    if "--profile" in sys.argv:
        from torch.profiler import ProfilerActivity, profile
        torch.zeros(1, device="cuda")
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            ms = run(job, steps)
        profiler.export_chrome_trace(sys.argv[sys.argv.index("--profile") + 1])
    else:
        torch.zeros(1, device="cuda")
        ms = run(job, steps)
    print(f"step_ms={ms:.4f}")
    if job == "nccl":
        torch.distributed.destroy_process_group()


main()
