import { expect, jest, test } from '@jest/globals';
import { digestOf } from '../../client/canonical.ts';
import { type Agreement, connect, type OnPolicy } from '../../client/connect.ts';
import { openHttp } from '../../client/http.ts';
import { obtainNamedKey, openMemoryKeyStore } from '../../client/keys.ts';
import { openMcpBridge } from '../../client/mcp-bridge.ts';

const url = 'https://gate.example';
const policy = { uid: `${url}/api/policy`, permission: [] };
const inHours = (hours: number) => Date.now() + hours * 3_600_000;

interface Situation {
  what: string;
  /** digest of the policy that was accepted earlier; default: none was */
  digest?: string;
  /** when the stored PAT has to be renewed, in milliseconds since the epoch; default: there is no PAT */
  renewAtMs?: number;
  /** whether the gate refuses every PAT request */
  isIssueRefused?: boolean;
  /** whether the gate refuses reads with a PAT */
  isReadRefused?: boolean;
  /** the PATs of two reads, each with its retries */
  pats: (string | null)[];
  issued: number;
}

const situations: Situation[] = [
  { what: 'no PAT was ever needed', pats: [null, null], issued: 0 },
  { what: 'the policy was accepted, but there is no PAT', digest: await digestOf(policy), pats: [null, null], issued: 0 },
  {
    what: 'there is a PAT',
    digest: await digestOf(policy),
    renewAtMs: inHours(1),
    pats: ['Bearer stored', 'Bearer stored'],
    issued: 0,
  },
  {
    what: 'the PAT has expired and the policy is the same',
    digest: await digestOf(policy),
    renewAtMs: inHours(-1),
    pats: ['Bearer renewed', 'Bearer renewed'],
    issued: 1,
  },
  { what: 'the PAT has expired and the policy has changed', digest: 'another', renewAtMs: inHours(-1), pats: [null, null], issued: 0 },
  {
    what: 'the PAT has expired and the gate issues no other',
    digest: await digestOf(policy),
    renewAtMs: inHours(-1),
    isIssueRefused: true,
    pats: [null, null],
    issued: 1,
  },
  {
    what: 'the gate refuses the PAT',
    digest: await digestOf(policy),
    renewAtMs: inHours(1),
    isReadRefused: true,
    pats: ['Bearer stored', null, 'Bearer stored', null],
    issued: 0,
  },
];

const refuse = (status: number) => Response.json({ error: { code: 'UNAUTHORIZED', message: 'No.', details: {} } }, { status });

async function openWorld({ digest, renewAtMs, isIssueRefused, isReadRefused }: Situation) {
  const pats: (string | null)[] = [];
  let issued = 0;
  const answering: typeof fetch = async (address, { body, headers } = {}) => {
    const { pathname } = new URL(String(address));
    if (pathname === '/api/policy') return Response.json(policy);
    if (pathname === '/api/pat/issue') {
      issued++;
      return isIssueRefused ? refuse(403) : Response.json({ 'proto-pat': 'renewed', expires_at: new Date(inHours(1)).toISOString() });
    }
    const pat = new Headers(headers).get('authorization');
    pats.push(pat);
    if (isReadRefused && pat !== null) return refuse(401);
    if (pathname === '/mcp') return Response.json({ jsonrpc: '2.0', id: JSON.parse(String(body)).id, result: {} });
    return Response.json({ intent_uid: 'a.example:b:v1', intents: [], pagination: {} });
  };
  const signer = await obtainNamedKey('reader', openMemoryKeyStore());
  const pat = renewAtMs === undefined ? undefined : { text: 'stored', renewAtMs, agentId: signer.agentId };
  const agreement: Agreement | undefined = digest === undefined ? undefined : { digest, ...(pat && { pat }) };
  const store = { load: async () => agreement, save: async () => undefined };
  return { answering, signer, store, seen: () => ({ pats, issued }) };
}

test.each(situations)('the client reads with the PAT that it has, and asks nobody for one: $what', async (situation) => {
  const { answering, signer, store, seen } = await openWorld(situation);
  const onPolicy = jest.fn<OnPolicy>();
  const gate = await connect(url, { ...signer, agreementStore: store, onPolicy, fetch: answering });
  expect(await gate.search('x')).toMatchObject({ intents: [] });
  expect(await gate.get('a.example:b:v1')).toMatchObject({ intent_uid: 'a.example:b:v1' });
  expect(seen()).toEqual({ pats: situation.pats, issued: situation.issued });
  expect(onPolicy).not.toHaveBeenCalled();
});

test.each(situations)('the MCP bridge reads with the PAT that it has, and asks nobody for one: $what', async (situation) => {
  const { answering, signer, store, seen } = await openWorld(situation);
  const sent: object[] = [];
  const send = (message: object) => void sent.push(message);
  const http = openHttp({ url, fetch: answering });
  const bridge = openMcpBridge({ http, publicUrl: url, signer, store, acceptCommand: 'accept it', send });
  for (const name of ['search_intents', 'get_intent']) {
    const line = JSON.stringify({ jsonrpc: '2.0', id: name, method: 'tools/call', params: { name, arguments: {} } });
    expect(await bridge.answer(line)).toEqual({ jsonrpc: '2.0', id: name, result: {} });
  }
  expect(seen()).toEqual({ pats: situation.pats, issued: situation.issued });
  expect(sent).toEqual([]);
});

test('the MCP bridge adds no PAT to a read that has one of its own', async () => {
  const { answering, signer, store, seen } = await openWorld(situations[2] as Situation);
  const http = openHttp({ url, fetch: answering });
  const bridge = openMcpBridge({ http, publicUrl: url, signer, store, acceptCommand: 'accept it', send: () => undefined });
  const params = { name: 'search_intents', arguments: { query: 'x', pat: 'mine' } };
  await bridge.answer(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
  expect(seen()).toEqual({ pats: [null], issued: 0 });
});
