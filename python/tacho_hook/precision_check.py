"""Run by `tacho record --precision` in the job's Python before the job: can this PyTorch compute so here?  precision_check.py PRECISION

Exit status 0: yes, or there is no PyTorch here to ask; 1: no, and standard output says why.
"""

import os
import sys

if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from tacho_hook import precision_kernels

    try:
        import torch
    except ImportError:
        sys.exit(0)
    wanted = sys.argv[1]
    reason = precision_kernels.possible(torch, precision_kernels.devices(torch))[wanted]
    if reason is not None:
        print("PyTorch %s cannot compute in %s here: %s" % (torch.__version__, wanted, reason))
        sys.exit(1)
