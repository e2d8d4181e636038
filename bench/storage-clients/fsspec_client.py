"""s3fs, used as from asynchronous code, which is its fastest way."""
import asyncio, json, os, sys, time

import s3fs

task = json.loads(sys.argv[1])


async def main():
    fs = s3fs.S3FileSystem(
        asynchronous=True,
        endpoint_url=task["endpoint"],
        key=task["key"],
        secret=task["secret"],
        default_block_size=task["block"],
        max_concurrency=task["concurrency"],
        config_kwargs={"max_pool_connections": max(50, task["concurrency"])},
        skip_instance_cache=True,
    )
    session = await fs.set_session()
    await fs._cat_file(task['bucket'] + '/small/0')
    begin, used = time.perf_counter(), time.process_time()
    result = await tasks[task["kind"]](fs)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - used
    print(json.dumps({"seconds": seconds, "cpu": cpu, "result": result}), flush=True)
    await session.close()


async def list_keys(fs):
    return len(await fs._find(task["bucket"] + "/data"))


async def get(fs):
    total, numbers = 0, iter(range(task["count"]))

    async def lane():
        nonlocal total
        for number in numbers:
            content = await fs._cat_file(f"{task['bucket']}/small/{number % 1000}")
            total += len(content)

    await asyncio.gather(*(lane() for _ in range(task["concurrency"])))
    return total


async def download(fs):
    await fs._get_file(task["bucket"] + "/big", task["file"])
    return os.path.getsize(task["file"])


async def upload(fs):
    await fs._put_file(task["file"], task["bucket"] + "/uploaded", chunksize=task["block"])
    return os.path.getsize(task["file"])


tasks = {"list": list_keys, "get": get, "download": download, "upload": upload}
asyncio.run(main())
