import asyncio
import os
import time

import psycopg
from driver import LINE, serve, tell
from hatchet_work import Amount, chain, nothing, write


async def run_many(count):
    items = [nothing.create_bulk_run_item() for _ in range(count)]
    runs = await nothing.aio_run_many(items, wait_for_result=False)
    for finished, end in enumerate(asyncio.as_completed([run.aio_result() for run in runs])):
        await end
        tell(finished=finished + 1)


def one(_):
    loop.run_until_complete(nothing.aio_run())


def many(count):
    loop.run_until_complete(run_many(count))


def run_chain(_):
    loop.run_until_complete(chain.aio_run())


def kept_lines():
    """Its API shows them in pages, which would take longer than the job."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as database:
        return database.execute("select count(*) from v1_log_line").fetchone()[0]


def log(size):
    """Lines arrive after the end of the job: waits for all of them, or until none has arrived for some seconds."""
    before = kept_lines()
    loop.run_until_complete(write.aio_run(Amount(size=size)))
    kept, since = before, time.monotonic()
    while (kept - before) * len(LINE) < size and time.monotonic() - since < 5:
        time.sleep(0.5)
        now = kept_lines()
        if now > kept:
            kept, since = now, time.monotonic()
    return (kept - before) * len(LINE)


loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
serve(one=one, many=many, chain=run_chain, log=log)
