"""The flows that Prefect serves."""

import os

from driver import LINE
from prefect import flow, serve, task


@task
def step():
    pass


@flow
def nothing():
    pass


@flow
def chain(length: int):
    for _ in range(length):
        step()


@flow(log_prints=True)
def write(size: int):
    for _ in range(size // len(LINE)):
        print(LINE, end="")


if __name__ == "__main__":
    flows = [flow.to_deployment(name="bench") for flow in (nothing, chain, write)]
    serve(*flows, limit=int(os.environ["SLOTS"]), pause_on_shutdown=False)
