"""obstore: the Rust crate object_store for Python."""
import asyncio, os

import obstore
from obstore.store import S3Store

from client_task import in_lanes, report, task

store = S3Store(
    task["bucket"],
    endpoint=task["config"]["endpoint_url"],
    access_key_id=task["config"]["key"],
    secret_access_key=task["config"]["secret"],
    region="us-east-1",
    virtual_hosted_style_request=False,
    client_options={"allow_http": True},
)


async def list_keys():
    count = 0
    async for page in obstore.list(store, "data/", chunk_size=1000):
        count += len(page)
    return count


async def read(path):
    return await (await obstore.get_async(store, path)).bytes_async()


async def get():
    return await in_lanes(read)


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
    await read("small/0")
    await report({"list": list_keys, "get": get, "download": download, "upload": upload}[task["kind"]])


asyncio.run(main())
