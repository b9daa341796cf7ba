"""The command-line interface of the client."""

from __future__ import annotations

import argparse
import json
import os
import sys
from decimal import Decimal
from typing import Any, Dict, List, Optional, TextIO

from . import ExecutionState, IntentGate, IntentGateError, Key, Policy, __version__, issues_of, upstream_of
from .printable import printable, printable_json
from .wire import write_json


def _say(*lines: object, to: Optional[TextIO] = None, end: str = "\n", but: str = "") -> bool:
    """Prints lines without hidden characters, and returns whether a message was written; an answer must be. All output goes through here."""
    stream = to or sys.stdout
    try:
        print(*map(printable, lines), sep="\n", end=end, file=stream, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # or the rest would fail again at exit
        if stream is not sys.stderr:
            raise OSError(f"{but}the answer cannot be written: {error}") from error
        return False
    return True


def _show(value: object) -> str:
    return printable_json(write_json(value, indent=2, ensure_ascii="utf" not in str(getattr(sys.stdout, "encoding", "")).lower()))


def _parameters(text: str) -> Dict[str, Any]:
    try:
        value = json.loads(text, parse_float=Decimal)
    except (ArithmeticError, RecursionError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("""must be a JSON object in quotes, for example '{"code":"JP"}'""")
    return value


def _ask_on_terminal(policy: Policy, in_words: List[str]) -> bool:
    says = ["The usage policy says:", *("- " + sentence for sentence in in_words)]
    signed = ["These sentences are the gate's. You sign the policy itself:", _show(policy)]
    try:
        return _say(*says, *signed, "Accept and sign it? [y/N] ", to=sys.stderr, end="") and sys.stdin.readline().strip().lower() in ("y", "yes")
    except OSError:  # nohup lets nobody answer
        return False


def main() -> None:
    parser = argparse.ArgumentParser(prog="intent-gate-agent", description="Find and execute intents.")
    parser.add_argument("--url", default=os.environ.get("BASE_URL", "http://127.0.0.1:8080"), help="address of the gate (BASE_URL)")
    parser.add_argument("--agent-id", help="id of the agent; default: derived from its key")
    parser.add_argument("--key", help="file that keeps the key, created if it does not exist; default: python.key in INTENT_GATE_HOME, else in ~/.intent-gate")
    parser.add_argument("--agent-directory", metavar="ORIGIN", help="https origin whose Web Bot Auth directory lists the agent's key")
    parser.add_argument("--accept-policy", action="store_true", help="accept the usage policy without asking")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("policy", help="show the usage policy in words")
    commands.add_parser("search", help="find intents").add_argument("question")
    commands.add_parser("get", help="read one intent").add_argument("intent_uid")
    execute = commands.add_parser("execute", help="execute an intent")
    execute.add_argument("intent_uid")
    execute.add_argument("parameters", type=_parameters, help="as a JSON object")
    execute.add_argument("--field", dest="fields", action="append", metavar="POINTER", help="JSON pointer to a member of the answer to return, such as /name; repeatable")
    execute.add_argument("--max-bytes", type=int, metavar="COUNT", help="maximum size of the answer in bytes; a longer one is cut")
    execute.add_argument("--idempotency-key", metavar="KEY", help="repeat an earlier call, whose answer was lost, without making it twice")
    execute.add_argument("--if-match", metavar="DIGEST", help="execute the intent only if its digest is still this one")

    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, getattr(sys, name) or open(os.devnull))  # a closed stream is empty, and cannot be written
        getattr(getattr(sys, name), "reconfigure", dict)(errors="backslashreplace")
    try:
        try:
            _run(parser.parse_args())
        except SystemExit:
            _say(end="")  # argparse does not flush its help
            raise
    except KeyboardInterrupt:
        sys.exit(130)
    except (OSError, ValueError) as error:
        _say(error, to=sys.stderr)
        sys.exit(1 if isinstance(error, OSError) else 2)


def _usual_key() -> str:
    folder = os.path.expanduser(os.environ.get("INTENT_GATE_HOME") or "~/.intent-gate")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, "python.key")


def _say_state(state: ExecutionState) -> None:
    happens = f"waits for a person's approval until {state.get('expires_at')}" if state["status"] == "waiting" else "is being made"
    _say(f"The call {happens}: {state['execution']}", to=sys.stderr)


def _run(arguments: argparse.Namespace) -> None:
    on_policy = (lambda *_: True) if arguments.accept_policy else _ask_on_terminal
    # only executions need a key
    key = Key.at(arguments.key or _usual_key()) if arguments.command == "execute" else ""
    agent_id = arguments.agent_id or (key.agent_id if isinstance(key, Key) else "")
    gate = IntentGate(arguments.url, agent_id, key, on_policy, parse_float=Decimal, agent_directory=arguments.agent_directory)
    try:
        if arguments.command == "policy":
            _say(*gate.policy()[1])
        elif arguments.command == "search":
            for intent in gate.search(arguments.question)["intents"]:
                _say(f"{intent['intent_uid']}  {intent['intent_name']}")
        elif arguments.command == "get":
            _say(_show(gate.get(arguments.intent_uid)))
        else:
            options = {"fields": arguments.fields, "max_bytes": arguments.max_bytes, "if_match": arguments.if_match}
            answer = gate.execute(arguments.intent_uid, arguments.parameters, arguments.idempotency_key, wait=_say_state, **options)
            _say(_show(answer), but="The intent was executed, but ")
            upstream = upstream_of(answer)
            if upstream and (upstream.headers or upstream.status != 200):
                _say(f"Status and header fields of the service: {_show({'status': upstream.status, **upstream.headers})}", to=sys.stderr)
            if issues_of(answer):
                _say("The intent was executed, but its answer does not match its description at: " + ", ".join(issues_of(answer)), to=sys.stderr)
    except IntentGateError as error:
        _say(error, *(f"  {issue['path']} {issue['problem']}" for issue in error.details.get("issues", [])), to=sys.stderr)
        is_unknown = error.code in ("UNREACHABLE", "UNEXPECTED_ANSWER") or ((error.status or 0) >= 500 and error.code != "INTENT_EXECUTION_FAILED")
        if error.idempotency_key and is_unknown:
            _say(f"  to repeat the call, add --idempotency-key {error.idempotency_key}", to=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
