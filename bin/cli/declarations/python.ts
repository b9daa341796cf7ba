import { replaceHidden } from '../../../client/printable.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { readParameters, type Shape } from './shape.ts';
import { describeIntent } from './text.ts';

/** A string literal that writes hidden characters as eight-digit escapes. */
const quote = (text: string): string =>
  replaceHidden(JSON.stringify(text), (one) => `\\U${(one.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`);

const head = `# Written by "intent-gate types --language python": which intents there are, and what they take and answer. Write it again when they change.
# mypy: ignore-errors
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, TypedDict, Union, overload

from typing_extensions import NotRequired

from intent_gate.aio import AsyncIntentGate as _AsyncIntentGate
from intent_gate.answers import ExecutionState as ExecutionState, FullIntent as FullIntent, Intent as Intent, IntentPage as IntentPage
from intent_gate.answers import IntentUid as IntentUid, Parameter as Parameter, Policy as Policy
from intent_gate.answers import issues_of as issues_of
from intent_gate.errors import ClientErrorCode as ClientErrorCode, Deferred as Deferred, ErrorCode as ErrorCode, GateErrorCode as GateErrorCode
from intent_gate.errors import IntentGateError as IntentGateError, Issue as Issue, PolicyDeclined as PolicyDeclined
from intent_gate.errors import RateLimited as RateLimited, Refusal as Refusal, UnexpectedAnswer as UnexpectedAnswer
from intent_gate.errors import Unreachable as Unreachable
from intent_gate.gate import IntentGate as _IntentGate
from intent_gate.keys import Key as Key

`;

const options =
  'idempotency_key: Optional[str] = ..., *, fields: Optional[Sequence[str]] = ..., max_bytes: Optional[int] = ..., if_match: Optional[str] = ..., wait: Union[bool, Callable[[ExecutionState], object]] = ..., respond_async: bool = ..., traceparent: Optional[str] = ...';

const simpleTypes = { any: 'Any', boolean: 'bool', string: 'str', number: 'float', integer: 'int', null: 'None' } as const;

/** Collects the types of one intent, nested types first, because Python has no anonymous object types. */
function openTypes(prefix: string, isInput: boolean) {
  const definitions: string[] = [];
  let count = 0;

  function write(shape: Shape): string {
    switch (shape.kind) {
      case 'literals':
        if (shape.values.some((value) => typeof value === 'number' && !Number.isSafeInteger(value))) return 'Any';
        return `Literal[${shape.values.map(writeLiteral).join(', ')}]`;
      case 'list':
        return `${isInput ? 'Sequence' : 'List'}[${write(shape.of)}]`;
      case 'union':
        return `Union[${shape.of.map(write).join(', ')}]`;
      case 'object':
        return writeObject(shape);
      default:
        return simpleTypes[shape.kind];
    }
  }

  function writeObject({ members, rest }: Extract<Shape, { kind: 'object' }>): string {
    // a TypedDict cannot have unnamed members
    if (rest) return `${isInput ? 'Mapping' : 'Dict'}[str, ${members.length > 0 ? 'Any' : write(rest)}]`;
    const name = `_${prefix}${count === 0 ? '' : `_${count}`}`;
    count++;
    const written = members.map(({ name, isRequired, shape }) => {
      const type = write(shape);
      return `${quote(name)}: ${isRequired ? type : `NotRequired[${type}]`}`;
    });
    definitions.push(`${name} = TypedDict("${name}", {${written.join(', ')}})\n`);
    return name;
  }

  return { write, definitions };
}

const writeLiteral = (value: string | number | boolean | null): string => {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'string' ? quote(value) : String(value);
};

/** A stub that replaces the client's own types. Equal intents give identical stubs. */
export function* writePython(intents: Iterable<IntentInput>): Generator<string> {
  yield head;
  const signatures: { uid: string; about: string; parameters: string; answer: string }[] = [];
  for (const intent of intents) {
    const number = signatures.length + 1;
    const [inputs, outputs] = [openTypes(`P${number}`, true), openTypes(`A${number}`, false)];
    const parameters = inputs.write(readParameters(intent.input_parameters));
    const answer = intent.output_parameters.length === 0 ? 'Dict[str, Any]' : outputs.write(readParameters(intent.output_parameters));
    yield [...inputs.definitions, ...outputs.definitions].join('');
    signatures.push({ uid: intent.intent_uid, about: describeIntent(intent), parameters, answer });
  }
  for (const [name, before] of [
    ['IntentGate', 'def'],
    ['AsyncIntentGate', 'async def'],
  ]) {
    yield `\nclass ${name}(_${name}):\n`;
    for (const { uid, about, parameters, answer } of signatures) {
      yield `    @overload\n    ${before} execute(self, intent_uid: Literal[${quote(uid)}], parameters: ${parameters}, ${options}) -> ${answer}:\n        ${quote(about)}\n`;
    }
    yield `    @overload\n    ${before} execute(self, intent_uid: IntentUid, parameters: Mapping[str, Any], ${options}) -> Dict[str, Any]: ...\n`;
  }
}
