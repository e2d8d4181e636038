import asyncio
import os
import uuid

from driver import serve, tell
from temporal_work import QUEUE, Chain
from temporalio.client import Client


async def start(length):
    return await client.start_workflow(Chain.run, length, id=str(uuid.uuid4()), task_queue=QUEUE)


async def run_to_end(length):
    await (await start(length)).result()


async def run_many(count):
    handles = await asyncio.gather(*(start(1) for _ in range(count)))
    for finished, end in enumerate(asyncio.as_completed([handle.result() for handle in handles])):
        await end
        tell(finished=finished + 1)


def one(_):
    loop.run_until_complete(run_to_end(1))


def many(count):
    loop.run_until_complete(run_many(count))


def chain(length):
    loop.run_until_complete(run_to_end(length))


loop = asyncio.new_event_loop()
client = loop.run_until_complete(Client.connect(os.environ["TEMPORAL"]))
serve(one=one, many=many, chain=chain)
