"""The jobs that Dagster runs. Their names are those of the orders."""

import os
import sys

from dagster import Definitions, In, Nothing, OpExecutionContext, in_process_executor, job, op
from driver import LINE


@op(ins={"before": In(Nothing)})
def step():
    pass


@op(config_schema={"size": int})
def print_lines(context: OpExecutionContext):
    for _ in range(context.op_config["size"] // len(LINE)):
        sys.stdout.write(LINE)


@job(executor_def=in_process_executor)
def nothing():
    step()


@job(executor_def=in_process_executor)
def chain():
    last = step()
    for _ in range(int(os.environ["PEERS_CHAIN"]) - 1):
        last = step(last)


@job(executor_def=in_process_executor)
def write():
    print_lines()


defs = Definitions(jobs=[nothing, chain, write])
