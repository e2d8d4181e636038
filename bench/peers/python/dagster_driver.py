import json
import os
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from driver import count_until, serve, until

LAUNCH = """mutation ($params: ExecutionParams!) { launchRun(executionParams: $params) {
  ... on LaunchRunSuccess { run { runId } } ... on Error { message } } }"""
STATUS = "query ($id: ID!) { runOrError(runId: $id) { ... on Run { status } ... on Error { message } } }"
COUNT = "query ($filter: RunsFilter!) { runsOrError(filter: $filter) { ... on Runs { count } ... on Error { message } } }"


def ask(query, **variables):
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(os.environ["GRAPHQL"], body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as response:
        answer = json.load(response)
    if "errors" in answer:
        raise RuntimeError(answer["errors"][0]["message"])
    (value,) = answer["data"].values()
    if "message" in value:
        raise RuntimeError(value["message"])
    return value


def run(job, config=None):
    place = {"repositoryLocationName": "work", "repositoryName": "__repository__", "jobName": job}
    return ask(LAUNCH, params={"selector": place, "runConfigData": config or {}})["run"]["runId"]


def has_ended(run):
    status = ask(STATUS, id=run)["status"]
    if status in ("FAILURE", "CANCELED"):
        raise RuntimeError(f"the run is {status}")
    return status == "SUCCESS"


def run_to_end(job, config=None):
    run_id = run(job, config)
    until(lambda: has_ended(run_id))
    return run_id


def succeeded(job):
    return ask(COUNT, filter={"pipelineName": job, "statuses": ["SUCCESS"]})["count"]


def one(_):
    run_to_end("nothing")


def many(count):
    before = succeeded("nothing")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: run("nothing"), range(count)))
    count_until(lambda: succeeded("nothing") - before, count, pause=0.5)


def chain(_):
    run_to_end("chain")


def log(size):
    """Dagster keeps the output of a run in files, and shows them from there."""
    run_id = run_to_end("write", {"ops": {"print_lines": {"config": {"size": size}}}})
    files = Path(os.environ["DAGSTER_HOME"], "storage", run_id, "compute_logs").glob("*.out")
    return sum(file.stat().st_size for file in files)


serve(one=one, many=many, chain=chain, log=log)
