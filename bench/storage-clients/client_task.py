"""What a client in Python is told to do, and what it says afterwards: as in task.ts."""
import asyncio, json, os, sys, time

task = json.loads(sys.argv[1])


async def in_lanes(read):
    """Reads small objects, so many at once, and returns how many bytes they had."""
    total, numbers = 0, iter(range(task["count"]))

    async def lane():
        nonlocal total
        for number in numbers:
            content = await read(f"small/{number % task['objects']}")
            total += len(content)

    await asyncio.gather(*(lane() for _ in range(task["concurrency"])))
    return total


async def report(run):
    """Ends the process, too: what these clients say or do when they are closed in a hurry is no part of this."""
    begin, used = time.perf_counter(), time.process_time()
    result = await run()
    seconds, cpu = time.perf_counter() - begin, time.process_time() - used
    print(json.dumps({"seconds": seconds, "cpu": cpu, "result": result}), flush=True)
    os._exit(0)
