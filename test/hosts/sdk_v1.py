"""The official Python SDK, version 1, as a host."""

import asyncio
import json
import os
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import ElicitResult

COUNTRY = {"intent_uid": "world.example:get-country:v1", "parameters": {"code": "JP"}}
asked = []


async def accept(_, params):
    asked.append(params.message)
    return ElicitResult(action="accept", content={})


@asynccontextmanager
async def over_http(pat):
    async with streamablehttp_client(os.environ["BASE_URL"] + "/mcp", headers={"Authorization": f"Bearer {pat}"}) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            yield session


async def main():
    async with over_http("not.a.pat") as session:
        tools = [tool.name for tool in (await session.list_tools()).tools]
        found = await session.call_tool("search_intents", {"query": "what time is it in tokyo"})
        refused = await session.call_tool("execute_intent", COUNTRY)
    async with over_http(os.environ["PAT"]) as session:
        http = await session.call_tool("execute_intent", COUNTRY)
    program = StdioServerParameters(command="intent-gate", args=["mcp", os.environ["BASE_URL"], "--folder", os.environ["FOLDER"]])
    async with stdio_client(program) as (read, write), ClientSession(read, write, elicitation_callback=accept) as session:
        await session.initialize()
        stdio = await session.call_tool("execute_intent", COUNTRY)
    print(
        json.dumps(
            {
                "tools": tools,
                "hit": found.structuredContent["intents"][0]["intent_uid"],
                "refused": refused.isError and refused.structuredContent["error"]["code"],
                "http": http.structuredContent["name"],
                "stdio": stdio.structuredContent["name"],
                "asked": len(asked),
            }
        )
    )


asyncio.run(main())
