import { toPrintableJson } from '../../../client/printable.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import { type Member, readParameters, type Shape } from './shape.ts';
import { describeIntent, toLine } from './text.ts';

const quote = (text: string): string => toPrintableJson(text);

const nameOf = (name: string): string => (/^[a-z_$][\w$]*$/i.test(name) ? name : quote(name));

/** A one-line doc comment; the text cannot end it early. */
const comment = (text: string): string => (text === '' ? '' : `/** ${text.replaceAll('*/', '*\\/').replace(/^@/, '\\@')} */\n`);

/** @param isInput - inputs also accept bigints and readonly arrays */
function write(shape: Shape, isInput: boolean, indent: string): string {
  switch (shape.kind) {
    case 'any':
      return 'unknown';
    case 'integer':
      return isInput ? 'number | bigint' : 'number';
    case 'literals':
      return shape.values.map((value) => (typeof value === 'string' ? quote(value) : String(value))).join(' | ');
    case 'list':
      return writeList(write(shape.of, isInput, indent), isInput);
    case 'union':
      return [...new Set(shape.of.map((one) => write(one, isInput, indent)))].join(' | ');
    case 'object':
      return writeObject(shape, isInput, indent);
    default:
      return shape.kind;
  }
}

const writeList = (type: string, isInput: boolean): string =>
  `${isInput ? 'readonly ' : ''}${/ [|] |^readonly /.test(type) ? `(${type})` : type}[]`;

function writeObject({ members, rest }: Extract<Shape, { kind: 'object' }>, isInput: boolean, indent: string): string {
  const inner = `${indent}  `;
  const writeMember = ({ name, description = '', isRequired, shape }: Member) => {
    const type = write(shape, isInput, inner);
    const about = comment(toLine(description));
    return `${about && inner + about}${inner}${nameOf(name)}${isRequired ? '' : '?'}: ${type}${isRequired ? '' : ' | undefined'};\n`;
  };
  if (members.length === 0) return `{ [member: string]: ${rest ? write(rest, isInput, indent) : 'never'} }`;
  // TypeScript cannot type unnamed members more narrowly than named ones
  return `{\n${members.map(writeMember).join('')}${rest ? `${inner}[member: string]: unknown;\n` : ''}${indent}}`;
}

/**
 * Declarations of intents for the TypeScript client. Equal intents give identical declarations.
 * @param moduleName - name of the client's module
 */
export function* writeTypeScript(intents: Iterable<IntentInput>, moduleName: string): Generator<string> {
  yield `// Written by "intent-gate types": which intents there are, and what they take and answer. Write it again when they change.\nimport ${quote(moduleName)};\n\n`;
  yield `declare module ${quote(moduleName)} {\n  interface Intents {\n`;
  for (const intent of intents) {
    yield `    ${comment(describeIntent(intent))}    ${quote(intent.intent_uid)}: {\n`;
    yield `      parameters: ${write(readParameters(intent.input_parameters), true, '      ')};\n`;
    const answer = readParameters(intent.output_parameters);
    yield `      answer: ${intent.output_parameters.length === 0 ? '{ [member: string]: unknown }' : write(answer, false, '      ')};\n    };\n`;
  }
  yield '  }\n}\n';
}
