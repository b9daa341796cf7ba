"""The client of fastmcp as a host."""

import asyncio
import json
import os

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

COUNTRY = {"intent_uid": "world.example:get-country:v1", "parameters": {"code": "JP"}}
asked = []


async def accept(message, *_):
    asked.append(message)
    return ElicitResult(action="accept", content={})


def over_http(pat):
    return Client(StreamableHttpTransport(os.environ["BASE_URL"] + "/mcp", headers={"Authorization": f"Bearer {pat}"}))


async def main():
    async with over_http("not.a.pat") as client:
        tools = [tool.name for tool in await client.list_tools()]
        found = await client.call_tool("search_intents", {"query": "what time is it in tokyo"})
        refused = await client.call_tool("execute_intent", COUNTRY, raise_on_error=False)
    async with over_http(os.environ["PAT"]) as client:
        http = await client.call_tool("execute_intent", COUNTRY)
    program = StdioTransport("intent-gate", ["mcp", os.environ["BASE_URL"], "--folder", os.environ["FOLDER"]])
    async with Client(program, elicitation_handler=accept) as client:
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
            }
        )
    )


asyncio.run(main())
