"""Messages for browsers: each line of a TCP connection is a message of a topic as JSON.

    python web.py TOPIC [PORT]

A web socket's library takes the place of `write` in a real program.
"""

import asyncio
import sys

import situ


async def serve(node: situ.Node, topic: str, port: int = 0) -> asyncio.AbstractServer:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async for message in node.subscriber(topic, keep_last=1):
                with message:
                    writer.write(message.to_json().encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            pass  # The browser has left.
        finally:
            writer.close()

    return await asyncio.start_server(connected, "127.0.0.1", port)


async def main(topic: str, port: int = 8080) -> None:
    with situ.Node("web") as node:
        async with await serve(node, topic, port) as server:
            await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
