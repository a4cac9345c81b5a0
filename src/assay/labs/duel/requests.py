"""Requests to a model, side by side but no more than so many at once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

__all__ = ["ask_all"]

Answer = TypeVar("Answer")


async def ask_all(asks: Sequence[Callable[[], Awaitable[Answer]]], in_flight: int) -> list[Answer]:
    """The answers, in the order of what was asked.

    Args:
        asks: Each makes one request when it is called.
        in_flight: Requests at once.

    Raises:
        Exception: What the first request raised that failed; none is still under way then.
    """
    gate = asyncio.Semaphore(in_flight)

    async def ask(make: Callable[[], Awaitable[Answer]]) -> Answer:
        async with gate:
            return await make()

    tasks = [asyncio.ensure_future(ask(make)) for make in asks]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
