"""The client from a shell."""

import argparse
import json
import os
import sys

from . import IntentGate, IntentGateError, Key


def _ask_on_terminal(_, in_words):
    print("The usage policy says:", *("- " + sentence for sentence in in_words), sep="\n", file=sys.stderr)
    print("Accept and sign it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def main():
    parser = argparse.ArgumentParser(prog="intent-gate-agent", description="Find and execute intents.")
    parser.add_argument("--url", default=os.environ.get("BASE_URL", "http://127.0.0.1:8080"), help="address of the gate (BASE_URL)")
    parser.add_argument("--agent-id", help="the agent's name for itself; default: a name derived from its key")
    parser.add_argument("--key", default="intent-gate.key", help="file that keeps the key; created if it does not exist")
    parser.add_argument("--accept-policy", action="store_true", help="accept the usage policy without asking")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("policy", help="show the usage policy in words")
    commands.add_parser("search", help="find intents").add_argument("question")
    commands.add_parser("get", help="read one intent").add_argument("intent_uid")
    execute = commands.add_parser("execute", help="execute an intent")
    execute.add_argument("intent_uid")
    execute.add_argument("parameters", type=json.loads, help="as JSON")
    arguments = parser.parse_args()

    on_policy = (lambda *_: True) if arguments.accept_policy else _ask_on_terminal
    # only executions need a key
    key = Key.at(arguments.key) if arguments.command == "execute" else None
    gate = IntentGate(arguments.url, arguments.agent_id or (key and key.agent_id), key, on_policy)
    try:
        if arguments.command == "policy":
            print(*gate.policy()[1], sep="\n")
        elif arguments.command == "search":
            for intent in gate.search(arguments.question)["intents"]:
                print(f"{intent['intent_uid']}  {intent['intent_name']}")
        elif arguments.command == "get":
            print(json.dumps(gate.get(arguments.intent_uid), indent=2, ensure_ascii=False))
        else:
            print(json.dumps(gate.execute(arguments.intent_uid, arguments.parameters), indent=2, ensure_ascii=False))
    except IntentGateError as error:
        print(error, file=sys.stderr)
        for issue in error.details.get("issues", []):
            print(f"  {issue['path']} {issue['problem']}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
