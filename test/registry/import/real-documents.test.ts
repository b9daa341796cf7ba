import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ApiError } from '../../../functions/core/runtime/api-error.ts';
import { loadFile } from '../../../registry/import/load-document.ts';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import type { NestedSchema, Parameter } from '../../../schemas/parameter.ts';
import { type Recording, startRecording } from '../../support/imported.ts';
import { notTested } from '../../support/not-tested.ts';
import type { SeenRequest } from '../../support/upstream.ts';

/** A folder of OpenAPI and Swagger documents, or of folders with their parts. */
const folder = process.env.INTENT_GATE_DOCUMENTS;
const names =
  folder === undefined
    ? []
    : readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory() || /\.(json|ya?ml)$/.test(entry.name));
if (names.length === 0) notTested('what imports of real documents send: INTENT_GATE_DOCUMENTS names no folder with documents');

let recording: Recording;

beforeAll(async () => {
  recording = await startRecording();
});

afterAll(() => recording.stop());

const formats: Record<string, string> = {
  date: '2026-02-28',
  'date-time': '2026-02-28T12:00:00Z',
  email: 'a@case.example',
  uri: 'https://case.example/a',
  'uri-reference': '/a',
  uuid: '9b2e4a6c-0d1f-4a3b-9c5d-7e8f0a1b2c3d',
};

/** A value that is likely to be valid, with the members that it must have. */
function sampleOf(schema: NestedSchema, seed: number): unknown {
  const { type = 'string', enum: allowed, pattern, format = '', minimum = 1, minLength = 1, minItems = 1 } = schema;
  const { items = {}, properties = {}, required = [] } = schema;
  if (allowed) return allowed[0];
  switch ([type].flat().find((one) => one !== 'null')) {
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return minimum;
    case 'array':
      return Array.from({ length: Math.max(minItems, 1) }, () => sampleOf(items as NestedSchema, seed));
    case 'object':
      return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {}, seed)]));
    default:
      if (pattern !== undefined) return fc.sample(fc.stringMatching(new RegExp(pattern)), { numRuns: 1, seed })[0];
      return formats[format] ?? 'a'.repeat(Math.max(minLength, 1));
  }
}

function sampleOfInput({ schema = {}, type, enum: allowed, pattern, format, minimum, minLength }: Parameter, seed: number): unknown {
  const stated = Object.entries({ enum: allowed, pattern, format, minimum, minLength }).filter(([, value]) => value !== undefined);
  return sampleOf({ ...schema, ...(type !== 'any' && { type }), ...Object.fromEntries(stated) }, seed);
}

/** A header field whose only value the gate sends. */
const isFixed = ({ in: carrier, required, enum: allowed }: Parameter): boolean =>
  carrier === 'header' && required === true && allowed?.length === 1;

type Parameters = Record<string, unknown>;

/** Calls an intent with the inputs that it requires; undefined if the samples are not valid. */
async function callWithRequired(intent: IntentInput, headers: Record<string, string> | undefined) {
  const required = intent.input_parameters.filter((input) => input.required && !isFixed(input));
  for (let seed = 0; seed < 3; seed++) {
    const parameters: Parameters = Object.fromEntries(required.map((input) => [input.name, sampleOfInput(input, seed)]));
    try {
      return { parameters, seen: await recording.execute(intent, parameters, headers) };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }
  return undefined;
}

const ownHeaders =
  /^(host|connection|content-(length|type)|transfer-encoding|accept|accept-encoding|user-agent|x-request-id|agent-(id|key)|intent-uid|execution-id|signature|signature-input|signature-agent|content-digest)$/;

/** `a` of `a[b]` and `a.b` */
const baseOf = (name: string): string => name.replace(/(?<=.)[[.].*$/s, '');
const same = (left: unknown, right: unknown): boolean => canonicalText(left) === canonicalText(right);

/** What a request has beyond the parameters, with its place. */
function findAdded(
  { endpoint, input_parameters }: IntentInput,
  parameters: Parameters,
  { url, body, headers }: SeenRequest,
  fixed: Parameters = {},
) {
  const objects = Object.values(parameters).filter((value) => typeof value === 'object' && value !== null);
  const names = new Set([...Object.keys(parameters), ...objects.flatMap(Object.keys)].map(baseOf));
  const isAdded = (name: string) => !names.has(baseOf(name));
  const query = [...new URL(url, 'http://case.example').searchParams.keys()].filter(
    (name) => isAdded(name) && !endpoint.url.includes(name),
  );
  const fields = new Set(
    [...Object.keys(parameters), ...Object.keys(fixed), ...input_parameters.filter(isFixed).map(({ name }) => name)].map((name) =>
      name.toLowerCase(),
    ),
  );
  const header = Object.keys(headers).filter((name) => !ownHeaders.test(name) && !fields.has(name));
  return [...query.map((name) => `query ${name}`), ...header.map((name) => `header ${name}`), ...readAdded()];

  function readAdded(): string[] {
    const type = headers['content-type'] ?? '';
    if (body === '') return [];
    if (/urlencoded/.test(type)) return [...new URLSearchParams(body).keys()].filter(isAdded);
    if (/multipart/.test(type))
      return [...body.matchAll(/^Content-Disposition: form-data; name="([^"]*)"/gm)].map(([, name = '']) => name).filter(isAdded);
    if (typeof endpoint.body === 'string') {
      const whole = parameters[endpoint.body];
      return same(/json/.test(type) ? JSON.parse(body) : body, whole) ? [] : [`another body than ${JSON.stringify(whole)}: ${body}`];
    }
    return Object.entries(JSON.parse(body) as object).flatMap(([name, value]) => (same(value, parameters[name]) ? [] : `member ${name}`));
  }
}

(names.length === 0 ? describe.skip : describe)('calls with only their required inputs', () => {
  test.each(names.map(({ name }) => [name]))(
    'a call of %s with only its required inputs has nothing else, except fixed header fields',
    async (name) => {
      const { document } = await loadFile(join(folder ?? '', name), undefined, true);
      const { intents, skipped, service } = recording.plan(document, recording.origin);
      expect(intents.length).toBeGreaterThan(skipped.length);
      for (const method of ['PATCH', 'PUT', 'POST']) {
        const changing = intents.filter(({ endpoint }) => endpoint.method === method && endpoint.url.startsWith(recording.origin));
        let calls = 0;
        for (const intent of changing) {
          const called = await callWithRequired(intent, service.headers);
          if (called === undefined) continue;
          calls++;
          const added = findAdded(intent, called.parameters, called.seen, service.headers);
          expect({ [intent.intent_uid]: added }).toEqual({ [intent.intent_uid]: [] });
        }
        expect({ [method]: calls > 0 }).toEqual({ [method]: changing.length > 0 });
      }
    },
    300_000,
  );
});
