import json
import os
import time
import urllib.error
import urllib.request
from pathlib import Path

from driver import LINE, count_until, serve, until


def call(method, path, body=None):
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["API"] + path, data, headers, method=method)
    for _ in range(100):
        try:
            with urllib.request.urlopen(request, timeout=300) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code != 500:
                raise
            time.sleep(0.2)  # The database was locked.
    raise RuntimeError(f"{path} answers 500 again and again")


def run(dag, **params):
    return call("POST", f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None, "conf": params})["dag_run_id"]


def has_ended(dag, run):
    state = call("GET", f"/api/v2/dags/{dag}/dagRuns/{run}")["state"]
    if state == "failed":
        raise RuntimeError("the DAG run failed")
    return state == "success"


def run_to_end(dag, **params):
    dag_run = run(dag, **params)
    until(lambda: has_ended(dag, dag_run))
    return dag_run


def succeeded(dag):
    return call("GET", f"/api/v2/dags/{dag}/dagRuns?state=success&limit=1")["total_entries"]


def one(_):
    run_to_end("nothing")


def many(count):
    before = succeeded("nothing")
    for _ in range(count):
        run("nothing")  # One after another: SQLite refuses most requests that come at the same time.
    count_until(lambda: succeeded("nothing") - before, count, pause=0.5)


def chain(_):
    run_to_end("chain")


def kept_bytes(run):
    """Airflow keeps the log of a task in a file, and shows it from there. Each line has its time and level beside it."""
    (file,) = Path(os.environ["AIRFLOW__LOGGING__BASE_LOG_FOLDER"]).glob(f"*/run_id={run}/*/attempt=1.log")
    with file.open() as lines:
        return sum(len(LINE) for line in lines if LINE[:-1] in line)


def log(size):
    dag_run = run_to_end("write", size=size)
    return lambda: kept_bytes(dag_run)


token = ""
token = call("GET", "/auth/token")["access_token"]
serve(one=one, many=many, chain=chain, log=log)
