"""The task of a Python client and its result: see task.ts."""
import asyncio, json, os, sys, time

task = json.loads(sys.argv[1])


async def in_lanes(read):
    """Reads small objects, some in parallel, and returns their total size in bytes."""
    total, numbers = 0, iter(range(task["count"]))

    async def lane():
        nonlocal total
        for number in numbers:
            content = await read(f"small/{number % task['objects']}")
            total += len(content)

    await asyncio.gather(*(lane() for _ in range(task["concurrency"])))
    return total


async def report(run):
    """Prints the result and exits at once, without the clients' own shutdown."""
    begin, used = time.perf_counter(), time.process_time()
    result = await run()
    seconds, cpu = time.perf_counter() - begin, time.process_time() - used
    print(json.dumps({"seconds": seconds, "cpu": cpu, "result": result}), flush=True)
    os._exit(0)
