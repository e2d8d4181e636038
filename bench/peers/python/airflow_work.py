"""The DAGs that Airflow runs: a file in its folder of DAGs."""

import os

from airflow.sdk import dag, get_current_context, task

LINE = "a line of a log that is about as long as most lines of logs are, give or take a word, or even two.."


@task
def step():
    pass


@task
def print_lines():
    for _ in range(get_current_context()["params"]["size"] // (len(LINE) + 1)):
        print(LINE)


@dag(schedule=None, is_paused_upon_creation=False)
def nothing():
    step()


@dag(schedule=None, is_paused_upon_creation=False)
def chain():
    last = step()
    for _ in range(int(os.environ["PEERS_CHAIN"]) - 1):
        following = step()
        last >> following
        last = following


@dag(schedule=None, is_paused_upon_creation=False, params={"size": 0})
def write():
    print_lines()


nothing()
chain()
write()
