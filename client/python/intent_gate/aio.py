"""The client for asyncio."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Coroutine, List, TypeVar, Union

from .answers import Policy
from .gate import IntentGate, given_up
from .keys import Key

AsyncOnPolicy = Callable[[Policy, List[str]], Union[bool, Awaitable[bool]]]

_Answer = TypeVar("_Answer")
if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    _Arguments = ParamSpec("_Arguments")


def _awaited(
    method: Callable[Concatenate[IntentGate, _Arguments], _Answer],
) -> Callable[Concatenate[AsyncIntentGate, _Arguments], Coroutine[Any, Any, _Answer]]:
    """Makes an awaitable method of a blocking one."""

    async def call(self: AsyncIntentGate, /, *args: _Arguments.args, **options: _Arguments.kwargs) -> _Answer:
        wait, loop = options.get("wait"), asyncio.get_running_loop()
        given: Any = {**options, "wait": functools.partial(loop.call_soon_threadsafe, wait)} if callable(wait) else options
        return await self._run(lambda: method(self._gate, *args, **given))

    functools.update_wrapper(call, method)
    return call


class AsyncIntentGate:
    """An IntentGate with awaitable methods. It takes the same arguments.

    on_policy may be a coroutine function. Both it and the function passed to execute as wait run in the event loop. Up to max_concurrency calls
    run in threads at the same time, not counting those of on_policy; further calls wait. A cancelled call is not sent again, but a request
    already sent is not aborted.
    """

    def __init__(
        self, url: str, agent_id: str, key: Union[Key, str], on_policy: AsyncOnPolicy, *, max_concurrency: int = 32, **options: Any
    ) -> None:
        self._on_policy = on_policy
        self._gate = IntentGate(url, agent_id, key, self._ask, **options)
        # while on_policy decides, the calls that wait for it may occupy every thread, so its own have others
        self._threads, self._other_threads = (ThreadPoolExecutor(max_concurrency, thread_name_prefix="intent-gate") for _ in range(2))

    search = _awaited(IntentGate.search)
    get = _awaited(IntentGate.get)
    policy = _awaited(IntentGate.policy)
    execute = _awaited(IntentGate.execute)
    read_execution = _awaited(IntentGate.read_execution)
    obtain_pat = _awaited(IntentGate.obtain_pat)

    async def _run(self, call: Callable[[], _Answer]) -> _Answer:
        abandoned = threading.Event()
        context = contextvars.copy_context()
        context.run(given_up.set, abandoned)
        context.run(_loop.set, asyncio.get_running_loop())
        threads = self._other_threads if self._gate.is_deciding() else self._threads
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, context.run, call)
        finally:
            abandoned.set()

    def _ask(self, policy: Policy, in_words: List[str]) -> bool:
        """Runs on_policy in the event loop of the call, and blocks the thread until it returns."""

        async def ask() -> bool:
            answer = self._on_policy(policy, in_words)
            return await answer if inspect.isawaitable(answer) else answer

        return asyncio.run_coroutine_threadsafe(ask(), _loop.get()).result()


#: event loop of the current call
_loop: contextvars.ContextVar[asyncio.AbstractEventLoop] = contextvars.ContextVar("loop")
