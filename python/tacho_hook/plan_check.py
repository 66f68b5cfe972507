"""Run by `tacho apply` in the job's Python before the job: can this PyTorch carry out the plan?  plan_check.py PLAN

Exit status 0: yes, or there is no PyTorch here to ask; 1: no, and standard output says why.
"""

import os
import sys

if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from tacho_hook import plan_changes

    try:
        import torch
        import torch.distributed as dist

        if not dist.is_available():
            raise ImportError("it has no torch.distributed")
    except ImportError:
        sys.exit(0)
    with open(sys.argv[1]) as file:
        has_buckets = '"buckets"' in file.read()
    if has_buckets and not hasattr(dist.Reducer, "_rebuild_buckets"):
        print("buckets: PyTorch %s has a Reducer without _rebuild_buckets()" % torch.__version__)
        sys.exit(1)
    for name, value in plan_changes.read(sys.argv[1])[2].items():
        try:
            plan_changes.PARTS[name].check(value)
        except (ImportError, RuntimeError) as error:
            print("%s: PyTorch %s: %s" % (name, torch.__version__, str(error).splitlines()[0]))
            sys.exit(1)
