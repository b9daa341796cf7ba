import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { verifyCheckpoint, verifyReceipt } from '../../../client/receipts.ts';
import { nest } from '../../../functions/core/execution/around.ts';
import type { Action } from '../../../functions/core/http/serve.ts';
import { openEvidence, receiptsFromEnvironment } from '../../../functions/receipts/around.ts';
import { createAction as createGetLog } from '../../../functions/receipts/get-log.ts';
import { createAction as createGetProof } from '../../../functions/receipts/get-proof.ts';
import { bucketLog } from '../../../functions/receipts/log-store.ts';
import { createAction as createSequence } from '../../../functions/receipts/sequence-receipts.ts';
import { openReceiptSigner } from '../../../functions/receipts/signer.ts';
import { openDeferredParts } from '../../support/deferred.ts';
import { startExecuting } from '../../support/executing.ts';
import { execute, newAgent, obtainPat } from '../../support/gate.ts';
import { type Answer, invoke, refusalOf } from '../../support/invoke.ts';
import { loadPolicyTemplate } from '../../support/policy.ts';
import { startReceiptLog } from '../../support/receipts/log.ts';
import { intentOf } from '../../support/records.ts';

let pat: string;
/** the next answer of the upstream */
let status = 200;

const uid = 'test.example:receipts:v1';
const parameters = { code: 'FR' };
const keyed = (key: string) => ({ 'Idempotency-Key': key });
const run = (action: Action, headers = {}) => execute(action, pat, uid, parameters, headers);

const { gate, upstream, serviceId, endpointAt } = await startExecuting((_, response) => {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end('{"name":"France"}');
});
const [receipts, other] = await Promise.all([startReceiptLog(), startReceiptLog()]);
afterAll(() => Promise.all([receipts.stop(), other.stop()]));
await gate.intents.create(serviceId, intentOf(uid, { endpoint: endpointAt() }));
const { table } = gate.database;
const { log } = receipts;
const signer = openReceiptSigner(receipts.certifier, Date.now);
const evidenceOf = (coversAll: boolean) => nest(openEvidence({ signer, coversAll, protocol: 'proto', now: Date.now }));
const actions = {
  keyed: gate.openExecute({ around: evidenceOf(false) }),
  all: gate.openExecute({ around: evidenceOf(true) }),
  log: createGetLog({ log, table }),
  proof: createGetProof({ log, table }),
};
const sequence = () => createSequence({ log, table })({}, () => 60_000);

beforeEach(async () => {
  pat = await obtainPat(gate, await newAgent());
});

const read = async (path: string) => (await invoke(actions.log, `GET ${path}`)).body as string;

/** What an agent keeps from an answer. */
const kept = ({ headers, body }: Answer) => ({
  receipt: String(headers['Execution-Receipt']),
  salts: String(headers['Execution-Receipt-Salts']),
  parameters: JSON.stringify(parameters),
  answer: JSON.stringify(body),
});

/** The same with everything that verification needs. */
async function saved(answer: Answer) {
  const file = kept(answer);
  const { execution_id: id } = JSON.parse(Buffer.from(file.receipt.split('.')[1] ?? '', 'base64url').toString());
  await sequence();
  const { body: proof } = await invoke(actions.proof, 'GET /api/executions/{id}/proof', { path: { id } });
  return { ...file, proof: String(proof), log_key: await read('/log/key'), jwks: JSON.parse(JSON.stringify(await read('/log/jwks.json'))) };
}

test('a receipt describes the execution, and is in the log', async () => {
  const answer = await run(actions.keyed, keyed('1'));
  const file = await saved(answer);
  const report = await verifyReceipt(file);
  expect(report).toEqual({
    isValid: true,
    checks: [
      { what: 'signature of the receipt' },
      { what: 'parameters' },
      { what: 'answer' },
      { what: 'key of the log', isSkipped: true },
      { what: 'place in the log' },
    ],
    claims: {
      iss: 'https://api.example/test',
      execution_id: answer.headers['Execution-Id'],
      time: expect.stringMatching(/^20.*Z$/),
      agent_thumbprint: expect.stringMatching(/^[\w-]{43}$/),
      policy_digest: expect.any(String),
      intent_digest: expect.any(String),
      parameters_digest: expect.any(String),
      answer_digest: expect.any(String),
      outcome: 'OK',
    },
  });
  const replayed = await run(actions.keyed, keyed('1'));
  expect(kept(replayed)).toEqual(kept(answer));
  expect(await verifyReceipt(file, { logKey: file.log_key, checkpoints: [await read('/log/checkpoint')] })).toMatchObject({
    isValid: true,
  });
});

