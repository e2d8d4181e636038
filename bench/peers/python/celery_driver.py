import os

from celery import chain, group
from celery_work import nothing, write
from driver import count_until, serve, until


def one(_):
    nothing.delay().get()


def many(count):
    result = group(nothing.s() for _ in range(count))()
    count_until(result.completed_count, count)


def run_chain(length):
    chain(nothing.si() for _ in range(length))().get()


def log(size):
    file = os.environ["WORKER_LOG"]
    before = os.path.getsize(file)
    write.delay(size).get()
    until(lambda: os.path.getsize(file) - before >= size)
    return os.path.getsize(file) - before


serve(one=one, many=many, chain=run_chain, log=log)
