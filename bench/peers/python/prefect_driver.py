import os
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
from driver import LINE, count_until, serve, until

api = httpx.Client(base_url=os.environ["PREFECT_API_URL"], timeout=300)


def call(method, path, **body):
    while True:
        answer = api.request(method, path, json=body or None)
        if answer.status_code != 503:
            answer.raise_for_status()
            return answer.json()
        time.sleep(0.2)  # The database was locked; Prefect's own client tries again, too.


def run(flow, **parameters):
    deployment = call("GET", f"/deployments/name/{flow}/bench")["id"]
    return call("POST", f"/deployments/{deployment}/create_flow_run", parameters=parameters)["id"]


def has_ended(run):
    state = call("GET", f"/flow_runs/{run}")["state"]
    if state["type"] in ("FAILED", "CRASHED", "CANCELLED"):
        raise RuntimeError(f"the flow run is {state['name']}: {state['message']}")
    return state["type"] == "COMPLETED"


def run_to_end(flow, **parameters):
    flow_run = run(flow, **parameters)
    until(lambda: has_ended(flow_run))
    return flow_run


def completed(flow):
    only = {"flows": {"name": {"any_": [flow]}}, "flow_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}}
    return call("POST", "/flow_runs/count", **only)


def one(_):
    run_to_end("nothing")


def many(count):
    before = completed("nothing")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: run("nothing"), range(count)))
    count_until(lambda: completed("nothing") - before, count, pause=0.5)


def chain(length):
    run_to_end("chain", length=length)


def kept_bytes(run):
    """The log as Prefect gives it out, which has a time and a level beside each line."""
    with api.stream("GET", f"/flow_runs/{run}/logs/download") as answer:
        answer.raise_for_status()
        return sum(len(LINE) for line in answer.iter_lines() if LINE[:-1] in line)


def is_logged(run):
    """A flow run has ended before its log has arrived, whose last line is about the end."""
    newest = {"sort": "TIMESTAMP_DESC", "limit": 1, "logs": {"flow_run_id": {"any_": [run]}}}
    return any(line["message"].startswith("Finished in state") for line in call("POST", "/logs/filter", **newest))


def log(size):
    flow_run = run_to_end("write", size=size)
    until(lambda: is_logged(flow_run), pause=0.5)
    return lambda: kept_bytes(flow_run)


serve(one=one, many=many, chain=chain, log=log)
