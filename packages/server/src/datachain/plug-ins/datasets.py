"""Prepares the team's warehouse for a job. All of it runs inside the job's sandbox, with the job's own rights.

Run as a program before the query, it creates or checks the team's warehouse. If the warehouse cannot be used, it prints the
reason and exits with code 1. It imports the datachain library only to create a warehouse, because the import takes a second.

Loaded as a plug-in of the library during the query, its `register` makes in-memory sessions work as they do locally.
"""

import json
import os
import sqlite3
import stat
import sys

# JSON file with the job and its creator's namespace, as rows of the library's tables. The server writes it next to this file.
record = os.path.join(os.path.dirname(os.path.abspath(__file__)), "datasets.json")

bring_back = "An admin of the team can replace the warehouse with its newest daily copy."


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(1)


def library_version():
    """Returns the installed library version from the name of its .dist-info folder: importlib.metadata is much slower."""
    for folder in sys.path:
        if folder.endswith("site-packages"):
            for name in os.listdir(folder):
                if name.startswith("datachain-") and name.endswith(".dist-info"):
                    return name[len("datachain-") : -len(".dist-info")]
    fail("The library datachain is not installed in this job's environment. Add it to the job's requirements.")


def numbers(version):
    return [int(part) if part.isdigit() else 0 for part in version.split(".")[:3]]


def read_mark(path):
    """Returns the version in the mark file, or "". Any job of the team can replace the file, so links and pipes are refused."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ""
    except OSError as error:
        fail(f"The team's warehouse is damaged: {path}: {error.strerror}. Remove this file. If jobs still fail: {bring_back}")
    with os.fdopen(file, "rb") as mark:
        if not stat.S_ISREG(os.fstat(mark.fileno()).st_mode):
            fail(f"The team's warehouse is damaged: {path} is not a plain file. Remove this file. If jobs still fail: {bring_back}")
        return mark.read(64).decode("utf-8", "replace").strip()


def check_version(folder, version):
    """Fails if a newer version of the library has written the warehouse: older versions cannot read it."""
    mark = os.path.join(folder, "library")
    newest = read_mark(mark)
    if newest and numbers(newest) > numbers(version):
        fail(
            f"The team's datasets were last written with datachain {newest}, and this job has {version}, which is older. "
            f"Require datachain=={newest} in the job's requirements, or datachain without a version."
        )
    if newest != version:
        draft = f"{mark}.{os.getpid()}"
        with open(draft, "w", encoding="utf-8") as file:
            file.write(version + "\n")
        os.replace(draft, mark)


def make(paths):
    """Creates the warehouse. Its files are group-writable: jobs of one team run as different users in the same group."""
    for path in paths:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o660))
    from datachain.catalog import get_catalog

    get_catalog().close()


def is_made(path):
    if not os.path.lexists(path):
        return False
    with open_store(path) as db:
        return db.execute("select 1 from sqlite_master where type = 'table' and name = 'meta'").fetchone() is not None


class open_store:
    def __init__(self, path):
        if os.path.islink(path) or not os.path.isfile(path):
            raise sqlite3.DatabaseError("a database file in it is not a plain file")
        self.db = sqlite3.connect(path, timeout=60, isolation_level=None)

    def __enter__(self):
        self.db.execute("pragma trusted_schema = off")
        return self.db

    def __exit__(self, *_):
        self.db.close()


def insert(db, table, row):
    """Inserts a row unless it exists. Values whose column this version of the table lacks are left out."""
    names = [name for name in (column[1] for column in db.execute(f"pragma table_info({table})")) if name in row]
    columns = ", ".join(f'"{name}"' for name in names)
    marks = ", ".join("?" for _ in names)
    db.execute(f"insert or ignore into {table} ({columns}) values ({marks})", [row[name] for name in names])


def read_record():
    with open(record, encoding="utf-8") as file:
        return json.load(file)


def register():
    """Makes in-memory sessions usable. By default the library refuses them if an environment variable names a database file, and
    refuses any session whose database has no row for the job. So this function ignores the variable and inserts the row."""
    try:
        from datachain.data_storage import sqlite

        named_file, init = sqlite.get_db_file_in_memory, sqlite.SQLiteMetastore.__init__
    except (ImportError, AttributeError):
        return  # This library version has other internal names. In-memory sessions fail with it; all others work.

    def file_or_memory(db_file=None, in_memory=False):
        return named_file(None if in_memory else db_file, in_memory)

    def init_with_job(self, *args, **kwargs):
        init(self, *args, **kwargs)
        if getattr(self.db, "db_file", None) == ":memory:":
            job = read_record()
            insert(self.db.db, "namespaces", job["namespace"])
            insert(self.db.db, "jobs", job["job"])

    sqlite.get_db_file_in_memory = file_or_memory
    sqlite.SQLiteMetastore.__init__ = init_with_job


def begin_again(db, job):
    """Sets a retried job back to running: its row in the warehouse still says that the previous attempt failed."""
    db.execute(
        "update jobs set status = ?, finished_at = null, error_message = '' where id = ? and status <> ?",
        [job["status"], job["id"], job["status"]],
    )


def main():
    job = read_record()
    os.umask(0o007)
    # Check the library version before touching the warehouse.
    version = library_version()
    if numbers(version) < numbers(job["oldest_library"]):
        fail(
            f"This job has datachain {version}, and Millrace works with {job['oldest_library']} or newer: older releases keep "
            "datasets in tables that Millrace cannot read. Require a newer version, or datachain without a version."
        )
    metadata = os.environ["DATACHAIN_METASTORE_ARG_DB_FILE"]
    rows = os.environ["DATACHAIN_WAREHOUSE_ARG_DB_FILE"]
    gone = f"{bring_back} The job was not run: it would have started with an empty warehouse."
    try:
        made = is_made(metadata) and os.path.isfile(rows)
    except sqlite3.DatabaseError as error:
        fail(f"The team's warehouse is damaged: {error}. {gone}")
    if job["made"] and not made:
        fail(f"The team's warehouse is gone. {gone}")
    check_version(os.path.dirname(metadata), version)
    if not made:
        make([metadata, rows])
    try:
        with open_store(metadata) as db:
            insert(db, "namespaces", job["namespace"])
            insert(db, "jobs", job["job"])
            begin_again(db, job["job"])
    except sqlite3.Error as error:
        fail(f"The team's warehouse cannot be used: {error}. {gone}")


if __name__ == "__main__":
    main()
