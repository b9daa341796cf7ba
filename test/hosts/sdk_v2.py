"""The official Python SDK, version 2, as a host."""

import asyncio
import json
import os

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

COUNTRY = {"intent_uid": "world.example:get-country:v1", "parameters": {"code": "JP"}}
asked = []


async def accept(_, params):
    asked.append(params.message)
    return ElicitResult(action="accept", content={})


def over_http(pat):
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {pat}"})
    return Client(streamable_http_client(os.environ["BASE_URL"] + "/mcp", http_client=http))


async def main():
    async with over_http("not.a.pat") as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        found = await client.call_tool("search_intents", {"query": "what time is it in tokyo"})
        refused = await client.call_tool("execute_intent", COUNTRY)
    async with over_http(os.environ["PAT"]) as client:
        http = await client.call_tool("execute_intent", COUNTRY)
    program = StdioServerParameters(command="intent-gate", args=["mcp", os.environ["BASE_URL"], "--folder", os.environ["FOLDER"]])
    async with Client(program, elicitation_callback=accept) as client:
        revision = client.protocol_version
        stdio = await client.call_tool("execute_intent", COUNTRY)
    print(
        json.dumps(
            {
                "tools": tools,
                "hit": found.structured_content["intents"][0]["intent_uid"],
                "refused": refused.is_error and refused.structured_content["error"]["code"],
                "http": http.structured_content["name"],
                "stdio": stdio.structured_content["name"],
                "asked": len(asked),
                "revision": revision,
            }
        )
    )


asyncio.run(main())