test('a failure has a receipt; a call that was not sent has none', async () => {
  status = 500;
  const failed = await run(actions.keyed, keyed('failed'));
  // each answer contains its own request id
  const report = await verifyReceipt({ ...(await saved(failed)), answer: undefined });
  expect(report).toMatchObject({ claims: { outcome: 'INTENT_EXECUTION_FAILED' }, isValid: true });
  status = 429;
  expect(Object.keys((await run(actions.keyed, keyed('later'))).headers)).not.toContain('Execution-Receipt');
  status = 200;
  expect(Object.keys((await run(actions.keyed)).headers)).not.toContain('Execution-Receipt');
});

test('the receipt of a deferred failure matches what its caller reads', async () => {
  const around = evidenceOf(false);
  const parts = openDeferredParts(gate);
  const policy = loadPolicyTemplate();
  status = 422;
  const asked = await run(actions.keyed, { ...keyed('background'), Prefer: 'respond-async' });
  const id = asked.body.execution.split('/').at(-1);
  await parts.openWorker({ policy, around })(id);
  status = 200;
  const { headers, body } = await parts.read(id, pat, { policy });
  expect(body).toMatchObject({ status: 'done', outcome: { body: { error: { details: { upstream_status: 422 } } } } });
  expect(await verifyReceipt(await saved({ status: 200, headers, body: body.outcome.body }))).toMatchObject({ isValid: true });
});

const count = expect.stringMatching(/^(Update|Put)Item$/);
const warmKeyed = ['BatchGetItem', 'GetItem', 'PutItem', count, 'TransactWriteItems'];
test.each<[name: 'keyed' | 'all', headers: Record<string, string>, operations: unknown[]]>([
  ['keyed', {}, ['BatchGetItem', count]],
  ['keyed', keyed('warm-1'), warmKeyed],
  ['all', {}, ['BatchGetItem', count, 'PutItem']],
  ['all', keyed('warm-2'), warmKeyed],
])('with receipts: %s, a warm execution (%j) makes no KMS call and few round trips', async (name, headers, expected) => {
  await run(actions[name], keyed(`first-of-${name}`));
  const { operations } = gate.database;
  operations.length = 0;
  receipts.kms.operations.length = 0;
  expect((await run(actions[name], headers)).body).toEqual({ name: 'France' });
  expect({ operations, kms: receipts.kms.operations }).toEqual({ operations: expected, kms: [] });
});

test('a receipt without an idempotency key is in the log, too', async () => {
  expect(await verifyReceipt(await saved(await run(actions.all)))).toMatchObject({ isValid: true });
});

describe('a changed receipt', () => {
  let file: Awaited<ReturnType<typeof saved>>;
  beforeAll(async () => {
    pat = await obtainPat(gate, await newAgent());
    file = await saved(await run(actions.keyed, keyed('changed')));
  });

  test.each(['receipt', 'salts', 'parameters', 'answer', 'proof', 'log_key'] as const)(
    'any changed character of %s is detected',
    async (name) => {
      const text = file[name];
      const unnoticed: number[] = [];
      // in a long text, every few characters
      for (let at = 0; at < text.length; at += Math.ceil(text.length / 150)) {
        const other = text[at] === 'A' ? 'B' : 'A';
        const changed = text.slice(0, at) + other + text.slice(at + 1);
        if ((await verifyReceipt({ ...file, [name]: changed })).isValid) unnoticed.push(at);
      }
      expect(unnoticed).toEqual([]);
    },
  );

  test.each<{ what: string; change: () => Partial<typeof file>; trusted: () => Promise<object>; problem: RegExp }>([
    { what: 'a missing part', change: () => ({ proof: undefined as never }), trusted: async () => ({}), problem: /lacks proof or log_key/ },
    {
      what: 'a key that is not trusted',
      change: () => ({}),
      trusted: async () => ({ logKey: (await other.log.publicKeys()).key }),
      problem: /differs from the key that you trust/,
    },
    {
      what: 'a checkpoint of another gate',
      change: () => ({}),
      trusted: async () => ({ checkpoints: [await checkpointOf(other, 5)] }),
      problem: /^The checkpoint is of another log/,
    },
    {
      what: 'a fork',
      change: () => ({}),
      trusted: async () => ({ checkpoints: [await checkpointOf(receipts, await sizeOf(file.proof))] }),
      problem: /^Fork: the log has signed two checkpoints of size \d+ with different roots/,
    },
  ])('the verification of a receipt reports $what', async ({ change, trusted, problem }) => {
    const report = await verifyReceipt({ ...file, ...change() }, await trusted());
    expect(report.isValid).toBe(false);
    expect(report.checks.map((one) => one.problem ?? '').filter(Boolean)).toContainEqual(expect.stringMatching(problem));
  });

  const sizeOf = async (proof: string) => (await verifyCheckpoint(proof.slice(proof.indexOf('\n\n') + 2), file.log_key)).size;
  /** A checkpoint that the log has never published. */
  async function checkpointOf({ log }: typeof receipts, size: number): Promise<string> {
    const { signCheckpoint } = await import('../../../functions/receipts/note.ts');
    return signCheckpoint(await log.verifier(), size, Buffer.alloc(32, 7), log.logKey.sign);
  }
});

