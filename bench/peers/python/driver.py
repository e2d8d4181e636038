"""The client side of a measured product: reads one order per line and reports how long it took, as the client sees it.
Imports and connections are made before the first order, so that they do not count."""

import json
import sys
import time
import traceback

LINE = "a line of a log that is about as long as most lines of logs are, give or take a word, or even two..\n"
assert len(LINE) == 100


def tell(**report):
    print(json.dumps(report), file=sys.__stdout__, flush=True)


def until(done, pause=0.05):
    """Polls; the pause is small beside what is measured, and polling uses the cores that are measured."""
    while not done():
        time.sleep(pause)


def count_until(finished, count, pause=0.1):
    """Polls until `count` have finished, and reports progress: a run that hits its time limit still says how far it came."""
    while True:
        now = finished()
        tell(finished=now)
        if now >= count:
            return
        time.sleep(pause)


def serve(**orders):
    """Each order is a function of one number. A number that it returns is what the product kept, in bytes; a function
    that it returns counts them, which is not measured."""
    tell(ready=True)
    for line in sys.stdin:
        name, number = line.split()
        begin = time.perf_counter()
        try:
            kept = orders[name](int(number))
            seconds = time.perf_counter() - begin
            tell(seconds=seconds, kept=kept() if callable(kept) else kept)
        except Exception as error:
            traceback.print_exc()
            tell(failed=f"{type(error).__name__}: {error}"[:300])
