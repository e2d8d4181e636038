"""s3fs, gcsfs and adlfs, used from asynchronous code, which is fastest."""
import asyncio, os

from client_task import in_lanes, report, task

bucket, block, concurrency = task["bucket"], task["block"], task["concurrency"]


def open_s3():
    import s3fs

    return s3fs.S3FileSystem(
        **task["config"],
        asynchronous=True,
        default_block_size=block,
        max_concurrency=concurrency,
        config_kwargs={"max_pool_connections": max(50, concurrency)},
    )


def open_gs():
    # Otherwise it first queries Google over gRPC for the type of the bucket, for a minute.
    os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"
    import gcsfs

    return gcsfs.GCSFileSystem(**task["config"], asynchronous=True)


def open_az():
    import adlfs

    return adlfs.AzureBlobFileSystem(**task["config"], asynchronous=True, blocksize=block, max_concurrency=concurrency)


# How each takes the part size, if it can be set; adlfs uses the 4 MiB of the vendor's package.
to_get = {
    "s3": {"chunksize": block, "max_concurrency": concurrency},
    "gs": {"chunk_size": block, "concurrency": concurrency},
    "az": {"max_concurrency": concurrency},
}
to_put = {
    "s3": {"chunksize": block, "max_concurrency": concurrency},
    "gs": {"chunksize": block},
    "az": {"max_concurrency": concurrency},
}
# With several parallel ranges s3fs queries the size of each object first.
to_cat = {"s3": {"max_concurrency": 1}, "gs": {}, "az": {"max_concurrency": 1}}


async def main():
    scheme = task["scheme"]
    fs = {"s3": open_s3, "gs": open_gs, "az": open_az}[scheme]()

    async def list_keys():
        return len(await fs._find(f"{bucket}/data"))

    def read(path):
        return fs._cat_file(f"{bucket}/{path}", **to_cat[scheme])

    async def get():
        return await in_lanes(read)

    async def download():
        await fs._get_file(f"{bucket}/big", task["file"], **to_get[scheme])
        return os.path.getsize(task["file"])

    async def upload():
        await fs._put_file(task["file"], f"{bucket}/uploaded", **to_put[scheme])
        return os.path.getsize(task["file"])

    if scheme == "s3":
        await fs.set_session()
    await read("small/0")
    await report({"list": list_keys, "get": get, "download": download, "upload": upload}[task["kind"]])


asyncio.run(main())
