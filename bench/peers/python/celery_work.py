"""The tasks that the Celery worker runs."""

import os

from celery import Celery
from driver import LINE

app = Celery("work", broker=os.environ["BROKER"], backend=os.environ["BROKER"])


@app.task
def nothing():
    pass


@app.task
def write(size):
    for _ in range(size // len(LINE)):
        print(LINE, end="")
