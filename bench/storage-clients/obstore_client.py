"""obstore: the Rust crate object_store for Python."""
import asyncio, json, os, sys, time

import obstore
from obstore.store import S3Store

task = json.loads(sys.argv[1])
store = S3Store(
    task["bucket"],
    endpoint=task["endpoint"],
    access_key_id=task["key"],
    secret_access_key=task["secret"],
    region="us-east-1",
    virtual_hosted_style_request=False,
    client_options={"allow_http": True},
)


async def list_keys():
    count = 0
    async for page in obstore.list(store, "data/", chunk_size=1000):
        count += len(page)
    return count


async def get():
    total, numbers = 0, iter(range(task["count"]))

    async def lane():
        nonlocal total
        for number in numbers:
            answer = await obstore.get_async(store, f"small/{number % 1000}")
            content = await answer.bytes_async()
            total += len(content)

    await asyncio.gather(*(lane() for _ in range(task["concurrency"])))
    return total


async def download():
    answer = await obstore.get_async(store, "big")
    with open(task["file"], "wb") as file:
        async for piece in answer.stream(min_chunk_size=task["block"]):
            file.write(piece)
    return os.path.getsize(task["file"])


async def upload():
    with open(task["file"], "rb") as file:
        await obstore.put_async(
            store, "uploaded", file, chunk_size=task["block"], max_concurrency=task["concurrency"], use_multipart=True
        )
    return os.path.getsize(task["file"])


async def main():
    run = {"list": list_keys, "get": get, "download": download, "upload": upload}[task["kind"]]
    await (await obstore.get_async(store, "small/0")).bytes_async()
    begin, used = time.perf_counter(), time.process_time()
    result = await run()
    seconds, cpu = time.perf_counter() - begin, time.process_time() - used
    print(json.dumps({"seconds": seconds, "cpu": cpu, "result": result}))


asyncio.run(main())
