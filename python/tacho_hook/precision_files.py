"""Files of a rank in the run's folder: whole, or not there."""

import json
import os


def is_one_of_several():
    return os.environ.get("WORLD_SIZE", "1") != "1"


def write(name, content):
    """`content` as JSON into NAME.json, or NAME.RANK.json where there are several ranks, with an operation a line."""
    folder = os.environ.get("TACHO_RUN_DIR")
    if not folder:
        return
    if is_one_of_several():
        name = "%s.%s" % (name, os.environ.get("RANK", "0"))
    path = os.path.join(folder, name + ".json")
    operations = ",\n ".join(json.dumps(operation, allow_nan=False) for operation in content["operations"])
    head = json.dumps({key: value for key, value in content.items() if key != "operations"}, allow_nan=False)
    unfinished = "%s.%d.part" % (path, os.getpid())
    with open(unfinished, "w", encoding="utf-8") as file:
        file.write('%s, "operations": [\n %s]}\n' % (head[:-1], operations))
    os.rename(unfinished, path)
