"""The adapters of LangChain as a host."""

import asyncio
import json
import os

from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp.types import ElicitResult

COUNTRY = {"intent_uid": "world.example:get-country:v1", "parameters": {"code": "JP"}}
asked = []


async def accept(_, params, __):
    asked.append(params.message)
    return ElicitResult(action="accept", content={})


def over_http(pat):
    return {"transport": "streamable_http", "url": os.environ["BASE_URL"] + "/mcp", "headers": {"Authorization": f"Bearer {pat}"}}


async def tools_of(connection):
    client = MultiServerMCPClient({"gate": connection}, callbacks=Callbacks(on_elicitation=accept))
    return {tool.name: tool for tool in await client.get_tools()}


def text_of(answer):
    return answer if isinstance(answer, str) else answer[0]["text"]


async def main():
    tools = await tools_of(over_http("not.a.pat"))
    found = await tools["search_intents"].ainvoke({"query": "what time is it in tokyo"})
    refused = await tools["execute_intent"].ainvoke(COUNTRY)
    http = await (await tools_of(over_http(os.environ["PAT"])))["execute_intent"].ainvoke(COUNTRY)
    program = {"transport": "stdio", "command": "intent-gate", "args": ["mcp", os.environ["BASE_URL"], "--folder", os.environ["FOLDER"]]}
    stdio = await (await tools_of(program))["execute_intent"].ainvoke(COUNTRY)
    print(
        json.dumps(
            {
                "tools": list(tools),
                "hit": json.loads(text_of(found))["intents"][0]["intent_uid"],
                "refused": text_of(refused).split(":")[0],
                "http": json.loads(text_of(http))["name"],
                "stdio": json.loads(text_of(stdio))["name"],
                "asked": len(asked),
            }
        )
    )


asyncio.run(main())
