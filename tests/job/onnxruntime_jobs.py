"""Jobs of ONNX Runtime in Python, for onnxruntime_probe.sh: onnxruntime_jobs.py WAY MODEL. Prints the same with and without tacho."""

import sys
import threading
import traceback

import numpy
import onnxruntime

onnxruntime.set_default_logger_severity(3)
way, model = sys.argv[1:]
x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)


def new(options=None, path=model):
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def runs():
    session = new()
    for _ in range(10):
        print(session.run(None, {"x": x})[0].tolist())
    print(session.run(["y"], input_feed={"x": x}, run_options=onnxruntime.RunOptions())[0].shape)
    try:
        session.run(None, {"z": x})
    except Exception:
        print(traceback.format_exc().count("File "), sys.exc_info()[1])
    print(onnxruntime.InferenceSession.run.__name__, new(path=open(model, "rb").read()).run(None, {"x": x})[0].sum())


def own():
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = "own"
    session = new(options)
    session.run(None, {"x": x})
    print(session.end_profiling().startswith("own_"), options.enable_profiling)


def shared():
    """Options that several sessions have, and are as they were."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    sessions = [new(options), new(options)]
    for session in sessions:
        print(session.run(None, {"x": x})[0].sum())
    print(options.enable_profiling, options.profile_file_prefix, options.intra_op_num_threads)


def threads():
    session = new()
    totals = []

    def run_many():
        totals.append(sum(float(session.run(None, {"x": x})[0].sum()) for _ in range(100)))

    workers = [threading.Thread(target=run_many) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(totals)


{"runs": runs, "own": own, "shared": shared, "threads": threads}[way]()
