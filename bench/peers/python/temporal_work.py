"""The worker of Temporal: workflows whose steps are activities."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest, RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

QUEUE = "work"
SOON = timedelta(seconds=60)


@activity.defn
def step() -> None:
    pass


@workflow.defn
class Chain:
    @workflow.run
    async def run(self, length: int) -> None:
        for _ in range(length):
            await workflow.execute_activity(step, start_to_close_timeout=SOON)


async def register_namespace(client):
    request = RegisterNamespaceRequest(namespace="default")
    request.workflow_execution_retention_period.FromTimedelta(timedelta(days=1))
    try:
        await client.workflow_service.register_namespace(request)
    except RPCError as error:
        if error.status != RPCStatusCode.ALREADY_EXISTS:
            raise


async def patiently(call):
    """The server refuses calls until its parts know each other."""
    while True:
        try:
            return await call()
        except (RPCError, RuntimeError):
            await asyncio.sleep(0.05)


async def has_workers(client):
    """Whether the server knows of a worker that waits for workflows and of one that waits for activities."""
    kinds = (TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
    for kind in kinds:
        request = DescribeTaskQueueRequest(namespace="default", task_queue=TaskQueue(name=QUEUE), task_queue_type=kind)
        if not (await client.workflow_service.describe_task_queue(request)).pollers:
            return False
    return True


async def serve():
    client = await patiently(lambda: Client.connect(os.environ["TEMPORAL"]))
    await patiently(lambda: register_namespace(client))
    slots = int(os.environ["SLOTS"])
    with ThreadPoolExecutor(slots) as threads:
        settings = {"activity_executor": threads, "max_concurrent_activities": slots}
        running = asyncio.create_task(Worker(client, task_queue=QUEUE, workflows=[Chain], activities=[step], **settings).run())
        while not running.done() and not await patiently(lambda: has_workers(client)):
            await asyncio.sleep(0.05)
        print("ready", flush=True)
        await running


if __name__ == "__main__":
    asyncio.run(serve())
