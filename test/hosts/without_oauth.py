"""Frameworks that know the address of /mcp and nothing else: what their model sees when it executes without a PAT, and that it executes with one."""

import asyncio
import json
import os
import sys

URL = os.environ["BASE_URL"] + "/mcp"
COUNTRY = {"intent_uid": "world.example:get-country:v1", "parameters": {"code": "JP"}}


async def sdk_v1():
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(URL) as (read, write, _), ClientSession(read, write) as session:
        await session.initialize()
        told = await session.call_tool("execute_intent", COUNTRY)
        done = await session.call_tool("execute_intent", {**COUNTRY, "pat": os.environ["PAT"]})
        return told.content[0].text, done.content[0].text


def smolagents():
    from smolagents import ToolCollection

    with ToolCollection.from_mcp({"url": URL, "transport": "streamable-http"}, trust_remote_code=True) as collection:
        execute = next(tool for tool in collection.tools if tool.name == "execute_intent")
        return str(execute(**COUNTRY)), str(execute(**COUNTRY, pat=os.environ["PAT"]))


async def mcp_use():
    from mcp_use import MCPClient

    client = MCPClient.from_dict({"mcpServers": {"gate": {"url": URL}}})
    session = await client.create_session("gate")
    told = await session.call_tool("execute_intent", COUNTRY)
    done = await session.call_tool("execute_intent", {**COUNTRY, "pat": os.environ["PAT"]})
    await client.close_all_sessions()
    return told.content[0].text, done.content[0].text


async def langchain():
    from langchain_core.tools import ToolException
    from langchain_mcp_adapters.client import MultiServerMCPClient

    client = MultiServerMCPClient({"gate": {"transport": "streamable_http", "url": URL}})
    execute = next(tool for tool in await client.get_tools() if tool.name == "execute_intent")
    try:
        told = await execute.ainvoke(COUNTRY)
    except ToolException as refusal:
        told = refusal
    return str(told), str(await execute.ainvoke({**COUNTRY, "pat": os.environ["PAT"]}))


run = {"sdk_v1": sdk_v1, "smolagents": smolagents, "mcp_use": mcp_use, "langchain": langchain}[sys.argv[1]]
result = run()
told, done = asyncio.run(result) if asyncio.iscoroutine(result) else result
print(json.dumps({"told": told, "done": done}))
