"""TensorFlow jobs to record: each prints its losses, bit by bit, and how long a step took.

python3 tensorflow_jobs.py fit|loop|eager|profiled|devices|workers|servers [STEPS]
"""

import json
import os
import socket
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

WIDTH, BATCH = 256, 64


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ["127.0.0.1:%d" % port for port in ports]


def start_cluster(mode, steps, cluster, task_type, index):
    environment = dict(os.environ)
    environment["TF_CONFIG"] = json.dumps(
        {"cluster": cluster, "task": {"type": task_type, "index": index}}
    )
    return subprocess.Popen(
        [sys.executable, os.path.abspath(__file__), mode, str(steps)], env=environment
    )


def run_cluster(mode, steps, cluster, wait_for):
    """Start the tasks; when those of the type `wait_for` have ended, end the others."""
    tasks = [
        (kind, start_cluster(mode, steps, cluster, kind, index))
        for kind in cluster
        for index in range(len(cluster[kind]))
    ]
    status = [task.wait() for kind, task in tasks if kind == wait_for]
    for kind, task in tasks:
        if kind != wait_for:
            task.terminate()
            task.wait()
    sys.exit(max(status))


def setup():
    import tensorflow as tf

    tf.keras.utils.set_random_seed(7)
    tf.config.experimental.enable_op_determinism()
    return tf


def data(tf, n=BATCH * 8):
    inputs = tf.random.stateless_normal([n, WIDTH], [1, 2])
    return inputs, tf.reduce_sum(inputs[:, :8], axis=1, keepdims=True)


def model(tf):
    return tf.keras.Sequential(
        [
            tf.keras.Input((WIDTH,)),
            tf.keras.layers.Dense(512, activation="relu"),
            tf.keras.layers.Dense(512, activation="relu"),
            tf.keras.layers.Dense(1),
        ]
    )


def tell(losses, times):
    for loss in losses:
        print("loss", float(loss).hex())
    times = sorted(end - begin for begin, end in zip(times[5:], times[6:]))
    if times:
        print("step_ms %.3f" % (1e3 * times[len(times) // 2]), file=sys.stderr)


def fit(steps):
    tf = setup()
    times = []

    class Clock(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            times.append(time.perf_counter())

    net = model(tf)
    net.compile(optimizer="sgd", loss="mse")
    dataset = tf.data.Dataset.from_tensor_slices(data(tf)).batch(BATCH).repeat()
    history = net.fit(
        dataset, steps_per_epoch=steps // 2, epochs=2, verbose=0, callbacks=[Clock()]
    )
    tell(history.history["loss"], times)


def make_step(tf, net, optimizer):
    def step(inputs, targets):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(inputs, training=True) - targets))
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        return loss

    return step


def run_steps(tf, step, steps):
    losses, times = [], []
    dataset = tf.data.Dataset.from_tensor_slices(data(tf)).batch(BATCH).repeat()
    for inputs, targets in dataset.take(steps):
        losses.append(step(inputs, targets).numpy())
        times.append(time.perf_counter())
    tell(losses[-3:], times)


def loop(steps):
    tf = setup()
    step = tf.function(make_step(tf, model(tf), tf.keras.optimizers.SGD(0.01)))
    run_steps(tf, step, steps)


def eager(steps):
    tf = setup()
    run_steps(tf, make_step(tf, model(tf), tf.keras.optimizers.SGD(0.01)), steps)


def profiled(steps):
    """The job profiles itself, in the middle of it."""
    import glob
    import tempfile

    tf = setup()
    step = tf.function(make_step(tf, model(tf), tf.keras.optimizers.SGD(0.01)))
    run_steps(tf, step, 5)
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        run_steps(tf, step, 5)
        tf.profiler.experimental.stop()
        print("profiles", len(glob.glob(folder + "/plugins/profile/*/*.xplane.pb")))
    run_steps(tf, step, steps)


def devices(steps):
    """Two devices of one process: the first layer is on one, the second on the other."""
    import tensorflow as tf

    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration(), tf.config.LogicalDeviceConfiguration()],
    )
    setup()
    with tf.device("CPU:0"):
        first = tf.Variable(tf.random.stateless_normal([WIDTH, 512], [3, 4]) * 0.05)
    with tf.device("CPU:1"):
        second = tf.Variable(tf.random.stateless_normal([512, 1], [5, 6]) * 0.05)

    @tf.function
    def step(inputs, targets):
        with tf.GradientTape() as tape:
            with tf.device("CPU:0"):
                hidden = tf.nn.relu(tf.matmul(inputs, first))
            with tf.device("CPU:1"):
                loss = tf.reduce_mean(tf.square(tf.matmul(hidden, second) - targets))
        for variable, gradient in zip((first, second), tape.gradient(loss, (first, second))):
            variable.assign_sub(0.001 * gradient)
        return loss

    run_steps(tf, step, steps)


def workers(steps):
    if "TF_CONFIG" not in os.environ:
        run_cluster("workers", steps, {"worker": free_ports(2)}, "worker")
    tf = setup()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        net = model(tf)
        optimizer = tf.keras.optimizers.SGD(0.01)
        optimizer.build(net.trainable_variables)
    step = make_step(tf, net, optimizer)

    @tf.function
    def distributed(inputs, targets):
        losses = strategy.run(step, args=(inputs, targets))
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)

    losses, times = [], []
    dataset = tf.data.Dataset.from_tensor_slices(data(tf)).batch(2 * BATCH).repeat()
    for inputs, targets in strategy.experimental_distribute_dataset(dataset.take(steps)):
        losses.append(distributed(inputs, targets).numpy())
        times.append(time.perf_counter())
    tell(losses[-3:], times)


def servers(steps):
    if "TF_CONFIG" not in os.environ:
        ports = free_ports(4)
        cluster = {"chief": ports[:1], "worker": ports[1:3], "ps": ports[3:]}
        run_cluster("servers", steps, cluster, "chief")
    tf = setup()
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type in ("worker", "ps"):
        tf.distribute.Server(
            resolver.cluster_spec(),
            job_name=resolver.task_type,
            task_index=resolver.task_id,
            protocol="grpc",
        ).join()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        first = tf.Variable(tf.random.stateless_normal([WIDTH, 512], [3, 4]) * 0.05)
        second = tf.Variable(tf.random.stateless_normal([512, 1], [5, 6]) * 0.05)
    inputs, targets = data(tf, BATCH)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(
                tf.square(tf.matmul(tf.nn.relu(tf.matmul(inputs, first)), second) - targets)
            )
        for variable, gradient in zip((first, second), tape.gradient(loss, (first, second))):
            variable.assign_sub(0.001 * gradient)
        return loss

    losses, times = [], []
    for _ in range(steps):
        result = coordinator.schedule(step)
        coordinator.join()
        losses.append(result.fetch())
        times.append(time.perf_counter())
    tell(losses[-3:], times)


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 40)
