import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parse } from 'yaml';
import { CliFailure } from '../../registry/failure.ts';
import { type FileService, readRegistryFile, writers } from '../../registry/file.ts';
import { readDocument } from '../../registry/import/document.ts';
import { normalizeIntent, normalizeService } from '../../registry/normal-form.ts';
import { type IntentInput, intentInput } from '../../schemas/intent.ts';
import { serviceInput } from '../../schemas/service.ts';
import { intentOf, serviceNamed } from '../support/records.ts';

const write = async (format: keyof typeof writers, services: readonly FileService[]): Promise<string> =>
  (await Array.fromAsync(writers[format](services))).join('');

const service = serviceNamed('Things');
const intent = (uid: string, more: Partial<IntentInput> = {}): IntentInput => intentOf(uid, { input_parameters: [], ...more });

const normalizeFile = ({ service: one, intents }: FileService): FileService => ({
  service: normalizeService(one),
  intents: intents.map(normalizeIntent),
});

const prose = fc.oneof(
  fc.constantFrom(
    'no',
    '~',
    '2026-01-01',
    '- a',
    '# a',
    'a: b',
    ' lead',
    'trail ',
    'a\nb',
    'a\n\n  b\n',
    '\n\na',
    'it\'s "so"',
    '*a',
    '|',
    'a\u2028b',
    '0x1f',
    'é\u3000',
  ),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
);
const parameter = fc.record(
  {
    name: prose,
    type: fc.constantFrom('string', 'any'),
    description: prose,
    default: fc.jsonValue(),
    enum: fc.array(fc.jsonValue(), { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ['name', 'type'] },
);
const services = fc
  .array(
    fc.record({
      service: fc.record({ service_name: prose, description: prose, service_url: fc.constant('https://things.example') }),
      intents: fc.array(
        fc.record({
          intent_name: prose,
          description: prose,
          input_parameters: fc.array(parameter, { maxLength: 2 }),
          tags: fc.array(prose, { maxLength: 2 }),
        }),
        { maxLength: 3 },
      ),
    }),
    { maxLength: 3 },
  )
  .map((list) =>
    list.flatMap(({ service: given, intents }, at): FileService[] => {
      const parsed = serviceInput.safeParse({ ...given, service_name: `${given.service_name} ${at}` });
      const valid = intents.flatMap((one, place) => intentInput.safeParse({ ...intent(`a:b${at}-${place}:v1`), ...one }).data ?? []);
      return parsed.success ? [{ service: normalizeService(parsed.data), intents: valid.map(normalizeIntent) }] : [];
    }),
  );

test('the normal form of an intent keeps every member of its endpoint and inputs', () => {
  const endpoint = {
    method: 'POST',
    url: 'https://things.example/',
    content_type: 'multipart/form-data',
    optional_body: true,
    accept: 'text/csv, */*;q=0.1',
    idempotency_key: { required: true, format: 'uuid' },
  } as const;
  const file = { name: 'a', type: 'string', style: 'base64' } as const;
  const input_parameters = [file, { name: 'a_filename', type: 'string', in: 'filename', of: 'a' } as const];
  expect(normalizeIntent({ ...intent('a:b:v1'), endpoint, input_parameters })).toMatchObject({ endpoint, input_parameters });
});

describe('a registry file', () => {
  test.each(['yaml', 'json'] as const)('a registry file survives a round trip in %s', async (format) => {
    await fc.assert(
      fc.asyncProperty(services, async (list) => {
        const text = await write(format, list);
        const read = readRegistryFile(readDocument(text));
        // -0 may become 0, which is the same number
        const asJson = (value: unknown) => JSON.parse(JSON.stringify(value), (_, one) => (one === 0 ? 0 : one));
        expect(asJson(read)).toEqual(asJson(list));
      }),
    );
  });

  test.each(['yaml', 'json'] as const)('a registry file keeps every digit in %s', async (format) => {
    const amounts = {
      default: JSON.rawJSON('1.10'),
      enum: [JSON.rawJSON('12345678901234567890'), 1, '1.10'],
      maximum: JSON.rawJSON('1e400'),
    };
    const list = [{ service, intents: [intent('a:b:v1', { input_parameters: [{ name: 'x', type: 'any', ...amounts }] })] }];
    expect(JSON.stringify(readRegistryFile(readDocument(await write(format, list))).map(normalizeFile))).toBe(
      JSON.stringify(list.map(normalizeFile)),
    );
    const length = readRegistryFile(readDocument((await write(format, list)).replace('1e400', '1E+2').replace('maximum', 'maxLength')));
    expect(length[0]?.intents[0]?.input_parameters[0]?.maxLength).toBe(100);
  });

  test('a registry file is read in the same way by YAML 1.1', async () => {
    const text = await write('yaml', [{ service, intents: [intent('a:b:v1', { intent_name: 'no', description: '12:30:45' })] }]);
    expect(parse(text, { version: '1.1' }).services[0].intents[0]).toMatchObject({ intent_name: 'no', description: '12:30:45' });
  });

  test('a registry file is refused with every invalid place', () => {
    const file = {
      registry: 1,
      services: [{ ...service, service_url: 'ftp://x', intents: [intent('a:b:v1'), { ...intent('a:c:v1'), colour: 1 }] }],
    };
    const issues = [
      { path: '/services/0/service_url', problem: 'must be an absolute http or https URL without user information' },
      { path: '/services/0/intents/1/colour', problem: 'is not a known member; remove it' },
    ];
    expect(readFailure(file)).toMatchObject({
      reason: 'usage',
      message: 'The file is not a valid registry file as written by "export":',
      issues,
    });
  });

  test('a registry file has every member of an intent except the version, which is part of its uid', () => {
    const settings = { category: 'c', tags: ['t'], deprecated: true, draft: true, fields: ['/a'], strict: true };
    const full = normalizeIntent(intent('a:b:v1', settings));
    expect(full).toMatchObject(settings);
    expect(Object.keys({ ...full, version: 'v1' }).sort()).toEqual(Object.keys(intentInput.shape).sort());
  });

  test('a registry file has every member of an endpoint', () => {
    const endpoint = {
      method: 'POST',
      url: 'https://a.example',
      content_type: 'application/json',
      body: 'a',
      optional_body: true as const,
      accept: 'text/csv',
      idempotency_key: { required: true as const },
      mcp: { tool: 'look_up' },
    } as const;
    const normal = normalizeIntent(intent('a:b:v1', { endpoint: { ...endpoint, response_headers: ['ETag'] } }));
    expect(normal.endpoint).toEqual({ ...endpoint, response_headers: ['ETag'] });
    expect(normalizeIntent(intent('a:b:v1', { endpoint: { ...endpoint, response_headers: [] } })).endpoint).toEqual(endpoint);
    expect(Object.keys(normal.endpoint).sort()).toEqual(Object.keys(intentInput.shape.endpoint.options[1].shape).sort());
  });

  test('a registry file contains a service and a uid only once', () => {
    const file = {
      registry: 1,
      services: [
        { ...service, intents: [intent('a:b:v1')] },
        { ...service, service_name: `${service.service_name.toUpperCase()} `, intents: [intent('a:b:v1')] },
      ],
    };
    const problem = 'must not appear in the file twice';
    expect(readFailure(file).issues).toEqual([
      { path: '/services/1/service_name', problem },
      { path: '/services/1/intents/0/intent_uid', problem },
    ]);
  });
});

function readFailure(file: unknown): CliFailure {
  try {
    readRegistryFile(file);
  } catch (error) {
    if (error instanceof CliFailure) return error;
  }
  throw new Error('was read');
}
