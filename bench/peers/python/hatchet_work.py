"""The worker of Hatchet, and the tasks that it runs."""

import os
from datetime import timedelta

from driver import LINE
from hatchet_sdk import Context, EmptyModel, Hatchet
from pydantic import BaseModel

hatchet = Hatchet()


class Amount(BaseModel):
    size: int


def step(input: EmptyModel, context: Context) -> None:
    pass


nothing = hatchet.task(name="nothing")(step)
chain = hatchet.workflow(name="chain")
parents = []
for number in range(int(os.environ["PEERS_CHAIN"])):
    parents = [chain.task(name=f"step-{number}", parents=parents)(step)]


@hatchet.task(name="write", input_validator=Amount, execution_timeout=timedelta(minutes=10))
def write(input: Amount, context: Context) -> None:
    for _ in range(input.size // len(LINE)):
        context.log(LINE[:-1])


if __name__ == "__main__":
    hatchet.worker("bench", slots=int(os.environ["SLOTS"]), workflows=[nothing, chain, write]).start()
