"""Databases and tables: Nsight Systems, rocprof (v1), rocprofv3's CSV."""
import csv
import gzip
import re
import sqlite3
import tempfile

from recounts import Recount
from recounts.chrome import rocm_name


def open_database(path):
    if path.suffix != ".gz":
        return sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    unpacked = tempfile.NamedTemporaryFile()
    unpacked.write(gzip.decompress(path.read_bytes()))
    unpacked.flush()
    database = sqlite3.connect(unpacked.name)
    database.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opened before the file goes
    return database


def tables_of(database):
    return {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def nsys(path):
    """Each table of intervals by name; a call's version (`_v3020`) is no part of its name."""
    count = Recount()
    database = open_database(path)
    there = tables_of(database)
    text = dict(database.execute("SELECT id, value FROM StringIds"))

    def add(table, name, kind, condition="1", name_of=lambda text: text):
        if table in there:
            for value, length in database.execute(f'SELECT {name}, "end" - start FROM {table} WHERE {condition}'):
                value = text.get(value, "?") if isinstance(value, int) else value
                count.slice(name_of(value), length or 0, kind)

    add("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId", "runtime", name_of=lambda name: re.sub(r"_v\d+$", "", name))
    add("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName", "kernel")
    add("OSRT_API", "nameId", "event")
    add("NVTX_EVENTS", "coalesce(text, textId)", "annotation", 'eventType = 59 AND "end" IS NOT NULL')
    for table, kind in (("CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy"), ("CUPTI_ACTIVITY_KIND_MEMSET", "memset")):
        if table in there:
            for (length,) in database.execute(f'SELECT "end" - start FROM {table}'):
                count.slice(None, length, kind)
    return count


def rocprof(path):
    """rocprof (v1): a table a kind of record."""
    count = Recount()
    database = open_database(path)
    there = tables_of(database)
    kinds = {"HIP": "runtime", "HSA": "runtime", "KERN": "kernel", "COPY": "memcpy", "OPS": "kernel"}
    for table, kind in kinds.items():
        columns = {row[1] for row in database.execute(f"PRAGMA table_info({table})")} if table in there else ()
        if "BeginNs" not in columns:
            continue
        name = "KernelName" if "KernelName" in columns else "Name"
        for value, length in database.execute(f"SELECT {name}, EndNs - BeginNs FROM {table}"):
            count.slice(rocm_name(value.strip('"')), length, kind)
    return count


def rocprof_csv(path):
    """A row is a record; what a table is of, its columns say."""
    count = Recount()
    with open(path, newline="", encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            begin, end = row.get("Start_Timestamp") or row.get("BeginNs"), row.get("End_Timestamp") or row.get("EndNs")
            if begin is None:
                continue
            name = row.get("Kernel_Name") or row.get("KernelName") or row.get("Function") or row.get("Direction")
            if row.get("Operation") or not name:  # an allocation has no name
                count.memory = ((count.memory or (0, 0))[0] + 1, None)
            else:
                count.slice(rocm_name(name), int(end) - int(begin))
    return count
