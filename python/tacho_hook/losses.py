"""The losses of a job's backward passes, for `tacho optimize --verify`: what a plan does to them.

With TACHO_LOSSES, Tensor.backward() of PyTorch also keeps a copy of the number that it is called on. What it is, is asked when the process
ends, so that no device is waited for in a step; then the numbers are written into a file of that name, the rank and the pid: a line each, in
hexadecimal, so that no bit is lost.

(1) A pass that begins at more than one number, or by torch.autograd.backward(), has no loss here.
(2) Of a job that has very many passes, the first _MOST are kept.
"""

import atexit
import functools
import os

_MOST = 100000
_kept = []


def _write():
    try:
        rank = os.environ.get("RANK", "0")
        with open("%s.%s.%d" % (os.environ["TACHO_LOSSES"], rank, os.getpid()), "w") as file:
            file.writelines("%s\n" % float(loss).hex() for loss in _kept)
    except Exception:  # the job's results are not to suffer
        pass


def install(torch):
    backward = torch.Tensor.backward
    if getattr(backward, "_tacho_losses", False):
        return

    @functools.wraps(backward)
    def noted_backward(self, *arguments, **named):
        if len(_kept) < _MOST and self.numel() == 1:
            _kept.append(self.detach().clone())
        return backward(self, *arguments, **named)

    noted_backward._tacho_losses = True
    torch.Tensor.backward = noted_backward
    atexit.register(_write)
