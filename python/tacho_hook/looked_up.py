"""Classes' functions that tell of being looked up in an object, just before they are called. The job gets what was there, so its
tracebacks have no frames of this file.
"""


class _Told:
    def __init__(self, function, tell):
        self.function = function
        self.tell = tell

    def __get__(self, instance, owner=None):
        if instance is not None:
            try:
                self.tell(instance)
            except Exception:
                pass
        return self.function.__get__(instance, owner)


def tell_of(cls, name, tell):
    """Have `tell` called with each object of `cls` whose function `name` is looked up."""
    setattr(cls, name, _Told(cls.__dict__[name], tell))
