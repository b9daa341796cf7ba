"""A server made with fastmcp: `python fastmcp_server.py PORT`."""

import sys
from typing import Annotated

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.types import Image
from pydantic import BaseModel, Field

server = FastMCP("Shop", version="2.3.0", instructions="Sells things.")


class Line(BaseModel):
    article: str
    amount: Annotated[int, Field(ge=1)]


class Order(BaseModel):
    id: int
    lines: list[Line]


@server.tool(annotations={"readOnlyHint": True})
def big_number() -> dict:
    """Returns a number that double precision cannot hold."""
    return {"id": 9007199254740993}


@server.tool(annotations={"destructiveHint": True})
async def create_order(lines: list[Line], ctx: Context, note: str = "none") -> Order:
    """Orders articles."""
    await ctx.report_progress(1, 2)
    return Order(id=len(lines), lines=[*lines, Line(article=note, amount=1)])


@server.tool
def refuse(reason: str) -> str:
    """Refuses, and says why."""
    raise ToolError(f"Refused: {reason}")


@server.tool
def picture() -> Image:
    """Returns a picture."""
    return Image(data=b"\x89PNG", format="png")


@server.tool
async def ask_back(ctx: Context) -> str:
    """Asks the person for a name."""
    answer = await ctx.elicit("Who are you?", response_type=str)
    return str(answer)


server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
