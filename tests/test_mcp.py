"""The API as MCP tools, asked for by the ecosystem's own variable, used by a real MCP client."""

from __future__ import annotations

import asyncio
import json

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from conftest import Server


def with_session(server: Server, ask):
    async def talk():
        async with (
            streamable_http_client(f"{server.url}/gradio_api/mcp/") as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            return await ask(session)

    return asyncio.run(asyncio.wait_for(talk(), 120))


def test_tools_are_the_promised_endpoints_with_their_descriptions(server):
    tools = {tool.name: tool for tool in with_session(server, lambda session: session.list_tools()).tools}
    assert set(tools) == {"generate", "presets", "status"}
    generate = tools["generate"]
    assert "Make one picture" in generate.description
    assert set(generate.inputSchema["properties"]) == {"prompt", "preset", "seed", "negative_prompt"}
    assert "what to draw" in generate.inputSchema["properties"]["prompt"]["description"]


def test_a_tool_makes_a_picture_and_refuses_with_the_sentence(server):
    async def ask(session):
        made = await session.call_tool("generate", {"prompt": "a red house", "preset": "draft", "seed": 5})
        refused = await session.call_tool("generate", {"prompt": "a red house", "preset": "4096x4096"})
        return made, refused

    made, refused = with_session(server, ask)
    answer = " ".join(part.text for part in made.content if part.type == "text")
    assert not made.isError
    assert ".png" in answer
    assert '"seed": 5' in answer or "'seed': 5" in answer, json.dumps(answer)
    assert refused.isError
    assert "There is no preset '4096x4096'" in refused.content[0].text
