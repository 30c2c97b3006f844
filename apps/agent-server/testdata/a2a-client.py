"""Calls every method of A2A with the Python client, and prints what it saw as one JSON object."""

import asyncio
import json
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict

CARD = "/.well-known/agent-card.json?assistant_id="


def message(text: str, task_id: str = "", context_id: str = "") -> pb.SendMessageRequest:
    said = pb.Message(
        message_id=str(uuid.uuid4()),
        role=pb.ROLE_USER,
        task_id=task_id,
        context_id=context_id,
        parts=[pb.Part(text=text)],
    )
    return pb.SendMessageRequest(message=said)


class Agent:
    """One agent by one version of the protocol."""

    def __init__(self, client):
        self.client = client

    @staticmethod
    async def connect(http: httpx.AsyncClient, base: str, name: str, wire: str, streaming: bool) -> "Agent":
        card = await A2ACardResolver(http, base, CARD.lstrip("/") + name).get_agent_card()
        wanted = [i for i in card.supported_interfaces if i.protocol_version == wire]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(wanted)
        return Agent(ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card))

    async def send(self, request: pb.SendMessageRequest) -> list[dict]:
        return [MessageToDict(event) async for event in self.client.send_message(request)]


def state_of(task) -> str:
    return pb.TaskState.Name(task.status.state)


async def main(base: str, wire: str, receiver: str) -> None:
    seen: dict = {}
    async with httpx.AsyncClient(timeout=60) as http:
        echo = await Agent.connect(http, base, "echo", wire, False)
        [answer] = await echo.send(message("hello"))
        task = answer["task"]
        seen["answer"] = task["artifacts"][0]["parts"][0]["text"]
        seen["get"] = state_of(await echo.client.get_task(pb.GetTaskRequest(id=task["id"])))
        if wire == "1.0":
            listed = await echo.client.list_tasks(pb.ListTasksRequest(context_id=task["contextId"]))
            seen["list"] = [one.id == task["id"] for one in listed.tasks]
        card = await echo.client.get_extended_agent_card(pb.GetExtendedAgentCardRequest())
        seen["card"] = card.description

        push = pb.TaskPushNotificationConfig(task_id=task["id"], id="r", url=receiver, token="t")
        push.authentication.scheme, push.authentication.credentials = "Bearer", "c"
        await echo.client.create_task_push_notification_config(push)
        name = {"task_id": task["id"], "id": "r"}
        got = await echo.client.get_task_push_notification_config(pb.GetTaskPushNotificationConfigRequest(**name))
        seen["receiver"] = [got.id, got.url == receiver, got.token, got.authentication.scheme]
        await echo.client.delete_task_push_notification_config(pb.DeleteTaskPushNotificationConfigRequest(**name))
        every = pb.ListTaskPushNotificationConfigsRequest(task_id=task["id"])
        seen["receivers left"] = len((await echo.client.list_task_push_notification_configs(every)).configs)

        streaming = await Agent.connect(http, base, "asking", wire, True)
        asked = await streaming.send(message("paint it"))
        seen["asked"] = asked[-1]["statusUpdate"]["status"]["state"]
        task_id = asked[0]["task"]["id"]
        told = await streaming.send(message("blue", task_id, asked[0]["task"]["contextId"]))
        seen["told"] = told[-1]["statusUpdate"]["status"]["state"]

        slow = await Agent.connect(http, base, "endless", wire, False)
        request = message("work")
        request.configuration.return_immediately = True
        request.configuration.task_push_notification_config.url = receiver
        [begun] = await slow.send(request)
        working = begun["task"]["id"]
        reader = await Agent.connect(http, base, "endless", wire, True)
        stream = reader.client.subscribe(pb.SubscribeToTaskRequest(id=working))
        first = MessageToDict(await anext(stream))
        seen["subscribed"] = first["task"]["id"] == working
        seen["cancelled"] = state_of(await slow.client.cancel_task(pb.CancelTaskRequest(id=working)))
        last = [MessageToDict(event) async for event in stream][-1]
        seen["stream's end"] = last["statusUpdate"]["status"]["state"]
        seen["errors"] = []
        for ask in (
            slow.client.get_task(pb.GetTaskRequest(id=str(uuid.uuid4()))),
            slow.client.cancel_task(pb.CancelTaskRequest(id=working)),
        ):
            try:
                await ask
            except Exception as error:  # the names of errors are what is tested
                seen["errors"].append(type(error).__name__)
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