describe('refusals', () => {
  const id = '01JWQ3K8Z5N7T9V2X4Y6B8D0FG';
  const off = { log: undefined, table: { get: async () => undefined } };
  test.each<{ what: string; open: () => Action; path: string; status: number; message: RegExp }>([
    { what: 'an unknown execution', open: () => actions.proof, path: id, status: 404, message: /^No execution with this id/ },
    { what: 'an invalid id', open: () => actions.proof, path: 'x'.repeat(300), status: 404, message: /^No execution with this id/ },
    { what: 'an unknown tile', open: () => actions.log, path: '/log/tile/0/009', status: 404, message: /^The log has no such tile/ },
    {
      what: 'a path outside the tiles',
      open: () => actions.log,
      path: '/log/tile/../checkpoint',
      status: 404,
      message: /^The log has no such tile/,
    },
    {
      what: 'a gate without receipts',
      open: () => createGetLog(off),
      path: '/log/key',
      status: 404,
      message: /^This gate does not issue receipts/,
    },
    {
      what: 'a proof from a gate without receipts',
      open: () => createGetProof(off),
      path: id,
      status: 404,
      message: /^This gate does not issue receipts/,
    },
    {
      what: 'a log without entries',
      open: () => createGetLog({ log: other.log, table: gate.database.table }),
      path: '/log/checkpoint',
      status: 404,
      message: /begins within/,
    },
  ])('the endpoints of receipts refuse $what', async ({ open, path, status, message }) => {
    const refusal = refusalOf(await invoke(open(), `GET ${path}`, { path: { id: path } }));
    expect(refusal).toMatchObject({ status, message: expect.stringMatching(message) });
  });

  test('a receipt that is not in the log yet is reported as waiting', async () => {
    const answer = await run(actions.keyed, keyed('waits'));
    const id = String(answer.headers['Execution-Id']);
    const waiting = await invoke(actions.proof, 'GET /api/executions/{id}/proof', { path: { id } });
    expect(refusalOf(waiting)).toMatchObject({ status: 404, details: { reason: 'waiting' } });
  });
});

test('the endpoints of receipts send nothing if KMS fails', async () => {
  const broken = { read: receipts.certifier.read, sign: async () => Promise.reject(new Error('KMS is down')) };
  const signer = openReceiptSigner(broken, Date.now);
  const around = nest(openEvidence({ signer, coversAll: true, protocol: 'proto', now: Date.now }));
  const before = upstream.seen.length;
  expect((await run(gate.openExecute({ around }))).status).toBe(500);
  expect((await run(gate.openExecute({ around }), keyed('kms-fails'))).status).toBe(500);
  expect(upstream.seen.length).toBe(before);
  // nothing was sent, so the key is free
  expect((await run(actions.keyed, keyed('kms-fails'))).status).toBe(200);
});

test('a missing bucket is an error, not an empty log', async () => {
  const none = bucketLog('none', { endpoint: 'http://127.0.0.1:9', region: 'x', credentials: { accessKeyId: 'x', secretAccessKey: 'x' } });
  await expect(none.read('checkpoint')).rejects.toThrow();
});

test('a function that has to give receipts, but has no key for them, does not start', () => {
  const { RECEIPT_KEY_ID } = process.env;
  delete process.env.RECEIPT_KEY_ID;
  process.env.RECEIPTS = 'all';
  try {
    expect(receiptsFromEnvironment).toThrow(new TypeError('missing environment variables: RECEIPT_KEY_ID'));
  } finally {
    process.env.RECEIPT_KEY_ID = RECEIPT_KEY_ID;
    delete process.env.RECEIPTS;
  }
});
