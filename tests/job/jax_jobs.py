"""JAX jobs to record: each prints its losses, bit by bit, and how long a step took.

python3 jax_jobs.py jit|split|shard|pmap|profiled|processes [STEPS]
"""

import functools
import os
import socket
import subprocess
import sys
import time

WIDTH, BATCH = 256, 64
DEVICES = 4


def tell(losses, times):
    for loss in losses[-3:]:
        print("loss", float(loss).hex())
    times = sorted(end - begin for begin, end in zip(times[5:], times[6:]))
    if times:
        print("step_ms %.3f" % (1e3 * times[len(times) // 2]), file=sys.stderr)


def setup():
    import jax

    return jax, jax.numpy


def parameters(jax):
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    sizes = [(WIDTH, 512), (512, 512), (512, 1)]
    return [
        (jax.random.normal(key, size) * size[0] ** -0.5, jax.numpy.zeros(size[1]))
        for key, size in zip(keys, sizes)
    ]


def batch(jax, number, n=BATCH):
    inputs = jax.random.normal(jax.random.PRNGKey(100 + number), (n, WIDTH))
    return inputs, inputs[:, :8].sum(axis=1, keepdims=True)


def loss_of(jnp, state, inputs, targets):
    for number, (weights, bias) in enumerate(state):
        inputs = inputs @ weights + bias
        if number < 2:
            inputs = jnp.maximum(inputs, 0)
    return jnp.mean((inputs - targets) ** 2)


def update(jax, state, gradients):
    return jax.tree_util.tree_map(lambda value, slope: value - 0.01 * slope, state, gradients)


def run(jax, train_step, state, batches, steps):
    losses, times = [], []
    for number in range(steps):
        state, loss = train_step(state, *batches[number % len(batches)])
        losses.append(float(loss))
        times.append(time.perf_counter())
    tell(losses, times)
    return state


def make_step(jax):
    def train_step(state, inputs, targets):
        loss, gradients = jax.value_and_grad(functools.partial(loss_of, jax.numpy))(
            state, inputs, targets
        )
        return update(jax, state, gradients), loss

    return train_step


def jit(steps):
    jax, _ = setup()
    batches = [batch(jax, number) for number in range(4)]
    run(jax, jax.jit(make_step(jax), donate_argnums=0), parameters(jax), batches, steps)


def split(steps):
    """Gradients and update are functions of their own, and there is an evaluation now and then."""
    jax, jnp = setup()
    batches = [batch(jax, number) for number in range(4)]
    gradients_of = jax.jit(jax.value_and_grad(functools.partial(loss_of, jnp)))
    evaluate = jax.jit(functools.partial(loss_of, jnp))
    apply = jax.jit(functools.partial(update, jax))
    calls = [0]

    def train_step(state, inputs, targets):
        loss, gradients = gradients_of(state, inputs, targets)
        state = apply(state, gradients)
        calls[0] += 1
        if calls[0] % 5 == 0:
            evaluate(state, inputs, targets).block_until_ready()
        return state, loss

    run(jax, train_step, parameters(jax), batches, steps)


def with_devices():
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=%d" % DEVICES
    return setup()


def shard(steps):
    jax, jnp = with_devices()
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.make_mesh((DEVICES,), ("data",))
    rows, whole = PartitionSpec("data"), PartitionSpec()

    @jax.jit
    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(whole, rows, rows), out_specs=(whole, whole)
    )
    def train_step(state, inputs, targets):
        loss, gradients = jax.value_and_grad(
            lambda state: jax.lax.pmean(loss_of(jnp, state, inputs, targets), "data")
        )(state)
        return update(jax, state, gradients), loss

    batches = [
        jax.device_put(batch(jax, number), NamedSharding(mesh, rows)) for number in range(4)
    ]
    state = jax.device_put(parameters(jax), NamedSharding(mesh, whole))
    run(jax, train_step, state, batches, steps)


def pmap(steps):
    jax, jnp = with_devices()

    @functools.partial(jax.pmap, axis_name="data")
    def train_step(state, inputs, targets):
        loss, gradients = jax.value_and_grad(functools.partial(loss_of, jnp))(
            state, inputs, targets
        )
        gradients, loss = jax.lax.pmean((gradients, loss), "data")
        return update(jax, state, gradients), loss

    def spread(value):
        return value.reshape((DEVICES, -1) + value.shape[1:])

    batches = [tuple(map(spread, batch(jax, number))) for number in range(4)]
    state = jax.tree_util.tree_map(
        lambda value: jnp.broadcast_to(value, (DEVICES,) + value.shape), parameters(jax)
    )
    losses, times = [], []
    for number in range(steps):
        state, loss = train_step(state, *batches[number % len(batches)])
        losses.append(float(loss[0]))
        times.append(time.perf_counter())
    tell(losses, times)


def profiled(steps):
    """The job profiles itself, in the middle of it."""
    import glob
    import tempfile

    jax, _ = setup()
    batches = [batch(jax, number) for number in range(4)]
    train_step = jax.jit(make_step(jax))
    state = run(jax, train_step, parameters(jax), batches, 5)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            state = run(jax, train_step, state, batches, 5)
        print("profiles", len(glob.glob(folder + "/plugins/profile/*/*.xplane.pb")))
    run(jax, train_step, state, batches, steps)


def processes(steps):
    number = os.environ.get("JAX_JOB_PROCESS")
    if number is None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % free.getsockname()[1]
        children = [
            subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), "processes", str(steps)],
                env=dict(os.environ, JAX_JOB_PROCESS=str(index), JAX_JOB_ADDRESS=address),
            )
            for index in range(2)
        ]
        sys.exit(max(child.wait() for child in children))
    jax, jnp = setup()
    jax.distributed.initialize(os.environ["JAX_JOB_ADDRESS"], 2, int(number))
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    rows, whole = (NamedSharding(mesh, PartitionSpec(*spec)) for spec in (("data",), ()))

    def share(value):
        n = value.shape[0] // 2
        mine = value[n * int(number) : n * (int(number) + 1)]
        return jax.make_array_from_process_local_data(rows, mine)

    import numpy

    batches = [
        tuple(share(numpy.asarray(value)) for value in batch(jax, index)) for index in range(4)
    ]
    state = jax.tree_util.tree_map(
        lambda value: jax.make_array_from_process_local_data(whole, numpy.asarray(value)),
        parameters(jax),
    )
    train_step = jax.jit(make_step(jax), out_shardings=(whole, whole))
    run(jax, train_step, state, batches, steps)


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 40)
