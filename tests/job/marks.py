"""marks.py: the marks of marks_job.c in Python. Prints the same whether it is recorded or not."""

import sys
import threading

from tacho import mark


@mark.range("decode")
def decode(number):
    mark.flow_begin("batch", number)
    return number


def consume():
    for i in range(3):
        with mark.range("consume", number=i + 1):
            if i == 1:
                mark.flow_step("batch", i)
            mark.flow_end("batch", i)


again = mark.range("again")
for i in range(3):
    with mark.range("step"):
        mark.step(i)
        with mark.range("load"):
            assert decode(i) == i
        mark.counter("loss", 1.5 / (i + 1))
        with again, again:  # one object, twice
            pass
requests = [mark.start("request", i + 1) for i in range(2)]
thread = threading.Thread(target=lambda: (requests[0].end(), consume()))
thread.start()
thread.join()
with requests[1]:
    pass
requests[1].end()  # again
try:
    with mark.range("failing"):
        raise KeyError("x")
except KeyError:
    pass
mark.moment("wörds", text="ünïcode")
# what is wrong is not recorded, and raises nothing
mark.counter("loss", "no number")
mark.counter(None, 1)
mark.moment("moment", first="x")
mark.flow_begin("batch", "x")
with mark.range(5):
    pass
print(decode.__name__, len(sys.argv))
